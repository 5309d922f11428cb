"""A piece of text inside another file (a fence, a here-document) read as a file of its own kind."""

from __future__ import annotations

from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.launch import Launch
from lint_vllm.source import Text


def launches_in_passage(kind: str, text: Text, context: Context) -> list[Launch]:
    """The launches of a text of this kind; none for kinds that cannot be read inside another file."""
    if context.depth > MAX_DEPTH:
        return []
    if kind == "shell":
        from lint_vllm.extract.shell import launches_in_script

        return launches_in_script(text, context)
    if kind == "yaml":
        from lint_vllm.extract.yaml_file import launches_in_yaml

        return launches_in_yaml(text, context)
    if kind == "python":
        from lint_vllm.extract.python import launches_in_python

        return launches_in_python(text, context)
    if kind == "dockerfile":
        from lint_vllm.extract.dockerfile import launches_in_dockerfile

        return launches_in_dockerfile(text, context)
    if kind == "systemd":
        from lint_vllm.extract.systemd import launches_in_unit

        return launches_in_unit(text, context)
    if kind in ("makefile", "justfile"):
        from lint_vllm.extract.makefile import launches_in_makefile

        return launches_in_makefile(text, context, just=kind == "justfile")
    if kind == "env":
        from lint_vllm.extract.envfile import arguments_launch, variables_in

        launch = arguments_launch(tuple(variables_in(text)), context)
        return [launch] if launch is not None else []
    if kind == "properties":
        from lint_vllm.extract.properties import launches_in_properties

        return launches_in_properties(text, context)
    return []
