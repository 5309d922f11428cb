"""Which model a launch serves, and where its shape is known from.

Precedence: ``--model-config``; the ``models`` table of the settings; ``config.json`` of a folder in the repository; the
machine's Hugging Face cache; the hub, only where it is asked for; the catalogue. A path that leads out of the repository is looked up by its last components.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lint_vllm.facts.model import Model
from lint_vllm.facts.repository import MAX_CONFIG, ModelFolder, Repository, looks_local
from lint_vllm.frozen import dataclass
from lint_vllm.known import Fact, Known, Unknown
from lint_vllm.launch import Launch
from lint_vllm.patterns import pattern
from lint_vllm.settings import Stated

if TYPE_CHECKING:
    from lint_vllm.facts.hub import Hub

_CACHE_PATH = pattern(r"models--(?P<org>[\w.-]+?)--(?P<name>[\w.-]+?)(?:/|$)")
_SCHEME = pattern(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelLookup:
    """Everything a model's name is looked up in, for one launch."""

    options: Stated
    settings: Stated
    repository: Repository
    mounts: Mapping[str, str]
    hub: Hub | None = None
    """Asked before the catalogue; ``None`` (nobody wants the network) asks nothing."""

    def served(self, name: str) -> Fact[Model]:
        """The model of the launch itself; ``--model-config`` speaks of it."""
        if self.options.model_config is not None:
            return _stated_file(self.options.model_config, name)
        return self.find(name)

    def find(self, name: str) -> Fact[Model]:
        """Any model by its id or path: a draft model, a sibling that a fix proposes."""
        name = name.strip()
        if not name:
            return Unknown("no model is named")
        return self._from_settings(name) or self._from_folder(name) or self._from_cache(name) or self._from_hub(name)

    def _from_settings(self, name: str) -> Fact[Model] | None:
        entry = self.settings.models.get(name)
        if entry is None:
            return None
        if isinstance(entry, Mapping):
            return _from_config(entry, name, "settings")
        return _stated_file(os.path.join(self.settings.root or Path(), os.path.expanduser(entry)), name, "settings: ")

    def _from_folder(self, name: str) -> Fact[Model] | None:
        folder = self.repository.model_folder(name, self.mounts)
        if folder is None or folder.config is None:
            return None
        return _from_config(_whole_config(folder), name, f"config.json in {folder.path}")

    def _from_cache(self, name: str) -> Fact[Model] | None:
        for model_id in (_cached_id(name), name):
            config = self.repository.hub_config(model_id) if model_id is not None else None
            if config is not None and model_id is not None:
                return _from_config(config, model_id, "config.json in the local Hugging Face cache")
        return None

    def _from_hub(self, name: str) -> Fact[Model]:
        """The hub's configuration; the catalogue's where the hub is not asked or has none, which is then said."""
        found = self.hub.config(name) if self.hub is not None and not self.repository.exists(name) else None
        if isinstance(found, Known):
            return _from_config(found.value, name, found.origin)
        shipped = self._from_catalogue(name)
        if found is None:
            return shipped
        return Known(shipped.value, f"{shipped.origin}; {found.reason}") if isinstance(shipped, Known) else found

    def _from_catalogue(self, name: str) -> Fact[Model]:
        from lint_vllm.facts.catalogue import find

        for candidate, same in _catalogue_names(name):
            model = find(candidate)
            if model is not None:
                if same:
                    return Known(model, model.origin)
                return Known(
                    replace(model, id=name, exact=False, origin=f"{model.origin}, by the name of the folder"), model.origin
                )
        if looks_local(name):
            return Unknown(f"model {name} is not in this repository; give its config.json with --model-config or the settings")
        return Unknown(f"model {name} is not in the catalogue; give its config.json with --model-config or the settings")


def mounts_of(launch: Launch) -> Mapping[str, str]:
    """Folders of the container that are folders beside the linted file: target -> relative source."""
    if launch.deployment is None:
        return {}
    return {
        m.target: m.source
        for m in launch.deployment.mounts
        if m.kind in ("bind", "hostPath") and m.source is not None and not m.source.startswith(("/", "~", "$"))
    }


def _stated_file(path: str, name: str, where: str = "") -> Fact[Model]:
    """A ``config.json`` (or the folder that holds it) that somebody named; it may lie anywhere."""
    target = Path(path)
    try:
        if target.is_dir():
            target = target / "config.json"
        if target.stat().st_size > MAX_CONFIG:
            return Unknown(f"{where}{path} is too large for a config.json")
        config = json.loads(target.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        return Unknown(f"{where}{path}: {error.strerror or error}")
    except (ValueError, RecursionError):
        return Unknown(f"{where}{path} is not valid JSON")
    if not isinstance(config, dict):
        return Unknown(f"{where}{path} holds no JSON object")
    return _from_config(config, name, f"{where}{path}")


def _from_config(config: Mapping[str, Any], name: str, origin: str) -> Fact[Model]:
    from lint_vllm.facts.model_config import from_config

    try:
        return Known(from_config(config, name, origin), origin)
    except (TypeError, ValueError, KeyError, AttributeError, ZeroDivisionError, OverflowError) as error:
        return Unknown(f"{origin} cannot be read as a model configuration: {error}")


def _whole_config(folder: ModelFolder) -> Mapping[str, Any]:
    """``config.json`` with the quantization that ModelOpt writes beside it (vllm==0.33.0 transformers_utils/config.py get_config)."""
    config = folder.config or {}
    stated = (folder.quant_config or {}).get("quantization")
    if "quantization_config" in config or not isinstance(stated, Mapping):
        return config
    return {**config, "quantization_config": {"quant_method": "modelopt", **stated}}


def _cached_id(name: str) -> str | None:
    found = _CACHE_PATH.search(name)
    return None if found is None else f"{found['org']}/{found['name']}"


def _catalogue_names(name: str) -> Iterator[tuple[str, bool]]:
    """Ids to try, and whether each is the model itself or only named by a path's last components."""
    cached = _cached_id(name)
    if cached is not None:
        yield cached, True
        return
    yield name, True
    if not looks_local(name) and _SCHEME.match(name) is None:
        return
    parts = [part for part in re.split(r"[/\\]", _SCHEME.sub("", name)) if part not in ("", ".", "..", "~")]
    if len(parts) >= 2:
        yield "/".join(parts[-2:]), False
    if parts and parts[-1] != name:
        yield parts[-1], False
