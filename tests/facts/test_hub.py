"""``--hub`` against a server on loopback that speaks the hub's protocol; nothing leaves the machine."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lint_vllm.cli.group import run
from lint_vllm.facts import hub as module
from lint_vllm.facts.hub import Hub
from lint_vllm.known import Known, Unknown

CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
FILES = {
    "acme/own-model": json.dumps(CONFIG),
    "Qwen/Qwen2.5-7B-Instruct": json.dumps(CONFIG),
    "acme/broken": "{",
    "acme/list": "[1]",
}
needs_hub = pytest.mark.skipif(not module.is_installed(), reason="huggingface_hub is not installed (extra [hub])")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    asked: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, body: bool) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/config\.json", self.path)
        name = found[1] if found else ""
        if name == "acme/slow":
            time.sleep(3)
        if name == "acme/gated":
            return self._refuse(403, "GatedRepo")
        if name == "acme/empty":
            return self._refuse(404, "EntryNotFound")
        if name == "acme/teapot":
            return self._refuse(418, "")
        if name not in FILES:
            return self._refuse(404, "RepoNotFound")
        data = FILES[name].encode()
        self.send_response(200)
        self.send_header("X-Repo-Commit", "a" * 40)
        self.send_header("ETag", f'"{hash(data) & 0xFFFFFFFF:040x}"')
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server(("127.0.0.1", 0), Handler)
    running.asked = []
    threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{running.server_port}")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@needs_hub
def test_fetches_and_says_from_where(server: Server) -> None:
    found = Hub().config("acme/own-model")
    assert isinstance(found, Known)
    assert found.value == CONFIG
    assert found.origin == f"config.json from 127.0.0.1:{server.server_port}"


@needs_hub
def test_asks_once(server: Server) -> None:
    hub = Hub()
    hub.config("acme/own-model")
    number = len(server.asked)
    hub.config("acme/own-model")
    assert len(server.asked) == number
    assert all("/resolve/" in line and line.endswith("/config.json") for line in server.asked)


@needs_hub
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("acme/nothing", "has no such model, or it is private"),
        ("acme/gated", "terms must be accepted"),
        ("acme/empty", "has no config.json"),
        ("acme/teapot", "418"),
        ("acme/broken", "is not valid JSON"),
        ("acme/list", "holds no JSON object"),
    ],
)
def test_says_why_nothing_came(server: Server, model: str, words: str) -> None:
    found = Hub().config(model)
    assert isinstance(found, Unknown)
    assert words in found.reason


@needs_hub
def test_does_not_wait_for_ever_and_then_not_again(server: Server) -> None:
    hub = Hub(timeout=0.5)
    found = hub.config("acme/slow")
    assert isinstance(found, Unknown)
    assert "did not answer within 0.5 s" in found.reason
    number = len(server.asked)
    assert isinstance(hub.config("acme/own-model"), Unknown)
    assert len(server.asked) == number


@needs_hub
@pytest.mark.parametrize("name", ["./models/x", "/models/x", "x", "a/b/c", "../x/y", "a/..", "s3://b/m", ""])
def test_paths_are_never_asked_for(server: Server, name: str) -> None:
    assert Hub().config(name) is None
    assert server.asked == []


@needs_hub
def test_wins_over_the_catalogue_only_when_asked(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = ["--", "vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"]
    asked = ["budget", "--isolated", "--gpu", "L4", "--format", "json"]
    assert run([*asked, *launch]) == 0
    assert json.loads(capsys.readouterr().out)["budgets"][0]["model"]["origin"] == "catalogue"
    assert server.asked == []
    assert run([*asked, "--hub", *launch]) == 0
    budget = json.loads(capsys.readouterr().out)["budgets"][0]
    assert budget["model"]["origin"].startswith("config.json from 127.0.0.1")
    assert budget["per_gpu"]["weights"]["likely"] < 2 * 2**30


@needs_hub
def test_falls_back_to_the_catalogue_and_says_so(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["budget", "--isolated", "--hub", "--gpu", "L4", "--format", "json", "--", "vllm", "serve", "Qwen/Qwen3-8B"]) == 0
    origin = json.loads(capsys.readouterr().out)["budgets"][0]["model"]["origin"]
    assert origin.startswith("catalogue; config.json of Qwen/Qwen3-8B was not fetched: ")


@needs_hub
def test_what_was_fetched_is_in_the_cache_afterwards(server: Server, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = ["--gpu", "L4", "--format", "json", "--", "vllm", "serve", "acme/own-model"]
    assert run(["budget", "--hub", *launch]) == 0
    capsys.readouterr()
    server.asked.clear()
    assert run(["budget", *launch]) == 0
    assert json.loads(capsys.readouterr().out)["budgets"][0]["model"]["origin"] == "config.json in the local Hugging Face cache"
    assert server.asked == []


@needs_hub
def test_a_hub_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    found = Hub(timeout=1).config("acme/own-model")
    assert isinstance(found, Unknown)
    assert "127.0.0.1:9" in found.reason


def test_without_the_package(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_installed", lambda: False)
    assert run(["budget", "--hub", "--", "vllm", "serve", "m"]) == 2
    assert "pip install 'lint-vllm[hub]'" in capsys.readouterr().err
