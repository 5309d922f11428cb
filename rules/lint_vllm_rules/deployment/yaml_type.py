"""A number or boolean stands where Kubernetes wants a string.

Why: `args`, `command` and the values of `env` are strings. An unquoted 8000 or true is a YAML number or boolean: the API
server refuses the object, and nothing is deployed.
Instead: quotes.
Wrong when: a tool that renders the file turns values into strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.launch import Word
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule

# What YAML 1.1 reads as a number, boolean or null; Kubernetes' own reader follows it.
_TYPED = re.compile(
    r"[-+]?(0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+)|true|false|yes|no|on|off|null|~",
    re.IGNORECASE,
)
_CORE = (
    "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "LeaderWorkerSet", "InferenceService", "ServingRuntime",
    "ClusterServingRuntime",
)  # fmt: skip
_RENDERED = (".tftpl", ".tmpl", ".tpl", ".j2")
"""Templates whose reader (Terraform's provider, for one) types the values anew."""


@rule(
    code="DEP060",
    name="yaml-type",
    severity=Severity.ERROR,
    since="0.1",
    sources=("NVIDIA/dcgm-exporter#746",),
    bad=(
        Bad(
            pod("Qwen/Qwen3-8B", "--port", "8000"),
            name="pod.yaml",
            mark="8000",
            fixed=pod("Qwen/Qwen3-8B", "--port", '"8000"'),
        ),
        Bad(pod("Qwen/Qwen3-8B", container="env:\n  - name: VLLM_LOGGING_LEVEL\n    value: 1"), name="pod.yaml", mark="1"),
    ),
    good=(
        Good(pod("Qwen/Qwen3-8B", "--port", '"8000"'), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", "--port", "{{ .Values.port }}"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", "--port", "8000"), name="pod.tftpl"),
    ),
)
def yaml_type(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod" or deployment.resource_kind not in _CORE:
        return
    if facts.launch.path.endswith(_RENDERED):
        return
    values = [v.value for v in facts.launch.env.values() if v.value is not None and v.source == "file"]
    for word in (*(deployment.command or ()), *deployment.args, *values):
        if not _typed(word):
            continue
        yield Finding(
            word.span,
            f"{word.span.text} without quotes is not a string: the API server refuses the object",
            fixes=(
                Fix("quote it", edits=(Edit(word.span, f'"{word.span.text}"'),), applicability=Applicability.SAFE, verified=True),
            ),
        )


def _typed(word: Word) -> bool:
    """Whether a word is a whole plain YAML scalar that is not read as a string."""
    text = word.span.text
    if word.unknown is not None or word.quote or not _TYPED.fullmatch(text) or word.content.span != word.span:
        return False
    source = word.span.source
    line = source.line_text(word.span.line)
    before = line[: word.span.column - 1].rstrip()
    after = line[word.span.column - 1 + len(text) :].lstrip()
    return before.endswith(("-", "[", ",", "value:")) and after[:1] in ("", ",", "]", "}", "#")
