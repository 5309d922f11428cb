"""Hydra overrides (``actor_rollout_ref.rollout.gpu_memory_utilization=0.7``) of trainers that start vLLM for roll-outs."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lint_vllm.extract.shell_values import part
from lint_vllm.launch import Setting, Word
from lint_vllm.packaged import data_text


@functools.cache
def _programs() -> Sequence[Mapping[str, Any]]:
    data = json.loads(data_text("hydra_rollouts.json"))
    programs: Sequence[Mapping[str, Any]] = data["programs"]
    return programs


def rollout_settings(program: str, words: Sequence[Word]) -> tuple[str, tuple[Setting, ...], Word] | None:
    """Wrapper name, settings and the first override of the engine; ``None`` when no vLLM engine is configured.

    ``program`` is the module or script that Python runs (data/hydra_rollouts.json).
    """
    known = next((p for p in _programs() if re.search(p["match"], program)), None)
    if known is None:
        return None
    pairs = [(word, match) for word in words if (match := re.match(r"\+{0,2}([\w.]+)=", word.value)) is not None]
    engine: str | None = known["default"]
    settings: list[Setting] = []
    model: Setting | None = None
    first: Word | None = None
    for word, match in pairs:
        name = match.group(1)
        key, value = part(word, match.start(1), match.end(1)), part(word, match.end())
        section = next((s for s in known["section"] if name.startswith(s)), None)
        if name in known["model"]:
            model = Setting(key, "model", value, value.value, word.conditional)
        elif section is None:
            continue
        elif name == section + known["engine"]:
            engine = None if value.unknown else value.value
        else:
            option = name[len(section) :]
            flag = known["aliases"].get(option) or (option.replace("_", "-") if option in known["options"] else None)
            if option.startswith("engine_kwargs.vllm."):
                flag = option[len("engine_kwargs.vllm.") :].replace("_", "-")
            if flag is not None and value.value != "null":
                first = first or word
                settings.append(Setting(key, flag, value, value.value, word.conditional))
    if engine != "vllm" or first is None:
        return None
    return known["wrapper"], tuple([model, *settings] if model is not None else settings), first
