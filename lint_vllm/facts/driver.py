"""The NVIDIA driver that a file installs or names: ``nvidia-driver-535-server``, ``cuda-drivers-550``, ``driver_version: 535``, or the ``driver:`` table of a
GPU operator."""

from __future__ import annotations

import re

from lint_vllm.known import Known
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile

_STATED = pattern(
    r"""(?:\b(?:nvidia-(?:driver|headless|utils|dkms|open|kernel-open)(?:-no-dkms|-dkms|-kernel-source)?-"""
    r"""|cuda-drivers-(?:fabricmanager-)?|NVIDIA-Linux-x86_64-|(?:nvidia|host)[ ]driver(?:[ ]version)?[ :=]+v?"""
    r"""|driver:[ \t]*\r?\n(?:[ \t][^\n]*\n){0,5}?[ \t]+version:\s*["']?)"""
    r"""|(?<![a-zA-Z])driver[-_]version["']?\s*[:=]\s*["']?)(?P<version>\d{3}(?:\.\d+){0,2})\b""",
    re.IGNORECASE,
)


def stated_driver(source: SourceFile) -> Known[str] | None:
    """The driver version that a file states, where it states one only."""
    found = list(_STATED.finditer(source.text))
    if not found or len({m["version"].split(".")[0] for m in found}) > 1:
        return None
    first = found[0]
    return Known(first["version"], "stated in this file", source.span(first.start("version"), first.end("version")))
