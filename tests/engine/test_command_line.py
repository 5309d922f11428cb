"""Launches from argument lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.command_line import NotALaunch, launch_from_arguments, launch_from_command


def test_environment_and_form() -> None:
    launch = launch_from_command(["env", "A=1", "B=x y", "/usr/bin/vllm", "serve", "m", "--port", "1"])
    assert launch.form == "vllm serve"
    assert {name: env.value.value for name, env in launch.env.items() if env.value} == {"A": "1", "B": "x y"}
    assert [word.value for word in launch.words] == ["m", "--port", "1"]
    module = launch_from_command(["python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"])
    assert module.form == "api_server"


@pytest.mark.parametrize("argv", [[], ["vllm"], ["ls", "-l"], ["A=1"], ["python", "x.py"]])
def test_other_commands(argv: list[str]) -> None:
    with pytest.raises(NotALaunch, match="expected `vllm serve MODEL"):
        launch_from_command(argv)


@given(st.lists(st.text(max_size=12), max_size=6))
def test_words_stay_as_given(argv: list[str]) -> None:
    launch = launch_from_arguments(argv)
    assert [word.value for word in launch.words] == argv
    for word in launch.words:
        assert word.content.verbatim() or word.span.text.startswith("'") or "'" in word.span.text or not word.value
