"""``lint-vllm budget``: the account of one GPU for each launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from lint_vllm.cli.options import fact_options, format_option, names, request_of, say_unreadable

F = TypeVar("F", bound="Callable[..., Any]")
AFTER_DASHES = "lint_vllm.after_dashes"


class BudgetCommand(click.Command):
    """Keeps the words after ``--`` apart from paths; click itself joins them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[AFTER_DASHES] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def compare_options(command: F) -> F:
    """``--compare MODEL... --quant 16,8,4 --context N --concurrency N``."""
    size = click.IntRange(min=1)
    for option in (
        click.option("--concurrency", type=size, default=4, show_default=True, help="Of --compare: sequences at once."),
        click.option("--context", type=size, default=32768, show_default=True, help="Of --compare: tokens of a sequence."),
        click.option("--quant", metavar="BITS", default="16,8,4", show_default=True, help="Of --compare: widths of weights."),
        click.option("--compare", is_flag=True, help="Compare models (the words given) on cards (--gpu A,B) in one table."),
    ):
        command = option(command)
    return command


@click.command("budget", cls=BudgetCommand)
@click.argument("paths", nargs=-1, metavar="PATH... | -- [env K=V ...] vllm serve MODEL ...")
@fact_options
@format_option("text", "json", "markdown")
@compare_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    format_name: str,
    compare: bool = False,
    quant: str = "",
    context: int = 0,
    concurrency: int = 0,
    **facts: Any,
) -> int:
    """What a launch takes of one GPU: weights, KV cache, the rest, and what fits.

    Reads the launches of files, or one launch given after --.
    """
    from lint_vllm.cli.errors import usage_errors

    launch: tuple[str, ...] | None = ctx.meta.get(AFTER_DASHES)
    if launch is not None and paths:
        raise click.UsageError("give files or a launch after --, not both")
    if format_name == "markdown" and not compare:
        raise click.UsageError("--format markdown is a form of --compare")
    request = request_of(**facts)
    with usage_errors():
        if compare:
            from lint_vllm.compare import render as table

            click.echo(table(format_name, paths, names((quant,)), context, concurrency, request), nl=False)
            return 0
        from lint_vllm.inventory import inspect_command, inspect_paths, with_budgets
        from lint_vllm.report.budget_report import render

        inventory = with_budgets(inspect_paths(paths or (".",), request) if launch is None else inspect_command(launch, request))
        click.echo(render(format_name, inventory.cases), nl=False)
        say_unreadable(inventory)
    return 0
