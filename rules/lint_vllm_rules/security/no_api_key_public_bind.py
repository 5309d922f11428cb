"""The endpoint is open to every address without a key.

Why: vLLM listens on all interfaces and asks for no key by default. Who reaches the port can use the GPU, read model names and
load on the server, and call its management routes.
Instead: bind to 127.0.0.1 behind a proxy, or VLLM_API_KEY from a secret.
Wrong when: a firewall or a private network already keeps others out.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule

_LOCAL = ("127.", "localhost", "::1", "[::1]")


@rule(
    code="SEC001",
    name="no-api-key-public-bind",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 entrypoints/openai/cli_args.py", "projectdiscovery/nuclei-templates#16471"),
    bad=(
        Bad("docker run --gpus all --network host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B --host 0.0.0.0\n", mark="0.0.0.0"),
        Bad("vllm serve Qwen/Qwen3-8B --host 0.0.0.0\n", mark="0.0.0.0"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --host 127.0.0.1\n"),
        Good('vllm serve Qwen/Qwen3-8B --host "$HOST"\n'),
        Good("export VLLM_API_KEY=$(cat key)\nvllm serve Qwen/Qwen3-8B --host 0.0.0.0\n"),
        Good("docker run --gpus all --ipc=host -p 127.0.0.1:8000:8000 vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B --host 0.0.0.0\n"),
    ),
)
def no_api_key_public_bind(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    launch = facts.launch
    if launch.form == "python" or args.given("api_key") or "VLLM_API_KEY" in launch.env or not args.complete or args.given("uds"):
        return
    if launch.deployment is not None and not launch.deployment.env_complete:
        return
    place = _published(args, facts)
    if place is None:
        return
    argument = args.get("host")
    edits = replace_value(argument, "127.0.0.1") if argument is not None and place == argument.value_span else ()
    yield Finding(
        place,
        "every address can reach the server, and it asks for no key",
        fixes=(
            Fix("set VLLM_API_KEY from a secret"),
            Fix("listen on 127.0.0.1", edits=edits, applicability=Applicability.UNSAFE, cost="other machines need a proxy"),
        ),
        severity=Severity.WARNING if _runs_here(facts) else Severity.INFO,
    )


def _runs_here(facts: Facts) -> bool:
    """Whether the file itself starts the server on a machine; a plan or catalogue in data may run it behind anything."""
    launch = facts.launch
    if launch.passage != "code" or launch.deployment is None:
        return False
    data = launch.path.endswith((".yaml", ".yml", ".json", ".toml"))
    return launch.deployment.kind not in (("shell", "other", "helm") if data else ("other", "helm", "python"))


def _published(args: ArgumentSet, facts: Facts) -> Span | None:
    """Where the launch opens its port to other machines; ``None`` where it does not, or where that is not written."""
    deployment = facts.launch.deployment
    host = args.get("host")
    written = host is not None and host.value in ("0.0.0.0", "::", "")
    if deployment is not None and deployment.kind in ("docker-run", "compose"):
        if deployment.host_network is not None:
            return host.value_span if host is not None and written else None if host is not None else deployment.host_network
        for port in deployment.ports:
            if port.address is not None and not port.address.startswith(_LOCAL):
                return port.span
        return None
    if deployment is not None and deployment.kind in ("pod", "dockerfile"):  # has to listen; who reaches it is said elsewhere
        return None
    return host.value_span if host is not None and written else None
