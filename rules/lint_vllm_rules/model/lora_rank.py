"""An adapter's rank is above --max-lora-rank.

Why: buffers for adapters are made for one largest rank, 16 by default. An adapter of a larger rank is refused when it is loaded.
Instead: the next allowed value at or above the adapter's `r`.
Wrong when: another adapter is mounted at that path where it runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag, replace_value
from lint_vllm.facts.adapters import adapters
from lint_vllm.facts.release_facts import allowed_lora_ranks
from lint_vllm.known import Unknown
from lint_vllm.model_report import plain_number
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_ADAPTER = {"adapters/sql/adapter_config.json": '{"peft_type": "LORA", "r": 32, "lora_alpha": 64}\n'}
_NEW = {"vllm_version": "0.33.0"}


@rule(
    code="MDL060",
    name="lora-rank",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 lora/peft_helper.py validate_legal", "unslothai/unsloth#2097", "hiyouga/LlamaFactory#9512"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules sql=./adapters/sql --max-lora-rank 16\n",
            mark="16",
            fixed="vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules sql=./adapters/sql --max-lora-rank 32\n",
            files=_ADAPTER,
            facts=_NEW,
        ),
        Bad(
            "from vllm import LLM\nfrom vllm.lora.request import LoRARequest\n\nllm = LLM('Qwen/Qwen2.5-7B-Instruct', enable_lora=True)\n"
            "llm.generate('SELECT', lora_request=LoRARequest('sql', 1, 'adapters/sql'))\n",
            name="run.py",
            mark="enable_lora",
            files=_ADAPTER,
            facts=_NEW,
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules sql=./adapters/sql --max-lora-rank 64\n",
            files=_ADAPTER,
            facts=_NEW,
        ),
        Good(
            'vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules sql=./adapters/sql --max-lora-rank "$RANK"\n',
            files=_ADAPTER,
            facts=_NEW,
        ),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --enable-lora --lora-modules sql=./elsewhere\n", facts=_NEW),
    ),
)
def lora_rank(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    enabled, argument = args.get("enable_lora"), args.get("max_lora_rank")
    stated = args.value("max_lora_rank")
    if enabled is None or enabled.value is not True or isinstance(stated, Unknown) or (argument is None and not args.complete):
        return
    allowed = plain_number(stated) or 16
    too_large = [a for a in adapters(args, facts) if a.rank > allowed]
    if not too_large:
        return
    worst = max(too_large, key=lambda a: a.rank)
    target = next((r for r in allowed_lora_ranks(facts.release.version) if r >= worst.rank), None)
    fixes: tuple[Fix, ...] = ()
    if target is not None:
        edits = replace_value(argument, str(target)) if argument is not None else add_flag(args, "--max-lora-rank", str(target))
        safe = bool(edits) and argument is not None
        fixes = (
            Fix(
                f"use --max-lora-rank {target}",
                edits,
                Applicability.SAFE if safe else Applicability.UNSAFE if edits else Applicability.DISPLAY,
                "larger adapter buffers",
                verified=facts.rebudget({"max_lora_rank": target}).outcome != "arg_error",
            ),
        )
    place = argument.value_span if argument is not None and argument.value_span is not None else enabled.name_span
    default = "" if argument is not None else " (the default)"
    yield Finding(
        place,
        f"the adapter {worst.path} has rank {worst.rank}, the server allows {allowed}{default}: it is refused when it is loaded",
        fixes=fixes,
    )
