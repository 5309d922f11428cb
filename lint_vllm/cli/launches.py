"""``lint-vllm launches``: the inventory of all launches."""

from __future__ import annotations

from typing import Any

import click

from lint_vllm.cli.options import fact_options, format_option, request_of, say_unreadable


@click.command("launches")
@click.argument("paths", nargs=-1, metavar="PATH...")
@fact_options
@format_option("text", "json", "csv")
def command(paths: tuple[str, ...], format_name: str, **facts: Any) -> int:
    """List the vLLM launches in files and folders: model, arguments, GPUs, release, and where each is known from."""
    from lint_vllm.cli.errors import usage_errors

    request = request_of(**facts)
    with usage_errors():
        from lint_vllm.inventory import inspect_paths
        from lint_vllm.report.launches_report import render

        inventory = inspect_paths(paths or (".",), request)
        click.echo(render(format_name, inventory.cases), nl=False)
        say_unreadable(inventory)
    return 0
