"""Shell scripts: statements are walked in order, as the shell would run them, without running anything.

Each branch works on its own copy of the variables; where branches meet, what differs becomes conditional (added flags) or
unknown. Loops are walked twice, so that a value that changes from round to round is not taken for known. Functions are
walked where they are called, with the arguments of the call; functions that nobody calls are walked last.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from lint_vllm.extract.command import pin_of, recognise
from lint_vllm.extract.context import MAX_DEPTH, Context, Extraction, Follower, Unreadable
from lint_vllm.extract.passages import launches_in_pieces
from lint_vllm.extract.shell_branches import merged
from lint_vllm.extract.shell_values import (
    Expander,
    Piece,
    Pieces,
    Scope,
    Script,
    ShellWord,
    Variable,
    empty_default,
    masked,
    outer_values,
    pieces_of,
    word_of,
    words_in,
)
from lint_vllm.extract.slurm import job_context
from lint_vllm.launch import Deployment, EnvVar, Hint, Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_SCRIPT = 2_000_000
"""Characters of a script that are read; a longer one is data."""
_MAX_STEPS = 20_000
"""Statements that are walked, each time that a call or a loop comes by."""
_MANY_STEPS = 8_000
"""Statements after which a function is walked once only, however often it is called."""
_MAX_VALUE = 100_000
_MAX_ITEMS = 2_000
_MAX_PIECES = 2_000
_MAX_NESTING = 60
_MAX_CALLS = 8
"""Functions that call each other: how deep calls are followed."""
_MAX_CALLS_EACH = 12
_MAX_LAUNCHES = 400


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """The launches of a shell script."""
    text = Text.of(source)
    if len(text) > MAX_SCRIPT:
        reason = f"the script has more than {MAX_SCRIPT:,} characters and was not read"
        return Extraction(problems=(Unreadable(source.span(0, 0), reason),))
    context = Context(source, follow=follow)
    scope, shared = Scope(), _Shared()
    launches = walk_script(masked(text), context, scope, shared)
    if not launches:
        launches = _configured(text, context, scope)
    if shared.unread is None:
        return Extraction(tuple(launches))
    reason = "the script holds too much to be followed whole; this statement and later ones were not read"
    return Extraction(tuple(launches), (Unreadable(shared.unread, reason),))


def _configured(text: Text, context: Context, scope: Scope) -> list[Launch]:
    """A file of settings for another script: arrays or strings of vLLM options in variables."""
    from lint_vllm.extract.envfile import array_launch

    launch = array_launch(scope.variables, context, text)
    return [launch] if launch is not None else []


def launches_in_script(text: Text, context: Context) -> list[Launch]:
    """The launches of a script, in the order of the text. Templates in it (``{{ }}``) are values that are not known."""
    return run_script(masked(text), context)


def split_words(text: Text, context: Context) -> list[Word]:
    """A command line without statements divided into words, with the values that the context knows."""
    script = masked(text)
    scope = Scope(outer=outer_values(context.variables, context.env))
    return list(words_in(script, Expander(script, scope)))


def run_script(script: Script, context: Context, arguments: tuple[Word, ...] | None = None) -> list[Launch]:
    """The launches of a script whose unknown parts are already known as such; ``arguments`` are its ``$1 ...``."""
    if context.depth > MAX_DEPTH or not _worth_reading(script.value):
        return []
    positional = tuple(_as_shell_word(a) for a in arguments) if arguments is not None else None
    return walk_script(script, context, Scope(outer=outer_values(context.variables, context.env), positional=positional))


def walk_script(script: Script, context: Context, scope: Scope, shared: _Shared | None = None) -> list[Launch]:
    """The launches of a script that starts with, and leaves behind, these variables."""
    context = job_context(script.text, context)
    run = _Run(script, context, scope.copy(), shared or _Shared())
    run.everything()
    scope.variables.update(run.scope.variables)
    return run.results()


def launches_in_named_script(name: Word, arguments: Sequence[Word], context: Context) -> list[Launch]:
    """The launches of another script of the repository that a command names."""
    if context.follow is None or name.unknown or context.depth >= MAX_DEPTH or not name.value:
        return []
    source = context.follow.read(name.value.removeprefix("./"))
    if source is None or source is context.source or len(source.text) > MAX_SCRIPT:
        return []
    return run_script(masked(Text.of(source)), context.deeper(source=source, block=None, site=""), tuple(arguments))


_WORTH = pattern(r"vllm|lm[_-]eval|docker|podman|\$|--model|serve|\.sh\b", re.IGNORECASE)


def _worth_reading(value: str) -> bool:
    return _WORTH.search(value) is not None


def _as_shell_word(word: Word) -> ShellWord:
    if isinstance(word, ShellWord):
        return word
    return ShellWord(word.content, word.span, word.quote, word.unknown, word.defined, word.conditional, pieces_of(word), False)


@functools.cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


_WIDE = pattern(r"[^\x00-\x7f]")


class _Places:
    """Character offsets of tree nodes, which count bytes."""

    def __init__(self, value: str) -> None:
        self.data = value.encode("utf-8", "surrogatepass")
        self.wide: list[int] = []
        """Bytes that end a character of several bytes, in order, once for each byte that it has beyond one."""
        if len(self.data) != len(value):
            extra = 0
            for found in _WIDE.finditer(value):
                size = len(found.group().encode("utf-8", "surrogatepass"))
                end = found.start() + extra + size
                self.wide += [end] * (size - 1)
                extra += size - 1

    def index(self, byte: int) -> int:
        return byte - bisect_right(self.wide, byte)


@dataclass(slots=True)
class _Function:
    body: Node
    run: _Run
    calls: int = 0


@dataclass(slots=True)
class _Shared:
    """What all the scripts of one file share: limits, functions, results."""

    steps: int = 0
    launches: list[Launch] = field(default_factory=list)
    pins: list[Hint] = field(default_factory=list)
    functions: dict[str, _Function] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    silent: int = 0
    """More than zero while a first walk of a loop only looks for what changes."""
    loops: int = 0
    branches: list[str] = field(default_factory=list)
    group: int = 0
    """Launches of one group run beside each other; a launch in the foreground ends its group."""
    ray: bool = False
    written: set[str] = field(default_factory=set)
    """Files that the script itself writes: they were read where they are written."""
    unread: Span | None = None
    """The first statement that was passed over because the script holds too much."""


class _Run:
    """One walk through one script."""

    def __init__(self, script: Script, context: Context, scope: Scope, shared: _Shared) -> None:
        self.script = script
        self.context = context
        self.shared = shared
        self.places = _Places(script.value)
        self.expander = Expander(script, scope, self._substitute)
        self.nesting = 0
        self.substitutions = 0

    @property
    def scope(self) -> Scope:
        return self.expander.scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self.expander.scope = scope

    def everything(self) -> None:
        root = _parser().parse(self.places.data).root_node
        self._sequence(root.children)
        while True:
            waiting = [f for f in self.shared.functions.values() if not f.calls and f.run is self]
            if not waiting:
                break
            for function in waiting:
                self._walk_function(function, None)

    def results(self) -> list[Launch]:
        out: list[Launch] = []
        seen: set[object] = set()
        for launch in self.shared.launches:
            words = tuple((w.value, w.unknown, w.conditional) for w in launch.words)
            key = (launch.source.path, launch.command.start, launch.form, words, tuple(s.flag for s in launch.settings))
            if key in seen:
                continue
            seen.add(key)
            deployment = launch.deployment
            if self.shared.ray and deployment is not None and deployment.nodes != 1:
                deployment = replace(deployment, multi_node=True)
            out.append(replace(launch, pins=(*launch.pins, *self.shared.pins), deployment=deployment))
        out.sort(key=lambda launch: launch.command.start if launch.source is self.context.source else 1 << 60)
        return out

    # Places

    def _range(self, node: Node) -> tuple[int, int]:
        return self.places.index(node.start_byte), self.places.index(node.end_byte)

    def _text(self, node: Node) -> str:
        start, end = self._range(node)
        return self.script.value[start:end]

    def _words(self, nodes: Sequence[Node]) -> list[ShellWord]:
        out: list[ShellWord] = []
        for node in nodes:
            start, end = self._range(node)
            if start < end:
                found = self.expander.words(start, end)
                if not found and out and out[-1].value.startswith("--") and "=" not in out[-1].value:
                    reference = self.script.text[start:end]
                    found = [empty_default(reference, reference.span)] if _EMPTY_DEFAULT.fullmatch(reference.value) else []
                out.extend(found)
            if len(out) > _MAX_ITEMS:
                break
        return out

    # Statements

    def _sequence(self, nodes: Sequence[Node]) -> bool:
        """Walk statements in order; whether the shell leaves the script or function here."""
        ended = False
        previous: Node | None = None
        before = 0
        for number, node in enumerate(nodes):
            if not node.is_named or node.type == "comment":
                continue
            if previous is not None and self._is_lost(node) and len(self.shared.launches) > before:
                self._lose(previous, node)
                previous = node
                continue
            background = number + 1 < len(nodes) and nodes[number + 1].type == "&"
            at = len(self.shared.launches)
            ended = self._statement(node) or ended
            if len(self.shared.launches) > at:
                before = at
                if not background:
                    self._foreground(at)
                previous = node
            else:
                previous = None
        return ended

    def _foreground(self, since: int) -> None:
        """A launch that blocks the script: what comes later does not run beside it."""
        if any((d := launch.deployment) is None or d.kind != "docker-run" for launch in self.shared.launches[since:]):
            self.shared.group += 1

    def _statement(self, node: Node) -> bool:
        self.shared.steps += 1
        if self.shared.steps > _MAX_STEPS or self.nesting > _MAX_NESTING or len(self.shared.launches) > _MAX_LAUNCHES:
            self.shared.unread = self.shared.unread or self.script.text[slice(*self._range(node))].span
            return False
        self.nesting += 1
        try:
            handler = _STATEMENTS.get(node.type)
            if handler is not None:
                return handler(self, node)
            if node.type in _TRANSPARENT or node.type == "ERROR":
                return self._sequence(node.children)
            return False
        finally:
            self.nesting -= 1

    def _command(self, node: Node) -> bool:
        return self._simple(node, ())

    def _simple(self, node: Node, extra: Sequence[Node], heredoc: Pieces | None = None, target: Word | None = None) -> bool:
        """A command with its prefix assignments; ``extra``: words that stand behind a redirection."""
        assignments: list[Node] = []
        parts: list[Node] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(child)
            elif child.type == "herestring_redirect":
                inner = [c for c in child.children if c.is_named]
                if inner:
                    heredoc = self.expander.value(*self._range(inner[-1]))
            elif child.type in ("file_redirect", "heredoc_redirect", "comment") or not child.is_named:
                if child.type == "file_redirect":
                    parts.extend(self._behind_redirect(child))
            elif child.type == "command_name":
                parts.append(child)
            else:
                parts.append(child)
        # The grammar joins a line of assignments with the command on the next line.
        while assignments and parts and self._line_ends_between(assignments[0], [*assignments[1:], parts[0]]):
            self._assign(assignments.pop(0))
        words = self._words([*parts, *extra])
        env = {v.name.value: v for a in assignments if (v := self._env_assignment(a)) is not None}
        if not words:
            for assignment in assignments:
                self._assign(assignment)
            return False
        return self._invoke(words, env, heredoc, target)

    def _line_ends_between(self, node: Node, following: Sequence[Node]) -> bool:
        ends = [self._range(n)[1] for n in [node, *following[:-1]]]
        starts = [self._range(n)[0] for n in following]
        return any(
            re.search(r"(?<!\\)\n", self.script.value[low:high].replace("\r", "")) for low, high in zip(ends, starts, strict=True)
        )

    def _invoke(self, words: list[ShellWord], env: dict[str, EnvVar], heredoc: Pieces | None, target: Word | None) -> bool:
        name = words[0].value
        if words[0].unknown is None:
            builtin = _BUILTINS.get(name)
            if builtin is not None:
                return builtin(self, words, env)
            function = self.shared.functions.get(name)
            if function is not None:
                self._call(name, function, words[1:])
                return False
        self._note(words)
        if heredoc is not None and self._reads_script(words):
            self._read_script(words, heredoc, env)
            return False
        if heredoc is not None and (kind := _reads_passage(words)) is not None:
            if any("vllm" in p.text.value.lower() for p in heredoc):
                self._collect(launches_in_pieces(kind, heredoc, replace(self.context, deployment=None).deeper()))
            return False
        if name in ("cat", "tee", "sudo") and heredoc is not None:
            self._write(words, heredoc, target)
            return False
        self._collect(recognise(words, self._here(env)))
        return name == "exec" and len(words) > 1

    def _here(self, env: dict[str, EnvVar] | None = None) -> Context:
        """The surroundings of a command at this moment."""
        exported = dict(self.context.env)
        for name, variable in self.scope.variables.items():
            if not variable.exported or variable.items is not None or variable.name is None:
                continue
            entry = variable.entry or variable.name.span
            pieces = tuple(replace(p, conditional=True) for p in variable.sometimes) or variable.pieces
            value = word_of(pieces, self._value_span(variable, entry), variable.name[:0])
            exported[name] = EnvVar(Word(variable.name, variable.name.span), value, entry, "shell")
        exported.update(env or {})
        base = self.context.deployment
        scope = base.scope if base is not None and base.scope else "script"
        scope = "/".join([scope, *self.shared.branches, str(self.shared.group)])
        if base is None:
            block = self.context.block
            base = Deployment("shell", block or self.script.text.span, scope)
            base = replace(base, span=block) if block else base
        return replace(self.context, env=MappingProxyType(exported), deployment=replace(base, scope=scope))

    def _value_span(self, variable: Variable, entry: Span) -> Span:
        if not variable.pieces:
            return Span(entry.source, entry.end, entry.end)
        span = variable.pieces[0].span.to(variable.pieces[-1].span)
        return span if entry.contains(span) else entry

    def _collect(self, launches: list[Launch]) -> None:
        if self.shared.silent:
            return
        for launch in launches:
            deployment = launch.deployment
            if deployment is not None and deployment.kind in ("shell", "slurm") and self.context.deployment is None:
                launch = replace(launch, deployment=replace(deployment, span=launch.block))
            self.shared.launches.append(launch)

    def _note(self, words: Sequence[ShellWord]) -> None:
        """Things beside a launch that matter to it: pinned releases, a Ray cluster, what the script cleans away."""
        first = words[0].value.rsplit("/", 1)[-1]
        values = [w.value for w in words]
        if "install" in values[:5] or "add" in values[:4]:
            self.shared.pins.extend(pin for w in words if (pin := pin_of(w)) is not None)
        if "ray" in (v.rsplit("/", 1)[-1] for v in values) and "start" in values:
            self.shared.ray = True
        if first in ("kill", "pkill", "killall", "wait") or (
            first in ("docker", "podman") and set(values[1:3]) & {"rm", "stop", "kill"}
        ):
            self.shared.group += 1

    # Lost flags

    def _is_lost(self, node: Node) -> bool:
        """A "command" whose name is a flag: the tail of a command that ended too early."""
        while node.type == "redirected_statement" and node.child_count:
            node = node.children[0]
        return node.type == "command" and re.match(r"--?[A-Za-z]", self._text(node)) is not None

    def _lose(self, previous: Node, node: Node) -> None:
        end = self._range(previous)[1]
        between = self.script.value[end : self._range(node)[0]]
        line = self.script.value[self.script.value.rfind("\n", 0, end) + 1 : end]
        if any(char in self.script.holes for char in line):  # what ends the line before is filled in elsewhere, a backslash perhaps
            launch = self.shared.launches[-1]
            self.shared.launches[-1] = replace(launch, unresolved=(*launch.unresolved, "where the command ends is not known"))
            return
        inner = node
        while inner.type == "redirected_statement" and inner.child_count:
            inner = inner.children[0]
        words = self._words([c for c in inner.children if c.is_named and "redirect" not in c.type])
        if re.search(r"^\s*#", between, re.MULTILINE):
            reason = "a comment inside the continued command ends it"
        elif re.search(r"\\[ \t]+\r?$", between, re.MULTILINE):
            reason = "a blank behind the backslash ends the command"
        elif re.search(r"\n[ \t]*\r?\n", between):
            reason = "an empty line ends the command"
        else:
            reason = "the line before does not end in a backslash"
        launch = self.shared.launches[-1]
        if self.shared.silent == 0:
            self.shared.launches[-1] = replace(launch, lost=(*launch.lost, *words), lost_reason=launch.lost_reason or reason)

    # Redirections

    def _behind_redirect(self, redirect: Node) -> list[Node]:
        """Words that the grammar counts to a redirection though they belong to the command: ``> log --port 1``."""
        targets = redirect.children_by_field_name("destination")
        return list(targets[1:])

    def _redirected(self, node: Node) -> bool:
        body = node.child_by_field_name("body")
        extra: list[Node] = []
        heredoc: Pieces | None = None
        target: Word | None = None
        pipeline: Node | None = None
        stack = [c for c in node.children if c != body]
        while stack:
            child = stack.pop(0)
            if child.type == "file_redirect":
                extra.extend(self._behind_redirect(child))
                destination = child.child_by_field_name("destination")
                operator = next((c.type for c in child.children if not c.is_named), "")
                if destination is not None and ">" in operator and "&" not in operator:
                    found = self._words([destination])
                    target = found[0] if found and found[0].value != "/dev/null" else target
            elif child.type == "heredoc_redirect":
                heredoc = self._heredoc(child)
                for inner in child.children:
                    if inner.type in ("file_redirect",):
                        stack.append(inner)
                    elif inner.type in ("pipeline", "list"):
                        pipeline = inner
                    elif inner.is_named and inner.type not in ("heredoc_start", "heredoc_body", "heredoc_end", "comment"):
                        if node.type == "redirected_statement" and inner.type in ("word", "string", "concatenation", "raw_string"):
                            extra.append(inner)
                        elif inner.type == "command":
                            pipeline = inner
            elif child.type == "herestring_redirect":
                inner_nodes = [c for c in child.children if c.is_named]
                if inner_nodes:
                    heredoc = self.expander.value(*self._range(inner_nodes[-1]))
        ended = False
        if body is not None:
            if body.type == "command":
                ended = self._simple(body, extra, heredoc, target)
            else:
                ended = self._statement(body)
        if pipeline is not None:
            commands = [c for c in pipeline.children if c.type in ("command", "redirected_statement")] or [pipeline]
            last = commands[-1]
            for command in commands[:-1]:
                self._statement(command)
            if last.type == "redirected_statement":
                last = last.child_by_field_name("body") or last
            if last.type == "command":
                self._simple(last, (), heredoc, target)
            else:
                self._statement(last)
        return ended

    def _heredoc(self, node: Node) -> Pieces | None:
        start_node = next((c for c in node.children if c.type == "heredoc_start"), None)
        body = next((c for c in node.children if c.type == "heredoc_body"), None)
        end_node = next((c for c in node.children if c.type == "heredoc_end"), None)
        if start_node is None or body is None:
            return None
        value = self.script.value
        start, end = self._range(body)
        if end_node is not None:
            end = max(end, self._range(end_node)[0])
        start = value.rfind("\n", 0, start) + 1
        end = value.rfind("\n", start, end) + 1 if value[start:end].strip(" \t") else end
        if not self._text(start_node).strip().startswith(("'", '"', "\\")):
            pieces = self.expander.value(start, max(start, end), heredoc=True)
        else:
            pieces = self._literal(start, max(start, end))
        return pieces

    def _literal(self, start: int, end: int) -> Pieces:
        return tuple(bit.piece for bit in self.expander.literal(start, end))

    def _reads_script(self, words: Sequence[ShellWord]) -> bool:
        """Whether a command reads a script from its standard input."""
        values = [v.rsplit("/", 1)[-1] for w in words for v in (w.value.split() or [""])]
        shells = ("bash", "sh", "zsh", "dash", "ash", "ksh")
        if "-c" in values or "-lc" in values:
            return False
        tail = [v for v in values if v not in ("-s", "-", "-l", "-x", "-e", "-i", "-ex", "-eux", "-se", "--")]
        if not tail:
            return False
        if tail[-1] in shells:
            return True
        if any(v in shells and "-s" in values[i:] for i, v in enumerate(values)):
            return True
        if tail[0] == "ssh" and len([v for v in tail[1:] if not v.startswith("-")]) == 1:
            return True
        return tail[0] in ("sbatch", "qsub", "bsub")

    def _read_script(self, words: Sequence[ShellWord], heredoc: Pieces, env: dict[str, EnvVar]) -> None:
        context = self._here(env)
        first = words[0].value.rsplit("/", 1)[-1]
        if first in ("ssh", "docker", "podman", "kubectl"):
            context = replace(context, env=MappingProxyType({}))
        self._nested(heredoc, context)

    def _nested(self, pieces: Pieces, context: Context) -> None:
        if not pieces or context.depth >= MAX_DEPTH:
            return
        script = Script.of_pieces(pieces, pieces[0].text[:0])
        self._collect(run_script(script, context.deeper()))

    def _write(self, words: Sequence[ShellWord], heredoc: Pieces, target: Word | None) -> None:
        """``cat > file <<EOF``: what is written is read as what its name says."""
        values = [w.value for w in words]
        if "tee" in values:
            named = [w for w in words[values.index("tee") + 1 :] if not w.value.startswith("-")]
            target = named[0] if named else target
        elif values[0] == "sudo":
            return
        if target is None or not heredoc:
            return
        from lint_vllm.extract.written import launches_in_written

        self.shared.written.add(target.value)
        context = self._here()
        deployment = context.deployment
        if deployment is not None and deployment.nodes and deployment.nodes > 1:
            context = replace(context, deployment=replace(deployment, multi_node=True))
        inside = replace(context, env=self.context.env, block=None).deeper()
        self._collect(launches_in_written(target.value, heredoc, inside))

    # Assignments

    def _assign(self, node: Node, *, exported: bool = False) -> str | None:
        name_node = node.child_by_field_name("name")
        value_node = node.child_by_field_name("value")
        if name_node is None:
            return None
        start, end = self._range(name_node)
        written = self.script.value[start:end]
        subscript = re.fullmatch(r"([A-Za-z_]\w*)\[(.*)\]", written, re.ASCII | re.DOTALL)
        name = subscript.group(1) if subscript else written
        text = self.script.text[start:end]
        entry = self.script.text[start : self._range(node)[1]].span
        before = self.scope.get(name)
        appends = any(c.type == "+=" for c in node.children)
        exported = exported or (before is not None and before.exported)
        variable = Variable(exported=exported, name=text, entry=entry)
        if subscript:
            self.scope.variables[name] = replace(variable, pieces=(self._dynamic(name, "is set item by item"),))
            return name
        if value_node is not None and value_node.type == "array":
            items = tuple(self._words([c for c in value_node.children if c.is_named and c.type != "comment"]))
            if appends and before is not None:
                old = before.items
                if old is None:
                    old = (word_of(before.pieces, entry, text[:0], spreads=bool(before.unknown)),) if before.pieces else ()
                items = (*old, *items)
            if len(items) > _MAX_ITEMS:
                items = items[:_MAX_ITEMS]
            self.scope.variables[name] = replace(variable, items=items)
            return name
        pieces: Pieces = ()
        overridable = False
        if value_node is not None:
            first, last = self._range(value_node)
            pieces = self.expander.value(first, last)
            overridable = self.expander.overridable(first, last)
            only = pieces[0] if len(pieces) == 1 else None
            if only is not None and only.unknown and only.text.value == self.script.value[first:last].strip('"'):
                overridable = False
        if appends and before is not None:
            if before.items is not None:
                item = word_of(pieces, self.script.text[slice(*self._range(node))].span, text[:0])
                self.scope.variables[name] = replace(variable, items=(*before.items, item))
                return name
            pieces = (*before.pieces, *pieces)
        if sum(len(p.text) for p in pieces) > _MAX_VALUE or len(pieces) > _MAX_PIECES:
            pieces = (self._dynamic(name, "grows too long"),)
        self.scope.variables[name] = replace(variable, pieces=pieces, overridable=overridable)
        return name

    def _dynamic(self, name: str, why: str) -> Piece:
        return Piece(Text.literal(f"${name}"), f"{name} {why}")

    def _env_assignment(self, node: Node) -> EnvVar | None:
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None or name_node.type != "variable_name":
            return None
        start, end = self._range(name_node)
        text = self.script.text[start:end]
        span = self.script.text[slice(*self._range(node))].span
        if value_node is None:
            value = word_of((), Span(span.source, span.end, span.end), text[:0])
        else:
            first, last = self._range(value_node)
            use = self.script.text[first:last]
            value = word_of(self.expander.value(first, last), use.span, use[:0])
        return EnvVar(Word(text, text.span), value, span, "shell")

    def _assignment(self, node: Node) -> bool:
        self._assign(node)
        return False

    def _assignments(self, node: Node) -> bool:
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child)
        return False

    def _declaration(self, node: Node) -> bool:
        words = [self._text(c) for c in node.children if c.type in ("word", "export", "local", "declare", "typeset", "readonly")]
        exported = words[:1] == ["export"] or any(w.startswith("-") and "x" in w for w in words[1:])
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child, exported=exported)
            elif exported and child.type in ("variable_name", "word") and not self._text(child).startswith("-"):
                name = self._text(child)
                known = self.scope.variables.get(name)
                if known is not None:
                    self.scope.variables[name] = replace(known, exported=True)
        return False

    def _unset(self, node: Node) -> bool:
        for child in node.children:
            if child.type in ("variable_name", "word"):
                name = self._text(child)
                self.scope.variables[name] = Variable()
        return False

    # Branches

    def _branch(self, before: Scope, label: str, body: Callable[[], bool]) -> Scope | None:
        """The scope at the end of a branch, ``None`` when the branch leaves the script."""
        self.scope = before.copy()
        self.shared.branches.append(label)
        group = self.shared.group
        ended = body()
        self.shared.group = group
        self.shared.branches.pop()
        return None if ended else self.scope

    def _join(self, before: Scope, ends: Sequence[Scope | None], defaulted: frozenset[str] = frozenset()) -> None:
        alive = [e for e in ends if e is not None]
        self.scope = merged(before, alive, defaulted) if alive else before

    def _if(self, node: Node) -> bool:
        before = self.scope
        bodies: list[tuple[list[Node], list[Node]]] = []
        condition: list[Node] = []
        body: list[Node] = []
        exhaustive = False
        state = "condition"
        for child in node.children:
            if child.type in ("if", "fi", "comment"):
                continue
            if child.type == "then":
                state = "body"
            elif child.type == "elif_clause":
                at = next((i for i, c in enumerate(child.children) if c.type == "then"), len(child.children))
                bodies.append((child.children[1:at], child.children[at + 1 :]))
            elif child.type == "else_clause":
                exhaustive = True
                bodies.append(([], child.children[1:]))
            elif state == "condition":
                condition.append(child)
            else:
                body.append(child)
        self._sequence([c for c in condition if c.type not in ("test_command",)])
        before = self.scope
        defaulted = self._defaulted(condition)
        ends: list[Scope | None] = []
        label = f"if{node.start_byte}"
        for number, (test, statements) in enumerate([([], body), *bodies]):
            ends.append(self._branch(before, f"{label}.{number}", lambda t=test, s=statements: self._guarded(t, s)))  # type: ignore[misc]
        if not exhaustive:
            ends.append(before)
        self._join(before, ends, defaulted)
        return exhaustive and not any(e is not None for e in ends)

    def _guarded(self, test: list[Node], statements: list[Node]) -> bool:
        self._sequence([c for c in test if c.type != "test_command"])
        return self._sequence(statements)

    def _defaulted(self, condition: Sequence[Node]) -> frozenset[str]:
        """Names that a test found empty: what the branch sets is a default."""
        text = " ".join(self._text(c) for c in condition if c.is_named)
        return frozenset(_EMPTY_TEST.findall(text)) if "&&" not in text and "!" not in text.replace("! -n", "") else frozenset()

    def _case(self, node: Node) -> bool:
        before = self.scope
        ends: list[Scope | None] = []
        exhaustive = False
        for number, item in enumerate(c for c in node.children if c.type == "case_item"):
            patterns = [self._text(c) for c in item.children_by_field_name("value")]
            exhaustive = exhaustive or any(p.strip("\"'") == "*" for p in patterns)
            close = next((i for i, c in enumerate(item.children) if c.type == ")"), 0)
            label = f"case{node.start_byte}.{number}"
            ends.append(self._branch(before, label, lambda i=item, c=close: self._sequence(i.children[c + 1 :])))  # type: ignore[misc]
        if not exhaustive:
            ends.append(before)
        self._join(before, ends)
        return exhaustive and not any(e is not None for e in ends)

    def _list(self, node: Node) -> bool:
        """``a && b || c``: what follows a test is a branch."""
        chain: list[Node] = []
        operators: list[str] = []
        while node.type == "list":
            named = [c for c in node.children if c.is_named and c.type != "comment"]
            if len(named) < 2:
                break
            chain.append(named[-1])
            operators.append(next((c.type for c in node.children if c.type in ("&&", "||")), "&&"))
            node = named[0]
        chain.append(node)
        chain.reverse()
        operators.reverse()
        ended = self._statement(chain[0])
        tested = self._is_test(chain[0])
        for number, (operator, part) in enumerate(zip(operators, chain[1:], strict=True)):
            conditional = operator == "||" or tested
            if not conditional:
                ended = self._statement(part) or ended
                tested = tested or self._is_test(part)
                continue
            before = self.scope
            text = self._text(chain[number])
            empty = frozenset(_EMPTY_TEST.findall(text)) if operator == "&&" else frozenset(_FILLED_TEST.findall(text))
            end = self._branch(before, f"list{part.start_byte}", lambda p=part: self._statement(p))  # type: ignore[misc]
            if end is None and operator == "||":
                self.scope = before
                continue
            self._join(before, [end, before], empty)
            tested = tested or self._is_test(part)
        return ended

    def _is_test(self, node: Node) -> bool:
        if node.type in ("test_command", "negated_command", "compound_statement", "subshell"):
            return node.type in ("test_command", "negated_command") or self._text(node).startswith("((")
        if node.type == "pipeline":
            return any(self._is_test(c) for c in node.children if c.is_named)
        text = self._text(node)
        return (
            re.match(r"(?:\[|test|grep|egrep|command -v|which|type|hash|pgrep|nvidia-smi|curl|ls|nc|diff|cmp)\b|\[", text)
            is not None
        )

    def _subshell(self, node: Node) -> bool:
        before = self.scope
        self.scope = before.copy()
        self._sequence(node.children)
        self.scope = before
        return False

    def _pipeline(self, node: Node) -> bool:
        before = self.scope
        parts = [c for c in node.children if c.is_named and c.type != "comment"]
        for child in parts:
            self.scope = before.copy()
            self._statement(child)
        self.scope = before
        return False

    # Loops

    def _loop(self, node: Node, prepare: Callable[[], None] | None = None) -> bool:
        body = node.child_by_field_name("body")
        if body is None:
            return False
        before = self.scope
        label = f"loop{node.start_byte}"

        def walk() -> bool:
            if prepare is not None:
                prepare()
            self._sequence([c for c in node.children if c.is_named and c != body and c.type not in ("test_command", "comment")])
            return self._sequence(body.children) and False

        if self.shared.loops < 2 and "=" in self._text(body):
            self.shared.silent += 1
            self.shared.loops += 1
            group = self.shared.group
            end = self._branch(before, label, walk)
            self.shared.group = group
            self.shared.loops -= 1
            self.shared.silent -= 1
            self._join(before, [before, end])
            settled = self.scope
            self.shared.loops += 1
            self._branch(settled, label, walk)
            self.shared.loops -= 1
            self.scope = settled
        else:
            end = self._branch(before, label, walk)
            self._join(before, [before, end])
        return False

    def _for(self, node: Node) -> bool:
        name_node = node.child_by_field_name("variable")
        if name_node is None:
            return self._loop(node)
        start, end = self._range(name_node)
        name, text = self.script.value[start:end], self.script.text[start:end]
        values = self._words(node.children_by_field_name("value"))
        variable = self._loop_variable(name, values, text)

        def prepare() -> None:
            self.scope.variables[name] = variable

        body = node.child_by_field_name("body")
        if body is None:
            return False
        self._loop_over(node, prepare)
        return False

    def _loop_over(self, node: Node, prepare: Callable[[], None]) -> None:
        self._loop(_BodyOnly(node), prepare)  # type: ignore[arg-type]

    def _loop_variable(self, name: str, values: Sequence[ShellWord], text: Text) -> Variable:
        if len(values) == 1 and not values[0].unknown:
            return Variable(values[0].pieces, name=text)
        known = [v.value for v in values if not v.unknown]
        shown = ", ".join(known[:6]) + (", ..." if len(known) > 6 else "")
        reason = f"{name} takes several values ({shown})" if known else f"{name} is only known at run time"
        return Variable((Piece(Text.literal(f"${name}"), reason),), name=text)

    # Functions

    def _function(self, node: Node) -> bool:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is not None and body is not None:
            self.shared.functions.setdefault(self._text(name_node), _Function(body, self))
            self.shared.functions[self._text(name_node)].body = body
            self.shared.functions[self._text(name_node)].run = self
        return False

    def _call(self, name: str, function: _Function, arguments: Sequence[ShellWord]) -> None:
        often = 1 if self.shared.steps > _MANY_STEPS else _MAX_CALLS_EACH
        if name in self.shared.calls or len(self.shared.calls) >= _MAX_CALLS or function.calls >= often:
            return
        self.shared.calls.append(name)
        if function.run is not self:
            function.run.scope = self.scope
        function.run._walk_function(function, tuple(arguments))
        if function.run is not self:
            self.scope = function.run.scope
        self.shared.calls.pop()

    def _walk_function(self, function: _Function, arguments: tuple[ShellWord, ...] | None) -> None:
        function.calls += 1
        outer = self.scope
        locals_ = {self._text(n) for n in _local_names(function.body)}
        inner = outer.copy()
        if arguments is not None and any(a.spreads for a in arguments):
            arguments = None
        inner.positional = arguments
        self.scope = inner
        self._statement(function.body)
        after = self.scope
        after.positional = outer.positional
        for name in locals_:
            if name in outer.variables:
                after.variables[name] = outer.variables[name]
            else:
                after.variables.pop(name, None)
        self.scope = after

    # Command substitution

    def _substitute(self, start: int, end: int) -> Pieces | None:
        """What ``$(...)`` prints, where that can be known; launches inside it are found as well."""
        if self.substitutions > 3 or not self.script.value[start:end].strip():
            return None
        inner = self.script.part(start, end)
        self.substitutions += 1
        run = _Run(inner, self.context, self.scope.copy(), self.shared)
        run.substitutions = self.substitutions
        try:
            root = _parser().parse(run.places.data).root_node
            printed = run._printed(root)
            if printed is None and self.context.passage != "doc" and _worth_reading(inner.value):
                run._sequence(root.children)
            return printed
        finally:
            self.substitutions -= 1

    def _printed(self, root: Node) -> Pieces | None:
        statements = [c for c in root.children if c.is_named and c.type != "comment"]
        if len(statements) != 1:
            return None
        node = statements[0]
        if node.type == "redirected_statement":
            body = node.child_by_field_name("body")
            redirect = next((c for c in node.children if c.type == "heredoc_redirect"), None)
            if body is None or redirect is None or self._text(body).strip() != "cat":
                return None
            pieces = self._heredoc(redirect)
            return _without_last_newline(pieces) if pieces else None
        if node.type != "command" or any("redirect" in c.type for c in node.children):
            return None
        words = self._words([c for c in node.children if c.is_named])
        if not words or words[0].unknown or any(w.spreads for w in words):
            return None
        name, values = words[0].value, words[1:]
        if name == "echo":
            while values and values[0].value in ("-n", "-e", "-E", "-ne"):
                values = values[1:]
            return _spaced(values)
        if name == "printf" and values and not values[0].unknown:
            return _formatted(values)
        if name in ("basename", "dirname") and len(values) == 1 and not values[0].unknown:
            path = values[0].content
            at = path.value.rstrip("/").rfind("/")
            cut = path[at + 1 :] if name == "basename" else path[: max(at, 0)]
            return (Piece(cut),) if cut.value else None
        return None

    # Builtins

    def _set(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        at = next((i for i, w in enumerate(words) if w.value == "--"), -1)
        if at >= 0:
            rest = tuple(words[at + 1 :])
            # "$@" in its own list: the old arguments are among the new ones.
            self.scope.positional = rest
        elif len(words) > 1 and not words[1].value.startswith(("-", "+")):
            self.scope.positional = tuple(words[1:])
        return False

    def _shift(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        count = int(words[1].value) if len(words) > 1 and words[1].value.isdigit() else 1
        if self.scope.positional is not None:
            self.scope.positional = self.scope.positional[count:]
        return False

    def _eval(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        pieces: list[Piece] = []
        for number, word in enumerate(words[1:]):
            if number:
                pieces.append(Piece(Text.placed(" ", word.span)))
            pieces.extend(pieces_of(word))
        if not pieces or self.nesting > _MAX_NESTING // 2:
            return False
        script = Script.of_pieces(pieces, words[0].content[:0])
        run = _Run(script, self._here(env), self.scope, self.shared)
        run.nesting = self.nesting + 8
        run._sequence(_parser().parse(run.places.data).root_node.children)
        self.scope = run.scope
        return False

    def _source(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        follow = self.context.follow
        if len(words) < 2 or follow is None or self.context.depth >= MAX_DEPTH:
            return False
        name = re.sub(r"^(?:\$\{?\w+\}?|\$\(.*\))/", "", words[1].value, flags=re.DOTALL)
        if "$" in name:
            return False
        source = follow.read(name.removeprefix("./"))
        if source is None or source is self.context.source or len(source.text) > MAX_SCRIPT:
            return False
        run = _Run(masked(Text.of(source)), self.context.deeper(source=source, block=None), self.scope, self.shared)
        run.nesting = self.nesting
        run._sequence(_parser().parse(run.places.data).root_node.children)
        self.scope = run.scope
        return False

    def _read(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        for word in words[1:]:
            if re.fullmatch(r"[A-Za-z_]\w*", word.value, re.ASCII):
                self.scope.variables[word.value] = Variable((self._dynamic(word.value, "is only known at run time"),))
        return False

    def _printf(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        if len(words) > 3 and words[1].value == "-v":
            pieces = _formatted(words[3:]) if not words[3].unknown else None
            self.scope.variables[words[2].value] = Variable(pieces or (self._dynamic(words[2].value, "is only known at run time"),))
        return False

    def _exit(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        return True

    def _nothing(self, words: list[ShellWord], env: dict[str, EnvVar]) -> bool:
        return False


def _reads_passage(words: Sequence[ShellWord]) -> str | None:
    """The kind of text that a command reads from its standard input (``kubectl apply -f -``, ``python -``)."""
    values = [w.value for w in words]
    programs = {v.rsplit("/", 1)[-1] for v in values[:3]}
    # The grammar drops a lone dash before "<<".
    dash = (
        "-" in values
        or values[-1] in ("-f", "--filename", "--file")
        or "/dev/stdin" in values
        or "-f-" in values
        or "--filename=-" in values
    )
    if programs & {"kubectl", "oc", "docker", "podman", "docker-compose", "k3s", "microk8s"} and dash:
        return "yaml"
    first = values[0].rsplit("/", 1)[-1]
    if re.fullmatch(r"python[\d.]*", first) and all(v.startswith("-") for v in values[1:]) and "-c" not in values:
        return "python"
    return None


class _BodyOnly:
    """A ``for`` statement seen as its body alone: the list of values holds no statements."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.start_byte = node.start_byte
        body = node.child_by_field_name("body")
        self.children = [body] if body is not None else []

    def child_by_field_name(self, name: str) -> Node | None:
        return self.node.child_by_field_name(name)


def _local_names(body: Node) -> Iterator[Node]:
    """Names declared ``local`` in a function (not those of functions inside it)."""
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "declaration_command" and node.children and node.children[0].type in ("local", "declare", "typeset"):
            for child in node.children:
                if child.type == "variable_assignment":
                    name = child.child_by_field_name("name")
                    if name is not None:
                        yield name
                elif child.type == "variable_name":
                    yield child
        elif node.type not in ("function_definition", "command", "variable_assignment"):
            stack.extend(node.children)


def _spaced(words: Sequence[ShellWord]) -> Pieces | None:
    pieces: list[Piece] = []
    for number, word in enumerate(words):
        if number:
            pieces.append(Piece(Text.placed(" ", word.span)))
        pieces.extend(pieces_of(word))
    return tuple(pieces) or None


def _formatted(words: Sequence[ShellWord]) -> Pieces | None:
    """``printf`` with ``%s`` and ``%d`` only."""
    form, arguments = words[0].content, list(words[1:])
    pieces: list[Piece] = []
    last = 0
    for found in re.finditer(r"%.|\\.", form.value):
        pieces.append(Piece(form[last : found.start()]))
        last = found.end()
        code = found.group()
        if code in ("%s", "%d", "%q"):
            pieces.extend(pieces_of(arguments.pop(0)) if arguments else ())
        elif code == "%%":
            pieces.append(Piece(form[found.start() : found.start() + 1]))
        elif code == "\\n" and found.end() == len(form):
            pass
        else:
            return None
    pieces.append(Piece(form[last:]))
    kept = tuple(p for p in pieces if p.text.value)
    return kept or None


def _without_last_newline(pieces: Pieces) -> Pieces:
    last = pieces[-1]
    if last.unknown or not last.text.value.endswith("\n"):
        return pieces
    return (*pieces[:-1], replace(last, text=last.text[: len(last.text.value.rstrip("\n"))]))


_EMPTY_DEFAULT = pattern(r"\$\{\w+:?-(?:''|\"\")?\}")
_EMPTY_TEST = pattern(
    r"(?:-z|! -n)\s+\"?\$\{?([A-Za-z_]\w*)(?::?[-+][^}]*)?\}?\"?|\"\$\{?([A-Za-z_]\w*)(?::?-)?\}?\"\s*==?\s*(?:\"\"|'')"
)
_FILLED_TEST = pattern(r"-n\s+\"?\$\{?([A-Za-z_]\w*)(?::?[-+][^}]*)?\}?\"?")

_TRANSPARENT = frozenset({"program", "compound_statement", "do_group", "else_clause"})
_STATEMENTS: dict[str, Callable[[_Run, Node], bool]] = {
    "command": _Run._command,
    "redirected_statement": _Run._redirected,
    "variable_assignment": _Run._assignment,
    "variable_assignments": _Run._assignments,
    "declaration_command": _Run._declaration,
    "unset_command": _Run._unset,
    "if_statement": _Run._if,
    "case_statement": _Run._case,
    "list": _Run._list,
    "pipeline": _Run._pipeline,
    "subshell": _Run._subshell,
    "negated_command": lambda run, node: run._sequence(node.children),
    "while_statement": lambda run, node: run._loop(node),
    "for_statement": _Run._for,
    "c_style_for_statement": lambda run, node: run._loop(_BodyOnly(node)),  # type: ignore[arg-type]
    "function_definition": _Run._function,
}
_BUILTINS: dict[str, Callable[[_Run, list[ShellWord], dict[str, EnvVar]], bool]] = {
    "set": _Run._set,
    "shift": _Run._shift,
    "eval": _Run._eval,
    "source": _Run._source,
    ".": _Run._source,
    "read": _Run._read,
    "mapfile": _Run._read,
    "readarray": _Run._read,
    "printf": _Run._printf,
    "exit": _Run._exit,
    "return": _Run._exit,
    "continue": _Run._exit,
    "break": _Run._exit,
    **dict.fromkeys(("echo", "trap", "cd", "pushd", "popd", ":", "true", "false", "alias", "let", "hash", "umask"), _Run._nothing),
}

__all__ = ["extract", "launches_in_named_script", "launches_in_script", "run_script", "split_words"]
