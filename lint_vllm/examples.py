"""Small whole files for the examples of rules, so that each rule shows only what it is about."""

from __future__ import annotations

IMAGE = "vllm/vllm-openai:v0.33.0"

_PROBES = """\
          startupProbe:
            httpGet: {path: /health, port: 8000}
            failureThreshold: 180
          readinessProbe:
            httpGet: {path: /health, port: 8000}
"""


def _indented(text: str, blanks: int) -> str:
    return "".join(f"{' ' * blanks}{line}\n" if line else "\n" for line in text.splitlines())


def pod(
    *args: str,
    image: str = IMAGE,
    gpus: str | None = "1",
    container: str = "",
    spec: str = "",
    after: str = "",
    probes: bool = True,
) -> str:
    """A Deployment with one vLLM container; ``container`` and ``spec`` are YAML put into the container and the pod."""
    limits = f"          resources:\n            limits:\n              nvidia.com/gpu: {gpus}\n" if gpus is not None else ""
    listed = "".join(f"            - {a}\n" for a in args)
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: llm\nspec:\n  template:\n    spec:\n"
        + _indented(spec, 6)
        + f"      containers:\n        - name: server\n          image: {image}\n          args:\n{listed}"
        + limits
        + (_PROBES if probes else "")
        + _indented(container, 10)
        + (f"---\n{after}" if after else "")
    )


def service(name: str) -> str:
    """A Kubernetes Service, to stand behind a pod."""
    return f"apiVersion: v1\nkind: Service\nmetadata:\n  name: {name}\nspec:\n  ports:\n    - port: 8000\n"


def compose(*command: str, image: str = IMAGE, extra: str = "ipc: host\ngpus: all") -> str:
    """A compose file with one vLLM service; ``extra`` is YAML put into the service."""
    listed = "".join(f"      - {item}\n" for item in command)
    return f"services:\n  llm:\n    image: {image}\n{_indented(extra, 4)}" + (f"    command:\n{listed}" if listed else "")
