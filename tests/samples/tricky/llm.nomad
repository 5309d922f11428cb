job "v" { group "g" { task "t" { driver = "docker"
 config { image = "vllm/vllm-openai:v0.9.0"
  args = ["--model", "org/x", "--tensor-parallel-size", "${NOMAD_META_tp}", "--port", "8000"] }
 resources { device "nvidia/gpu" { count = 2 } }
 template { data = <<EOH
vllm serve org/t --port 1
EOH
 destination = "local/run.sh" } } } }
