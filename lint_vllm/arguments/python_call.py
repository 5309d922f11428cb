"""Keyword arguments of ``LLM(...)``, ``EngineArgs(...)`` and ``AsyncEngineArgs(...)``, as a release's signatures take them."""

from __future__ import annotations

from lint_vllm.arguments.history import keyword_history
from lint_vllm.arguments.model import Argument, ArgumentSet, Problem, ProblemKind
from lint_vllm.arguments.nearest import nearest
from lint_vllm.arguments.tables import FlagTable
from lint_vllm.known import Known, Unknown
from lint_vllm.launch import Launch, Setting

_OFFLINE = {"disable_log_stats": True}
"""What ``LLM.__init__`` sets before EngineArgs sees the keywords (vllm entrypoints/llm.py)."""


def read_call(launch: Launch, release: Known[str], table: FlagTable) -> ArgumentSet:
    """Values are the literals of the call; what is no literal is ``Unknown``."""
    owner = launch.python_callable or "LLM"
    owner = owner if owner in table.python else "LLM"
    names = table.python.get(owner, frozenset())
    arguments: list[Argument] = []
    problems: list[Problem] = []
    values: dict[str, object] = {}
    model: str | Unknown | None = None
    model_span = None
    for setting in launch.settings:
        name = setting.flag.replace("-", "_")
        if names and name not in names:
            problems.append(_refused(owner, name, setting, table, names))
            continue
        argument = _argument(name, setting, table)
        arguments.append(argument)
        if name == "model":
            model_span = argument.value_span
            model = argument.value if isinstance(argument.value, str | Unknown) else str(argument.value)
        elif not setting.conditional and not _same(argument.value, table.defaults.get(name)):
            values[name] = argument.value
    defaults = {**table.defaults, **(_OFFLINE if owner == "LLM" else {})}
    complete = not launch.unresolved
    if model is None:
        model = table.defaults.get("model") if complete else Unknown("the model is given elsewhere")  # type: ignore[assignment]
    return ArgumentSet(
        launch, release, tuple(arguments), tuple(problems), model, model_span, values, defaults, complete, form="python"
    )


def _argument(name: str, setting: Setting, table: FlagTable) -> Argument:
    word = setting.value
    value: object = setting.literal
    if word is not None and word.unknown is not None:
        value = Unknown(word.unknown)
    option = table.by_dest.get(name)
    return Argument(
        dest=name,
        flag=option.flag if option is not None else "--" + name.replace("_", "-"),
        value=value,
        name_span=setting.name.value_span,
        value_span=word.value_span if word is not None else None,
        raw=word.value if word is not None else None,
        setting=setting,
        spelled=setting.name.value,
        conditional=setting.conditional,
    )


def _refused(owner: str, name: str, setting: Setting, table: FlagTable, names: frozenset[str]) -> Problem:
    kind: ProblemKind = "unknown"
    removed = introduced = successor = None
    suggestions: tuple[str, ...] = ()
    history = keyword_history(owner, name)
    if history is not None and (removed := history.removed_before(table.release)):
        kind = "removed"
        successor = history.successor.words if history.successor else None
        message = f"{owner}() takes no {name} since vLLM {removed}" + (f"; {successor}" if successor else "")
    elif history is not None and (introduced := history.introduced_after(table.release)):
        message = f"{owner}() takes {name} from vLLM {introduced} on; vLLM {table.release} does not know it"
    else:
        suggestions = nearest(name, names)
        message = f"{owner}() of vLLM {table.release} has no keyword {name}"
        if suggestions:
            message += f"; nearest: {', '.join(suggestions)}"
    return Problem(
        kind,
        True,
        message,
        setting.name.value_span,
        flag=name,
        known_flag=name if history is not None else None,
        value=setting.value.value if setting.value is not None else None,
        suggestions=suggestions,
        removed_in=removed,
        introduced_in=introduced,
        successor=successor,
        argument=_argument(name, setting, table),
        setting=setting,
    )


def _same(a: object, b: object) -> bool:
    return a is b if isinstance(a, bool) or isinstance(b, bool) else a == b
