resource "docker_container" "vllm" {
  name    = "vllm"
  image   = "vllm/vllm-openai:v0.33.0"
  gpus    = "all"
  command = ["Qwen/Qwen3-8B", "--max-model-len", "8192"]
  ports {
    internal = 8000
    external = 8000
    ip       = "127.0.0.1"
  }
}
