"""``serving.properties`` of DJL Serving: ``option.*`` keys, alone or as a section of a benchmark file."""

from __future__ import annotations

import itertools
import re

from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.option_env import Option, settings_launch
from lint_vllm.launch import Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Text

_LINE = pattern(r"^[ \t]*(?P<key>option\.[\w.-]+|engine)[ \t]*[=:][ \t]*(?P<value>[^\r\n]*?)[ \t]*\r?$", re.MULTILINE)
_VARIABLE = pattern(r"\$\{?(\w+)\}?$")
_PLACEHOLDER = pattern(r"\{\{.*?\}\}|\$\{[^}]*\}|\{\w+\}")
_SECTION = pattern(r"^\[(\w+)\]|^---", re.MULTILINE)


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    context = Context(source, follow=follow)
    return Extraction(tuple(launches_in_properties(Text.of(source), context)))


def launches_in_properties(text: Text, context: Context) -> list[Launch]:
    """The launches of every group of ``option.*`` lines; a section header starts a new group."""
    bounds = [0, *(m.start() for m in _SECTION.finditer(text.value)), len(text.value)]
    found: list[Launch] = []
    for start, end in itertools.pairwise(bounds):
        launch = _launch(text, start, end, context)
        if launch is not None:
            found.append(launch)
    return found


def _launch(text: Text, start: int, end: int, context: Context) -> Launch | None:
    options: list[Option] = []
    for match in _LINE.finditer(text.value, start, end):
        key = text[match.start("key") : match.end("key")]
        value = text[match.start("value") : match.end("value")]
        name = key.value.removeprefix("option.").replace("_", "-").lower()
        options.append(Option(Word(key, key.span), name, _word(text, value)))
    if not any(o.key.value.startswith("option.") for o in options):
        return None
    first = next(o.key for o in options if o.key.value.startswith("option."))
    last = options[-1].value or options[-1].key
    header = text[start:end].span if text.value.startswith("[", start) else first.span
    block = header.to(last.span)
    return settings_launch(options, context, "djl", "other", first.span, block)


def _word(text: Text, value: Text) -> Word:
    """A value; ``$NAME`` with ``NAME={one}`` above it (benchmark files) is that one."""
    variable = _VARIABLE.fullmatch(value.value)
    if variable:
        listed = re.search(rf"^{variable.group(1)}=\{{([\w./-]+)\}}\s*$", text.value, re.MULTILINE)
        if listed is None:
            return Word(value, value.span, unknown=f"{value.value} has no single value in this file")
        meant = text[listed.start(1) : listed.end(1)]
        return Word(meant, value.span, defined=meant.span)
    placeholder = _PLACEHOLDER.search(value.value)
    return Word(value, value.span, unknown=f"{placeholder.group()} is filled in elsewhere" if placeholder else None)
