from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lint_vllm.facts.comments import comment_facts
from lint_vllm.facts.repository import Repository
from lint_vllm.facts.workload import requests_in, resolve_workload
from lint_vllm.launch import Hint
from lint_vllm.settings import Stated
from lint_vllm.source import SourceFile

from .conftest import make_launch

CLIENT = """\
curl http://localhost:8000/v1/chat/completions -d '{
  "model": "chat", "max_tokens": 512,
  "messages": []}'
curl http://localhost:8000/v1/chat/completions -d '{"model": "other", "max_tokens": 9000}'
"""


def test_precedence(repository: Callable[..., Repository]) -> None:
    launch = make_launch("# lint-vllm: context=4096 concurrency=2 task=Code\nvllm serve m")
    found = resolve_workload(
        launch, Stated(concurrency=8), comment_facts(launch), Stated(context_tokens=1, output_tokens=300), repository()
    )
    assert found.concurrency is not None
    assert found.context_tokens is not None
    assert found.output_tokens is not None
    assert found.task is not None
    assert (found.concurrency.value, found.concurrency.origin) == (8, "--concurrency")
    assert (found.context_tokens.value, found.context_tokens.origin) == (4096, "comment in the file")
    assert (found.output_tokens.value, found.output_tokens.origin) == (300, "settings")
    assert found.task.value == "code"
    assert found.context_tokens_p50 is None


def test_clients_in_the_folder(repository: Callable[..., Repository]) -> None:
    here = repository("run.sh", **{"client.sh": CLIENT})
    launch = make_launch("vllm serve m")
    comments = comment_facts(launch)
    found = resolve_workload(launch, Stated(), comments, Stated(), here, ["chat"])
    assert found.output_tokens is not None
    assert (found.output_tokens.value, found.output_tokens.origin) == (512, "max_tokens of a client request in client.sh")
    assert resolve_workload(launch, Stated(), comments, Stated(), here, ["none"]).output_tokens is None
    assert resolve_workload(launch, Stated(), comments, Stated(), here).output_tokens is None


def test_requests_have_places() -> None:
    source = SourceFile.of(CLIENT, "client.sh")
    assert [(r.model, r.max_tokens, r.span.text if r.span else None) for r in requests_in(source)] == [
        ("chat", 512, "chat"),
        ("other", 9000, "other"),
    ]
    python = SourceFile.of('from openai import OpenAI\nc.create(model="m", messages=[], max_tokens=64)\n', "c.py")
    assert [(r.model, r.max_tokens) for r in requests_in(python)] == [("m", 64)]
    assert list(requests_in(SourceFile.of('model: "m"\nmax_tokens: 5', "x.yaml"))) == []


def test_sampling_parameters_of_a_program(repository: Callable[..., Repository]) -> None:
    launch = make_launch("SamplingParams(max_tokens=64)\nvllm serve m")
    hints = tuple(Hint("max-tokens", value, launch.command) for value in ("64", "256", "x"))
    launch = replace(launch, hints=hints)
    found = resolve_workload(launch, Stated(), comment_facts(launch), Stated(), repository())
    assert found.output_tokens is not None
    assert (found.output_tokens.value, found.output_tokens.origin) == (256, "max_tokens of SamplingParams")
