"""Text edits that take an argument out, change its value, or add one, in the way its surroundings are written.

Fixes are edits of characters, never a re-printing of the file. The same few shapes occur in every carrier: an element on
a line of its own (a YAML list item, a shell continuation line, a keyword argument), an element of an inline list with
commas, or a word among blanks. Where the shape is not clear no edit is offered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lint_vllm.arguments.model import Argument, ArgumentSet
from lint_vllm.diagnostic import Edit
from lint_vllm.launch import EnvVar, Word
from lint_vllm.source import SourceFile, Span

_ENV_STATEMENT = re.compile(r"[ \t]*(?:(?:ENV|export|set)[ \t]+|Environment[ \t]*=[ \t]*)")
_ITEM_BEFORE = re.compile(r"[ \t]*(?:- +)*\Z")
_ITEM_AFTER = re.compile(r"[ \t]*(?P<comma>,?)[ \t]*(?P<more>\\?)[ \t]*(?:#[^\r\n]*)?\Z")


def replace_value(argument: Argument, text: str) -> tuple[Edit, ...]:
    """The value alone rewritten, at its only place; no edit where it stands nowhere exactly."""
    span = argument.editable
    return (Edit(span, text),) if span is not None else ()


def rename_flag(argument: Argument, flag: str) -> tuple[Edit, ...]:
    """The option's name rewritten (``flag`` with its leading dashes), its value left alone."""
    if argument.setting is not None:
        return ()
    span = argument.name_span
    if span.text != argument.spelled:
        return ()
    return (Edit(span, flag),)


def remove_argument(argument: Argument) -> tuple[Edit, ...]:
    """The flag taken out together with its value."""
    if argument.setting is not None:
        value = argument.setting.value
        whole = argument.setting.name.span
        return remove_elements([whole.to(value.span) if value is not None else whole])
    if argument.name is None:
        return ()
    words = (argument.name, *argument.words)
    if any(word.unknown is not None and word.span.text == "" for word in words):
        return ()
    return remove_words(words)


def remove_words(words: Sequence[Word]) -> tuple[Edit, ...]:
    """Words taken out where they are written. No edit where a word comes from a reference that may hold more than it."""
    if all(_stands_here(word) for word in words[:1]):
        return remove_elements([word.span for word in words]) if all(_is_alone(word) for word in words[1:]) else ()
    if all(word.content.value and word.content.verbatim() for word in words):
        return remove_elements([word.content.span for word in words])  # at the definition of the variable that holds them
    return ()


def _stands_here(word: Word) -> bool:
    """Whether the word is written at its place of use, in quotes or not; else a reference stands there."""
    inner = word.content.span
    return (
        word.unknown is not None
        or not word.value
        or (word.span.contains(inner) and (word.content.verbatim() or inner != word.span))
    )


def _is_alone(word: Word) -> bool:
    """Whether nothing but this word goes when its place of use does."""
    return _stands_here(word) or (word.defined is not None and word.defined.text.strip("\"'") == word.value)


def remove_env(variable: EnvVar) -> tuple[Edit, ...]:
    """An environment entry taken out: its lines, its list element, or its assignment with the word that starts it."""
    span = variable.span
    line_start, text = _line_start(span.source, span.start), span.source.text
    if _ENV_STATEMENT.fullmatch(text[line_start : span.start]):
        line_end = _line_end(text, span.end)
        after = text[span.end : line_end]
        if not after.strip():
            return (Edit(Span(span.source, line_start, _next_line(text, line_end)), ""),)
        if after.strip() == "\\":  # the first of several: the next one takes its place
            rest = re.match(r"[ \t]*\\[ \t]*\r?\n[ \t]*", text[span.end :])
            return (Edit(Span(span.source, span.start, span.end + (rest.end() if rest else 0)), ""),)
    edits = remove_elements([span])
    key = _only_entry_of(edits[0].span) if edits else None
    return (Edit(key.to(edits[0].span), ""),) if key is not None else edits


def _only_entry_of(lines: Span) -> Span | None:
    """The ``env:`` line above whole lines that are all it holds."""
    text = lines.source.text
    key = re.search(r"(?:\A|(?<=\n))(?P<indent>[ ]*)(?:-[ ]+)?(?:env|environment):[ \t]*\r?\n\Z", text[: lines.start])
    if key is None or (lines.start and text[lines.start - 1] != "\n"):
        return None
    following = re.match(r"(?:[ \t]*\r?\n)*(?P<indent>[ ]*)(?P<dash>- )?", text[lines.end :])
    depth = len(following["indent"]) if following else 0
    if lines.end < len(text) and (depth > len(key["indent"]) or (following and following["dash"] and depth == len(key["indent"]))):
        return None
    return Span(lines.source, key.start(), lines.start) if "-" not in key.group() else None


def remove_elements(spans: Sequence[Span]) -> tuple[Edit, ...]:
    """Elements taken out, each with the separator that belongs to it; neighbours on one line go together."""
    groups: list[Span] = []
    for span in spans:
        if span.start == span.end:
            return ()
        previous = groups[-1] if groups else None
        if previous is not None and _adjacent(previous, span):
            groups[-1] = previous.to(span)
        else:
            groups.append(span)
    return tuple(Edit(_with_separator(span), "") for span in groups)


def _adjacent(first: Span, second: Span) -> bool:
    if first.source is not second.source or first.start > second.start:
        return False
    return re.fullmatch(r"[ \t]*,?[ \t]*", first.source.text[first.end : second.start]) is not None


def _with_separator(span: Span) -> Span:
    source, text = span.source, span.source.text
    line_start = _line_start(source, span.start)
    line_end = _line_end(text, span.end)
    before, after = text[line_start : span.start], text[span.end : line_end]
    match = _ITEM_AFTER.match(after)
    if match and _ITEM_BEFORE.match(before):
        if match["more"] or match["comma"] or "- " in before:
            return Span(source, line_start, _next_line(text, line_end))
        continued = re.search(r"[ \t]*\\[ \t]*\r?\n\Z", text[:line_start])
        if continued:  # the last line of a continued command: the backslash before it goes too
            return Span(source, continued.start(), span.end)
        comma = re.search(r",[ \t]*\r?\n\Z", text[:line_start])
        if comma and text[line_end:].lstrip()[:1] in ("]", "}", ")"):
            return Span(source, comma.start(), span.end)
        return Span(source, line_start, _next_line(text, line_end))
    if not before.strip(" \t") and re.match(r"[ \t]*[\])}]", after):
        comma = re.search(r",[ \t]*\r?\n\Z", text[:line_start])
        if comma:  # the last element, its closing bracket on the same line
            return Span(source, comma.start(), span.end)
    follow = re.match(r"[ \t]*,[ \t]*", after)
    if follow:
        return Span(source, span.start, span.end + follow.end())
    lead = re.search(r"[ \t]*,[ \t]*\Z", before)
    if lead:
        return Span(source, line_start + lead.start(), span.end)
    blanks = re.search(r"[ \t]+\Z", before)
    if blanks and before.strip(" \t"):
        return Span(source, line_start + blanks.start(), span.end)
    trailing = re.match(r"[ \t]+", after)
    return Span(source, span.start, span.end + (trailing.end() if trailing else 0))


def add_flag(args: ArgumentSet, flag: str, value: str | None = None) -> tuple[Edit, ...]:
    """A flag added after the last argument, written like its neighbours.

    ``flag`` is the long option with dashes; ``value`` ``None`` for a switch. Named values (YAML keys, keyword arguments)
    get a named value. No edit where there is no argument to stand beside.
    """
    launch = args.launch
    words = [w for w in launch.words if w.span.source is launch.source and w.unknown is None]
    if words:
        return _add_word(words, flag, value)
    settings = [s for s in launch.settings if s.name.span.source is launch.source and s.value is not None]
    if not settings:
        return ()
    last = settings[-1]
    assert last.value is not None
    name, whole = last.name.span.text.strip("\"'"), last.name.span.to(last.value.span)
    between = whole.source.text[last.name.span.end : last.value.span.start]
    key = _spelled_like(flag, name)
    if key is None:
        return ()
    shown = value if value is not None else ("True" if launch.form == "python" else "true")
    if launch.form == "python" and value is not None and not re.fullmatch(r"-?\d+(\.\d+)?|True|False", value):
        shown = f'"{value}"'
    return _beside(whole, f"{key}{between if between.strip() in ('=', ':') else ': '}{shown}")


def _add_word(words: Sequence[Word], flag: str, value: str | None) -> tuple[Edit, ...]:
    last = words[-1]
    source, text = last.span.source, last.span.source.text
    line_start = _line_start(source, last.span.start)
    before = text[line_start : last.span.start]
    quote = last.quote if last.quote in ("'", '"') else ""
    joined = any("=" in w.value and w.value.startswith("--") for w in words) or value is None
    pieces = [flag if value is None else f"{flag}={value}"] if joined else [flag, value or ""]
    if re.fullmatch(r"[ \t]*(?:- +)+", before):
        newline = "\r\n" if text[: last.span.end].endswith("\r\n") or "\r\n" in text else "\n"
        indent = re.sub(r"- (?=.*- )", "  ", before)
        shown = [f"{quote}{p}{quote}" if quote or p.startswith("-") else _yaml_scalar(p) for p in pieces]
        return (Edit(Span(source, last.span.end, last.span.end), "".join(f"{newline}{indent}{p}" for p in shown)),)
    after = text[last.span.end : _line_end(text, last.span.end)]
    gap = _line_break(words, line_start)
    if gap is not None:  # like the option above it: on a line of its own
        shown = [f"{quote}{p}{quote}" for p in pieces] if "," in gap else pieces
        added = gap + (", " if "," in gap else " ").join(shown)
        return (Edit(Span(source, last.span.end, last.span.end), added),)
    if quote and (re.match(r"[ \t]*[,\]]", after) or not after.strip()) and re.search(r"[\[,][ \t]*\Z|\A[ \t]*\Z", before):
        return _beside(last.span, ", ".join(f"{quote}{p}{quote}" for p in pieces))
    if quote and len(words) == 1 and " " in last.value:
        return ()
    joined_text = " ".join(pieces)
    return (Edit(Span(source, last.span.end, last.span.end), f" {joined_text}"),)


def _line_break(words: Sequence[Word], line_start: int) -> str | None:
    """What stands between the last line's option and the words above it (a backslash, a comma, only the break itself).

    ``None`` where the last line holds more than one option, or something else stands between.
    """
    above = [word for word in words if word.span.end <= line_start]
    line = [word for word in words if word.span.start >= line_start]
    if not line or len(above) + len(line) != len(words) or len(line) > 2 or not line[0].value.startswith("-"):
        return None
    text, start = line[0].span.source.text, line[0].span.start
    gap = text[above[-1].span.end : start] if above else ""
    if re.fullmatch(r"[ \t]*,?[ \t]*\\?[ \t]*\r?\n[ \t]*", gap):
        return gap
    continued = re.search(r"[ \t]*\\\r?\n[ \t]*\Z", text[:start])
    return continued.group() if continued else None


def _beside(whole: Span, element: str) -> tuple[Edit, ...]:
    """An element after another one: on a line of its own where that one is, else after a comma."""
    source, text = whole.source, whole.source.text
    line_start = _line_start(source, whole.start)
    before, after = text[line_start : whole.start], text[whole.end : _line_end(text, whole.end)]
    if not before.strip(" \t"):
        newline = "\r\n" if "\r\n" in text else "\n"
        comma = re.match(r"[ \t]*,", after)
        if comma:
            at = whole.end + comma.end()
            return (Edit(Span(source, at, at), f"{newline}{before}{element},"),)
        brackets = text[whole.end :].lstrip()[:1] in (")", "]", "}")
        separator = "," if brackets else ""
        return (Edit(Span(source, whole.end, whole.end), f"{separator}{newline}{before}{element}"),)
    return (Edit(Span(source, whole.end, whole.end), f", {element}"),)


def _spelled_like(flag: str, name: str) -> str | None:
    """The flag as a key in the spelling of a neighbour: ``max-model-len``, ``max_model_len`` or ``maxModelLen``."""
    parts = flag.lstrip("-").split("-")
    if "_" in name:
        return "_".join(parts)
    if "-" in name:
        return "-".join(parts)
    if re.search(r"[a-z][A-Z]", name):
        return parts[0] + "".join(p.capitalize() for p in parts[1:])
    return "_".join(parts) if name.islower() else None


def _yaml_scalar(value: str) -> str:
    return f'"{value}"' if re.fullmatch(r"[-+.\d]+|true|false|yes|no|null|on|off|", value, re.IGNORECASE) else value


def _line_start(source: SourceFile, offset: int) -> int:
    return source.line_starts[source.position(offset)[0] - 1]


def _line_end(text: str, offset: int) -> int:
    ends = [at for at in (text.find("\n", offset), text.find("\r", offset)) if at >= 0]
    return min(ends, default=len(text))


def _next_line(text: str, line_end: int) -> int:
    if text.startswith("\r\n", line_end):
        return line_end + 2
    return min(line_end + 1, len(text))
