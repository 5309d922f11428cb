resource "helm_release" "stack" {
  name  = "vllm"
  chart = "vllm-stack"
  set {
    name  = "servingEngineSpec.modelSpec[0].modelURL"
    value = "org/hs"
  }
  set {
    name  = "servingEngineSpec.modelSpec[0].vllmConfig.maxModelLen"
    value = 4096
  }
  set {
    name  = "servingEngineSpec.modelSpec[0].requestGPU"
    value = var.gpus
  }
  set {
    name  = "servingEngineSpec.runtimeClassName\\.x"
    value = "nvidia"
  }
}
resource "helm_release" "list" {
  chart = "vllm-stack"
  set = [
    { name = "servingEngineSpec.modelSpec[0].modelURL", value = "org/l" },
    { name = "servingEngineSpec.modelSpec[0].vllmConfig.dtype", value = "half" },
  ]
}
