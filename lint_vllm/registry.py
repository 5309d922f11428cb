"""The rules that are installed: the built-in package by name, other packages through the entry points ``lint_vllm.rules``."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import ModuleType

from lint_vllm.rule import Rule

BUILT_IN = "lint_vllm_rules"
ENTRY_POINTS = "lint_vllm.rules"


class RegistryError(Exception):
    """The installation cannot be used: no rules, a code or name twice, a rule package that cannot be imported."""


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """All installed rules in order of code. Raises :class:`RegistryError`."""
    found = collect(_packages())
    if not found:
        raise RegistryError(f"no rules are installed: the package {BUILT_IN} is empty; install lint-vllm again")
    return found


def collect(packages: Iterable[ModuleType]) -> tuple[Rule, ...]:
    """The rules of some packages, in order of code. Raises :class:`RegistryError` for a code or name that occurs twice."""
    seen: dict[str, Rule] = {}
    found: list[Rule] = []
    for package in packages:
        for rule in _rules_in(package):
            for key in (rule.code, rule.name):
                if key in seen and seen[key].module != rule.module:
                    raise RegistryError(f"{key} is declared twice: in {seen[key].module} and in {rule.module}")
                seen[key] = rule
            found.append(rule)
    return tuple(sorted({rule.code: rule for rule in found}.values(), key=lambda rule: rule.code))


def find(name: str) -> Rule | None:
    """A rule by code or name, in any case."""
    wanted = name.strip()
    return next((rule for rule in rules() if wanted.upper() == rule.code or wanted.lower() == rule.name), None)


def suggestion(name: str) -> str:
    """The end of a sentence on an unknown rule: the nearest code or name, or where to look."""
    import difflib

    known = [key for rule in rules() for key in (rule.code, rule.name)]
    near = difflib.get_close_matches(name.upper(), known, n=1) or difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean `{near[0]}`?" if near else "; `lint-vllm rules` lists them"


def _packages() -> Iterator[ModuleType]:
    yield _import(BUILT_IN, BUILT_IN)
    for entry, module in _plugins():
        yield _import(module, f"{entry} (entry point {ENTRY_POINTS})")


def _plugins() -> Iterator[tuple[str, str]]:
    """Name and module of each plug-in. ``importlib.metadata`` costs 30 ms and is loaded only where a package declares one."""
    if not any(map(_declares_rules, sys.path)):
        return
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        yield entry.name, entry.module


def _declares_rules(folder: str) -> bool:
    try:
        with os.scandir(folder or ".") as entries:
            installed = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return False
    for path in installed:
        try:
            with open(os.path.join(path, "entry_points.txt"), "rb") as file:
                if f"[{ENTRY_POINTS}]".encode() in file.read():
                    return True
        except OSError:
            continue
    return False


def _import(module: str, label: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:  # whatever a broken package raises
        raise RegistryError(f"cannot load rules of {label}: {type(error).__name__}: {error}") from error


def _rules_in(package: ModuleType) -> Iterator[Rule]:
    modules = [package]
    for info in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
        if not info.ispkg:
            modules.append(_import(info.name, info.name))
    for module in modules:
        for value in vars(module).values():
            rule = getattr(value, "__rule__", None)
            if isinstance(rule, Rule) and rule.module == module.__name__:
                yield rule
