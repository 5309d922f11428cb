{ pkgs, ... }: let port = 8000; in {
  virtualisation.oci-containers.containers.vllm = {
    image = "vllm/vllm-openai:v0.9.0";
    cmd = [ "--model" "org/x" "--port" (toString port) "--max-model-len" "4096" ];
    extraOptions = [ "--device=nvidia.com/gpu=all" "--ipc=host" ];
  };
  systemd.services.v.serviceConfig.ExecStart = "${pkgs.vllm}/bin/vllm serve org/y --port ${toString port}";
  systemd.services.w.script = ''
    exec vllm serve org/z --dtype half
  '';
}
