job "chat" {
  group "gpu" {
    task "vllm" {
      driver = "docker"
      config {
        image    = "vllm/vllm-openai:v0.8.5"
        args     = ["--model", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "8192"]
        shm_size = 8589934592
      }
      env {
        VLLM_LOGGING_LEVEL = "DEBUG"
      }
      resources {
        device "nvidia/gpu" { count = 1 }
      }
    }
  }
}
