"""Finds the command of a command line, and turns every failure into exit code 2 and one sentence."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any

import click

from lint_vllm.version import VERSION

COMMANDS = ("check", "launches", "budget", "upgrade", "suggest", "log", "rule", "rules", "config", "schema", "server")
DEFAULT = "check"
USAGE_ERROR = 2


class LazyGroup(click.Group):
    """Commands are modules of this package named as the command, each with a ``command``; ``check`` is the default."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if importlib.util.find_spec(f"lint_vllm.cli.{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        try:
            module = importlib.import_module(f"lint_vllm.cli.{cmd_name}")
        except ModuleNotFoundError as error:
            if error.name == f"lint_vllm.cli.{cmd_name}":
                return None
            raise
        command: click.Command = module.command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = ("--help", "-h", "--version")
        if args and args[0] not in own and args[0] not in COMMANDS:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    no_args_is_help=False,
    invoke_without_command=True,
    epilog="`lint-vllm PATH...` is `lint-vllm check PATH...`. Exit codes: 0 clean, 1 findings, 2 usage or settings error.",
)
@click.version_option(VERSION, prog_name="lint-vllm", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find vLLM launches in files and say before start-up what will fail and how to fix it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(argv: list[str]) -> int:
    """Run a command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        result = cli.main(argv, prog_name="lint-vllm", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return USAGE_ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return USAGE_ERROR
    except BrokenPipeError:  # the reader has seen enough (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("LINT_VLLM_TRACEBACK"):
            raise
        click.echo(
            f"internal error: {type(error).__name__}: {error}\nplease report it; LINT_VLLM_TRACEBACK=1 shows where it happened",
            err=True,
        )
        return USAGE_ERROR
