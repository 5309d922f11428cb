"""``lint-vllm log``: a vLLM start-up log in plain words, beside what the engine expected."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lint_vllm.cli.options import fact_options, format_option, request_of

if TYPE_CHECKING:
    from lint_vllm.budget.engine_config import EngineConfig
    from lint_vllm.budget.result import Budget
    from lint_vllm.inspection import Case
    from lint_vllm.log import StartupLog
    from lint_vllm.log_explanation import Comparison
    from lint_vllm.request import Request


@click.command("log")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--save", is_flag=True, help="Keep the figures as a calibration that later runs prefer.")
@fact_options
@format_option("text", "json")
def command(files: tuple[str, ...], save: bool, format_name: str, **facts: Any) -> int:
    """Read the start-up log of a vLLM server and say what it means.

    Compares each measured item with what the budget engine expects of that launch. FILE may be - for standard input.
    """
    from lint_vllm.log import read_log
    from lint_vllm.log_explanation import explain

    request = request_of(**facts)
    results: list[dict[str, Any]] = []
    for name in files:
        log = read_log(_text_of(name))
        case = _case(log, request)
        budget = case.facts.budget if case is not None else None
        rows = _comparison(log, budget)
        saved = _save(name, log, case) if save else None
        if format_name == "json":
            results.append(_as_json(name, log, rows, saved))
            continue
        if len(files) > 1:
            click.echo(f"{name}:")
        for sentence in (*explain(log), *_table(rows), *([saved] if saved else [])):
            click.echo(sentence)
    if format_name == "json":
        click.echo(json.dumps({"version": 1, "logs": results}, indent=1))
    return 0


log_command = command


def _text_of(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise click.ClickException(f"{name}: {error.strerror or error}") from None
    return data.decode("utf-8", "replace")


def arguments_of(log: StartupLog) -> list[str] | None:
    """``vllm serve MODEL --flags`` as far as the log shows it; ``None`` without a model."""
    arguments: dict[str, object] = {name: value for name, value in log.arguments.items() if name not in ("model", "model_tag")}
    if not log.model:
        return None
    seen: tuple[tuple[str, object], ...] = (
        ("tensor_parallel_size", log.tensor_parallel_size),
        ("pipeline_parallel_size", log.pipeline_parallel_size),
        ("max_model_len", log.max_model_len),
        ("max_num_seqs", log.max_num_seqs),
        ("max_num_batched_tokens", log.max_num_batched_tokens),
        ("gpu_memory_utilization", log.utilization),
        ("quantization", log.quantization),
        ("enforce_eager", log.enforce_eager or None),
    )
    for dest, value in seen:
        if value is not None:
            arguments.setdefault(dest, value)
    words = ["vllm", "serve", log.model]
    for dest, value in arguments.items():
        flag = "--" + dest.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, (dict, list)):
            words += [flag, json.dumps(value)]
        elif isinstance(value, (str, int, float)) and value is not False:
            words += [flag, str(value)]
    return words


def _case(log: StartupLog, request: Request) -> Case | None:
    from lint_vllm.command_line import NotALaunch
    from lint_vllm.inventory import inspect_command

    words = arguments_of(log)
    if words is None:
        return None
    stated = request.facts
    if stated.gpu_memory_gib is None and log.total_gib is not None:
        stated = replace(stated, gpu_memory_gib=log.total_gib)
    if stated.vllm_version is None and log.release is not None and log.release[:1].isdigit():
        stated = replace(stated, vllm_version=log.release)
    try:
        cases = inspect_command(words, replace(request, facts=stated)).cases
    except NotALaunch:
        return None
    return cases[0] if cases else None


def _comparison(log: StartupLog, budget: Budget | None) -> tuple[Comparison, ...]:
    from lint_vllm.log_explanation import compare

    return () if budget is None else compare(log, budget)


def _save(name: str, log: StartupLog, case: Case | None) -> str:
    from lint_vllm.budget.runtime import estimate
    from lint_vllm.calibration import FILE_NAME, CalibrationError, entry, save

    config = _config(case)
    if config is None:
        return "Not saved: the model of this start is not known (give --model-config)."
    new = entry(log, config, estimate(config), Path(name).name)
    if new is None:
        return "Not saved: the log lacks the card's total or the KV pool (give --gpu-memory-gib)."
    try:
        save(Path(FILE_NAME), new)
    except CalibrationError as error:
        raise click.ClickException(str(error)) from None
    return f"Saved to {FILE_NAME}: launches on this card with vLLM {new.release} are judged by these figures."


def _config(case: Case | None) -> EngineConfig | None:
    if case is None:
        return None
    from lint_vllm.budget.engine_config import EngineConfig
    from lint_vllm.budget.judge import configure

    config = configure(case.facts, {})
    return config if isinstance(config, EngineConfig) else None


def _table(rows: Sequence[Comparison]) -> Iterable[str]:
    if not rows:
        return
    yield "Expected and measured:"
    for row in rows:
        if row.item in ("tokens", "concurrency"):
            unit = "" if row.item == "concurrency" else " tokens"
            shown = f"{row.predicted.likely:,.6g} ({row.predicted.low:,.6g} to {row.predicted.high:,.6g}){unit}"
            measured = f"{row.measured:,.6g}"
        else:
            gib = 2**30
            low, likely, high = row.predicted.low / gib, row.predicted.likely / gib, row.predicted.high / gib
            shown = f"{likely:.2f} GiB ({low:.2f} to {high:.2f})"
            measured = f"{row.measured / gib:.2f}"
        yield f"  {row.item}: expected {shown}, measured {measured}{'' if row.inside else '  <- outside'}"


def _as_json(name: str, log: StartupLog, rows: Sequence[Comparison], saved: str | None) -> dict[str, Any]:
    from lint_vllm.log_explanation import explain

    figures = {key: value for key, value in asdict(log).items() if value not in (None, "", {}) and key != "arguments"}
    return {
        "path": name,
        "start": figures,
        "explanation": list(explain(log)),
        "comparison": [
            {
                "item": row.item,
                "predicted": {"low": row.predicted.low, "likely": row.predicted.likely, "high": row.predicted.high},
                "measured": row.measured,
                "inside": row.inside,
            }
            for row in rows
        ],
        **({"saved": saved} if saved else {}),
    }
