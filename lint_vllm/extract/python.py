"""Launches in Python: engine objects, processes that the code starts, and programs that pass arguments on to vLLM.

The reader follows values; here is decided what of it starts vLLM. A list or text that is only printed, compared or tested
is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType

from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.python_reader import Reader
from lint_vllm.extract.python_text import Code, Unparsable
from lint_vllm.extract.python_values import (
    MISSING,
    Callable_,
    Entry,
    Instance,
    Many,
    Scalar,
    Symbol,
    Table,
    Value,
    constant,
    known_literal,
    word_of,
)
from lint_vllm.extract.python_wrappers import Wrapper, wrapper_of
from lint_vllm.extract.structure import Leaf, Map, Pair, Seq, Tree
from lint_vllm.launch import Deployment, EnvVar, GpuRequest, Hint, Image, Launch, Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

ENGINES = frozenset({"LLM", "EngineArgs", "AsyncEngineArgs"})
_PACKAGES = frozenset({"vllm", "vllm_omni"})
"""A component of the module path; libraries re-export vLLM's classes under it (``verl.third_party.vllm``)."""
_CONFIG = pattern(r"vllm\.(?:\w+\.)*\w+Config")
"""Classes of which an object stands for a dict of its fields."""
_POSITIONAL = {"LLM": ("model", "tokenizer"), "EngineArgs": ("model",), "AsyncEngineArgs": ("model",)}
_RUNNERS = pattern(
    r"(?:subprocess\.(?:run|Popen|call|check_call|check_output|getoutput|getstatusoutput)|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?)"
    r"|asyncio\.(?:subprocess\.)?create_subprocess_(?:exec|shell)|anyio\.(?:run_process|open_process)|pexpect\.spawn\w*|pty\.spawn"
    r"|psutil\.Popen|multiprocessing\.Process|get_ipython\.system|modal\.Sandbox\.create|sky\.Task|sh\.\w+)$"
)
_RUN_METHODS = frozenset(
    [
        "run",
        "exec",
        "exec_command",
        "execute",
        "run_command",
        "run_commands",
        "sudo",
        "spawn",
        "popen",
        "start_process",
        "launch_process",
        "submit",
        "sendline",
        "send_command",
        "exec_run",
        "execute_command",
        "check_call",
        "call",
        "system",
    ]
)
_SCRIPT_KEYWORDS = frozenset(
    [
        "run",
        "setup",
        "command",
        "cmd",
        "commands",
        "script",
        "bash_command",
        "user_data",
        "UserData",
        "startup_script",
        "onstart",
        "start_command",
        "dockerStartCmd",
        "docker_args",
        "entrypoint",
        "args",
        "container_args",
        "containerArgs",
        "serving_container_args",
        "container_command",
        "command_args",
        "arguments",
    ]
)
_SILENT_CALLS = pattern(
    r"(?:.*\.)?(?:print|info|debug|warning|warn|error|exception|critical|log|echo|format|pprint|dumps|dump|len|isinstance|str|repr"
    r"|assert\w*|parametrize|join|add_argument|Mock|MagicMock|patch|setattr|raises|match|search|startswith|index|markdown|success|secho|style|rule)$"
)
_PINNED = pattern(r"vllm(?:\[[^\]]*\])?\s*(?:==|===|~=|>=)\s*v?(\d[\w.+!-]*)")
_INSTANCE = pattern(r"ml\.(?:g|p|inf|trn)\d\w*\.(?:\d*x?large|metal)")
_PIN_COMMENT = pattern(r"^#.*?[\"']vllm(?:\[[^\]]*\])?\s*==\s*(\d[\w.+!-]*)", re.MULTILINE)
_TEST_FILE = pattern(r"(?:^|/)unit(?:_?tests?)?/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
"""Lists and dicts of a test are mostly made up; what it runs is real."""


_WORTH = pattern(
    r"\b(?:LLM|VLLM|Vllm|vLLM|LLMConfig|serve|serving|simple_evaluate|docker|image)\b|EngineArgs|ProcessorConfig|entrypoints|OPTION_|SM_VLLM_"
    r"|option\.|vllm[-_]openai|vllm[-_]serve|\.vllm\(|run_batch|[\"']vllm|vllm (?:bench|run-batch)|\bLLM as\b"
)


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    if not _WORTH.search(source.text):
        return Extraction()
    text = Text.of(source)
    finder = Finder(Context(source, follow=follow))
    problems = [*read_program(text, finder), *finder.incomplete(text)]
    return Extraction(tuple(finder.launches()), tuple(problems))


def launches_in_python(text: Text, context: Context) -> list[Launch]:
    """The launches of a program that is itself a value: a heredoc, a config map's script, ``python -c``."""
    finder = Finder(context)
    for _ in read_program(text, finder):
        pass
    return finder.launches()


def read_program(text: Text, finder: Finder) -> Iterator[Unreadable]:
    for code in parse_tolerantly(text):
        if isinstance(code, Unreadable):
            yield code
        else:
            finder.note_pins(text)
            finder.reader.run(code)
    finder.reader.finish()


_TOP = pattern(r"^(?=[^\s#)\]}'\"])(?!(?:else|elif|except|finally|case)\b)", re.MULTILINE)
MAX_REPAIRS = 5


def parse_tolerantly(text: Text) -> Iterator[Code | Unreadable]:
    """Parse; a top-level statement that is no Python (of this version) is blanked and reported, the others are read."""
    shown = text.value
    for _ in range(MAX_REPAIRS + 1):
        try:
            code = Code.parse(text, shown)
        except Unparsable as error:
            starts = [m.start() for m in _TOP.finditer(shown)]
            offset = error.offset if error.offset is not None else _unreadable_statement(shown, starts)
            start = max((s for s in starts if s <= offset), default=0)
            end = next((s for s in starts if s > max(start, offset)), len(shown))
            if concerns_vllm(shown):
                at = text[offset : offset + 1] if offset < len(text) else text[start:end]
                yield Unreadable(at.span, f"this is not valid Python: {error.reason}")
            if not shown[start:end].strip():
                return
            shown = shown[:start] + re.sub(r"[^\r\n]", " ", shown[start:end]) + shown[end:]
        else:
            yield code
            return


def _unreadable_statement(code: str, starts: list[int]) -> int:
    """The top-level statement that the parser cannot read though it does not say where (it is nested too deeply)."""
    for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
        try:
            Code.parse(Text.literal(code[start:end]))
        except Unparsable as error:
            if error.offset is None:
                return start
    return 0


def concerns_vllm(code: str) -> bool:
    """Whether broken code is worth a word: it imports vLLM or starts it."""
    return bool(re.search(r"^\s*(?:from|import)\s+vllm\b|vllm serve|-m\s*[\"', ]*vllm\.", code, re.MULTILINE))


# -- what is found -------------------------------------------------------------------------------------------------


@dataclass
class _Candidate:
    """One place that may be a launch, as one reading of its function saw it."""

    launches: Callable[[], list[Launch]]
    strength: int
    """2: it is run; 1: a command that is kept or handed on."""
    standalone: bool


@dataclass
class _Surroundings:
    hints: tuple[Hint, ...] = ()
    env: dict[str, EnvVar] = field(default_factory=dict)
    gpus: tuple[GpuRequest, ...] = ()
    image: Image | None = None


class Finder:
    """Watches a reader and collects launches."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.reader = Reader(self)
        self.magics: Callable[[int], bool] = lambda offset: False
        """Handles an expression statement that stands for a notebook's magic."""
        self._found: dict[tuple[str, int], list[_Candidate]] = {}
        self._stack: list[_Surroundings] = [_Surroundings()]
        self._tokens: list[Hint] = []
        self._pins: dict[int, Hint] = {}
        self._machines: dict[str, Hint] = {}
        """Instance types that the program names; one alone is where its models run."""
        self._images: dict[int, Scalar] = {}
        self._superseded: set[int] = set()
        self._is_test = bool(_TEST_FILE.search(str(PurePosixPath(context.source.path.replace("\\", "/")))))

    # -- surroundings ----------------------------------------------------------------------------------------------

    def entering(self, function: Callable_, decorators: list[Value]) -> None:
        outer = list(decorators)
        if function.owner is not None:
            outer += self.reader.decorators_of(function.owner)
        self._stack.append(_surroundings_of(outer))

    def leaving(self, function: Callable_) -> None:
        self._stack.pop()

    def environment(self, key: Scalar, value: Value, entry: Text) -> None:
        if isinstance(key.literal, str):
            span = entry.span.to(value.place.span) if value.place.span.start >= entry.span.start else entry.span
            self._stack[-1].env[key.literal] = EnvVar(word_of(key), word_of(value), span)

    def statement(self, place: Text) -> None:
        self.magics(place.span.start)

    def _context(self, block: Span, extra: dict[str, EnvVar] | None = None) -> Context:
        hints: tuple[Hint, ...] = ()
        env: dict[str, EnvVar] = dict(self.context.env)
        gpus: tuple[GpuRequest, ...] = ()
        image = self.context.image
        for layer in self._stack:
            hints += layer.hints
            env.update(layer.env)
            gpus += layer.gpus
            image = layer.image or image
        env.update(extra or {})
        site = ".".join(f"{name}()" for name in self.reader.site) or f"line {block.line}"
        outer = self.context.deployment
        deployment = replace(outer, gpus=(*outer.gpus, *gpus)) if outer else None
        deployment = deployment or Deployment("python", block, scope=f"{site} line {block.line}", gpus=gpus)
        if self.context.site:
            site = f"{self.context.site} {site}"
        return replace(
            self.context,
            site=site,
            env=MappingProxyType(env),
            hints=self.context.hints + hints,
            image=image,
            deployment=deployment,
            block=block,
        )

    @property
    def pinned(self) -> tuple[Hint, ...]:
        return tuple(self._pins.values())

    def surroundings(self, block: Span) -> Context:
        """What a command at this place of the program runs in."""
        return self._context(block)

    def note_pins(self, text: Text) -> None:
        for match in _PIN_COMMENT.finditer(text.value):
            self._pin(text[match.start(1) : match.end(1)], f"vllm=={match.group(1)}")

    def _pin(self, version: Text, requirement: str) -> None:
        self._pins.setdefault(version.span.start, Hint("pip", requirement, version.span))

    def pin(self, word: Text) -> None:
        """A requirement such as ``vllm==0.9.1``."""
        match = _PINNED.match(word.value)
        if match:
            self._pin(word[match.start(1) : match.end(1)], match.group())

    # -- observing -------------------------------------------------------------------------------------------------

    def made(self, value: Value) -> None:
        if isinstance(value, Scalar):
            if value.known and value.text.value.startswith("vllm"):
                self.pin(value.text)
            elif value.known and _INSTANCE.fullmatch(value.text.value):
                self._machines.setdefault(value.text.value, Hint("aws-instance", value.text.value, value.text.span))
            elif "option." in value.text.value and (value.known or value.holes):
                self._add("text", value.place, 2, lambda: self._text(value, self._context(value.place.span), sure=False))
        elif isinstance(value, Table) and not self._is_test and any(_option_key(e) or _image_key(e) for e in value.entries):
            context = self._context(value.place.span)
            self._add("table", value.place, 2, lambda: self._table(value, context))

    def kept(self, value: Value, name: str) -> None:
        if isinstance(value, Many):
            if starts_vllm(value) and (not self._is_test or name == "return"):
                self._add_list(value, 1)
        elif (
            isinstance(value, Scalar) and (name in _SCRIPT_KEYWORDS or name == "return") and not self._is_test and _is_script(value)
        ):
            context = self._context(value.place.span)
            self._add("text", value.text, 1, lambda: self._text(value, context))

    def called(self, node: ast.Call, call: Instance, function: Value) -> Value | None:
        engine = _engine(function, call) or self._quoted_engine(node, call)
        if engine is not None:
            return self._engine_call(node, call, engine)
        name = call.name
        wrapper = wrapper_of(name) if isinstance(function, (Symbol, Instance)) else None
        if wrapper is not None:
            self._wrapped(node, call, wrapper)
            return None
        if name.endswith("vllm.SamplingParams") and call.keywords is not None:
            entry = call.keywords.get("max_tokens")
            if entry and isinstance(entry.value, Scalar) and entry.value.known:
                self._tokens.append(Hint("max-tokens", str(entry.value.literal), entry.value.place.span))
            return None
        if name in ("argparse.ArgumentParser.parse_args", "argparse.ArgumentParser.parse_known_args") or (
            name.endswith((".parse_args", ".parse_known_args")) and isinstance(call.receiver, Instance)
        ):
            return self._namespace(call)
        if name.endswith((".add_argument", ".set_defaults")) and isinstance(call.receiver, Instance):
            self._argument(call)
            return None
        self._command(call, function)
        return None

    # -- engines ---------------------------------------------------------------------------------------------------

    def _engine_call(self, node: ast.Call, call: Instance, engine: str) -> Value | None:
        keywords = call.keywords or Table(call.place)
        fields = Table(call.place, list(keywords.entries), keywords.open, keywords.depth, engine)
        names = _POSITIONAL[engine]
        for argument, name in zip(call.arguments, names, strict=False):
            fields.entries.insert(0, Entry(Scalar(argument.place, Text.placed(name, argument.place.span), name), argument))
        if keywords.origin not in ENGINES:
            name_place = self._callee(node)
            context = self._context(call.place.span)
            settings = tuple(_setting(e) for e in fields.entries if isinstance(e.key.literal, str))
            opened = (keywords.open,) if keywords.open else ()
            launch = Launch(
                source=name_place.source,
                form="python",
                site=f"{context.site} {engine}()",
                command=name_place.span,
                block=call.place.span,
                settings=settings,
                env=context.env,
                image=context.image,
                hints=context.hints,
                deployment=_with_devices(context),
                unresolved=opened,
                python_callable=engine,
                wrapper=_library(call.name),
                passage=self.context.passage,
            )
            self._add("engine", name_place, 2, lambda: [launch])
        return fields if engine != "LLM" else None

    def _quoted_engine(self, node: ast.Call, call: Instance) -> str | None:
        """An engine in a document's code that leaves the import out: ``LLM("org/m", max_model_len=4096)``."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if self.context.passage != "doc" or name not in ENGINES or call.keywords is None:
            return None
        from lint_vllm.extract.processes import proves_vllm

        return name if proves_vllm(str(e.key.literal) for e in call.keywords.entries) else None

    def _callee(self, node: ast.Call) -> Text:
        """The last name of what is called: ``LLM`` of ``vllm.LLM``; the class of ``ray.remote(LLM).remote``."""
        function = node.func
        place = self.reader.code.place(function)
        if isinstance(function, ast.Attribute) and function.attr not in ("remote", "bind"):
            return place[len(place) - len(function.attr) :]
        return place

    # -- programs that pass arguments on ---------------------------------------------------------------------------

    def _wrapped(self, node: ast.Call, call: Instance, wrapper: Wrapper) -> None:
        found = wrapper.read(call)
        if found is None:
            return
        settings, hints, key = found
        command = key.span if key is not None else self._callee(node).span
        context = self._context(call.place.span)
        launch = Launch(
            source=call.place.source,
            form="other",
            site=f"{context.site} {wrapper.program}",
            command=command,
            block=call.place.span,
            settings=tuple(_setting(e, flag) for flag, e in settings),
            env=context.env,
            image=context.image,
            hints=context.hints + hints,
            deployment=_with_devices(context),
            wrapper=wrapper.program,
            passage=self.context.passage,
            unresolved=tuple(e.value.open for _, e in settings if isinstance(e.value, Table) and e.value.open and _ == ""),
        )
        launch = replace(launch, settings=tuple(s for s in launch.settings if s.flag))
        self._add("wrapper", call.place, 2, lambda: [launch])

    # -- argparse --------------------------------------------------------------------------------------------------

    def _argument(self, call: Instance) -> None:
        """Defaults of a parser are kept as attributes of the parser."""
        parser = call.receiver
        while isinstance(parser, Instance) and isinstance(parser.receiver, Instance):
            parser = parser.receiver
        keywords = call.keywords or Table(call.place)
        if not isinstance(parser, Instance):
            return
        if call.name.endswith(".set_defaults"):
            for entry in keywords.entries:
                if isinstance(entry.key.literal, str):
                    parser.attributes[f"arg:{entry.key.literal}"] = _default(entry.value)
            return
        flags = [a.literal for a in call.arguments if isinstance(a, Scalar) and isinstance(a.literal, str)]
        if not flags:
            return
        dest = keywords.get("dest")
        long = next((f for f in flags if f.startswith("--")), flags[0])
        name = str(known_literal(dest.value)) if dest else long.lstrip("-").replace("-", "_")
        default, action = keywords.get("default"), keywords.get("action")
        value: Value | None = default.value if default else None
        if value is None and action is not None and known_literal(action.value) == "store_true":
            value = constant(call.place, False)
        if value is None and action is not None and known_literal(action.value) == "store_false":
            value = constant(call.place, True)
        if value is None or (isinstance(value, Scalar) and value.known and value.literal is None):
            parser.attributes[f"arg:{name}"] = Scalar(call.place, call.place, unknown=f"{long} is given by the caller", soft=True)
        else:
            parser.attributes[f"arg:{name}"] = _default(value)

    def _namespace(self, call: Instance) -> Value | None:
        parser = call.receiver
        while isinstance(parser, Instance) and isinstance(parser.receiver, Instance):
            parser = parser.receiver
        if not isinstance(parser, Instance):
            return None
        entries = [
            Entry(constant(call.place, name[4:]), value) for name, value in parser.attributes.items() if name.startswith("arg:")
        ]
        table = Table(call.place, entries, "options of the command line are given by the caller", self.reader.depth, "namespace")
        if call.name.endswith(".parse_known_args"):
            many = Many(call.place, depth=self.reader.depth)
            self.reader.append_plain(many, table)
            self.reader.append_plain(many, Scalar(call.place, call.place, unknown="arguments given by the caller"))
            return many
        return table

    # -- processes -------------------------------------------------------------------------------------------------

    def _command(self, call: Instance, function: Value) -> None:
        name = call.name
        if _SILENT_CALLS.match(name):
            return
        self._note_image(call)
        runner = bool(isinstance(function, (Symbol, Instance)) and _RUNNERS.match(name))
        method = name.rsplit(".", 1)[-1]
        if name.endswith((".containers.run", ".containers.create")):
            self._docker(call)
            return
        if runner or method in _RUN_METHODS:
            extra = self._given_environment(call)
            positional = list(call.arguments)
            if method.startswith(("execl", "spawnl")):
                positional = positional[1:]
            if method.startswith(("execv", "spawnv", "posix_spawn")):
                positional = positional[1:2]
            strings = [a for a in positional if isinstance(a, Scalar) and (a.known or a.holes)]
            if len(positional) >= 2 and len(strings) >= 2 and not any(isinstance(a, Many) for a in positional[:1]):
                spread = Many(call.place, depth=self.reader.depth)
                for argument in positional:
                    self.reader.append_plain(spread, argument)
                if starts_vllm(spread):
                    self._add_list(spread, 2, extra)
                    return
            keyword = call.keywords.get("args") or call.keywords.get("command") if call.keywords else None
            for argument in positional[:2] + ([keyword.value] if keyword else []):
                self._run(argument, extra)
        elif isinstance(function, (Symbol, Instance, Callable_)) or function is not None:
            for argument in call.arguments:
                if (
                    isinstance(argument, Many)
                    and not self._is_test
                    and starts_vllm(argument)
                    and not isinstance(function, Callable_)
                ):
                    self._add_list(argument, 1)
        for entry in call.keywords.entries if call.keywords else ():
            if entry.key.literal in _SCRIPT_KEYWORDS and not self._is_test:
                if isinstance(entry.value, Many) and starts_vllm(entry.value):
                    self._add_list(entry.value, 1)
                elif isinstance(entry.value, Scalar) and _is_script(entry.value):
                    self._run(entry.value, {}, 1)

    def _given_environment(self, call: Instance) -> dict[str, EnvVar]:
        entry = call.keywords.get("env") if call.keywords else None
        if entry is None or not isinstance(entry.value, Table):
            return {}
        return {
            e.key.literal: EnvVar(word_of(e.key), word_of(e.value), e.span)
            for e in entry.value.entries
            if isinstance(e.key.literal, str)
        }

    def _run(self, value: Value, extra: dict[str, EnvVar], strength: int = 2) -> None:
        if isinstance(value, Instance) and value.name == "shlex.split" and value.arguments:
            value = value.arguments[0]
        if isinstance(value, Many):
            if any(_mentions(i.value) for i in value.items):
                self._add_list(value, strength, extra)
        elif isinstance(value, Scalar) and (value.known or value.holes) and "vllm" in value.text.value:
            if value.joined is not None and all(_plain_word(i.value) for i in value.joined.items):
                self._add_list(value.joined, strength, extra)
                return
            if value.joined is not None:
                self._superseded.add(value.joined.place.span.start)
            context = self._context(value.place.span, extra)
            scalar = value
            self._add("text", value.text, strength, lambda: self._text(scalar, context))

    def _add_list(self, many: Many, strength: int, extra: dict[str, EnvVar] | None = None) -> None:
        context = self._context(many.place.span, extra)

        def launches() -> list[Launch]:
            from lint_vllm.extract.command import recognise
            from lint_vllm.extract.structure import with_reasons

            words = [word_of(i.value, i.conditional) for i in many.items]
            inside = [w.span for w in words if w.span.source is context.source]
            block = many.place.span
            for span in inside:
                block = block.to(span) if span.start >= block.start else block
            found = recognise(words, replace(context, block=block))
            return [with_reasons(launch, [many.open]) for launch in found]

        self._add("list", many.place, strength, launches)

    def _text(self, value: Scalar, context: Context, sure: bool = True) -> list[Launch]:
        from lint_vllm.extract.structure import word_launches

        word = replace(word_of(value), defined=None)
        inside = replace(context, block=value.place.span if "\n" not in value.text.value else None)
        return word_launches(word, inside, sure)

    def _table(self, table: Table, context: Context) -> list[Launch]:
        from lint_vllm.extract.containers import image_of
        from lint_vllm.extract.option_env import option_launch
        from lint_vllm.extract.structure import container_launches

        tree = tree_of(table)
        if not isinstance(tree, Map):
            return []
        if any(_option_key(e) for e in table.entries):
            variables = [EnvVar(p.key, p.value.word, p.span) for p in tree.pairs if isinstance(p.value, Leaf)]
            image = next((i for e in table.entries if (i := self._images.get(e.key.place.span.start))), None)
            found = image_of(word_of(image)) if image is not None else context.image
            launch = option_launch(variables, replace(context, image=found), found, table.place.span)
            return [launch] if launch else []
        return list(container_launches(tree, context).launches)

    def _note_image(self, call: Instance) -> None:
        """The image that a call gives together with a dict of variables (a SageMaker model)."""
        keywords = call.keywords
        image = keywords and next(
            (e for e in keywords.entries if e.key.literal in ("image_uri", "image", "Image", "primary_image")), None
        )
        if keywords and image and isinstance(image.value, Scalar) and (image.value.known or image.value.holes):
            for entry in keywords.entries:
                if entry.key.literal in ("env", "environment", "Environment") and isinstance(entry.value, Table):
                    for variable in entry.value.entries:
                        self._images[variable.key.place.span.start] = image.value

    def _docker(self, call: Instance) -> None:
        """``docker.from_env().containers.run(image, command, environment=...)``."""
        keywords = call.keywords or Table(call.place)
        names = ("image", "command")
        table = Table(call.place, list(keywords.entries), keywords.open, self.reader.depth)
        for name, argument in zip(names, call.arguments, strict=False):
            table.entries.append(Entry(constant(argument.place, name), argument))
        context = self._context(call.place.span)
        self._add("docker", call.place, 2, lambda: self._container(table, context))

    def _container(self, table: Table, context: Context) -> list[Launch]:
        from lint_vllm.extract.structure import docker_launches

        tree = tree_of(table)
        return docker_launches(tree, context) if isinstance(tree, Map) else []

    # -- collecting ------------------------------------------------------------------------------------------------

    def _add(self, kind: str, place: Text, strength: int, launches: Callable[[], list[Launch]]) -> None:
        key = (kind, place.span.start)
        if key not in self._found and len(self._found) > 2000:
            return
        known = self._found.setdefault(key, [])
        if len(known) < 12:
            known.append(_Candidate(launches, strength, self.reader.standalone))

    def incomplete(self, text: Text) -> list[Unreadable]:
        if not self.reader.exhausted:
            return []
        return [Unreadable(text[:0].span, "the program is too large to be followed; launches may be missing")]

    def launches(self) -> list[Launch]:
        """All launches, one for each place, in the order of the text."""
        chosen: dict[int, tuple[int, Launch]] = {}
        for (kind, place), candidates in self._found.items():
            if kind == "list" and place in self._superseded:
                continue
            strongest = max(c.strength for c in candidates)
            called = [c for c in candidates if not c.standalone] or candidates
            called = sorted(called, key=lambda c: -c.strength)  # where it is run, its environment is known
            readings = [[x for x in c.launches() if c.strength > 1 or x.words or x.settings] for c in called]
            longest = max(readings, key=len)
            for number, launch in enumerate(longest):
                merged = launch
                for other in readings:
                    if other is not longest and number < len(other):
                        merged = _merged(merged, other[number])
                at = _identity(merged)
                if at not in chosen or chosen[at][0] < strongest:
                    chosen[at] = (strongest, merged)
                elif merged.image is not None and chosen[at][1].image is None:
                    chosen[at] = (strongest, replace(chosen[at][1], image=merged.image))
        found = [launch for _, launch in sorted(chosen.values(), key=lambda p: p[1].command.start)]
        if len(self._machines) == 1:
            found = [replace(x, hints=(*x.hints, *self._machines.values())) if x.form in ("env", "other") else x for x in found]
        pins, tokens = self.pinned, tuple(dict.fromkeys(self._tokens))
        return [
            replace(launch, pins=launch.pins + tuple(p for p in pins if p not in launch.pins), hints=launch.hints + tokens)
            for launch in found
        ]


# -- helpers -------------------------------------------------------------------------------------------------------


def _with_devices(context: Context) -> Deployment | None:
    """The deployment with the cards that ``CUDA_VISIBLE_DEVICES`` leaves visible."""
    variable = context.env.get("CUDA_VISIBLE_DEVICES")
    if context.deployment is None or variable is None or variable.value is None or variable.value.unknown is not None:
        return context.deployment
    ids = tuple(i.strip() for i in variable.value.value.split(",") if i.strip())
    request = GpuRequest("CUDA_VISIBLE_DEVICES", variable.span, variable.value.value_span, len(ids), variable.value.value, ids)
    return replace(context.deployment, gpus=(*context.deployment.gpus, request)) if ids else context.deployment


def _identity(launch: Launch) -> int:
    """Launches at the same place are one; variables may be reached through several dicts."""
    return launch.settings[0].name.span.start if launch.form == "env" and launch.settings else launch.command.start


def _default(value: Value) -> Value:
    return replace(value, soft=True) if isinstance(value, Scalar) else value


def _engine(function: Value, call: Instance) -> str | None:
    """The engine class that a call makes, also through a subclass of the file or ``ray.remote(LLM)``."""
    if isinstance(function, Symbol):
        return _engine_name(function.name)
    if isinstance(function, Callable_) and isinstance(function.node, ast.ClassDef):
        own = function.attributes.get("__init__")
        return next(filter(None, map(_engine_name, function.bases)), None) if own is None else None
    if isinstance(function, Instance) and function.name.startswith("ray.remote") and call.name.endswith(".remote"):
        holder: Value | None = call.receiver
        while isinstance(holder, Instance):
            for argument in holder.arguments:
                if isinstance(argument, (Symbol, Callable_)) and (found := _engine(argument, call)):
                    return found
            holder = holder.receiver
    return None


def _library(name: str) -> str | None:
    """The library whose class of an engine's name it is (``verl.third_party.vllm.LLM``); ``None`` for vLLM's own."""
    parts = name.split(".")
    return parts[0] if parts[-1] in ENGINES and len(parts) > 2 and parts[0] and parts[0] not in _PACKAGES else None


def _engine_name(name: str) -> str | None:
    parts = name.split(".")
    return parts[-1] if parts[-1] in ENGINES and not _PACKAGES.isdisjoint(parts[:-1]) else None


def _setting(entry: Entry, flag: str | None = None) -> Setting:
    name = word_of(entry.key)
    value = word_of(entry.value, entry.conditional)
    literal = known_literal(entry.value)
    wanted = flag if flag is not None else str(entry.key.literal).replace("_", "-")
    if isinstance(entry.value, Instance) and _CONFIG.fullmatch(entry.value.name) and not entry.value.arguments:
        literal = known_literal(entry.value.keywords) if entry.value.keywords is not None else MISSING
        value = replace(value, unknown=None) if literal is not MISSING else value
    if isinstance(entry.value, Symbol) and entry.value.name.startswith("torch."):
        value, literal = replace(value, unknown=None), entry.value.name.removeprefix("torch.")
    return Setting(name, wanted, value, None if literal is MISSING else literal, entry.conditional)


def _mentions(value: Value) -> bool:
    return isinstance(value, Scalar) and "vllm" in value.text.value


def starts_vllm(many: Many) -> bool:
    """Whether a list begins like a command that runs vLLM's server."""
    values = [
        i.value.text.value if isinstance(i.value, Scalar) and (i.value.known or i.value.holes) else "" for i in many.items[:60]
    ]
    for at, value in enumerate(values):
        name = value.rsplit("/", 1)[-1]
        following = values[at + 1] if at + 1 < len(values) else ""
        if name == "vllm" and following == "serve":
            return True
        if value == "-m" and following.startswith("vllm.entrypoints.") and following.endswith(("api_server", "run_batch")):
            return True
    docker = values[:1] and values[0].rsplit("/", 1)[-1] in ("docker", "podman", "nerdctl") and "run" in values[1:3]
    return bool(docker) and any("vllm" in v for v in values)


_SCRIPT_HEAD = pattern(
    r"\s*(?:#!|(?:exec |nohup |sudo |env |cd |export |source |set -)|(?:\w+=\S* )*vllm serve|(?:docker|podman) run|\S*python3? -m vllm)"
)


def _is_script(value: Scalar) -> bool:
    text = value.text.value
    return (
        (value.known or bool(value.holes))
        and bool(_SCRIPT_HEAD.match(text))
        and ("vllm serve" in text or "vllm.entrypoints" in text or "vllm-openai" in text)
    )


def _plain_word(value: Value) -> bool:
    return isinstance(value, Scalar) and not any(c in value.text.value for c in " \t\n'\"\\$`|&;<>")


def _option_key(entry: Entry) -> bool:
    key = entry.key.literal
    return isinstance(key, str) and key.startswith(("OPTION_", "SM_VLLM_"))


def _image_key(entry: Entry) -> bool:
    key = entry.key.literal
    return isinstance(key, str) and key in ("image", "imageUri", "Image", "imageName") and _mentions(entry.value)


def tree_of(value: Value) -> Tree:
    """A literal as the tree that all structured carriers share."""
    if isinstance(value, Table):
        pairs = tuple(Pair(word_of(e.key), tree_of(e.value), e.span, e.conditional) for e in value.entries)
        return Map(value.place.span, pairs, value.open)
    if isinstance(value, Many):
        return Seq(value.place.span, tuple(tree_of(i.value) for i in value.items), value.open)
    literal = known_literal(value)
    return Leaf(word_of(value), None if literal is MISSING else literal)


_MODAL_GPU = pattern(r"([A-Za-z][\w-]*?)[!+]?(?::(\d+))?$")


def _surroundings_of(decorators: Iterable[Value]) -> _Surroundings:
    """GPU hints and image of Modal and Ray decorators."""
    found = _Surroundings()
    for decorator in decorators:
        if not isinstance(decorator, Instance) or decorator.keywords is None:
            continue
        keywords = decorator.keywords
        method = decorator.name.rsplit(".", 1)[-1]
        gpu = keywords.get("gpu")
        if gpu is not None and method in ("function", "cls"):
            found.hints += tuple(_modal_hints(gpu.value))
            image = keywords.get("image")
            if image is not None:
                found.env.update(_image_env(image.value))
        for holder in (keywords, *(e.value for e in keywords.entries if e.key.literal == "ray_actor_options")):
            if not isinstance(holder, Table):
                continue
            count, kind = holder.get("num_gpus"), holder.get("accelerator_type")
            if count and isinstance(count.value, Scalar) and method in ("remote", "deployment", "options"):
                literal = count.value.literal
                number = literal if isinstance(literal, int) and not isinstance(literal, bool) else None
                place = count.value.place.span
                found.gpus += (GpuRequest("num_gpus", count.span, place, number, count.value.text.value),)
            if kind and isinstance(kind.value, Scalar) and isinstance(kind.value.literal, str):
                found.hints += (Hint("ray", kind.value.literal, kind.value.place.span),)
    return found


def _modal_hints(value: Value) -> Iterator[Hint]:
    if isinstance(value, Many) and value.items:
        value = value.items[0].value
    if isinstance(value, Scalar) and isinstance(value.literal, str):
        match = _MODAL_GPU.match(value.literal)
        if match:
            yield Hint("modal", match.group(1), value.place.span, int(match.group(2) or 1))
    elif isinstance(value, Instance) and value.name.startswith("modal.gpu."):
        count = value.keywords.get("count") if value.keywords else None
        number = count.value.literal if count and isinstance(count.value, Scalar) else 1
        size = value.keywords.get("size") if value.keywords else None
        name = value.name.rsplit(".", 1)[-1]
        if size and isinstance(size.value, Scalar) and size.value.known:
            name += f"-{size.value.literal}"
        yield Hint("modal", name, value.place.span, number if isinstance(number, int) else None)


def _image_env(value: Value) -> dict[str, EnvVar]:
    """``Image....env({...})`` anywhere in the chain that builds an image."""
    env: dict[str, EnvVar] = {}
    while isinstance(value, Instance):
        if value.name.endswith(".env") and value.arguments and isinstance(value.arguments[0], Table):
            for entry in value.arguments[0].entries:
                if isinstance(entry.key.literal, str):
                    env.setdefault(entry.key.literal, EnvVar(word_of(entry.key), word_of(entry.value), entry.span))
        receiver = value.receiver
        if receiver is None:
            break
        value = receiver
    return env


DIFFERS = "it differs between calls"


def _merged(one: Launch, other: Launch) -> Launch:
    """What two readings of the same place agree on."""
    settings: list[Setting] = []
    for setting in one.settings:
        twin = next((s for s in other.settings if s.flag == setting.flag), None)
        if twin is None:
            settings.append(replace(setting, conditional=True))
        elif _agree(setting.value, twin.value):
            settings.append(setting)
        else:
            settings.append(replace(setting, value=setting.value and _differing(setting.value), literal=None))
    flags = {s.flag for s in one.settings}
    settings += [replace(s, conditional=True) for s in other.settings if s.flag not in flags]
    if len(one.words) == len(other.words):
        words = tuple(w if _agree(w, v) else _differing(w) for w, v in zip(one.words, other.words, strict=True))
    else:
        shorter, longer = sorted((one.words, other.words), key=len)
        shared = {w.value for w in shorter}
        words = tuple(w if w.value in shared else replace(w, conditional=True) for w in longer)
    unresolved = one.unresolved + tuple(r for r in other.unresolved if r not in one.unresolved)
    return replace(one, settings=tuple(settings), words=words, unresolved=unresolved)


def _differing(word: Word) -> Word:
    """A word of several values: what stands in the program."""
    written = Text.of(word.span.source, word.span.start, word.span.end)
    return Word(written, word.span, "", word.unknown or DIFFERS, None, word.conditional)


def _agree(one: Word | None, other: Word | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.value == other.value and (one.unknown is None) == (other.unknown is None)
