"""Triton's ``config.pbtxt``: engine arguments as ``parameters { key ... value { string_value ... } }``."""

from __future__ import annotations

import re

from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.json_text import decode_json_string
from lint_vllm.extract.option_env import Option, settings_launch
from lint_vllm.extract.processes import proves_vllm
from lint_vllm.launch import Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Text

_STRING = r"\"((?:[^\"\\\n]|\\.)*)\""
_PARAMETER = pattern(
    rf"\bparameters\s*:?\s*[\[{{]?\s*\{{?\s*key\s*:\s*{_STRING}\s*,?\s*value\s*:?\s*\{{\s*string_value\s*:\s*{_STRING}"
)
_MODEL = {"model", "model-name", "model-id"}


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    text = Text.of(source)
    matches = list(_PARAMETER.finditer(re.sub(r"#[^\n]*", lambda m: " " * len(m.group()), text.value)))
    if not matches:
        return Extraction()
    options = []
    for match in matches:
        key, value = text[match.start(1) : match.end(1)], decode_json_string(text[match.start(2) : match.end(2)])
        name = key.value.replace("_", "-").lower()
        options.append(Option(Word(key, key.span), "model" if name in _MODEL else name, Word(value, value.span, '"')))
    if not proves_vllm((o.name for o in options if o.name != "model"), 1):
        return Extraction()
    first = text[matches[0].start() : matches[0].start() + len("parameters")].span
    block = first.to(text[matches[-1].start() : matches[-1].end()].span)
    launch = settings_launch(options, Context(source, follow=follow), "triton", "other", first, block)
    return Extraction((launch,) if launch is not None else ())
