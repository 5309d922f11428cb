"""A piece of text inside another file (a fence, a here-document) read as a file of its own kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.extract.shell_values import Pieces
from lint_vllm.launch import Launch, Word
from lint_vllm.source import Span, Text


def launches_in_pieces(kind: str, pieces: Pieces, context: Context) -> list[Launch]:
    """The launches of a here-document of this kind; words that hold something the shell fills in later are not known."""
    text = Text.join([p.text for p in pieces])
    unknown = [(p.text.span, p.unknown) for p in pieces if p.unknown]
    return [with_unknown(launch, unknown) for launch in launches_in_passage(kind, text, context)]


def with_unknown(launch: Launch, unknown: Sequence[tuple[Span, str]]) -> Launch:
    """A launch read from a text by somebody who does not know of its unknown parts."""
    if not unknown:
        return launch

    def reason_at(place: Span) -> str | None:
        for span, reason in unknown:
            if span.source is place.source and span.start < place.end and place.start < span.end:
                return reason
        return None

    def marked(word: Word) -> Word:
        reason = None if word.unknown is not None else reason_at(word.content.span)
        return word if reason is None else replace(word, unknown=reason)

    settings = tuple(replace(s, value=marked(s.value)) if s.value is not None else s for s in launch.settings)
    env = {name: replace(v, value=marked(v.value)) if v.value is not None else v for name, v in launch.env.items()}
    image = launch.image
    if image is not None and image.unknown is None:
        image = replace(image, unknown=reason_at(image.span))
    return replace(launch, words=tuple(map(marked, launch.words)), settings=settings, env=env, image=image)


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
