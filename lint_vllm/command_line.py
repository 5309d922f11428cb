"""A launch from an argument list that a caller gives, such as ``budget -- env K=V vllm serve MODEL --flags``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from types import MappingProxyType

from lint_vllm.launch import EnvVar, Form, Launch, Word
from lint_vllm.source import SourceFile, Span, Text

PATH = "<command line>"

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_API_SERVER = re.compile(r"vllm\.entrypoints(?:\.\w+)*\.api_server")


class NotALaunch(Exception):
    """An argument list that starts no vLLM."""


def launch_from_command(argv: Sequence[str]) -> Launch:
    """The launch of ``[env] [K=V ...] vllm serve ...`` or ``python -m vllm.entrypoints...``. Raises :class:`NotALaunch`."""
    words = _words(argv)
    at = 1 if argv and argv[0] == "env" else 0
    env: dict[str, EnvVar] = {}
    while at < len(words) and _ASSIGNMENT.match(words[at].value):
        word = words[at]
        name, _, _ = word.value.partition("=")
        value = Word(word.content[len(name) + 1 :], word.span)
        env[name] = EnvVar(Word(word.content[: len(name)], word.span), value, word.span, "shell")
        at += 1
    form: Form
    rest = [word.value for word in words[at : at + 3]]
    program = rest[0].rsplit("/", 1)[-1] if rest else ""
    if program == "vllm" and rest[1:2] == ["serve"]:
        form, length = "vllm serve", 2
    elif program.startswith("python") and rest[1:2] == ["-m"] and len(rest) == 3 and _API_SERVER.fullmatch(rest[2]):
        form, length = "api_server", 3
    else:
        shown = shlex.join(argv[at : at + 3]) if at < len(argv) else "nothing"
        raise NotALaunch(f"expected `vllm serve MODEL ...` after --, got `{shown}`")
    command = words[at].span.to(words[at + length - 1].span)
    return _launch(form, words[at + length :], command, env)


def launch_from_arguments(argv: Sequence[str]) -> Launch:
    """The launch of the arguments that follow ``vllm serve``."""
    return launch_from_command(["vllm", "serve", *argv])


def _launch(form: Form, words: Sequence[Word], command: Span, env: dict[str, EnvVar]) -> Launch:
    whole = Span(command.source, 0, len(command.source.text))
    return Launch(command.source, form, "command line", command, whole, tuple(words), env=MappingProxyType(env))


def _words(argv: Sequence[str]) -> list[Word]:
    """The words with their places in the line a person would type."""
    quoted = [shlex.quote(word) for word in argv]
    source = SourceFile.of(" ".join(quoted), PATH)
    words, at = [], 0
    for value, text in zip(argv, quoted, strict=True):
        span = source.span(at, at + len(text))
        plain = text == value and source.text[span.start : span.end] == value
        content = Text.of(source, span.start, span.end) if plain else Text.placed(value, span)
        words.append(Word(content, span, "" if plain else "'"))
        at = span.end + 1
    return words
