"""Which vLLM release a text asks an installer for: requirements, lock files, install commands, wheels, checkouts.

Only lower bounds (``vllm>=0.8``) pin nothing: an installer then takes the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lint_vllm.facts import version_key
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Hint
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile

PIN = "vllm-pin"
"""``Hint.kind`` of a pin; ``value`` is the requirement as written (``vllm==0.9.1``, ``vllm>=0.8,<0.9``)."""

_V = r"v?\d+(?:\.\d+)*(?:\.?(?:post|rc|dev)\d+)?(?:\.\*)?(?:\+[\w.]+)?"
_OP = r"(?:===?|~=|!=|<=|>=|<|>)"
_REQUIREMENT = pattern(
    rf"(?<![\w./\\-])vllm(?:\[[\w,\s-]*\])?[ \t]*\(?(?P<spec>{_OP}[ \t]*{_V}(?:[ \t]*,[ \t]*{_OP}[ \t]*{_V})*)"
    rf"|(?<![\w./\\-])vllm=(?P<conda>{_V})(?![\w.])"
    r"|vllm(?:-project)?/vllm(?:\.git)?@v(?P<git>\d+\.\d+\.\d+[\w.]*)"
    r"|(?:-b|--branch)[= ]+v(?P<clone>\d+\.\d+\.\d+[\w.]*)\s+\S*vllm-project/vllm"
    r"|(?<![\w.-])vllm-(?P<wheel>\d+\.\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc)\d+)?)(?:\+[\w.]+|%2B[\w.]+)?-[\w.-]+\.whl"
    r"|(?<![\w.-])[\"']?vllm[\"']?[ \t]*[:=][ \t]*(?:\{[^}\n]*?version[\"']?[ \t]*[:=][ \t]*)?"
    r"[\"'](?P<table>[\^~=<>!]*[ \t]*v?\d+\.\d[^\"'\n]*)[\"']"
    r"|name[ \t]*=[ \t]*\"vllm\"\r?\nversion[ \t]*=[ \t]*\"(?P<lock>[^\"]+)\""
    r"|\"vllm\"[ \t]*:[ \t]*\{[^}]{0,4000}?\"version\"[ \t]*:[ \t]*\"(?P<pipfile>==[^\"]+)\""
)
_VARIABLE = pattern(
    r"(?<!\w)VLLM_VERSION[ \t]*[=:][ \t]*(?:\$\{VLLM_VERSION:-)?[\"']?v?(?P<version>\d+\.\d+\.\d+(?:\.\d+)?(?:\.?post\d+)?)"
)
_VARIABLE_USED = pattern(r"(?:vllm[^\n]{0,40}|@v?|:v?|==)\$\{?(?:\{ *)?(?:env\.)?VLLM_VERSION")


@dataclass(frozen=True, slots=True)
class Pinned:
    """What a requirement comes to: ``version`` is the pinned release, or the newest known one that a range admits.

    ``exact`` is False for ranges; ``narrow`` when all known releases of a range are of one minor version. ``version`` is
    ``None`` where nothing bounds it from above.
    """

    version: str | None
    exact: bool
    narrow: bool = False


def pins_in_text(source: SourceFile, start: int = 0, end: int | None = None) -> tuple[Hint, ...]:
    """Every place of a text that asks for a vLLM release, in order; commented-out ones are left out."""
    return tuple(_pins(source, start, len(source.text) if end is None else end))


def _pins(source: SourceFile, start: int, end: int) -> Iterator[Hint]:
    text = source.text
    for match in _REQUIREMENT.finditer(text, start, end):
        if _commented(text, match.start()):
            continue
        group = match.lastgroup or "spec"
        written = match[group].strip()
        requirement = written if written[:1] in "=<>~!^" else f"=={written}"
        yield Hint(PIN, f"vllm{requirement}", source.span(match.start(), match.end()))
    if "VLLM_VERSION" in text and _VARIABLE_USED.search(text, start, end):
        for match in _VARIABLE.finditer(text, start, end):
            if not _commented(text, match.start()):
                yield Hint(PIN, f"vllm=={match['version']}", source.span(match.start("version"), match.end("version")))


def _commented(text: str, at: int) -> bool:
    """Whether a comment mark stands before a place on its line (inline script metadata, ``#   "vllm==0.9"``, is no comment)."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    if re.fullmatch(r"#\s+[\"']", before):
        return False
    return bool(re.search(r"(?:^|\s)(?:#|//)", before))


def resolve_requirement(requirement: str, releases: Sequence[str]) -> Pinned:
    """What ``vllm==0.9.1``, ``vllm>=0.8,<0.9``, ``vllm~=0.9.1``, ``vllm^0.9`` come to. ``releases``: known ones, oldest first."""
    clauses = [_clause(part.strip()) for part in requirement.removeprefix("vllm").split(",")]
    for operator, version in clauses:
        if operator in ("==", "===") and not version.endswith("*"):
            return Pinned(version, True)
    if not any(operator in ("<", "<=", "~=", "^", "~", "==") for operator, _ in clauses):
        return Pinned(None, False)
    admitted = [r for r in releases if all(_admits(operator, version, r) for operator, version in clauses)]
    if admitted:
        return Pinned(admitted[-1], False, len({version_key(r)[:2] for r in admitted}) == 1)
    bound = next((v for o, v in clauses if o in ("<=", "~=", "^", "~", "==")), None) or next(
        (v for o, v in clauses if o == "<"), None
    )
    return Pinned(None if bound is None else bound.rstrip(".*"), False)


def _clause(text: str) -> tuple[str, str]:
    operator = re.match(r"[\^~=<>!]*", text)
    sign = operator.group() if operator else ""
    version = text[len(sign) :].strip().lstrip("v").split("+", 1)[0].split(";", 1)[0].strip()
    return sign or "==", version


def _admits(operator: str, version: str, release: str) -> bool:
    wildcard = version.endswith("*")
    wanted, have = version_key(version.rstrip("*").rstrip(".")), version_key(release)
    if wildcard:
        same = have[: len(wanted)] == wanted
        return not same if operator == "!=" else same
    if operator in ("~=", "^", "~"):
        length = (
            len(wanted) - 1 if operator == "~=" else max(2, len(wanted) - 1) if operator == "~" else (2 if wanted[0] == 0 else 1)
        )
        return have >= wanted and have[:length] == wanted[:length]
    size = max(len(wanted), len(have))
    a, b = have + (0,) * (size - len(have)), wanted + (0,) * (size - len(wanted))
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "!=": a != b}.get(operator, a == b)
