"""Words to options as Python's argparse matches them (3.11, which the later versions follow for vLLM's parsers).

Source: CPython 3.11 ``argparse.ArgumentParser._parse_known_args``, ``_parse_optional``, ``_get_option_tuples``,
``_match_argument``. Unlike argparse this goes on after an error, so that every problem of a launch is found at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from lint_vllm.arguments.tables import Option
from lint_vllm.arguments.tokens import Token
from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern

_NEGATIVE_NUMBER = pattern(r"^-\d+$|^-\d*\.\d+$")


@dataclass(frozen=True, slots=True)
class Match:
    """An option string and what follows from it: the option, the spelling argparse settled on, an attached value."""

    option: Option | None
    spelling: str
    attached: Token | None = None
    candidates: tuple[str, ...] = ()
    """More than one: ambiguous."""


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of an option with its value words."""

    option: Option
    name: Token
    spelling: str
    values: tuple[Token, ...]
    attached: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why argparse would stop: ``unknown``, ``ambiguous``, ``missing_value``, ``unexpected_value``, ``stray``, ``help``."""

    kind: str
    token: Token
    option: Option | None = None
    spelling: str = ""
    following: tuple[Token, ...] = ()
    candidates: tuple[str, ...] = ()
    value: Token | None = None
    after: Use | None = None
    """For a stray word: the switch it stands behind."""


@dataclass(slots=True)
class Outcome:
    uses: list[Use] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    model: Token | None = None
    hidden: list[Token] = field(default_factory=list)
    """Words whose number is unknown and that were met outside a value."""


def split_name(token: Token) -> Token:
    """The part before ``=``."""
    return token.cut(0, token.text.find("=")) if "=" in token.text else token


def classify(token: Token, flags: Mapping[str, Option]) -> Match | None:
    """The option a word is, or ``None`` for a plain argument (``_parse_optional``)."""
    text = token.text
    if token.many or not text.startswith("-"):
        return None
    if text in flags:
        return Match(flags[text], text)
    if len(text) == 1:
        return None
    name, equals, _ = text.partition("=")
    attached = token.cut(len(name) + 1) if equals else None
    if equals and name in flags:
        return Match(flags[name], name, attached)
    found = _abbreviations(token, name, attached, flags)
    if len(found) > 1:
        return Match(None, name, attached, tuple(match.spelling for match in found))
    if found:
        return found[0]
    if _NEGATIVE_NUMBER.match(text) or " " in text:
        return None
    return Match(None, name, attached)


def _abbreviations(token: Token, name: str, attached: Token | None, flags: Mapping[str, Option]) -> list[Match]:
    text = token.text
    if text.startswith("--"):
        return [Match(option, flag, attached) for flag, option in flags.items() if flag.startswith(name)]
    found = []
    for flag, option in flags.items():
        if flag == text[:2]:
            found.append(Match(option, flag, token.cut(2)))
        elif flag.startswith(text):
            found.append(Match(option, flag))
    return found


def match(tokens: Sequence[Token], flags: Mapping[str, Option], positional: bool) -> Outcome:
    """All occurrences and refusals, in the order of the words. ``positional``: the parser has a model word."""
    return _Run(tokens, flags, positional).run()


class _Run:
    def __init__(self, tokens: Sequence[Token], flags: Mapping[str, Option], positional: bool) -> None:
        self.tokens = tokens
        self.flags = flags
        self.out = Outcome()
        self.wants_model = positional
        self.matches: dict[int, Match] = {}
        self.supposed_values: list[Token] = []
        pattern = []
        ended = False
        for i, token in enumerate(tokens):
            if ended:
                pattern.append("A")
            elif token.text == "--" and not token.many:
                pattern.append("-")
                ended = True
            else:
                found = classify(token, flags)
                pattern.append("A" if found is None else "O")
                if found is not None:
                    self.matches[i] = found
        self.pattern = "".join(pattern)

    def run(self) -> Outcome:
        at = 0
        while at < len(self.tokens):
            if at in self.matches:
                at = self._option(at)
            else:
                at = self._plain(at)
        if self.wants_model and self.supposed_values:
            self.out.model = self.supposed_values[0]
        return self.out

    def _run_of_plain(self, at: int) -> int:
        end = at
        while end < len(self.tokens) and end not in self.matches:
            end += 1
        return end

    def _plain(self, at: int, after: Use | None = None) -> int:
        """Plain words up to the next option: the model where one is wanted, else words that belong to nothing."""
        end = self._run_of_plain(at)
        uncertain = False
        for i in range(at, end):
            token = self.tokens[i]
            if token.many:
                self.out.hidden.append(token)
                uncertain = True
            elif self.pattern[i] == "-":
                if not self.wants_model and i == end - 1 and not (i > at and self.tokens[i - 1] is self.out.model):
                    self._unowned(token, after)
            elif self.wants_model:
                self.wants_model = False
                self.out.model = token
            elif token.conditional or token.unknown is not None:
                self.out.hidden.append(token)  # may be empty, an option, or the other branch of a condition
            elif not uncertain:
                self._unowned(token, after)
        return end

    def _unowned(self, token: Token, after: Use | None) -> None:
        self.out.refusals.append(Refusal("stray", token, value=token, after=after))

    def _option(self, at: int) -> int:
        token, found = self.tokens[at], self.matches[at]
        if found.option is None:
            return self._unmatched(at, token, found)
        if found.option.kind == "help":
            self.out.refusals.append(Refusal("help", token))
            return at + 1
        if found.attached is not None:
            return self._attached(at, token, found, found.option)
        option = found.option
        if option.is_switch:
            self._use(option, token, found.spelling, (), False)
            end = self._run_of_plain(at + 1)
            return self._plain(at + 1, self.out.uses[-1]) if end > at + 1 else end
        count = self._count(option, at + 1)
        if count is None:
            following = self.tokens[at + 1 : at + 2] if self.pattern[at + 1 : at + 2] == "A" else ()
            self.out.refusals.append(Refusal("missing_value", token, option, found.spelling, tuple(following)))
            return at + 1
        self._use(option, token, found.spelling, tuple(self.tokens[at + 1 : at + 1 + count]), False)
        return at + 1 + count

    def _count(self, option: Option, start: int) -> int | None:
        """How many of the next words the option takes (``_match_argument``); ``None``: too few."""
        there = 0
        while start + there < len(self.pattern) and self.pattern[start + there] == "A":
            there += 1
        if option.nargs == "?":
            return min(there, 1)
        if option.nargs == "*":
            return there
        if option.nargs == "+":
            return there or None
        wanted = option.nargs if isinstance(option.nargs, int) else 1
        return wanted if there >= wanted else None

    def _attached(self, at: int, token: Token, found: Match, option: Option) -> int:
        value = found.attached
        assert value is not None
        if option.is_switch or (isinstance(option.nargs, int) and option.nargs != 1):
            self._switch_with_value(token, found, option, value)
        else:
            self._use(option, token, found.spelling, (value,), True)
        return at + 1

    def _switch_with_value(self, token: Token, found: Match, option: Option, value: Token) -> None:
        """Short switches may be written together (``-ab``); anything else attached to a switch is refused."""
        spelling = found.spelling
        while spelling[1] != "-" and value.text:
            following = f"-{value.text[0]}"
            if following not in self.flags:
                break
            self._use(option, token, spelling, (), True)
            option, spelling, value = self.flags[following], following, value.cut(1)
            if not option.is_switch:
                self._use(option, token, spelling, (value,), True)
                return
            if not value.text:
                self._use(option, token, spelling, (), True)
                return
        self.out.refusals.append(Refusal("unexpected_value", token, option, spelling, value=value))

    def _unmatched(self, at: int, token: Token, found: Match) -> int:
        """An unknown or ambiguous option; plain words behind it are its supposed values."""
        kind = "ambiguous" if found.candidates else "unknown"
        end = self._run_of_plain(at + 1)
        following = list(self.tokens[at + 1 : end])
        words = following and not (following[0].many or following[0].setting is not None)
        if kind == "unknown" and words and found.attached is None:
            # to argparse, which knows nothing of the option, this is the model if no model came before
            self.supposed_values.append(following[0])
        self.out.hidden += [word for word in following if word.many]
        self.out.refusals.append(
            Refusal(
                kind, token, spelling=found.spelling, following=tuple(following), candidates=found.candidates, value=found.attached
            )
        )
        return end

    def _use(self, option: Option, name: Token, spelling: str, values: tuple[Token, ...], attached: bool) -> None:
        self.out.uses.append(Use(option, name, spelling, values, attached))
