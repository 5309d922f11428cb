resource "helm_release" "stack" {
  name       = "vllm"
  repository = "https://vllm-project.github.io/production-stack"
  chart      = "vllm-stack"
  values = [yamlencode({
    servingEngineSpec = {
      modelSpec = [{
        name       = "chat"
        repository = "vllm/vllm-openai"
        tag        = "v0.11.0"
        modelURL   = "Qwen/Qwen3-8B"
        requestGPU = 1
        vllmConfig = {
          maxModelLen = 16384
          dtype       = var.dtype
          extraArgs   = ["--gpu-memory-utilization", "0.9"]
        }
      }]
    }
  })]
}

resource "kubernetes_manifest" "pod" {
  manifest = {
    apiVersion = "v1"
    kind       = "Pod"
    metadata   = { name = "vllm" }
    spec = {
      nodeSelector = { "cloud.google.com/gke-accelerator" = "nvidia-l4" }
      containers = [{
        name  = "server"
        image = "vllm/vllm-openai:v0.10.2"
        args  = ["--model", "Qwen/Qwen3-4B", "--max-model-len", "8192"]
        resources = { limits = { "nvidia.com/gpu" = "1" } }
      }]
    }
  }
}
