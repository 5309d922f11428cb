"""``lint-vllm budget``: the account of one GPU for each launch."""

from __future__ import annotations

from typing import Any

import click

from lint_vllm.cli.options import fact_options, format_option, request_of, say_unreadable

AFTER_DASHES = "lint_vllm.after_dashes"


class BudgetCommand(click.Command):
    """Keeps the words after ``--`` apart from paths; click itself joins them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[AFTER_DASHES] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command("budget", cls=BudgetCommand)
@click.argument("paths", nargs=-1, metavar="PATH... | -- [env K=V ...] vllm serve MODEL ...")
@fact_options
@format_option("text", "json")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], format_name: str, **facts: Any) -> int:
    """What a launch takes of one GPU: weights, KV cache, the rest, and what fits.

    Reads the launches of files, or one launch given after --.
    """
    from lint_vllm.cli.errors import usage_errors

    launch: tuple[str, ...] | None = ctx.meta.get(AFTER_DASHES)
    if launch is not None and paths:
        raise click.UsageError("give files or a launch after --, not both")
    request = request_of(**facts)
    with usage_errors():
        from lint_vllm.inventory import inspect_command, inspect_paths
        from lint_vllm.report.budget_report import render

        inventory = inspect_paths(paths or (".",), request) if launch is None else inspect_command(launch, request)
        click.echo(render(format_name, inventory.cases), nl=False)
        say_unreadable(inventory)
    return 0
