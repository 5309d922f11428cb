"""The real names nearest to a misspelt one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def distance(a: str, b: str, limit: int) -> int:
    """Edits (insert, delete, replace, swap of neighbours) from one to the other; ``limit + 1`` when there are more."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before, last = last, row
    return min(last[-1], limit + 1)


def nearest(name: str, names: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Up to ``most`` names within a distance that fits the length, best first; the same parts in another order count."""
    limit = min(4, max(1, len(name) // 4))
    bag, parts = Counter(name), sorted(name.strip("-").split("-"))
    found: list[tuple[int, str]] = []
    for other in names:
        if abs(len(other) - len(name)) > limit:
            continue
        if sorted(other.strip("-").split("-")) == parts:
            found.append((1, other))
            continue
        bags = Counter(other)
        if sum((bag - bags).values()) > limit or sum((bags - bag).values()) > limit:
            continue
        edits = distance(name, other, limit)
        if edits <= limit:
            found.append((edits, other))
    return tuple(other for _, other in sorted(found)[:most])
