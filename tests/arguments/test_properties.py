"""Against Python's own argparse, and robustness against any words."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lint_vllm import parse_arguments
from lint_vllm.arguments.config_file import UnreadableConfig, plain_scalar, read_config
from lint_vllm.arguments.matching import match
from lint_vllm.arguments.nearest import distance, nearest
from lint_vllm.arguments.parse import flags_of
from lint_vllm.arguments.tables import known_releases, load
from lint_vllm.arguments.tokens import token_of
from lint_vllm.launch import literal_word
from lint_vllm.source import SourceFile


class Refused(Exception):
    pass


class Reference(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def reference(release: str) -> Reference:
    """A parser of argparse with the flags of a release, every value kept as text."""
    parser = Reference(add_help=False)
    for option in load(release).options:
        if option.only == "api_server":
            continue
        if not option.flag.startswith("-"):
            parser.add_argument(option.flag, nargs=option.nargs)
        elif option.is_switch:
            parser.add_argument(*option.flags, dest=option.dest, action="append_const", const=True)
        else:
            parser.add_argument(*option.flags, dest=option.dest, nargs=option.nargs, action="append")
    return parser


WORDS = [
    "m", "x", "4", "-1", "-0.5", "", " ", "a b", "--", "-", "-x", "--port", "--port=1", "--po", "--kv-cache", "--max-model", "-tp", "-tp=2",
    "-tp2", "-q", "-qx", "-ep", "-ep=1", "--enforce-eager", "--enforce-eager=1", "--no-enforce-eager", "--served-model-name", "--api-key",
    "--api-key=x", "--middleware", "--nonsense", "--nonsense=1", "--gpu-memory-utilization", "--e", "--max-model-len 4", "-h", "-O", "-cc",
]  # fmt: skip


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions report ambiguity and -- at another moment")
@pytest.mark.parametrize("release", ["0.7.3", "0.9.2", "0.16.0", "0.33.0"])
@given(line=st.lists(st.sampled_from(WORDS), max_size=7))
@settings(max_examples=250, deadline=None)
def test_matching_agrees_with_argparse(release: str, line: list[str]) -> None:
    flags = {flag: option for flag, option in flags_of(load(release), "serve").items() if option.kind != "help"}
    outcome = match([token_of(literal_word(word)) for word in line], flags, True)
    parser = _references[release]
    try:
        found, extra = parser.parse_known_args(line)
    except Refused:
        assert outcome.refusals or (outcome.model is None and load(release).by_dest["model_tag"].nargs is None)
        return
    if extra:
        assert outcome.refusals
        return
    assert not outcome.refusals, (line, outcome.refusals)
    assert (outcome.model.text if outcome.model else None) == found.model_tag
    given_values: dict[str, Any] = {}
    for use in outcome.uses:
        values = [token.text for token in use.values]
        value: Any = True if use.option.is_switch else values if use.option.nargs in ("+", "*") else (values or [None])[0]
        given_values.setdefault(use.option.dest, []).append(value)
    expected = {dest: value for dest, value in vars(found).items() if value is not None and dest != "model_tag"}
    assert given_values == expected


_references = {release: reference(release) for release in ("0.7.3", "0.9.2", "0.16.0", "0.33.0")}


@given(words=st.lists(st.text(max_size=12) | st.sampled_from(WORDS), max_size=6), release=st.sampled_from(known_releases()))
@settings(max_examples=300, deadline=None)
def test_no_words_crash(words: list[str], release: str) -> None:
    found = parse_arguments(["vllm", "serve", *words], release)
    for problem in (*found.problems, *found.late_problems):
        assert problem.message
        assert problem.span.start <= problem.span.end
    module = parse_arguments(["python", "-m", "vllm.entrypoints.openai.api_server", *words], release)
    assert module.form == "api_server"


@given(
    flag=st.sampled_from(sorted(load("0.33.0").by_flag)),
    value=st.text(max_size=20) | st.sampled_from(["{}", "[1]", "null", "1k", "1e9999"]),
)
@settings(max_examples=300, deadline=None)
def test_no_value_crashes(flag: str, value: str) -> None:
    parse_arguments(["vllm", "serve", "m", f"{flag}={value}"], "0.33.0")


@given(text=st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_config_file_crashes(text: str) -> None:
    with contextlib.suppress(UnreadableConfig):
        for setting in read_config(SourceFile.of(text)):
            assert setting.name.span.start <= setting.name.span.end


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("Off", False), ("~", None), ("", None), ("0x10", 16), ("010", 8), ("08001", "08001"), ("1_000", 1000), ("1:30", 90),
        ("0.5", 0.5), ("1e3", "1e3"), ("1.0e+3", 1000.0), (".5", 0.5), ("-.inf", float("-inf")), ("y", "y"), ("0b11", 3), ("+3", 3), ("3k", "3k"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_1(text: str, value: object) -> None:
    assert plain_scalar(text) == value
    assert type(plain_scalar(text)) is type(value)


@given(a=st.text(alphabet="abc-", max_size=8), b=st.text(alphabet="abc-", max_size=8))
def test_distance_is_symmetric(a: str, b: str) -> None:
    assert distance(a, b, 10) == distance(b, a, 10)
    assert (distance(a, b, 10) == 0) == (a == b)
    assert distance(a, b, 1) == min(distance(a, b, 10), 2)


def test_nearest_prefers_the_smallest_distance() -> None:
    assert nearest("--max-modl-len", ["--max-model-len", "--max-log-len", "--port"])[0] == "--max-model-len"
    assert nearest("--len-model-max", ["--max-model-len"]) == ("--max-model-len",)
    assert nearest("--zzzzzzz", ["--max-model-len"]) == ()


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 12)]
    with pytest.raises(UnreadableConfig):
        read_config(SourceFile.of("\n".join(lines)))


def test_many_unknown_words_are_read() -> None:
    found = parse_arguments(["vllm", "serve", "m", *(f"--no-such-{n}" for n in range(2000))], "0.33.0")
    assert len(found.problems) == 2000
