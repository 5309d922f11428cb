"""``set { name = "a.b[0].c" value = "x" }`` of Terraform's ``helm_release``: values of a chart, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from lint_vllm.extract.structure import Leaf, Map, Pair, Seq, Tree
from lint_vllm.launch import Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Text

_STEP = pattern(r"((?:\\.|[^.\[\]\\])+)|\[(\d+)\]")
_MAX_ITEMS = 200

_Nested: TypeAlias = "dict[str | int, _Nested] | Leaf"


def values_of(release: Map) -> Map | None:
    """The values that the ``set`` entries of a release give its chart, nested; ``None`` when there are none."""
    root: dict[str | int, _Nested] = {}
    for name, value in _entries(release):
        steps: list[str | int] = [
            int(found.group(2)) if found.group(2) else found.group(1).replace("\\", "") for found in _STEP.finditer(name)
        ]
        holder = root
        for step in steps[:-1]:
            inner = holder.setdefault(step, {})
            if isinstance(inner, Leaf):
                break
            holder = inner
        else:
            if steps and not any(isinstance(step, int) and step > _MAX_ITEMS for step in steps):
                holder[steps[-1]] = value
    tree = _tree(root) if root else None
    return tree if isinstance(tree, Map) else None


def _entries(release: Map) -> Iterator[tuple[str, Leaf]]:
    for pair in release.all("set"):
        for entry in pair.value.items if isinstance(pair.value, Seq) else (pair.value,):
            name, value = (entry.get("name"), entry.get("value")) if isinstance(entry, Map) else (None, None)
            if name is None or value is None or not isinstance(name.value, Leaf) or not isinstance(value.value, Leaf):
                continue
            if name.value.word.unknown is None:
                yield name.value.word.value, value.value


def _tree(node: _Nested) -> Tree:
    if isinstance(node, Leaf):
        return node
    inner = {key: _tree(value) for key, value in node.items()}
    span = next(iter(inner.values())).span
    if all(isinstance(key, int) for key in inner):
        return Seq(span, tuple(inner[key] for key in sorted(inner, key=int)))
    return Map(span, tuple(Pair(_key(str(key), value), value, value.span) for key, value in inner.items()))


def _key(name: str, value: Tree) -> Word:
    return Word(Text.placed(name, value.span), value.span)
