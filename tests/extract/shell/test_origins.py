"""Properties: whatever the script, every word knows its place, and the shell itself agrees on the words."""

from __future__ import annotations

import shlex
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from lint_vllm.extract.context import Context
from lint_vllm.extract.shell import launches_in_script, split_words
from lint_vllm.source import SourceFile, Text

from .reading import launches, only

_PLAIN = st.text(string.ascii_letters + string.digits + "/._:-", min_size=1, max_size=12).filter(lambda s: s[0] not in "-")
_ANY = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00\r\n", exclude_categories=("Cc", "Cs", "Co", "Cn")), max_size=14
)
_CODE = st.text("ab$\"'`\\ \n\t(){}[]<>|&;=#-*@!%~é🚀{}vllm serve", max_size=120)


@given(st.lists(_ANY, max_size=6), st.lists(st.sampled_from(["none", "single", "double"]), min_size=6, max_size=6))
@settings(max_examples=150, deadline=None)
def test_quoted_words_come_back(values: list[str], styles: list[str]) -> None:
    written = []
    for value, style in zip(values, styles, strict=False):
        if style == "double":
            escaped = "".join("\\" + c if c in '$`"\\' else c for c in value)
            written.append(f'"{escaped}"')
        else:
            written.append(shlex.quote(value))
    line = "vllm serve m " + " ".join(written)
    if "{{" in line or "{%" in line or "{#" in line or "<" in line:
        return
    launch = only(line)
    assert [w.value for w in launch.words] == ["m", *values]
    assert [w.span.text for w in launch.words] == ["m", *written]
    for word in launch.words:
        if word.content.value and word.content.verbatim():
            assert word.content.span.text == word.value


@given(st.lists(_PLAIN, min_size=1, max_size=5), st.booleans())
@settings(max_examples=100, deadline=None)
def test_values_through_arrays_and_variables_keep_their_place(values: list[str], quoted: bool) -> None:
    names = [f"V{i}" for i in range(len(values))]
    script = "".join(f"{n}={v}\n" for n, v in zip(names, values, strict=True))
    script += "A=(" + " ".join(values) + ")\n"
    references = " ".join(f'"${n}"' if quoted else f"${{{n}}}" for n in names)
    launch = only(script + f'vllm serve m {references} "${{A[@]}}"')
    count = len(values)
    assert [w.value for w in launch.words] == ["m", *values, *values]
    for word, name in zip(launch.words[1 : count + 1], names, strict=True):
        assert name in word.span.text
        assert word.defined is not None
        assert word.defined.text == word.value
    assert [w.span.text for w in launch.words[count + 1 :]] == values


@given(_CODE)
@settings(max_examples=300, deadline=None)
def test_no_text_breaks_the_reading(code: str) -> None:
    source = SourceFile.of("X=1\n" + code + '\nvllm serve m --a "$X"\n', "x.sh")
    for launch in launches_in_script(Text.of(source), Context(source)):
        for word in (*launch.words, *launch.lost):
            for span in (word.span, word.content.span, word.value_span):
                assert 0 <= span.start <= span.end <= len(span.source.text)
        assert launch.command.start <= launch.command.end


@given(_CODE)
@settings(max_examples=150, deadline=None)
def test_dividing_a_line_never_fails(code: str) -> None:
    source = SourceFile.of(code, "x")
    for word in split_words(Text.of(source), Context(source)):
        assert 0 <= word.span.start <= word.span.end <= len(source.text)


@given(st.lists(_PLAIN, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_second_level_keeps_the_place(values: list[str]) -> None:
    line = "vllm serve " + " ".join(values)
    for script in (f"bash -c '{line}'", f'bash -c "{line}"', f"bash <<'EOF'\n{line}\nEOF\n", f"cat > a.sh <<EOF\n{line}\nEOF\n"):
        (launch,) = launches(script)
        assert [w.value for w in launch.words] == values
        assert [w.span.text for w in launch.words] == values
