"""Environment files (``.env``) and the variables by which start scripts and worker images configure vLLM."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.shell_values import Expander, Scope, Script, ShellWord, Variable, masked, pieces_of, word_of, words_in
from lint_vllm.launch import Deployment, EnvVar, Image, Launch, Setting, Word
from lint_vllm.packaged import data_text
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

_LINE = pattern(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|(?P<bare>[^\r\n]*?))[ \t]*(?P<comment>[ \t]#[^\r\n]*)?\r?$",
    re.MULTILINE,
)
_ARGUMENTS = pattern(r"(?:^|_)(?:ARGS|ARGUMENTS|OPTS|OPTIONS|FLAGS|PARAMS|CMD|COMMAND)$")
_LONGEST_JSON = 20_000
_OTHER_MODEL = pattern(r"EMBED|RERANK|DRAFT|SPEC|TOKENIZER|WHISPER|STT|TTS|ASR")
_CACHE = pattern(r"CACHE|_HOME$|_ROOT$")


@functools.cache
def _names() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(data_text("env_arguments.json"))
    return data


@functools.cache
def _option_names() -> frozenset[str]:
    """Options by which an environment variable is known to be one (own and shared ones)."""
    data = json.loads(data_text("telltale_options.json"))
    return frozenset([*data["own"], *data["shared"], *_names()["further"]])


@functools.cache
def _all_options() -> frozenset[str]:
    rows = data_text("flags/options.jsonl").splitlines()
    return frozenset(json.loads(row)[0].lstrip("-").replace("_", "-") for row in rows if row.startswith("["))


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """The launch that an environment file configures, if its variables are vLLM's options."""
    variables = tuple(variables_in(Text.of(source)))
    context = Context(source, follow=follow)
    launch = None
    if any(v.name.value.startswith(("OPTION_", "SM_VLLM_")) for v in variables):
        from lint_vllm.extract.option_env import option_launch

        launch = option_launch(variables, context)
    launch = launch or arguments_launch(variables, context)
    if launch is None:
        return Extraction()
    return Extraction((replace(launch, unresolved=(*launch.unresolved, "whoever reads these variables may add arguments")),))


def variables_in(text: Text) -> Iterator[EnvVar]:
    """The assignments of an environment file in order."""
    for found in _LINE.finditer(text.value):
        group = next(g for g in ("double", "single", "bare") if found.group(g) is not None)
        name = text[found.start("name") : found.end("name")]
        content = text[found.start(group) : found.end(group)]
        quote = {"double": '"', "single": "'"}.get(group, "")
        around = text[found.start(group) - len(quote) : found.end(group) + len(quote)].span
        script = masked(content, placeholders=False)
        expander = Expander(script, Scope())
        pieces = (
            expander.value(0, len(script.value), heredoc=True)
            if quote != "'"
            else tuple(b.piece for b in expander.literal(0, len(script.value)))
        )
        value = word_of(pieces, around, content[:0], quote)
        span = text[found.start("name") : found.end(group) + len(quote)].span
        yield EnvVar(Word(name, name.span), value, span, "env_file")


def read_env_file(text: Text) -> dict[str, EnvVar]:
    """The variables of an ``--env-file`` or ``env_file:`` by name."""
    return {v.name.value: v for v in variables_in(text)}


def arguments_launch(variables: Sequence[EnvVar], context: Context) -> Launch | None:
    """A launch configured by variables alone: a string of arguments (``VLLM_ARGS=--dtype half``) or one variable an option."""
    return _by_argument_string(variables, context) or _by_json(variables, context) or _by_names(variables, context)


def _by_argument_string(variables: Sequence[EnvVar], context: Context) -> Launch | None:
    from lint_vllm.extract.processes import proves_vllm

    for at, variable in enumerate(variables):
        value = variable.value
        if value is None or not _ARGUMENTS.search(variable.name.value.upper()) or "--" not in value.value:
            continue
        words = split_value(value)
        flags = [w.value for w in words if w.value.startswith("--")]
        if not words or not words[0].value.startswith("-") or not proves_vllm(flags):
            continue
        settings: tuple[Setting, ...] = ()
        if not any(f.split("=")[0] == "--model" for f in flags):
            model = _model_beside(variables, at)
            settings = (_setting(model, "model"),) if model is not None else ()
        first = min((s.name.span for s in settings), key=lambda s: s.start, default=variable.name.span)
        block = first.to(variable.span) if first.start < variable.span.start else variable.span
        return _launch(variable.name.span, block, context, "env", words, settings)
    return None


def _by_json(variables: Sequence[EnvVar], context: Context) -> Launch | None:
    """One variable that holds all options as a JSON object (``VLLM_ENGINE_ARGS={"max_model_len": 8192}``)."""
    from lint_vllm.extract.json_text import parse_json
    from lint_vllm.extract.processes import proves_vllm
    from lint_vllm.extract.structure import Leaf, Map

    for at, variable in enumerate(variables):
        value = variable.value
        if value is None or not value.value.startswith("{") or not _ARGUMENTS.search(variable.name.value.upper()):
            continue
        source, start = value.content.span.source, value.content.span.start
        cut = not value.quote and value.value.count("{") > value.value.count("}")
        whole = Text.of(source, start, min(len(source.text), start + _LONGEST_JSON)) if cut else value.content
        root = parse_json(whole).root
        if not isinstance(root, Map) or not proves_vllm([pair.key.value for pair in root.pairs]):
            continue
        settings = []
        for pair in root.pairs if not cut else ():
            leaf = pair.value
            word = leaf.word if isinstance(leaf, Leaf) else Word(Text.of(source, leaf.span.start, leaf.span.end), leaf.span)
            flag = pair.key.value.replace("_", "-")
            settings.append(Setting(pair.key, flag, word, leaf.literal if isinstance(leaf, Leaf) else None))
        model = None if any(setting.flag == "model" for setting in settings) else _model_beside(variables, at)
        if model is not None:
            settings.insert(0, _setting(model, "model"))
        launch = _launch(variable.name.span, variable.span, context, "env", (), settings)
        return replace(launch, cut=value if cut else None)
    return None


def array_launch(variables: Mapping[str, Variable], context: Context, text: Text) -> Launch | None:
    """The launch that a sourced settings file describes: an array (or string) of options, with scalars beside it."""
    from lint_vllm.extract.processes import proves_vllm

    words: list[Word] = []
    place: Span | None = None
    client = {"backend", "dataset", "dataset-name", "dataset-path", "num-prompts", "request-rate", "result-dir"}
    beside: list[EnvVar] = []
    for name, variable in variables.items():
        if variable.name is None or variable.entry is None or variable.name.source is not context.source:
            continue
        items = variable.items
        if items is None and _ARGUMENTS.search(name.upper()) and variable.text.lstrip().startswith("--"):
            items = tuple(w for w in split_value(_word(variable)) if isinstance(w, ShellWord))
        if items is None:
            beside.append(EnvVar(Word(variable.name, variable.name.span), _word(variable), variable.entry, "shell"))
            continue
        first = next((at for at, item in enumerate(items) if item.value.startswith("--")), len(items))
        flags = [i.value.lstrip("-").split("=", 1)[0].replace("_", "-") for i in items if i.value.startswith("--")]
        if not flags or client & set(flags):
            continue
        if place is None and proves_vllm(flags):
            words.extend(items[first:])
            place = variable.name.span
        elif place is not None and first == 0 and _all_options().issuperset(flags):
            # A second list beside the main one is added on demand.
            words.extend(replace(i, conditional=True) for i in items)
    if place is None:
        return None
    said = {w.value.lstrip("-").split("=", 1)[0].replace("_", "-") for w in words if w.value.startswith("--")}
    settings: list[Setting] = []
    for variable_ in beside:
        flag = _flag(variable_.name.value)
        if flag is not None and flag not in said and flag != "model" and variable_.value is not None and variable_.value.value:
            settings.append(_setting(variable_, flag))
    model = next((v for name in _names()["model"] for v in beside if v.name.value == name and v.value and v.value.value), None)
    if model is None and "model" not in said:
        return None
    if model is not None and "model" not in said:
        settings.insert(0, _setting(model, "model"))
    return replace(_launch(place, text.span, context, "shell settings", words, settings), form="other")


def _word(variable: Variable) -> Word:
    assert variable.name is not None
    assert variable.entry is not None
    return word_of(variable.pieces, variable.entry, variable.name[:0])


def split_value(value: Word) -> list[Word]:
    """A string of arguments divided as a shell would divide it."""
    script = Script.of_pieces(pieces_of(value), value.content[:0])
    return list(words_in(script, Expander(script, Scope())))


def _model_beside(variables: Sequence[EnvVar], at: int) -> EnvVar | None:
    """The variable that names the model of an argument string: the nearest one before it, else behind it."""
    for variable in (*reversed(variables[:at]), *variables[at:]):
        name = variable.name.value.upper()
        named = name in _names()["model"] or re.search(r"(?:MODEL|REPO)(?:_ID|_NAME|_PATH)?$", name)
        filled = variable.value is not None and variable.value.value
        if named and filled and not _OTHER_MODEL.search(name) and not _CACHE.search(name):
            return variable
    return None


def _by_names(variables: Sequence[EnvVar], context: Context) -> Launch | None:
    from lint_vllm.extract.processes import proves_vllm

    settings: list[Setting] = []
    for variable in variables:
        flag = _flag(variable.name.value)
        if flag is not None and variable.value is not None and variable.value.value:
            settings.append(_setting(variable, flag))
    if not proves_vllm([s.flag for s in settings], 2):
        return None
    model = next(
        (v for name in _names()["model"] for v in variables if v.name.value == name and v.value is not None and v.value.value), None
    )
    if model is None:
        return None
    place = min((s.name.span for s in settings), key=lambda s: s.start)
    spans = [v.span for v in variables]
    block = min(spans, key=lambda s: s.start).to(max(spans, key=lambda s: s.end))
    return _launch(place, block, context, "env", (), (_setting(model, "model"), *settings))


def _flag(name: str) -> str | None:
    bare = name.removeprefix("VLLM_")
    alias: str | None = _names()["aliases"].get(bare)
    if alias is not None:
        return alias
    dashed = bare.lower().replace("_", "-")
    if dashed == "port" and bare != name:
        return None
    return dashed if dashed in _option_names() else None


def _setting(variable: EnvVar, flag: str) -> Setting:
    literal = variable.value.value if variable.value is not None else None
    return Setting(variable.name, flag, variable.value, literal)


def _launch(place: Span, block: Span, context: Context, wrapper: str, words: Sequence[Word], settings: Sequence[Setting]) -> Launch:
    return Launch(
        context.source,
        "env",
        context.site or f"line {place.line}",
        place,
        context.block or block,
        words=tuple(words),
        settings=tuple(settings),
        env=context.env,
        image=context.image,
        hints=context.hints,
        deployment=context.deployment or Deployment("other", block),
        wrapper=wrapper,
        passage=context.passage,
    )


def worker_launch(variables: Sequence[EnvVar], image: Image, context: Context) -> Launch | None:
    """The launch of an image that takes its arguments from the environment (data/env_arguments.json, DJL's ``OPTION_*``)."""
    worker = next((w for w in _names()["workers"] if re.search(w["match"], image.name)), None)
    if worker is None:
        if any(v.name.value.startswith(("OPTION_", "SM_VLLM_")) for v in variables):
            from lint_vllm.extract.option_env import option_launch

            return option_launch(variables, context, image, context.block)
        return None
    aliases: Mapping[str, str] = worker["aliases"]
    settings: list[Setting] = []
    words: list[Word] = []
    rest: dict[str, EnvVar] = {}
    for variable in variables:
        name = variable.name.value
        dashed = name.lower().replace("_", "-")
        if name in worker["model"]:
            settings.insert(0, _setting(variable, "model"))
        elif name == worker["extra"] and variable.value is not None:
            words.extend(split_value(variable.value))
        elif name in aliases:
            settings.append(_setting(variable, aliases[name]))
        elif dashed in _all_options():
            settings.append(_setting(variable, dashed))
        else:
            rest[name] = variable
    if not settings:
        return None
    inside = replace(context, env=MappingProxyType({k: v for k, v in context.env.items() if k in rest}), image=image)
    place = min((s.name.span for s in settings), key=lambda s: s.start)
    return _launch(place, image.span.to(place), inside, worker["wrapper"], words, settings)


__all__ = ["arguments_launch", "array_launch", "extract", "read_env_file", "split_value", "variables_in", "worker_launch"]
