locals { model = "org/x" }
variable "tp" { default = 2 }
resource "kubernetes_deployment" "v" {
  spec { template { spec { container {
    image = "vllm/vllm-openai:v0.9.1"
    args  = ["--model", local.model, "--tensor-parallel-size", tostring(var.tp), "--port=8000", var.lora ? "--enable-lora" : ""]
    resources { limits = { "nvidia.com/gpu" = "2" } }
  } } } }
}
resource "helm_release" "stack" {
  name = "vllm"
  chart = "vllm/vllm-stack"
  set {
    name  = "servingEngineSpec.modelSpec[0].modelURL"
    value = "org/hs"
  }
  set {
    name  = "servingEngineSpec.modelSpec[0].vllmConfig.maxModelLen"
    value = "4096"
  }
  values = [<<-YAML
    servingEngineSpec:
      modelSpec:
      - name: m
        modelURL: org/hv
        requestGPU: 1
        vllmConfig: {maxModelLen: 2048, extraArgs: ["--disable-log-requests"]}
  YAML
  ]
}
resource "aws_instance" "g" {
  instance_type = "g5.12xlarge"
  user_data = <<-EOT
    #!/bin/bash
    docker run -d --gpus all -p 8000:8000 vllm/vllm-openai:v0.8.5 --model ${local.model} --max-model-len ${var.len}
  EOT
}
