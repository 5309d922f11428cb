"""The model's path does not exist in the container.

Why: a path that no volume provides is not there: vLLM then takes it for a hub id and stops before weights are loaded. A
`models--org--name` folder of the hub cache holds only `refs` and `snapshots`, no config.json.
Instead: mount the folder at that path; for a cached model give its hub id, or the folder below `snapshots/`.
Wrong when: the image carries the model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.examples import compose
from lint_vllm.judgement import is_container, official_image
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule

_STORED = ("InferenceService", "LLMInferenceService", "LLMInferenceServiceConfig", "ServingRuntime", "ClusterServingRuntime")
"""Kinds whose controller (KServe) puts the model into /mnt/models."""
_CACHE_FOLDER = re.compile(r"/models--(?P<org>[^/]+?)--(?P<name>[^/]+)/?\Z")


@rule(
    code="DEP070",
    name="model-path-missing",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm#12378", "vllm-project/vllm#14518"),
    bad=(
        Bad(
            compose(
                "--model=/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B",
                extra="ipc: host\ngpus: all\nvolumes: ['hub:/root/.cache/huggingface']",
            ),
            name="compose.yaml",
            mark="/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B",
        ),
        Bad("docker run --gpus all --ipc=host -v hub:/root/.cache vllm/vllm-openai:v0.33.0 /data/qwen\n", mark="/data/qwen"),
    ),
    good=(
        Good("docker run --gpus all --ipc=host -v /data:/data vllm/vllm-openai:v0.33.0 /data/qwen\n"),
        Good('docker run --gpus all --ipc=host -v "$DIR":/models vllm/vllm-openai:v0.33.0 "$MODEL"\n'),
        Good("vllm serve /data/qwen\n"),
    ),
)
def model_path_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, span = args.model, args.model_span
    if not isinstance(model, str) or span is None:
        return
    if model.startswith(("./", "../")):
        yield from _mistyped(facts, model, span)
        return
    if not model.startswith(("/", "~/")):
        return
    cached = _CACHE_FOLDER.search(model)
    if cached:
        identifier = f"{cached['org']}/{cached['name']}"
        argument = args.get("model")
        yield Finding(
            span,
            f"{model} is a folder of the hub cache: it holds refs and snapshots, no config.json, and loading fails at once",
            fixes=(
                Fix(
                    f"give the hub id {identifier}",
                    edits=replace_value(argument, identifier) if argument is not None else (),
                    applicability=Applicability.UNSAFE,
                    cost="the cache must be where HF_HOME points",
                ),
            ),
        )
        return
    deployment = facts.launch.deployment
    if (
        model.startswith("~")
        or deployment is None
        or not is_container(deployment)
        or not official_image(facts)
        or not deployment.mounts_complete
    ):
        return
    if deployment.resource_kind in _STORED and _covers("/mnt/models", model):
        return
    if any(_covers(m.target, model) for m in deployment.mounts) or any("option" in r for r in facts.launch.unresolved):
        return
    yield Finding(
        span,
        f"no volume provides {model}: in the container the path does not exist, vLLM takes it for a hub id and stops",
        fixes=(Fix(f"mount the model's folder at {model}"),),
    )


def _mistyped(facts: Facts, model: str, span: Span) -> Iterator[Finding]:
    """A folder of the repository that is not there, beside one with nearly that name."""
    parent, _, name = model.rstrip("/").rpartition("/")
    folder = facts.repository.locate(parent)
    if folder is None or not name or facts.repository.locate(model) is not None:
        return
    others = [other for other in facts.repository.folders(folder) if "config.json" in facts.repository.names(folder / other)]
    near = difflib.get_close_matches(name, others, 1, 0.8)
    if near:
        yield Finding(
            span,
            f"{model} does not exist, {parent}/{near[0]} does: vLLM takes the path for a hub id and stops",
            fixes=(Fix(f"use {parent}/{near[0]}"),),
        )


def _covers(target: str, path: str) -> bool:
    folder = target.rstrip("/")
    return folder == "" or path == folder or path.startswith(folder + "/") or "$" in target or "{" in target
