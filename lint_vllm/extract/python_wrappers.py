"""Classes and functions of other libraries that hand their arguments on to vLLM."""

from __future__ import annotations

import re
from collections.abc import Callable

from lint_vllm.extract.python_values import MISSING, Entry, Instance, Scalar, Table
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Hint
from lint_vllm.source import Text

Found = tuple[list[tuple[str, Entry]], tuple[Hint, ...], "Text | None"]
"""(flag, entry) pairs, hints, and the key that a finding on the whole should stand at (``None``: the name called)."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    """``names``: full names of what is called. ``direct``: keywords that are engine arguments of the same name."""

    program: str
    names: re.Pattern[str]
    model: tuple[str, ...] = ("model",)
    direct: frozenset[str] = frozenset()
    nested: tuple[str, ...] = ()
    """Keywords that hold a dict of engine arguments."""
    special: Callable[[Table], list[tuple[str, Entry]] | None] | None = None
    positional_model: bool = False

    def read(self, call: Instance) -> Found | None:
        """The engine arguments of a call; ``None`` when it does not start vLLM."""
        keywords = call.keywords or Table(call.place)
        pairs: list[tuple[str, Entry]] = []
        if self.special is not None:
            special = self.special(keywords)
            if special is None:
                return None
            pairs += special
        if self.positional_model and call.arguments and isinstance(call.arguments[0], Scalar):
            argument = call.arguments[0]
            pairs.append(("model", Entry(Scalar(argument.place, Text.placed("model", argument.place.span), "model"), argument)))
        key: Text | None = None
        for entry in keywords.entries:
            name = entry.key.literal
            if name in self.model and self.special is None:
                pairs.append(("model", entry))
            elif name in self.direct:
                pairs.append((str(name).replace("_", "-"), entry))
            elif name in self.nested:
                key = key or entry.key.place
                if isinstance(entry.value, Table):
                    inner = [e for e in entry.value.entries if isinstance(e.key.literal, str)]
                    pairs += [(str(e.key.literal).replace("_", "-"), e) for e in inner if e.key.literal != "model"]
                    pairs += [("model", e) for e in inner if e.key.literal == "model"]
        hints = tuple(
            Hint("ray", e.value.literal, e.value.place.span)
            for e in keywords.entries
            if e.key.literal == "accelerator_type" and isinstance(e.value, Scalar) and isinstance(e.value.literal, str)
        )
        return (pairs, hints, key) if pairs else None


def _ray_model(keywords: Table) -> list[tuple[str, Entry]]:
    """``model_loading_config``: the source is what vLLM loads, the id what it is called."""
    loading = keywords.get("model_loading_config")
    if loading is None or not isinstance(loading.value, Table):
        found = keywords.get("model_source") or keywords.get("model_id")
        return [("model", found)] if found else []
    source = loading.value.get("model_source") or loading.value.get("model_id")
    return [("model", source)] if source else []


def _evaluated(keywords: Table) -> list[tuple[str, Entry]] | None:
    """``simple_evaluate(model="vllm", model_args=...)`` with a dict or ``a=1,b=2``."""
    from lint_vllm.extract.command import pair_settings
    from lint_vllm.extract.python_values import word_of

    model, given = keywords.get("model"), keywords.get("model_args")
    if model is None or not isinstance(model.value, Scalar) or model.value.literal not in ("vllm", "vllm-vlm") or given is None:
        return None
    pairs: list[tuple[str, Entry]] = []
    if isinstance(given.value, Table):
        for entry in given.value.entries:
            flag = str(entry.key.literal).replace("_", "-")
            pairs.append(("model" if flag == "pretrained" else flag, entry))
    elif isinstance(given.value, Scalar):
        for setting in pair_settings(word_of(given.value)):
            name, value = setting.name, setting.value
            if value is None:
                continue
            key = Scalar(name.content, name.content, name.value)
            held = Scalar(value.content, value.content, MISSING if value.unknown else value.value, value.unknown)
            pairs.append((setting.flag, Entry(key, held, setting.conditional)))
    return pairs


_COMMON = frozenset({"tensor_parallel_size", "trust_remote_code", "dtype", "download_dir"})

WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper("langchain", re.compile(r"langchain(?:_community)?\.llms(?:\.vllm)?\.VLLM"), direct=_COMMON, nested=("vllm_kwargs",)),
    Wrapper("llama-index", re.compile(r"llama_index\.llms\.vllm(?:\.base)?\.Vllm"), direct=_COMMON, nested=("vllm_kwargs",)),
    Wrapper(
        "distilabel",
        re.compile(r"distilabel\.(?:llms|models)(?:\.\w+)*\.vLLM"),
        direct=_COMMON | {"quantization", "revision", "tokenizer", "tokenizer_mode", "enforce_eager", "seed"},
        nested=("extra_kwargs",),
    ),
    Wrapper("ray-serve", re.compile(r"ray\.(?:serve|llm)(?:\.\w+)*\.LLMConfig"), nested=("engine_kwargs",), special=_ray_model),
    Wrapper(
        "ray-data",
        re.compile(r"ray\.data\.llm\.vLLM(?:Engine)?ProcessorConfig"),
        nested=("engine_kwargs",),
        special=_ray_model,
    ),
    Wrapper(
        "outlines",
        re.compile(r"outlines\.models\.vllm(?:\.vllm)?"),
        direct=_COMMON | {"max_model_len", "gpu_memory_utilization", "quantization", "enforce_eager"},
        positional_model=True,
    ),
    Wrapper("lm_eval", re.compile(r"lm_eval(?:\.\w+)*\.simple_evaluate"), special=_evaluated),
    Wrapper(
        "lm_eval",
        re.compile(r"lm_eval\.models\.vllm_\w+\.VLLM"),
        model=("pretrained",),
        direct=_COMMON | {"max_model_len", "gpu_memory_utilization", "quantization", "data_parallel_size", "swap_space"},
    ),
)


def wrapper_of(name: str) -> Wrapper | None:
    if name.rsplit(".", 1)[-1] not in _LAST_NAMES:
        return None
    return next((w for w in WRAPPERS if w.names.fullmatch(name)), None)


_LAST_NAMES = frozenset(
    ("VLLM", "Vllm", "vLLM", "LLMConfig", "vLLMEngineProcessorConfig", "vLLMProcessorConfig", "vllm", "simple_evaluate")
)
