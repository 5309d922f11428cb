"""Secrets never reach a report."""

from __future__ import annotations

import pytest

from lint_vllm.command_line import launch_from_command
from lint_vllm.redaction import Redactor, is_secret_flag, is_secret_name, masked, secrets_of


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


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("--api-key", True),
        ("--api-kei", True),
        ("--api-k", True),
        ("api_key", True),
        ("--hf-tokn", True),
        ("--api", False),
        ("--model", False),
    ],
)
def test_flags_cut_short_or_misspelt_take_secrets_too(name: str, secret: bool) -> None:
    assert is_secret_flag(name) is secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://user:hunter22@host/x", "postgres://***@host/x"),
        ("https://user:hunter22@host and http://a/b@c", "https://***@host and http://a/b@c"),
        ("http://$USER:$PASSWORD@host", "http://$USER:$PASSWORD@host"),
        ('{"Authorization": "Bearer abcdef123456"}', '{"Authorization": "Bearer ***"}'),
        ('{"s3_secret_access_key": "hunter22", "token":"hunter33"}', '{"s3_secret_access_key": "***", "token":"***"}'),
        ('{\\"api_key\\": \\"hunter22\\"}', '{\\"api_key\\": \\"***\\"}'),
        ("--max-num-batched-tokens: 8192", "--max-num-batched-tokens: 8192"),
        ("an API key stands in the file as the value of --api-key", "an API key stands in the file as the value of --api-key"),
    ],
)
def test_what_looks_like_a_secret(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


def test_short_secrets_are_masked_as_words_only() -> None:
    redactor = Redactor()
    redactor.learn([launch_from_command(["vllm", "serve", "m", "--api-key", "serve"])])
    assert redactor.text("serve, server and --serve-more") == "***, server and --serve-more"


def test_documents_keep_their_form() -> None:
    redactor = Redactor()
    redactor.learn((), ["8000"])
    assert redactor.document({"port": 8000, "key": ["8000", None]}) == {"port": 8000, "key": ["***", None]}
