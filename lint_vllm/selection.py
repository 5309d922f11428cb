"""Which rules run for a file, at which severity, with which options."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

from lint_vllm.diagnostic import Severity
from lint_vllm.frozen import dataclass
from lint_vllm.registry import suggestion
from lint_vllm.rule import Options, Rule
from lint_vllm.settings import SettingsError, Table

ALWAYS = ("SRC900",)
"""Rules that no ``select`` leaves out: a fault of this program must not look like a clean run. ``ignore`` holds."""


@dataclass(frozen=True, slots=True)
class Active:
    """A rule that runs. ``severity`` is what settings say, ``None`` leaves it to the rule and its findings."""

    rule: Rule
    severity: Severity | None
    options: Options


class Selection:
    """The choice of the command line over the choice of settings tables. Raises :class:`SettingsError` for unknown rules."""

    def __init__(
        self,
        rules: Iterable[Rule],
        select: tuple[str, ...] | None = None,
        ignore: tuple[str, ...] = (),
        profile: str | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.over = Table(select=select, ignore=ignore, profile=profile)
        self._remembered: dict[int, tuple[Table, tuple[Active, ...]]] = {}

    def active(self, table: Table) -> tuple[Active, ...]:
        remembered = self._remembered.get(id(table))
        if remembered is None:
            self._remembered[id(table)] = remembered = (table, self._choose(table.below(self.over)))
        return remembered[1]

    def profile(self, table: Table) -> str:
        return self.over.profile or table.profile or "default"

    def _choose(self, table: Table) -> tuple[Active, ...]:
        select = (*(("ALL",) if table.select is None else table.select), *table.extend_select)
        for selector in (*select, *table.ignore, *table.severity):
            self._check(selector)
        options = {self._named(name).code: values for name, values in table.options.items()}
        chosen: list[Active] = []
        for rule in self.rules:
            wanted, unwanted = _closest(rule, select), _closest(rule, table.ignore)
            if rule.code in ALWAYS:
                wanted = max(wanted, 0)
            if wanted < 0 or unwanted >= wanted:
                continue
            if rule.strict and wanted < _EXACT and table.profile != "strict":
                continue
            levels = sorted(table.severity.items(), key=lambda item: _closeness(rule, item[0]))
            level = levels[-1][1] if levels and _closeness(rule, levels[-1][0]) >= 0 else None
            severity = None if level is None else Severity[level.upper()]
            chosen.append(Active(rule, severity, rule_options(rule, options.get(rule.code, {}))))
        return tuple(chosen)

    def _check(self, selector: str) -> None:
        if not any(_closeness(rule, selector) >= 0 for rule in self.rules):
            raise SettingsError(f"unknown rule `{selector}`{suggestion(selector)}")

    def _named(self, name: str) -> Rule:
        for rule in self.rules:
            if _closeness(rule, name) == _EXACT:
                return rule
        raise SettingsError(f"`options.{name}`: unknown rule `{name}`{suggestion(name)}")


_EXACT = 100


def _closest(rule: Rule, selectors: Iterable[str]) -> int:
    return max((_closeness(rule, selector) for selector in selectors), default=-1)


def _closeness(rule: Rule, selector: str) -> int:
    """How precisely a selector names a rule: 100 by code or name, less by family or prefix, 0 by ``ALL``, -1 not at all."""
    if selector.upper() == rule.code or selector.lower() == rule.name:
        return _EXACT
    if selector.upper() == "ALL":
        return 0
    return len(selector) if selector and rule.code.startswith(selector.upper()) else -1


def rule_options(rule: Rule, values: Mapping[str, object]) -> Options:
    """A rule's options with what settings override. Raises :class:`SettingsError` for an unknown option or a wrong value."""
    if not values:
        return rule.options()
    types = option_types(rule.options)
    options = rule.options()
    for key, value in values.items():
        name = key.replace("-", "_")
        if name not in types:
            dashed = [known.replace("_", "-") for known in types]
            near = difflib.get_close_matches(key, dashed, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; it has: {', '.join(sorted(dashed)) or 'none'}"
            raise SettingsError(f"`options.{rule.code}`: unknown option `{key}`{hint}")
        setattr(options, name, _checked(rule, key, types[name], value))
    return options


def option_types(options: type[Options]) -> dict[str, Any]:
    """Name -> annotation of a rule's options."""
    return {name: hint for name, hint in get_type_hints(options).items() if not name.startswith("_")}


def _checked(rule: Rule, key: str, annotation: Any, value: object) -> object:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        raise SettingsError(f"`options.{rule.code}.{key}`: {error.errors()[0]['msg']}") from None
