"""Rules are found, and a broken installation says so."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from lint_vllm import registry
from lint_vllm.rule import ArgumentSet, Facts, Finding, Options, Rule, Severity

RULE_MODULE = '''"""Found twice.

Why: because of the test.
"""
from lint_vllm.rule import Good, Severity, rule

@rule(code="{code}", name="{name}", severity=Severity.INFO, since="0.1", bad=(), good=())
def check(args, facts, options):
    yield from ()
'''


def package(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **modules: str) -> ModuleType:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("")
    for module, text in modules.items():
        (folder / name / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    for loaded in [m for m in sys.modules if m.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, loaded)
    return registry._import(name, name)


def test_built_in_rules_are_found_without_an_installation() -> None:
    assert {"MEM022", "ARG001", "SEC003", "SRC001"} <= {rule.code for rule in registry.rules()}


def test_by_code_and_by_name() -> None:
    found = registry.find("mem022")
    assert found is not None
    assert registry.find("Utilization-Too-High") is found
    assert registry.find("MEM") is None


def test_a_code_twice_names_both_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = package(
        tmp_path,
        "twice_rules",
        monkeypatch,
        a=RULE_MODULE.format(code="ZZZ001", name="one"),
        b=RULE_MODULE.format(code="ZZZ001", name="two"),
    )
    with pytest.raises(registry.RegistryError, match=r"ZZZ001 is declared twice: in twice_rules\.a and in twice_rules\.b"):
        registry.collect([twice])


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = package(tmp_path, "broken_rules", monkeypatch, a="import nothing_of_this_name")
    with pytest.raises(registry.RegistryError, match=r"broken_rules\.a.*nothing_of_this_name"):
        registry.collect([broken])


def test_no_rules_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = package(tmp_path, "empty_rules", monkeypatch)
    monkeypatch.setattr(registry, "_packages", lambda: iter([empty]))
    registry.rules.cache_clear()
    try:
        with pytest.raises(registry.RegistryError, match="no rules are installed"):
            registry.rules()
    finally:
        monkeypatch.undo()
        registry.rules.cache_clear()


def test_plug_ins_are_found_by_their_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, "acme_rules", monkeypatch, a=RULE_MODULE.format(code="ACM001", name="acme"))
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lint_vllm.rules]\nacme = acme_rules\n")
    registry.rules.cache_clear()
    try:
        assert "ACM001" in {rule.code for rule in registry.rules()}
    finally:
        monkeypatch.undo()
        registry.rules.cache_clear()


def test_a_failing_rule_is_a_finding_and_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from collections.abc import Iterator

    from lint_vllm.linting import Choice, lint_paths
    from lint_vllm.request import Request

    def fail(args: ArgumentSet, facts: Facts, options: Options) -> Iterator[Finding]:
        yield Finding(facts.launch.command, "before")
        raise ZeroDivisionError("on purpose")

    broken = Rule("ZZZ009", "broken", Severity.INFO, "0.1", fail, Options, (), (), False, (), False, __name__)
    monkeypatch.setattr("lint_vllm.engine.rules", lambda: (broken, *registry.rules()))
    path = tmp_path / "run.sh"
    path.write_text("vllm serve m --api-key sk-live-0123456789\n")
    run = lint_paths([str(path)], Request(isolated=True), Choice())
    codes = [d.code for d in run.shown]
    assert {"ZZZ009", "SRC900", "SEC003"} <= set(codes)
    (failed,) = (d for d in run.shown if d.code == "SRC900")
    assert failed.message == "rule ZZZ009 (broken) failed on this launch: ZeroDivisionError: on purpose"
