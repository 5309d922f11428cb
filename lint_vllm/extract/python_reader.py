"""Reads Python the way a careful person does: follows values through assignments, branches, loops and calls of functions
of the same file, and never runs anything.

Work is bounded: every evaluated node counts against ``MAX_STEPS``, loops are unrolled and functions followed only so far.
"""

from __future__ import annotations

import ast
import contextlib
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from lint_vllm.extract.python_library import library_call, method_call, percent_format
from lint_vllm.extract.python_text import Code, Hole, formatted_pieces, python_text, quote_of
from lint_vllm.extract.python_values import (
    MISSING,
    Callable_,
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
    each,
    hole,
    joined,
    known_literal,
    soften,
    truth,
    unknown,
    why_unknown,
)
from lint_vllm.source import Span, Text

MAX_STEPS = 300_000
MAX_ROUNDS = 24
MAX_CALLS = 8
"""How often the body of one function is read for different arguments."""
MAX_INLINED = 6

_BUILTINS = frozenset(
    [
        "str",
        "int",
        "float",
        "bool",
        "dict",
        "list",
        "tuple",
        "set",
        "vars",
        "len",
        "print",
        "open",
        "range",
        "sorted",
        "getattr",
        "max",
        "min",
        "repr",
        "enumerate",
        "zip",
        "isinstance",
        "type",
        "super",
        "filter",
        "map",
        "any",
        "all",
        "sum",
        "abs",
        "round",
        "iter",
        "next",
        "reversed",
    ]
)
_ARITHMETIC: dict[type, Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type, Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_FORWARDING = {"remote", "bind", "spawn", "local", "delay", "starmap"}
"""Methods by which frameworks (Modal, Ray, Celery) call a decorated function."""


class Observer(Protocol):
    """Told what happens while the code is read; decides what is a launch."""

    def called(self, node: ast.Call, call: Instance, function: Value) -> Value | None:
        """A call; a returned value replaces what the reader would make of it."""
        ...

    def environment(self, key: Scalar, value: Value, entry: Text) -> None:
        """``os.environ[key] = value``."""
        ...

    def made(self, value: Value) -> None:
        """A list, dict or string literal was read."""
        ...

    def kept(self, value: Value, name: str) -> None:
        """A value was given a name, or returned (``name`` is then ``return``)."""
        ...

    def entering(self, function: Callable_, decorators: list[Value]) -> None: ...

    def leaving(self, function: Callable_) -> None: ...

    def statement(self, place: Text) -> None:
        """An expression statement that is a literal: a docstring, or what a notebook's magic was masked with."""
        ...


class _Exhausted(Exception):
    """The work allowed for one file is used up."""


@dataclass
class Scope:
    parent: Scope | None = None
    names: dict[str, Value] = field(default_factory=dict)
    log: list[tuple[str, Value | None]] = field(default_factory=list)
    """What was bound in the running branch, with the value before."""
    returned: list[Value] = field(default_factory=list)

    def bind(self, name: str, value: Value) -> None:
        self.log.append((name, self.names.get(name)))
        self.names[name] = value

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def undo(self, mark: int) -> dict[str, Value]:
        """Take back what was bound since ``mark``; returns it."""
        changed: dict[str, Value] = {}
        while len(self.log) > mark:
            name, before = self.log.pop()
            changed.setdefault(name, self.names[name])
            if before is None:
                del self.names[name]
            else:
                self.names[name] = before
        return changed


@dataclass
class Definition:
    function: Callable_
    code: Code
    defaults: dict[str, Value]
    decorators: list[Value]


class Reader:
    """One file, or all the cells of one notebook: ``run`` each code in order, then ``finish``."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.module = Scope()
        self.scope = self.module
        self.code: Code = None  # type: ignore[assignment]
        self.given: dict[str, str] = {}
        """Names that hold, in the branch being read, something else than their empty default: path -> reason."""
        self.depth = 0
        """Conditions and unknown loops around the present place."""
        self.rounds = 1
        self.inlined = 0
        self.steps = MAX_STEPS
        self.exhausted = False
        self.site: list[str] = []
        self.standalone = False
        """The function being read is not called in this file with arguments that are known."""
        self.links: dict[tuple[int, int], Span] = {}
        """Where the value of a known f-string hole is defined, by the extent of the hole."""
        self._definitions: dict[int, Definition] = {}
        self._pending: list[Callable_] = []
        self._mentions: Counter[str] = Counter()

    # -- driving ---------------------------------------------------------------------------------------------------

    def run(self, code: Code) -> None:
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._mentions[node.id] += 1
            elif isinstance(node, ast.Attribute):
                self._mentions[node.attr] += 1
        with self._bounded(), self._reading(code, self.module):
            self.block(code.tree.body)
        self.module.log.clear()

    def finish(self) -> None:
        """Read the functions that nothing in the file calls, entry points first."""
        order = sorted(self._pending, key=lambda f: self._mentions[self._name(f)] > 0)
        self._pending = []
        for function in order:
            self._read_uncalled(function)
        while self._pending and not self.exhausted:
            self._read_uncalled(self._pending.pop(0))

    def _read_uncalled(self, function: Callable_) -> None:
        if function.runs or self.exhausted:
            return
        self.standalone = True
        with self._bounded():
            self.invoke(function, (), None, function.place)
        self.standalone = False

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        saved = (self.code, self.scope, self.depth, self.rounds, self.inlined, list(self.site))
        try:
            yield
        except _Exhausted:
            self.exhausted = True
        except RecursionError:
            pass
        self.code, self.scope, self.depth, self.rounds, self.inlined, self.site = saved

    @contextlib.contextmanager
    def _reading(self, code: Code, scope: Scope) -> Iterator[None]:
        before = self.code, self.scope
        self.code, self.scope = code, scope
        try:
            yield
        finally:
            self.code, self.scope = before

    @contextlib.contextmanager
    def _conditional(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @staticmethod
    def _name(function: Callable_) -> str:
        return getattr(function.node, "name", "")

    def decorators_of(self, function: Callable_) -> list[Value]:
        definition = self._definitions.get(id(function))
        return definition.decorators if definition else []

    # -- statements ------------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> str:
        """Read statements; returns how the block ends: empty, ``return``, ``raise``, ``break`` or ``continue``."""
        for statement in body:
            self.steps -= 1
            if self.steps < 0:
                raise _Exhausted
            handler = getattr(self, f"_do_{type(statement).__name__}", None)
            if handler is None:
                continue
            try:
                ended = handler(statement)
            except RecursionError:  # an expression nested too deeply says nothing
                continue
            if ended:
                return str(ended)
        return ""

    def _do_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            place = self.code.place(alias)
            name = alias.name if alias.asname else alias.name.split(".")[0]
            self.scope.bind(alias.asname or name, Symbol(place, name))

    def _do_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                for name in ("LLM", "EngineArgs", "AsyncEngineArgs", "SamplingParams") if module == "vllm" else ():
                    self.scope.bind(name, Symbol(self.code.place(alias), f"vllm.{name}"))
            else:
                self.scope.bind(alias.asname or alias.name, Symbol(self.code.place(alias), f"{module}.{alias.name}"))

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            self.observer.statement(self.code.place(node.value))
            return
        self.evaluate(node.value)

    def _do_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            place = self.code.place(node.target)
            before: Value = self.scope.find(node.target.id) or unknown(place, f"{node.target.id} has no value in this file")
        else:
            before = self.evaluate(node.target)
        change = self.evaluate(node.value)
        if isinstance(before, Many) and isinstance(node.op, ast.Add):
            self.extend(before, change)
            return
        if isinstance(before, Table) and isinstance(node.op, ast.BitOr):
            self.update(before, change)
            return
        value = self.operation(self.code.place(node), before, node.op, change)
        self.assign(node.target, value)

    def _do_Return(self, node: ast.Return) -> str:
        if node.value is not None:
            value = self.evaluate(node.value)
            self.observer.kept(value, "return")
            self.scope.returned.append(value)
        return "return"

    def _do_Raise(self, node: ast.Raise) -> str:
        return "raise"

    def _do_Break(self, node: ast.Break) -> str:
        return "break"

    def _do_Continue(self, node: ast.Continue) -> str:
        return "continue"

    def _do_Global(self, node: ast.Global) -> None:
        return None

    def _do_If(self, node: ast.If) -> str:
        holds = truth(self.evaluate(node.test))
        if holds is not None:
            return self.block(node.body if holds else node.orelse)
        return self._branches([node.body, node.orelse], [dict(self._given(node.test)), {}])

    def _given(self, test: ast.expr) -> Iterator[tuple[str, str]]:
        """Names whose default is empty: where a branch asks for a value, the caller gave another one."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                yield from self._given(part)
        elif isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.IsNot, ast.NotEq, ast.Gt)):
            yield from self._given(test.left)
        elif isinstance(test, (ast.Name, ast.Attribute)):
            value = self.evaluate(test)
            if isinstance(value, Scalar) and value.soft and value.known and not value.literal:
                path = test.id if isinstance(test, ast.Name) else _path(test)
                if path:
                    yield path, f"{path} is given by the caller"

    def _do_Match(self, node: ast.Match) -> str:
        self.evaluate(node.subject)
        return self._branches([case.body for case in node.cases] + [[]])

    def _branches(self, bodies: list[list[ast.stmt]], given: list[dict[str, str]] | None = None) -> str:
        """Read bodies of which one runs, and keep what is known after any of them."""
        scope, outcomes = self.scope, []
        endings = []
        outer = self.given
        for number, body in enumerate(bodies):
            self.given = {**outer, **given[number]} if given and given[number] else outer
            mark = len(scope.log)
            with self._conditional():
                ending = self.block(body)
            changed = scope.undo(mark)
            endings.append(ending)
            if ending not in ("return", "raise"):
                outcomes.append(changed)
        self.given = outer
        for name in dict.fromkeys(name for outcome in outcomes for name in outcome):
            before = scope.names.get(name)
            values = [outcome.get(name, before) for outcome in outcomes]
            known = [v for v in values if v is not None]
            value = known[0]
            for other in known[1:]:
                value = joined(value, other)
            scope.bind(name, value)
        return endings[0] if endings and all(endings) and len(set(endings)) == 1 else "return" if endings and all(endings) else ""

    def _do_For(self, node: ast.For) -> str:
        iterable = self.evaluate(node.iter)
        rounds = each(iterable)
        if rounds is not None and len(rounds) <= MAX_ROUNDS and self.rounds * max(len(rounds), 1) <= 4 * MAX_ROUNDS:
            return self._unrolled(node, rounds)
        self._bind_loop(node.target, self.code.place(node.iter))
        self._branches([node.body, []])
        self.block(node.orelse)
        return ""

    _do_AsyncFor = _do_For

    def _unrolled(self, node: ast.For, rounds: list[Item]) -> str:
        before = self.rounds
        self.rounds *= max(len(rounds), 1)
        for item in list(rounds):
            self.assign(node.target, item.value)
            with self._conditional() if item.conditional else contextlib.nullcontext():
                ending = self.block(node.body)
            if ending in ("break", "return", "raise"):
                break
        self.rounds = before
        return ""

    def _bind_loop(self, target: ast.expr, iterable: Text) -> None:
        names = [n for n in ast.walk(target) if isinstance(n, ast.Name)]
        for name in names:
            self.scope.bind(name.id, unknown(self.code.place(name), f"{name.id} takes each value of {iterable.value[:40]}"))

    def _do_While(self, node: ast.While) -> str:
        if truth(self.evaluate(node.test)) is False:
            return self.block(node.orelse)
        self._branches([node.body, []])
        return ""

    def _do_With(self, node: ast.With) -> str:
        for item in node.items:
            value = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        return self.block(node.body)

    _do_AsyncWith = _do_With

    def _do_Try(self, node: ast.Try) -> str:
        ending = self.block(node.body)
        for handler in node.handlers:
            mark = len(self.scope.log)
            with self._conditional():
                self.block(handler.body)
            for name, value in self.scope.undo(mark).items():
                if name not in self.scope.names:
                    self.scope.bind(name, value)
        if not ending:
            ending = self.block(node.orelse)
        return self.block(node.finalbody) or ending

    _do_TryStar = _do_Try

    def _do_Assert(self, node: ast.Assert) -> None:
        return None

    def _do_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                table = self.evaluate(target.value)
                key = self.evaluate(target.slice)
                if isinstance(table, Table) and isinstance(key, Scalar):
                    table.entries[:] = [e for e in table.entries if e.key.literal != key.literal or not e.key.known]

    def _do_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: Callable_ | None = None) -> Callable_:
        decorators = [self.evaluate(d) for d in node.decorator_list]
        function = Callable_(self._name_place(node), node, self.scope, owner)
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults = {
            a.arg: self.evaluate(d)
            for a, d in zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
        }
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = self.evaluate(default)
        self._definitions[id(function)] = Definition(function, self.code, defaults, decorators)
        self._pending.append(function)
        if owner is None:
            self.scope.bind(node.name, function)
        return None  # type: ignore[return-value]

    def _do_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._do_FunctionDef(node)

    def _name_place(self, node: ast.AST) -> Text:
        start, _ = self.code.bounds(node)
        return self.code.text[start : start + 1]

    def _do_ClassDef(self, node: ast.ClassDef) -> None:
        decorators = [self.evaluate(d) for d in node.decorator_list]
        bases = [self.evaluate(b) for b in node.bases]
        names = tuple(b.name for b in bases if isinstance(b, Symbol))
        kind = Callable_(self._name_place(node), node, self.scope, bases=names)
        for base in bases:
            if isinstance(base, Callable_):
                kind.attributes.update(base.attributes)
                kind.bases += base.bases
        self._definitions[id(kind)] = Definition(kind, self.code, {}, decorators)
        body = Scope(self.scope)
        outer, self.scope = self.scope, body
        first = len(self._pending)
        self.block(node.body)
        self.scope = outer
        for value in body.names.values():
            if isinstance(value, Callable_) and isinstance(value.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                value.owner = kind
                value.scope = outer
        self._pending[first:] = sorted(self._pending[first:], key=lambda f: self._name(f) != "__init__")
        kind.attributes.update(body.names)
        self.scope.bind(node.name, kind)

    # -- assignment ------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, value)
            self.observer.kept(value, target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = each(value) if isinstance(value, Many) else None
            fits = items is not None and len(items) == len(target.elts)
            for at, part in enumerate(target.elts):
                inner = part.value if isinstance(part, ast.Starred) else part
                place = self.code.place(inner)
                fitting = items[at].value if fits and items and not isinstance(part, ast.Starred) else None
                self.assign(inner, fitting or unknown(place, f"{place.value} is computed at run time"))
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            holder, key = self.evaluate(target.value), self.evaluate(target.slice)
            if not isinstance(key, Scalar):
                return
            if isinstance(holder, Symbol) and holder.name == "os.environ":
                self.set_variable(key, value, self.code.place(target))
            elif isinstance(holder, Table):
                holder.put(key, value, self.depth > holder.depth)
            elif (
                isinstance(holder, Many) and isinstance(key.literal, int) and -len(holder.items) <= key.literal < len(holder.items)
            ):
                old = holder.items[key.literal].value
                holder.items[key.literal].value = joined(old, value) if self.depth > holder.depth else value
            elif isinstance(holder, Instance):
                self._assign_path(ast.unparse(target), value)

    def _assign_attribute(self, target: ast.Attribute, value: Value) -> None:
        self.observer.kept(value, target.attr)
        holder = self.evaluate(target.value)
        if isinstance(holder, Table):
            key = constant(self.code.place(target), target.attr)
            holder.put(key, value, self.depth > holder.depth)
            return
        attributes: dict[str, Value] | None = None
        if isinstance(holder, Callable_):
            attributes = holder.attributes
        elif isinstance(holder, Instance) and holder.kind is not None:
            attributes = holder.kind.attributes
            if holder.attributes:
                holder.attributes[target.attr] = value
        if attributes is None:
            self._assign_path(_path(target), value)
        elif self.depth and target.attr in attributes:
            attributes[target.attr] = joined(attributes[target.attr], value)
        else:
            attributes[target.attr] = value

    def _assign_path(self, path: str | None, value: Value) -> None:
        if path:
            self.scope.bind(path, value)

    def set_variable(self, key: Scalar, value: Value, entry: Text) -> None:
        if isinstance(key.literal, str):
            self.scope.bind(f"os.environ:{key.literal}", value)
            self.observer.environment(key, value, entry)

    # -- lists and tables ------------------------------------------------------------------------------------------

    def extend(self, many: Many, change: Value) -> None:
        if isinstance(change, (Many, Table)):
            added = each(replace(change, open=None)) or []
            self._spend(len(added))
            conditional = self.depth > many.depth
            many.items.extend(Item(i.value, i.conditional or conditional) for i in list(added))
            many.open = many.open or change.open
        else:
            many.open = many.open or why_unknown(change) or "the list is extended at run time"

    def append(self, many: Many, value: Value) -> None:
        many.items.append(Item(value, self.depth > many.depth))

    def update(self, table: Table, change: Value) -> None:
        if isinstance(change, Table):
            for entry in list(change.entries):
                if entry.key.known:
                    table.put(entry.key, entry.value, entry.conditional or self.depth > table.depth)
                else:
                    table.entries.append(entry)
            table.open = table.open or change.open
            table.origin = table.origin or change.origin
        elif isinstance(change, Symbol) and change.name == "os.environ":
            table.origin = "os.environ"
        else:
            table.open = table.open or why_unknown(change) or f"**{change.place.value[:40]} is not known"

    # -- expressions -----------------------------------------------------------------------------------------------

    def _spend(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise _Exhausted

    def evaluate(self, node: ast.expr) -> Value:
        self._spend(1)
        handler = getattr(self, f"_of_{type(node).__name__}", None)
        if handler is None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.evaluate(child)
            place = self.code.place(node)
            return unknown(place, computed(place))
        value: Value = handler(node)
        return value

    def named(self, name: str) -> Value:
        """The present value of an expression given as text (a notebook's ``{MODEL}``)."""
        value = self.scope.find(name)
        place = Text.literal(name)
        return value if value is not None else unknown(place, f"{name} has no value in this file")

    def _of_Constant(self, node: ast.Constant) -> Value:
        place = self.code.place(node)
        if isinstance(node.value, str):
            text = python_text(self.code, node)
            value = Scalar(place, text, node.value, quote=quote_of(place))
            self.observer.made(value)
            return value
        if node.value is None or isinstance(node.value, (bool, int, float)):
            try:
                return constant(place, node.value)
            except ValueError:
                return unknown(place, "the number is too long")
        return unknown(place, computed(place))

    def _of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        place = self.code.place(node)
        pieces = formatted_pieces(self.code, node)
        if pieces is None:
            return unknown(place, "the f-string is computed at run time")
        parts = [self._hole(p) if isinstance(p, Hole) else Scalar(p, p, p.value) for p in pieces]
        value = concatenated(place, parts)
        value.quote = quote_of(place)
        self.observer.made(value)
        return value

    def _hole(self, piece: Hole) -> Scalar:
        if piece.expression is None:
            return hole(piece.place, computed(piece.place))
        body = piece.expression.tree.body
        if len(body) != 1 or not isinstance(body[0], ast.Expr):
            return hole(piece.place, computed(piece.place))
        with self._reading(piece.expression, self.scope):
            value = self.evaluate(body[0].value)
        return self.inserted(piece.place, value, piece.conversion, piece.format)

    def inserted(self, place: Text, value: Value, conversion: str = "", form: str = "") -> Scalar:
        """A value inside a string. A word stands for its hole; a longer text keeps its own origins."""
        if isinstance(value, Scalar) and value.holes and not conversion and not form:
            return value
        if isinstance(value, Scalar) and value.known:
            try:
                shown = format(repr(value.literal) if conversion == "r" else value.literal, form)
            except (ValueError, TypeError):
                return hole(place, computed(place))
            if shown == value.text.value and any(c.isspace() for c in shown):
                return value
            origin = value.defined or (value.text.span if value.text.verbatim() else None)
            if origin is not None and shown == value.text.value:
                self.links[place.span.start, place.span.end] = origin
            return Scalar(place, Text.placed(shown, place.span), shown, soft=value.soft)
        literal = known_literal(value)
        if literal is not MISSING:
            return Scalar(place, Text.placed(str(literal), place.span), str(literal))
        return hole(place, why_unknown(value) or computed(place))

    def _of_Name(self, node: ast.Name) -> Value:
        place = self.code.place(node)
        if node.id in self.given:
            return unknown(place, self.given[node.id])
        value = self.scope.find(node.id)
        if value is None:
            if node.id == "__name__":
                return Scalar(place, Text.placed("__main__", place.span), "__main__")
            if node.id in _BUILTINS:
                return Symbol(place, f"builtins.{node.id}")
            return unknown(place, f"{node.id} has no value in this file")
        return value.used_at(place) if isinstance(value, Scalar) else value

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        path = _path(node)
        if path in self.given:
            place = self.code.place(node)
            return unknown(place, self.given[path])
        return self.attribute(self.evaluate(node.value), node.attr, self.code.place(node), path)

    def attribute(self, holder: Value, name: str, place: Text, path: str | None = None) -> Value:
        found: Value | None = None
        if isinstance(holder, Symbol):
            full = f"{holder.name}.{name}"
            if full == "sys.executable":
                return Scalar(place, Text.placed("python3", place.span), "python3")
            return (path and self.scope.find(path)) or Symbol(place, full)
        if isinstance(holder, Table) and holder.origin:
            entry = holder.get(name)
            found = entry.value if entry else None
        elif isinstance(holder, Callable_):
            found = holder.attributes.get(name)
        elif isinstance(holder, Instance):
            found = holder.attributes.get(name) or (holder.kind.attributes.get(name) if holder.kind else None)
        if found is None and path:
            found = self.scope.find(path)
        if found is not None:
            return found.used_at(place) if isinstance(found, Scalar) else found
        if isinstance(holder, Instance) and holder.kind is None:
            return Instance(place, f"{holder.name}.{name}", receiver=holder)
        return unknown(place, f"{place.value[:60]} is not known in this file")

    def _of_Await(self, node: ast.Await) -> Value:
        return self.evaluate(node.value)

    def _of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    def _of_Starred(self, node: ast.Starred) -> Value:
        return self.evaluate(node.value)

    def _of_Lambda(self, node: ast.Lambda) -> Value:
        place = self.code.place(node)
        return unknown(place, computed(place))

    def _of_List(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        many = Many(self.code.place(node), depth=self.depth)
        self._fill(many, node.elts)
        self.observer.made(many)
        return many

    _of_Tuple = _of_List
    _of_Set = _of_List

    def _fill(self, many: Many, elements: list[ast.expr]) -> None:
        for element in elements:
            value = self.evaluate(element)
            if isinstance(element, ast.Starred):
                self.extend(many, value)
            else:
                many.items.append(Item(value))

    def _of_Dict(self, node: ast.Dict) -> Value:
        table = Table(self.code.place(node), depth=self.depth)
        for key, value_node in zip(node.keys, node.values, strict=True):
            value = self.evaluate(value_node)
            if key is None:
                self.update(table, value)
                continue
            name = self.evaluate(key)
            if isinstance(name, Scalar):
                table.put(name, value, False)
            else:
                table.open = table.open or computed(name.place)
        self.observer.made(table)
        return table

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        holds = truth(self.evaluate(node.test))
        if holds is not None:
            return self.evaluate(node.body if holds else node.orelse)
        value = joined(self.evaluate(node.body), self.evaluate(node.orelse))
        place = self.code.place(node)
        return value.used_at(place) if isinstance(value, Scalar) else value

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        values = [self.evaluate(v) for v in node.values]
        stops = isinstance(node.op, ast.Or)
        result = values[0]
        for other in values[1:]:
            holds = truth(result)
            if holds is stops:
                return result
            if holds is None:
                if not (isinstance(result, Scalar) and result.soft):
                    place = self.code.place(node)
                    return unknown(place, why_unknown(result) or computed(place))
                if bool(result.known and result.literal) is stops:
                    return result
                other = soften(other)
            result = other
        return result.used_at(self.code.place(node)) if isinstance(result, Scalar) else result

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value, place = self.evaluate(node.operand), self.code.place(node)
        if isinstance(node.op, ast.Not):
            holds = truth(value)
            return constant(place, not holds) if holds is not None else unknown(place, computed(place))
        if isinstance(node.op, ast.USub) and isinstance(value, Scalar) and isinstance(value.literal, (int, float)):
            return constant(place, -value.literal, value.soft)
        return unknown(place, computed(place))

    def _of_Compare(self, node: ast.Compare) -> Value:
        place = self.code.place(node)
        values = [self.evaluate(node.left), *(self.evaluate(c) for c in node.comparators)]
        if len(values) != 2:
            return unknown(place, computed(place))
        return self._compared(place, values[0], node.ops[0], values[1])

    def _compared(self, place: Text, left: Value, op: ast.cmpop, right: Value) -> Value:
        if isinstance(op, (ast.In, ast.NotIn)):
            return unknown(place, computed(place))
        one, other = known_literal(left), known_literal(right)
        soft = any(isinstance(v, Scalar) and v.soft for v in (left, right))
        compare = _COMPARISONS.get(type(op))
        if one is MISSING or other is MISSING or soft or compare is None:
            return unknown(place, computed(place))
        try:
            return constant(place, bool(compare(one, other)))
        except TypeError:
            return unknown(place, computed(place))

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        return self.operation(self.code.place(node), self.evaluate(node.left), node.op, self.evaluate(node.right))

    def operation(self, place: Text, left: Value, op: ast.operator, right: Value) -> Value:
        if isinstance(op, ast.Add) and isinstance(left, Many):
            self._spend(len(left.items))
            result = Many(left.place, [Item(i.value, i.conditional) for i in left.items], left.open, self.depth)
            self.extend(result, right)
            return result
        if isinstance(op, ast.Add) and isinstance(right, Many):
            result = Many(right.place, list(right.items), why_unknown(left) or computed(left.place), self.depth)
            return result
        if isinstance(op, ast.BitOr) and isinstance(left, Table):
            table = Table(
                left.place, [Entry(e.key, e.value, e.conditional) for e in left.entries], left.open, self.depth, left.origin
            )
            self.update(table, right)
            return table
        if isinstance(left, Scalar) and isinstance(op, ast.Mod) and isinstance(left.literal, str):
            return percent_format(self, place, left, right)
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            if isinstance(op, ast.Add) and (_is_string(left) or _is_string(right)):
                parts = [v if _is_string(v) else self.inserted(v.place, v) for v in (left, right)]
                value = concatenated(place, parts)
                self.observer.made(value)
                return value
            numbers = all(v.known and isinstance(v.literal, (int, float)) and abs(v.literal) < 1 << 62 for v in (left, right))
            if numbers and type(op) in _ARITHMETIC:
                try:
                    return constant(place, _ARITHMETIC[type(op)](left.literal, right.literal), left.soft or right.soft)
                except (ArithmeticError, TypeError):
                    return unknown(place, computed(place))
        if isinstance(op, ast.Div) and isinstance(left, Instance) and left.name == "pathlib.Path" and isinstance(right, Scalar):
            base = left.arguments[0] if left.arguments else None
            if isinstance(base, Scalar) and base.known and right.known:
                path = constant(place, f"{str(base.literal).rstrip('/')}/{right.literal}", base.soft or right.soft)
                return Instance(place, "pathlib.Path", (path,))
        return unknown(place, computed(place))

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        holder, place = self.evaluate(node.value), self.code.place(node)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(holder, node.slice, place)
        key = self.evaluate(node.slice)
        if isinstance(key, Scalar) and key.known:
            found: Value | None = None
            if isinstance(holder, Table):
                entry = holder.get(key.literal)
                found = entry.value if entry and not entry.conditional else None
            elif isinstance(holder, Many) and isinstance(key.literal, int) and not any(i.conditional for i in holder.items):
                inside = -len(holder.items) <= key.literal < len(holder.items) and not holder.open
                found = holder.items[key.literal].value if inside else None
            elif isinstance(holder, Symbol) and holder.name == "os.environ":
                return self.scope.find(f"os.environ:{key.literal}") or unknown(
                    place, f"environment variable {key.literal} is not known"
                )
            if found is not None:
                return found.used_at(place) if isinstance(found, Scalar) else found
        found = self.scope.find(ast.unparse(node)) if isinstance(holder, Instance) else None
        return found or unknown(place, f"{place.value[:60]} is not known in this file")

    def _sliced(self, holder: Value, node: ast.Slice, place: Text) -> Value:
        bounds = [self.evaluate(b) if b is not None else None for b in (node.lower, node.upper, node.step)]
        limits = [known_literal(b) if b is not None else None for b in bounds]
        if isinstance(holder, Many) and all(b is None or isinstance(b, int) for b in limits) and limits[2] != 0:
            return Many(place, holder.items[slice(*limits)], holder.open, self.depth)
        return unknown(place, computed(place))

    def _of_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
        many = Many(self.code.place(node), depth=self.depth)
        reason = self._comprehend(node.generators, lambda: self.append_plain(many, self.evaluate(node.elt)))
        many.open = reason
        return many

    _of_GeneratorExp = _of_ListComp
    _of_SetComp = _of_ListComp

    @staticmethod
    def append_plain(many: Many, value: Value) -> None:
        many.items.append(Item(value))

    def _of_DictComp(self, node: ast.DictComp) -> Value:
        table = Table(self.code.place(node), depth=self.depth)

        def put() -> None:
            key = self.evaluate(node.key)
            value = self.evaluate(node.value)
            if isinstance(key, Scalar):
                table.put(key, value, False)

        table.open = self._comprehend(node.generators, put)
        return table

    def _comprehend(self, generators: list[ast.comprehension], body: Callable[[], None]) -> str | None:
        """Run the body of a comprehension for each known round; returns why the rounds are not known."""
        first = generators[0]
        rounds = each(self.evaluate(first.iter))
        if rounds is None or len(rounds) > 64 or len(generators) > 1 or any(i.conditional for i in rounds):
            return "it is built in a loop"
        scope = Scope(self.scope)
        outer, self.scope = self.scope, scope
        try:
            for item in list(rounds):
                self.assign(first.target, item.value)
                tests = [truth(self.evaluate(test)) for test in first.ifs]
                if None in tests:
                    return "it is built in a loop with a condition"
                if all(tests):
                    body()
        finally:
            self.scope = outer
        return None

    # -- calls -----------------------------------------------------------------------------------------------------

    def _of_Call(self, node: ast.Call) -> Value:
        place = self.code.place(node)
        receiver: Value | None = None
        if isinstance(node.func, ast.Attribute):
            receiver = self.evaluate(node.func.value)
            method = node.func.attr
            function = self.attribute(receiver, method, self.code.place(node.func), _path(node.func))
        else:
            function, method = self.evaluate(node.func), ""
        positional = Many(place, depth=self.depth)
        self._fill(positional, node.args)
        keywords = Table(place, depth=self.depth)
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is None:
                self.update(keywords, value)
            else:
                start, _ = self.code.bounds(keyword)
                key = self.code.text[start : start + len(keyword.arg)]
                keywords.put(Scalar(key, key, keyword.arg), value, False)
        if positional.open:
            keywords.open = keywords.open or positional.open
        arguments = tuple(i.value for i in positional.items)
        name = function.name if isinstance(function, (Symbol, Instance)) else self.code.place(node.func).value
        if isinstance(function, Callable_):
            name = self._name(function)
        call = Instance(place, name, arguments, keywords, receiver)
        replaced = self.observer.called(node, call, function)
        if replaced is not None:
            return replaced
        if isinstance(receiver, (Scalar, Many, Table)) and method:
            result = method_call(self, place, receiver, method, arguments, keywords)
            if result is not None:
                return result
        if isinstance(receiver, Callable_) and method in _FORWARDING and method not in receiver.attributes:
            return self.invoke(receiver, arguments, keywords, place)
        if isinstance(receiver, Callable_) and method == "options":
            return receiver
        if isinstance(function, Callable_):
            owner = receiver if isinstance(receiver, Instance) else None
            return self.invoke(function, arguments, keywords, place, owner)
        if isinstance(function, Symbol):
            result = library_call(self, function.name, place, arguments, keywords)
            if result is not None:
                return result
        return call

    def invoke(
        self,
        function: Callable_,
        arguments: tuple[Value, ...],
        keywords: Table | None,
        place: Text,
        instance: Instance | None = None,
    ) -> Value:
        """Read the body of a function for these arguments; for a class, its ``__init__``."""
        definition = self._definitions.get(id(function))
        if definition is None:
            return unknown(place, computed(place))
        if isinstance(function.node, ast.ClassDef):
            return self._construct(function, arguments, keywords, place)
        if not isinstance(function.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return unknown(place, computed(place))
        if function.busy or function.runs >= MAX_CALLS or self.inlined >= MAX_INLINED:
            return Instance(place, self._name(function), arguments, keywords)
        function.runs += 1
        function.busy = True
        scope = Scope(function.scope)
        self._bind_parameters(scope, definition, arguments, keywords, instance)
        saved = self.depth, self.rounds
        self.inlined += 1
        self.site.append(self._name(function))
        self.observer.entering(function, definition.decorators)
        try:
            with self._reading(definition.code, scope):
                self.block(function.node.body)
        finally:
            self.observer.leaving(function)
            self.site.pop()
            self.inlined -= 1
            self.depth, self.rounds = saved
            function.busy = False
        if not scope.returned:
            return unknown(place, computed(place))
        result = scope.returned[0]
        for other in scope.returned[1:]:
            result = joined(result, other)
        return result.used_at(place) if isinstance(result, Scalar) else result

    def _bind_parameters(
        self,
        scope: Scope,
        definition: Definition,
        arguments: tuple[Value, ...],
        keywords: Table | None,
        instance: Instance | None,
    ) -> None:
        function, node = definition.function, definition.function.node
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        given = list(arguments)
        positional = [*node.args.posonlyargs, *node.args.args]
        if function.owner is not None and positional:
            is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
            if not is_static:
                myself: Value = instance or Instance(function.place, self._name(function.owner), kind=function.owner)
                scope.names[positional.pop(0).arg] = myself
        rest = Table(function.place, depth=self.depth)
        if keywords is not None:
            rest.entries = [Entry(e.key, e.value, e.conditional) for e in keywords.entries]
            rest.open = keywords.open
        for parameter in [*positional, *node.args.kwonlyargs]:
            name = parameter.arg
            named = rest.get(name)
            if given and parameter in positional:
                value = given.pop(0)
            elif named is not None:
                rest.entries.remove(named)
                value = named.value
            elif name in definition.defaults:
                value = soften(definition.defaults[name])
                if isinstance(value, Scalar) and rest.open and not self.standalone:
                    value = unknown(value.place, rest.open)
            else:
                place = definition.code.place(parameter)
                named_place = place[: len(name)]
                value = unknown(named_place, f"parameter {name} of {self._name(function)}() is given by its caller")
            scope.names[name] = value
        if node.args.vararg:
            reason = None if given or keywords is not None else f"*{node.args.vararg.arg} is given by the caller"
            scope.names[node.args.vararg.arg] = Many(function.place, [Item(v) for v in given], reason, self.depth)
        if node.args.kwarg:
            if keywords is None:
                rest.open = f"**{node.args.kwarg.arg} is given by the caller"
            scope.names[node.args.kwarg.arg] = rest

    def _construct(self, kind: Callable_, arguments: tuple[Value, ...], keywords: Table | None, place: Text) -> Value:
        instance = Instance(place, self._name(kind), arguments, keywords, kind=kind)
        init = kind.attributes.get("__init__")
        if isinstance(init, Callable_):
            self.invoke(init, arguments, keywords, place, instance)
        elif keywords is not None:
            for entry in keywords.entries:
                if isinstance(entry.key.literal, str):
                    instance.attributes[entry.key.literal] = entry.value
        return instance


def _is_string(value: Scalar) -> bool:
    return isinstance(value.literal, str) or bool(value.holes)


def _path(node: ast.expr) -> str | None:
    """``a.b.c`` for a chain of names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(names)]) if names else None
