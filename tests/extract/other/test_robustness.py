"""No text makes a carrier fail; what is found stays inside the file."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.extract.other.support import SAMPLES, extraction

NAMES = sorted(p.name for p in SAMPLES.iterdir())
SNIPPETS = ['"', "'", "''", "${", "}", "{", "[", "]", "(", ")", "\\", "<<EOT\n", "\n", "=", ";", "/*", "#", "%{", '"""', "é", "\x00", "\u2028", "vllm serve m"]  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_mutilated_samples(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    text = (SAMPLES / name).read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 40))
        text = text[:at] + data.draw(st.sampled_from(["", *SNIPPETS])) + text[at + cut :]
    found = extraction(text, name)
    for launch in found.launches:
        assert 0 <= launch.command.start <= launch.command.end <= len(text)
        assert launch.block.end <= len(text)
        for word in launch.words:
            assert 0 <= word.span.start <= len(text)
            if word.editable is not None:
                assert word.editable.text == word.value


@pytest.mark.parametrize("name", NAMES)
def test_every_prefix(name: str) -> None:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    for end in range(0, len(text), max(len(text) // 40, 1)):
        extraction(text[:end], name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "unit", ['"', "{", "[", "(", "<<EOT\n", "${", "''", "a = ", "vllm ", "option.a=", "- ", "%%bash\n", "x:", "parameters {"]
)
def test_repetition_is_no_work(name: str, unit: str) -> None:
    extraction("vllm " + unit * 20_000, name)
