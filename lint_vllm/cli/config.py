"""``lint-vllm config``: the settings that hold for a path."""

from __future__ import annotations

import click


@click.command("config")
@click.argument("path", default=".", metavar="[PATH]")
def command(path: str) -> int:
    """Show the settings that hold for a file or folder, and the file they come from."""
    from lint_vllm.cli.errors import usage_errors

    with usage_errors():
        import json
        from pathlib import Path

        from lint_vllm.discovery import PathError
        from lint_vllm.settings import find, shown

        whole = Path(path).absolute()
        if not whole.exists():
            raise PathError(f"{path}: No such file or directory")
        settings = find(whole if whole.is_dir() else whole.parent)
        click.echo(f"# {settings.file or 'no settings file: defaults'}")
        click.echo(json.dumps(shown(settings, whole), indent=2, ensure_ascii=False))
    return 0
