"""Values that vLLM's own argparse actions build."""

from __future__ import annotations

import json

from lint_vllm.arguments.dialect import Dialect
from lint_vllm.arguments.values import BadValue
from lint_vllm.known import Unknown

_LORA_KEYS = ("name", "path", "base_model_name", "is_3d_lora_weight")


def store_boolean(value: object) -> object:
    """``StoreBoolean`` (up to 0.11.0): the words true and false in any case."""
    if isinstance(value, Unknown):
        return value
    word = str(value).lower()
    if word not in ("true", "false"):
        raise BadValue(f"{value!r} is neither true nor false", expected=("true", "false"))
    return word == "true"


def lora_modules(value: object, dialect: Dialect) -> object:
    """``LoRAParserAction``: ``name=path`` items or JSON objects."""
    found: list[object] = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, Unknown):
            found.append(item)
        elif item in (None, ""):
            continue
        elif "=" in item and "," not in item:
            name, _, path = item.partition("=")
            if "=" in path and not dialect.lora_splits_once:
                raise BadValue("name=path with one = is expected")
            found.append({"name": name, "path": path})
        else:
            found.append(_lora_object(item))
    return found


def _lora_object(text: str) -> dict[str, object]:
    try:
        read = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise BadValue("neither name=path nor JSON") from None
    if not isinstance(read, dict):
        raise BadValue("a JSON object with name and path is expected")
    unknown = [key for key in read if key not in _LORA_KEYS]
    if unknown:
        raise BadValue(f"a LoRA module has no key {unknown[0]!r}", (unknown[0],), _LORA_KEYS)
    if "name" not in read or "path" not in read:
        raise BadValue("a LoRA module needs name and path")
    return read


def prompt_adapters(value: object) -> object:
    """``PromptAdapterParserAction`` (up to 0.9.2): ``name=path`` items."""
    found: list[object] = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, Unknown):
            found.append(item)
            continue
        name, equals, path = str(item).partition("=")
        if not equals or "=" in path:
            raise BadValue("name=path is expected")
        found.append({"name": name, "local_path": path})
    return found
