"""The command repeats what the image's entry point already runs.

Why: the entry point of vLLM's images is the server. Words after the image are its arguments, so `vllm serve MODEL` becomes
`vllm serve vllm serve MODEL`: argument parsing fails on stray words.
Instead: only the arguments; or replace the entry point (`entrypoint:`, `--entrypoint`, Kubernetes `command:`).
Wrong when: a derived image has reset its entry point.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_words
from lint_vllm.examples import compose
from lint_vllm.judgement import official_image
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_SERVER = ("vllm", "serve")


@rule(
    code="DEP050",
    name="entrypoint-dup",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm-project/vllm#22072", "vllm-project/vllm#40872", "opea-project/GenAIComps#336"),
    bad=(
        Bad(
            compose(extra="ipc: host\ngpus: all\ncommand: vllm serve Qwen/Qwen3-8B --max-model-len 8192"),
            name="compose.yaml",
            mark="vllm serve",
            fixed=compose(extra="ipc: host\ngpus: all\ncommand: Qwen/Qwen3-8B --max-model-len 8192"),
        ),
        Bad("docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 serve Qwen/Qwen3-8B\n", mark="serve"),
    ),
    good=(
        Good("docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n"),
        Good("docker run --gpus all --ipc=host --entrypoint vllm vllm/vllm-openai:v0.33.0 serve Qwen/Qwen3-8B\n"),
        Good('docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 "$@"\n'),
    ),
)
def entrypoint_dup(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    words = facts.launch.doubled_entrypoint
    if not words:
        return
    first, last = words[0], words[-1]
    span = first.value_span if first is last else first.span.to(last.span)
    server = all(w.value in _SERVER for w in words)
    said = " ".join(w.value for w in words)
    if server:
        message = f"the image already starts the server: `{said}` becomes stray arguments, and argument parsing fails"
    else:
        message = f"words after the image are arguments of its entry point, not a command: `{said}` makes argument parsing fail"
    edits = remove_words(words) if server else ()
    yield Finding(
        span,
        message,
        fixes=(
            Fix(
                f"leave out `{said}`" if server else "replace the entry point (--entrypoint, entrypoint:) instead",
                edits=edits,
                applicability=Applicability.SAFE if edits and official_image(facts) else Applicability.UNSAFE,
            ),
        ),
        severity=None if official_image(facts) else Severity.WARNING,
    )
