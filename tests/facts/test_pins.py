from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.facts.pins import pins_in_text, resolve_requirement
from lint_vllm.source import SourceFile

RELEASES = ("0.6.6", "0.8.0", "0.8.5", "0.9.0", "0.9.1", "0.9.2", "0.10.0", "0.33.0")


@pytest.mark.parametrize(
    ("text", "pins"),
    [
        ("pip install vllm==0.9.1", ["vllm==0.9.1"]),
        ('pip install "vllm[audio]==0.9.1"', ["vllm==0.9.1"]),
        ("uv pip install -q vllm>=0.8,<0.9 torch", ["vllm>=0.8,<0.9"]),
        ("pip install vllm-omni==0.15.0 vllm_flash_attn==1", []),
        ("# pip install vllm==0.8.0\npip install vllm", []),
        ("uvx --from vllm==0.20.2 vllm serve m", ["vllm==0.20.2"]),
        ('# /// script\n# dependencies = [\n#   "vllm==0.9.1",\n# ]\n# ///', ["vllm==0.9.1"]),
        ("conda install vllm=0.9.1", ["vllm==0.9.1"]),
        ("pip install git+https://github.com/vllm-project/vllm.git@v0.9.2", ["vllm==0.9.2"]),
        ("git clone -b v0.9.2 https://github.com/vllm-project/vllm", ["vllm==0.9.2"]),
        ("pip install https://x/vllm-0.10.0%2Bcu128-cp38-abi3-linux_x86_64.whl", ["vllm==0.10.0"]),
        ('[[package]]\nname = "vllm"\nversion = "0.9.1"\n', ["vllm==0.9.1"]),
        ('vllm = "^0.9.1"', ["vllm^0.9.1"]),
        ('vllm = { version = "==0.9.1", extras = ["x"] }', ["vllm==0.9.1"]),
        ('"vllm": {\n  "hashes": ["a"],\n  "version": "==0.9.1"\n}', ["vllm==0.9.1"]),
        ("ARG VLLM_VERSION=0.9.1\nRUN pip install vllm==${VLLM_VERSION}", ["vllm==0.9.1"]),
        ("VLLM_VERSION=0.9.1\necho hello", []),
        ("dependencies = ['vllm~=0.9.1; sys_platform == \"linux\"']", ["vllm~=0.9.1"]),
    ],
)
def test_pins(text: str, pins: list[str]) -> None:
    source = SourceFile.of(text)
    found = pins_in_text(source)
    assert [pin.value for pin in found] == pins
    assert all(any(c.isdigit() for c in pin.span.text) for pin in found)


@pytest.mark.parametrize(
    ("requirement", "version", "exact"),
    [
        ("vllm==0.9.1", "0.9.1", True),
        ("vllm==0.9.1+cu128", "0.9.1", True),
        ("vllm>=0.8,<0.9", "0.8.5", False),
        ("vllm<0.9.0,>=0.6", "0.8.5", False),
        ("vllm<=0.9.1", "0.9.1", False),
        ("vllm~=0.9.0", "0.9.2", False),
        ("vllm==0.9.*", "0.9.2", False),
        ("vllm^0.9.0", "0.9.2", False),
        ("vllm>=0.8", None, False),
        ("vllm!=0.9.0", None, False),
        ("vllm<0.5", "0.5", False),
    ],
)
def test_requirements(requirement: str, version: str | None, exact: bool) -> None:
    found = resolve_requirement(requirement, RELEASES)
    assert (found.version, found.exact) == (version, exact)


@given(st.text(alphabet="vlm=<>~!^.,0123456789*+ [](){}\"'\n#-", max_size=120))
def test_any_text(text: str) -> None:
    for pin in pins_in_text(SourceFile.of(text)):
        resolve_requirement(pin.value, RELEASES)
