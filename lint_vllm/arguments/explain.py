"""Refusals and conditions in plain words, with the nearest real names and what replaced a removed one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lint_vllm.arguments.checks import Check
from lint_vllm.arguments.history import flag_history
from lint_vllm.arguments.matching import Refusal, Use
from lint_vllm.arguments.model import Argument, Problem, ProblemKind
from lint_vllm.arguments.nearest import nearest
from lint_vllm.arguments.tables import FlagTable, Option, history_of, release_key, states_of
from lint_vllm.arguments.tokens import Token
from lint_vllm.arguments.values import BadValue
from lint_vllm.launch import Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span

_OPTION_LIKE = pattern(r"--?[A-Za-z][\w-]*")
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"


class Explainer:
    """Makes problems for one release and start-up form."""

    def __init__(self, table: FlagTable, form: str, flags: Mapping[str, Option]) -> None:
        self.table = table
        self.form = form
        self.flags = flags
        self.looked_up = 0

    # ------------------------------------------------------------ names
    def meant(self, refusal: Refusal) -> tuple[str, ...]:
        """The real options that a refused word looks like; none for a word that is no name."""
        if refusal.kind == "unknown":
            return self.suggest(refusal.spelling)
        if refusal.kind == "stray" and len(refusal.token.text) > 3:
            name = refusal.token.text.partition("=")[0]
            if name[:1] in _DASHES or ("=" in refusal.token.text and self._dashed(name) in self.flags):
                return self.suggest(name)
        return ()

    def suggest(self, name: str) -> tuple[str, ...]:
        """Real spellings for a misspelt one: right dashes and case first, then by distance."""
        self.looked_up += 1
        if len(name) > 80 or self.looked_up > 100:
            return ()
        dashed = self._dashed(name)
        if dashed in self.flags:
            return (dashed,)
        lower = dashed.lower()
        if lower in self.flags:
            return (lower,)
        split = next((lower[:i] for i in range(len(lower) - 1, 4, -1) if lower[:i] in self.flags), None)
        if split is not None and (lower[len(split)] in " :" or lower[len(split) :].isdigit()):
            return (split,)
        hidden = frozenset(f for option in self.table.options for f in option.off)
        names = self.flags if lower.startswith(("--no-", "--disable-", "--enable-")) else self._visible(hidden)
        return nearest(lower, (flag for flag in names if flag.startswith("--")))

    def _visible(self, hidden: frozenset[str]) -> Iterable[str]:
        return (flag for flag in self.flags if flag not in hidden)

    @staticmethod
    def _dashed(name: str) -> str:
        return "--" + name.lstrip(_DASHES).replace("_", "-").partition(".")[0]

    # ------------------------------------------------------------ problems
    def refusal(self, refusal: Refusal) -> Problem:
        make = {
            "unknown": self._unknown,
            "ambiguous": self._ambiguous,
            "missing_value": self._missing,
            "unexpected_value": self._unexpected,
            "stray": self._stray,
            "help": self._help,
        }
        return make[refusal.kind](refusal)

    def _unknown(self, refusal: Refusal) -> Problem:
        token, name, release = refusal.token, refusal.spelling, self.table.release
        kind: ProblemKind = "unknown"
        removed = introduced = successor = None
        known = name if name in self.table.by_flag else None
        history = flag_history(name) if name.startswith("--") else None
        suggestions = self.suggest(name)
        if name in self.flags:
            message = f"{_short(token.text)!r} is one word; vLLM {release} wants {name} and its value apart, or joined by ="
            suggestions = (name,)
        elif known is not None:
            where = "`vllm serve`" if self.table.by_flag[name].only == "serve" else "the api_server module"
            message = f"{name} belongs to {where} in vLLM {release}"
            suggestions = ()
        elif history is not None and (removed := history.removed_before(release)):
            kind, suggestions = "removed", ()
            successor = history.successor.words if history.successor else None
            message = f"{name} was removed in vLLM {removed}" + (f"; {successor}" if successor else "")
        elif history is not None and (introduced := history.introduced_after(release)):
            suggestions = ()
            message = f"{name} comes with vLLM {introduced}; vLLM {release} does not know it"
        else:
            message = f"vLLM {release} has no option {name}"
            if suggestions:
                message += f"; nearest: {', '.join(suggestions)}"
        return Problem(
            kind,
            True,
            message,
            _name_span(token, name),
            flag=_written(token, name),
            known_flag=known or (name if history is not None else None),
            value=_value_text(refusal),
            suggestions=suggestions,
            removed_in=removed,
            introduced_in=introduced,
            successor=successor,
            argument=_as_argument(token, name),
            words=_words(token, *refusal.following),
            setting=token.setting,
        )

    def _ambiguous(self, refusal: Refusal) -> Problem:
        listed = ", ".join(refusal.candidates[:6]) + (" ..." if len(refusal.candidates) > 6 else "")
        history = flag_history(refusal.spelling)
        removed = history.removed_before(self.table.release) if history else None
        successor = history.successor.words if history and history.successor else None
        return Problem(
            "ambiguous",
            True,
            f"{refusal.spelling} could mean {listed} in vLLM {self.table.release}",
            _name_span(refusal.token, refusal.spelling),
            flag=_written(refusal.token, refusal.spelling),
            known_flag=refusal.spelling if history else None,
            value=_value_text(refusal),
            suggestions=refusal.candidates,
            removed_in=removed,
            successor=successor if removed else None,
            argument=_as_argument(refusal.token, refusal.spelling),
            words=_words(refusal.token, *refusal.following),
            setting=refusal.token.setting,
        )

    def _missing(self, refusal: Refusal) -> Problem:
        option = refusal.option
        assert option is not None
        several = "at least one value" if option.takes_many else "a value"
        return Problem(
            "missing_value",
            True,
            f"{refusal.spelling} needs {several}",
            refusal.token.span,
            flag=_written(refusal.token, refusal.spelling),
            known_flag=option.flag,
            words=_words(refusal.token),
            setting=refusal.token.setting,
        )

    def _unexpected(self, refusal: Refusal) -> Problem:
        option, value = refusal.option, refusal.value
        assert option is not None
        assert value is not None
        return Problem(
            "unexpected_value",
            True,
            f"{refusal.spelling} is a switch and takes no value",
            value.span,
            flag=_written(refusal.token, refusal.spelling),
            known_flag=option.flag,
            value=value.text,
            suggestions=self._instead(option, value.text),
            words=_words(refusal.token),
            setting=refusal.token.setting,
        )

    def _stray(self, refusal: Refusal) -> Problem:
        token, after = refusal.token, refusal.after
        name = _OPTION_LIKE.match(token.text)
        if name is not None:  # an option and more in one word, or options behind `--`
            value = token.cut(name.end()) if name.end() < len(token.text) else None
            return self._unknown(replace(refusal, kind="unknown", spelling=name.group(), value=value))
        suggestions = self.meant(refusal)
        option = after.option if after is not None else None
        if option is not None:
            message = f"{option.flag} is a switch and takes no value; {token.text!r} belongs to nothing"
            suggestions = self._instead(option, token.text) or suggestions
        elif suggestions:
            message = f"{token.text!r} is no option as written"
        else:
            message = f"{token.text!r} belongs to no option"
        return Problem(
            "stray",
            True,
            message,
            token.span,
            flag=_written(after.name, after.spelling) if after is not None else None,
            known_flag=option.flag if option is not None else None,
            value=token.text,
            suggestions=suggestions,
            words=_words(token) if after is None else _words(after.name, token),
            setting=token.setting,
        )

    def _help(self, refusal: Refusal) -> Problem:
        return Problem(
            "other", True, "prints help and exits", refusal.token.span, flag=refusal.token.text, words=_words(refusal.token)
        )

    @staticmethod
    def _instead(option: Option, value: str) -> tuple[str, ...]:
        """How a switch is written for what its value meant."""
        word = value.strip().lower()
        if word in ("true", "yes", "on", "1"):
            return (option.flag,)
        if word in ("false", "no", "off", "0") and option.negative is not None:
            return (option.negative,)
        return ()

    def bad_value(self, use: Use, token: Token, error: BadValue, span: Span) -> Problem:
        wrong = error.key[-1] if error.key and "has no key" in str(error) else token.text
        close = nearest(str(wrong).lower(), error.expected) if error.expected else ()
        folded = tuple(name for name in error.expected if name.lower() == str(wrong).lower())
        return Problem(
            "bad_value",
            True,
            f"{use.option.flag} {_short(token.text)}: {error}",
            span,
            flag=_written(use.name, use.spelling),
            known_flag=use.option.flag,
            value=token.text,
            suggestions=folded or close,
            introduced_in=self._later_choice(use.option, token.text),
            words=_words(use.name) if use.attached else _words(use.name, *use.values),
            setting=use.name.setting,
        )

    def _later_choice(self, option: Option, value: str) -> str | None:
        """The first later release that lists a value which this one's list lacks."""
        if option.choices is None:
            return None
        key = release_key(self.table.release)
        for release, state in states_of(history_of("options").get((option.flag,), [])):
            if state is not None and release_key(release) > key and value in [str(c) for c in state.get("choices") or ()]:
                return release
        return None

    @staticmethod
    def option_as_model(model: str, span: Span, release: str, words: tuple[Word, ...]) -> Problem:
        message = f"vLLM {release} takes {_short(model)!r} for the model: an option and its value are two words"
        return Problem("bad_value", True, message, span, flag=model.split()[0], value=model, stage="config", words=words)

    def late_value(self, argument: Argument, message: str, expected: Iterable[str]) -> Problem:
        names = tuple(expected)
        wrong = str(argument.value)
        folded = tuple(name for name in names if name.lower() == wrong.lower())
        return Problem(
            "bad_value",
            True,
            message,
            argument.value_span or argument.name_span,
            flag=argument.spelled,
            known_flag=argument.flag,
            value=argument.raw,
            suggestions=folded or nearest(wrong.lower(), names),
            stage="config",
            argument=argument,
            words=argument.words,
        )

    def check(self, check: Check, message: str, argument: Argument | None, fallback: Span) -> Problem:
        option = self.table.by_dest.get(check.at)
        kind: ProblemKind = "bad_value" if check.kind == "bad_value" else "conflict"
        span = fallback
        if argument is not None:
            span = argument.value_span if kind == "bad_value" and argument.value_span is not None else argument.name_span
        return Problem(
            kind,
            True,
            message,
            span,
            flag=argument.spelled if argument is not None else None,
            known_flag=option.flag if option is not None else None,
            value=argument.raw if argument is not None else None,
            stage="config" if check.stage == "config" else "parser",
            argument=argument,
        )

    def duplicate(self, earlier: Argument, later: Argument) -> Problem:
        return Problem(
            "duplicate",
            False,
            f"{later.flag} is given twice; the last one holds",
            later.span,
            flag=later.spelled,
            known_flag=later.flag,
            value=later.raw,
            argument=later,
            related=earlier.span,
        )

    def ignored_model(self, word: Token) -> Problem:
        default = self.table.defaults.get("model")
        return Problem(
            "ignored",
            False,
            f"the api_server module takes no positional model: {default} would be served; use --model",
            word.span,
            flag="model_tag",
            value=word.text,
            suggestions=("--model",),
            words=_words(word),
        )

    def ignored_config(self, argument: Argument) -> Problem:
        return Problem(
            "ignored",
            False,
            "vLLM reads a --config file only when its path is a word of its own; with = it is ignored",
            argument.span,
            flag=argument.spelled,
            known_flag="--config",
            value=argument.raw,
            argument=argument,
        )


def _written(token: Token, name: str) -> str:
    """The name as it stands in the file, underscores kept."""
    return token.place.value.partition("=")[0] if token.word is not None and len(token.place.value) == len(token.text) else name


def _as_argument(token: Token, name: str) -> Argument | None:
    """A refused named value as an argument, so that it can be taken out."""
    setting = token.setting
    if setting is None:
        return None
    value = setting.value
    return Argument(
        dest=name.lstrip("-").replace("-", "_"),
        flag=name,
        value=setting.literal,
        name_span=setting.name.value_span,
        value_span=value.value_span if value is not None else None,
        raw=value.value if value is not None else None,
        setting=setting,
        spelled=setting.name.value,
        conditional=setting.conditional,
        from_config=token.from_config,
    )


def _words(*tokens: Token) -> tuple[Word, ...]:
    return tuple(token.word for token in tokens if token.word is not None)


def _name_span(token: Token, name: str) -> Span:
    return token.cut(0, token.text.find("=")).span if "=" in token.text and len(token.text) > len(name) else token.span


def _value_text(refusal: Refusal) -> str | None:
    if refusal.value is not None:
        return refusal.value.text
    return " ".join(token.text for token in refusal.following) if refusal.following else None


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
