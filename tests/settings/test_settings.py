"""Settings files: where they are found, what they say, and the sentence for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from lint_vllm.settings import Settings, SettingsError, Stated, Table, find, load, shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_no_file_is_all_defaults(folder: Path) -> None:
    settings = find(folder)
    assert settings.file is None
    assert settings.table_for(folder / "x.sh") == Table()


def test_nearest_file_wins(folder: Path) -> None:
    write(folder / ".lint-vllm.toml", 'gpu = "H100"')
    write(folder / "a/pyproject.toml", '[tool.lint-vllm]\ngpu = "L4"')
    (folder / "a/b").mkdir()
    assert find(folder / "a/b").top.facts.gpu == "L4"
    assert find(folder).top.facts.gpu == "H100"


def test_pyproject_without_table_is_passed_over(folder: Path) -> None:
    write(folder / ".lint-vllm.toml", 'gpu = "H100"')
    write(folder / "a/pyproject.toml", '[project]\nname = "lint-vllm-user"')
    assert find(folder / "a").top.facts.gpu == "H100"


def test_search_stops_at_the_repository(folder: Path) -> None:
    write(folder / ".lint-vllm.toml", 'gpu = "H100"')
    (folder / "inner/.git").mkdir(parents=True)
    assert find(folder / "inner").file is None


EVERY_KEY = """
gpu = "A100 80GB"
gpu-count = 2
gpu-memory-gib = 79
vllm-version = "0.33.0"
select = ["MEM", "ARG001"]
extend-select = ["flag-typo"]
ignore = ["SEC"]
exclude = ["vendor/"]
profile = "strict"
docs = "all"
fail-on = "error"
baseline = "accepted.json"
inline-ignores = false
workload = {concurrency = 4, context-tokens = 32768, context-tokens-p50 = 2048, output-tokens = 512, task = "code"}
severity = {MEM022 = "error"}
options = {MEM022 = {max-utilization = 0.9}}

[models]
"acme/private" = "models/acme/config.json"

[per-path."k8s/**"]
gpu = "L4"
workload = {concurrency = 8}
ignore = ["PRF"]
"""


def test_every_key(folder: Path) -> None:
    settings = load(write(folder / "lint.toml", EVERY_KEY))
    top = settings.table_for(folder / "serve.sh")
    assert top.facts.gpu == "A100 80GB"
    assert top.facts.gpu_memory_gib == 79
    assert top.facts.context_tokens_p50 == 2048
    assert top.facts.models == {"acme/private": "models/acme/config.json"}
    assert top.select == ("MEM", "ARG001")
    assert settings.fail_on == "error"
    assert not settings.inline_ignores
    below = settings.table_for(folder / "k8s/prod/llm.yaml")
    assert below.facts.gpu == "L4"
    assert below.facts.concurrency == 8
    assert below.facts.context_tokens == 32768
    assert below.ignore == ("SEC", "PRF")
    assert settings.excluded(folder / "vendor/deep/x.sh")
    assert settings.excluded(folder / "a/vendor/x.sh")
    assert not settings.excluded(folder / "vendors/x.sh")
    assert shown(settings, folder / "serve.sh")["workload"]["task"] == "code"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('gpus = "L4"', "unknown key `gpus`; did you mean `gpu`?"),
        ("gpu_count = 2", "unknown key `gpu_count`; did you mean `gpu-count`?"),
        ("[workload]\ncontext = 3", "unknown key `workload.context`; did you mean `context-tokens`?"),
        ('[per-path."*"]\nexclude = ["x"]', "unknown key `per-path.*.exclude`"),
        ("zzz = 1", "unknown key `zzz`; known keys: baseline, "),
        ("gpu-count = 0", "`gpu-count`: input should be greater than 0"),
        ('gpu-count = "2"', "`gpu-count`: input should be a valid integer"),
        ('profile = "lax"', "`profile`: input should be 'default' or 'strict'"),
        ("gpu = ", "not valid TOML"),
    ],
)
def test_mistakes(folder: Path, text: str, sentence: str) -> None:
    path = write(folder / ".lint-vllm.toml", text)
    with pytest.raises(SettingsError, match=r".*") as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert sentence in str(caught.value)


def test_named_file_must_exist(folder: Path) -> None:
    with pytest.raises(SettingsError, match="no such settings file"):
        load(folder / "none.toml")
    with pytest.raises(SettingsError, match=r"no \[tool\.lint-vllm\] table"):
        load(write(folder / "pyproject.toml", "[project]\nname = 'lint-vllm-x'"))


def test_facts_stack_one_by_one() -> None:
    stated = Stated(gpu="L4", gpu_count=2).below(Stated(gpu="H100"))
    assert (stated.gpu, stated.gpu_count) == ("H100", 2)


def test_settings_without_per_path_share_one_table(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    assert settings.table_for(tmp_path / "a") is settings.table_for(tmp_path / "b")
