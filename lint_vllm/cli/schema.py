"""``lint-vllm schema``: the JSON schema of the settings."""

from __future__ import annotations

import click


@click.command("schema")
def command() -> int:
    """Print the JSON schema of `.lint-vllm.toml`, for editors."""
    from lint_vllm.cli.errors import usage_errors

    with usage_errors():
        import json

        from lint_vllm.settings_schema import settings_schema

        click.echo(json.dumps(settings_schema(), indent=2))
    return 0
