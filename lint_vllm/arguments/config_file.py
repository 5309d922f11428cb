"""vLLM's own ``--config`` YAML as named values with places, typed as PyYAML's safe loader (YAML 1.1) types them.

Source: ``FlexibleArgumentParser.load_config_file`` (``yaml.safe_load``). Documents are composed, never constructed.
"""

from __future__ import annotations

from typing import Any

from lint_vllm.launch import Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

_BOOL = {
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_INT = pattern(r"[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+")
_FLOAT = pattern(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_DEPTH = 64
_NODES = 20_000


class UnreadableConfig(Exception):
    """The file is no YAML mapping; ``span`` is where reading stopped."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.span = span


def plain_scalar(text: str) -> object:
    """An unquoted YAML 1.1 scalar as PyYAML's safe loader types it."""
    if text in _BOOL:
        return _BOOL[text]
    if text in _NULL:
        return None
    try:
        if _INT.fullmatch(text):
            return _int(text.replace("_", ""))
        if _FLOAT.fullmatch(text):
            return _float(text.replace("_", "").lower())
    except ValueError:
        return text
    return text


def _int(text: str) -> int:
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if ":" in digits:
        return sign * int(_base_60(digits))
    if digits.startswith(("0b", "0x")):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


def _float(text: str) -> float:
    if text.endswith((".inf", ".nan")):
        return float(text.replace(".", ""))
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    return sign * (_base_60(digits) if ":" in digits else float(digits))


def _base_60(text: str) -> float:
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part)
    return total


def read_config(source: SourceFile) -> tuple[Setting, ...]:
    """The top-level keys in order (the later of two equal ones holds). Raises :class:`UnreadableConfig`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    whole = source.span(0, len(source.text))
    try:
        root = YAML(typ="safe").compose(source.text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = min(mark.index, len(source.text)) if mark is not None else 0
        message = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise UnreadableConfig(f"not YAML: {message}", source.span(at, at)) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableConfig(f"not YAML: {error}", whole) from None
    if root is None or not hasattr(root, "value") or not _is_map(root):
        raise UnreadableConfig("not a mapping of option names to values", whole)
    build = _Builder()
    found: dict[str, Setting] = {}
    try:
        for key, value in build.pairs(root):
            name = str(build.value(key))
            setting = Setting(_word(source, key), name.lstrip("-").replace("_", "-"), _word(source, value), build.value(value))
            found.setdefault(name, setting)
            found[name] = setting
    except ValueError as error:
        raise UnreadableConfig(f"not readable: {error}", whole) from None
    return tuple(found.values())


def _is_map(node: Any) -> bool:
    return type(node).__name__ == "MappingNode"


class _Builder:
    """Python values of composed nodes; a file whose aliases multiply beyond a limit is refused."""

    def __init__(self) -> None:
        self.left = _NODES

    def value(self, node: Any, depth: int = 0) -> object:
        self._count(depth)
        if _is_map(node):
            pairs = self.pairs(node, depth)
            return {_key(self.value(key, depth + 1)): self.value(value, depth + 1) for key, value in pairs}
        if isinstance(node.value, list):
            return [self.value(item, depth + 1) for item in node.value]
        return node.value if node.style else plain_scalar(node.value)

    def pairs(self, node: Any, depth: int = 0) -> list[tuple[Any, Any]]:
        """Keys and values, with ``<<`` merged in below them."""
        merged: list[tuple[Any, Any]] = []
        own: list[tuple[Any, Any]] = []
        for key, value in node.value:
            if getattr(key, "value", None) == "<<" and not getattr(key, "style", None):
                sources = [value] if _is_map(value) else value.value if isinstance(value.value, list) else []
                for item in sources:
                    self._count(depth)
                    merged += self.pairs(item, depth + 1) if _is_map(item) else []
            else:
                own.append((key, value))
        return merged + own

    def _count(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > _DEPTH:
            raise ValueError("too many values")


def _key(value: object) -> Any:
    return str(value) if isinstance(value, list | dict) else value


def _word(source: SourceFile, node: Any) -> Word:
    span = source.span(node.start_mark.index, node.end_mark.index)
    if isinstance(node.value, str):
        style = node.style or ""
        inner = source.span(span.start + 1, span.end - 1) if style in ("'", '"') else span
        if inner.text == node.value:
            return Word(Text.of(source, inner.start, inner.end), span, style)
        return Word(Text.placed(node.value, span), span, style)
    while span.end > span.start and source.text[span.end - 1] in " \n\r\t":
        span = source.span(span.start, span.end - 1)
    return Word(Text.of(source, span.start, span.end), span)
