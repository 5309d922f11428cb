"""Text to typed value, as the ``type=`` function of a release's option does it.

Source: vLLM ``engine/arg_utils.py`` (``parse_type``, ``optional_type``, ``union_dict_and_str``, ``nullable_kvs``,
``_expand_json_human_readable_numbers``) and ``utils/argparse_utils.py`` (``human_readable_int``).
"""

from __future__ import annotations

import ast
import json
import re

from lint_vllm.arguments.checks import broken, message_of
from lint_vllm.arguments.dialect import Dialect
from lint_vllm.arguments.schema import SchemaError, validate_keywords, validate_object
from lint_vllm.arguments.tables import FlagTable, Option
from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern


class BadValue(Exception):
    """The value cannot be read. ``key`` is the path inside a JSON value; ``expected`` are real keys or values."""

    def __init__(self, message: str, key: tuple[str, ...] = (), expected: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.key = key
        self.expected = expected


_SIZE = pattern(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_QUOTED = pattern(r'("(?:[^"\\]|\\.)*")')
_BARE_SIZE = pattern(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")


def human_readable_int(text: str, sizes: str = "kmgtKMGT") -> int:
    """``32k`` -> 32000, ``32K`` -> 32768. Raises ``ValueError``, or :class:`BadValue` for ``1.5K``."""
    text = text.strip()
    match = _SIZE.fullmatch(text)
    if match and match[2] in sizes:
        number, suffix = match.groups()
        power = "kmgt".index(suffix.lower()) + 1
        if suffix.islower():
            return int(float(number) * int(1000**power))
        if "." in number:
            raise BadValue(f"decimals are not allowed with the binary suffix {suffix}; {number}{suffix.lower()} is decimal")
        return int(number) * int(1024**power)
    return int(text)


def _expand_sizes(text: str) -> str:
    parts = _QUOTED.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = _BARE_SIZE.sub(lambda match: str(human_readable_int(match.group())), parts[i])
    return "".join(parts)


def _pairs(text: str) -> dict[str, int]:
    """``image=2,video=1`` as releases before 0.10 read it."""
    found: dict[str, int] = {}
    for item in text.split(","):
        parts = [part.lower().strip() for part in item.split("=")]
        if len(parts) != 2:
            raise BadValue("each item should be in the form KEY=VALUE")
        try:
            value = int(parts[1])
        except ValueError:
            raise BadValue(f"cannot read {parts[0]}={parts[1]}") from None
        if found.setdefault(parts[0], value) != value:
            raise BadValue(f"conflicting values for key {parts[0]}")
    return found


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the values of one release's options."""

    table: FlagTable
    dialect: Dialect

    def read(self, option: Option, text: str) -> object:
        """The typed value of one word. Raises :class:`BadValue`."""
        value = self._convert(option.type, text)
        if option.choices is not None and value not in option.choices:
            listed = ", ".join("None" if choice is None else str(choice) for choice in option.choices)
            names = tuple(str(choice) for choice in option.choices if choice is not None)
            raise BadValue(f"not one of {listed}", expected=names)
        return value

    def _convert(self, kind: str, text: str) -> object:
        name, _, inner = kind.partition("(")
        inner = inner[:-1]
        if name == "optional":
            if text in ("", "None"):
                return None
            return self._convert(inner if inner != "json" else "checked(json)", text)
        if name == "checked":
            if inner == "json" and self.dialect.json_pairs and not re.match("^{.*}$", text):
                return _pairs(text)
            return self._convert(inner, text)
        try:
            return self._plain(name, inner, text)
        except BadValue:
            raise
        except RecursionError:
            raise BadValue("nested too deeply") from None
        except json.JSONDecodeError as error:
            raise BadValue(f"not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
        except (ValueError, TypeError, OverflowError):
            raise BadValue(f"not {_NAMES.get(name, 'readable')}") from None

    def _plain(self, name: str, inner: str, text: str) -> object:
        if name == "int":
            return int(text)
        if name == "float":
            return float(text)
        if name == "bool":
            return bool(text)
        if name == "human_readable_int":
            return human_readable_int(text, self.dialect.sizes)
        if name == "human_readable_int_or_auto":
            return -1 if text.strip().lower() in ("-1", "auto") else human_readable_int(text, self.dialect.sizes)
        if name == "json":
            return json.loads(text)
        if name == "union_dict_and_str":
            if not re.match(self.dialect.dict_text, text):
                return text
            return self._convert("optional(json)", text)
        if name == "nullable_str":
            return None if text in ("", "None") else text
        if name == "nullable_kvs":
            return _pairs(text) if text else None
        if name == "comma_list":
            return [part.strip() for part in text.split(",") if part.strip()]
        if name == "folded":
            return text.lower().replace("-", "_")
        if name == "parse_reasoning_parser":
            return "" if text.lower() == "none" else text
        if name in ("dataclass", "from_cli", "from_json", "keywords"):
            return self._object(name, inner, text)
        return text

    def _object(self, how: str, cls: str, text: str) -> object:
        levels = how == "from_cli" and cls == "CompilationConfig" and self.dialect.class_levels
        if levels and text in ("0", "1", "2", "3"):
            return {"level": int(text)}
        if how == "from_cli" and cls == "CompilationConfig" and self.dialect.class_text == "python":
            try:
                raw: object = ast.literal_eval(text)
            except (SyntaxError, MemoryError, RecursionError):
                raise BadValue("not a Python literal") from None
        else:
            if how == "dataclass" and self.dialect.json_sizes:
                text = _expand_sizes(text)
            raw = json.loads(text)
        try:
            if how in ("from_json", "keywords"):
                return self.checked(cls, validate_keywords(self.table, cls, raw))
            return self.checked(cls, validate_object(self.table, cls, raw))
        except SchemaError as error:
            raise BadValue(str(error), error.path, error.expected) from None

    def checked(self, cls: str, value: object) -> object:
        """The object, after the conditions between its keys. Raises :class:`BadValue`."""
        found = self.table.classes.get(cls)
        if found is None or not isinstance(value, dict):
            return value

        def lookup(name: str) -> object:
            return value[name] if name in value else found.fields[name].default if name in found.fields else None

        for check in broken(cls, "parser", self.table.release, lookup):
            raise BadValue(message_of(check, lookup), (check.at,))
        return value


_NAMES = {
    "int": "an integer",
    "float": "a number",
    "human_readable_int": "an integer (32768, 32k = 32000 or 32K = 32768)",
    "human_readable_int_or_auto": "an integer (32768, 32k = 32000, 32K = 32768) or auto",
    "json": "JSON",
    "dataclass": "JSON",
}
