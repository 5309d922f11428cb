"""Questions that several rules ask of a launch, each answered in one place."""

from __future__ import annotations

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.arguments.tables import known_releases, load
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.diagnostic import Severity
from lint_vllm.facts import Facts
from lint_vllm.facts.images import image_facts
from lint_vllm.known import Known
from lint_vllm.launch import Deployment
from lint_vllm.source import Span

_CLUSTER_WRAPPERS = ("ray-serve", "verl")
"""Programs that place their ranks on a cluster by themselves."""
_CLUSTER_FLAGS = ("nnodes", "node_rank", "headless", "data_parallel_address", "master_addr")


def first_line(span: Span) -> Span:
    """The first line of a block: what is underlined when something is missing in it."""
    text = span.source.text
    ends = [at for at in (text.find("\n", span.start, span.end), text.find("\r", span.start, span.end)) if at >= 0]
    return Span(span.source, span.start, min(ends, default=span.end))


def softened(facts: Facts, severity: Severity) -> Severity:
    """The severity of a version-dependent finding: one level lower where the release is not stated, a note where an image or a
    chart holds another release than the newest for all that is known."""
    if facts.release.sure or severity is Severity.INFO:
        return severity
    return Severity.INFO if chosen_elsewhere(facts) else Severity(severity - 1)


_VLLM_ITSELF = "vllm/engine/arg_utils.py"
"""A file of vLLM's own source tree (or a fork's), whose tests and guides are for what the tree holds."""


def chosen_elsewhere(facts: Facts) -> bool:
    """Whether something not in the file decides on the release: a vendor's image, a digest, a template, a chart, vLLM's own tree."""
    launch = facts.launch
    if launch.image is None:
        return launch.form == "chart" or facts.repository.exists(_VLLM_ITSELF)
    known = image_facts(launch.image)
    return known is None or not known.official or facts.release.certainty == "assumed"


def count_of(args: ArgumentSet, dest: str) -> int | None:
    """A whole number in effect (given or default); ``None`` where it cannot be known."""
    value = args.value(dest)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def ranks_per_replica(args: ArgumentSet) -> int | None:
    """Tensor x pipeline x prefill-context ranks: the GPUs of one data-parallel replica."""
    ranks = 1
    for dest in ("tensor_parallel_size", "pipeline_parallel_size"):
        count = count_of(args, dest)
        if count is None:
            return None
        ranks *= count
    return ranks * (count_of(args, "prefill_context_parallel_size") or 1)


def local_replicas(args: ArgumentSet) -> int | None:
    """Data-parallel replicas that start on this machine; ``None`` where a flag leaves that to other nodes."""
    if any(
        args.given(d)
        for d in ("data_parallel_rank", "data_parallel_start_rank", "data_parallel_hybrid_lb", "data_parallel_external_lb")
    ):
        local = args.get("data_parallel_size_local")
        return local.value if local is not None and isinstance(local.value, int) else 1
    local = args.get("data_parallel_size_local")
    if local is not None:
        return local.value if isinstance(local.value, int) else None
    if args.value("data_parallel_backend") == "ray":
        return 1
    return count_of(args, "data_parallel_size") or 1


def spans_nodes(args: ArgumentSet, facts: Facts) -> bool:
    """Whether the ranks of this launch may lie on several machines, so that one machine's GPUs say little."""
    deployment = facts.launch.deployment
    if deployment is not None and (deployment.multi_node or (deployment.nodes or 1) > 1):
        return True
    if facts.launch.wrapper in _CLUSTER_WRAPPERS or any(args.given(flag) for flag in _CLUSTER_FLAGS):
        return True
    return args.value("distributed_executor_backend") in ("ray", "external_launcher")


def official_image(facts: Facts) -> bool:
    """Whether the launch runs in an image that the vLLM project publishes for CUDA."""
    known = image_facts(facts.launch.image)
    return known is not None and known.official and known.device == "cuda"


def uses_image_entry_point(facts: Facts) -> bool:
    """Whether the image's own entry point runs: nothing replaces it."""
    deployment = facts.launch.deployment
    return facts.launch.form == "image" and (deployment is None or deployment.command is None)


def is_container(deployment: Deployment | None) -> bool:
    return deployment is not None and deployment.kind in ("compose", "pod", "docker-run")


def checkpoint_bytes(facts: Facts) -> Quantity | None:
    """Bytes of the whole checkpoint as it is read from disk: weights per GPU times the ranks of a replica."""
    budget = facts.budget
    if budget.weights is None:  # a split that is refused hides them
        budget = facts.rebudget({"tensor_parallel_size": 1, "pipeline_parallel_size": 1})
    if budget.weights is None:
        return None
    return budget.weights.scaled(max(1, budget.world_size))


def load_seconds(facts: Facts) -> Quantity | None:
    """Seconds from container start to the first healthy answer, from the bytes of the checkpoint.

    Optimistic: a local disk at 1 GiB/s and half a minute for imports, compilation and graphs. Likely: a network volume at
    0.3 GiB/s (a folder of the machine at 1 GiB/s) and a minute. Download from the hub is not counted: it only adds.
    """
    size = checkpoint_bytes(facts)
    if size is None:
        return None
    likely = 1.0 if from_local_disk(facts) else 0.3
    return Quantity(30 + size.low / GIB, 60 + size.likely / (likely * GIB), 120 + size.high / (0.1 * GIB))


def from_local_disk(facts: Facts) -> bool:
    """Whether the model is read from a folder of the machine itself."""
    deployment, model = facts.launch.deployment, facts.args.model if facts.args is not None else None
    if deployment is None or not isinstance(model, str) or not model.startswith("/"):
        return False
    return any(m.kind in ("hostPath", "emptyDir", "memory", "bind") and model.startswith(m.target) for m in deployment.mounts)


def known_card_count(facts: Facts) -> int | None:
    return facts.gpu_count.value if isinstance(facts.gpu_count, Known) else None


def names_an_option(facts: Facts, name: str) -> bool:
    """Whether ``name`` (dashed, without leading dashes) is a long option of the release."""
    option = load(facts.release.table).by_flag.get(f"--{name}")
    return option is not None


def reads_variable(name: str) -> bool:
    """Whether any release reads an environment variable of this name."""
    return any(name in load(release).env for release in reversed(known_releases()))


def without_images(facts: Facts) -> Budget:
    """The budget with no images, videos or audio to profile."""
    return facts.rebudget({"limit_mm_per_prompt": {"image": 0, "video": 0, "audio": 0}})


def fails_by_images(facts: Facts) -> bool:
    """Whether a multimodal launch fails only because images and video are profiled."""
    if not isinstance(facts.model, Known) or not facts.model.value.multimodal or not facts.budget.fails:
        return False
    return without_images(facts).outcome == "starts"


def raises_share(args: ArgumentSet, facts: Facts) -> float | None:
    """The share, in steps of 0.05, with which a launch starts that fails for a share below the default; ``None`` otherwise."""
    argument, budget = args.get("gpu_memory_utilization"), facts.budget
    if (
        argument is None
        or not isinstance(argument.value, float)
        or budget.outcome != "oom_profile"
        or args.given("kv_cache_memory_bytes")
    ):
        return None
    step = int(argument.value * 20) + 1
    while step <= 18:
        share = step / 20
        if facts.rebudget({"gpu_memory_utilization": share}).outcome == "starts":
            return share
        step += 1
    return None
