"""The command line as a user meets it: exit codes, defaults, mistakes, and that nothing ends in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lint_vllm.cli.group import run
from lint_vllm.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
TOO_HIGH = "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.98\n"
FACTS = ("--gpu", "RTX 4090", "--vllm-version", "0.33.0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{VERSION}"\n' in project
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"lint-vllm {VERSION}\n"


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], ("click", "lint_vllm.rule", "dataclasses")),
        (
            ["check", "plain.yaml"],
            ("pydantic", "ruamel", "tree_sitter", "lint_vllm.rule", "lint_vllm.launch", "importlib.metadata"),
        ),
        (["check", "--gpu", "L4", "run.sh"], ("pydantic", "ruamel", "importlib.metadata")),
    ],
)
def test_nothing_is_loaded_that_is_not_needed(folder: Path, arguments: list[str], unwanted: tuple[str, ...]) -> None:
    write(folder / "plain.yaml", "a: 1\n")
    write(folder / "run.sh", TOO_HIGH)
    code = (
        "import sys, runpy; sys.argv = ['lint-vllm', *sys.argv[1:]]\n"
        "try:\n    from lint_vllm.cli import main\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print(' '.join(sys.modules), file=sys.stderr)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "rules")])}
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=True)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert not {name for name in loaded for bad in unwanted if name == bad or name.startswith(f"{bad}.")}


def test_check_is_the_default_command(folder: Path) -> None:
    write(folder / "scripts/run.sh", TOO_HIGH)
    assert run(["scripts/", *FACTS]) == run(["check", "scripts/", *FACTS]) == 1
    assert run([*FACTS, "scripts/"]) == 1
    assert run(list(FACTS)) == 1


def test_a_path_named_like_a_command(folder: Path) -> None:
    write(folder / "rules", TOO_HIGH)
    write(folder / "log.sh", "#!/bin/sh\n" + TOO_HIGH)
    assert run(["./log.sh", *FACTS]) == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([], 1),
        (["--fail-on", "error"], 0),
        (["--ignore", "MEM022"], 0),
        (["--ignore", "utilization-too-high"], 0),
        (["--ignore", "MEM,ARG"], 0),
        (["--select", "SEC"], 0),
        (["--select", "ARG", "--select", "MEM022"], 1),
        (["--format", "json"], 1),
    ],
)
def test_exit_code_of_findings(folder: Path, options: list[str], code: int) -> None:
    write(folder / "run.sh", TOO_HIGH)
    assert run(["check", *FACTS, *options, "run.sh"]) == code


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check", "none.sh"], "none.sh: No such file or directory"),
        (["none.sh"], "none.sh: No such file or directory"),
        (["check", "--gpus", "3"], "No such option"),
        (["check", "--format", "yaml"], "is not one of"),
        (["check", "--select", "MEM0222", "run.sh"], "unknown rule `MEM0222`; did you mean `MEM022`?"),
        (["check", "--gpu-count", "0"], "is not in the range"),
        (["check", "--vllm-version", "latest"], "is not a release"),
        (["check", "--config", "none.toml"], "none.toml: no such settings file"),
        (["check", "--config", "x.toml", "--isolated"], "exclude each other"),
        (["check", "--model-config", "none.json"], "no such file"),
        (["budget", "--", "ls"], "expected `vllm serve MODEL"),
        (["budget", "run.sh", "--", "vllm", "serve", "m"], "not both"),
        (["rule", "MEM02"], "no rule `MEM02`; did you mean `MEM"),
        (["launches", "none"], "none: No such file or directory"),
        (["config", "none"], "none: No such file or directory"),
    ],
)
def test_mistakes_are_one_sentence_and_code_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    write(folder / "run.sh", TOO_HIGH)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert sentence in " ".join(captured.err.split())
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ('gpuu = "L4"', "unknown key `gpuu`; did you mean `gpu`?"),
        ('ignore = ["NOPE"]', "unknown rule `NOPE`"),
        ("options = {MEM022 = {limit = 1}}", "`options.MEM022`: unknown option `limit`"),
        ('options = {MEM022 = {max-utilization = "much"}}', "`options.MEM022.max-utilization`: Input should be a valid number"),
        ('baseline = "none.json"', "none.json: No such file"),
    ],
)
def test_mistakes_in_settings(folder: Path, capsys: pytest.CaptureFixture[str], settings: str, sentence: str) -> None:
    write(folder / ".lint-vllm.toml", settings)
    write(folder / "run.sh", TOO_HIGH)
    assert run(["check", "run.sh", *FACTS]) == 2
    assert sentence in capsys.readouterr().err
    assert run(["check", "--isolated", "run.sh", *FACTS]) == 1


def test_settings_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a/run.sh", TOO_HIGH)
    write(folder / "pyproject.toml", '[tool.lint-vllm]\ngpu = "RTX 4090"\nvllm-version = "0.33.0"\n')
    assert run(["a"]) == 1
    write(folder / "a/.lint-vllm.toml", "options = {utilization-too-high = {max-utilization = 0.99}}\n")
    from lint_vllm import settings

    settings._find.cache_clear()
    assert run(["a"]) == 0
    capsys.readouterr()
    assert run(["config", "a/run.sh"]) == 0
    assert "max-utilization" in capsys.readouterr().out


def test_excluded_files_are_not_linted_even_when_named(folder: Path) -> None:
    write(folder / "vendor/run.sh", TOO_HIGH)
    write(folder / ".lint-vllm.toml", 'exclude = ["vendor/"]\n')
    assert run(["check", "vendor/run.sh", *FACTS]) == 0


def test_fix_and_diff(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(folder / "run.sh", TOO_HIGH)
    assert run(["check", "--diff", "run.sh", *FACTS]) == 1
    assert "+vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.95" in capsys.readouterr().out
    assert path.read_text() == TOO_HIGH
    assert run(["check", "--fix", "run.sh", *FACTS]) == 0
    assert path.read_text() == TOO_HIGH.replace("0.98", "0.95")
    before = path.read_bytes()
    assert run(["check", "--fix", "run.sh", *FACTS]) == 0
    assert path.read_bytes() == before


def test_baseline(folder: Path) -> None:
    path = write(folder / "run.sh", TOO_HIGH)
    assert run(["check", "run.sh", *FACTS, "--write-baseline", "accepted.json"]) == 0
    write(folder / ".lint-vllm.toml", 'baseline = "accepted.json"\n')
    from lint_vllm import settings

    settings._find.cache_clear()
    assert run(["check", "run.sh", *FACTS]) == 0
    path.write_text("\n\n# moved\n" + TOO_HIGH)
    assert run(["check", "run.sh", *FACTS]) == 0
    path.write_text(TOO_HIGH + TOO_HIGH.replace("0.98", "0.99"))
    assert run(["check", "run.sh", *FACTS]) == 1


def test_ignores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "run.sh", f"set -e\n# lint-vllm: ignore[MEM022] measured\n{TOO_HIGH}")
    assert run(["check", "run.sh", *FACTS]) == 0
    assert run(["check", "run.sh", *FACTS, "--no-inline-ignores"]) == 1
    capsys.readouterr()
    assert run(["check", "run.sh", *FACTS, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [d["suppressed"] for d in found if d["code"] == "MEM022"] == [{"by": "comment", "reason": "measured"}]


BAD_INPUT: dict[str, bytes] = {
    "binary.sh": bytes(range(256)) * 40 + b"vllm serve m",
    "long.sh": b"vllm serve m --x " + b"a" * 3_000_000,
    "truncated.yaml": b"services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    command: [--model, 'x",
    "quote.sh": b"vllm serve m --served-model-name 'open\n",
    "bomb.yaml": b"a: &a [vllm, vllm]\n"
    + b"".join(b"%c: &%c [*%c,*%c,*%c]\n" % (c, c, c - 1, c - 1, c - 1) for c in range(98, 120)),
    "deep.yaml": b"vllm: " + b"[" * 20_000,
    "deep.json": b'{"vllm": ' + b"[" * 20_000,
    "nul.yaml": b"command: vllm serve m\x00\n",
    "utf16.yaml": "\ufeffcommand: vllm serve m\n".encode("utf-16-le"),
    "half.yaml": b"\xff\xfev\x00l\x00l\x00m",
    "latin.sh": b"# caf\xe9\nvllm serve m\n",
    "tabs.yaml": b"\tvllm: serve\n\t- x\n",
    "Dockerfile": b'FROM vllm/vllm-openai:v0.33.0\nCMD ["--model", "x\\\n',
    "broken.py": b"from vllm import LLM\nLLM(model=\n",
    "broken.ipynb": b'{"cells": [{"source": ["import vllm"',
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_ends_in_findings_not_in_tracebacks(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = write(folder / name, BAD_INPUT[name])
    for arguments in (["check", "--fix"], ["check", "--format", "json"], ["check"], ["launches"], ["budget"]):
        assert run([*arguments, name]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err
    assert path.read_bytes() == BAD_INPUT[name]


def test_unreadable_file_is_a_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    write(folder / "run.sh", TOO_HIGH).chmod(0)
    assert run(["check", "run.sh", "--fail-on", "info"]) == 1
    assert "SRC001" in capsys.readouterr().out


def test_launches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "run.sh", "export HF_TOKEN=hf_abcdefghijklmnop\nvllm serve m/x -tp 2 --enforce-eager --api-key abcdefgh\n")
    assert run(["launches", "--format", "json", "run.sh"]) == 0
    output = capsys.readouterr().out
    assert "abcdefgh" not in output
    (launch,) = json.loads(output)["launches"]
    assert (launch["path"], launch["line"], launch["model"]) == ("run.sh", 2, "m/x")
    assert launch["args"] == {"tensor-parallel-size": "2", "enforce-eager": "true", "api-key": "***"}
    assert run(["launches", "run.sh"]) == 0
    assert run(["launches", "--format", "csv", "run.sh"]) == 0
    assert "run.sh:2" in capsys.readouterr().out


def test_budget_of_an_argument_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["budget", "--gpu", "RTX 4090", "--vllm-version", "0.33.0"]
    command = ["--", "env", "A=1", "vllm", "serve", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "8192"]
    assert run([*argv, "--format", "json", *command]) == 0
    (row,) = json.loads(capsys.readouterr().out)["budgets"]
    assert row["path"] is None
    assert row["line"] is None
    assert row["outcome"] == "starts"
    assert run([*argv, *command]) == 0
    assert "verdict: starts" in capsys.readouterr().out


def test_rules_and_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules"]) == 0
    assert "MEM022" in capsys.readouterr().out
    assert run(["rule", "utilization-too-high"]) == 0
    assert "max-utilization = 0.95" in capsys.readouterr().out
    assert run(["rules", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"]
    assert run(["schema"]) == 0
    assert "max-utilization" in json.dumps(json.loads(capsys.readouterr().out))


def test_help_lists_only_commands_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    listed = capsys.readouterr().out
    for name in ("check", "launches", "budget", "rule", "rules", "config", "schema"):
        assert f"\n  {name} " in listed
        assert run([name, "--help"]) == 0


def test_a_file_that_launches_refer_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        folder / "compose.yaml",
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    command: --model m --gpu-memory-utilization ${SHARE}\n",
    )
    write(folder / ".env", "SHARE=0.99\n")
    assert run(["check", ".env", "--select", "MEM022"]) == 1
    assert "MEM022" in capsys.readouterr().out
    write(folder / "other.env", "X=1\n")
    assert run(["check", "other.env", "--select", "MEM022"]) == 0
