"""bfloat16 on a card below compute capability 8.0.

Why: Volta and Turing cards (V100, T4, RTX 20) have no bfloat16. Asked for by name it is refused when the worker starts; with
`--dtype auto` releases before 0.9 refuse a bfloat16 checkpoint too, later ones fall back to float16.
Instead: `--dtype half`, or float32 for families that overflow in float16.
Wrong when: the job runs on another card than the file says.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.releases import engine_data
from lint_vllm.edits import add_flag, replace_value
from lint_vllm.examples import pod
from lint_vllm.facts.hints import find
from lint_vllm.model_report import model_of, model_place, nvidia_card, shown, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_T4 = {"vllm_version": "0.33.0", "gpu": "Tesla T4"}


@rule(
    code="HW001",
    name="bf16-cc-lt-8",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 platforms/cuda.py check_if_supports_dtype", "vllm-project/vllm#1157", "verl-project/verl#2594"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-3B-Instruct --dtype bfloat16\n",
            mark="bfloat16",
            fixed="vllm serve Qwen/Qwen2.5-3B-Instruct --dtype half\n",
            facts=_T4,
        ),
        Bad(
            pod(
                "Qwen/Qwen2.5-3B-Instruct",
                "--dtype=bfloat16",
                spec="nodeSelector:\n  cloud.google.com/gke-accelerator: nvidia-tesla-t4",
            ),
            name="pod.yaml",
            mark="bfloat16",
        ),
        Bad(
            "vllm serve Qwen/Qwen3-0.6B\n",
            mark="Qwen/Qwen3-0.6B",
            facts={"vllm_version": "0.8.5", "gpu": "Tesla T4"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-3B-Instruct --dtype half\n", facts=_T4),
        Good("vllm serve Qwen/Qwen2.5-3B-Instruct --dtype auto\n", facts=_T4),
        Good('vllm serve Qwen/Qwen2.5-3B-Instruct --dtype "$DTYPE"\n', facts=_T4),
        Good("vllm serve Qwen/Qwen2.5-3B-Instruct --dtype bfloat16\n"),
    ),
)
def bf16_cc_lt_8(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    card, argument, model = nvidia_card(facts), args.get("dtype"), model_of(facts)
    if card is None or card.capability is None or card.capability >= (8, 0):
        return
    asked = args.value("dtype")
    overflows = model is not None and model.model_type in engine_data()["no_float16"]
    target = "float32" if overflows else "half"
    reason = f"{card.name} has compute capability {shown(card.capability)}, bfloat16 needs 8.0"
    mixed = any(named is None or named.capability is None or named.capability >= (8, 0) for named in map(find, card.members))
    if asked == "bfloat16" and argument is not None and argument.value_span is not None:
        edits = replace_value(argument, target)
        yield Finding(
            argument.value_span,
            f"{reason}: it is refused when the worker starts",
            fixes=(
                Fix(
                    f"use --dtype {target}",
                    edits,
                    Applicability.SAFE if edits and not overflows and model is not None and not mixed else Applicability.UNSAFE,
                    "twice the memory" if overflows else "",
                ),
            ),
            severity=Severity.WARNING if mixed else Severity.ERROR,
        )
        return
    # before 0.9 "auto" kept the checkpoint's dtype on every card
    if asked not in (None, "auto") or facts.release.at_least("0.9.0") or not facts.release.sure or not args.complete or mixed:
        return
    if model is None or model.dtype != "bfloat16" or model.quantization is not None:
        return
    added = replace_value(argument, target) if argument is not None else add_flag(args, "--dtype", target)
    yield Finding(
        model_place(args),
        f"{model.id} is a bfloat16 checkpoint and {reason}: vLLM {facts.release.version} refuses it when the worker starts",
        fixes=(Fix(f"add --dtype {target}", added, Applicability.UNSAFE if added else Applicability.DISPLAY),),
        severity=sure(facts, model),
    )
