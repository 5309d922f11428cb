"""Flag and value are joined in one word.

Why: one list item (or one quoted string) is one word. The parser looks for a flag called `--dtype auto`, finds none, and
refuses the launch.
Instead: two items, or `--dtype=auto`.
Wrong when: something splits the item again before vLLM sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of, written_option
from lint_vllm.examples import compose
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule


@rule(
    code="ARG040",
    name="arg-joined",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm-project/vllm-ascend#13802", "vllm-project/vllm#22072"),
    bad=(
        Bad(
            compose("Qwen/Qwen3-8B", '"--dtype auto"'),
            name="compose.yaml",
            mark="--dtype auto",
            fixed=compose("Qwen/Qwen3-8B", '"--dtype=auto"'),
        ),
        Bad('vllm serve Qwen/Qwen3-8B "--max-model-len 8192"\n', mark="--max-model-len 8192"),
    ),
    good=(
        Good(compose("Qwen/Qwen3-8B", "--dtype=auto"), name="compose.yaml"),
        Good("vllm serve Qwen/Qwen3-8B $DTYPE\n"),
    ),
)
def arg_joined(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    seen: set[Span] = set()
    for problem in (*args.problems, *args.late_problems):
        if cause_of(problem, args) != "joined":
            continue
        word = written_option(problem)
        if word is None or word.value_span in seen:
            continue
        seen.add(word.value_span)
        match = re.match(r"(?P<flag>-{1,2}[\w.-]+)(?P<gap>[ \t]+)(?P<value>\S.*)\Z", word.value)
        edits: tuple[Edit, ...] = ()
        if match and not re.search(r"\s", match["value"]):
            gap = word.content[match.start("gap") : match.end("gap")]
            edits = (Edit(gap.span, "="),) if gap.verbatim() else ()
        yield Finding(
            word.value_span,
            f"flag and value are one word here: the parser finds no flag called {word.value!r}, and {word.value.split()[0]} is not set",
            fixes=(
                Fix(
                    "join them by an equals sign, or make two items",
                    edits=edits,
                    applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
                ),
            ),
        )
