"""Where branches of a script meet: what a variable holds afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lint_vllm.extract.shell_values import Piece, Pieces, Scope, ShellWord, Variable
from lint_vllm.source import Text


def merged(before: Scope, ends: Sequence[Scope], defaulted: frozenset[str] | frozenset[tuple[str, ...]] = frozenset()) -> Scope:
    """The scope behind a branching of which each way ends in one of ``ends``.

    ``defaulted``: names that the condition found empty, so that what a branch sets is their default.
    """
    if len(ends) == 1:
        return ends[0]
    names = {n for group in defaulted for n in (group if isinstance(group, tuple) else (group,)) if n}
    out = ends[0].copy()
    everywhere = dict.fromkeys(name for end in ends for name in end.variables)
    for name in everywhere:
        values = [end.get(name) for end in ends]
        first = values[0]
        if all(v is first for v in values):
            continue
        out.variables[name] = _variable(name, before.get(name), values, name in names)
    if any(end.positional is not out.positional for end in ends):
        same = all(_same_words(end.positional, out.positional) for end in ends)
        out.positional = out.positional if same else None
    return out


def depends(name: str, why: str = "depends on a branch of the script") -> Variable:
    return Variable((Piece(Text.literal(f"${name}"), f"{name} {why}"),))


def _same_words(one: tuple[ShellWord, ...] | None, other: tuple[ShellWord, ...] | None) -> bool:
    if one is None or other is None:
        return one is other
    return [w.value for w in one] == [w.value for w in other]


def _variable(name: str, base: Variable | None, values: Sequence[Variable | None], defaulted: bool) -> Variable:
    known = [v for v in values if v is not None]
    exported = any(v.exported for v in known)
    kept = next(v for v in known if v is not base) if any(v is not base for v in known) else known[0]
    named = replace(kept, exported=exported)
    if defaulted:
        empty = base is None or base.argument or (base.items is None and not base.text)
        if empty:
            filled = next((v for v in known if v is not base and (v.text or v.items)), None)
            if filled is not None:
                return replace(filled, overridable=True, exported=exported)
        elif base is not None:
            return replace(base, exported=exported or base.exported)
    if len(known) == len(values) and len({v.signature for v in known}) == 1:
        return named
    if any(v.items is not None for v in known):
        items = _items([v.items if v is not None and v.items is not None else () for v in values])
        if items is None or any(v.items is None and v.text for v in known):
            return replace(depends(name), exported=exported, name=named.name, entry=named.entry)
        return replace(named, items=items, pieces=(), overridable=False)
    # What the caller of the script may pass instead leaves the default standing.
    own = [v for v in values if v is None or not v.argument]
    if any(v is not None and v.text for v in own) and len(own) < len(values):
        remaining = {v.signature for v in own if v is not None}
        if len(remaining) == 1:
            return replace(next(v for v in own if v is not None), overridable=True, exported=exported)
        values = own
    elif len(own) < len(values) and not any(v is not None and v.unknown for v in own):
        # Nothing unless the caller gives it: a default that follows still stands.
        return next(replace(v, exported=exported) for v in values if v is not None and v.argument)
    pieces = _pieces(name, base, values)
    if pieces is None:
        texts = {v.text for v in values if v is not None and v.text}
        sometimes = named.pieces if len(texts) == 1 else ()
        return replace(depends(name), exported=exported, name=named.name, entry=named.entry, sometimes=sometimes)
    overridable = any(v is not None and v.overridable for v in values)
    return replace(named, pieces=pieces, overridable=overridable)


def _items(lists: Sequence[tuple[ShellWord, ...]]) -> tuple[ShellWord, ...] | None:
    """What all lists begin with, then the rest of each under a condition; ``None`` when the rests are no flags."""
    common = 0
    while all(len(items) > common for items in lists) and len({_key(items[common]) for items in lists}) == 1:
        common += 1
    rests = [items[common:] for items in lists]
    while common and any(rest and not _starts_flag(rest[0]) for rest in rests):
        # A flag whose value differs belongs to the part that differs.
        common -= 1
        rests = [items[common:] for items in lists]
        if _starts_flag(lists[0][common]):
            break
    if any(rest and not (_starts_flag(rest[0]) or rest[0].unknown) for rest in rests):
        return None
    out: list[ShellWord] = list(lists[0][:common])
    seen: set[tuple[object, ...]] = set()
    for rest in rests:
        key = tuple(_key(w)[:2] for w in rest)
        if key not in seen:
            seen.add(key)
            out.extend(replace(w, conditional=True) for w in rest)
    return tuple(out)


def _key(word: ShellWord) -> tuple[object, ...]:
    return word.value, word.unknown, word.conditional


def _starts_flag(word: ShellWord) -> bool:
    return word.value.startswith("-")


def _pieces(name: str, base: Variable | None, values: Sequence[Variable | None]) -> Pieces | None:
    """A scalar behind a branching: the common start, then what looks like added flags under a condition.

    An addition that is no flag is one unknown piece; ``None`` when there is nothing in common.
    """
    texts = [v.text if v is not None else "" for v in values]
    start = base.text if base is not None and base.items is None else ""
    if start and all(t.startswith(start) for t in texts):
        assert base is not None
        head = base.pieces
    else:
        start = _common_start(texts)
        filled = next((v for v in values if v is not None and v.text), None)
        head = _head(filled.pieces, len(start)) if filled is not None else ()
    tails: dict[str, Pieces] = {}
    for value, text in zip(values, texts, strict=True):
        rest = text[len(start) :]
        if rest and value is not None:
            tails.setdefault(rest, _tail(value.pieces, len(start)))
    if not tails:
        return head
    added = all(_is_addition(pieces) for pieces in tails.values())
    if not start and (len(tails) > 1 or not added):
        return None
    out = list(head)
    for pieces in tails.values():
        if added or _is_addition(pieces):
            out.extend(replace(p, conditional=True) for p in pieces)
            continue
        place = next(p.text for p in pieces if p.text.value.strip()).span
        if next(p.text.value for p in pieces)[0].isspace():
            out.append(Piece(Text.placed(" ", place), conditional=True))
        out.append(Piece(Text.placed(f"${name}", place), f"{name} depends on a branch of the script"))
        break
    return tuple(out)


def _is_addition(pieces: Pieces) -> bool:
    """Whether a tail adds arguments: it begins with a flag or with something unknown that stands alone."""
    first = next((p for p in pieces if p.text.value.strip()), None)
    if first is None:
        return True
    blank = next(p.text.value for p in pieces)[0].isspace()
    return first.text.value.strip().startswith("-") or (first.unknown is not None and blank)


def _common_start(texts: Sequence[str]) -> str:
    """What all texts begin with, cut where a word of all of them ends."""
    shortest, longest = min(texts), max(texts)
    length = next((i for i, (a, b) in enumerate(zip(shortest, longest, strict=False)) if a != b), min(len(shortest), len(longest)))
    common = shortest[:length]
    if not all(len(t) == len(common) or t[len(common)].isspace() for t in texts):
        common = common[: max((common.rfind(c) + 1 for c in " \t\n"), default=0)]
    return common


def _head(pieces: Pieces, length: int) -> Pieces:
    out: list[Piece] = []
    for piece in pieces:
        if length <= 0:
            break
        out.append(piece if len(piece.text) <= length else replace(piece, text=piece.text[:length]))
        length -= len(piece.text)
    return tuple(out)


def _tail(pieces: Pieces, length: int) -> Pieces:
    out: list[Piece] = []
    for piece in pieces:
        size = len(piece.text)
        if length >= size:
            length -= size
            continue
        out.append(replace(piece, text=piece.text[length:]) if length else piece)
        length = 0
    return tuple(out)
