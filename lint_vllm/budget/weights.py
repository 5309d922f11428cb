"""Weights of one GPU: what the rank's share of the model takes once loaded, and the cache layers that it declares.

By formula over the architecture (``budget/architectures``), for the first pipeline stage as the likely value and the largest
stage as the upper end; draft models and what stays on the host are accounted for. Building is cached by model and split.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from lint_vllm.budget.architectures import build
from lint_vllm.budget.engine_config import EngineConfig, Lora
from lint_vllm.budget.ledger import CacheLayer, Ledger, Rank
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.quantization import UNQUANTIZED, EightBit, Indivisible, Misaligned, NotModelled, Scheme, scheme_of
from lint_vllm.budget.refusal import Refusal, RefusalKind
from lint_vllm.budget.verify import expert_blocks
from lint_vllm.facts.model import Model, Quantization
from lint_vllm.frozen import dataclass
from lint_vllm.known import Unknown


@dataclass(frozen=True, slots=True)
class Built:
    """What the first stage's first rank builds. ``stages`` are the bytes of each pipeline stage."""

    bytes: int
    caches: tuple[CacheLayer, ...]
    spread: tuple[float, float]
    """Factors that bound what the scheme's formula gives."""
    uncertain: float
    notes: tuple[str, ...]
    lora_linears: tuple[tuple[str, int, tuple[int, ...], str], ...]
    stages: tuple[int, ...]
    ranges: tuple[range, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """Bytes of one GPU. ``lora`` are adapter buffers, which are no weights but allocated with them."""

    bytes: Quantity
    caches: tuple[CacheLayer, ...]
    lora: int
    notes: tuple[str, ...]
    ranges: tuple[range, ...]


UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError, OverflowError)
"""What a configuration with values of the wrong kind raises."""

_BUILT: OrderedDict[tuple[object, ...], tuple[Model, Built]] = OrderedDict()
_KEPT = 64


def rank_of(config: EngineConfig) -> Rank:
    """The place of the first rank."""
    world = config.tensor_parallel_size * config.data_parallel_size * config.prefill_context_parallel_size
    sparse = bool(config.model.experts)
    return Rank(
        tp=config.tensor_parallel_size,
        experts_over=world if config.expert_parallel and sparse else 1,
        expert_tp=world if sparse else None,
        redundant_experts=config.redundant_experts,
        pp=config.pipeline_parallel_size,
        item=config.dtype_bytes,
        capability=None if config.lora is not None else config.capability,
        release=config.release,
        encoder_tp=1 if config.mm_encoder_tp_data else config.tensor_parallel_size,
        language_only=config.language_model_only,
        pooling=config.runner == "pooling",
    )


def scheme_for(config: EngineConfig) -> Scheme:
    """The scheme of the checkpoint, or of an online method, under which everything but embeddings and head is quantized."""
    stored = config.model.quantization
    if config.online_quantization and config.quantization is not None:
        if config.quantization == "fp8":
            return Scheme.of([(("Linear",), EightBit("tensor"))])
        return scheme_of(Quantization(config.quantization), config.capability)
    capability = None if config.lora is not None else config.capability
    scheme = scheme_of(stored, capability)
    # the catalogue keeps the method of a checkpoint, not the list of what it leaves alone; towers nearly always are
    return replace(scheme, towers=False) if config.model.record is not None else scheme


def stored_outline(config: EngineConfig) -> bool:
    """Whether only the outline of a quantized checkpoint is known: its method and sizes, not what it leaves alone."""
    return config.model.record is not None and config.model.quantization is not None


def _everything(config: EngineConfig) -> Built | None:
    """The model with every layer quantized that its method takes: the least that a checkpoint known by its name only can be."""
    record = config.model.record or {}
    if config.model.exact and not record.get("quantized_by_name"):
        return None
    scheme = scheme_for(config)
    if not scheme.skipped:
        return None
    try:
        return built(config.model, rank_of(config), scheme.everything, ("everything", config.quantization, config.lora is None))
    except (NotModelled, Indivisible):
        return None


def built(model: Model, rank: Rank, scheme: Scheme, key: object) -> Built:
    """Build a model once for each split. Raises ``NotModelled`` and ``Indivisible``."""
    place = (id(model), rank, key)
    known = _BUILT.get(place)
    if known is not None and known[0] is model:
        _BUILT.move_to_end(place)
        return known[1]
    stages: list[int] = []
    ranges: list[range] = []
    first: Ledger | None = None
    for stage in range(rank.pp):
        ledger = build(model, Ledger(replace(rank, stage=stage), scheme))
        stages.append(ledger.bytes)
        ranges.append(range(ledger.first_layer, ledger.end_layer))
        first = first or ledger
    if first is None:
        raise NotModelled("a pipeline without stages")
    result = Built(
        first.bytes,
        tuple(first.caches),
        (1.0, 1.0) if scheme.exact else scheme.spread,
        first.uncertain,
        tuple(first.notes),
        tuple(first.loras),
        tuple(stages),
        tuple(ranges),
    )
    _BUILT[place] = (model, result)
    while len(_BUILT) > _KEPT:
        _BUILT.popitem(last=False)
    return result


LORA_SKIPPED = ("gate", "conv", "indexer", "embed", "lm_head")
LORA_MODULES = ("q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "gate_up_proj", "up_proj", "down_proj", "gate_proj", "query_key_value",
                "dense", "out_proj", "fc1", "fc2", "c_attn", "c_proj", "c_fc", "W_pack", "wqkv", "wo", "w2", "in_proj", "x_proj")  # fmt: skip


def lora_bytes(linears: Sequence[tuple[str, int, tuple[int, ...], str]], lora: Lora, item: int, tp: int) -> int:
    """Adapter buffers (vllm==0.33.0 lora/layers): for every wrapped linear A (rank x in) and B (out x rank), each slice."""
    total = 0
    for name, inputs, outputs, kind in linears:
        last = name.rsplit(".", 1)[-1]
        if last not in LORA_MODULES or any(s in name for s in LORA_SKIPPED):
            continue
        if lora.targets is not None and not any(t in last for t in lora.targets):
            continue
        rank_a = lora.max_rank // tp if lora.fully_sharded and kind == "column" else lora.max_rank
        total += lora.max_loras * (len(outputs) * rank_a * inputs + sum(outputs) * lora.max_rank) * item
    return total


def weights(config: EngineConfig) -> Weights | Refusal | Unknown:
    """The weights of a launch, or why they cannot be told, or why the model cannot be built at this split."""
    ranks = 1 if config.expert_parallel else rank_of(config).expert_tp or 1
    blocks = expert_blocks(config.model, ranks, config.capability, config.release)
    if blocks is not None:
        return blocks
    ratio = (config.model.record or {}).get("unexplained")
    if ratio is not None and config.model.quantization is None:
        return Unknown(
            f"the catalogue's facts give {ratio} times the published size of {config.model.id}: its config.json is needed"
        )
    try:
        main = built(
            config.model,
            rank_of(config),
            scheme_for(config),
            (config.quantization, config.online_quantization, config.lora is None),
        )
        least = _everything(config) if stored_outline(config) else None
        draft, draft_caches, notes = _draft(config)
    except NotModelled as error:
        return Unknown(f"{error} is not modelled")
    except Indivisible as error:
        if isinstance(error, Misaligned) and not error.everywhere and stored_outline(config):
            return Unknown(f"{error}, if {config.model.id} quantizes that layer: its config.json is needed")
        kind: RefusalKind = "quant_group" if isinstance(error, Misaligned) else "parallel"
        return Refusal(kind, f"{error}: tensor parallel size {config.tensor_parallel_size} does not fit this model", "weight loading",
                       ("tensor_parallel_size",))  # fmt: skip
    except UNREADABLE as error:
        return Unknown(f"the configuration of {config.model.id} cannot be read ({type(error).__name__}: {error})")
    size = main.bytes + draft
    low, likely, high = float(size), float(size), float(max(main.stages) + draft) + main.uncertain
    low, high = low * main.spread[0], high * main.spread[1]
    if stored_outline(config):
        low, high = float(least.bytes + draft) if least is not None else low, high * 1.1
        notes = (*notes, "the catalogue does not list which layers of this quantized checkpoint stay 16-bit")
    if config.model.record is not None and config.model.multimodal and "vision_config" not in config.model.config:
        low, high = low * 0.97, high * 1.03
        notes = (*notes, "the catalogue does not describe the vision tower")
    if not config.model.exact:
        low, high = low * 0.98, high * 1.02
        notes = (*notes, f"facts of {config.model.origin}: the checkpoint itself may differ")
    quantity = Quantity(low, likely, high)
    if config.cpu_offload_gb > 0:
        host = config.cpu_offload_gb * GIB
        quantity = Quantity(max(0.0, low - host), max(0.0, likely - host), max(0.0, high - host))
        notes = (*notes, f"up to {config.cpu_offload_gb:g} GiB of weights stay on the host")
    elif config.offload_groups is not None and config.offload_groups[0] > 0:
        share = min(1.0, config.offload_groups[1] / config.offload_groups[0])
        quantity = Quantity(low * (1 - share), likely * (1 - share), high)
    lora = (
        lora_bytes(main.lora_linears, config.lora, config.dtype_bytes, config.tensor_parallel_size)
        if config.lora is not None
        else 0
    )
    return Weights(quantity, (*main.caches, *draft_caches), lora, (*main.notes, *notes), main.ranges)


def _draft(config: EngineConfig) -> tuple[int, tuple[CacheLayer, ...], tuple[str, ...]]:
    """Weights and cache layers of a draft model; none for ngram and suffix decoding."""
    speculative = config.speculative
    if speculative is None or speculative.method in ("ngram", "ngram_gpu", "suffix"):
        return 0, (), ()
    offset = config.model.num_layers or 0
    if speculative.draft is None:
        block = _own_block(config)
        if speculative.draft_id is None and block is not None:
            return block[0], block[1], ("the model's own multi-token-prediction block is loaded",)
        raise NotModelled(f"the draft model {speculative.draft_id or speculative.method}")
    draft = speculative.draft
    tp = speculative.draft_tensor_parallel_size or config.tensor_parallel_size
    rank = Rank(tp=tp, item=config.dtype_bytes, capability=config.capability, release=config.release, language_only=True)
    plain = _plain_draft(draft)
    try:
        other = built(plain, rank, scheme_of(plain.quantization, config.capability), ("draft", speculative.method))
    except Misaligned:
        raise
    except Indivisible as error:
        raise Indivisible(f"draft {draft.id}: {error.what}", error.size, error.parts) from error
    caches = tuple(replace(c, layer=c.layer + offset) for c in other.caches)
    return other.bytes, caches, (f"draft model {draft.id}: {other.bytes / GIB:.2f} GiB",)


def _plain_draft(draft: Model) -> Model:
    return draft


def _own_block(config: EngineConfig) -> tuple[int, tuple[CacheLayer, ...]] | None:
    """Multi-token-prediction blocks of the checkpoint: as many layers like the last one, with a projection of twice the width."""
    model = config.model
    count = next(
        (model.text[k] for k in ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers") if model.text.get(k)), None
    )
    if not isinstance(count, int) or config.speculative is None or "mtp" not in config.speculative.method:
        return None
    rank = rank_of(config)
    scheme = scheme_for(config)
    key: object = (config.quantization, config.online_quantization, config.lora is None)
    if scheme.keeps("mtp"):
        scheme, key = UNQUANTIZED, "16-bit"
    main = built(model, rank, scheme, key)
    layers = model.num_layers or 1
    fewer = (
        replace(model, text={**model.text, "num_hidden_layers": layers - 1}, num_layers=layers - 1)
        if rank.pp == 1 and layers > 1
        else None
    )
    if fewer is None:
        return None
    ledger = build(fewer, Ledger(rank, scheme))
    one = main.bytes - ledger.bytes
    hidden = model.hidden_size or 0
    size = one + 2 * hidden * hidden * rank.item + 3 * hidden * rank.item
    last = [c for c in main.caches if c.kind in ("full", "mla", "sliding")][-1:]
    caches = tuple(replace(c, layer=layers + i) for i in range(count) for c in last)
    return size * count, caches
