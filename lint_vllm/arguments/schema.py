"""JSON values against the configuration classes of a release, as pydantic's lax mode judges them.

Shapes come from ``data/flags/classes.jsonl``: ``"int"``, ``["list", shape]``, ``["dict", key, value]``, ``["union", ...]``,
``["literal", ...]``, ``["enum", name]``, ``["class", name]``. What has no shape is accepted.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from lint_vllm.arguments.tables import ClassField, FlagTable
from lint_vllm.known import Unknown

_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})


class SchemaError(Exception):
    """A value does not fit; ``path`` leads to it, ``expected`` are the real keys or values there."""

    def __init__(self, message: str, path: tuple[str, ...] = (), expected: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.expected = expected

    def below(self, key: str) -> SchemaError:
        return SchemaError(str(self), (key, *self.path), self.expected)


def valid_keys(table: FlagTable, cls: str) -> frozenset[str]:
    """Keys that a configuration class takes in this release; empty for a class it does not have."""
    found = table.classes.get(cls)
    return frozenset(name for name, field in found.fields.items() if field.settable) if found else frozenset()


def validate_object(table: FlagTable, cls: str, value: object) -> object:
    """The value with its parts typed. Raises :class:`SchemaError`."""
    found = table.classes.get(cls)
    if found is None:
        return value
    if not isinstance(value, dict):
        raise SchemaError(f"{cls} is a JSON object")
    typed: dict[str, object] = {}
    for key, item in value.items():
        field = found.fields.get(key)
        if field is None or not field.settable:
            if found.extra == "forbid":
                raise SchemaError(f"{cls} has no key {key!r}", (key,), tuple(sorted(valid_keys(table, cls))))
            continue
        try:
            typed[key] = validate_field(table, field, item)
        except SchemaError as error:
            raise error.below(key) from None
    for name, field in found.fields.items():
        if field.settable and field.default == {"is": "required"} and name not in typed:
            raise SchemaError(f"{cls} needs the key {name!r}")
    return typed


def validate_keywords(table: FlagTable, cls: str, value: object) -> object:
    """The keys alone, as ``Class(**value)`` of a plain dataclass checks them."""
    if not isinstance(value, dict):
        raise SchemaError(f"{cls} is a JSON object")
    known = valid_keys(table, cls)
    for key in value:
        if known and key not in known:
            raise SchemaError(f"{cls} has no key {key!r}", (key,), tuple(sorted(known)))
    return value


def validate_field(table: FlagTable, field: ClassField, value: object) -> object:
    """One value as a field of a configuration class takes it. Raises :class:`SchemaError`."""
    if isinstance(value, Unknown):
        return value
    if field.validator == "wrap" and value is None:
        return None
    if field.validator in ("before", "plain"):
        return _prepared(table, field, value)
    typed = _shape(table, field.type, value)
    _limit(field, typed)
    return typed


def _prepared(table: FlagTable, field: ClassField, value: object) -> object:
    """A field whose class looks at the raw value first: names of an enumeration in any case, folded choices."""
    shape = field.type
    parts = shape[1:] if isinstance(shape, list) and shape[0] == "union" else [shape]
    for part in parts:
        if isinstance(part, list) and part[0] == "enum" and isinstance(value, str):
            members = table.enums.get(part[1], {})
            if value.upper() in members or (value.lower() == "auto" and "none" in parts):
                return value
            raise SchemaError(f"{value!r} is not one of {', '.join(members)}", expected=tuple(members))
        if isinstance(part, list) and part[0] == "literal" and isinstance(value, str):
            folded = value.lower().replace("-", "_")
            return _shape(table, shape, value if value in part[1:] else folded)
        if isinstance(part, list) and part[0] == "list" and isinstance(value, str):
            return value
        if isinstance(part, list) and part[0] == "class" and isinstance(value, dict):
            return validate_object(table, part[1], value)
    if isinstance(shape, list) and shape[0] in ("list", "enum", "literal"):
        return _shape(table, shape, value)
    return value


_LIMITS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "gt": (operator.gt, "greater than"),
    "ge": (operator.ge, "at least"),
    "lt": (operator.lt, "less than"),
    "le": (operator.le, "at most"),
    "multiple_of": (lambda value, limit: value % limit == 0, "a multiple of"),
}


def _limit(field: ClassField, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    for name, (holds, words) in _LIMITS.items():
        limit = field.limits.get(name)
        if limit is not None and not holds(value, limit):
            raise SchemaError(f"{value} is not {words} {limit}")


def _shape(table: FlagTable, shape: Any, value: object) -> object:
    if isinstance(value, Unknown):
        return value
    if isinstance(shape, str):
        return _scalar(shape, value)
    name, *parts = shape
    if name == "union":
        return _union(table, parts, value)
    if name == "literal":
        if any(value == part and type(value) is type(part) for part in parts):
            return value
        listed = tuple(str(part) for part in parts)
        raise SchemaError(f"{value!r} is not one of {', '.join(listed)}", expected=listed)
    if name == "enum":
        members = table.enums.get(parts[0], {})
        if not members or value in list(members.values()):
            return value
        raise SchemaError(f"{value!r} is not one of {', '.join(str(m) for m in members.values())}")
    if name == "class":
        return validate_object(table, parts[0], value)
    if name == "list":
        if not isinstance(value, list | tuple | set):
            raise SchemaError("a JSON list is expected here")
        return [_item(table, parts[0], str(i), item) for i, item in enumerate(value)]
    if name == "tuple":
        if not isinstance(value, list | tuple) or len(value) != len(parts):
            raise SchemaError(f"a JSON list of {len(parts)} is expected here")
        return [_item(table, part, str(i), item) for i, (part, item) in enumerate(zip(parts, value, strict=True))]
    if name == "dict":
        if not isinstance(value, dict):
            raise SchemaError("a JSON object is expected here")
        if len(parts) < 2:
            return value
        return {key: _item(table, parts[1], str(key), item) for key, item in value.items()}
    return value


def _item(table: FlagTable, shape: Any, key: str, value: object) -> object:
    try:
        return _shape(table, shape, value)
    except SchemaError as error:
        raise error.below(key) from None


def _union(table: FlagTable, parts: list[Any], value: object) -> object:
    """The member of exactly the value's type, else the first that takes it."""
    exact = {bool: "bool", int: "int", float: "float", str: "str", type(None): "none"}.get(type(value))
    if exact in parts or "any" in parts:
        return value
    failures: list[SchemaError] = []
    for part in sorted(parts, key=lambda part: isinstance(part, str)):
        try:
            return _shape(table, part, value)
        except SchemaError as error:
            failures.append(error)
    raise max(failures, key=lambda error: (len(error.path), bool(error.expected)))


def _scalar(shape: str, value: object) -> object:
    if shape == "any":
        return value
    if shape == "none":
        if value is not None:
            raise SchemaError("null is expected here")
        return None
    if shape in ("str", "path"):
        if not isinstance(value, str):
            raise SchemaError(f"a string is expected here, not {_spell(value)}")
        return value
    if shape == "bool":
        return _bool(value)
    if shape == "int":
        return _int(value)
    if shape == "float":
        return _float(value)
    return value


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    raise SchemaError(f"true or false is expected here, not {_spell(value)}")


def _int(value: object) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, str):
        text = value.strip()
        whole, dot, rest = text.partition(".")
        try:
            if dot and rest.strip("0"):
                raise ValueError
            return int(whole)
        except ValueError:
            pass
    raise SchemaError(f"an integer is expected here, not {_spell(value)}")


def _float(value: object) -> float:
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    raise SchemaError(f"a number is expected here, not {_spell(value)}")


def _spell(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return repr(value) if len(repr(value)) <= 40 else repr(value)[:37] + "..."
