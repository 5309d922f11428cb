locals {
  model = "Qwen/Qwen3-32B"
  common = [
    "--trust-remote-code",
    "--speculative-config", jsonencode({ method = "ngram", num_speculative_tokens = 4 }),
  ]
}

variable "context" {
  type    = number
  default = 32768
}

variable "fp8" { type = bool }

module "vllm" {
  source = "../service"
  image  = "vllm/vllm-openai:v0.11.0" # pinned
  args = concat(
    ["--model", local.model, "--max-model-len", tostring(var.context)],
    local.common,
    var.fp8 ? ["--kv-cache-dtype", "fp8"] : [],
  )
  resources = { limits = { "nvidia.com/gpu" = 2 } }
}

resource "kubernetes_deployment" "chat" {
  spec {
    template {
      spec {
        node_selector = { "cloud.google.com/gke-accelerator" = "nvidia-l4" }
        container {
          name    = "server"
          image   = "vllm/vllm-openai:v0.10.2"
          command = ["vllm", "serve", "Qwen/Qwen3-8B"]
          args    = ["--port", "8000", "--max-num-seqs=${var.sequences}"]
          env {
            name  = "VLLM_LOGGING_LEVEL"
            value = "DEBUG"
          }
          env {
            name = "HF_TOKEN"
            value_from { secret_key_ref { name = "hf" } }
          }
        }
      }
    }
  }
}

resource "aws_instance" "gpu" {
  instance_type = "g6e.2xlarge"
  user_data     = <<-EOT
    #!/bin/bash
    export VLLM_USE_V1=1
    docker run --gpus all -p 80:8000 \
      vllm/vllm-openai:v0.9.1 \
      --model ${local.model} --gpu-memory-utilization 0.9
    echo "$${HOME} vllm serve is not run here"
  EOT
}

resource "aws_sagemaker_model" "m" {
  primary_container {
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.33.0-lmi15"
    environment = {
      HF_MODEL_ID                   = local.model
      OPTION_TENSOR_PARALLEL_DEGREE = "max"
      OPTION_MAX_MODEL_LEN          = "16384"
      OPTION_ASYNC_MODE             = "true"
    }
  }
}

output "how" {
  value = "vllm serve is started by the module"
}
