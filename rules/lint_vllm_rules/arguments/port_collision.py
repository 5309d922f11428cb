"""Two listeners of one launch share a port.

Why: the HTTP server and the data-parallel, master or metrics sockets of the same launch each bind their port; the second finds
it in use and start-up fails.
Instead: different ports.
Wrong when: they listen on different addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Severity, rule

_LISTENERS = ("data_parallel_rpc_port", "grpc_port", "data_parallel_supervisor_port")


@rule(
    code="ARG051",
    name="port-collision",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/parallel.py", "vllm-project/vllm#20119"),
    bad=(Bad("vllm serve Qwen/Qwen3-8B -dp 2 --port 8000 --data-parallel-rpc-port 8000\n", mark="8000"),),
    good=(
        Good("vllm serve Qwen/Qwen3-8B -dp 2 --port 8000 --data-parallel-rpc-port 13345\n"),
        Good('vllm serve Qwen/Qwen3-8B -dp 2 --port "$PORT" --data-parallel-rpc-port 8000\n'),
    ),
)
def port_collision(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    serving = args.value("port")
    if not isinstance(serving, int) or args.form == "python" or args.given("headless"):
        return
    for dest in _LISTENERS:
        argument = args.get(dest)
        if argument is None or argument.value != serving:
            continue
        port = args.get("port")
        related = (Label(port.value_span or port.name_span, "the HTTP server"),) if port is not None else ()
        yield Finding(
            argument.value_span or argument.name_span,
            f"{argument.flag} and the HTTP server both listen on {serving}: the second finds the address in use and start-up fails",
            fixes=(Fix("give it a port of its own"),),
            related=related,
        )
