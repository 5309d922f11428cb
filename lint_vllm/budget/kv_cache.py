"""The KV cache of a launch: specs, groups, blocks, what one request takes and what a pool holds.

Follows vllm==0.33.0 v1/kv_cache_interface.py and v1/core/kv_cache_planning.py (grouping, page unification, one null block kept
back, group-aware tokens), with the differences of earlier releases from ``data/engine.json``. All sizes are those of one GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lint_vllm.budget.backends import Backend
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.ledger import CacheKind, CacheLayer
from lint_vllm.budget.quantization import ceil_div, round_up
from lint_vllm.budget.refusal import Refusal
from lint_vllm.budget.releases import dated, engine_data, since
from lint_vllm.frozen import dataclass

TURBO = {"turboquant_k8v4": (8, 4), "turboquant_4bit_nc": (4, 4), "turboquant_k3v4_nc": (3, 4), "turboquant_3bit_nc": (3, 3)}
"""Bits of keys and values by preset (vllm==0.33.0 layers/quantization/turboquant/config.py)."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The cache of one layer once its block is known. Layers with equal specs share a group."""

    kind: CacheKind
    block: int
    page: int
    """Bytes of one block of this layer, padding included."""
    reach: int = 0
    tokens: int = 0
    states: int = 0
    """State blocks of one request, for "state"."""
    sharded: bool = True
    """Decode context parallelism divides its tokens."""

    def blocks(self, length: int, config: EngineConfig) -> int:
        """Blocks that one request of ``length`` tokens can hold."""
        if self.kind == "state":
            return self.states
        if self.kind in ("full", "mla"):
            shared = config.decode_context_parallel_size if self.sharded else 1
            return ceil_div(ceil_div(length, shared), self.block)
        if self.kind == "sliding":
            return ceil_div(min(self.reach - 1 + config.max_in_flight_tokens, length), self.block) + 1
        if self.kind == "chunked":
            return ceil_div(min(self.reach + config.max_in_flight_tokens, length), self.block)
        if self.kind == "cross":
            return ceil_div(self.tokens, self.block)
        return 0


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that share a block table; ``layers`` are those of this pipeline stage."""

    spec: Spec
    layers: int
    page: int
    """Bytes of one block over the group's layers."""


@dataclass(frozen=True, slots=True)
class KvPlan:
    """How the cache is laid out; ``groups`` is empty for models without a cache."""

    config: EngineConfig
    groups: tuple[Group, ...]
    block_size: int
    bytes_per_block: int
    backend: str = ""

    def blocks_per_request(self, length: int) -> int:
        return sum(group.spec.blocks(length, self.config) for group in self.groups)

    def request_bytes(self, length: int) -> int:
        """Bytes of one request of ``length`` tokens, whole blocks."""
        return self.blocks_per_request(length) * self.bytes_per_block

    def usable(self, pool: float) -> float:
        """What admission plans with: from 0.29 without the null block."""
        kept = self.bytes_per_block if since("plans_without_null_block", self.config.release) else 0
        return pool - kept

    def fits(self, length: int, pool: float) -> bool:
        return self.request_bytes(length) <= self.usable(pool)

    def longest(self, pool: float, limit: int) -> int:
        """The longest single request up to ``limit`` tokens that a pool holds; 0 when not even one token fits."""
        if not self.groups:
            return limit
        if not self.fits(1, pool):
            return 0
        low, high = 1, limit
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(middle, pool):
                low = middle
            else:
                high = middle - 1
        return low

    def num_blocks(self, pool: float) -> int:
        override = self.config.num_gpu_blocks_override
        if override is not None:
            return override
        return int(max(0.0, pool) // self.bytes_per_block) if self.bytes_per_block else 0

    def concurrency(self, pool: float, length: int) -> float:
        """Requests of ``length`` tokens that a pool holds at once, as the log line counts."""
        need = self.blocks_per_request(length)
        return self.num_blocks(pool) / need if need else 0.0

    def tokens(self, pool: float, length: int) -> int:
        """``KV cache size: N tokens`` of the log line."""
        if not self.groups:
            return 0
        if since("tokens_count_groups", self.config.release):
            return int(self.concurrency(pool, length) * length)
        return self.num_blocks(pool) // len(self.groups) * self.block_size * self.config.decode_context_parallel_size


# ---- bytes of a token --------------------------------------------------------------------------------------------


def token_bytes(layer: CacheLayer, config: EngineConfig, dtype: str) -> int:
    """Bytes of one token in one attention layer on this rank."""
    if layer.row_bytes is not None:
        return layer.row_bytes
    entry = engine_data()["kv_dtypes"].get(dtype, {})
    item = config.dtype_bytes
    if layer.kind == "mla":
        if "token_bytes" in entry:
            return int(entry["token_bytes"])
        return layer.head_dim * (1 if entry.get("bits") == 8 else item)
    if dtype in TURBO:
        key_bits, value_bits = TURBO[dtype]
        key = layer.head_dim if key_bits == 8 else ceil_div(layer.head_dim * key_bits, 8) + 2
        value = ceil_div(layer.v_dim * value_bits, 8) + 4
        return layer.kv_heads * round_up(key + value, 2)
    bits = entry.get("bits")
    if bits is None:
        return layer.kv_heads * (layer.head_dim + layer.v_dim) * item
    scale = 2 * int(entry.get("scale_bytes", 0))
    return layer.kv_heads * (int((layer.head_dim + layer.v_dim) * bits) // 8 + scale)


def state_bytes(layer: CacheLayer, config: EngineConfig) -> int:
    """Bytes of one state: convolution and recurrent parts in their dtypes."""
    sizes = {"float32": 4, "float16": 2, "bfloat16": 2}
    conv = sizes.get(config.mamba_cache_dtype, config.dtype_bytes)
    stated = str(config.model.text.get("mamba_ssm_cache_dtype") or config.model.text.get("mamba_ssm_dtype") or "auto")
    wanted = config.mamba_ssm_cache_dtype if config.mamba_ssm_cache_dtype != "auto" else stated
    recurrent = sizes.get(wanted, conv)
    first, second, third = layer.elements
    return first * conv + second * recurrent + third * 4


DS_MLA = frozenset({"FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM120"})
"""Backends that serve an FP8 cache in DeepSeek's packed rows."""

# ---- specs -------------------------------------------------------------------------------------------------------


def state_mode(config: EngineConfig) -> str:
    """``align`` keeps states at block boundaries for prefix caching, ``none`` one state a request."""
    return "align" if config.prefix_caching and since("mamba_prefix_caching", config.release) else "none"


def block_sizes(layers: Sequence[CacheLayer], config: EngineConfig, backend: Backend) -> tuple[int, int | None]:
    """The attention block, and the padded page of states where there are any (``_align_hybrid_block_size``)."""
    block = (
        config.block_size
        if config.block_size is not None
        else backend.preferred(int(dated("default_block_size_hybrid", config.release)))
    )
    states = [x for x in layers if x.kind == "state"]
    attention = [x for x in layers if x.kind in ("full", "sliding", "mla", "chunked")]
    if not states or not attention:
        return block, None
    page = max(state_bytes(x, config) for x in states)
    per_token = max(token_bytes(x, config, config.kv_cache_dtype) for x in attention)
    align = max(backend.sizes[0], block)
    if attention[0].kind == "mla":
        align = max(align, 128)
    if state_mode(config) == "align":
        align = math.lcm(align, *(x.alignment for x in states))
    wanted = round_up(align * ceil_div(page, align * per_token), backend.sizes[0])
    block = max(block, wanted)
    return block, block * per_token


def specs_of(layers: Sequence[CacheLayer], config: EngineConfig, backend: Backend) -> list[tuple[CacheLayer, Spec]]:
    block, state_page = block_sizes(layers, config, backend)
    skipped = set(config.kv_dtype_skip_layers)
    if config.disable_sliding_window:
        layers = [replace(x, kind="full", reach=0) if x.kind == "sliding" else x for x in layers]
    spec_tokens = config.speculative.tokens if config.speculative is not None else 0
    mode = state_mode(config)
    found: list[tuple[CacheLayer, Spec]] = []
    for layer in layers:
        if layer.kind == "encoder":
            continue
        if layer.kind == "state":
            page = state_bytes(layer, config)
            states = (2 + spec_tokens + layer.checkpoints) if mode == "align" else 1 + spec_tokens
            found.append((layer, Spec("state", block if mode == "align" else -1, max(page, state_page or 0), states=states)))
            continue
        dtype = "auto" if str(layer.layer) in skipped else config.kv_cache_dtype
        if layer.kind == "mla" and backend.name in DS_MLA and dtype in ("fp8", "fp8_e4m3"):
            dtype = "fp8_ds_mla"
        page = token_bytes(layer, config, dtype) * block
        reach = layer.reach if layer.kind in ("sliding", "chunked") else 0
        # cross-attention caches what the encoder may put out at once
        tokens = config.max_num_batched_tokens if layer.kind == "cross" else 0
        found.append((layer, Spec(layer.kind, block, page, reach, tokens)))
    return found


# ---- groups ------------------------------------------------------------------------------------------------------

LOCAL: frozenset[CacheKind] = frozenset({"sliding", "chunked"})
FULL: frozenset[CacheKind] = frozenset({"full", "mla"})


def _promoted(specs: list[tuple[CacheLayer, Spec]]) -> list[tuple[CacheLayer, Spec]] | None:
    """Local layers as full ones, for a manager that knows one kind; None where the kinds stay different."""
    kinds = {spec.kind for _, spec in specs}
    if kinds & FULL and kinds & LOCAL:
        specs = [(layer, replace(spec, kind="full", reach=0)) if spec.kind in LOCAL else (layer, spec) for layer, spec in specs]
    return specs if _uniform(spec for _, spec in specs) else None


def _uniform(specs: Iterable[Spec]) -> bool:
    """One group can hold them all: equal token slots (all full, or one window, or one state shape)."""
    seen = list(dict.fromkeys(specs))
    if len(seen) <= 1:
        return True
    first = seen[0]
    if any(s.block != first.block for s in seen):
        return False
    if all(s.kind in FULL for s in seen):
        return True
    return all(s.kind == first.kind and s.reach == first.reach and s.kind != "cross" for s in seen) and (
        first.kind != "state" or all(s.page == first.page for s in seen)
    )


def _unified(specs: list[tuple[CacheLayer, Spec]]) -> list[tuple[CacheLayer, Spec]] | None:
    """Equal pages: a larger block where the ratio is whole, else padding; None where neither is allowed."""
    largest = max(spec.page for _, spec in specs)
    out: list[tuple[CacheLayer, Spec]] = []
    for layer, spec in specs:
        if spec.page == largest:
            out.append((layer, spec))
        elif spec.kind == "state":
            out.append((layer, replace(spec, page=largest)))
        elif largest % spec.page == 0:
            out.append((layer, replace(spec, page=largest, block=spec.block * (largest // spec.page))))
        elif spec.kind != "mla":
            out.append((layer, replace(spec, page=largest)))
        else:
            return None
    return out


def _cut(buckets: list[list[tuple[CacheLayer, Spec]]]) -> list[list[tuple[CacheLayer, Spec]]]:
    """Groups of equal size: as many layers as the rarest kind has, or the commonest when that is less than 1.5 times as many."""
    counts = [len(b) for b in buckets]
    size = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    groups: list[list[tuple[CacheLayer, Spec]]] = []
    for bucket in buckets:
        number = ceil_div(len(bucket), size)
        groups.extend(bucket[i::number] for i in range(number))
    return groups


def group(specs: list[tuple[CacheLayer, Spec]], config: EngineConfig) -> list[list[tuple[CacheLayer, Spec]]] | Refusal:
    """Split the whole model's layers into groups (``get_kv_cache_groups``)."""
    if not specs:
        return []
    if not config.hybrid_manager:
        promoted = _promoted(specs)
        if promoted is None:
            return Refusal(
                "other",
                "the hybrid KV cache manager is off, but this model mixes kinds of cache that cannot be stored as one",
                "KV sizing",
                ("disable_hybrid_kv_cache_manager",),
            )
        specs = promoted
    if _uniform(spec for _, spec in specs):
        return [specs]
    unified = _unified(specs)
    if unified is None:
        promoted = _promoted(specs)
        if promoted is None:
            return Refusal("other", "the layers' cache pages cannot be made equal", "KV sizing")
        return [promoted]
    buckets: dict[Spec, list[tuple[CacheLayer, Spec]]] = {}
    for layer, spec in unified:
        buckets.setdefault(spec, []).append((layer, spec))
    return _cut(list(buckets.values()))


def plan(
    layers: Sequence[CacheLayer], config: EngineConfig, backend: Backend, stage: Callable[[int], bool] = lambda index: True
) -> KvPlan | Refusal:
    """Lay the cache out. ``stage`` tells the layers of this pipeline stage."""
    if any(x.kind in ("full", "sliding", "mla", "chunked") and token_bytes(x, config, config.kv_cache_dtype) <= 0 for x in layers):
        return Refusal("other", "an attention layer has heads of no width", "weight loading")
    specs = specs_of(layers, config, backend)
    groups = group(specs, config)
    if isinstance(groups, Refusal):
        return groups
    block, _ = block_sizes(layers, config, backend)
    built: list[Group] = []
    for members in groups:
        own = [spec for layer, spec in members if stage(layer.layer)]
        spec = members[0][1]
        built.append(Group(spec, len(own), sum(s.page for s in own)))
    per_block = max((g.page for g in built), default=0)
    if config.decode_context_parallel_size > 1 and any(g.spec.kind in LOCAL for g in built):
        return Refusal(
            "parallel",
            "decode context parallelism does not support sliding-window layers",
            "KV sizing",
            ("decode_context_parallel_size",),
        )
    return KvPlan(config, tuple(built), block, per_block, backend.name)
