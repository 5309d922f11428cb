"""The key guards only the routes below /v1.

Why: `--api-key` is checked for /v1; health, metrics, tokenize and other routes answer without it, and some of them do work on
the GPU. Behind a public port that is more than most people expect.
Instead: a proxy in front that lets only the wanted routes through.
Wrong when: nothing but trusted clients reaches the port.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="SEC002",
    name="api-key-partial",
    severity=Severity.INFO,
    since="0.1",
    strict=True,
    sources=("vllm==0.33.0 entrypoints/openai/server_utils.py AuthenticationMiddleware",),
    bad=(Bad('vllm serve Qwen/Qwen3-8B --host 0.0.0.0 --api-key "$KEY"\n', mark="0.0.0.0", profile="strict"),),
    good=(
        Good('vllm serve Qwen/Qwen3-8B --host 127.0.0.1 --api-key "$KEY"\n', profile="strict"),
        Good('vllm serve Qwen/Qwen3-8B --host "$HOST" --api-key "$KEY"\n', profile="strict"),
    ),
)
def api_key_partial(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    host = args.get("host")
    if host is None or host.value_span is None or host.value not in ("0.0.0.0", "::"):
        return
    if args.given("api_key") or "VLLM_API_KEY" in facts.launch.env:
        yield Finding(
            host.value_span,
            "the key guards /v1 only: other routes (/metrics, /tokenize, /health ...) answer every address without it",
            fixes=(Fix("put a proxy in front that allows only the routes you serve"),),
        )
