"""What lies behind a problem of the parser: one cause each, so that a mistake is reported once and by its own name."""

from __future__ import annotations

import functools
import json
import re
from typing import Any, Literal

from lint_vllm.arguments.history import choices
from lint_vllm.arguments.model import Argument, ArgumentSet, Problem
from lint_vllm.arguments.tables import known_releases, load, table_release
from lint_vllm.launch import Setting, Word
from lint_vllm.packaged import data_text
from lint_vllm.patterns import pattern
from lint_vllm.source import Span

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
    "stray",  # a word that belongs to nothing
    "other",
]

DOCKER_WITH_VALUE = frozenset({
    "--gpus", "--ipc", "--shm-size", "--network", "--net", "--volume", "-v", "-p", "--publish", "--env", "-e", "--env-file", "--restart",
    "--runtime", "--ulimit", "--mount", "--entrypoint", "--name", "--user", "-u", "--memory", "--cpus", "--device", "--pid", "--cap-add",
    "--security-opt", "--hostname", "--workdir", "--label", "--pull", "--group-add", "--add-host",
})  # fmt: skip
DOCKER_SWITCHES = frozenset({"--rm", "--detach", "-it", "--privileged", "--init"})
"""Options of ``docker run``: those with a value, and those without."""
_DASHES = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212")
"""Dashes that word processors make of a hyphen."""
_JOINED = pattern(r"-{1,2}[A-Za-z][\w.-]*[ \t]+\S")
_PAIRS = pattern(r"\s*[\w.-]+\s*=\s*[^,{}\[\]]+(,\s*[\w.-]+\s*=\s*[^,{}\[\]]+)*\s*\Z")
_NUMBER = pattern(r"[-+]?\d[\d.,_]*\s*[kKmMgGtT]?[bB]?\Z")


@functools.lru_cache(maxsize=1)
def _foreign() -> dict[str, Any]:
    text = data_text("foreign_flags.json")
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
    return flag in DOCKER_WITH_VALUE or flag in DOCKER_SWITCHES


def written_option(problem: Problem) -> Word | None:
    """The word that holds the option as it stands in the file (``-ngl``, ``--ctx-size=8192``)."""
    if problem.argument is not None and problem.argument.name is not None:
        return problem.argument.name
    if problem.words and problem.words[0].value.startswith("-"):
        return problem.words[0]
    return None


def setting_at(args: ArgumentSet, span: Span) -> Setting | None:
    """The named value whose key is underlined by a span."""
    return next((s for s in args.launch.settings if s.name.value_span == span or s.name.span == span), None)


def choice_added_in(flag: str | None, value: str | None, release: str) -> str | None:
    """The first later release in which a value is one of an option's choices; ``None`` where it never is."""
    if flag is None or value is None:
        return None
    later = known_releases()
    for name in later[later.index(release) + 1 :] if release in later else ():
        if value in (choices(flag, name) or load(name).values.get(flag.lstrip("-").replace("-", "_")) or ()):
            return name
    return None


def cause_of(problem: Problem, args: ArgumentSet) -> Cause:
    """The one cause of a problem, from what was written and what the release's table says."""
    if problem.kind == "duplicate":
        return "duplicate"
    if any(w.span.contains(problem.span) for w in args.launch.doubled_entrypoint):
        return "doubled"
    option = written_option(problem)
    written = option.value.split("=")[0] if option is not None else problem.flag or ""
    if option is not None and _JOINED.match(option.value) and _no_option_as_written(problem):
        return "joined"
    if problem.kind in ("unknown", "removed", "stray", "ambiguous") and args.launch.form == "image" and docker_option(written):
        return "docker"
    if problem.kind in ("unknown", "stray") and (written or problem.value or "").startswith(_DASHES):
        return "typo"
    if problem.kind in ("unknown", "ambiguous", "bad_value", "stray"):
        if plugin_package(written):
            return "plugin"
        if foreign_program(written) and not _short_alias(written, args):
            return "foreign"
    if problem.kind == "removed" or (problem.kind == "ambiguous" and problem.removed_in):
        return "removed"
    if problem.kind == "unknown":
        return "too_new" if problem.introduced_in else "typo"
    if problem.kind == "unexpected_value" or (problem.kind == "stray" and problem.known_flag is not None):
        return "switch_value"
    if problem.kind == "missing_value":
        return (
            "swallowed_model"
            if problem.known_flag == "--served-model-name"
            else "missing_model"
            if problem.known_flag is None
            else "bad_value"
        )
    if problem.kind == "bad_value":
        return _value_cause(problem, args)
    if problem.kind == "ambiguous":
        return "ambiguous"
    if problem.kind == "conflict":
        return "conflict"
    return "stray" if problem.kind == "stray" else "other"


def swallowing_name(args: ArgumentSet) -> Argument | None:
    """The ``--served-model-name`` that took the model as one more name, where no model is left."""
    name = args.get("served_model_name")
    if name is None or len(name.words) < 2 or not args.complete or args.given("config") or args.given("model"):
        return None
    if args.model_span is not None or any(setting.flag == "model" for setting in args.launch.settings):
        return None
    refused = any(p.is_error and cause_of(p, args) in ("swallowed_model", "missing_model") for p in args.problems)
    return name if refused or "/" in name.words[-1].value else None


def _no_option_as_written(problem: Problem) -> bool:
    """Whether the parser made no option of the word: it refused it, or took it for a model or the start of a dotted key."""
    return problem.kind in ("unknown", "removed", "stray", "ambiguous", "ignored", "missing_value") or problem.stage == "config"


def _short_alias(written: str, args: ArgumentSet) -> bool:
    """Whether one dash less makes it an option (``--tp`` for ``-tp``)."""
    return written[1:] in load(table_release(args.release.value)[0]).by_flag


def _value_cause(problem: Problem, args: ArgumentSet) -> Cause:
    value = problem.value or ""
    release = table_release(args.release.value)[0]
    option = load(release).by_flag.get(problem.known_flag or "")
    if option is None:
        return "bad_value"
    if problem.introduced_in or choice_added_in(option.flag, value, release):
        return "too_new"
    if option.is_json:
        if _PAIRS.match(value):
            return "json_form"
        return "json_quoting" if re.match(r"\s*[\\'\"]*[{\[]", value) and not _is_json(value) else "bad_value"
    if option.wants_integer and _NUMBER.match(value) and not value.lstrip("-").isdigit():
        return "human_integer"
    return "bad_value"


def _is_json(value: str) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True
