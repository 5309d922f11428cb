"""Terraform, OpenTofu and Nomad files: containers, scripts and manifests inside HCL, with locals and defaults resolved."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.hcl_syntax import (
    Block,
    Body,
    Call,
    Conditional,
    Expression,
    Insertion,
    Literal,
    Object,
    Reference,
    Template,
    Tuple,
    parse_hcl,
)
from lint_vllm.extract.shell_values import Piece, pieces_of, word_of
from lint_vllm.extract.structure import Leaf, Map, Pair, Seq, Tree, hints_of, launches_in, literal_of
from lint_vllm.launch import Deployment, Hint, Launch, Word
from lint_vllm.source import SourceFile, Text

MAX_LOOKUPS = 20_000

_SIBLINGS = ("variables.tf", "locals.tf")
_TRANSPARENT = frozenset(
    [
        "tostring",
        "tonumber",
        "tobool",
        "tolist",
        "toset",
        "tomap",
        "trimspace",
        "chomp",
        "base64encode",
        "textencodebase64",
        "base64gzip",
        "nonsensitive",
        "sensitive",
        "indent",
        "flatten",
        "compact",
        "distinct",
        "try",
        "coalesce",
        "one",
    ]
)


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    text = Text.of(source)
    body, trouble = parse_hcl(text)
    names = _Names()
    names.read(body)
    for name in _SIBLINGS if follow is not None else ():
        sibling = follow.read(name) if follow is not None else None
        if sibling is not None and sibling.path != source.path:
            names.read(parse_hcl(Text.of(sibling))[0])
    tree = names.body_tree(body)
    machines = _machines(tree)
    alone = len({h.value for h in machines}) == 1
    found: list[Launch] = []
    for item, pair in zip(body.order, tree.pairs, strict=True):
        labels = [label.value for label in item.labels] if isinstance(item, Block) else []
        context = Context(
            source,
            site=".".join([pair.key.value, *labels]),
            follow=follow,
            deployment=Deployment("other", pair.span, scope=f"line {pair.span.line}"),
        )
        here = _machines(pair.value)
        inside = launches_in(Map(pair.span, (pair,)) if not isinstance(pair.value, Map) else pair.value, context)
        # An endpoint names its machine in a resource of its own; other resources may have nothing to do with each other.
        found += [replace(x, hints=x.hints or here or (machines[:1] if alone and x.form == "env" else ())) for x in inside]
    problems = (
        (Unreadable(trouble.span, "this is not valid HCL; the rest of the line was passed over"),) if trouble and found else ()
    )
    return Extraction(tuple(sorted(found, key=lambda x: x.command.start)), problems)


def _machines(tree: Tree) -> tuple[Hint, ...]:
    """Instance types anywhere in a tree."""
    found: list[Hint] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Seq):
            waiting += node.items
        elif isinstance(node, Map):
            found += [h for h in hints_of(node.pairs) if h.kind in ("aws-instance", "gcp-machine", "azure-vm")]
            waiting += [pair.value for pair in node.pairs]
    return tuple(found)


@dataclass
class _Names:
    """What ``local.x``, ``var.x`` and attributes of resources stand for."""

    values: dict[tuple[str, ...], Expression] = field(default_factory=dict)
    busy: set[tuple[str, ...]] = field(default_factory=set)
    lookups: int = 0

    def read(self, body: Body) -> None:
        for block in body.blocks:
            kind = block.name.value
            labels = tuple(label.value for label in block.labels)
            if kind == "locals":
                for attribute in block.body.attributes:
                    self.values.setdefault(("local", attribute.name.value), attribute.value)
            elif kind == "variable" and labels:
                default = block.body.attribute("default")
                if default is not None:
                    self.values.setdefault(("var", labels[0]), default)
            elif kind == "resource" and len(labels) == 2:
                for attribute in block.body.attributes:
                    self.values.setdefault((*labels, attribute.name.value), attribute.value)
                image = block.body.attribute("name")
                if labels[0] == "docker_image" and image is not None:
                    for name in ("image_id", "latest", "repo_digest"):
                        self.values.setdefault((*labels, name), image)

    # -- trees -----------------------------------------------------------------------------------------------------

    def body_tree(self, body: Body) -> Map:
        pairs: list[Pair] = []
        for item in body.order:
            key = Word(item.name, item.name.span)
            if isinstance(item, Block):
                inner = self.body_tree(item.body)
                if item.labels and item.name.value in ("device",):
                    key = Word(item.labels[0], item.labels[0].span)
                pairs.append(Pair(key, inner, item.place.span))
            else:
                value = self.tree(item.value)
                pairs.append(Pair(key, value, item.name.span.to(item.value.place.span)))
        return Map(body.place.span, tuple(pairs))

    def tree(self, expression: Expression) -> Tree:
        place = expression.place
        if isinstance(expression, Template):
            return self._template(expression)
        if isinstance(expression, Literal):
            return Leaf(Word(place, place.span), expression.value)
        if isinstance(expression, Tuple):
            return Seq(place.span, tuple(self.tree(item) for item in expression.items))
        if isinstance(expression, Object):
            pairs = []
            for key, value in expression.items:
                pairs.append(Pair(self._key(key), self.tree(value), key.place.span.to(value.place.span)))
            return Map(place.span, tuple(pairs))
        if isinstance(expression, Reference):
            return self._reference(expression)
        if isinstance(expression, Call):
            return self._call(expression)
        if isinstance(expression, Conditional):
            return self._conditional(expression)
        return _unknown(place, f"{_short(place)} is computed when it is applied")

    def _key(self, key: Expression) -> Word:
        if isinstance(key, Template):
            leaf = self._template(key)
            return leaf.word
        return Word(key.place, key.place.span)

    def _template(self, template: Template) -> Leaf:
        place = template.place
        pieces: list[Piece] = []
        for part in template.parts:
            if isinstance(part, Insertion):
                pieces += self._inserted(part, template.heredoc)
            else:
                pieces.append(Piece(part))
        quote = "" if template.heredoc else '"'
        empty = place[1:1] if quote else place[:0]
        if all(p.unknown is None for p in pieces):
            text = Text.join([p.text for p in pieces], empty)
            defined = None
            if len(template.parts) == 1 and isinstance(template.parts[0], Insertion) and text.value and text.verbatim():
                defined = text.span
            return Leaf(Word(text, place.span, quote, defined=defined), text.value)
        return Leaf(word_of(pieces, place.span, empty, quote))

    def _inserted(self, part: Insertion, heredoc: bool) -> list[Piece]:
        place = part.place
        if part.expression is None:
            blank = Text(place.source, "#" + " " * (len(place) - 1), place.starts, place.stops, place.anchor)
            return [Piece(blank if heredoc else place, None if heredoc else f"{_short(place)} is a template directive")]
        value = self.tree(part.expression)
        if isinstance(value, Leaf):
            if value.word.unknown is None:
                return [Piece(Text.placed(_shown(value), place.span))]
            return [Piece(place, value.word.unknown)]
        return [Piece(place, f"{_short(place)} is computed when it is applied")]

    def _reference(self, reference: Reference) -> Tree:
        place, path = reference.place, reference.path
        reason = f"{_short(place)} is not known in this file"
        if path[:1] == ("var",):
            reason = f"variable {'.'.join(path[1:2])} has no default in this file"
        self.lookups += 1
        for length in range(len(path), 1, -1):
            key = path[:length]
            found = self.values.get(key)
            if found is None or key in self.busy or self.lookups > MAX_LOOKUPS or not reference.whole:
                continue
            self.busy.add(key)
            value = self.tree(found)
            self.busy.discard(key)
            for name in path[length:]:
                pair = value.get(name) if isinstance(value, Map) else None
                if pair is None:
                    return _unknown(place, reason)
                value = pair.value
            return _used_at(value, place)
        return _unknown(place, reason)

    def _conditional(self, expression: Conditional) -> Tree:
        yes, no = self.tree(expression.yes), self.tree(expression.no)
        if isinstance(yes, Seq) and isinstance(no, Seq):
            together = tuple(_conditional_leaf(i) for i in (*yes.items, *no.items))
            return Seq(expression.place.span, together, yes.open or no.open)
        if isinstance(yes, Leaf) and isinstance(no, Leaf) and yes.word.unknown is None and yes.word.value == no.word.value:
            return yes
        for given, other in ((yes, no), (no, yes)):
            if isinstance(given, Leaf) and given.word.value.startswith("-") and isinstance(other, Leaf) and _is_nothing(other):
                return _conditional_leaf(given)
        return _unknown(expression.place, "the value depends on a condition")

    def _call(self, call: Call) -> Tree:
        name, place = call.name, call.place
        if not call.arguments:
            return _unknown(place, f"{_short(place)} is computed when it is applied")
        first = self.tree(call.arguments[-1] if name == "indent" else call.arguments[0])
        if name in _TRANSPARENT:
            if isinstance(first, Leaf) and first.word.unknown is not None and first.word.content.span == first.word.span:
                return _unknown(place, first.word.unknown)
            return (
                replace(first, literal=first.word.value)
                if name == "tostring" and isinstance(first, Leaf) and first.word.unknown is None
                else first
            )
        if name == "concat":
            return self._concatenated(place, [first, *(self.tree(a) for a in call.arguments[1:])])
        if name == "merge":
            return self._merged(place, [first, *(self.tree(a) for a in call.arguments[1:])])
        if name in ("jsonencode", "yamlencode"):
            return _encoded(place, first)
        if name == "join" and len(call.arguments) == 2:
            return self._joined(place, first, self.tree(call.arguments[1]))
        if name in ("format", "templatefile", "file"):
            return _unknown(place, f"{_short(place)} is computed when it is applied")
        return _unknown(place, f"{_short(place)} is computed when it is applied")

    @staticmethod
    def _concatenated(place: Text, parts: Iterable[Tree]) -> Tree:
        items: list[Tree] = []
        reason: str | None = None
        for part in parts:
            if isinstance(part, Seq):
                items += part.items
                reason = reason or part.open
            else:
                reason = reason or (part.word.unknown if isinstance(part, Leaf) else None) or "part of the list is not known"
        return Seq(place.span, tuple(items), reason)

    @staticmethod
    def _merged(place: Text, parts: Iterable[Tree]) -> Tree:
        pairs: list[Pair] = []
        reason: str | None = None
        for part in parts:
            if isinstance(part, Map):
                pairs += part.pairs
                reason = reason or part.open
            else:
                reason = reason or "part of the map is not known"
        return Map(place.span, tuple(pairs), reason)

    @staticmethod
    def _joined(place: Text, separator: Tree, parts: Tree) -> Tree:
        if not isinstance(separator, Leaf) or not isinstance(parts, Seq) or parts.open:
            return _unknown(place, f"{_short(place)} is computed when it is applied")
        pieces: list[Piece] = []
        for number, item in enumerate(parts.items):
            if not isinstance(item, Leaf):
                return _unknown(place, f"{_short(place)} is computed when it is applied")
            if number:
                pieces.append(Piece(Text.placed(separator.word.value, item.span.source.span(item.span.start, item.span.start))))
            pieces += pieces_of(item.word)
        return Leaf(word_of(pieces, place.span, place[:0]))


def _used_at(value: Tree, place: Text) -> Tree:
    """A value that stands behind a reference."""
    if isinstance(value, Leaf):
        word = value.word
        if word.unknown is not None:
            return _unknown(place, word.unknown)
        return replace(value, word=Word(word.content, place.span, "", None, word.defined or word.content.span))
    return value


def _is_nothing(leaf: Leaf) -> bool:
    return leaf.word.unknown is None and leaf.word.value in ("", "null")


def _conditional_leaf(item: Tree) -> Tree:
    return replace(item, word=replace(item.word, conditional=True)) if isinstance(item, Leaf) else item


def _encoded(place: Text, value: Tree) -> Tree:
    """The text that ``jsonencode`` makes of a value; the value itself stays reachable."""
    literal, known = literal_of(value)
    if not known:
        return Leaf(Word(place, place.span, unknown=f"{_short(place)} holds values that are not known"), tree=value)
    text = Text.placed(json.dumps(literal), value.span)
    return Leaf(Word(text, place.span, defined=value.span), text.value, value)


def _shown(leaf: Leaf) -> str:
    return leaf.word.value


def _unknown(place: Text, reason: str) -> Leaf:
    return Leaf(Word(place, place.span, unknown=reason))


def _short(place: Text) -> str:
    code = " ".join(place.value.split())
    return code if len(code) <= 60 else code[:57] + "..."
