"""How the parser of a release treats words, beyond its option table: dated facts from ``data/flags/dialects.json``."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from lint_vllm.arguments.tables import data_text, release_key
from lint_vllm.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """Behaviour of ``FlexibleArgumentParser`` that changed between releases.

    - ``underscores``: which part of a name gets dashes (``all``, ``before dot``).
    - ``model_option``: pattern of the word that ``vllm serve`` treats apart, and ``model_option_action``: ``ignored`` (an
      option like any other), ``refused``, ``first`` (its value is moved to the front).
    - ``name_needs_model``: ``vllm serve --served-model-name`` without a model in front is refused.
    - ``config_*``: how ``--config`` files are merged; ``config_needs`` ``word`` wants a model word before the option,
      ``model`` takes one from the file as well.
    - ``optimization``: what ``-O3`` and ``-O 3`` become; ``optimization_dotted``: what ``-O.`` becomes.
    - ``dotted``: ``--name.key value`` is put together as ``text`` or ``json`` values; ``dotted_sizes``: ``1k`` is a number.
    - ``json_sizes``: bare ``80g`` inside JSON of a configuration class is a number.
    - ``sizes``: suffixes of human-readable integers. ``json_pairs``: ``a=1,b=2`` is read where JSON is expected.
    - ``dict_text``: what counts as JSON where a string is allowed too.
    - ``class_text``: compilation config as ``python`` or ``json`` text; ``class_levels``: a bare level 0 to 3 as well.
    - ``image_entry``: what the entry point of the official image runs (``api_server``, ``serve``; ``either``: not settled).
    - ``compilation_fills``: keys that a compilation config given on the command line gets by itself.
    - ``unset_on``: dests of switches without a default that the release turns on where the model allows it.
    - ``delegates``: a word that hands the whole command line to another package (vllm-omni).
    - ``lora_splits_once``: ``name=path`` may hold a second ``=``.
    """

    underscores: str
    model_option: str | None
    model_option_action: str
    name_needs_model: bool
    config_needs: str
    config_leading: bool
    config_lists: bool
    config_objects: bool
    config_negatives: bool
    optimization: str | None
    optimization_dotted: str | None
    dotted: str | None
    dotted_sizes: bool
    json_sizes: bool
    sizes: str
    json_pairs: bool
    dict_text: str
    class_text: str
    class_levels: bool
    image_entry: str
    lora_splits_once: bool
    compilation_fills: Mapping[str, Any]
    unset_on: tuple[str, ...]
    delegates: str | None


@functools.lru_cache(maxsize=64)
def dialect_of(release: str) -> Dialect:
    facts: dict[str, Any] = {}
    for step in json.loads(data_text("dialects.json")):
        if release_key(step["since"]) <= release_key(release):
            facts.update(step)
    facts["unset_on"] = tuple(facts["unset_on"])
    return Dialect(**{key: value for key, value in facts.items() if key not in ("since", "source")})
