"""Names and values that a serving container turns into vLLM options.

DJL's LMI containers read ``OPTION_*`` variables and ``option.*`` properties, Amazon's vLLM containers ``SM_VLLM_*``
(data/djl_options.json says which names are DJL's own, and which stand for another option).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lint_vllm.extract.context import Context
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, EnvVar, Form, Image, Launch, Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_DJL = "OPTION_"
_SAGEMAKER = "SM_VLLM_"
_MODEL_VARIABLES = ("HF_MODEL_ID", "SM_MODEL_ID", "MODEL_ID")
_OTHER_IMAGE = pattern(r"sglang|trtllm|tensorrt|neuronx|deepspeed|tgi|text-generation-inference|huggingface-pytorch-tgi")


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    import json

    found: Mapping[str, Any] = json.loads((Path(__file__).parent.parent / "data" / "djl_options.json").read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Option:
    """One name and value; ``name`` is the option without its prefix, dashed."""

    key: Word
    name: str
    value: Word | None
    conditional: bool = False
    written: str = ""


def option_launch(
    variables: Sequence[EnvVar], context: Context, image: Image | None = None, block: Span | None = None
) -> Launch | None:
    """The launch that a container's environment configures, if its variables are of that kind."""
    prefix = _SAGEMAKER if any(v.name.value.startswith(_SAGEMAKER) for v in variables) else _DJL
    options = [_option(v, len(prefix)) for v in variables if v.name.value.startswith(prefix)]
    if not options or (image is not None and _OTHER_IMAGE.search(image.reference)):
        return None
    model = next((v for name in _MODEL_VARIABLES for v in variables if v.name.value == name), None)
    if prefix == _SAGEMAKER:
        options = [replace(o, name="model") if o.name == "model-id" else o for o in options]
    if model is not None and not any(o.name in ("model", "model-id") for o in options):
        options.insert(0, Option(model.name, "model", model.value))
    first = min((v.name.span for v in variables if v.name.span.source is context.source), key=lambda s: s.start, default=None)
    if first is None:
        return None
    rest = {v.name.value: v for v in variables if not v.name.value.startswith(prefix)}
    inside = replace(context, env=MappingProxyType({**context.env, **rest}))
    whole = block or first.to(max((v.span for v in variables), key=lambda s: s.end))
    return settings_launch(options, inside, "djl" if prefix == _DJL else "sagemaker", "env", first, whole)


def _option(variable: EnvVar, prefix: int) -> Option:
    return Option(variable.name, variable.name.value[prefix:].replace("_", "-").lower(), variable.value)


def settings_launch(
    options: Sequence[Option], context: Context, wrapper: str, form: Form, command: Span, block: Span
) -> Launch | None:
    """A launch of a wrapper's options; ``None`` when another engine is meant, or nothing says that it is vLLM."""
    table = _table() if wrapper == "djl" else None
    settings: list[Setting] = []
    proof = 0 if table else 2
    for option in options:
        value = option.value
        known = value.value.lower() if value is not None and value.unknown is None else ""
        if table is not None:
            if option.name in ("rolling-batch", "engine") and known in table["other_engines"]:
                return None
            if option.name in table["foreign_options"]:
                return None
            if option.name in ("rolling-batch", "engine", "entrypoint", "entry-point") and "vllm" in known:
                proof = 2
            elif option.name == "rolling-batch" and known == "auto":
                proof += 1
            if option.name in table["serving_only"]:
                continue
            flag = table["aliases"].get(option.name, option.name)
            meant = table["values"].get(flag, {}).get(known)
            if meant is not None and value is not None:
                option = replace(option, value=replace(value, content=Text.placed(meant, value.content.span)), written=value.value)
        else:
            flag = option.name
        proof += option.name in _TELLING
        settings.append(_setting(option, flag))
    has_model = any(s.flag == "model" for s in settings)
    if len(settings) <= has_model or proof < (1 if has_model else 2):
        return None
    base = context.deployment or Deployment("other", block, scope=f"line {block.line}")
    return Launch(
        source=context.source,
        form=form,
        site=context.site or f"line {command.line}",
        command=command,
        block=block,
        settings=tuple(settings),
        env=context.env,
        image=context.image,
        hints=context.hints,
        deployment=base,
        wrapper=wrapper,
        passage=context.passage,
    )


_TELLING = frozenset(
    [
        "max-model-len",
        "gpu-memory-utilization",
        "tensor-parallel-size",
        "max-num-seqs",
        "enforce-eager",
        "kv-cache-dtype",
        "enable-auto-tool-choice",
        "tool-call-parser",
        "enable-prefix-caching",
        "max-num-batched-tokens",
        "quantization",
        "enable-lora",
        "speculative-config",
    ]
)
"""Options of vLLM that are proof enough beside a model."""


def _setting(option: Option, flag: str) -> Setting:
    value = option.value
    if value is not None and value.unknown is None and flag.endswith("-parallel-size") and value.value == "max":
        value = replace(value, unknown="max stands for all GPUs of the machine")
    shown = "" if option.name == flag or flag == "model" else option.name
    literal = value.value if value is not None and value.unknown is None else None
    return Setting(option.key, flag, value, literal, option.conditional, shown, option.written)
