"""Which carrier reads which file: by name, by suffix, by the first characters.

A carrier is a function ``extract(source, follow) -> Extraction`` in a module of this package. One line here adds one.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

TELLTALE = re.compile(
    rb"vllm"
    rb"|gpu[-_]?memory[-_]?util|max[-_]?model[-_]?len|max[-_]?num[-_]?(?:seqs|batched)|tensor[-_]?parallel"
    rb"|served[-_]?model[-_]?name|enforce[-_]?eager|kv[-_]?cache[-_]?dtype|engine_?kwargs|model_loading_config|modelSpec|option\.(?:tensor|rolling)",
    re.IGNORECASE,
)
"""Bytes without which no file holds a launch: the name, and keys that only vLLM's arguments have."""

CARRIERS: dict[str, str] = {
    "yaml": "yaml_file:extract",
    "shell": "shell:extract",
    "dockerfile": "dockerfile:extract",
    "python": "python:extract",
    "notebook": "notebook:extract",
    "markdown": "markdown:extract",
    "hcl": "hcl:extract",
    "nix": "nix:extract",
    "systemd": "systemd:extract",
    "makefile": "makefile:extract",
    "justfile": "makefile:extract",
    "env": "envfile:extract",
    "properties": "properties:extract",
    "json": "json_file:extract",
    "toml": "toml_file:extract",
    "pbtxt": "pbtxt:extract",
}
"""Kind of file -> ``module:function``."""

SUFFIXES: dict[str, str] = {
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".sub", ".pbs", ".lsf", ".command", ".conf"), "shell"),
    **dict.fromkeys((".dockerfile", ".containerfile"), "dockerfile"),
    **dict.fromkeys((".py", ".pyi"), "python"),
    ".ipynb": "notebook",
    **dict.fromkeys((".md", ".mdx", ".markdown", ".rst", ".qmd"), "markdown"),
    **dict.fromkeys((".tf", ".hcl", ".nomad", ".tofu"), "hcl"),
    ".nix": "nix",
    **dict.fromkeys((".service", ".container", ".quadlet", ".pod", ".kube"), "systemd"),
    **dict.fromkeys((".mk", ".mak"), "makefile"),
    ".just": "justfile",
    ".env": "env",
    **dict.fromkeys((".properties", ".txt", ".ini", ".cfg"), "properties"),
    **dict.fromkeys((".json", ".jsonc"), "json"),
    ".toml": "toml",
    ".pbtxt": "pbtxt",
}

NAMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:.*[._-])?(?:dockerfile|containerfile)(?:[._-].*)?$", re.I), "dockerfile"),
    (re.compile(r"(?:gnu)?makefile(?:\..*)?$", re.I), "makefile"),
    (re.compile(r"\.?justfile$", re.I), "justfile"),
    (re.compile(r"(?:.*)?\.env(?:\..+)?$|env(?:\..+)?$", re.I), "env"),
)

WRAPPINGS = {
    ".j2",
    ".jinja",
    ".jinja2",
    ".tpl",
    ".tmpl",
    ".template",
    ".tftpl",
    ".gotmpl",
    ".example",
    ".sample",
    ".dist",
    ".bak",
    ".in",
}
"""Suffixes that say nothing about what is inside: ``compose.yaml.j2`` is YAML."""

_SHEBANG = re.compile(r"#!.*?\b(?P<shell>(?:ba|da|z|k|a)?sh)\b|#!.*?\b(?P<python>python)|#SBATCH\b")
_YAML_LIKE = re.compile(r"(?:\s*(?:#.*|---.*)?\n)*\s*(?:- )?[A-Za-z_][\w./-]*:(?:\s|$)")


def kind_of(path: str, head: str) -> str | None:
    """The kind of a file by its name, else by the start of its text; ``None`` when it is nothing that can hold a launch."""
    name = PurePosixPath(path.replace("\\", "/")).name
    wrapped = False
    while True:
        suffix = PurePosixPath(name).suffix.lower()
        for pattern, kind in NAMES:
            if pattern.match(name) and suffix not in (".py", ".sh", ".md", ".yaml", ".yml", ".json"):
                return kind
        if suffix not in WRAPPINGS:
            break
        name, wrapped = name[: -len(suffix)], True
    kind_by_suffix = SUFFIXES.get(suffix)
    if kind_by_suffix is not None:
        return kind_by_suffix
    return _sniff(head) if not suffix or wrapped or not head.isascii() or head.startswith("#!") else None


def _sniff(head: str) -> str | None:
    found = _SHEBANG.search(head[:400]) if head.startswith("#!") or "#SBATCH" in head[:400] else None
    if found:
        return "python" if found.group("python") else "shell"
    if head.lstrip().startswith(("{", "[")) and "{{" not in head[:4] and "{%" not in head[:4]:
        return "json"
    if _YAML_LIKE.match(head) or re.match(r"\s*\{\{-?\s*(?:/\*|define\b|if\b|range\b|with\b)", head):
        return "yaml"
    if re.search(r"^\[(?:Unit|Service|Container)\]", head, re.M):
        return "systemd"
    return None
