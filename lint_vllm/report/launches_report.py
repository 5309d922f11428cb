"""The inventory of launches: a table for people, JSON (version 1) and CSV."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from lint_vllm.arguments.model import Argument
from lint_vllm.inspection import Case
from lint_vllm.known import Known, Unknown
from lint_vllm.redaction import MASK, is_secret_name, masked
from lint_vllm.report.frame import printable

VERSION = 1


def render(name: str, cases: Sequence[Case]) -> str:
    if name == "json":
        return json.dumps({"version": VERSION, "launches": [row(case) for case in cases]}, indent=2, ensure_ascii=False) + "\n"
    if name == "csv":
        return _csv(cases)
    return _table(cases)


def row(case: Case) -> dict[str, Any]:
    """One launch: names without leading dashes and with dashes, values as written, secrets masked."""
    launch = case.launch
    args, conditional, unresolved = written_arguments(case)
    model, model_unknown = _model(case)
    return {
        "path": launch.path,
        "line": launch.command.line,
        "end_line": _end_line(case),
        "block_line": launch.block.line,
        "column": launch.command.column,
        "site": launch.site,
        "form": launch.form,
        "model": model,
        "args": args,
        "conditional_args": conditional,
        "unresolved": [*(["model"] if model_unknown else []), *unresolved],
        "env": {
            name: masked(name, variable.value.value) if variable.value is not None else "" for name, variable in launch.env.items()
        },
        "image": launch.image.reference if launch.image is not None else None,
        "vllm_version": {"value": case.facts.release.version, "from": case.facts.release.origin},
        "gpu": _gpu(case),
    }


def written_arguments(case: Case) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """(always given, given under a condition, names whose value is not known)."""
    args: dict[str, str] = {}
    conditional: dict[str, str] = {}
    unresolved: list[str] = []
    for name, value, known, under_condition in _written(case):
        if name == "model":
            continue
        (conditional if under_condition else args)[name] = MASK if is_secret_name(name) and known else value
        if not known and name not in unresolved:
            unresolved.append(name)
    return args, conditional, unresolved


def _written(case: Case) -> Iterator[tuple[str, str, bool, bool]]:
    """(name, value, whether the value is known, whether under a condition) of each argument, unknown flags included."""
    for argument in case.args.arguments:
        yield written_name(argument), written_value(argument), argument.known, argument.conditional
    for problem in case.args.problems:
        if problem.kind in ("unknown", "removed", "ambiguous") and problem.argument is None and problem.flag:
            name = problem.flag.lstrip("-").replace("_", "-").partition("=")[0]
            conditional = any(word.conditional for word in problem.words)
            yield name, "true" if problem.value is None else problem.value, True, conditional
    read = {id(argument.setting) for argument in case.args.arguments}
    yielded = ("unknown", "removed", "ambiguous")
    refused = {p.flag.lstrip("-").replace("_", "-") for p in case.args.problems if p.flag and p.kind in yielded}
    for setting in case.launch.settings:  # what has no effect (a switch that is false) is written all the same
        name = setting.shown or setting.flag
        if id(setting) not in read and name not in refused:
            word = setting.value
            yield name, "true" if word is None else word.value, word is None or word.unknown is None, setting.conditional


def written_name(argument: Argument) -> str:
    """As written, without leading dashes and with dashes; short aliases spelt out, keys of a carrier as vLLM's option."""
    if argument.setting is not None:
        return argument.setting.shown or argument.setting.flag
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
    model = case.args.model
    if isinstance(model, Unknown):
        span = case.args.model_span
        return (span.text if span is not None else None), True
    if model is None:  # given in a way that this release does not take
        for argument in case.args.arguments:
            if argument.flag == "--model" and argument.raw is not None:
                return argument.raw, not argument.known
        for problem in case.args.problems:
            if problem.known_flag == "--model" and problem.words:
                return problem.words[-1].value.removeprefix("--model="), problem.words[-1].unknown is not None
    return model, False


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


def _table(cases: Sequence[Case]) -> str:
    if not cases:
        return "no launches\n"
    rows = [_COLUMNS, *(_cells(case) for case in cases)]
    widths = [min(60, max(len(cells[at]) for cells in rows)) for at in range(len(_COLUMNS) - 1)]
    lines = []
    for cells in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        lines.append("  ".join([*padded, cells[-1]]).rstrip())
    noun = "launch" if len(cases) == 1 else "launches"
    return "\n".join(lines) + f"\n{len(cases)} {noun} in {len({case.launch.path for case in cases})} file(s)\n"


def _cells(case: Case) -> tuple[str, ...]:
    data = row(case)
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


def _csv(cases: Sequence[Case]) -> str:
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
    for case in cases:
        data = row(case)
        gpu, version = data["gpu"], data["vllm_version"]
        cells = [data["path"], data["line"], data["end_line"], data["site"], data["form"], data["model"], gpu["name"], gpu["count"]]
        cells += [gpu["from"], version["value"], version["from"], data["image"]]
        cells += [json.dumps(data["args"]), json.dumps(data["conditional_args"]), " ".join(data["unresolved"])]
        writer.writerow([_inert(cell) for cell in cells])
    return out.getvalue()


def _inert(cell: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "@")) else cell
