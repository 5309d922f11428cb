"""A client in the same file names another model than the server.

Why: the API matches the `model` of a request against the served names exactly. Without `--served-model-name` that is the
model as given to the server, a path included; anything else gets 404.
Instead: `--served-model-name` with the name clients use.
Wrong when: the request goes to another server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.edits import add_flag
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule

_REQUEST = re.compile(r"""["']model["']\s*:\s*\\?["'](?P<name>[\w./:@+-]+)\\?["']""")
_ASKS = re.compile(r"/v1/(chat/)?(completions|responses|embeddings)|openai", re.IGNORECASE)


@rule(
    code="DEP071",
    name="served-name",
    severity=Severity.INFO,
    since="0.1",
    sources=("vllm-project/vllm#3486", "OpenBMB/MiniCPM-V#451"),
    bad=(
        Bad(
            'vllm serve /models/Qwen3-8B &\ncurl localhost:8000/v1/completions -d \'{"model": "Qwen3-8B"}\'\n',
            mark="Qwen3-8B",
        ),
    ),
    good=(
        Good('vllm serve /models/Qwen3-8B --served-model-name q &\ncurl localhost:8000/v1/completions -d \'{"model": "q"}\'\n'),
        Good('vllm serve "$MODEL" &\ncurl localhost:8000/v1/completions -d \'{"model": "q"}\'\n'),
    ),
)
def served_name(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    launch = facts.launch
    source = launch.source
    if facts.siblings or not isinstance(args.model, str) or not _ASKS.search(source.text) or not args.complete:
        return
    given = args.value("served_model_name")
    names = set(given) if isinstance(given, (list, tuple)) and given else {given} if isinstance(given, str) else {args.model}
    adapters = args.value("lora_modules")
    if adapters or any(not isinstance(n, str) for n in names):
        return
    for match in _REQUEST.finditer(source.text):
        name = match["name"]
        span = Span(source, match.start("name"), match.end("name"))
        if (
            name in names
            or launch.block.contains(span)
            or name.split("/")[-1] not in {str(n).rstrip("/").split("/")[-1] for n in names}
        ):
            continue
        yield Finding(
            span,
            f"the request names {name}, the server serves {', '.join(sorted(str(n) for n in names))}: the answer is 404",
            fixes=(
                Fix(
                    f"serve it under this name: --served-model-name {name}",
                    edits=add_flag(args, "--served-model-name", name) if given is None else (),
                    applicability=Applicability.UNSAFE,
                ),
            ),
        )
        return
