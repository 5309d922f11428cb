"""Globs as ``.gitignore`` writes them, for settings and for ignore files."""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=512)
def compiled(pattern: str, below: bool = True) -> re.Pattern[str]:
    """A glob over relative paths with ``/``, to be matched from the start.

    A pattern without an inner ``/`` matches at any depth; ``*`` and ``?`` stay within a folder, ``**`` crosses folders.
    ``below``: what matches a folder matches all that lies in it.
    """
    return re.compile(translate(pattern) + (r"(?:/.*)?\Z" if below else r"\Z"), re.DOTALL)


def translate(pattern: str) -> str:
    """The regular expression of a glob, without an end."""
    body = pattern.removeprefix("./").rstrip("/")
    floating = "/" not in body
    body = body.lstrip("/")
    out = ["(?:.*/)?" if floating else ""]
    at = 0
    while at < len(body):
        c = body[at]
        if body.startswith("**/", at):
            out.append("(?:[^/]+/)*")
            at += 3
        elif body.startswith("**", at):
            out.append(".*")
            at += 2
        elif c == "*":
            out.append("[^/]*")
            at += 1
        elif c == "?":
            out.append("[^/]")
            at += 1
        elif c == "[" and (end := body.find("]", at + 2)) > 0:
            inside = body[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end + 1
        elif c == "\\" and at + 1 < len(body):
            out.append(re.escape(body[at + 1]))
            at += 2
        else:
            out.append(re.escape(c))
            at += 1
    source = "".join(out)
    try:
        re.compile(source)
    except re.error:  # an odd character class: take the pattern literally
        return re.escape(body)
    return source
