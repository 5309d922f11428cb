"""The profile run of images or video eats the budget.

Why: multimodal models are profiled with the largest item of every modality; a video or full-size image takes gigabytes of
activations before the cache is sized, whether anybody sends one or not.
Instead: `--limit-mm-per-prompt` with the modalities in use (`{"video": 0}`), smaller images through `--mm-processor-kwargs`, or
`--language-model-only` for text.
Wrong when: videos are served.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag
from lint_vllm.judgement import fails_by_images, without_images
from lint_vllm.memory_report import ledger_notes, model_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Severity, rule


@rule(
    code="MEM040",
    name="mm-profile-oom",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 v1/worker/gpu_model_runner.py profile_run", "vllm-project/vllm#18124", "vllm-project/vllm#22173"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 32768 --gpu-memory-utilization 0.82\n",
            mark="Qwen/Qwen2.5-VL-7B-Instruct",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            'vllm serve Qwen/Qwen2.5-VL-7B-Instruct --max-model-len 8192 --limit-mm-per-prompt \'{"image":1,"video":0}\'\n',
            facts={"gpu": "A100-80GB", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
        Good('vllm serve "$MODEL" --max-model-len 8192\n', facts={"gpu": "RTX 4090"}),
    ),
)
def mm_profile_oom(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    if not isinstance(facts.model, Known) or not facts.model.value.multimodal or not budget.fails or budget.activations is None:
        return
    if budget.outcome in ("arg_error", "refused_free_memory", "oom_load") or args.given("limit_mm_per_prompt"):
        return
    other = without_images(facts)
    if not fails_by_images(facts) or other.activations is None:
        return
    saved = budget.activations.likely - other.activations.likely
    if saved <= 0:
        return
    edits = (
        add_flag(args, "--limit-mm-per-prompt", '\'{"image": 1, "video": 0}\'')
        if args.launch.form in ("vllm serve", "api_server")
        else ()
    )
    yield Finding(
        model_place(args),
        f"profiling images and video takes {budget.activations.gib()}, {saved / 2**30:.1f} GiB more than text alone: {budget.phase} is likely to fail",
        fixes=(
            Fix("profile one image and no video: --limit-mm-per-prompt", edits, Applicability.UNSAFE, "no videos"),
            Fix("serve text only: --language-model-only", cost="no images", verified=True),
        ),
        notes=ledger_notes(facts, budget),
        severity=Severity.ERROR if budget.confidence == "certain" else None,
    )
