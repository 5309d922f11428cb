"""VLLM_PORT is not the port of the server.

Why: VLLM_PORT is the base of vLLM's internal ports (communication between its processes); the HTTP port is `--port`. With
the same number in both the second listener finds the port in use and start-up fails.
Instead: another variable name for the HTTP port, and no VLLM_PORT at all.
Wrong when: the number is far from the HTTP port on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="DEP042",
    name="vllm-port-env-misuse",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 envs.py VLLM_PORT", "vllm-project/vllm#5867"),
    bad=(
        Bad("export VLLM_PORT=8000\nvllm serve Qwen/Qwen3-8B --port $VLLM_PORT\n", mark="VLLM_PORT"),
        Bad("VLLM_HOST_IP=0.0.0.0 vllm serve Qwen/Qwen3-8B\n", mark="VLLM_HOST_IP"),
    ),
    good=(
        Good("export API_PORT=8000\nvllm serve Qwen/Qwen3-8B --port $API_PORT\n"),
        Good("export VLLM_PORT=12345\nvllm serve Qwen/Qwen3-8B --port 8000\n"),
        Good('export VLLM_PORT="$1"\nvllm serve Qwen/Qwen3-8B --port 8000\n'),
    ),
)
def vllm_port_env_misuse(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    port = facts.launch.env.get("VLLM_PORT")
    if port is not None and port.value is not None and port.value.unknown is None:
        serving = args.value("port")
        if isinstance(serving, int) and port.value.value == str(serving) and facts.launch.form != "python":
            yield Finding(
                port.name.value_span,
                f"VLLM_PORT is the base of vLLM's internal ports, not the HTTP port: both are {serving}, start-up fails with "
                "an address already in use",
                fixes=(Fix("name the variable otherwise (API_PORT) and pass it to --port"),),
            )
    host = facts.launch.env.get("VLLM_HOST_IP")
    if (
        host is not None
        and host.value is not None
        and host.value.unknown is None
        and host.value.value in ("0.0.0.0", "::", "localhost")
    ):
        yield Finding(
            host.name.value_span,
            f"VLLM_HOST_IP is the address that vLLM's ranks use to reach each other; {host.value.value} is none. The server listens on --host",
            fixes=(Fix("drop it, or set the machine's own address"),),
            severity=Severity.WARNING,
        )
