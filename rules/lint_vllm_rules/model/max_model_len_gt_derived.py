"""--max-model-len is longer than the model's own limit.

Why: vLLM derives the limit from `config.json` (the position keys, times the factor of linear or dynamic RoPE scaling; YaRN counts
until 0.29 only) and refuses a longer one when it configures the model. Positions past the limit give nonsense or crash.
Instead: the derived length, or RoPE settings for a longer one through `--hf-overrides`.
Wrong when: the checkpoint's `config.json` states another limit than the catalogue knows; give it with `--model-config`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.budget.engine_config import overridden
from lint_vllm.budget.length import derive, derived_length, rope_parameters
from lint_vllm.budget.refusal import Refusal
from lint_vllm.edits import replace_value
from lint_vllm.facts.model import Model
from lint_vllm.known import Unknown
from lint_vllm.model_report import environment, model_of, plain_number, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_NEW = {"vllm_version": "0.33.0"}
_YARN = '{"rope_parameters":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768,"rope_theta":1000000.0}'


@rule(
    code="MDL001",
    name="max-model-len-gt-derived",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/model.py _get_and_verify_max_len", "vllm-project/vllm#7303", "xorbitsai/inference#1715"),
    bad=(
        Bad(
            "vllm serve microsoft/Phi-3-mini-4k-instruct --max-model-len 16384\n",
            mark="16384",
            fixed="vllm serve microsoft/Phi-3-mini-4k-instruct --max-model-len 4096\n",
            facts=_NEW,
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('microsoft/Phi-3-mini-4k-instruct', max_model_len=16384)\n",
            name="run.py",
            mark="16384",
            facts=_NEW,
        ),
        Bad(f"vllm serve Qwen/Qwen2.5-7B-Instruct --hf-overrides '{_YARN}}}' --max-model-len 131072\n", mark="131072", facts=_NEW),
    ),
    good=(
        Good("vllm serve microsoft/Phi-3-mini-4k-instruct --max-model-len 4096\n", facts=_NEW),
        Good('vllm serve microsoft/Phi-3-mini-4k-instruct --max-model-len "$LEN"\n', facts=_NEW),
        Good("vllm serve ./unknown-model --max-model-len 999999\n", facts=_NEW),
        Good(
            f"vllm serve Qwen/Qwen2.5-7B-Instruct --hf-overrides '{_YARN}}}' --max-model-len 131072\n",
            facts={"vllm_version": "0.29.0"},
        ),
        Good(
            f"vllm serve Qwen/Qwen2.5-7B-Instruct --hf-overrides '{_YARN},\"max_position_embeddings\":131072}}' "
            "--max-model-len 131072\n",
            facts=_NEW,
        ),
        Good(
            "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve microsoft/Phi-3-mini-4k-instruct --max-model-len 16384\n",
            facts=_NEW,
        ),
    ),
)
def max_model_len_gt_derived(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, stated = args.get("max_model_len"), model_of(facts)
    if argument is None or argument.value_span is None or stated is None or argument.conditional:
        return
    if args.launch.form == "env" and args.launch.wrapper is None:  # what else the server is given stands elsewhere
        return
    asked = plain_number(argument.value)
    model = _overridden(args, stated)
    if asked is None or model is None:
        return
    given = {"max_model_len": asked, "disable_sliding_window": args.value("disable_sliding_window") is True}
    found = derive(model, given, facts.release.version, environment(facts))
    limit, key = derived_length(model, facts.release.version, bool(given["disable_sliding_window"]))
    if not isinstance(found, Refusal) or limit is None or asked <= limit:
        return
    scaled = model is not stated or any(r.get("factor") for r in rope_parameters(model.text))
    severity = sure(facts, stated, dated=scaled)
    if _from_a_table(stated):
        if stated.multimodal:
            return
        severity = min(severity, Severity.WARNING)
    fits = facts.rebudget({"max_model_len": limit}).outcome != "arg_error"
    edits = replace_value(argument, str(limit))
    safe = fits and not scaled and bool(edits) and severity is Severity.ERROR
    notes = []
    if scaled:
        notes.append(
            "from 0.30 the factor of YaRN no longer multiplies the length: state max_position_embeddings in the override too"
        )
    yield Finding(
        argument.value_span,
        f"--max-model-len {asked:,} is longer than the {limit:,} tokens that {stated.label} states ({key}): vLLM refuses it when it "
        "configures the model",
        fixes=(
            Fix(
                f"lower it to {limit:,}",
                edits=edits,
                applicability=Applicability.SAFE if safe else Applicability.UNSAFE if edits else Applicability.DISPLAY,
                cost="shorter requests",
                verified=fits,
            ),
            Fix("extend the context on purpose with RoPE settings in --hf-overrides", applicability=Applicability.DISPLAY),
        ),
        notes=tuple(notes),
        severity=severity,
    )


def _overridden(args: ArgumentSet, model: Model) -> Model | None:
    """The model with what the launch overrides; ``None`` where an override cannot be known."""
    if any(p.flag is not None and "rope" in p.flag for p in args.problems):
        return None  # what the launch means is said by a flag that this release does not take
    if args.launch.form == "env" and not args.complete and not args.given("hf_overrides"):
        return None  # variables that a command elsewhere reads, which may override the length
    overrides: dict[str, object] = {}
    for dest in ("hf_overrides", "rope_scaling", "hf_config_path", "config_format"):
        value = args.value(dest)
        if isinstance(value, Unknown) or (dest == "hf_config_path" and value):
            return None
        if isinstance(value, Mapping):
            overrides |= value if dest == "hf_overrides" else {dest: value}
    return overridden(model, overrides) if overrides else model


def _from_a_table(model: Model) -> bool:
    """Whether the length is only known from a table of models, not from a copy of the configuration."""
    sources = model.record.get("source") if model.record is not None else None
    return isinstance(sources, list) and all("table" in str(s) or "by hand" in str(s) for s in sources)
