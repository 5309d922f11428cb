"""A launch read exactly as the parser of one vLLM release reads it."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from lint_vllm.arguments import tokens as words
from lint_vllm.arguments.checks import broken, message_of
from lint_vllm.arguments.config_file import UnreadableConfig, read_config
from lint_vllm.arguments.dialect import Dialect, dialect_of
from lint_vllm.arguments.explain import Explainer
from lint_vllm.arguments.json_place import json_key_span, json_value_span
from lint_vllm.arguments.matching import Outcome, Refusal, Use, match
from lint_vllm.arguments.model import Argument, ArgumentSet, Problem
from lint_vllm.arguments.objects import lora_modules, prompt_adapters, store_boolean
from lint_vllm.arguments.python_call import read_call
from lint_vllm.arguments.schema import SchemaError, validate_field, validate_object
from lint_vllm.arguments.tables import FlagTable, Option, table_for
from lint_vllm.arguments.tokens import Token, Trouble, token_of
from lint_vllm.arguments.values import BadValue, Reader
from lint_vllm.known import Known, Unknown
from lint_vllm.launch import Launch, Setting
from lint_vllm.source import SourceFile, Span, Text

ConfigReader = Callable[[str], "SourceFile | None"]
"""A ``--config`` path as written -> its file; ``None`` where it cannot be looked at. Raises ``OSError`` for a missing one."""

_HELP = Option("--help", "help", ("-h", "--help"), kind="help")
ENGINE_CLASSES = (
    "CacheConfig",
    "ParallelConfig",
    "SchedulerConfig",
    "ModelConfig",
    "LoRAConfig",
    "LoadConfig",
    "MultiModalConfig",
    "ObservabilityConfig",
    "OffloadConfig",
    "UVAOffloadConfig",
    "PrefetchOffloadConfig",
)
"""Classes that vLLM builds from single arguments of the same names (``EngineArgs.create_engine_config``)."""
OPEN_VALUES = {"tool_call_parser": "tool_parser_plugin", "reasoning_parser": "reasoning_parser_plugin", "kv_cache_dtype": None}
"""Options that take any string and are checked against vLLM's own list later, and the option that may add to the list.
(``quantization`` is not here: the checkpoint may turn a name that is not in the list into one that is.)"""
_NOT_VALUES = frozenset({"model", "model_tag", "config"})


def read_launch(launch: Launch, release: Known[str], config_reader: ConfigReader | None = None) -> ArgumentSet:
    """The arguments of a launch and everything its parser objects to. Never raises on what the launch holds.

    ``config_reader`` is asked for ``--config`` files that the launch's settings do not already stand for.
    """
    table = table_for(release.value).table
    if launch.form == "python":
        call = read_call(launch, release, table)
        return call if launch.wrapper is None else replace(call, problems=(), late_problems=(), complete=False)
    found = _Reading(launch, release, table, config_reader).read()
    delegate = dialect_of(table.release).delegates or _plugin_word(launch)
    if launch.form == "other":  # another program reads the words first: what it refuses is not known
        return replace(found, problems=(), late_problems=(), complete=False)
    if delegate is not None and any(word.value == delegate for word in launch.words):
        # another package reads them, where it is installed; without it this one word is refused
        own = tuple(problem for problem in found.problems if problem.flag == delegate)
        return replace(found, problems=own, late_problems=(), complete=False)
    return found


def _plugin_word(launch: Launch) -> str | None:
    """The word by which a plug-in takes the command line over, in releases that do not know of it."""
    from lint_vllm.arguments.causes import plugin_package

    return next((word.value for word in launch.words if word.value.startswith("--") and plugin_package(word.value)), None)


def read_in_folder(launch: Launch, version: str, folder: str | os.PathLike[str]) -> ArgumentSet:
    """A launch as ``version`` reads it, with ``--config`` files looked for in ``folder``."""

    def reader(path: str) -> SourceFile:
        return SourceFile.read(os.path.join(os.fspath(folder), path))

    return read_launch(launch, Known(version, "given"), reader)


@functools.lru_cache(maxsize=64)
def flags_of(table: FlagTable, form: str) -> Mapping[str, Option]:
    """Every spelling that ``vllm serve`` (``serve``) or the module (``api_server``) knows, help included."""
    own = {flag: option for flag, option in table.by_flag.items() if option.only in (None, form)}
    return MappingProxyType({"-h": _HELP, "--help": _HELP, **own})


class _Reading:
    def __init__(self, launch: Launch, release: Known[str], table: FlagTable, config_reader: ConfigReader | None) -> None:
        self.launch = launch
        self.release = release
        self.table = table
        self.dialect: Dialect = dialect_of(table.release)
        self.form = self._form()
        self.flags = flags_of(table, self.form)
        self.reader = Reader(table, self.dialect)
        self.config_reader = config_reader
        self.trouble = Trouble()
        self.explain = Explainer(table, self.form, self.flags)
        self.arguments: list[Argument] = []
        self.model_word: str | None = None
        self.spoiled: set[str] = set()
        """Dests whose value could not be read."""

    def _form(self) -> str:
        if self.launch.form == "api_server":
            return "api_server"
        if self.launch.form == "image" and self.dialect.image_entry == "either":
            first = self.launch.words[0].value if self.launch.words else "-"
            return "api_server" if first.startswith("-") else "serve"
        if self.launch.form == "image":
            return self.dialect.image_entry
        return "serve"

    # ------------------------------------------------------------ reading
    def read(self) -> ArgumentSet:
        tokens = self._tokens()
        positional = "model_tag" in self.table.by_dest and self.table.by_dest["model_tag"].only in (None, self.form)
        outcome = match(tokens, self.flags, positional)
        self.model_word = outcome.model.text if outcome.model is not None else None
        if self.launch.unresolved or outcome.hidden or any(token.many for token in tokens):
            self.trouble.complete = False
        early = list(self.trouble.problems)
        ambiguous, spoken, unowned = self._refusals(outcome)
        read = [self._use(use) for use in outcome.uses]
        spoken += [(at, problem) for at, problem in read if problem is not None]
        order = {id(token): i for i, token in enumerate(tokens)}
        spoken.sort(key=lambda item: order.get(item[0], len(order)))
        model, model_span, missing = self._model(outcome)
        problems = [
            *(self._swallowed(p) for p in early if p.is_error),
            *ambiguous,
            *(problem for _, problem in spoken),
            *map(self._swallowed, missing),
            *unowned,
        ]
        values = self._values()
        if not problems:
            problems += self._checks("parser", values)
        late = self._late(values, model, model_span)
        problems += [p for p in early if not p.is_error] + self._duplicates() + self._without_effect(outcome)
        return ArgumentSet(
            launch=self.launch,
            release=self.release,
            arguments=tuple(self.arguments),
            problems=tuple(problems),
            model=model,
            model_span=model_span,
            values=values,
            defaults=self.table.defaults,
            complete=self.trouble.complete,
            late_problems=tuple(late),
            form=self.form,
            unset_on=self.dialect.unset_on,
        )

    def _tokens(self) -> list[Token]:
        """All words as argparse gets them."""
        found = words.without_templates(token_of(word) for word in self.launch.words)
        if self.form == "serve":
            found = words.model_option_first(found, self.dialect, self.trouble)
        at = next((i for i, token in enumerate(found) if token.text == "--config" and token.unknown is None), None)
        if at is not None:
            found = self._with_config(found, at)
        elif self.launch.settings:
            found = [*self._setting_tokens(self.launch.settings), *found]
        return words.dotted_merged(words.normalized(found, self.dialect), self.dialect, self.trouble)

    def _setting_tokens(self, settings: Sequence[Setting]) -> list[Token]:
        negatives = self.table if self.form == "api_server" else None
        if self.launch.form in ("chart", "env", "other"):
            return [token for setting in settings for token in _spelt_out(setting, self.flags)]
        return words.config_tokens(settings, self.dialect, negatives, self.trouble)

    def _with_config(self, found: list[Token], at: int) -> list[Token]:
        """``--config FILE`` replaced by what the file holds, below the words (``_pull_args_from_config``)."""
        option = found[at]
        others = [token for token in found[at + 1 :] if token.text == "--config"]
        if others:
            self.trouble.add(
                Problem("conflict", True, "--config is given twice", others[0].span, "--config", "--config", related=option.span)
            )
        if at == len(found) - 1:
            self.trouble.add(Problem("missing_value", True, "--config needs a file", option.span, "--config", "--config"))
            return found[:at]
        file = found[at + 1]
        from_file = self._config_file(file)
        before, after = found[:at], found[at + 2 :]
        if self.form == "api_server":
            first = before[0] if before else option
            if self.dialect.config_leading and first.text.startswith("-"):
                return [*from_file, *before, *after]
            return [first, *from_file, *before[1:], *after]
        if self.dialect.config_needs == "word":
            if at == 0:
                message = "`vllm serve` of this release wants the model before --config"
                self.trouble.add(Problem("missing_value", True, message, option.span, "--config"))
            return [*before[:1], *from_file, *before[1:], *after]
        if before and not before[0].text.startswith("-"):
            return [before[0], *from_file, *before[1:], *after]
        if not any(token.text == "--model" for token in from_file) and self.trouble.complete:
            message = "no model: neither the first word nor a `model` key of the --config file"
            self.trouble.add(Problem("missing_value", True, message, option.span, "--config"))
        return [*from_file, *before, *after]

    def _config_file(self, file: Token) -> list[Token]:
        ending = file.text.rpartition(".")[2]
        settings = self.launch.settings
        if file.unknown is None and ending not in ("yaml", "yml"):
            message = f"a --config file ends in .yaml or .yml, not in {ending!r}"
            self._bad_config(file, message)
            return []
        if not settings and file.unknown is None and self.config_reader is not None:
            try:
                source = self.config_reader(file.text)
                settings = () if source is None else read_config(source)
                if source is None:
                    self.trouble.complete = False
            except UnreadableConfig as error:
                self._bad_config(file, f"{file.text}: {error}", error.span)
            except (OSError, ValueError):
                self._bad_config(file, f"the --config file {file.text} cannot be read")
        elif not settings:
            self.trouble.complete = False
        return self._setting_tokens(settings)

    def _bad_config(self, file: Token, message: str, related: Span | None = None) -> None:
        owner = () if file.word is None else (file.word,)
        self.trouble.add(
            Problem("bad_value", True, message, file.span, "--config", "--config", file.text, words=owner, related=related)
        )

    # ------------------------------------------------------------ options
    def _use(self, use: Use) -> tuple[int, Problem | None]:
        """One occurrence as an argument; the problem of its value, if any."""
        option, problem, value = use.option, None, None
        try:
            value = self._value(use)
        except BadValue as error:
            problem = self._bad_value(use, error)
            self.spoiled.add(option.dest)
            value = Unknown("vLLM refuses the value")
        name = use.name
        typed = name.place.value if len(name.place.value) == len(name.text) else name.text  # underscores as written
        if use.attached and use.values:
            typed = typed.partition("=")[0] if "=" in typed else typed[: len(use.spelling)]
            name = name.cut(0, len(typed))
        given = list(use.values)
        span = None if not given else given[0].span.to(given[-1].span)
        setting = use.name.setting
        argument = Argument(
            dest=option.dest,
            flag=option.flag,
            value=value,
            name_span=use.name.span if name is use.name else name.span,
            value_span=span,
            raw=None if not given else " ".join(token.text for token in given),
            name=use.name.word,
            words=tuple(token.word for token in given if token.word is not None and not use.attached),
            setting=setting,
            spelled=typed if setting is None else setting.name.value,
            conditional=use.name.conditional,
            from_config=use.name.from_config,
        )
        if problem is not None:
            problem = replace(problem, argument=argument)
        self.arguments.append(argument)
        return id(use.name), problem

    def _value(self, use: Use) -> object:
        option = use.option
        if option.kind == "true":
            return True
        if option.kind == "false":
            return False
        if option.kind == "bool":
            return use.spelling not in option.off
        if option.kind == "const":
            return option.const
        if not use.values:
            value: object = option.const
        else:
            read = [self._one(option, token) for token in use.values]
            value = read if option.nargs is not None and option.nargs != "?" else read[0]
        if option.kind == "append":
            return [value]
        if option.kind == "StoreBoolean":
            return store_boolean(value)
        if option.kind == "LoRAParserAction":
            return lora_modules(value, self.dialect)
        if option.kind == "PromptAdapterParserAction":
            return prompt_adapters(value)
        return value

    def _one(self, option: Option, token: Token) -> object:
        if token.unknown is None:
            try:
                return self.reader.read(option, token.text)
            except BadValue:
                if not words.placeholder(token.text):
                    raise
                return Unknown(f"{token.text} is a placeholder")
        if isinstance(token.parsed, dict) and option.config_class is not None:
            try:
                return self.reader.checked(option.config_class, validate_object(self.table, option.config_class, token.parsed))
            except SchemaError as error:
                raise BadValue(str(error), error.path, error.expected) from None
        if isinstance(token.parsed, dict):
            return token.parsed
        return Unknown(token.unknown)

    def _bad_value(self, use: Use, error: BadValue) -> Problem:
        token = use.values[0] if use.values else use.name
        for candidate in use.values:
            try:
                self._one(use.option, candidate)
            except BadValue:
                token = candidate
                break
        span = token.span
        for piece in token.pieces:
            if error.key and piece.path == error.key[: len(piece.path)]:
                span = piece.value.span if len(error.key) > len(piece.path) or not error.expected else piece.name.span
        if not token.pieces and error.key:
            unknown_key = "has no key" in str(error)
            place = json_key_span(token.place, error.key) if unknown_key else json_value_span(token.place, error.key)
            span = place or span
        return self.explain.bad_value(use, token, error, span)

    # ------------------------------------------------------------ problems
    def _refusals(self, outcome: Outcome) -> tuple[list[Problem], list[tuple[int, Problem]], list[Problem]]:
        """By the moment at which vLLM would stop: while classifying, while consuming, at the end."""
        ambiguous: list[Problem] = []
        spoken: list[tuple[int, Problem]] = []
        unowned: list[Problem] = []
        for refusal in outcome.refusals:
            if refusal.kind == "ambiguous":
                ambiguous.append(self.explain.refusal(refusal))
            elif refusal.kind in ("unknown", "stray"):
                unowned.append(self.explain.refusal(refusal))
            else:
                if refusal.option is not None:
                    self.spoiled.add(refusal.option.dest)
                spoken.append((id(refusal.token), self.explain.refusal(refusal)))
            self._doubt(refusal)
        return ambiguous, spoken, unowned

    def _doubt(self, refusal: Refusal) -> None:
        """What a refused word was meant to set is not known."""
        for name in (*refusal.candidates, *self.explain.meant(refusal)):
            option = self.flags.get(name)
            if option is not None:
                self.spoiled.add(option.dest)

    def _model(self, outcome: Outcome) -> tuple[str | Unknown | None, Span | None, list[Problem]]:
        given = self._given("model")
        word = outcome.model if self.form == "serve" else None
        if word is not None:
            if word.unknown is not None:
                return Unknown(word.unknown), word.span, []
            return word.text, word.span, []
        tag = self.table.by_dest.get("model_tag")
        required = self.form == "serve" and tag is not None and tag.nargs is None
        if given is not None and not required:
            value = given.value if isinstance(given.value, str | Unknown) else str(given.value)
            return value, given.value_span, []
        if not self.trouble.complete or self.launch.form == "config":
            return Unknown("the model is given elsewhere"), None, []
        if required:
            if any(problem.kind == "missing_value" for problem in self.trouble.problems):
                return None, None, []
            problem = Problem("missing_value", True, "`vllm serve` needs a model", self.launch.command, flag="model_tag")
            return None, None, [problem]
        default = self.table.defaults.get("model")
        return default if isinstance(default, str) else None, None, []

    def _swallowed(self, problem: Problem) -> Problem:
        """A missing model, with the argument that seems to have taken it along."""
        if problem.kind != "missing_value" or problem.known_flag is not None:
            return problem
        taker = next((a for a in reversed(self.arguments) if self._swallows(a)), None)
        return replace(problem, argument=taker) if taker is not None else problem

    def _swallows(self, argument: Argument) -> bool:
        option = self.flags.get(argument.flag)
        return option is not None and option.takes_many and len(argument.words) > 1

    def _values(self) -> Mapping[str, object]:
        found: dict[str, object] = {}
        for argument in self.arguments:
            dest = argument.dest
            if dest in _NOT_VALUES:
                continue
            if argument.conditional:
                found.pop(dest, None)
                continue
            option = self.table.by_dest[dest] if argument.flag not in self.flags else self.flags[argument.flag]
            value = argument.value
            if option.kind == "append" and isinstance(value, list):
                there = found.get(dest, option.default)
                value = [*(there if isinstance(there, list) else []), *value]
            found[dest] = value
        return {dest: reduced for dest, value in found.items() if (reduced := self._reduced(dest, value)) is not _DEFAULT}

    def _reduced(self, dest: str, value: object) -> object:
        """A value without what equals the defaults; ``_DEFAULT`` when nothing is left."""
        option = self.table.by_dest[dest]
        default = option.default
        if option.config_class is not None and isinstance(value, dict):
            cls = self.table.classes.get(option.config_class)
            if cls is not None:
                value = {k: v for k, v in value.items() if k not in cls.fields or not _equal(v, cls.fields[k].default)}
            if option.config_class == "CompilationConfig":
                value = {**self.dialect.compilation_fills, **value}
            if isinstance(default, dict) and not value:
                return _DEFAULT
            return value
        return _DEFAULT if _equal(value, default) else value

    def _lookup(self, values: Mapping[str, object]) -> Callable[[str], object]:
        """A value in effect by dest (or ``dest.key``, ``env:NAME``, ``form``); ``Unknown`` where it is not known."""

        def lookup(name: str) -> object:
            if name == "form":
                return self.form
            if name == "model_tag":
                return self.model_word
            if name.startswith("env:"):
                return self._variable(name[4:])
            dest, dot, key = name.partition(".")
            if dot:
                whole = lookup(dest)
                return whole.get(key) if isinstance(whole, dict) else whole if isinstance(whole, Unknown) else None
            if dest in self.spoiled:
                return Unknown("the value is refused")
            if dest in values:
                return values[dest]
            argument = self._given(dest)
            if argument is not None:
                return Unknown("a condition decides") if argument.conditional else argument.value
            if not self.trouble.complete:
                return Unknown("arguments may be missing")
            return None if dest == "model" else self.table.defaults.get(dest)

        return lookup

    def _variable(self, name: str) -> object:
        variable = self.launch.env.get(name)
        if variable is None:
            return Unknown("the environment may be set elsewhere") if self.launch.source.path[:1] != "<" else None
        return Unknown("a secret or variable") if variable.value is None or variable.value.unknown else variable.value.value

    def _given(self, dest: str) -> Argument | None:
        return next((argument for argument in reversed(self.arguments) if argument.dest == dest), None)

    def _checks(self, stage: str, values: Mapping[str, object]) -> list[Problem]:
        lookup = self._lookup(values)
        found = []
        for check in broken("serve", stage, self.table.release, lookup):
            argument = self._given(check.at)
            if argument is not None or check.at in self.table.by_dest:
                found.append(self.explain.check(check, message_of(check, lookup), argument, self.launch.command))
        return found

    def _late(self, values: Mapping[str, object], model: str | Unknown | None, span: Span | None) -> list[Problem]:
        """What the configuration classes object to once the parser has accepted."""
        found = self._checks("config", values)
        if isinstance(model, str) and model.startswith("-") and span is not None:
            word = next((word for word in self.launch.words if word.value_span == span), None)
            found.append(self.explain.option_as_model(model, span, self.table.release, () if word is None else (word,)))
        seen = {problem.argument.dest for problem in found if problem.argument is not None}
        for dest in dict.fromkeys(argument.dest for argument in self.arguments):
            argument = self._given(dest)
            if argument is None or dest in seen or dest in self.spoiled or argument.conditional:
                continue
            problem = self._late_value(argument)
            if problem is not None:
                found.append(problem)
        return found

    def _late_value(self, argument: Argument) -> Problem | None:
        value, dest = argument.value, argument.dest
        if not isinstance(value, str | int | float):
            return None
        known = self.table.values.get(dest) if dest in OPEN_VALUES else None
        if known and isinstance(value, str) and value not in known and self._given(OPEN_VALUES[dest] or "") is None:
            return self.explain.late_value(
                argument, f"vLLM {self.table.release} brings no {dest.replace('_', ' ')} {value!r}", known
            )
        errors = []
        for name in ENGINE_CLASSES:
            cls = self.table.classes.get(name)
            field = cls.fields.get(dest) if cls is not None else None
            if cls is None or field is None or not (cls.extra == "forbid" or field.limits):
                continue
            try:
                validate_field(self.table, field, value)
                return None
            except SchemaError as error:
                errors.append(error)
        return self.explain.late_value(argument, f"{argument.flag}: {errors[0]}", errors[0].expected) if errors else None

    def _duplicates(self) -> list[Problem]:
        last: dict[str, Argument] = {}
        found = []
        for argument in self.arguments:
            option = self.flags.get(argument.flag)
            if argument.from_config or argument.conditional or option is None or option.kind == "append":
                continue
            earlier = last.get(argument.dest)
            if earlier is not None:
                found.append(self.explain.duplicate(earlier, argument))
            last[argument.dest] = argument
        return found

    def _without_effect(self, outcome: Outcome) -> list[Problem]:
        found = []
        if self.form == "api_server" and outcome.model is not None:
            found.append(self.explain.ignored_model(outcome.model))
        for argument in self.arguments:
            if argument.dest == "config" and not argument.from_config and not argument.words and argument.value_span is not None:
                found.append(self.explain.ignored_config(argument))
        return found


_DEFAULT = object()


def _equal(a: object, b: object) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return a == b


_ON = frozenset({"true", "1", "yes", "on"})


def _spelt_out(setting: Setting, flags: Mapping[str, Option]) -> list[Token]:
    """A chart field or wrapper variable as the words the wrapper makes of it; empty ones are left out."""
    flag = f"--{setting.flag}"
    name = Token(flag, Text.placed(flag, setting.name.value_span), conditional=setting.conditional, setting=setting)
    value, literal = setting.value, setting.literal
    if value is None:
        return [name]
    option = flags.get(flag)
    if value.unknown is not None:
        if option is not None and option.is_switch:
            return [replace(name, conditional=True)]
        return [name, Token(value.value, value.content, None, value.unknown, conditional=setting.conditional, setting=setting)]
    if isinstance(literal, bool) or (option is not None and option.is_switch):
        on = literal if isinstance(literal, bool) else value.value.strip().lower() in _ON
        return [name] if on else []
    if value.value == "" or (literal is None and value.value in ("null", "~")):
        return []
    items = literal if isinstance(literal, list) else [literal]
    texts = [value.value if item is None or (isinstance(item, str) and len(items) == 1) else _text_of(item) for item in items]
    places = [value.content if text == value.value else Text.placed(text, value.value_span) for text in texts]
    return [
        name,
        *(
            Token(text, place, None, conditional=setting.conditional, setting=setting)
            for text, place in zip(texts, places, strict=True)
        ),
    ]


def _text_of(value: object) -> str:
    return json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
