"""The shipped history: choice of release, lossless folding, facts of single releases."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys
from types import ModuleType

import pytest

from lint_vllm.arguments import history, tables
from lint_vllm.arguments.checks import _checks
from lint_vllm.arguments.dialect import dialect_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "lint_vllm" / "data" / "flags"


@pytest.fixture(scope="module")
def build_flags() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_flags", ROOT / "tools" / "build_flags.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_flags"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("version", "release", "relation"),
    [
        ("0.6.6", "0.6.6", "exact"),
        ("v0.33.0", "0.33.0", "exact"),
        ("0.33", "0.33.0", "exact"),
        ("0.8.5.post1", "0.8.5", "exact"),
        ("0.10.1.1", "0.10.1.1", "exact"),
        ("0.17.0rc1", "0.17.0", "exact"),
        ("0.9.0.1", "0.9.0", "between"),
        ("0.15.0", "0.14.1", "between"),
        ("0.16.1", "0.16.0", "between"),
        ("0.34.0", "0.33.0", "newer"),
        ("1.0", "0.33.0", "newer"),
        ("0.5.3", "0.6.6", "older"),
    ],
)
def test_release_of_a_version(version: str, release: str, relation: str) -> None:
    assert tables.table_release(version) == (release, relation)
    choice = tables.table_for(version)
    assert (choice.table.release, choice.relation) == (release, relation)


def test_releases_are_ordered() -> None:
    releases = tables.known_releases()
    assert [tables.release_key(r) for r in releases] == sorted(tables.release_key(r) for r in releases)
    assert releases[0] == "0.6.6"


def test_unknown_release_has_no_table() -> None:
    with pytest.raises(KeyError):
        tables.load("0.1.0")


def test_history_folds_back_to_the_shipped_bytes(build_flags: ModuleType) -> None:
    files = build_flags.fold(build_flags.shipped())
    for name, text in files.items():
        assert (DATA / name).read_text(encoding="utf-8") == text, name


def test_shipped_data_is_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_500_000


@pytest.mark.parametrize("release", tables.known_releases())
def test_every_table_is_sound(release: str) -> None:
    table = tables.load(release)
    assert len(table.by_flag) > 120
    for option in table.options:
        assert option.flag == option.flags[0] or not option.flag.startswith("-")
        assert option.only in (None, "serve", "api_server")
        assert option.kind != "bool" or option.off <= set(option.flags)
        cls = option.config_class
        assert cls is None or cls in table.classes
    assert table.defaults["model"]
    assert "gpu_memory_utilization" in table.python["LLM"]
    assert dialect_of(release).underscores in ("all", "before dot")


@pytest.mark.parametrize(
    ("release", "flag", "facts"),
    [
        ("0.6.6", "--block-size", {"choices": (8, 16, 32, 64, 128), "type": "int"}),
        ("0.33.0", "--block-size", {"choices": None, "type": "int"}),
        ("0.7.3", "--max-model-len", {"type": "int"}),
        ("0.9.0", "--max-model-len", {"type": "human_readable_int"}),
        ("0.33.0", "--kv-transfer-config", {"type": "optional(dataclass(KVTransferConfig))"}),
        ("0.33.0", "--served-model-name", {"nargs": "+"}),
        ("0.19.1", "--gpu-memory-utilization", {"default": 0.9}),
        ("0.20.2", "--gpu-memory-utilization", {"default": 0.92}),
        ("0.9.2", "--headless", {"only": "serve"}),
    ],
)
def test_facts(release: str, flag: str, facts: dict[str, object]) -> None:
    option = tables.load(release).by_flag[flag]
    assert {name: getattr(option, name) for name in facts} == facts


@pytest.mark.parametrize(
    ("release", "flag", "negative"),
    [
        ("0.7.3", "--enable-prefix-caching", "--no-enable-prefix-caching"),
        ("0.33.0", "--enable-prefix-caching", "--no-enable-prefix-caching"),
        ("0.7.3", "--enforce-eager", None),
        ("0.33.0", "--enforce-eager", "--no-enforce-eager"),
        ("0.33.0", "--max-model-len", None),
    ],
)
def test_negative(release: str, flag: str, negative: str | None) -> None:
    assert history.negative_of(flag, release) == negative


def test_removed_and_back_again() -> None:
    found = history.flag_history("--disable-log-requests")
    assert found is not None
    assert found.spans == (("0.6.6", "0.17.0"), ("0.33.0", None))
    assert found.removed is None
    assert found.removed_before("0.32.0") == "0.17.0"
    assert found.introduced_after("0.32.0") == "0.33.0"
    assert found.deprecated_in == "0.10.1"
    assert found.present("0.33.0")


def test_flag_history() -> None:
    task = history.flag_history("--task")
    assert task is not None
    assert (task.introduced, task.removed, task.deprecated_in) == ("0.6.6", "0.13.0", "0.10.1")
    assert task.successor is not None
    assert task.successor.flag == "--runner"
    assert history.flag_history("--no-such-flag") is None
    assert history.flag_history("max_model_len") == history.flag_history("--max-model-len")


def test_env_history() -> None:
    found = history.env_history("VLLM_USE_V1")
    assert found is not None
    assert found.removed == "0.11.1"
    assert found.successor is not None
    assert found.successor.delete_is_safe
    assert history.env_history("VLLM_NO_SUCH_THING") is None


def test_keyword_history() -> None:
    found = history.keyword_history("LLM", "swap_space")
    assert found is not None
    assert found.removed_before("0.33.0") == "0.18.0"
    assert history.keyword_history("LLM", "no_such_keyword") is None


def test_valid_keys() -> None:
    assert "num_speculative_tokens" in history.valid_keys("SpeculativeConfig", "0.33.0")
    assert "mode" in history.valid_keys("CompilationConfig", "0.33.0")
    assert "mode" not in history.valid_keys("CompilationConfig", "0.9.2")
    assert history.valid_keys("NoSuchConfig", "0.33.0") == frozenset()
    key = history.key_history("CompilationConfig", "level")
    assert key is not None
    assert key.removed_before("0.33.0")


def test_changes_between_releases() -> None:
    found = {(change.kind, change.flag): change for change in history.changes("0.9.2", "0.33.0")}
    assert found["removed", "--task"].successor is not None
    assert ("added", "--runner") in found
    moved = found["default", "--gpu-memory-utilization"]
    assert (moved.before, moved.after) == (0.9, 0.92)
    assert history.changes("0.33.0", "0.33.0") == ()


def test_values_of_open_options() -> None:
    assert "gguf" in tables.load("0.23.0").values["quantization"]
    assert "gguf" not in tables.load("0.24.0").values["quantization"]
    assert "bitsandbytes" not in tables.load("0.28.0").values["quantization"]


def test_successors_name_things_that_existed() -> None:
    for row in json.loads((DATA / "successors.json").read_text(encoding="utf-8")):
        assert row["source"]
        for name in row["names"]:
            found = history.flag_history(name) if name.startswith("-") else history.env_history(name)
            assert found is not None, name
        flag = row.get("flag")
        if flag is not None:
            known = history.flag_history(flag) if flag.startswith("-") else history.env_history(flag)
            assert known is not None, flag


def test_every_removed_flag_says_what_to_do() -> None:
    for flag in history._flag_points():
        found = history.flag_history(flag)
        assert found is not None
        short_lived = flag.startswith("--no-") or found.introduced >= "0.2"
        if found.removed and not short_lived:
            assert found.successor is not None, flag


def test_checks_name_real_dests_and_classes() -> None:
    for check in _checks():
        release = next(r for r in reversed(tables.known_releases()) if check.applies_to(r))
        table = tables.load(release)
        assert check.source
        if check.on == "serve":
            assert check.at in table.by_dest, check.at
            names = {*check.when, *check.then} - {"form"}
            wanted = {name.partition(".")[0] for name in names if not name.startswith("env:")}
            assert wanted - {"prefill_context_parallel_size", "grpc"} <= set(table.by_dest), (check.at, wanted - set(table.by_dest))
        else:
            assert set(check.then) | set(check.when) <= set(table.classes[check.on].fields), check.on
