"""The inventory of launches: a table for people, JSON (version 1) and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from lint_vllm.arguments.model import Argument, ArgumentSet
from lint_vllm.inspection import Case
from lint_vllm.known import Known, Unknown
from lint_vllm.launch import Setting
from lint_vllm.redaction import Redactor
from lint_vllm.report.frame import printable
from lint_vllm.report.summary import counted
from lint_vllm.source import Span

VERSION = 1


def render(name: str, cases: Sequence[Case]) -> str:
    redactor = Redactor.of(cases)
    rows = [row(case, redactor) for case in cases]
    if name == "json":
        return json.dumps({"version": VERSION, "launches": rows}, indent=2, ensure_ascii=False) + "\n"
    return _csv(rows) if name == "csv" else _table(rows)


def row(case: Case, redactor: Redactor) -> dict[str, Any]:
    """One launch: names without leading dashes and with dashes, values as written, secrets masked."""
    launch = case.launch
    args, conditional, unresolved = written_arguments(case, redactor)
    model, model_unknown = _model(case)
    return {
        "path": launch.path,
        "line": launch.command.line,
        "end_line": _end_line(case),
        "block_line": launch.block.line,
        "column": launch.command.column,
        "site": launch.site,
        "form": launch.form,
        "model": None if model is None else redactor.text(model),
        "args": args,
        "conditional_args": conditional,
        "unresolved": [*(["model"] if model_unknown else []), *unresolved],
        "env": {
            name: redactor.value(name, variable.value.value) if variable.value is not None else ""
            for name, variable in launch.env.items()
        },
        "image": launch.image.reference if launch.image is not None else None,
        "vllm_version": {"value": case.facts.release.version, "from": case.facts.release.origin},
        "gpu": _gpu(case),
    }


def written_arguments(case: Case, redactor: Redactor) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """(always given, given under a condition, names whose value is not known)."""
    args: dict[str, str] = {}
    conditional: dict[str, str] = {}
    unresolved: list[str] = []
    for name, value, known, under_condition in (*_from_words(case), *_from_settings(case)):
        if name == "model":
            continue
        (conditional if under_condition else args)[name] = redactor.value(name, value) if known else redactor.text(value)
        if not known and name not in unresolved:
            unresolved.append(name)
    return args, conditional, unresolved


Written: TypeAlias = "tuple[str, str, bool, bool]"
"""Name, value, whether the value is known, whether under a condition."""


def _from_words(case: Case) -> Iterator[Written]:
    """The flags of the command line in order, also those that the release does not have."""
    read = {_place(argument.name_span): argument for argument in case.args.arguments if argument.name is not None}
    model = None if _is_stray(case.args) else case.args.model_span
    words = case.launch.words
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        flag, equals, value = word.value.partition("=")
        if not flag.startswith("-") or len(flag) < 2:
            continue
        argument = read.get(_place(word.content.span)) or read.get(_place(word.span))
        if argument is not None and "." not in flag:
            known = all(w.unknown is None for w in (word, *argument.words))
            yield written_name(argument), written_value(argument), known, argument.conditional
            at += len(argument.words)
            continue
        name = flag.lstrip("-")
        name = name if "." in name else name.replace("_", "-")
        if equals:
            yield name, value, word.unknown is None, word.conditional
        elif at < len(words) and not words[at].value.startswith("-") and not _same(words[at].value_span, model):
            yield name, words[at].value, words[at].unknown is None, word.conditional
            at += 1
        else:
            yield name, "true", True, word.conditional


def _from_settings(case: Case) -> Iterator[Written]:
    """Named values: keys of a chart or a --config file, keyword arguments."""
    shown = set()
    for setting in case.launch.settings:
        shown.add(_place(setting.name.content.span))
        value = setting.value
        known = value is None or value.unknown is None
        yield _setting_name(setting), setting.written or ("true" if value is None else value.value), known, setting.conditional
    for argument in case.args.arguments:
        if argument.from_config and argument.setting is None and _place(argument.name_span) not in shown:
            yield written_name(argument), written_value(argument), argument.known, argument.conditional


def _setting_name(setting: Setting) -> str:
    """vLLM's option; a wrapper with option names of its own (``OPTION_TENSOR_PARALLEL_DEGREE``) keeps them."""
    prefix, _, own = setting.name.value.replace("OPTION_", "option.", 1).partition("option.")
    if setting.flag == "model" or prefix or not own:
        return setting.flag
    return own.lower().replace("_", "-")


def _place(span: Span) -> tuple[str, int]:
    return span.path, span.start


def _same(span: Span, other: Span | None) -> bool:
    return other is not None and _place(span) == _place(other)


def written_name(argument: Argument) -> str:
    """As written, without leading dashes and with dashes; short aliases spelt out, keys of a carrier as vLLM's option."""
    if argument.setting is not None:
        return _setting_name(argument.setting)
    spelled = argument.spelled or argument.flag
    name = spelled if spelled.startswith("--") else argument.flag
    return name.lstrip("-").replace("_", "-")


def written_value(argument: Argument) -> str:
    if len(argument.words) > 1:
        return " ".join(word.value for word in argument.words)
    if argument.raw is not None:
        return argument.raw
    return "true"


def _model(case: Case) -> tuple[str | None, bool]:
    """The model that is meant, and whether it is not known. A stray value that vLLM would take for the model is not meant;
    one given in a way that this release ignores is."""
    args = case.args
    named = args.get("model") if _is_stray(args) or args.model is None else None
    if named is not None and named.raw is not None:
        return named.raw, not named.known
    if isinstance(args.model, Unknown):
        return (args.model_span.text if args.model_span is not None else None), True
    return args.model, False


def _is_stray(args: ArgumentSet) -> bool:
    """Whether what vLLM would take for the model is the value of a flag that the release does not have."""
    return any(problem.kind in ("unknown", "removed") and problem.value == args.model for problem in args.problems)


def _end_line(case: Case) -> int:
    launch = case.launch
    ends = [word.span.end_line for word in launch.words if word.span.source is launch.source]
    return max([launch.command.end_line, *ends])


def _gpu(case: Case) -> dict[str, Any]:
    gpu, count = case.facts.gpu, case.facts.gpu_count
    return {
        "name": gpu.value.name if isinstance(gpu, Known) else None,
        "count": count.value if isinstance(count, Known) else None,
        "from": gpu.origin if isinstance(gpu, Known) else count.origin if isinstance(count, Known) else gpu.reason,
    }


_COLUMNS = ("where", "form", "model", "GPUs", "vLLM", "arguments")


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "no launches\n"
    table = [_COLUMNS, *map(_cells, rows)]
    widths = [min(60, max(len(cells[at]) for cells in table)) for at in range(len(_COLUMNS) - 1)]
    lines = []
    for cells in table:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        lines.append("  ".join([*padded, cells[-1]]).rstrip())
    found = f"{counted(len(rows), 'launch')} in {counted(len({data['path'] for data in rows}), 'file')}"
    return "\n".join([*lines, found]) + "\n"


def _cells(data: Mapping[str, Any]) -> tuple[str, ...]:
    gpu = data["gpu"]
    count = "" if gpu["count"] is None else f"{gpu['count']} x "
    gpus = f"{count}{gpu['name'] or ('?' if not count else 'GPU')}" + (f" ({gpu['from']})" if gpu["name"] or count else "")
    given = [name if value == "true" else f"{name}={value}" for name, value in data["args"].items()]
    given += [f"[{name}]" for name in data["conditional_args"]]
    return (
        printable(f"{data['path']}:{data['line']}"),
        data["form"],
        printable(data["model"] or "?"),
        printable(gpus),
        printable(f"{data['vllm_version']['value']} ({data['vllm_version']['from']})"),
        printable(" ".join(given)),
    )


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [
        "path",
        "line",
        "end_line",
        "site",
        "form",
        "model",
        "gpu",
        "gpu_count",
        "gpu_from",
        "vllm_version",
        "vllm_version_from",
    ]
    writer.writerow([*names, "image", "args", "conditional_args", "unresolved"])
    for data in rows:
        gpu, version = data["gpu"], data["vllm_version"]
        cells = [data["path"], data["line"], data["end_line"], data["site"], data["form"], data["model"], gpu["name"], gpu["count"]]
        cells += [gpu["from"], version["value"], version["from"], data["image"]]
        cells += [json.dumps(data["args"]), json.dumps(data["conditional_args"]), " ".join(data["unresolved"])]
        writer.writerow([_inert(cell) for cell in cells])
    return out.getvalue()


def _inert(cell: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "@")) else cell
