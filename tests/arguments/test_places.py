"""Where names, values and problems stand."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import pytest

from lint_vllm.arguments.json_place import json_key_span, json_value_span
from lint_vllm.source import SourceFile, Text

_HERE = pathlib.Path(__file__).parent
_spec = importlib.util.spec_from_file_location("argument_launches", _HERE / "launches.py")
assert _spec is not None
assert _spec.loader is not None
launches = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("argument_launches", launches)
_spec.loader.exec_module(launches)


def test_names_and_values() -> None:
    found = launches.read(launches.launch("org/m --max_model_len 4096 -tp=2 --served-model-name a b -qawq --enforce-eager"))
    rows = [(a.dest, a.name_span.text, a.value_span.text if a.value_span else None, a.spelled, a.raw) for a in found.arguments]
    assert rows == [
        ("max_model_len", "--max_model_len", "4096", "--max_model_len", "4096"),
        ("tensor_parallel_size", "-tp", "2", "-tp", "2"),
        ("served_model_name", "--served-model-name", "a b", "--served-model-name", "a b"),
        ("quantization", "-q", "awq", "-q", "awq"),
        ("enforce_eager", "--enforce-eager", None, "--enforce-eager", None),
    ]
    assert found.model_span is not None
    assert found.model_span.text == "org/m"
    assert [len(a.words) for a in found.arguments] == [1, 0, 2, 0, 0]


def test_quoted_values_are_underlined_without_quotes() -> None:
    found = launches.read(launches.launch("org/m --chat-template 'a.jinja'"))
    argument = found.get("chat_template")
    assert argument is not None
    assert argument.value_span is not None
    assert argument.value_span.text == "a.jinja"
    assert argument.editable is not None


def test_editable_value_behind_equals() -> None:
    argument = launches.read(launches.launch("org/m --max-model-len=4096")).get("max_model_len")
    assert argument is not None
    assert argument.editable is not None
    assert argument.editable.text == "4096"


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("m --max-modl-len=4096", "--max-modl-len"),
        ("m --dtype=fp16", "fp16"),
        ("m --port x", "x"),
        ("m --port", "--port"),
        ("m --enforce-eager=true", "true"),
        ("m --enforce-eager true", "true"),
        ("m stray", "stray"),
        ("m --kv-cache fp8", "--kv-cache"),
        ('m --compilation-config \'{"mode":3,"badkey":1}\'', "badkey"),
        ('m --compilation-config \'{"cudagraph_capture_sizes":[1,"x"]}\'', '"x"'),
        ("m --compilation-config.badkey 1", "--compilation-config.badkey"),
        ("m --compilation-config.cudagraph_capture_sizes no", "no"),
    ],
)
def test_problem_spans(line: str, mark: str) -> None:
    found = launches.read(launches.launch(line))
    errors = [problem for problem in found.problems if problem.is_error]
    assert [problem.span.text for problem in errors] == [mark]


def test_words_of_a_problem_are_the_option_first() -> None:
    switch = launches.read(launches.launch("m --enforce-eager true")).problems[0]
    assert [word.value for word in switch.words] == ["--enforce-eager", "true"]
    gone = launches.read(launches.launch("m --swap-space 4 --port 1")).problems[0]
    assert [word.value for word in gone.words] == ["--swap-space", "4"]
    value = launches.read(launches.launch("m --dtype fp16")).problems[0]
    assert [word.value for word in value.words] == ["--dtype", "fp16"]


def text(value: str) -> Text:
    return Text.of(SourceFile.of(value))


@pytest.mark.parametrize(
    ("json_text", "path", "key", "value"),
    [
        ('{"a": 1}', ["a"], "a", "1"),
        ('{"a": {"b": [1, {"c": "x"}]}}', ["a", "b", "1", "c"], "c", '"x"'),
        ('{"a": 1, "a": 2}', ["a"], "a", "2"),
        ('{ "a" : { "}" : true } , "b":null }', ["b"], "b", "null"),
        ('{"\\u0061": 5}', ["a"], "\\u0061", "5"),
        ('["x", "y"]', ["1"], None, '"y"'),
    ],
)
def test_json_places(json_text: str, path: list[str], key: str | None, value: str) -> None:
    found_key, found_value = json_key_span(text(json_text), path), json_value_span(text(json_text), path)
    assert (found_key.text if found_key else None) == key
    assert found_value is not None
    assert found_value.text == value


@pytest.mark.parametrize("broken", ["", "{", '{"a"', '{"a":', '{"a": 1', "[1, 2", "nonsense", '{"b": 1}', "{'a': 1}"])
def test_json_places_that_are_not_there(broken: str) -> None:
    assert json_key_span(text(broken), ["a"]) is None or broken.startswith('{"a"')


# ---------------------------------------------------------------- what is not known
def test_unknown_value() -> None:
    found = launches.read(launches.launch("m --max-model-len $LEN --port $PORT", unknown=("$LEN", "$PORT")))
    assert not found.problems
    argument = found.get("max_model_len")
    assert argument is not None
    assert not argument.known
    assert found.complete


def test_unknown_value_behind_equals() -> None:
    found = launches.read(launches.launch("m --max-model-len={{.Values.len}}", unknown=("--max-model-len={{.Values.len}}",)))
    assert not found.problems
    assert found.get("max_model_len") is not None


def test_unknown_model() -> None:
    found = launches.read(launches.launch("$MODEL --port 1", unknown=("$MODEL",)))
    assert not isinstance(found.model, str)
    assert found.complete
    assert not found.problems


@pytest.mark.parametrize(
    "line",
    [
        "$ARGS",
        "m $EXTRA_ARGS",
        "m --enforce-eager $ARGS",
        "m $ARGS more",
        "$@ m --port 1",
        "m ${OPTS[@]} --enable-auto-tool-choice",
    ],
)
def test_words_that_may_hide_several(line: str) -> None:
    hidden = tuple(part for part in line.split() if part.startswith("$"))
    found = launches.read(launches.launch(line, unknown=hidden))
    assert not found.complete
    assert not [problem for problem in found.problems if problem.is_error]


def test_errors_beside_unknown_words_stay() -> None:
    found = launches.read(launches.launch("m $EXTRA_ARGS --swap-space 4 --port x", unknown=("$EXTRA_ARGS",)))
    assert [problem.kind for problem in found.problems] == ["bad_value", "removed"]


def test_unknown_option_name_hides_all() -> None:
    found = launches.read(launches.launch("m --$NAME 3", unknown=("--$NAME",)))
    assert not found.complete
    assert not found.problems


def test_unknown_part_of_a_dotted_value() -> None:
    line = "m --kv-transfer-config.kv_role kv_both --kv-transfer-config.kv_port $PORT"
    found = launches.read(launches.launch(line, unknown=("$PORT",)))
    assert not found.problems
    argument = found.get("kv_transfer_config")
    assert argument is not None
    assert isinstance(argument.value, dict)
    assert argument.value["kv_role"] == "kv_both"


def test_templates_torn_at_blanks() -> None:
    found = launches.read(launches.launch("m --port {{ .Values.port }} --swap-space 1 {{- if .x }}--enforce-eager{{- end }}"))
    assert [problem.kind for problem in found.problems if problem.is_error] == ["removed"]
    assert not found.complete


@pytest.mark.parametrize("value", ["${PORT}", "$(PORT)", "<port>", "{{port}}", "$PORT", "..."])
def test_placeholders_are_no_errors(value: str) -> None:
    found = launches.read(launches.launch(f"m --port {value}"))
    assert not found.problems
    argument = found.get("port")
    assert argument is not None
    assert not argument.known


def test_conditional_words() -> None:
    found = launches.read(launches.launch("m --port 1 --port=2 --enforce-eager", conditional=("--port=2", "--enforce-eager")))
    assert not found.problems
    assert "port" not in found.values
    assert "enforce_eager" not in found.values
    assert found.get("enforce_eager") is not None


# ---------------------------------------------------------------- named values
def test_chart_settings() -> None:
    text = "max_model_len=32k\nenforce_eager=true\nenable_prefix_caching=false\ndtype=fp16\nserved_model_name=\n"
    found = launches.read(launches.settings_launch(text, "chart", {"enforce_eager": True, "enable_prefix_caching": False}))
    assert found.values["max_model_len"] == 32000
    assert found.values["enforce_eager"] is True
    assert "enable_prefix_caching" not in found.values
    problem = found.problems[0]
    assert (problem.kind, problem.span.text) == ("bad_value", "fp16")
    assert problem.argument is not None
    assert problem.argument.setting is not None


def test_variables_of_a_wrapper() -> None:
    found = launches.read(launches.settings_launch("enforce_eager=1\nmax_model_len=4096\nswap_space=4\n", "env", {}))
    assert found.values["enforce_eager"] is True
    assert [(p.kind, p.span.text) for p in found.problems] == [("removed", "swap_space")]
    assert found.problems[0].argument is not None


def test_config_file_alone() -> None:
    literals: dict[str, object] = {"max-model-len": 4096, "enforce-eager": True, "enable-prefix-caching": False}
    text = "max-model-len=4096\nenforce-eager=true\nenable-prefix-caching=false\nno-such=1\n"
    found = launches.read(launches.settings_launch(text, "config", literals))
    assert dict(found.values) == {"max_model_len": 4096, "enforce_eager": True}
    assert [(p.kind, p.span.text) for p in found.problems] == [("unknown", "no-such"), ("ignored", "enable-prefix-caching=false")]
    assert not isinstance(found.model, str)


@pytest.mark.parametrize(
    ("owner", "name", "release", "kind"),
    [
        ("LLM", "swap_space", "0.33.0", "removed"),
        ("LLM", "swap_space", "0.9.2", None),
        ("LLM", "runner", "0.9.2", "unknown"),
        ("LLM", "max_model_len", "0.33.0", None),
        ("EngineArgs", "max_modl_len", "0.33.0", "unknown"),
        ("AsyncEngineArgs", "disable_log_requests", "0.33.0", "removed"),
    ],
)
def test_python_keywords(owner: str, name: str, release: str, kind: str | None) -> None:
    found = launches.read(launches.settings_launch(f"model=m\n{name}=4\n", "python", {name: 4}, owner), release)
    assert found.form == "python"
    assert [problem.kind for problem in found.problems] == ([] if kind is None else [kind])
    assert found.model == "m"
    if kind is not None:
        assert found.problems[0].span.text == name
    else:
        assert found.value(name) == 4


def test_image_entry_point_follows_the_release() -> None:
    old = launches.read(launches.launch("--model m --headless", "image"), "0.9.2")
    assert (old.form, [p.kind for p in old.problems]) == ("api_server", ["unknown"])
    ignored = launches.read(launches.launch("org/m", "image"), "0.10.2")
    assert (ignored.form, [p.kind for p in ignored.problems]) == ("api_server", ["ignored"])
    unsettled = [launches.read(launches.launch(line, "image"), "0.11.0") for line in ("org/m", "--model org/m")]
    assert [(found.model, found.problems) for found in unsettled] == [("org/m", ()), ("org/m", ())]
    new = launches.read(launches.launch("org/m", "image"), "0.12.0")
    assert (new.form, new.model, new.problems) == ("serve", "org/m", ())


def test_another_program_is_not_judged() -> None:
    assert not launches.read(launches.launch("m --nonsense", "other")).problems
    omni = launches.read(launches.launch("m --omni --nonsense"))
    assert [problem.flag for problem in omni.problems] == ["--omni"]
    assert not omni.complete
