"""The model is newer than the vLLM release.

Why: a release serves the architectures of its registry, and reads configurations through the transformers of its time. A model of
a later architecture is refused when the model is configured.
Instead: the release that brought the architecture, or a later one.
Wrong when: the image or environment has a newer transformers and the model runs through its generic backend, or a plug-in registers
the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.facts import version_key
from lint_vllm.facts.model import Model
from lint_vllm.facts.served import architecture_of, brings_code, knows_type, served_span, transformers_of, type_since
from lint_vllm.judgement import official_image
from lint_vllm.model_report import model_of, model_place, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="MDL020",
    name="model-newer-than-engine",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 model_executor/models/registry.py", "vllm-project/vllm#33580", "vllm-project/vllm#17630"),
    bad=(
        Bad(
            "docker run --gpus all --ipc=host vllm/vllm-openai:v0.13.0 zai-org/GLM-4.7-Flash\n",
            mark="zai-org/GLM-4.7-Flash",
        ),
        Bad(
            "docker run --gpus all --ipc=host vllm/vllm-openai:v0.15.1 --model zai-org/GLM-4.7-Flash\n",
            mark="zai-org/GLM-4.7-Flash",
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('openai/gpt-oss-20b')\n",
            name="run.py",
            mark="openai/gpt-oss-20b",
            facts={"vllm_version": "0.9.2"},
        ),
    ),
    good=(
        Good("docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 zai-org/GLM-4.7-Flash\n"),
        Good("vllm serve zai-org/GLM-4.7-Flash\n"),
        Good('vllm serve "$MODEL"\n', facts={"vllm_version": "0.9.2"}),
        Good("vllm serve Qwen/Qwen3-8B\n", facts={"vllm_version": "0.9.0"}),
    ),
)
def model_newer_than_engine(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model = model_of(facts)
    if model is None or not facts.release.sure or args.value("model_impl") not in (None, "auto", "vllm"):
        return
    if not _identified(model) or args.launch.wrapper == "vllm-omni":
        return
    architecture, release = architecture_of(model), facts.release.version
    span = served_span(architecture) if architecture is not None else None
    if architecture is None or span is None or args.given("hf_overrides"):
        return
    reads = knows_type(model.model_type, release)
    if not span.holds(release):
        if span.until is not None and version_key(release) >= version_key(span.until):
            return
        needed, reason = span.since, f"{architecture} joined vLLM in {span.since}"
        # transformers may run it by itself where it knows the type
        certain = reads is False or bool(model.experts or model.hybrid_state or model.multimodal or model.mla)
        if not certain and version_key(release) >= (0, 8):
            return
    elif reads is False and brings_code(model) is None and not _mistral_format(model):
        since = type_since(model.model_type)
        updated = "transformers" in args.launch.source.text  # the file brings its own
        if since is None or args.value("trust_remote_code") is True or updated:
            return
        if not official_image(facts) and knows_type(model.model_type, release, upgraded=True):
            return
        needed = f"with transformers {since}"
        reason = f"{model.model_type} joined transformers in {since}; vLLM {release} came with {transformers_of(release)}"
        certain = True
    else:
        return
    # a lock file of the repository may belong to another part of it
    elsewhere = facts.release.span is None and facts.release.origin.endswith((".lock", ".txt", ".toml")) and not _beside(facts)
    severity = sure(facts, model) if certain and not elsewhere else Severity.WARNING
    yield Finding(
        model_place(args),
        f"{model.id} is newer than vLLM {release} ({facts.release.origin}): {reason}; it is refused when the model is configured",
        fixes=(Fix(f"use vLLM {needed} or later", applicability=Applicability.DISPLAY, cost="an upgrade"),),
        severity=severity,
    )


def _beside(facts: Facts) -> bool:
    """Whether the file that states the release lies in the folder of the launch."""
    name = facts.release.origin.rsplit(" ", 1)[-1]
    return "/" not in name and name in facts.repository.names()


def _mistral_format(model: Model) -> bool:
    """Mistral's own repositories also hold their own configuration format, which vLLM reads by itself."""
    return model.id.lower().startswith("mistralai/")


def _identified(model: Model) -> bool:
    """Whether the architecture is the model's own: entries built from a look-alike name whose configuration they took."""
    sources = model.record.get("source") if model.record is not None else None
    if not isinstance(sources, (list, tuple)):
        return model.exact
    bare = model.id.rsplit("/", 1)[-1].lower()
    for source in sources:
        _, found, other = str(source).partition("same architecture: ")
        if found and not _alike(bare, other.rstrip(") ").rsplit("/", 1)[-1].lower()):
            return False
    return True


def _alike(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter] or one.split("-")[:3] == other.split("-")[:3]
