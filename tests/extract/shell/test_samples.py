"""Whole files: what is found in them, against the recorded reading (UPDATE=1 records anew)."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from lint_vllm.extract.registry import CARRIERS, kind_of
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile

from .reading import settings, shown

FOLDER = Path(__file__).parents[2] / "samples" / "shell"
RECORD = Path(__file__).with_name("samples.json")


def described(launch: Launch) -> dict[str, Any]:
    out: dict[str, Any] = {
        "line": launch.command.line,
        "command": launch.command.text,
        "form": launch.form,
        "words": [shown(w) for w in launch.words],
        "written": [w.span.text for w in launch.words],
    }
    optional = {
        "settings": settings(launch),
        "env": {name: v.value.value if v.value else None for name, v in launch.env.items()},
        "image": launch.image.reference if launch.image else None,
        "gpus": [f"{g.resource}={g.count}" for g in launch.deployment.gpus] if launch.deployment else [],
        "hints": [f"{h.kind}:{h.value}" for h in (*launch.hints, *launch.pins)],
        "lost": [w.value for w in launch.lost],
        "unresolved": list(launch.unresolved),
    }
    return out | {key: value for key, value in optional.items() if value}


@pytest.mark.parametrize("name", sorted(p.name for p in FOLDER.iterdir()))
def test_sample(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    source = SourceFile(name, data)
    kind = kind_of(name, source.text)
    assert kind is not None
    module, function = CARRIERS[kind].split(":")
    extraction = getattr(importlib.import_module(f"lint_vllm.extract.{module}"), function)(source, None)
    found = [described(launch) for launch in extraction.launches]
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    if os.environ.get("UPDATE"):
        record[name] = found
        RECORD.write_text(json.dumps(dict(sorted(record.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found == record[name]
