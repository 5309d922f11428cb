"""The documentation of rules: for the terminal, as JSON, and as the generated reference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lint_vllm.rule import Bad, Example, Good, Rule

FAMILIES: Mapping[str, str] = {
    "MEM": "Memory",
    "ARG": "Arguments",
    "MDL": "Model",
    "HW": "Hardware",
    "DEP": "Deployment",
    "SEC": "Security",
    "PRF": "Performance",
    "SRC": "Unreadable input and the linter itself",
}
PARTS = ("Why", "Instead", "Wrong when")


def parts(rule: Rule) -> dict[str, str]:
    """The named paragraphs of a rule's docstring: ``Why``, ``Instead``, ``Wrong when``."""
    body = rule.doc.strip().partition("\n")[2]
    pieces = re.split(rf"^({'|'.join(PARTS)}):", body, flags=re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}


def table(rules: Iterable[Rule]) -> str:
    """One line a rule."""
    rows = [
        (r.code, r.severity.label, "fix" if r.fixable else "", r.name + (" (strict)" if r.strict else ""), r.summary) for r in rules
    ]
    width = max((len(name) for _, _, _, name, _ in rows), default=0)
    return "".join(f"{code:<7} {level:<8} {fix:<4} {name:<{width}}  {summary}\n" for code, level, fix, name, summary in rows)


def page(rule: Rule) -> str:
    """One rule for the terminal."""
    lines = [f"{rule.code} {rule.name} ({rule.severity.label}, since {rule.since})", "", f"{rule.summary}."]
    if rule.strict:
        lines += ["", "Runs in the strict profile, or when selected."]
    for name, text in parts(rule).items():
        lines += ["", f"{name}: {text}"]
    for title, examples in (("Found", rule.bad), ("Not found", rule.good)):
        for example in examples:
            lines += ["", f"{title} in {example.name}{_facts(example)}:", *_indented(example.source)]
            if example.fixed is not None:
                lines += ["  after --fix:", *_indented(example.fixed)]
    options = option_rows(rule)
    if options:
        lines += ["", "Options:", *(f"  {name} = {default}" for name, default in options)]
    if rule.sources:
        lines += ["", "Sources:", *(f"  {source}" for source in rule.sources)]
    return "\n".join([*lines, "", rule.url]) + "\n"


def as_json(rules: Iterable[Rule]) -> str:
    return json.dumps({"version": 1, "rules": [record(rule) for rule in rules]}, indent=2, ensure_ascii=False) + "\n"


def record(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.label,
        "since": rule.since,
        "summary": rule.summary,
        **{name.lower().replace(" ", "_"): text for name, text in parts(rule).items()},
        "fixable": rule.fixable,
        "strict": rule.strict,
        "docs": rule.docs,
        "options": dict(option_rows(rule)),
        "sources": list(rule.sources),
        "bad": [_example(example) for example in rule.bad],
        "good": [_example(example) for example in rule.good],
        "url": rule.url,
    }


def option_rows(rule: Rule) -> list[tuple[str, str]]:
    """(name as in settings, default as TOML writes it)."""
    from lint_vllm.selection import option_types

    rows = []
    for name in option_types(rule.options):
        default = getattr(rule.options, name)
        rows.append((name.replace("_", "-"), json.dumps(list(default) if isinstance(default, tuple) else default)))
    return rows


def _example(example: Bad | Good) -> dict[str, Any]:
    return {"name": example.name, "source": example.source, "fixed": example.fixed, "facts": dict(example.facts)}


def _facts(example: Example) -> str:
    stated = ", ".join(f"{key.replace('_', '-')} {value}" for key, value in example.facts.items())
    return f" ({stated})" if stated else ""


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}" for line in text.rstrip("\n").split("\n"))
