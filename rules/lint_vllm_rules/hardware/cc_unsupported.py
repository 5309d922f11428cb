"""The card is below vLLM's minimum.

Why: kernels are built for compute capability 7.0 and later (7.5 in recent releases); Pascal and older cards (P100, P40, GTX 10) never
were among them.
Instead: a newer card, or an engine that supports this one.
Wrong when: a fork with kernels for old cards is used.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.model_report import model_place, nvidia_card, shown
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="HW003",
    name="cc-unsupported",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm-project/vllm#1284", "vllm-project/vllm#1936", "vllm-project/vllm docs getting_started/installation"),
    bad=(
        Bad("vllm serve Qwen/Qwen2.5-1.5B-Instruct --dtype half\n", facts={"gpu": "Tesla P100-PCIE-16GB"}),
        Bad(
            compose("Qwen/Qwen2.5-1.5B-Instruct", "--dtype=half"),
            name="compose.yaml",
            mark="vllm/vllm-openai:v0.33.0",
            facts={"gpu": "Tesla P100-PCIE-16GB"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-1.5B-Instruct --dtype half\n", facts={"gpu": "Tesla T4"}),
        Good("vllm serve Qwen/Qwen2.5-1.5B-Instruct --dtype half\n"),
    ),
)
def cc_unsupported(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    card, image = nvidia_card(facts), facts.launch.image
    if card is None or card.capability is None or card.capability >= (7, 0) or card.members or args.launch.wrapper is not None:
        return
    yield Finding(
        image.span if image is not None else model_place(args),
        f"{card.name} has compute capability {shown(card.capability)}; vLLM's kernels start at 7.0: nothing runs on it",
        fixes=(Fix("use a card of compute capability 7.5 or later", applicability=Applicability.DISPLAY),),
    )
