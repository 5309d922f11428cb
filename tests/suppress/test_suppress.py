"""Comments that speak to lint-vllm: their syntax in every carrier, what they silence, and how an idle one is removed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile
from lint_vllm.suppress import Suppressions, directives


def launch_at(source: SourceFile, text: str, block: str | None = None) -> Launch:
    at = source.text.index(text)
    start = at if block is None else source.text.index(block)
    return Launch(source, "vllm serve", "test", source.span(at, at + len(text)), source.span(start, len(source.text)))


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("# lint-vllm: gpu=RTX4090 gpu-count=2 vllm=0.9.1", {"gpu": "RTX4090", "gpu-count": "2", "vllm": "0.9.1"}),
        ("# lint-vllm: context=32768, concurrency=4", {"context": "32768", "concurrency": "4"}),
        ('#lint-vllm: gpu="NVIDIA L4"', {"gpu": "NVIDIA L4"}),
        ("// lint-vllm: gpu='RTX 4090' task=code", {"gpu": "RTX 4090", "task": "code"}),
        ("; lint-vllm: GPU_COUNT=2", {"gpu-count": "2"}),
        ("-- lint-vllm: gpu=L4", {"gpu": "L4"}),
        ("<!-- lint-vllm: gpu=L4 -->", {"gpu": "L4"}),
        ("/* lint-vllm: gpu=L4 */", {"gpu": "L4"}),
        ("{{/* lint-vllm: gpu=L4 */}}", {"gpu": "L4"}),
        ("{{- /* lint-vllm: gpu=L4 */ -}}", {"gpu": "L4"}),
        ("{# lint-vllm: gpu=L4 #}", {"gpu": "L4"}),
        ('    "# lint-vllm: gpu=T4 context=4096\\n",', {"gpu": "T4", "context": "4096"}),
        ('    "# lint-vllm: gpu=\\"Tesla T4\\"\\n",', {"gpu": "Tesla T4"}),
        ("command: |  # lint-vllm: gpu=L4", {"gpu": "L4"}),
    ],
)
def test_facts_in_every_comment_style(text: str, facts: dict[str, str]) -> None:
    found = directives(SourceFile.of(text))
    assert len(found) == 1
    assert {f.key: f.value for f in found[0].facts} == facts
    assert all("=" in f.span.text for f in found[0].facts)


@pytest.mark.parametrize(
    "text", ["vllm serve m --note lint-vllm: gpu=L4", "see https://lint-vllm: x=y", "echo a#lint-vllm: gpu=L4", "#  lint-vllm"]
)
def test_text_that_is_no_comment(text: str) -> None:
    assert directives(SourceFile.of(text)) == ()


@pytest.mark.parametrize(
    ("comment", "codes", "reason"),
    [
        ("# lint-vllm: ignore[MEM022] measured on this host", ("mem022",), "measured on this host"),
        ("# lint-vllm: ignore[MEM022, other-name]", ("mem022", "other-name"), ""),
        ("# lint-vllm: ignore[ARG001]: a plug-in flag", ("arg001",), "a plug-in flag"),
        ("<!-- lint-vllm: ignore[MEM022] fine -->", ("mem022",), "fine"),
        ("# lint-vllm: ignore", (), ""),
        ("# lint-vllm: gpu=L4 ignore[MEM031] small load", ("mem031",), "small load"),
    ],
)
def test_ignores(comment: str, codes: tuple[str, ...], reason: str) -> None:
    (found,) = directives(SourceFile.of("x\n" + comment))
    assert found.ignore is not None
    assert tuple(code for code, _ in found.ignore.codes) == codes
    assert found.ignore.reason == reason
    assert [span.text.lower() for _, span in found.ignore.codes] == list(codes)


SCRIPT = """\
#!/bin/bash
set -e
# lint-vllm: ignore[MEM022] measured
vllm serve a \\
  --gpu-memory-utilization 0.98
vllm serve b --gpu-memory-utilization 0.98  # lint-vllm: ignore[utilization-too-high]
vllm serve c --gpu-memory-utilization 0.98
"""


@pytest.mark.parametrize(("model", "silent"), [("a", True), ("b", True), ("c", False)])
def test_line_and_line_above(model: str, silent: bool) -> None:
    source = SourceFile.of(SCRIPT)
    command = f"vllm serve {model}"
    launch = launch_at(source, command)
    at = source.text.index("0.98", launch.command.start)
    found = Suppressions.of(source).match("MEM022", "utilization-too-high", source.span(at, at + 4), launch)
    assert (found is not None) is silent
    if model == "a" and found is not None:
        assert (found.by, found.reason) == ("comment", "measured")


def test_other_codes_stay() -> None:
    source = SourceFile.of(SCRIPT)
    at = source.text.index("0.98")
    assert Suppressions.of(source).match("MEM031", "concurrency-below-intent", source.span(at, at + 4)) is None


def test_disabled_for_audits() -> None:
    source = SourceFile.of(SCRIPT)
    at = source.text.index("b --gpu")
    assert Suppressions.of(source, enabled=False).match("MEM022", "utilization-too-high", source.span(at, at + 1)) is None


@pytest.mark.parametrize("comment", ["# lint-vllm: ignore[MEM022] all", "# a title\n\n# lint-vllm: ignore[MEM022] all"])
def test_head_of_file_holds_for_the_file(comment: str) -> None:
    source = SourceFile.of(f"{comment}\n\nservices:\n  a: 1\n  b: 0.98\n")
    at = source.text.index("0.98")
    assert Suppressions.of(source).match("MEM022", "x", source.span(at, at + 4)) is not None


def test_ignore_file_anywhere() -> None:
    source = SourceFile.of("a: 0.98\n# lint-vllm: ignore-file[MEM022] all\n")
    assert Suppressions.of(source).match("MEM022", "x", source.span(3, 7)) is not None


def test_inside_a_block_scalar() -> None:
    source = SourceFile.of(
        "kind: x\ndata:\n  run.sh: |\n    # lint-vllm: ignore[MEM022] here\n    vllm serve m --x 0.98\n    vllm serve n --x 0.97\n"
    )
    ignores = Suppressions.of(source)
    first, second = source.text.index("0.98"), source.text.index("0.97")
    assert ignores.match("MEM022", "x", source.span(first, first + 4), launch_at(source, "vllm serve m")) is not None
    assert ignores.match("MEM022", "x", source.span(second, second + 4), launch_at(source, "vllm serve n")) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x\n# lint-vllm: ignore[MEM022] why\ny\n", "x\ny\n"),
        ("x\ny  # lint-vllm: ignore[MEM022]\n", "x\ny\n"),
        ("x\n# lint-vllm: ignore[MEM022, MEM031] why\ny\n", "x\n# lint-vllm: ignore[MEM031] why\ny\n"),
        ("x\n# lint-vllm: gpu=L4 ignore[MEM022]\ny\n", "x\n# lint-vllm: gpu=L4\ny\n"),
        ("x\n<p> <!-- lint-vllm: ignore[MEM022] --></p>\n", "x\n<p></p>\n"),
        ("x\r\n# lint-vllm: ignore[MEM022]\r\ny\r\n", "x\r\ny\r\n"),
    ],
)
def test_removing_an_idle_ignore(before: str, after: str) -> None:
    source = SourceFile.of(before)
    ignores = Suppressions.of(source)
    ignores.match("MEM031", "x", source.span(before.index("y") if "y" in before else 0, len(before)))
    (idle,) = ignores.unused()
    edit = idle.edit
    assert before[: edit.span.start] + edit.text + before[edit.span.end :] == after


def test_idle_codes_of_rules_that_did_not_run_are_left() -> None:
    source = SourceFile.of("x\n# lint-vllm: ignore[MEM022]\ny\n")
    assert Suppressions.of(source).unused({"ARG001", "flag-typo"}) == ()


@given(st.text(alphabet='#/;-<!lint-vllm: ignore[]MEM02=gpu"\\\n {}*,', max_size=200))
def test_any_text_is_read(text: str) -> None:
    source = SourceFile.of(text)
    for directive in directives(source):
        assert source.text[directive.span.start : directive.span.end].count("\n") == 0
    ignores = Suppressions.of(source)
    for idle in ignores.unused():
        assert 0 <= idle.edit.span.start <= idle.edit.span.end <= len(source.text)
