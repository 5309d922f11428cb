"""What vLLM's ``FlexibleArgumentParser.parse_args`` makes of the words before argparse sees them.

Order of steps as in ``utils/argparse_utils.py``: the model option of ``vllm serve``, ``--config`` files, underscores and
``-O``, dotted JSON options. Which of them a release has is in its :class:`~lint_vllm.arguments.dialect.Dialect`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from lint_vllm.arguments.dialect import Dialect
from lint_vllm.arguments.model import Problem
from lint_vllm.arguments.tables import FlagTable
from lint_vllm.arguments.values import BadValue, human_readable_int
from lint_vllm.frozen import dataclass
from lint_vllm.known import Unknown
from lint_vllm.launch import Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_EXPANDS = pattern(r"[$`{}<(%]|\[\[")
_LISTS = pattern(r"[@*]|args|opts|options|flags|params|extra|arguments", re.I)
_PLACEHOLDER = pattern(
    r"\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Za-z_]\w*|\{\{.*\}\}|<[A-Za-z_][^<>]*>|\.\.\."
    r"|\b(?:YOUR|REPLACE|CHANGE)_\w+|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+){2,}$",
    re.S,
)
_LEVELS = frozenset("0123")
_FRACTION = pattern(r"-\d*\.\d+$")


@dataclass(frozen=True, slots=True)
class Piece:
    """One dotted option that became a part of a JSON value: where its keys and its value stand."""

    path: tuple[str, ...]
    name: Token
    value: Token


@dataclass(frozen=True, slots=True)
class Token:
    """One word for argparse; ``place`` has the same length as ``text``. ``many``: it may hide any number of words.

    ``parsed`` is the object of a dotted JSON value, ``pieces`` its parts.
    """

    text: str
    place: Text = field(repr=False)
    word: Word | None = field(default=None, repr=False)
    unknown: str | None = None
    many: bool = False
    conditional: bool = False
    setting: Setting | None = field(default=None, repr=False)
    from_config: bool = False
    parsed: object = None
    pieces: tuple[Piece, ...] = ()

    @property
    def span(self) -> Span:
        if self.word is not None and self.place.value == self.word.value:
            return self.word.value_span
        return self.place.span

    def cut(self, start: int, end: int | None = None) -> Token:
        stop = len(self.text) if end is None else end
        return replace(self, text=self.text[start:stop], place=self.place[start:stop])

    def spelled(self, text: str) -> Token:
        """The same place written differently."""
        if len(text) == len(self.text):
            return replace(self, text=text)
        return replace(self, text=text, place=Text.placed(text, self.span))

    @property
    def is_option(self) -> bool:
        """Starts like an option, with a name that is known."""
        return self.text.startswith("-") and not self.many


def token_of(word: Word) -> Token:
    """A word as it would reach vLLM. An unknown one that stands alone may be several words, or none."""
    text = word.value
    many = False
    if word.unknown is not None:
        name = text.partition("=")[0]
        many = (
            (text.startswith("-") and bool(_EXPANDS.search(name)))
            or (
                not word.quote and bool(text) and text[0] in "$`{<(%[" and bool(_LISTS.search(text) or text.startswith(("$(", "`")))
            )
            or text.strip('"') in ("$@", "${@}", "$*")
        )
    return Token(text, word.content, word, word.unknown, many, word.conditional)


def placeholder(text: str) -> bool:
    """Whether a text holds something that is put in later: ``${X}``, ``$(X)``, ``{{ x }}``, ``<x>``, ``YOUR_PORT``."""
    return bool(_PLACEHOLDER.search(text))


def without_templates(tokens: Iterable[Token]) -> list[Token]:
    """Words between ``{{`` and ``}}`` that were torn apart at blanks hide what they become."""
    found: list[Token] = []
    inside = False
    for token in tokens:
        opens, closes = token.text.rfind("{{"), token.text.rfind("}}")
        torn = inside or (opens >= 0 and opens > closes) or (opens < 0 <= token.text.find("}}{{"))
        inside = opens > closes if (opens >= 0 or closes >= 0) else inside
        found.append(replace(token, unknown=token.unknown or "part of a template", many=True) if torn else token)
    return found


@dataclass(slots=True)
class Trouble:
    """Problems met so far, and whether arguments may be missing."""

    problems: list[Problem] = field(default_factory=list)
    complete: bool = True

    def add(self, problem: Problem) -> None:
        self.problems.append(problem)


def model_option_first(tokens: list[Token], dialect: Dialect, trouble: Trouble) -> list[Token]:
    """``vllm serve``: ``--model`` is refused or its value moved to the front; a served name alone is refused."""
    pattern = dialect.model_option
    if pattern is not None:
        at = next((i for i, token in enumerate(tokens) if not token.many and re.fullmatch(pattern, token.text, re.S)), None)
        if at is not None:
            tokens = _move_model(tokens, at, dialect, trouble)
    if (
        dialect.name_needs_model
        and tokens
        and tokens[0].text.startswith("-")
        and not tokens[0].many
        and not any(re.match(r"^--config(=.+|$)", token.text) for token in tokens)
    ):
        named = next((token for token in tokens if re.match(r"^--served[-_]model[-_]name(=.+|$)", token.text)), None)
        if named is not None and not any(token.many for token in tokens):
            trouble.add(
                Problem(
                    "missing_value",
                    True,
                    "with --served-model-name, `vllm serve` wants the model as its first word",
                    named.span,
                    flag="--served-model-name",
                    words=_words(named),
                )
            )
    return tokens


def _move_model(tokens: list[Token], at: int, dialect: Dialect, trouble: Trouble) -> list[Token]:
    option = tokens[at]
    name, equals, _ = option.text.partition("=")
    value = option.cut(len(name) + 1) if equals else tokens[at + 1] if at + 1 < len(tokens) else None
    rest = at + 1 if equals else at + 2
    if dialect.model_option_action == "refused":
        words = _words(option) if equals or value is None else _words(option, value)
        message = "`vllm serve` takes the model as its first word, not as --model"
        trouble.add(Problem("bad_value", True, message, option.span, flag="--model", known_flag="--model", words=words))
    elif value is None:
        trouble.add(Problem("missing_value", True, "--model needs a value", option.span, flag="--model", known_flag="--model"))
    if value is None:
        return tokens[:at]
    return [value, *tokens[:at], *tokens[rest:]]


def _words(*tokens: Token) -> tuple[Word, ...]:
    return tuple(token.word for token in tokens if token.word is not None)


def config_tokens(settings: Iterable[Setting], dialect: Dialect, negatives: FlagTable | None, trouble: Trouble) -> list[Token]:
    """A ``--config`` file as words. ``negatives`` is the table whose ``--no-`` spellings the reading parser knows."""
    tokens: list[Token] = []
    for setting in settings:
        key = setting.name.value
        value, word = setting.literal, setting.value
        name = Token(
            f"--{key}",
            Text.placed(f"--{key}", setting.name.value_span),
            conditional=setting.conditional,
            setting=setting,
            from_config=True,
        )
        if word is not None and word.unknown is not None:
            tokens += [name, _value(word.value, setting)]
        elif isinstance(value, bool):
            if value:
                tokens.append(name)
            elif dialect.config_negatives and negatives is not None and f"--no-{key}" in negatives.by_flag:
                tokens.append(name.spelled(f"--no-{key}"))
            else:
                trouble.add(_dropped(setting, key))
        elif isinstance(value, list) and dialect.config_lists:
            if value:
                tokens += [name, *(_value(str(item), setting) for item in value)]
        elif isinstance(value, dict) and dialect.config_objects:
            tokens += [name, _value(json.dumps(value, default=str), setting)]
        else:
            tokens += [name, _value(str(value), setting)]
    return tokens


def _value(text: str, setting: Setting) -> Token:
    word = setting.value
    if word is None:
        place = Text.placed(text, setting.name.value_span)
    elif word.value == text:
        place = word.content
    else:
        place = Text.placed(text, word.value_span)
    unknown = word.unknown if word is not None else None
    return Token(text, place, None, unknown, conditional=setting.conditional, setting=setting, from_config=True)


def _dropped(setting: Setting, key: str) -> Problem:
    span = setting.name.value_span if setting.value is None else setting.name.value_span.to(setting.value.value_span)
    flag = "--" + key.replace("_", "-")
    message = f"{key}: false in a --config file has no effect in this release; write no-{flag[2:]}: true"
    return Problem(
        "ignored", False, message, span, flag=flag, value="false", suggestions=(f"no-{flag[2:]}: true",), setting=setting
    )


def normalized(tokens: Sequence[Token], dialect: Dialect) -> list[Token]:
    """Underscores of names become dashes; ``-O`` becomes what it stands for."""
    found: list[Token] = []
    for i, token in enumerate(tokens):
        text = token.text
        if token.many:
            found.append(token)
        elif text.startswith("--help="):
            found.append(token.spelled("--help"))
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            if dialect.underscores == "all":
                name = "--" + name[2:].replace("_", "-")
            else:
                head, dot, tail = name.partition(".")
                name = head.replace("_", "-") + dot + tail
            found.append(replace(token, text=name + equals + value))
        elif text.startswith("-O") and dialect.optimization is not None:
            found += _optimization(token, tokens[i + 1] if i + 1 < len(tokens) else None, dialect)
        else:
            found.append(token)
    return found


def _optimization(token: Token, following: Token | None, dialect: Dialect) -> list[Token]:
    text, target = token.text, dialect.optimization or ""
    if text == "-O":
        return [token.spelled(target) if following is not None and following.text in _LEVELS else token]
    if text[2] == "." and dialect.optimization_dotted is not None:
        return [token.spelled(dialect.optimization_dotted + text[2:])]
    start = 3 if text[2] == "=" else 2
    if target.startswith("-O."):
        return [token.spelled(f"{target}={text[start:]}")]
    return [token.cut(0, 2).spelled(target), token.cut(start)]


def dotted_merged(tokens: list[Token], dialect: Dialect, trouble: Trouble) -> list[Token]:
    """``--name.key value`` parts put together as one JSON value a name, at the end."""
    if dialect.dotted is None:
        return tokens
    kept: list[Token] = []
    merged: dict[str, list[Piece]] = {}
    i = 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        name, equals, _ = token.text.partition("=")
        starts = token.text.startswith("--" if dialect.dotted == "text" else "-")
        if token.many or not starts or "." not in name:
            kept.append(token)
            continue
        if _FRACTION.match(token.text):  # its leftovers ("-0" and an object) are refused whatever follows
            message = f"vLLM takes {token.text} for a dotted JSON option; join it to its option: --name={token.text}"
            trouble.add(Problem("bad_value", True, message, token.span, value=token.text, words=_words(token)))
            kept.append(token)
            continue
        if equals:
            value = token.cut(len(name) + 1)
        elif i < len(tokens):
            value = tokens[i]
            i += 1
        else:
            message = f"{name} is read as a dotted JSON option, and its value is missing"
            trouble.add(Problem("missing_value", True, message, token.span, flag=name, words=_words(token)))
            continue
        key, *path = name.rstrip("+").split(".") if dialect.dotted == "json" and name.endswith("+") else name.split(".")
        merged.setdefault(key, []).append(Piece(tuple(path), token.cut(0, len(name)), value))
    for key, pieces in merged.items():
        kept += _joined(key, pieces, dialect)
    return kept


def _joined(key: str, pieces: list[Piece], dialect: Dialect) -> list[Token]:
    whole: dict[str, object] = {}
    for piece in pieces:
        value: object = _leaf(piece, dialect)
        for part in reversed(piece.path):
            value = {part: value}
        if isinstance(value, dict):
            _update(whole, value, dialect.dotted == "json")
    first, last = pieces[0], pieces[-1]
    name = first.name.cut(0, len(key))
    span = first.value.span if len(pieces) == 1 else first.name.span.to(last.value.span)
    unknown = next((piece.value.unknown for piece in pieces if piece.value.unknown is not None), None)
    text = json.dumps(whole, default=str)
    conditional = any(piece.name.conditional for piece in pieces)
    value_token = Token(
        text,
        Text.placed(text, span),
        None,
        unknown,
        conditional=conditional,
        setting=first.value.setting,
        from_config=first.value.from_config,
        parsed=whole,
        pieces=tuple(pieces),
    )
    return [replace(name, conditional=conditional), value_token]


def _leaf(piece: Piece, dialect: Dialect) -> object:
    text = piece.value.text
    if piece.value.unknown is not None:
        return Unknown(piece.value.unknown)
    if dialect.dotted == "text":
        return text
    if piece.name.text.endswith("+"):
        return text.split(",")
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        pass
    if dialect.dotted_sizes:
        try:
            return human_readable_int(text)
        except (ValueError, OverflowError, BadValue):
            pass
    return text


def _update(original: dict[str, object], update: dict[str, object], extend: bool) -> None:
    for key, value in update.items():
        there = original.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            _update(there, value, extend)
        elif extend and isinstance(value, list) and isinstance(there, list):
            there += value
        else:
            original[key] = value
