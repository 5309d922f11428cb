"""``lint-vllm rules``: all installed rules."""

from __future__ import annotations

import click

from lint_vllm.cli.options import format_option


@click.command("rules")
@format_option("text", "json")
def command(format_name: str) -> int:
    """List all rules: code, name, severity, whether there is a fix, and what they find."""
    from lint_vllm.cli.errors import usage_errors

    with usage_errors():
        from lint_vllm.registry import rules
        from lint_vllm.report.rule_pages import as_json, table

        click.echo(as_json(rules()) if format_name == "json" else table(rules()), nl=False)
    return 0
