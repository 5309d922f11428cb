"""The types of a parsed argument list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from lint_vllm.frozen import dataclass
from lint_vllm.known import Known, Unknown
from lint_vllm.launch import Launch, Setting, Word
from lint_vllm.source import Span

ProblemKind = Literal[
    "unknown",  # no such flag in this release
    "removed",  # was a flag of an earlier release
    "ambiguous",  # a prefix of several flags
    "bad_value",  # wrong type, not a choice, broken JSON, unreadable --config file
    "missing_value",  # flag without its value; no model
    "unexpected_value",  # --switch=value
    "stray",  # a word that belongs to nothing
    "conflict",  # flags that exclude or require each other
    "duplicate",  # given twice; the last wins (not an error)
    "ignored",  # accepted and without effect: a positional model of the module, --config=FILE, false in a --config file
    "other",
]


@dataclass(frozen=True, slots=True)
class Argument:
    """One flag with its value, typed as the release's parser types it.

    ``dest`` is vLLM's name (``max_model_len``); ``flag`` the canonical long option (``--max-model-len``). ``value`` is an
    ``Unknown`` when the written value cannot be known. ``raw`` is the value as text, ``None`` for a bare switch.
    """

    dest: str
    flag: str
    value: object
    name_span: Span
    value_span: Span | None
    raw: str | None = None
    name: Word | None = None
    words: tuple[Word, ...] = ()
    """The value words (empty for switches and for ``--flag=value``, whose value is part of ``name``)."""
    setting: Setting | None = None
    """The named value it came from, where it was not a word."""
    spelled: str = ""
    """The name as written, without value: ``--max_model_len``, ``maxModelLen``, ``-tp``."""
    conditional: bool = False
    from_config: bool = False
    """Read from a ``--config`` file."""

    @property
    def span(self) -> Span:
        return self.name_span if self.value_span is None else self.name_span.to(self.value_span)

    @property
    def known(self) -> bool:
        return not isinstance(self.value, Unknown)

    @property
    def editable(self) -> Span | None:
        """Where the value text alone can be replaced; ``None`` when it stands nowhere exactly."""
        word = self.words[0] if len(self.words) == 1 else None
        if word is not None:
            return word.editable
        if self.setting is not None and self.setting.value is not None:
            return self.setting.value.editable
        if self.value_span is not None and self.raw is not None and self.value_span.text == self.raw:
            return self.value_span
        return None


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the parser (``stage`` "parser") or a configuration class (``stage`` "config") of the release objects to.

    ``flag`` is the option concerned as written; ``known_flag`` the table's entry where there is one; ``suggestions`` are real
    flags or values nearest to what was written, best first; ``successor`` says in words what replaces a removed flag.
    """

    kind: ProblemKind
    is_error: bool
    message: str
    span: Span
    flag: str | None = None
    known_flag: str | None = None
    value: str | None = None
    suggestions: tuple[str, ...] = ()
    removed_in: str | None = None
    introduced_in: str | None = None
    successor: str | None = None
    stage: Literal["parser", "config"] = "parser"
    argument: Argument | None = None
    words: tuple[Word, ...] = ()
    """The words concerned, the option's first, for edits that take them out."""
    setting: Setting | None = None
    """The named value concerned, where it was not a word."""
    related: Span | None = None


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """A launch read as one vLLM release reads it.

    ``arguments`` are in the order of reading, every occurrence; the last one of a dest wins, as in vLLM. ``values`` maps
    dest to the typed value with defaults left out (``Unknown`` where not known). ``model`` is what would be served.
    """

    launch: Launch
    release: Known[str]
    arguments: tuple[Argument, ...]
    problems: tuple[Problem, ...]
    model: str | Unknown | None
    model_span: Span | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict, repr=False)
    complete: bool = True
    """False when arguments may be missing (an unknown ``"$@"``, a template loop): absence then proves nothing."""
    late_problems: tuple[Problem, ...] = ()
    """What configuration classes object to after the parser accepted (``stage`` "config"), from the arguments alone."""
    form: str = "serve"
    """Whose parser read it: ``serve``, ``api_server``, ``python``."""
    unset_on: tuple[str, ...] = ()
    """Switches (dests) without a default that the release turns on by itself."""

    def get(self, dest: str) -> Argument | None:
        """The occurrence that counts, by dest or by flag name with dashes."""
        wanted = dest.lstrip("-").replace("-", "_")
        for argument in reversed(self.arguments):
            if argument.dest == wanted:
                return argument
        return None

    def value(self, dest: str) -> object:
        """The typed value in effect: given, else the release's default; ``Unknown`` where it cannot be known."""
        if dest in self.values:
            return self.values[dest]
        argument = self.get(dest)
        if argument is not None and not argument.conditional:
            return argument.value
        if argument is not None or (not self.complete and dest not in self.defaults):
            return Unknown(f"{dest} depends on a condition")
        return self.defaults.get(dest)

    def default_is_on(self, dest: str) -> bool:
        """Whether a switch is on when nothing is said: its default is true, or the release decides for it."""
        return self.defaults.get(dest) is True or dest in self.unset_on

    def given(self, dest: str) -> bool:
        return self.get(dest) is not None
