"""``lint-vllm check``: find launches and judge them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lint_vllm.cli.options import fact_options, format_option, names, request_of
from lint_vllm.report import FORMATS

if TYPE_CHECKING:
    from lint_vllm.diagnostic import Severity
    from lint_vllm.request import Request


@click.command("check")
@click.argument("paths", nargs=-1, metavar="PATH...")
@fact_options
@format_option(*FORMATS)
@click.option("--select", multiple=True, metavar="RULES", help="Run only these rules: codes, names or families.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Do not run these rules.")
@click.option("--profile", type=click.Choice(["default", "strict"]), help="strict adds opinionated rules.")
@click.option(
    "--fail-on",
    type=click.Choice(["info", "warning", "error"]),
    help="Lowest severity that makes the exit code 1.  [default: warning]",
)
@click.option("--fix", is_flag=True, help="Apply safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that change behaviour.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--no-inline-ignores", is_flag=True, help="Ignore comments have no effect.")
@click.option("--write-baseline", type=click.Path(), metavar="FILE", help="Accept today's findings: write them to FILE.")
def command(
    paths: tuple[str, ...],
    format_name: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    profile: str | None,
    fail_on: str | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    no_inline_ignores: bool,
    write_baseline: str | None,
    **facts: Any,
) -> int:
    """Judge the vLLM launches in files and folders (default: the current folder).

    Exit code 1 when a finding is at least as severe as --fail-on.
    """
    from lint_vllm.cli.errors import usage_errors
    from lint_vllm.linting import Choice, lint_paths
    from lint_vllm.report import render
    from lint_vllm.report.style import wants_color

    request = request_of(**facts, profile=profile)
    choice = Choice(names(select) or None, names(ignore), not no_inline_ignores)
    wanted = paths or (".",)
    with usage_errors():
        if fix or diff:
            from lint_vllm.fixer import fix_paths

            fixed = fix_paths(wanted, request, choice, unsafe=unsafe_fixes, write=not diff)
            run = fixed.before if diff else fixed.run
            if diff:
                click.echo(fixed.diff, nl=False)
        else:
            run = lint_paths(wanted, request, choice)
        if write_baseline is not None:
            from lint_vllm.baseline import save

            number = save(Path(write_baseline), run.shown)
            click.echo(f"{write_baseline}: {number} findings accepted")
            return 0
        if not diff:
            click.echo(render(format_name, run, color=wants_color()), nl=False)
        return _exit_code(run.worst, fail_on or _fail_on(request, wanted))


def _fail_on(request: Request, paths: tuple[str, ...]) -> str:
    """What the settings of the first path say."""
    first = Path(paths[0]).absolute()
    return request.settings_in(first if first.is_dir() else first.parent).fail_on or "warning"


def _exit_code(worst: Severity | None, fail_on: str) -> int:
    if worst is None:
        return 0
    from lint_vllm.diagnostic import Severity

    return int(worst >= Severity[fail_on.upper()])
