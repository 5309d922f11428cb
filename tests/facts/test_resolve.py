from __future__ import annotations

from pathlib import Path

import pytest

from lint_vllm.facts.resolve import Shared, resolve
from lint_vllm.known import Known, Unknown
from lint_vllm.launch import Launch, Word
from lint_vllm.settings import Stated
from lint_vllm.source import SourceFile, Text


def launch_of(path: Path, text: str) -> Launch:
    """The words after ``vllm serve`` of a one-line script."""
    path.write_text(text)
    source = SourceFile.read(str(path))
    start = text.index("vllm serve")
    words, at = [], start + len("vllm serve")
    for part in text[at:].split():
        at = text.index(part, at)
        words.append(Word(Text.of(source, at, at + len(part)), source.span(at, at + len(part))))
        at += len(part)
    return Launch(source, "vllm serve", "test", source.span(start, start + 10), source.span(start, len(text)), tuple(words))


def test_facts_of_a_script(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("vllm==0.9.1\n")
    launch = launch_of(tmp_path / "run.sh", "# lint-vllm: gpu=L4 gpu-count=1 context=2k\nvllm serve ./nowhere --max-model-len 4096")
    args, facts = resolve(launch, Stated(), Stated(concurrency=3), Shared(use_hub_cache=False))
    assert args.release.value == facts.release.version == "0.9.1"
    assert facts.release.origin == "requirements.txt"
    assert isinstance(facts.gpu, Known)
    assert facts.gpu.value.name == "NVIDIA L4"
    assert isinstance(facts.gpu_count, Known)
    assert facts.workload.context_tokens is not None
    assert facts.workload.concurrency is not None
    assert (facts.workload.context_tokens.value, facts.workload.concurrency.value) == (2000, 3)
    assert isinstance(facts.model, Unknown)
    assert "not in this repository" in facts.model.reason
    assert facts.siblings == ()


def test_files_of_a_folder_share_their_look_ups(tmp_path: Path) -> None:
    shared = Shared(use_hub_cache=False)
    assert shared.repository(str(tmp_path / "a.sh")) is shared.repository(str(tmp_path / "b.sh"))


@pytest.mark.parametrize("text", ["vllm serve", "vllm serve --model", "vllm serve ''"])
def test_any_launch_has_facts(text: str, tmp_path: Path) -> None:
    _, facts = resolve(launch_of(tmp_path / "run.sh", text), Stated(), Stated(), Shared(use_hub_cache=False))
    assert facts.model.__class__ in (Known, Unknown)
