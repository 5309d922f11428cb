"""Several engines ask for more of one card than it has.

Why: the share of `--gpu-memory-utilization` is a share of the whole card, not of what is free. Since 0.9.1 the later engine
refuses to start when less than its share is free; up to 0.9.0 it counted its neighbour's memory as its own and found no
room for a cache.
Instead: shares that add up to less than about 0.95, one engine starting after the other, or a card each.
Wrong when: the engines never run at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.examples import IMAGE
from lint_vllm.judgement import local_replicas, ranks_per_replica
from lint_vllm.launch import GpuRequest
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Label, Options, Severity, Span, rule

_SERVICE = """  {name}:
    image: {image}
    ipc: host
    command: ["Qwen/Qwen2.5-1.5B-Instruct", "--gpu-memory-utilization", "{share}"]
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              device_ids: ["{device}"]
              capabilities: [gpu]
"""


def _two(first: str, second: str, device: str = "0") -> str:
    return (
        "services:\n"
        + _SERVICE.format(name="chat", image=IMAGE, share=first, device="0")
        + _SERVICE.format(name="embed", image=IMAGE, share=second, device=device)
    )


class Limits(Options):
    max_sum: float = 1.0


@rule(
    code="DEP030",
    name="gpu-shared-accounting",
    severity=Severity.ERROR,
    since="0.1",
    options=Limits,
    sources=("vllm==0.33.0 v1/worker/utils.py request_memory", "vllm-project/vllm#10643", "vllm-project/vllm#14376"),
    bad=(Bad(_two("0.60", "0.55"), name="compose.yaml", mark="0.55"),),
    good=(
        Good(_two("0.60", "0.30"), name="compose.yaml"),
        Good(_two("0.60", "0.55", device="1"), name="compose.yaml"),
        Good(
            _two("0.60", "0.55").replace('device_ids: ["0"]', "count: all") + "    environment: {CUDA_VISIBLE_DEVICES: '1'}\n",
            name="compose.yaml",
        ),
        Good(_two("0.60", "${SHARE:?}"), name="compose.yaml"),
    ),
)
def gpu_shared_accounting(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    """Reported once, at the launch that starts last in the file."""
    neighbours = [s for s in facts.siblings_in_scope if _start(s.facts) < _start(facts) and _overlap(s.args, s.facts, args, facts)]
    own = args.value("gpu_memory_utilization")
    if not neighbours or not isinstance(own, (int, float)) or args.given("kv_cache_memory_bytes"):
        return
    shares = [s.args.value("gpu_memory_utilization") for s in neighbours]
    known = [float(share) for share in shares if isinstance(share, (int, float))]
    total = float(own) + sum(known)
    if facts.release.at_least("0.9.1") or not facts.release.sure:
        if total <= limits.max_sum + 1e-9:
            return
        message = (
            f"{len(known) + 1} engines on one card ask for {' + '.join(f'{x:g}' for x in [*known, float(own)])} = {total:.2f} of it: "
            "the later one finds less free than its share and is refused at start"
        )
    else:
        rest = float(own) - sum(known)
        budget = facts.budget
        if budget.weights is None or budget.total is None or rest * budget.total.high >= budget.weights.low:
            return
        message = (
            f"vLLM {facts.release.version} counts the other engine's {sum(known):g} of the card inside its own {float(own):g}: "
            f"{max(rest, 0):.2f} of the card is left, less than its weights; KV sizing fails"
        )
    argument = args.get("gpu_memory_utilization")
    span = (argument.value_span or argument.name_span) if argument is not None else facts.launch.command
    yield Finding(
        span,
        message,
        fixes=(Fix("give the engines shares that add up to 0.9, or a card each"),),
        related=tuple(Label(_place(s.args), f"share {s.args.value('gpu_memory_utilization')}") for s in neighbours),
        severity=None if facts.release.sure or total > limits.max_sum else Severity.WARNING,
    )


def _start(facts: Facts) -> int:
    return facts.launch.command.start


def _place(args: ArgumentSet) -> Span:
    argument = args.get("gpu_memory_utilization")
    return (argument.value_span or argument.name_span) if argument is not None else args.launch.command


def _overlap(first: ArgumentSet, first_facts: Facts, second: ArgumentSet, second_facts: Facts) -> bool:
    """Whether two launches of one machine run at the same time on a common card, for certain."""
    one, two = first_facts.launch, second_facts.launch
    if one.source is not two.source or one.deployment is None or two.deployment is None:
        return False
    kinds = {one.deployment.kind, two.deployment.kind}
    if kinds == {"compose"}:
        shared = set(_used(first, first_facts)) & set(_used(second, second_facts))
        return bool(shared) and not _profiles_differ(first_facts, second_facts)
    if kinds == {"pod"}:
        whole = any("/" in r.resource for f in (first_facts, second_facts) for r in _requests(f))
        return not whole and bool(_devices(first_facts) & _devices(second_facts))
    if kinds <= {"shell", "docker-run", "slurm"}:
        between = one.source.text[one.block.end : two.block.start]
        running = re.match(r"[^\n]*&\s*($|\n|#)", between) or "docker run -d" in one.block.text or " -d " in one.block.text[:200]
        if not running or re.search(r"\b(kill|pkill|killall|wait|stop|rm|else|elif|esac|fi|exit|return|trap)\b|;;|[{}]", between):
            return False
        devices = set(_used(first, first_facts)), set(_used(second, second_facts))
        if all(devices) and (kinds == {"docker-run"} or (_devices(first_facts) and _devices(second_facts))):
            return bool(devices[0] & devices[1])
        cards = second_facts.gpu_count
        return not any(devices) and isinstance(cards, Known) and cards.value == 1
    return False


def _requests(facts: Facts) -> tuple[GpuRequest, ...]:
    deployment = facts.launch.deployment
    return deployment.gpus if deployment is not None else ()


def _devices(facts: Facts) -> set[str]:
    """The devices that the file names."""
    return {device for request in _requests(facts) for device in request.device_ids}


def _used(args: ArgumentSet, facts: Facts) -> tuple[str, ...]:
    """The devices that the engine takes: the first ones of those it sees. Empty where that cannot be known.

    Docker counts from the first card: ``count: 1`` is card 0 in every container.
    """
    visible: tuple[str, ...] = ()
    ranks, replicas = ranks_per_replica(args), local_replicas(args)
    needed = ranks * replicas if ranks is not None and replicas is not None else None
    for request in _requests(facts):
        if request.resource not in _OF_DOCKER and request.resource != "CUDA_VISIBLE_DEVICES":
            return ()
        if request.resource == "CUDA_VISIBLE_DEVICES":
            continue
        if request.device_ids:
            visible = request.device_ids
        elif request.count is not None:
            visible = tuple(str(n) for n in range(request.count))
        elif request.raw in ("all", "-1", "") and needed is not None:
            visible = tuple(str(n) for n in range(max(needed, 16)))
    chosen = facts.launch.env.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        if chosen.value is None or chosen.value.unknown is not None:
            return ()
        named = [part.strip() for part in chosen.value.value.split(",") if part.strip()]
        if not visible:
            visible = tuple(named)
        elif all(n.isdigit() and int(n) < len(visible) for n in named):
            visible = tuple(visible[int(n)] for n in named)
        else:
            return ()
    return visible[:needed] if needed is not None else visible


_OF_DOCKER = ("devices", "gpus", "--gpus", "NVIDIA_VISIBLE_DEVICES")


def _profiles_differ(first: Facts, second: Facts) -> bool:
    one, two = (f.launch.deployment for f in (first, second))
    return one is not None and two is not None and one.profiles != two.profiles
