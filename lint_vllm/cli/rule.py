"""``lint-vllm rule CODE``: the documentation of one rule."""

from __future__ import annotations

import click

from lint_vllm.cli.options import format_option


@click.command("rule")
@click.argument("name", metavar="RULE")
@format_option("text", "json")
def command(name: str, format_name: str) -> int:
    """Explain a rule, by code or name: why, an example, the fix, its options."""
    from lint_vllm.cli.errors import usage_errors

    with usage_errors():
        from lint_vllm import registry
        from lint_vllm.report.rule_pages import as_json, page

        found = registry.find(name)
        if found is None:
            raise click.UsageError(f"no rule `{name}`{registry.suggestion(name)}")
        click.echo(as_json((found,)) if format_name == "json" else page(found), nl=False)
    return 0
