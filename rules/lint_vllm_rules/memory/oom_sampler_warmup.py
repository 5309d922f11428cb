"""The sampler's warm-up does not fit.

Why: the first V1 releases warm the sampler up with `--max-num-seqs` rows of the whole vocabulary in float32, several copies at
once, after the cache has taken its share. With the default number of sequences that is gigabytes outside the share.
Instead: `--max-num-seqs` at the concurrency you need, or a lower share.
Wrong when: the FlashInfer sampler is installed, which makes no such copies.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB
from lint_vllm.edits import add_flag, replace_value
from lint_vllm.memory_report import ledger_notes, place_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Severity, rule

_COPIES = 3
"""Float32 copies of the logits alive at once (vllm-project/vllm#15105: 1.7 GiB for 1024 x 152064)."""
_CONTEXT = 0.5 * GIB


@rule(
    code="MEM021",
    name="oom-sampler-warmup",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm#15105", "vllm-project/vllm#29049"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.95 --max-model-len 8192\n",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.8.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.95 --max-model-len 8192 --max-num-seqs 64\n",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.8.0"},
        ),
        Good(
            'vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.95 --max-num-seqs "$N"\n',
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.8.0"},
        ),
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.95 --max-model-len 8192\n",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
)
def oom_sampler_warmup(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    release, budget = facts.release, facts.budget
    if not release.sure or not release.at_least("0.8.0") or release.at_least("0.17.0") or not isinstance(facts.model, Known):
        return
    argument = args.get("max_num_seqs")
    if argument is not None and not isinstance(argument.value, int):
        return
    vocabulary, sequences = facts.model.value.vocab_size, budget.max_num_seqs
    if (
        budget.outcome not in ("starts", "refused_kv")
        or budget.total is None
        or budget.utilization is None
        or not vocabulary
        or not sequences
    ):
        return
    warmup = _COPIES * sequences * vocabulary * 4
    left = (1 - budget.utilization) * budget.total.likely - _CONTEXT
    if warmup <= left or warmup < 0.5 * GIB:
        return
    by_default = "" if argument is not None else f" (the default of {release.version})"
    yield Finding(
        place_of(args, "max_num_seqs"),
        f"warming up the sampler for {sequences} sequences{by_default} x {vocabulary:,} tokens takes about {warmup / GIB:.1f} GiB outside the "
        f"share, which leaves {max(left, 0) / GIB:.1f} GiB: start-up is likely to run out of memory at its end",
        fixes=tuple(_fewer(args, int(left / (_COPIES * vocabulary * 4)))),
        notes=ledger_notes(facts, budget),
    )


def _fewer(args: ArgumentSet, most: int) -> Iterator[Fix]:
    sequences = next((n for n in (256, 128, 64, 32, 16) if n <= most), 16)
    argument = args.get("max_num_seqs")
    edits = replace_value(argument, str(sequences)) if argument is not None else add_flag(args, "--max-num-seqs", str(sequences))
    yield Fix(
        f"set --max-num-seqs {sequences}", edits, Applicability.UNSAFE, "requests beyond that wait in the queue", verified=True
    )
