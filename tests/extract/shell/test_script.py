"""Scripts: what the shell would hand to vLLM, and where each word was written."""

from __future__ import annotations

import pytest

from .reading import launches, only, slices, words

MODEL = "org/m"

VALUES = [
    # values set in the same script
    ("LEN=4096\nvllm serve org/m --max-model-len $LEN", ["org/m", "--max-model-len", "4096"]),
    ('LEN="4096"\nvllm serve org/m --max-model-len "$LEN"', ["org/m", "--max-model-len", "4096"]),
    ("export LEN=4096\nvllm serve org/m --max-model-len=${LEN}", ["org/m", "--max-model-len=4096"]),
    ("readonly LEN=4096\nvllm serve org/m --max-model-len $LEN", ["org/m", "--max-model-len", "4096"]),
    ("declare -r LEN=4096\nvllm serve org/m --max-model-len $LEN", ["org/m", "--max-model-len", "4096"]),
    ("A=2 B=3\nvllm serve org/m -tp $((A*B+1))", ["org/m", "-tp", "7"]),
    ("LEN=1\nLEN=2\nvllm serve org/m --port $LEN", ["org/m", "--port", "2"]),
    ("DIR=/models/a/\nvllm serve ${DIR%/}", ["/models/a"]),
    ("M=org/name\nvllm serve x --served-model-name ${M##*/}", ["x", "--served-model-name", "name"]),
    ("M=Org\nvllm serve ${M,,}", ["org"]),
    ("M=org/name\nvllm serve x --served-model-name $(basename $M)", ["x", "--served-model-name", "name"]),
    ('C=$(cat <<\'EOF\'\n{"a": 1}\nEOF\n)\nvllm serve m --speculative-config "$C"', ["m", "--speculative-config", '{"a": 1}']),
    ('N=3\nC=$(printf \'{"n":%s}\' "$N")\nvllm serve m --x "$C"', ["m", "--x", '{"n":3}']),
    # defaults
    ("vllm serve ${M:-org/m} --port ${P-8000}", ["org/m", "--port", "8000"]),
    (': "${M:=org/m}"\nvllm serve "$M"', ["org/m"]),
    ('M=${1:-org/m}\nvllm serve "$M"', ["org/m"]),
    ('M=${M:-"org/m"}\nvllm serve $M', ["org/m"]),
    ('[ -z "$M" ] && M=org/m\nvllm serve $M', ["org/m"]),
    ('if [ -z "${M}" ]; then\n  M=org/m\nfi\nvllm serve $M', ["org/m"]),
    ("while getopts m: o; do case $o in m) model=$OPTARG;; esac; done\nvllm serve ${model:-org/m}", ["org/m"]),
    ("M=org/m\nwhile [ $# -gt 0 ]; do case $1 in --model) M=$2; shift 2;; esac; done\nvllm serve $M", ["org/m"]),
    # unknown stays as written
    ("vllm serve $M", ["!$M"]),
    ('vllm serve "$1" --port "${2}"', ["!$1", "--port", "!${2}"]),
    ('vllm serve m "$@"', ["m", "!$@"]),
    ("vllm serve m -tp $(nproc)", ["m", "-tp", "!$(nproc)"]),
    ("vllm serve m -tp `nvidia-smi -L | wc -l`", ["m", "-tp", "!`nvidia-smi -L | wc -l`"]),
    ("vllm serve m --port $((BASE+1))", ["m", "--port", "!$((BASE+1))"]),
    ("read LEN\nvllm serve m --max-model-len $LEN", ["m", "--max-model-len", "!$LEN"]),
    # lists of flags
    ("A=(--a 1 'b c')\nvllm serve m \"${A[@]}\"", ["m", "--a", "1", "b c"]),
    ('A=()\nA+=(--a)  # first\nA+=(--b "${B:-2}")\nvllm serve m "${A[@]}"', ["m", "--a", "--b", "2"]),
    ('A=(--a)\nvllm serve m ${A[@]+"${A[@]}"}', ["m", "--a"]),
    ('A=(x --a 1)\nvllm serve m "${A[@]:1}"', ["m", "--a", "1"]),
    ('A="--a 1"\nA="$A --b 2"\nvllm serve m $A', ["m", "--a", "1", "--b", "2"]),
    ('A="--a 1"\nA+=" --b 2"\nvllm serve m $A', ["m", "--a", "1", "--b", "2"]),
    ('set -- m --a 1\nvllm serve "$@"', ["m", "--a", "1"]),
    # conditions
    ('A=(--a)\n[[ -n $Q ]] && A+=(--q)\nvllm serve m "${A[@]}"', ["m", "--a", "?--q"]),
    ('vllm serve m ${Q:+--quantization "$Q"}', ["m", "?--quantization", "?!$Q"]),
    ('Q=awq\nvllm serve m ${Q:+--quantization "$Q"}', ["m", "--quantization", "awq"]),
    ("Q=${Q:-}\nvllm serve m ${Q:+--quantization $Q}", ["m", "?--quantization", "?!$Q"]),
    ('F=""\nif x; then F="--q"; fi\nvllm serve m $F', ["m", "?--q"]),
    ("if x; then L=1; else L=2; fi\nvllm serve m --port $L", ["m", "--port", "!$L"]),
    ("if x; then L=1; else L=1; fi\nvllm serve m --port $L", ["m", "--port", "1"]),
    ("case $1 in a) D=half;; *) D=auto;; esac\nvllm serve m --dtype $D", ["m", "--dtype", "!$D"]),
    ("case $1 in a) D=half;; *) exit 1;; esac\nvllm serve m --dtype $D", ["m", "--dtype", "half"]),
    ("if ! x; then D=half; exit 1; fi\nD=auto\nvllm serve m --dtype $D", ["m", "--dtype", "auto"]),
    # loops
    ("for M in org/m; do vllm serve $M; done", ["org/m"]),
    ("for M in a b; do vllm serve $M; done", ["!$M"]),
    ("P=1\nfor i in 1 2; do vllm serve m --port $P & P=$((P+1)); done", ["m", "--port", "!$P"]),
    ('A=()\nfor f in a b; do A+=(--x $f); done\nvllm serve m "${A[@]}"', ["m", "?--x", "?!$f"]),
    # functions
    ('f() { local p=$1; vllm serve m --port "$p"; }\nf 8001', ["m", "--port", "8001"]),
    ('f() { vllm serve "$1"; }', ["!$1"]),
    ("f() { L=5; }\nf\nvllm serve m --port $L", ["m", "--port", "5"]),
    ("f() { local L=5; }\nL=4\nf\nvllm serve m --port $L", ["m", "--port", "4"]),
    ('function f { vllm serve "$@"; }\nf m --a 1', ["m", "--a", "1"]),
    # quoting
    (r"vllm serve m --x '{\"a\": 1}'", ["m", "--x", r"{\"a\": 1}"]),
    ("""vllm serve m --x "{\\"a\\": 1}" """, ["m", "--x", '{"a": 1}']),
    ("vllm serve m --x $'a\\tb\\u0041'", ["m", "--x", "a\tbA"]),
    ("vllm serve m --x a\\ b ''", ["m", "--x", "a b", ""]),
    ("P=8\nvllm serve m --x '{\"p\":'\"$P\"'}'", ["m", "--x", '{"p":8}']),
    # one string run as a command
    ('C="vllm serve m --a 1"\n$C', ["m", "--a", "1"]),
    ('C="vllm serve m --a 1"\nC="$C --b"\neval "$C"', ["m", "--a", "1", "--b"]),
    ('C="vllm serve m"\nif x; then C="$C --b"; fi\nexec $C', ["m", "?--b"]),
    ('B="vllm serve m"\nif [ -n "$x" ]; then F="$B $x"; else F="$B"; fi\neval "$F &"', ["m", "?!$x"]),
    ("CMD='\n  vllm serve m --a 1\n'\nbash -c \"${CMD}\" &", ["m", "--a", "1"]),
    # continuation, control
    ("vllm serve m \\\n  --a 1 \\\n  --b", ["m", "--a", "1", "--b"]),
    ("vllm serve m > log 2>&1 --a 1 &", ["m", "--a", "1"]),
    ("vllm serve m --a 1 2>&1 | tee log || true", ["m", "--a", "1"]),
    ("cd /x && exec vllm serve m", ["m"]),
    ("(vllm serve m) &", ["m"]),
    ("PID=$(vllm serve m & echo $!)", ["m"]),
]


@pytest.mark.parametrize(("script", "expected"), VALUES, ids=range(len(VALUES)))
def test_words(script: str, expected: list[str]) -> None:
    assert words(only(script)) == expected


SILENT = [
    'echo "vllm serve m"',
    "echo vllm serve m",
    "printf '%s' 'vllm serve m'",
    'pkill -f "vllm serve"',
    "pgrep -af 'vllm serve' || true",
    "ps aux | grep 'vllm serve m'",
    "which vllm",
    "command -v vllm",
    "vllm --help",
    "vllm serve --help",
    "vllm serve m --help=max-model-len",
    "vllm bench serve --model m",
    "vllm chat --url http://x",
    "# vllm serve m",
    "cat <<EOF\nvllm serve m\nEOF",
    "usage() {\n  cat <<'EOF'\n  vllm serve m --a\nEOF\n}\nusage",
    ": '\nvllm serve m\n'",
    'log_info "starting vllm serve m"',
    "python -m sglang.launch_server --model-path m",
    "docker run --entrypoint python3 vllm/vllm-openai:v0.9.0 script.py",
    "docker build -t vllm/vllm-openai:x .",
    "docker run lmsysorg/sglang:latest --model m --tensor-parallel-size 2 --max-model-len 9",
    "docker run vllm/vllm-openai:v0.9.0 --help",
    "docker run vllm/vllm-openai <args...>",
    "docker run -it --entrypoint bash vllm/vllm-openai:v0.9.0",
    'if [ "$ENGINE" = "vllm serve" ]; then :; fi',
]


@pytest.mark.parametrize("script", SILENT, ids=range(len(SILENT)))
def test_what_only_names_a_launch_is_none(script: str) -> None:
    assert launches(script) == []


def test_every_span_is_the_argument_as_written() -> None:
    script = (
        "LEN=4096\n"
        "ARGS=(--max-num-seqs 8 'a b')\n"
        'MORE="--port 8000 --seed 1"\n'
        'vllm serve "org/m" --max-model-len $LEN "${ARGS[@]}" $MORE --x="y z"\n'
    )
    launch = only(script)
    assert words(launch) == [
        *("org/m", "--max-model-len", "4096", "--max-num-seqs", "8", "a b", "--port", "8000", "--seed", "1", "--x=y z"),
    ]
    assert slices(launch) == [
        *('"org/m"', "--max-model-len", "$LEN", "--max-num-seqs", "8", "'a b'", "--port", "8000", "--seed", "1", '--x="y z"'),
    ]
    length = launch.words[2]
    assert length.defined is not None
    assert (length.defined.text, length.defined.line) == ("4096", 1)
    assert length.editable is not None
    assert length.editable.text == "4096"


def test_places_count_characters_not_bytes() -> None:
    launch = only("# größe 模型 🚀\nécho='ü'\nvllm serve m --served-model-name 'é🚀' --port 1")
    assert [w.span.text for w in launch.words] == ["m", "--served-model-name", "'é🚀'", "--port", "1"]
    assert (launch.command.line, launch.command.column) == (3, 1)


def test_carriage_returns_do_not_break_a_continuation() -> None:
    assert words(only("vllm serve m \\\r\n  --a 1\r\n")) == ["m", "--a", "1"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("vllm serve m \\\n  # why\n  --port 1 --a", "a comment inside the continued command ends it"),
        ("vllm serve m \\ \n  --port 1 --a", "a blank behind the backslash ends the command"),
        ("vllm serve m \\\n\n  --port 1 --a", "an empty line ends the command"),
        ("vllm serve m\n  --port 1 --a", "the line before does not end in a backslash"),
    ],
)
def test_flags_behind_a_cut_are_lost(script: str, reason: str) -> None:
    launch = only(script)
    assert words(launch) == ["m"]
    assert [w.value for w in launch.lost] == ["--port", "1", "--a"]
    assert launch.lost_reason == reason


def test_environment_of_the_process() -> None:
    launch = only("export A=1\nB=2\nexport C\nC=3\nif x; then export D=4; fi\nCUDA_VISIBLE_DEVICES=0,1 E=5 vllm serve m")
    assert {n: v.value.value for n, v in launch.env.items() if v.value} == {
        "A": "1",
        "D": "4",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "E": "5",
    }
    value = launch.env["D"].value
    assert value is not None
    assert value.conditional
    assert launch.env["A"].name.span.text == "A"
    assert launch.deployment is not None
    assert [(g.resource, g.count, g.device_ids) for g in launch.deployment.gpus] == [("CUDA_VISIBLE_DEVICES", 2, ("0", "1"))]


def test_launches_beside_each_other_share_a_scope() -> None:
    first, second, third = launches("vllm serve a &\nvllm serve b &\nwait\nvllm serve c")
    scopes = [x.deployment.scope if x.deployment else "" for x in (first, second, third)]
    assert scopes[0] == scopes[1] != scopes[2]


def test_branches_do_not_run_beside_each_other() -> None:
    first, second = launches("if x; then vllm serve a & else vllm serve b & fi")
    assert first.deployment is not None
    assert second.deployment is not None
    assert first.deployment.scope != second.deployment.scope


def test_a_function_called_twice_is_two_launches() -> None:
    first, second = launches("f() { vllm serve $1 --port $2 & }\nf a 8001\nf b 8002")
    assert (words(first), words(second)) == (["a", "--port", "8001"], ["b", "--port", "8002"])
    assert first.command == second.command


def test_a_broken_script_still_yields_what_can_be_read() -> None:
    found = launches('vllm serve a --x 1\nif then fi ((\nvllm serve b "unterminated')
    assert words(found[0]) == ["a", "--x", "1"]


@pytest.mark.parametrize(
    "script",
    [
        "cat > run.sh <<'EOF'\nvllm serve m --a 1\nEOF",
        "cat > run.sh <<EOF\n#!/bin/bash\nvllm serve m --a 1\nEOF\nsrun bash run.sh",
        "bash <<EOF\nvllm serve m --a 1\nEOF",
        "bash <<< 'vllm serve m --a 1'",
        "cat <<EOF | docker exec -i x bash\nvllm serve m --a 1\nEOF",
        "ssh host 'bash -s' <<'EOF'\n  vllm serve m --a 1\nEOF",
        "cat <<-'EOF' >run.sh\n\tvllm serve m --a 1\n\tEOF",
        "sudo tee /usr/local/bin/run.sh >/dev/null <<'EOF'\nvllm serve m --a 1\nEOF",
        "sudo tee /etc/systemd/system/v.service <<'EOF'\n[Service]\nExecStart=vllm serve m --a 1\nEOF",
        "f=$(mktemp)\ncat <<EOF > $f\nvllm serve m --a 1\nEOF",
    ],
)
def test_text_that_becomes_a_script(script: str) -> None:
    launch = only(script)
    assert words(launch) == ["m", "--a", "1"]
    assert slices(launch) == ["m", "--a", "1"]


def test_heredoc_expands_unless_quoted() -> None:
    assert words(only("L=5\nbash <<EOF\nvllm serve m --port $L \\\n --x \\$Y\nEOF")) == ["m", "--port", "5", "--x", "!$Y"]
    assert words(only("L=5\nbash <<'EOF'\nvllm serve m --port $L\nEOF")) == ["m", "--port", "!$L"]


def test_templates_are_values_that_are_not_known() -> None:
    launch = only('vllm serve {{ .Values.model }} --port ${{ inputs.port }} --x "a{{ b }}c" --y <name>')
    assert words(launch) == ["!{{ .Values.model }}", "--port", "!${{ inputs.port }}", "--x", "!a{{ b }}c", "--y", "!<name>"]
    assert slices(launch)[0] == "{{ .Values.model }}"


def test_template_conditions_make_words_conditional() -> None:
    script = "vllm serve m \\\n  {{- if .Values.x }}\n  --x {{ .Values.x }} \\\n  {{- end }}\n  --y 1\n"
    assert words(only(script)) == ["m", "?--x", "?!{{ .Values.x }}", "--y", "1"]


def test_sourced_and_called_files_are_followed() -> None:
    launch = only(". ./env.sh\nvllm serve $M", {"env.sh": "M=org/m\n"})
    assert words(launch) == ["org/m"]
    assert launch.words[0].span.text == "$M"
    launch = only("./serve.sh org/m 8000", {"serve.sh": 'vllm serve "$1" --port ${2:-1}'})
    assert words(launch) == ["org/m", "--port", "8000"]
    assert launch.path == "serve.sh"


def test_files_that_call_each_other_end() -> None:
    assert launches("./a.sh", {"a.sh": "./b.sh", "b.sh": "./a.sh\nvllm serve m"})


def test_pins_of_the_script() -> None:
    launch = only('pip install -U "vllm[flashinfer]==0.9.1" x\nvllm serve m')
    assert [(p.kind, p.value, p.span.text) for p in launch.pins] == [("pip", "vllm[flashinfer]==0.9.1", "0.9.1")]


def test_values_cannot_grow_without_end() -> None:
    script = (
        "X=aaaaaaaaaaaaaaaa\n" + 'X="$X$X"\n' * 40 + "A=(1)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40 + 'vllm serve m --x $X "${A[@]}"'
    )
    launch = only(script)
    assert words(launch)[2].startswith("!$X")
    assert sum(len(w.value) for w in launch.words) < 300_000


@pytest.mark.parametrize(
    "script",
    [
        "f() { f; vllm serve m; }\nf",
        "((" * 3000,
        "$(" * 3000 + " vllm serve",
        "{ " * 2000 + "vllm serve m",
        '"$(' * 500 + "vllm serve",
        "vllm serve " + "x" * 200_000,
        "a && " * 3000 + "vllm serve m",
        "while x; do " * 200 + "vllm serve m\n" + "done\n" * 200,
        "vllm serve \x00 \udc80".encode("utf-8", "replace").decode(),
        "vllm serve 'a",
        'vllm serve "${A[',
        "cat <<EOF\nvllm serve",
    ],
    ids=range(12),
)
def test_odd_scripts_end_quietly(script: str) -> None:
    launches(script)
