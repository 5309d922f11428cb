"""What well-known functions and methods of Python return, as far as a reader can tell without running them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lint_vllm.extract.python_values import (
    MISSING,
    Entry,
    Instance,
    Item,
    Many,
    Scalar,
    Symbol,
    Table,
    Value,
    computed,
    concatenated,
    constant,
    hole,
    known_literal,
    sliced,
    soften,
    unknown,
    why_unknown,
)
from lint_vllm.source import Text

if TYPE_CHECKING:
    from lint_vllm.extract.python_reader import Reader


def library_call(reader: Reader, name: str, place: Text, arguments: tuple[Value, ...], keywords: Table) -> Value | None:
    first = arguments[0] if arguments else None
    if name in ("os.environ.get", "os.getenv"):
        return _environment(reader, place, arguments, keywords)
    if name == "builtins.str" and isinstance(first, Scalar):
        if first.known:
            return replace(first, place=place, literal=str(first.literal), defined=first.defined or first.text.span)
        return first if first.holes else unknown(place, first.unknown or computed(place))
    if name == "builtins.str" and isinstance(first, Instance) and first.name == "pathlib.Path" and first.arguments:
        inner = first.arguments[0]
        return replace(inner, place=place) if isinstance(inner, Scalar) and inner.known else unknown(place, computed(place))
    if name in ("builtins.int", "builtins.float") and isinstance(first, Scalar) and first.known:
        try:
            number = int(first.literal) if name.endswith("int") else float(first.literal)
        except (ValueError, TypeError, OverflowError):
            return None
        if str(number) == first.text.value:
            return replace(first, place=place, literal=number, defined=first.defined or first.text.span)
        return constant(place, number, first.soft)
    if name == "json.dumps" and first is not None:
        return _dumped(reader, place, first)
    if name in ("shlex.quote", "textwrap.dedent", "shutil.which") and isinstance(first, Scalar):
        return first
    if name == "shlex.join" and isinstance(first, Many):
        return _joined_words(reader, place, " ", first)
    if name == "shlex.split" and isinstance(first, Scalar):
        return _split(reader, place, first)
    if name == "builtins.dict":
        table = Table(place, depth=reader.depth)
        for value in arguments[:1]:
            reader.update(table, value)
        reader.update(table, keywords)
        reader.observer.made(table)
        return table
    if name in ("builtins.list", "builtins.tuple", "copy.copy", "copy.deepcopy") and isinstance(first, (Many, Table)):
        return _copied(reader, first, place)
    if name in ("builtins.vars", "dataclasses.asdict") and isinstance(first, Table):
        return _copied(reader, first, place)
    if name == "importlib.import_module" and isinstance(first, Scalar) and isinstance(first.literal, str):
        return Symbol(place, first.literal)
    if name == "builtins.getattr" and len(arguments) >= 2 and isinstance(arguments[1], Scalar) and first is not None:
        attribute = arguments[1].literal
        if isinstance(attribute, str):
            found = reader.attribute(first, attribute, place)
            if isinstance(found, Scalar) and not found.known and len(arguments) > 2:
                return soften(arguments[2])
            return found
    if name in ("huggingface_hub.snapshot_download", "modelscope.snapshot_download"):
        entry = keywords.get("repo_id") or keywords.get("model_id")
        repository = first or (entry.value if entry else None)
        return repository.used_at(place) if isinstance(repository, Scalar) else None  # the folder holds that model
    if name == "os.environ.copy":
        return Table(place, depth=reader.depth, origin="os.environ")
    if name == "os.path.join" and arguments and all(isinstance(a, Scalar) and a.known for a in arguments):
        return constant(place, "/".join(str(a.literal).rstrip("/") for a in arguments if isinstance(a, Scalar)))
    if name in ("os.environ.setdefault", "os.putenv") and len(arguments) == 2 and isinstance(first, Scalar):
        reader.set_variable(first, arguments[1], place)
        return arguments[1]
    if name == "os.environ.update":
        for table_value in (first, keywords):
            if isinstance(table_value, Table):
                for entry in table_value.entries:
                    reader.set_variable(entry.key, entry.value, entry.key.place)
    return None


def _environment(reader: Reader, place: Text, arguments: tuple[Value, ...], keywords: Table) -> Value:
    key = arguments[0] if arguments else None
    literal = key.literal if isinstance(key, Scalar) and key.known else None
    before = reader.scope.find(f"os.environ:{literal}")
    if before is not None:
        return before
    default = keywords.get("default")
    fallback = arguments[1] if len(arguments) > 1 else default.value if default else None
    if fallback is None:
        return replace(unknown(place, f"environment variable {literal or ''} is not known"), soft=True)
    value = soften(fallback)
    return value.used_at(place) if isinstance(value, Scalar) else value


def _dumped(reader: Reader, place: Text, value: Value) -> Value:
    literal = known_literal(value)
    if literal is MISSING:
        return unknown(place, why_unknown(value) or computed(place))
    if isinstance(value, Scalar) and isinstance(literal, (int, float)):
        return replace(value, place=place, literal=str(literal))
    try:
        text = json.dumps(literal)
    except (TypeError, ValueError, RecursionError):
        return unknown(place, computed(place))
    return Scalar(place, Text.placed(text, value.place.span), text, defined=value.place.span)


def _copied(reader: Reader, value: Many | Table, place: Text) -> Value:
    if isinstance(value, Many):
        return Many(value.place, [Item(i.value, i.conditional) for i in value.items], value.open, reader.depth)
    entries = [Entry(e.key, e.value, e.conditional) for e in value.entries]
    return Table(value.place, entries, value.open, reader.depth, value.origin)


def _split(reader: Reader, place: Text, text: Scalar) -> Value:
    """Words between blanks; a text with quotes or backslashes needs a shell and is left to it."""
    if not text.known and not text.holes:
        return unknown(place, text.unknown or computed(place))
    value = text.text.value
    if any(c in value for c in "'\"\\"):
        return Instance(place, "shlex.split", (text,))
    covered = value
    for start, end, _ in text.holes:
        covered = covered[:start] + "x" * (end - start) + covered[end:]
    many = Many(text.place, depth=reader.depth)
    many.items = [Item(sliced(text, m.start(), m.end())) for m in re.finditer(r"\S+", covered)]
    reader.observer.made(many)
    return many


def _joined_words(reader: Reader, place: Text, separator: str, many: Many) -> Value:
    parts: list[Scalar] = []
    for item in many.items:
        value = item.value
        if parts:
            anchor = value.place[:0]
            parts.append(Scalar(anchor, Text.placed(separator, anchor.span), separator))
        part = value if isinstance(value, Scalar) else unknown(value.place, why_unknown(value) or computed(value.place))
        parts.append(part if part.known or part.holes else hole(part.place, part.unknown or ""))
    whole = concatenated(place, parts)
    whole.joined = many if separator == " " else None
    if many.open or any(i.conditional for i in many.items):
        reason = many.open or "parts depend on a condition"
        whole.literal, whole.unknown = MISSING, whole.unknown or reason
        whole.holes = whole.holes or ((len(whole.text), len(whole.text), reason),)
    return whole


def method_call(
    reader: Reader, place: Text, receiver: Value, method: str, arguments: tuple[Value, ...], keywords: Table
) -> Value | None:
    first = arguments[0] if arguments else None
    if isinstance(receiver, Many):
        if method == "append" and first is not None:
            reader.append(receiver, first)
        elif method == "extend" and first is not None:
            reader.extend(receiver, first)
        elif method == "insert" and len(arguments) == 2 and isinstance(first, Scalar) and isinstance(first.literal, int):
            receiver.items.insert(first.literal, Item(arguments[1], reader.depth > receiver.depth))
        elif method == "copy":
            return _copied(reader, receiver, place)
        elif method in ("remove", "pop", "clear", "sort", "reverse"):
            receiver.open = receiver.open or "the list is changed at run time"
        else:
            return None
        return constant(place, None)
    if isinstance(receiver, Table):
        return _table_method(reader, place, receiver, method, arguments, keywords)
    if isinstance(receiver, Scalar):
        return _string_method(reader, place, receiver, method, arguments, keywords)
    return None


def _table_method(
    reader: Reader, place: Text, table: Table, method: str, arguments: tuple[Value, ...], keywords: Table
) -> Value | None:
    first = arguments[0] if arguments else None
    if method == "update":
        if first is not None:
            reader.update(table, first)
        if keywords.entries or keywords.open:
            reader.update(table, keywords)
        return constant(place, None)
    if method in ("get", "pop", "setdefault") and isinstance(first, Scalar):
        entry = table.get(first.literal)
        if entry is None and method == "setdefault" and len(arguments) > 1:
            table.put(first, arguments[1], reader.depth > table.depth)
            return arguments[1]
        if entry is not None and method == "pop" and reader.depth <= table.depth:
            table.entries.remove(entry)
        if entry is not None and not entry.conditional:
            return entry.value
        if entry is None and table.open is None and not table.origin and len(arguments) > 1:
            return arguments[1]
        if entry is None and len(arguments) > 1 and not table.origin:
            return soften(arguments[1])
        return unknown(place, table.open or f"{place.value[:60]} is not known in this file")
    if method == "copy":
        return _copied(reader, table, place)
    if method in ("items", "keys", "values"):
        many = Many(place, open=table.open, depth=reader.depth)
        for entry in table.entries:
            pair = Many(entry.key.place, [Item(entry.key), Item(entry.value)], None, reader.depth)
            value: Value = pair if method == "items" else entry.key if method == "keys" else entry.value
            many.items.append(Item(value, entry.conditional))
        return many
    return None


def _string_method(
    reader: Reader, place: Text, text: Scalar, method: str, arguments: tuple[Value, ...], keywords: Table
) -> Value | None:
    first = arguments[0] if arguments else None
    if method == "join" and isinstance(first, Many) and text.known:
        return _joined_words(reader, place, str(text.literal), first)
    if method in ("strip", "lstrip", "rstrip") and not arguments and (text.known or text.holes):
        start = len(text.text.value) - len(text.text.value.lstrip())
        end = max(start, len(text.text.value.rstrip()))
        return replace(sliced(text, start, end, place), quote=text.quote)
    if method == "split" and not arguments:
        return _split(reader, place, text)
    if method == "format" and isinstance(text.literal, str):
        return _formatted(reader, place, text, arguments, keywords)
    if method in ("lower", "upper", "title") and isinstance(text.literal, str):
        return constant(place, getattr(text.literal, method)(), text.soft)
    if method == "replace" and isinstance(text.literal, str) and len(arguments) == 2:
        parts = [known_literal(a) for a in arguments]
        if all(isinstance(p, str) for p in parts):
            return constant(place, text.literal.replace(parts[0], parts[1]), text.soft)
    return None


def _formatted(reader: Reader, place: Text, template: Scalar, arguments: tuple[Value, ...], keywords: Table) -> Value:
    """``"...{name}...".format(name=value)``."""
    parts: list[Scalar] = []
    text, value, start, at, counter = template.text, template.text.value, 0, 0, 0
    while at < len(value):
        if value[at] in "{}" and value.startswith(value[at], at + 1):
            parts.append(Scalar(text[start : at + 1], text[start : at + 1], value[start : at + 1]))
            start = at = at + 2
        elif value[at] == "{":
            end = value.find("}", at)
            if end < 0:
                break
            field_place = text[at : end + 1]
            name = value[at + 1 : end].split(":")[0].split("!")[0]
            if not name or name.isdigit():
                index = int(name) if name else counter
                counter += 1
                inserted: Value | None = arguments[index] if index < len(arguments) else None
            else:
                entry = keywords.get(name)
                inserted = entry.value if entry else None
            parts.append(Scalar(text[start:at], text[start:at], value[start:at]))
            if inserted is None:
                parts.append(hole(field_place, f"{name} is given at run time"))
            else:
                parts.append(reader.inserted(field_place, inserted))
            start = at = end + 1
        else:
            at += 1
    parts.append(Scalar(text[start:], text[start:], value[start:]))
    result = concatenated(place, [p for p in parts if p.text.value])
    reader.observer.made(result)
    return result


def percent_format(reader: Reader, place: Text, template: Scalar, values: Value) -> Value:
    items = [i.value for i in values.items] if isinstance(values, Many) else [values]
    pieces = _split_keeping(template.text, "%s", "%d")
    if template.text.value.count("%") != len(items) or len(pieces) != 2 * len(items) + 1:
        return unknown(place, computed(place))
    parts: list[Scalar] = []
    for at, piece in enumerate(pieces):
        parts.append(reader.inserted(piece, items[at // 2]) if at % 2 else Scalar(piece, piece, piece.value))
    value = concatenated(place, parts)
    reader.observer.made(value)
    return value


def _split_keeping(text: Text, *marks: str) -> list[Text]:
    pieces: list[Text] = []
    start = at = 0
    while at < len(text.value):
        mark = next((m for m in marks if text.value.startswith(m, at)), None)
        if mark is None:
            at += 1
            continue
        pieces += [text[start:at], text[at : at + len(mark)]]
        start = at = at + len(mark)
    return [*pieces, text[start:]]
