"""Launches as plain tuples, so that tables stay readable."""

from __future__ import annotations

import importlib
from pathlib import Path

from lint_vllm.extract.context import Extraction
from lint_vllm.extract.registry import CARRIERS, kind_of
from lint_vllm.launch import Launch, Word
from lint_vllm.source import SourceFile

SAMPLES = Path(__file__).parent.parent.parent / "samples" / "other"


def extraction(text: str, path: str) -> Extraction:
    source = SourceFile.of(text, path)
    kind = kind_of(path, text[:2000])
    assert kind is not None
    module, function = CARRIERS[kind].split(":")
    result = getattr(importlib.import_module(f"lint_vllm.extract.{module}"), function)(source, None)
    assert isinstance(result, Extraction)
    return result


def sample(name: str) -> tuple[Launch, ...]:
    return extraction((SAMPLES / name).read_text(encoding="utf-8"), name).launches


def shown(word: Word) -> str:
    return ("?" if word.unknown else "") + ("~" if word.conditional else "") + word.value


def arguments(launch: Launch) -> list[str]:
    """Words, then ``flag=value`` of settings; ``?`` marks what is not known, ``~`` what is conditional."""
    found = [shown(w) for w in launch.words]
    for setting in launch.settings:
        value = "" if setting.value is None else ("?" if setting.value.unknown else "") + setting.value.value
        found.append(f"{'~' if setting.conditional else ''}{setting.shown or setting.flag}={value}")
    return found


def row(launch: Launch) -> tuple[int, str, list[str]]:
    return launch.command.line, launch.form, arguments(launch)


def python(code: str) -> list[tuple[int, str, list[str]]]:
    return [row(x) for x in extraction(code, "code.py").launches]
