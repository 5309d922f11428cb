"""A rank's share of a quantized matrix is no whole number of groups.

Why: AWQ and GPTQ scale groups of inputs (mostly 128), FP8 blocks of 128 x 128. When tensor parallelism cuts through a group, the
weights cannot be created and loading fails. Experts in FP8 blocks load since 0.29 on compute capability 8.9 and later.
Instead: a smaller tensor parallel size, `--enable-expert-parallel` (experts stay whole), or a padded checkpoint.
Wrong when: the checkpoint was padded and the catalogue does not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag, replace_value
from lint_vllm.judgement import count_of
from lint_vllm.model_report import model_of, refusal, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_AWQ = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
 "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096,
 "vocab_size": 32000, "torch_dtype": "float16",
 "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true}}
"""
_H200 = {"gpu": "NVIDIA H200", "gpu_count": "8"}


@rule(
    code="MDL011",
    name="tp-quant-group",
    severity=Severity.ERROR,
    since="0.1",
    sources=(
        "vllm==0.33.0 model_executor/layers/quantization/auto_awq.py",
        "vllm==0.19.1 model_executor/layers/quantization/fp8.py Fp8MoEMethod.create_weights",
        "vllm-project/vllm#1258",
        "vllm-project/vllm#39046",
    ),
    bad=(
        Bad(
            "vllm serve ./coder-7b-awq --tensor-parallel-size 4\n",
            mark="4",
            files={"coder-7b-awq/config.json": _AWQ},
            facts={"vllm_version": "0.33.0", "gpu_count": "4"},
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('MiniMaxAI/MiniMax-M2.5', tensor_parallel_size=8, trust_remote_code=True)\n",
            name="run.py",
            mark="8",
            facts={"vllm_version": "0.20.2", **_H200},
        ),
    ),
    good=(
        Good("vllm serve ./coder-7b-awq --tensor-parallel-size 2\n", files={"coder-7b-awq/config.json": _AWQ}),
        Good('vllm serve ./coder-7b-awq --tensor-parallel-size "$GPUS"\n', files={"coder-7b-awq/config.json": _AWQ}),
        Good("vllm serve MiniMaxAI/MiniMax-M2.5 --tensor-parallel-size 8\n", facts={"vllm_version": "0.33.0", **_H200}),
        Good(
            "vllm serve MiniMaxAI/MiniMax-M2.5 --tensor-parallel-size 8 --enable-expert-parallel\n",
            facts={"vllm_version": "0.20.2", **_H200},
        ),
        Good("vllm serve Qwen/Qwen2.5-72B-Instruct-AWQ --tensor-parallel-size 4\n", facts={"vllm_version": "0.33.0"}),
    ),
)
def tp_quant_group(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, size, found = model_of(facts), count_of(args, "tensor_parallel_size"), refusal(facts, "quant_group")
    if model is None or size is None or found is None or not model.quantization_stated:
        return
    argument = args.get("tensor_parallel_size")
    fixes: list[Fix] = []
    for smaller in (size // 2, size // 4):
        if smaller and facts.rebudget({"tensor_parallel_size": smaller}).refusal is None:
            edits = replace_value(argument, str(smaller)) if argument is not None else ()
            kind = Applicability.UNSAFE if edits else Applicability.DISPLAY
            fixes.append(Fix(f"use --tensor-parallel-size {smaller}", edits, kind, "fewer GPUs for one replica", verified=True))
            break
    if model.experts and facts.rebudget({"enable_expert_parallel": True}).refusal is None:
        added = add_flag(args, "--enable-expert-parallel")
        kind = Applicability.UNSAFE if added else Applicability.DISPLAY
        fixes.append(Fix("keep experts whole: --enable-expert-parallel", added, kind, "uneven load of experts", verified=True))
    yield Finding(
        value_place(args, "tensor_parallel_size"),
        f"{found.message.split(': tensor parallel')[0]}: weight loading fails with --tensor-parallel-size {size}",
        fixes=tuple(fixes),
        severity=sure(facts, model, dated=bool(model.experts)),
    )
