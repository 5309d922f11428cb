"""``config.json`` from the Hugging Face hub, only when ``--hub`` asks for it, through ``huggingface_hub`` (extra ``[hub]``).

That package keeps its own cache, respects ``HF_ENDPOINT``, ``HF_HUB_OFFLINE`` and the machine's login; nothing else than a
model's ``config.json`` is asked for, once a run, and never longer than ``timeout``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from lint_vllm.facts.repository import MAX_CONFIG, hub_cache
from lint_vllm.known import Fact, Known, Unknown
from lint_vllm.patterns import pattern

DEFAULT_ENDPOINT = "https://huggingface.co"
TIMEOUT = 20.0
"""Seconds for one model, retries of the client included."""
MISSING = "--hub needs the huggingface_hub package: pip install 'lint-vllm[hub]'"

_ID = pattern(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_installed() -> bool:
    return importlib.util.find_spec("huggingface_hub") is not None


@dataclass
class Hub:
    """What one run asks of the hub. A hub that does not answer is not asked again."""

    timeout: float = TIMEOUT
    _found: dict[str, Fact[Mapping[str, Any]]] = field(default_factory=dict, repr=False)
    _silent: str | None = None

    def config(self, model: str) -> Fact[Mapping[str, Any]] | None:
        """``config.json`` of a model id; ``Unknown`` with the reason where it was not fetched, ``None`` for what is no id."""
        if not _ID.fullmatch(model) or ".." in model:
            return None
        if model not in self._found:
            self._found[model] = self._ask(model)
        return self._found[model]

    def _ask(self, model: str) -> Fact[Mapping[str, Any]]:
        endpoint = (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
        host = urlsplit(endpoint).netloc or endpoint
        if self._silent is not None:
            return Unknown(f"config.json of {model} was not fetched: {self._silent}")
        answer: list[str | Exception] = []
        # A thread of its own bounds the whole exchange: the client's limits are those of single reads, and it retries.
        thread = threading.Thread(target=lambda: answer.append(_download(model, endpoint, self.timeout)), daemon=True)
        thread.start()
        thread.join(self.timeout)
        if not answer:
            self._silent = f"{host} did not answer within {self.timeout:g} s"
            return Unknown(f"config.json of {model} was not fetched: {self._silent}")
        if isinstance(answer[0], Exception):
            reason, silent = _reason(answer[0], host)
            self._silent = reason if silent else None
            return Unknown(f"config.json of {model} was not fetched: {reason}")
        return _read(answer[0], model, host)


def _download(model: str, endpoint: str, timeout: float) -> str | Exception:
    try:
        import huggingface_hub
        from huggingface_hub.utils import disable_progress_bars
        from huggingface_hub.utils.logging import set_verbosity_error

        disable_progress_bars()
        set_verbosity_error()
        return str(
            huggingface_hub.hf_hub_download(
                model, "config.json", endpoint=endpoint, cache_dir=hub_cache(), etag_timeout=timeout, library_name="lint-vllm"
            )
        )
    except Exception as error:
        return error


def _reason(error: Exception, host: str) -> tuple[str, bool]:
    """Why nothing came, in words, and whether the hub as a whole is out of reach."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return "its terms must be accepted on the hub, and this machine logged in (hf auth login)", False
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{host} has no such model, or it is private", False
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set", True
    if isinstance(error, errors.LocalEntryNotFoundError):  # the client looked into its cache after something else failed
        cause = error.__cause__
        return _reason(cause, host) if isinstance(cause, errors.HfHubHTTPError) else (f"{host} cannot be reached", True)
    if isinstance(error, errors.EntryNotFoundError):
        return "the model has no config.json", False
    if isinstance(error, errors.HfHubHTTPError) and error.response is not None:
        return f"{host} answers with status {error.response.status_code}", False
    first = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{type(error).__name__}: {first[:200]}", False


def _read(path: str, model: str, host: str) -> Fact[Mapping[str, Any]]:
    try:
        if os.path.getsize(path) > MAX_CONFIG:
            return Unknown(f"config.json of {model} on {host} is too large")
        with open(path, encoding="utf-8-sig") as file:
            config = json.load(file)
    except (OSError, ValueError, RecursionError):
        return Unknown(f"config.json of {model} on {host} is not valid JSON")
    if not isinstance(config, dict):
        return Unknown(f"config.json of {model} on {host} holds no JSON object")
    return Known(config, f"config.json from {host}")
