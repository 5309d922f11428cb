"""NixOS modules: containers of ``virtualisation.oci-containers``, systemd services, scripts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.nix_syntax import Apply, Atom, Attrs, Binding, Expr, Hole, If, Items, Let, Operation, Ref, Str, parse_nix
from lint_vllm.extract.shell_values import Piece, pieces_of, word_of
from lint_vllm.extract.structure import Leaf, Map, Pair, Seq, Tree, launches_in
from lint_vllm.launch import Deployment, Word
from lint_vllm.source import SourceFile, Text

_SCRIPTS = frozenset(
    {"writeShellScript", "writeShellScriptBin", "writeScript", "writeScriptBin", "writeShellApplication", "writeText"}
)
_AS_IS = frozenset({"toString", "toJSON", "escapeShellArg", "mkDefault", "mkForce", "mkBefore", "mkAfter", "escapeSystemdExecArg"})
MAX_DEPTH = 80


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    if "vllm" not in source.text.lower():
        return Extraction()
    text = Text.of(source)
    tree = _Reader().tree(parse_nix(text))
    context = Context(source, follow=follow, deployment=Deployment("other", tree.span))
    return Extraction(tuple(sorted(launches_in(tree, context), key=lambda x: x.command.start)))


@dataclass
class _Reader:
    scopes: list[dict[str, Expr]] = field(default_factory=list)
    busy: set[int] = field(default_factory=set)
    depth: int = 0

    def tree(self, expression: Expr) -> Tree:
        self.depth += 1
        try:
            return self._tree(expression) if self.depth < MAX_DEPTH else _unknown(expression.place)
        finally:
            self.depth -= 1

    def _tree(self, expression: Expr) -> Tree:
        place = expression.place
        if isinstance(expression, Str):
            return self._string(expression)
        if isinstance(expression, Atom):
            return Leaf(Word(place, place.span), expression.value)
        if isinstance(expression, Items):
            return self._items(place, expression.items)
        if isinstance(expression, Attrs):
            return self._attrs(place, expression.bindings)
        if isinstance(expression, Let):
            self.scopes.append({b.path[0].value: b.value for b in expression.bindings if len(b.path) == 1})
            body = self.tree(expression.body)
            inner = self._attrs(place, expression.bindings)
            self.scopes.pop()
            kept = tuple(p for p in inner.pairs if not isinstance(p.value, Leaf))
            return Map(place.span, (*kept, Pair(Word(place[:0], place[:0].span), body, body.span))) if kept else body
        if isinstance(expression, Ref):
            return self._reference(expression)
        if isinstance(expression, If):
            return _either(place, self.tree(expression.yes), self.tree(expression.no))
        if isinstance(expression, Operation):
            return self._operation(expression)
        if isinstance(expression, Apply):
            return self._applied(expression)
        return _unknown(place)

    def _items(self, place: Text, items: tuple[Expr, ...]) -> Seq:
        return Seq(place.span, tuple(self.tree(i) for i in items))

    def _attrs(self, place: Text, bindings: tuple[Binding, ...]) -> Map:
        self.scopes.append({b.path[0].value: b.value for b in bindings if len(b.path) == 1})
        pairs: list[Pair] = []
        for binding in bindings:
            value = self.tree(binding.value)
            span = binding.path[0].span.to(value.span)
            for name in reversed(binding.path):
                value_pair = Pair(Word(name, name.span), value, name.span.to(value.span))
                value = Map(span, (value_pair,))
            pairs.append(value_pair)
        self.scopes.pop()
        return Map(place.span, tuple(_together(pairs)))

    def _string(self, string: Str) -> Leaf:
        place = string.place
        pieces: list[Piece] = []
        for part in string.parts:
            if isinstance(part, Hole):
                pieces += self._filled(part)
            else:
                pieces.append(Piece(part))
        empty = place[len(string.quote) : len(string.quote)]
        if all(p.unknown is None for p in pieces):
            text = Text.join([p.text for p in pieces], empty)
            return Leaf(Word(text, place.span, string.quote), text.value)
        return Leaf(word_of(pieces, place.span, empty, string.quote))

    def _filled(self, hole: Hole) -> list[Piece]:
        value = self.tree(hole.value) if hole.value is not None else _unknown(hole.place)
        if isinstance(value, Leaf) and value.word.unknown is None:
            return [Piece(Text.placed(value.word.value, hole.place.span))]
        if isinstance(value, Leaf) and len(pieces_of(value.word)) > 1:
            return list(pieces_of(value.word))
        if isinstance(hole.value, Ref) and hole.value.path[:1] == ("pkgs",):
            # ${pkgs.vllm}/bin/vllm: what is before the program's name does not matter
            return [Piece(Text.placed("/nix/store/package", hole.place.span))]
        return [Piece(hole.place, f"{_short(hole.place)} is computed when the system is built")]

    def _reference(self, reference: Ref) -> Tree:
        place = reference.place
        for scope in reversed(self.scopes):
            found = scope.get(reference.path[0])
            if found is None:
                continue
            if id(found) in self.busy:
                continue
            self.busy.add(id(found))
            value = self.tree(found)
            self.busy.discard(id(found))
            for name in reference.path[1:]:
                pair = value.get(name) if isinstance(value, Map) else None
                if pair is None:
                    return _unknown(place)
                value = pair.value
            if isinstance(value, Leaf):
                if value.word.unknown is not None and len(pieces_of(value.word)) == 1:
                    return _unknown(place)
                return replace(value, word=replace(value.word, span=place.span, quote="", defined=value.word.content.span))
            return value
        return _unknown(place)

    def _operation(self, operation: Operation) -> Tree:
        left, right = self.tree(operation.left), self.tree(operation.right)
        place = operation.place
        if operation.operator == "++":
            items: list[Tree] = []
            opened: str | None = None
            for part in (left, right):
                if isinstance(part, Seq):
                    items += part.items
                    opened = opened or part.open
                else:
                    opened = opened or f"{_short(operation.place)} is computed when the system is built"
            return Seq(place.span, tuple(items), opened)
        if operation.operator == "//" and isinstance(left, Map) and isinstance(right, Map):
            return Map(place.span, (*left.pairs, *right.pairs), left.open or right.open)
        if operation.operator == "+" and isinstance(left, Leaf) and isinstance(right, Leaf):
            pieces = [*pieces_of(left.word), *pieces_of(right.word)]
            return Leaf(word_of(pieces, place.span, place[:0]))
        return _unknown(place)

    def _applied(self, application: Apply) -> Tree:
        place, function, arguments = application.place, application.terms[0], application.terms[1:]
        name = function.path[-1] if isinstance(function, Ref) else ""
        last = self.tree(arguments[-1])
        if name in _AS_IS:
            return replace(last, word=replace(last.word, span=place.span)) if isinstance(last, Leaf) else last
        if name in _SCRIPTS:
            text = last.get("text") if isinstance(last, Map) else None
            script = text.value if text is not None else last
            return script
        if name in ("optional", "optionals", "mkIf", "optionalString", "optionalAttrs"):
            if isinstance(last, Seq):
                return Seq(place.span, tuple(_conditional(i) for i in last.items), last.open)
            if isinstance(last, Leaf) and name == "optional":
                return Seq(place.span, (_conditional(last),))
            if isinstance(last, Map):
                return last
            return _unknown(place)
        if name in ("escapeShellArgs", "concatStringsSep", "escapeSystemdExecArgs") and isinstance(last, Seq) and not last.open:
            return _joined(place, last)
        return last if isinstance(last, Map) else _unknown(place)


def _together(pairs: list[Pair]) -> list[Pair]:
    """``a.b = 1; a.c = 2;`` are one set."""
    merged: dict[str, Pair] = {}
    for pair in pairs:
        old = merged.get(pair.key.value)
        if old is not None and isinstance(old.value, Map) and isinstance(pair.value, Map):
            inner = Map(old.value.span.to(pair.value.span), tuple(_together([*old.value.pairs, *pair.value.pairs])))
            merged[pair.key.value] = Pair(old.key, inner, old.span.to(pair.span))
        else:
            merged[pair.key.value] = pair
    return list(merged.values())


def _joined(place: Text, parts: Seq) -> Leaf:
    pieces: list[Piece] = []
    for item in parts.items:
        if not isinstance(item, Leaf):
            return _unknown(place)
        if pieces:
            pieces.append(Piece(Text.placed(" ", item.span.source.span(item.span.start, item.span.start))))
        pieces += [replace(p, conditional=p.conditional or item.word.conditional) for p in pieces_of(item.word)]
    return Leaf(word_of(pieces, place.span, place[:0]))


def _either(place: Text, yes: Tree, no: Tree) -> Tree:
    if isinstance(yes, Seq) and isinstance(no, Seq):
        return Seq(place.span, tuple(_conditional(i) for i in (*yes.items, *no.items)), yes.open or no.open)
    if isinstance(yes, Map):
        return yes
    return no if isinstance(no, Map) else _unknown(place)


def _conditional(item: Tree) -> Tree:
    return replace(item, word=replace(item.word, conditional=True)) if isinstance(item, Leaf) else item


def _unknown(place: Text) -> Leaf:
    return Leaf(Word(place, place.span, unknown=f"{_short(place)} is computed when the system is built"))


def _short(place: Text) -> str:
    code = " ".join(place.value.split())
    return code if len(code) <= 60 else code[:57] + "..."
