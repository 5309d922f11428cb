"""``lint-vllm upgrade``: what another vLLM release does to the launches, and the patch that takes them there."""

from __future__ import annotations

from typing import Any

import click

from lint_vllm.cli.options import fact_options, format_option, release_of, request_of


@click.command("upgrade")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--to", "target", required=True, metavar="RELEASE", help="vLLM release to move to, such as 0.33.0.")
@fact_options
@format_option("text", "json", "markdown", "github")
@click.option("--fix", is_flag=True, help="Write the patch: the release itself, and what can be rewritten safely.")
@click.option("--unsafe-fixes", is_flag=True, help="Put also fixes that change behaviour into the patch.")
@click.option("--diff", is_flag=True, help="Show the patch alone, and change nothing.")
@click.option("--no-bump", is_flag=True, help="Leave the image tag or pin as it is.")
def command(
    paths: tuple[str, ...],
    target: str,
    format_name: str,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    no_bump: bool,
    **facts: Any,
) -> int:
    """Compare launches between the release in use and another one: flags, defaults, memory.

    The release in use is what the files say, or --vllm-version. Image tags and exact pins that are written as plain text are part
    of the patch. Exit code 1 when something breaks that the patch does not mend.
    """
    from lint_vllm.cli.errors import usage_errors

    if fix and diff:
        raise click.UsageError("--fix and --diff exclude each other")
    request = request_of(**facts)
    release = release_of(target, "--to")
    with usage_errors():
        from lint_vllm.report.upgrade_report import render
        from lint_vllm.upgrade import upgrade_paths

        upgrade = upgrade_paths(paths or (".",), request, release, unsafe=unsafe_fixes, bump=not no_bump, write=fix)
        click.echo(upgrade.diff if diff else render(format_name, upgrade), nl=False)
    return int(upgrade.remains)
