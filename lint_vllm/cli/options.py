"""Options that several commands share, and how their values become a request."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lint_vllm.request import Request
from lint_vllm.settings import SettingsError, Stated, is_release, load

if TYPE_CHECKING:
    from lint_vllm.facts.hub import Hub
    from lint_vllm.inventory import Inventory

F = TypeVar("F", bound="Callable[..., Any]")


class Gigabytes(click.FloatRange):
    """A positive, finite number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no size", param, ctx)
        return number


_FACTS: tuple[Callable[[Any], Any], ...] = (
    click.option("--isolated", is_flag=True, help="Use no settings file, baseline or calibration."),
    click.option("--config", type=click.Path(), metavar="FILE", help="Use this settings file instead of the nearest one."),
    click.option("--gpu", metavar="NAME", help="Accelerator: a card, an alias or a family name."),
    click.option("--gpu-count", type=click.IntRange(min=1), metavar="N", help="GPUs a launch can use."),
    click.option(
        "--gpu-memory-gib",
        type=Gigabytes(min=0, min_open=True),
        metavar="X",
        help="Memory of one GPU as CUDA reports it, GiB.",
    ),
    click.option("--vllm-version", metavar="V", help="vLLM release to judge by, such as 0.33.0."),
    click.option("--model-config", metavar="FILE", help="config.json of the model."),
    click.option("--hub", is_flag=True, help="Fetch config.json of models from the Hugging Face hub (extra [hub])."),
)


def fact_options(command: F) -> F:
    """The options of every command that judges launches; read them back with :func:`request_of`."""
    for option in reversed(_FACTS):
        command = option(command)
    return command


def format_option(*names: str) -> Callable[[F], F]:
    return click.option(
        "--format", "format_name", type=click.Choice(names), default=names[0], show_default=True, help="Form of the output."
    )


def request_of(
    *,
    isolated: bool,
    config: str | None,
    gpu: str | None,
    gpu_count: int | None,
    gpu_memory_gib: float | None,
    vllm_version: str | None,
    model_config: str | None,
    hub: bool = False,
    profile: str | None = None,
) -> Request:
    """The request that the shared options make. Raises a usage error for options that cannot be used."""
    if config is not None and isolated:
        raise click.UsageError("--isolated and --config exclude each other")
    if model_config is not None and not os.path.isfile(model_config):
        raise click.UsageError(f"--model-config: {model_config}: no such file")
    if gpu is not None and gpu_memory_gib is None:
        _check_cards(gpu)
    stated = Stated(
        gpu=gpu,
        gpu_count=gpu_count,
        gpu_memory_gib=gpu_memory_gib,
        vllm_version=None if vllm_version is None else release_of(vllm_version, "--vllm-version"),
        model_config=model_config,
    )
    try:
        settings = load(config) if config is not None else None
    except SettingsError as error:
        raise click.ClickException(str(error)) from None
    return Request(stated, isolated, settings, profile, hub=_hub() if hub else None)


def _check_cards(names: str) -> None:
    """A misspelt card must not pass for a card that nobody named. ``--compare`` takes several, with commas."""
    from lint_vllm.facts.cards import find_card
    from lint_vllm.facts.gpu import LOCAL

    for name in names.split(","):
        if name.strip() != LOCAL and find_card(name.strip()) is None:
            raise click.UsageError(
                f"--gpu: `{name}` is no known card or family; --gpu-memory-gib X stands for a card that is missing"
            )


def _hub() -> Hub:
    from lint_vllm.facts.hub import MISSING, Hub, is_installed

    if not is_installed():
        raise click.UsageError(MISSING)
    return Hub()


def release_of(text: str, option: str) -> str:
    """The release that an option names. Raises a usage error for anything else."""
    version = text.strip().removeprefix("v")
    if not is_release(version):
        raise click.UsageError(f"{option}: {text} is not a release such as 0.33.0")
    return version


def say_unreadable(inventory: Inventory) -> None:
    """Name the places that could not be read, beside the output."""
    for problem in inventory.problems:
        click.echo(f"{problem.span.path}:{problem.span.line}: {problem.sentence}", err=True)


def names(values: tuple[str, ...]) -> tuple[str, ...]:
    """The items of an option that takes lists and may be repeated."""
    return tuple(part for value in values for part in value.replace(",", " ").split())
