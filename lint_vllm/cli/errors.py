"""Failures that a user can mend become one sentence and exit code 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from lint_vllm.discovery import PathError
from lint_vllm.settings import SettingsError


@contextmanager
def usage_errors() -> Iterator[None]:
    try:
        yield
    except (PathError, SettingsError) as error:
        raise click.ClickException(str(error)) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:
            raise
        raise click.ClickException(f"{os.fsdecode(error.filename)}: {error.strerror or error}") from None
    except Exception as error:
        # Loaded only now: these modules are heavy, and nearly no run fails.
        from lint_vllm.baseline import BaselineError
        from lint_vllm.command_line import NotALaunch
        from lint_vllm.registry import RegistryError

        if isinstance(error, (BaselineError, NotALaunch, RegistryError)):
            raise click.ClickException(str(error)) from None
        raise
