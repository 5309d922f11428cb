"""Peer-to-peer traffic over PCIe can hang.

Why: with several GPUs without NVLink, custom all-reduce and NCCL copy between cards over PCIe. Behind an IOMMU, ACS or some
virtualisation this hangs: no output, 100 % use, shared-memory broadcast warnings.
Instead: if it hangs, `--disable-custom-all-reduce`, then `NCCL_P2P_DISABLE=1`.
Wrong when: most such machines work; this is a note of what to try.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.judgement import count_of
from lint_vllm.model_report import environment, nvidia_card
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_WITHOUT_NVLINK = re.compile(r"\b(?:L4|L20|L40S?|A10G?|A16|A40|A2|T4|RTX|GeForce|Quadro|V100-PCIE\S*)\b", re.IGNORECASE)


@rule(
    code="HW030",
    name="p2p-hang",
    severity=Severity.INFO,
    since="0.1",
    strict=True,
    sources=("vllm-project/vllm#51513", "vllm-project/vllm#14449", "vllm-project/vllm#31276"),
    bad=(
        Bad("vllm serve Qwen/QwQ-32B-AWQ --tensor-parallel-size 2\n", mark="2", facts={"gpu": "NVIDIA RTX A6000"}),
        Bad(
            "from vllm import LLM\n\nllm = LLM('Qwen/QwQ-32B-AWQ', tensor_parallel_size=2)\n",
            name="run.py",
            mark="2",
            facts={"gpu": "NVIDIA L40S"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/QwQ-32B-AWQ --tensor-parallel-size 2 --disable-custom-all-reduce\n", facts={"gpu": "NVIDIA L40S"}),
        Good("vllm serve Qwen/QwQ-32B-AWQ --tensor-parallel-size 2\n", facts={"gpu": "NVIDIA H100 80GB HBM3"}),
        Good('vllm serve Qwen/QwQ-32B-AWQ --tensor-parallel-size "$GPUS"\n', facts={"gpu": "NVIDIA L40S"}),
    ),
)
def p2p_hang(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    card, size, argument = nvidia_card(facts), count_of(args, "tensor_parallel_size"), args.get("tensor_parallel_size")
    if card is None or size is None or size < 2 or argument is None or argument.value_span is None:
        return
    if (
        args.value("disable_custom_all_reduce") is True
        or "NCCL_P2P_DISABLE" in environment(facts)
        or not _WITHOUT_NVLINK.search(card.name)
    ):
        return
    yield Finding(
        argument.value_span,
        f"{size} x {card.name} talk over PCIe: should the start hang without output, peer-to-peer copies are the likely cause",
        fixes=(
            Fix("then try --disable-custom-all-reduce, then NCCL_P2P_DISABLE=1", applicability=Applicability.DISPLAY, cost="speed"),
        ),
    )
