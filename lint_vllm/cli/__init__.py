"""The command line: one module a command, loaded when it is called. No logic lives here."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of ``lint-vllm``."""
    if sys.argv[1:] == ["--version"]:
        from lint_vllm.version import VERSION

        print(f"lint-vllm {VERSION}")
        return
    from lint_vllm.cli.group import run

    sys.exit(run(sys.argv[1:]))
