"""What lies behind a problem of the parser: one cause each, so that a mistake is reported once and by its own name."""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Any, Literal

from lint_vllm.arguments.model import ArgumentSet, Problem

Cause = Literal[
    "joined",  # flag and value in one word
    "docker",  # an option of docker run behind the image
    "doubled",  # words of a command that the image already runs
    "plugin",  # a flag that a plug-in adds
    "foreign",  # a flag of another serving program
    "removed",  # gone from this release
    "too_new",  # not yet in this release
    "typo",  # no flag of any release
    "ambiguous",  # a prefix of several flags
    "missing_model",  # nothing to serve
    "swallowed_model",  # a flag with many values took the model
    "switch_value",  # a value given to a switch
    "json_quoting",  # JSON that lost or kept quotes it should not
    "json_form",  # another notation where JSON is wanted
    "human_integer",  # 32.5K, 32,768
    "bad_value",  # any other value the release refuses, and missing values
    "conflict",  # flags that exclude or require each other
    "duplicate",  # given twice
    "other",
]

_DOCKER = frozenset({
    "--gpus", "--ipc", "--shm-size", "--network", "--net", "--volume", "-v", "-p", "--publish", "--env", "-e", "--restart", "--runtime",
    "--ulimit", "--mount", "--rm", "--detach", "-it", "--privileged", "--init",
})  # fmt: skip
_JOINED = re.compile(r"-{1,2}[A-Za-z][\w.-]*[ \t]+\S")
_PAIRS = re.compile(r"\s*[\w.-]+\s*=\s*[^,{}\[\]]+(,\s*[\w.-]+\s*=\s*[^,{}\[\]]+)*\s*\Z")
_NUMBER = re.compile(r"[-+]?\d[\d.,_]*\s*[kKmMgGtT]?[bB]?\Z")


@functools.lru_cache(maxsize=1)
def _foreign() -> dict[str, Any]:
    text = resources.files("lint_vllm").joinpath("data", "foreign_flags.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def foreign_program(flag: str) -> tuple[str, str | None] | None:
    """The other program that has this option, and vLLM's own option for it; the flag as written, without a value."""
    for program, row in _foreign()["programs"].items():
        if flag in row["flags"]:
            return program, row["flags"][flag]
    return None


def plugin_package(flag: str) -> str | None:
    """The package that adds this option to vLLM's command line."""
    row = _foreign()["plugins"].get(flag)
    return row["package"] if row else None


def docker_option(flag: str) -> bool:
    return flag in _DOCKER


def cause_of(problem: Problem, args: ArgumentSet) -> Cause:
    """The one cause of a problem, from what was written and what the release's table says."""
    flag = (problem.flag or "").split("=")[0]
    text = problem.span.text.strip("\"'")
    word = problem.words[0].value if problem.words else text
    launch = args.launch
    if any(problem.span == w.value_span or w.span.contains(problem.span) for w in launch.doubled_entrypoint):
        return "doubled"
    if problem.kind == "duplicate":
        return "duplicate"
    if problem.kind in ("unknown", "removed", "stray", "ambiguous", "bad_value"):
        if _JOINED.match(word) and problem.kind != "bad_value":
            return "joined"
        if launch.form == "image" and docker_option(flag or word.split("=")[0]):
            return "docker"
    if problem.kind == "removed":
        return "removed"
    if problem.kind in ("unknown", "ambiguous", "bad_value"):
        written = _written_flag(problem)
        if written is not None and plugin_package(written):
            return "plugin"
        if written is not None and foreign_program(written):
            return "foreign"
    if problem.kind == "ambiguous":
        return "removed" if problem.removed_in else "ambiguous"
    if problem.kind == "unknown":
        return "too_new" if problem.introduced_in else "typo"
    if problem.kind in ("unexpected_value", "stray"):
        return "switch_value" if problem.known_flag is not None else "other"
    if problem.kind == "missing_value":
        if problem.known_flag is None:
            return "swallowed_model" if problem.argument is not None else "missing_model"
        return "bad_value"
    if problem.kind == "conflict":
        return "conflict"
    if problem.kind == "bad_value":
        if problem.introduced_in:
            return "too_new"
        return _value_cause(problem)
    return "other"


def _written_flag(problem: Problem) -> str | None:
    """The option exactly as it stands in the file (``-ngl``), where it stands there."""
    for word in problem.words[:1]:
        return word.value.split("=")[0]
    if problem.argument is not None and problem.argument.spelled:
        return problem.argument.spelled
    return problem.flag


def _value_cause(problem: Problem) -> Cause:
    value = problem.value or ""
    if problem.wants_json:
        if _PAIRS.match(value):
            return "json_form"
        return "json_quoting" if re.match(r"\s*[\\'\"]*[{\[]", value) else "json_form" if "=" in value else "bad_value"
    if problem.wants_integer and _NUMBER.match(value):
        return "human_integer"
    return "bad_value"
