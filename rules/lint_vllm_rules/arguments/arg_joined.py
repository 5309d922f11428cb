"""Flag and value are joined in one word.

Why: one list item (or one quoted string) is one word. The parser looks for a flag called `--dtype auto`, finds none, and
refuses the launch.
Instead: two items, or `--dtype=auto`.
Wrong when: something splits the item again before vLLM sees it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.examples import compose
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule


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
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "joined" or not problem.words:
            continue
        word = problem.words[0]
        match = re.match(r"(?P<flag>-{1,2}[\w.-]+)(?P<gap>[ \t]+)(?P<value>\S.*)\Z", word.value)
        edits: tuple[Edit, ...] = ()
        if match and not re.search(r"\s", match["value"]):
            gap = word.content[match.start("gap") : match.end("gap")]
            edits = (Edit(gap.span, "="),) if gap.verbatim() else ()
        yield Finding(
            word.value_span,
            f"flag and value are one word here: the parser looks for a flag called {word.value.split()[0]!r} with a blank in it and refuses it",
            fixes=(
                Fix(
                    "join them by an equals sign, or make two items",
                    edits=edits,
                    applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
                ),
            ),
        )
