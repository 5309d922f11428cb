"""Secrets never reach a report."""

from __future__ import annotations

import pytest

from lint_vllm.command_line import launch_from_command
from lint_vllm.redaction import Redactor, is_secret_name, masked, secrets_of


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("--api-key", True),
        ("VLLM_API_KEY", True),
        ("HF_TOKEN", True),
        ("hf-token", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("DB_PASSWORD", True),
        ("--max-num-batched-tokens", False),
        ("--max-num-batched-token", False),
        ("--tokenizer", False),
        ("--ssl-keyfile", False),
        ("TOKENIZERS_PARALLELISM", False),
    ],
)
def test_names(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


@pytest.mark.parametrize("value", ["$KEY", "${KEY:?}", "{{ key }}", "true", ""])
def test_references_are_no_secrets(value: str) -> None:
    assert masked("api-key", value) == value


def test_values_of_a_launch() -> None:
    launch = launch_from_command(
        [
            "env",
            "HF_TOKEN=hf-example",
            "PORT=1",
            "vllm",
            "serve",
            "m",
            "--api-key",
            "one",
            "two",
            "--port",
            "8000",
            "--api-key=three",
        ]
    )
    assert set(secrets_of(launch)) == {"hf-example", "one", "two", "three"}


def test_texts_and_lines() -> None:
    redactor = Redactor()
    redactor.learn([launch_from_command(["vllm", "serve", "m", "--api-key", "hunter22"])])
    assert redactor.text("the key hunter22 stands here") == "the key *** stands here"
    line = "--api-key hunter22 OPENAI_API_KEY=other-value hf_abcdefghijklmnopqrst"
    shown = redactor.line(line)
    assert len(shown) == len(line)
    for secret in ("hunter22", "other-value", "hf_abcdefghijklmnopqrst"):
        assert secret not in shown
    assert Redactor().line('password: "${PASSWORD:?}"') == 'password: "${PASSWORD:?}"'
