{ config, pkgs, lib, ... }:
let
  model = "Qwen/Qwen3-8B";
  port = 8000;
in {
  imports = [ ./hardware.nix ];
  virtualisation.oci-containers.containers."vllm" = {
    image = "vllm/vllm-openai:v0.11.0";
    ports = [ "${toString port}:8000" ];
    environment = { HF_HOME = "/hf"; VLLM_LOGGING_LEVEL = "DEBUG"; };
    extraOptions = [ "--gpus=all" "--shm-size=8g" ];
    cmd = [
      "--model" model
      "--max-model-len" "32768" # half
    ] ++ lib.optionals config.fp8 [ "--kv-cache-dtype" "fp8" ];
  };
  systemd.services.vllm2 = {
    wantedBy = [ "multi-user.target" ];
    serviceConfig = {
      ExecStart = "${pkgs.vllm}/bin/vllm serve ${model} --port ${toString port} --max-num-seqs ${cfg.seqs}";
      Restart = "always";
    };
    environment.CUDA_VISIBLE_DEVICES = "0";
  };
  systemd.services.three.script = ''
    export VLLM_USE_V1=1
    exec ${pkgs.python3}/bin/python -m vllm.entrypoints.openai.api_server \
      --model ${model} \
      --gpu-memory-utilization 0.9
  '';
}
