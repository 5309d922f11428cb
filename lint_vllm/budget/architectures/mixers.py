"""What each layer mixes tokens with, and the cache it needs: softmax attention, latent attention, states.

``plan`` yields one ``Layer`` an index: builders that write weights into a ledger, and the cache layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lint_vllm.budget.ledger import CacheLayer, Ledger, NotModelled, Rank
from lint_vllm.budget.quantization import Indivisible
from lint_vllm.facts import version_key
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import kv_heads_of, positive
from lint_vllm.frozen import dataclass

Family = Mapping[str, Any]
Block = Callable[[Ledger], None]


@dataclass(frozen=True, slots=True)
class Layer:
    """One decoder layer. ``key`` is equal for layers that build alike; ``norms`` overrides the family's count."""

    key: object
    blocks: tuple[Block, ...]
    caches: tuple[CacheLayer, ...]
    feed_forward: bool = True
    norms: int | None = None


def need(text: Mapping[str, Any], *keys: str) -> int:
    for key in keys:
        found = positive(text.get(key))
        if found is not None:
            return found
    raise NotModelled(f"{keys[0]} is not in the configuration")


def kv_split(rank: Rank, total: int) -> int:
    if total >= rank.tp:
        if total % rank.tp:
            raise Indivisible("number of KV heads", total, rank.tp)
        return total // rank.tp
    if rank.tp % total:
        raise Indivisible("tensor parallel size for the number of KV heads", rank.tp, total)
    return 1


def plan(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """The layers of a model, in order."""
    mixer = str(family.get("mixer", "attention"))
    maker = MIXERS.get(mixer)
    if maker is None:
        raise NotModelled(f"mixer {mixer}")
    return maker(model, family, rank)


# ---- softmax attention -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heads:
    """Shape of one attention block."""

    q: int
    kv: int
    dim: int
    v_dim: int
    shared: bool = False
    """Reads an earlier layer's cache: only queries are projected."""


def heads_of(model: Model) -> Heads:
    text = model.text
    q = need(text, "num_attention_heads")
    kv = model.kv_heads or q
    dim = model.head_dim or need(text, "hidden_size") // q
    return Heads(q, kv, dim, positive(text.get("v_head_dim")) or dim)


def attention(heads: Heads, model: Model, family: Family, name: str = "self_attn", sliding: bool = False) -> Block:
    """Query, key, value and output projections, with the norms and sinks that some families have."""
    text = model.text
    hidden = need(text, "hidden_size")

    def truth(rule: object) -> bool:
        return any(bool(text.get(k)) for k in rule.split("|")) if isinstance(rule, str) else bool(rule)

    def write(ledger: Ledger) -> None:
        qkv, out = family.get("attention_names", ("qkv_proj", "o_proj"))
        q = heads.q * (2 if truth(family.get("attn_gate", False)) else 1)
        bias = truth(family.get("qkv_bias", False))
        if heads.shared:
            ledger.column(f"{name}.q_proj", hidden, q * heads.dim, bias=bias)
        else:
            ledger.qkv(f"{name}.{qkv}", hidden, q, heads.kv, heads.dim, heads.v_dim, bias)
        ledger.row(f"{name}.{out}", heads.q * heads.v_dim, hidden, truth(family.get("o_bias", False)))
        norm = family.get("qk_norm") if truth(family.get("qk_norm_if", True)) else None
        if norm == "head" or norm == "head_v":
            ledger.vector(2 * heads.dim)
        elif norm == "full":
            ledger.vector(ledger.split(heads.q, "number of attention heads") * heads.dim, ledger.kv_heads(heads.kv) * heads.dim)
        elif norm == "full_whole":
            ledger.vector(heads.q * heads.dim, heads.kv * heads.dim)
        elif norm == "per_head":
            ledger.vector(ledger.split(heads.q, "number of attention heads") * heads.dim, ledger.kv_heads(heads.kv) * heads.dim)
        elif norm == "query_key" and not heads.shared:
            ledger.vector(2 * heads.dim)
        elif norm == "query_key":
            ledger.vector(heads.dim)
        gate = family.get("output_gate")
        if gate and truth(family.get("output_gate_if", True)):
            # Laguna may have one gate for a whole head
            whole = text.get(str(family.get("output_gate_if"))) in (True, "per-head")
            ledger.column(f"{name}.{gate}", hidden, heads.q * (1 if whole else heads.v_dim))
        sinks = family.get("sliding_sinks" if sliding else "full_sinks", False)
        if family.get("sinks") or truth(sinks):
            ledger.vector(ledger.split(heads.q, "number of attention heads"))

    return write


def window_of(text: Mapping[str, Any]) -> int | None:
    return positive(text.get("sliding_window"))


def _attention_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Full, sliding and chunked layers as ``layer_types`` says; without it one window slides in all layers."""
    text = model.text
    count = need(text, "num_hidden_layers")
    heads = heads_of(model)
    types = text.get("layer_types")
    window = window_of(text)
    reach = positive(text.get("attention_chunk_size"))
    kinds: list[str]
    if isinstance(types, list) and len(types) >= count:
        kinds = [str(t) for t in types[:count]]
    else:
        slides = window is not None and family.get("window", True)
        kinds = ["sliding_attention" if slides else "full_attention"] * count
    shared_from = count - (positive(text.get("num_kv_shared_layers")) or 0)
    layers: list[Layer] = []
    for index, kind in enumerate(kinds):
        own = _heads_at(model, family, heads, kind, index, shared_from)
        kv = kv_split(rank, own.kv)
        cache: tuple[CacheLayer, ...]
        if index >= shared_from:
            cache = ()
        elif kind in ("sliding_attention", "sliding_window_attention", "sliding", "local", "local_attention"):
            if window is None:
                cache = (CacheLayer("full", index, kv, own.dim, own.v_dim),)
            else:
                cache = (CacheLayer("sliding", index, kv, own.dim, own.v_dim, window),)
        elif kind == "chunked_attention" and reach:
            cache = (CacheLayer("chunked", index, kv, own.dim, own.v_dim, reach),)
        else:
            cache = (CacheLayer("full", index, kv, own.dim, own.v_dim),)
        norms = None
        layers.append(
            Layer(
                (own, kind, index >= shared_from),
                (attention(own, model, family, sliding=kind.startswith("sliding")),),
                cache,
                True,
                norms,
            )
        )
    return layers


def _heads_at(model: Model, family: Family, heads: Heads, kind: str, index: int, first_shared: int) -> Heads:
    """Heads of one layer, where a family has other heads in its full layers."""
    text = model.text
    if family.get("global_heads") and kind == "full_attention":
        dim = positive(text.get("global_head_dim")) or int(family.get("global_head_dim", heads.dim))
        same = bool(text.get("attention_k_eq_v"))
        kv = (positive(text.get("num_global_key_value_heads")) if same else None) or heads.kv
        heads = Heads(heads.q, kv, dim, dim)
    several = text.get("num_attention_heads_per_layer")
    if isinstance(several, list) and index < len(several) and positive(several[index]):
        heads = replace(heads, q=int(several[index]))
    other = family.get("sliding_heads")
    if isinstance(other, Mapping) and kind == "sliding_attention":
        place = text.get(str(other.get("in"))) if "in" in other else text
        found = (
            {k: positive(place.get(str(other[k]))) for k in ("q", "kv", "dim", "v") if k in other}
            if isinstance(place, Mapping)
            else {}
        )
        dim = found.get("dim") or heads.dim
        heads = replace(
            heads,
            q=found.get("q") or heads.q,
            kv=found.get("kv") or heads.kv,
            dim=dim,
            v_dim=found.get("v") or (heads.v_dim if "v" in other else dim),
        )
    if family.get("shared_layers_project_queries") and index >= first_shared:
        heads = replace(heads, shared=True)
    return heads


# ---- latent attention --------------------------------------------------------------------------------------------


def latent(model: Model, family: Family, indexer: bool) -> Block:
    text = model.text
    hidden, heads = need(text, "hidden_size"), need(text, "num_attention_heads")
    rank_kv, rope, nope = (need(text, k) for k in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim"))
    value = positive(text.get("v_head_dim")) or need(text, "hidden_size") // heads
    rank_q = positive(text.get("q_lora_rank"))

    def write(ledger: Ledger) -> None:
        local = ledger.split(heads, "number of attention heads")
        if rank_q:
            ledger.linear("self_attn.fused_qkv_a_proj", hidden, [rank_q, rank_kv + rope])
            ledger.vector(rank_q)
            ledger.linear("self_attn.q_b_proj", rank_q, [local * (nope + rope)], kind="column")
        else:
            ledger.linear("self_attn.kv_a_proj_with_mqa", hidden, [rank_kv + rope])
            ledger.linear("self_attn.q_proj", hidden, [local * (nope + rope)], kind="column")
        ledger.vector(rank_kv)
        ledger.linear("self_attn.kv_b_proj", rank_kv, [local * (nope + value)], kind="column")
        ledger.row("self_attn.o_proj", heads * value, hidden)
        if indexer:
            many, dim = need(text, "index_n_heads"), need(text, "index_head_dim")
            ledger.linear("self_attn.indexer.wq_b", rank_q or hidden, [many * dim])
            ledger.linear("self_attn.indexer.wk", hidden, [dim], quantized=False)
            ledger.vector(2 * dim, item=4)
            ledger.linear("self_attn.indexer.weights_proj", hidden, [many], quantized=False)

    return write


def _latent_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    text = model.text
    count = need(text, "num_hidden_layers")
    row = need(text, "kv_lora_rank") + need(text, "qk_rope_head_dim")
    sparse = positive(text.get("index_topk")) is not None and positive(text.get("index_n_heads")) is not None
    own = _indexer_layers(text, count)
    layers: list[Layer] = []
    for index in range(count):
        with_indexer = sparse and index in own
        caches = [CacheLayer("mla", index, 1, row)]
        if with_indexer:
            dim = need(text, "index_head_dim")
            caches.append(CacheLayer("mla", index, 1, dim, row_bytes=dim + dim // 128 * 4))
        layers.append(Layer((with_indexer,), (latent(model, family, with_indexer),), tuple(caches)))
    return layers


def _expanded_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """MiniCPM3: latent projections, but a cache of full heads, V padded to K's width."""
    text = model.text
    count, heads = need(text, "num_hidden_layers"), need(text, "num_attention_heads")
    dim = need(text, "qk_nope_head_dim") + need(text, "qk_rope_head_dim")
    block = latent(model, {**family, "separate_a": True}, False)
    return [Layer((), (block,), (CacheLayer("full", i, kv_split(rank, heads), dim, dim),)) for i in range(count)]


def _indexer_layers(text: Mapping[str, Any], count: int) -> frozenset[int]:
    """Layers with an indexer of their own; the others reuse an earlier selection."""
    kinds = text.get("indexer_types")
    if isinstance(kinds, list):
        return frozenset(i for i, k in enumerate(kinds[:count]) if k == "full")
    return frozenset(range(count))


# ---- states ------------------------------------------------------------------------------------------------------


def _conv_state(rank: Rank, channels: int, kernel: int) -> int:
    if channels % rank.tp:
        raise Indivisible("convolution channels", channels, rank.tp)
    return channels // rank.tp * (kernel - 1)


@dataclass(frozen=True, slots=True)
class Mamba2:
    """Shape of a Mamba 2 block: inner width, heads, groups, state size, kernel."""

    inner: int
    heads: int
    dim: int
    groups: int
    state: int
    kernel: int
    bias: bool
    conv_bias: bool
    gated_norm: bool = True

    def cache(self, rank: Rank, index: int) -> CacheLayer:
        groups = self.groups if self.groups % rank.tp == 0 else self.groups + rank.tp - self.groups
        if self.heads % rank.tp:
            raise Indivisible("number of Mamba heads", self.heads, rank.tp)
        conv = _conv_state(rank, self.inner + 2 * groups * self.state, self.kernel)
        checkpoints = int(version_key(rank.release) >= (0, 33))
        state = self.heads // rank.tp * self.dim * self.state
        return CacheLayer("state", index, elements=(conv, state, 0), checkpoints=checkpoints, state_kind="mamba2")

    def block(self, hidden: int, name: str = "mixer") -> Block:
        def write(ledger: Ledger) -> None:
            tp = ledger.rank.tp
            groups = self.groups if self.groups % tp == 0 else self.groups + tp - self.groups
            bc = ledger.split(2 * groups * self.state, "Mamba groups")
            inner, heads = ledger.split(self.inner, "Mamba width"), ledger.split(self.heads, "number of Mamba heads")
            conv = inner + bc
            ledger.linear(f"{name}.conv1d", self.kernel, [conv], conv if self.conv_bias else 0, quantized=False)
            outs = [inner, inner, bc // 2, bc // 2, heads]
            ledger.linear(f"{name}.in_proj", hidden, outs, sum(outs) if self.bias else 0, "column")
            ledger.vector(heads, item=4)
            ledger.vector(heads, heads)
            ledger.row(f"{name}.out_proj", self.inner, hidden, self.bias)
            if self.gated_norm:
                ledger.vector(inner)

        return write


def _mamba2_shape(text: Mapping[str, Any], hidden: int) -> Mamba2:
    heads = need(text, "mamba_n_heads", "mamba_num_heads", "num_heads")
    dim = positive(text.get("mamba_d_head")) if text.get("mamba_d_head") != "auto" else None
    dim = dim or positive(text.get("mamba_head_dim"))
    inner = positive(text.get("mamba_d_ssm"))
    if inner is None:
        inner = heads * dim if dim else (positive(text.get("mamba_expand")) or 2) * hidden
    dim = dim or inner // heads
    return Mamba2(
        inner,
        heads,
        dim,
        need(text, "mamba_n_groups", "n_groups", "mamba_ngroups"),
        need(text, "mamba_d_state", "ssm_state_size", "state_size"),
        need(text, "mamba_d_conv", "conv_kernel", "mamba_kernel_size"),
        bool(text.get("mamba_proj_bias") or text.get("use_bias")),
        bool(text.get("mamba_conv_bias", text.get("use_conv_bias", True))),
        bool(text.get("mamba_rms_norm", True)),
    )


@dataclass(frozen=True, slots=True)
class Mamba1:
    inner: int
    state: int
    kernel: int
    dt_rank: int
    bias: bool
    conv_bias: bool
    inner_norms: bool

    def cache(self, rank: Rank, index: int) -> CacheLayer:
        if self.inner % rank.tp:
            raise Indivisible("Mamba width", self.inner, rank.tp)
        local = self.inner // rank.tp
        return CacheLayer("state", index, elements=(local * (self.kernel - 1), local * self.state, 0), state_kind="mamba1")

    def block(self, hidden: int, name: str = "mamba") -> Block:
        def write(ledger: Ledger) -> None:
            inner = ledger.split(self.inner, "Mamba width")
            ledger.linear(f"{name}.conv1d", self.kernel, [inner], inner if self.conv_bias else 0, quantized=False)
            ledger.linear(f"{name}.in_proj", hidden, [inner, inner], 2 * inner if self.bias else 0, "column")
            ledger.linear(f"{name}.x_proj", inner, [self.dt_rank + 2 * self.state], kind="row", row_split=ledger.rank.tp > 1)
            ledger.linear(f"{name}.dt_proj", self.dt_rank, [inner], inner, "column")
            ledger.vector(inner * self.state, item=4)
            ledger.vector(inner)
            ledger.row(f"{name}.out_proj", self.inner, hidden, self.bias)
            if self.inner_norms:
                ledger.vector(self.dt_rank + 2 * self.state)

        return write


def _mamba1_shape(text: Mapping[str, Any], hidden: int, inner_norms: bool) -> Mamba1:
    rank = text.get("mamba_dt_rank", text.get("time_step_rank"))
    inner = positive(text.get("intermediate_size")) if "mamba_expand" not in text else None
    return Mamba1(
        inner or int(text.get("mamba_expand") or text.get("expand") or 2) * hidden,
        need(text, "mamba_d_state", "state_size"),
        need(text, "mamba_d_conv", "conv_kernel"),
        int(rank) if isinstance(rank, int) and rank else -(-hidden // 16),
        bool(text.get("mamba_proj_bias", text.get("use_bias"))),
        bool(text.get("mamba_conv_bias", text.get("use_conv_bias", True))),
        inner_norms,
    )


@dataclass(frozen=True, slots=True)
class DeltaNet:
    """Gated delta-net block of Qwen3-Next and Qwen3.5."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int
    flashinfer: bool = True
    """Whether FlashInfer's prefill may run it; Olmo Hybrid always runs the Triton kernel."""

    def cache(self, rank: Rank, index: int) -> CacheLayer:
        if self.value_heads % rank.tp:
            raise Indivisible("number of linear value heads", self.value_heads, rank.tp)
        conv = _conv_state(rank, 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim, self.kernel)
        state = self.value_heads // rank.tp * self.value_dim * self.key_dim
        # FlashInfer's prefill exports checkpoints; other cards run the Triton kernel
        exports = self.flashinfer and version_key(rank.release) >= (0, 33) and (rank.capability or (9, 0))[0] in (9, 10, 12)
        return CacheLayer(
            "state", index, elements=(conv, state, 0), state_kind="gdn", checkpoints=int(exports), alignment=64 if exports else 1
        )

    def block(self, hidden: int) -> Block:
        def write(ledger: Ledger) -> None:
            key = ledger.split(self.key_heads * self.key_dim, "linear key width")
            value = ledger.split(self.value_heads * self.value_dim, "linear value width")
            heads = ledger.split(self.value_heads, "number of linear value heads")
            ledger.linear("linear_attn.conv1d", self.kernel, [2 * key + value], quantized=False)
            ledger.linear("linear_attn.in_proj_qkvz", hidden, [key, key, value, value], kind="column")
            ledger.linear("linear_attn.in_proj_ba", hidden, [heads, heads], kind="column")
            ledger.vector(heads)
            ledger.vector(heads, item=4)
            ledger.vector(self.value_dim)
            ledger.row("linear_attn.out_proj", self.value_heads * self.value_dim, hidden)

        return write


@dataclass(frozen=True, slots=True)
class KimiDelta:
    """Kimi delta attention (vllm==0.33.0 models/kimi_k3, models/bailing_moe_v3.py); ``low_rank`` gates of Kimi, whole ones of Ling 3."""

    heads: int
    dim: int
    kernel: int
    low_rank: bool

    def cache(self, rank: Rank, index: int) -> CacheLayer:
        if self.heads % rank.tp:
            raise Indivisible("number of linear heads", self.heads, rank.tp)
        conv = _conv_state(rank, 3 * self.heads * self.dim, self.kernel)
        state = self.heads // rank.tp * self.dim * self.dim
        return CacheLayer("state", index, elements=(conv, 0, state), state_kind="kda")

    def block(self, hidden: int) -> Block:
        def write(ledger: Ledger) -> None:
            inner, heads = ledger.split(self.heads * self.dim, "linear width"), ledger.split(self.heads, "number of linear heads")
            ledger.vector(3 * inner * self.kernel + inner + heads, item=4)
            if self.low_rank:
                ledger.linear("self_attn.in_proj_qkvgfab", hidden, [inner, inner, inner, heads, self.dim], kind="column")
                ledger.linear("self_attn.f_b_proj", self.dim, [inner], kind="column")
                ledger.linear("self_attn.g_a_proj", hidden, [self.dim])
                ledger.linear("self_attn.g_b_proj", self.dim, [inner], kind="column")
            else:
                ledger.linear("self_attn.qkvb_proj", hidden, [inner, inner, inner, heads], kind="column")
                ledger.linear("self_attn.f_proj", hidden, [inner], kind="column")
                ledger.linear("self_attn.g_proj", hidden, [inner], kind="column")
            ledger.vector(self.dim)
            ledger.row("self_attn.o_proj", self.heads * self.dim, hidden)

        return write


@dataclass(frozen=True, slots=True)
class Lightning:
    """Lightning attention of Ling 2.5 (vllm==0.33.0 models/bailing_moe_linear.py): one state a head in the model's dtype."""

    heads: int
    dim: int
    norms: bool

    def cache(self, rank: Rank, index: int) -> CacheLayer:
        if self.heads % rank.tp:
            raise Indivisible("number of linear heads", self.heads, rank.tp)
        state = self.heads // rank.tp * self.dim * self.dim
        return CacheLayer("state", index, elements=(0, state, 0), state_kind="lightning")

    def block(self, hidden: int) -> Block:
        def write(ledger: Ledger) -> None:
            inner = ledger.split(self.heads * self.dim, "linear width")
            ledger.linear("self_attn.query_key_value", hidden, [inner] * 3, kind="column")
            ledger.linear("self_attn.g_proj", hidden, [inner], kind="column")
            ledger.row("self_attn.dense", self.heads * self.dim, hidden)
            ledger.vector(inner, 2 * self.dim if self.norms else 0)

        return write


def _latent_hybrid_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Latent attention in some layers, linear attention in the others: Kimi Linear, Ling 2.5 and 3."""
    text = model.text
    hidden, count = need(text, "hidden_size"), need(text, "num_hidden_layers")
    types = text.get("layer_types")
    group = positive(text.get("layer_group_size"))
    if group:
        whole = count // group * group if family.get("rest_is_full") else count
        full = {i for i in range(count) if (i + 1) % group == 0 or i >= whole}
    elif isinstance(types, list) and len(types) >= count:
        full = {i for i, kind in enumerate(types[:count]) if kind in ("full_attention", "attention")}
    else:
        raise NotModelled("layer_types of a hybrid model is not in the configuration")
    block, cache_of = _state_maker(str(family["state"]), text, hidden)
    row = need(text, "kv_lora_rank") + need(text, "qk_rope_head_dim")
    attend = latent(model, family, False)
    gates = {"head_wise": 1, "element_wise": need(text, "v_head_dim")}
    width = gates.get(str(text.get("gated_attention_proj_granularity_type")), 0) * need(text, "num_attention_heads")

    def gate(ledger: Ledger) -> None:
        if width:
            ledger.column("self_attn.g_proj", hidden, width)

    layers: list[Layer] = []
    for index in range(count):
        if index in full:
            layers.append(Layer((True,), (attend, gate), (CacheLayer("mla", index, 1, row),)))
        else:
            layers.append(Layer((False,), (block,), (cache_of(rank, index),)))
    return layers


def _shared_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Zamba 2: Mamba 2 in every layer; some layers also run a shared transformer block, with a cache and adapters of their own."""
    text = model.text
    hidden, count, heads = need(text, "hidden_size"), need(text, "num_hidden_layers"), need(text, "num_attention_heads")
    types = text.get("layers_block_type")
    if not isinstance(types, list) or len(types) < count:
        raise NotModelled("layers_block_type is not in the configuration")
    inner = (positive(text.get("mamba_expand")) or 2) * hidden
    number = need(text, "n_mamba_heads")
    shape = Mamba2(inner, number, inner // number, need(text, "mamba_ngroups"), need(text, "mamba_d_state"), need(text, "mamba_d_conv"),
                   bool(text.get("add_bias_linear")), bool(text.get("use_conv_bias", True)))  # fmt: skip
    dim = positive(text.get("attention_head_dim")) or 2 * hidden // heads
    low, width = need(text, "adapter_rank"), positive(text.get("intermediate_size")) or 4 * hidden

    def adapters(ledger: Ledger) -> None:
        ledger.whole("linear", hidden, hidden)
        ledger.column("gate_up_proj_adapter.A", hidden, low)
        ledger.column("gate_up_proj_adapter.B", low, width, width)
        for part in "qkv" if text.get("use_shared_attention_adapter") else "":
            ledger.column(f"linear_{part}_adapter.A", 2 * hidden, low)
            ledger.column(f"linear_{part}_adapter.B", low, 2 * hidden)

    layers: list[Layer] = []
    for index, kind in enumerate(types[:count]):
        state = shape.cache(rank, index)
        if kind == "hybrid":
            cache = CacheLayer("full", index, kv_split(rank, heads), dim, dim)
            layers.append(Layer((True,), (shape.block(hidden, "mamba"), adapters), (cache, state), False, 1))
        else:
            layers.append(Layer((False,), (shape.block(hidden, "mamba"),), (state,), False, 1))
    return layers


def _hybrid_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Layers of attention and of one kind of state, by ``layer_types``."""
    text = model.text
    hidden, count = need(text, "hidden_size"), need(text, "num_hidden_layers")
    types = text.get("layer_types") or text.get("layers_block_type")
    if not isinstance(types, list) or len(types) < count:
        raise NotModelled("layer_types of a hybrid model is not in the configuration")
    state = _state_maker(str(family["state"]), text, hidden)
    heads = heads_of(model)
    window = window_of(text) if family.get("window", False) else None
    layers: list[Layer] = []
    for index, kind in enumerate(str(t) for t in types[:count]):
        if kind in ("full_attention", "attention", "hybrid", "sliding_attention"):
            kv = kv_split(rank, heads.kv)
            sliding = kind == "sliding_attention" and window
            cache = CacheLayer("sliding" if sliding else "full", index, kv, heads.dim, heads.v_dim, window or 0 if sliding else 0)
            layers.append(Layer((kind,), (attention(heads, model, family),), (cache,)))
        elif kind in ("mamba", "linear_attention", "conv"):
            block, cache_of = state
            layers.append(Layer((kind,), (block,), (cache_of(rank, index),)))
        else:
            raise NotModelled(f"layer type {kind}")
    return layers


def _state_maker(kind: str, text: Mapping[str, Any], hidden: int) -> tuple[Block, Callable[[Rank, int], CacheLayer]]:
    shape: Mamba2 | Mamba1 | DeltaNet
    if kind == "mamba2":
        shape = _mamba2_shape(text, hidden)
        return shape.block(hidden, "mamba"), shape.cache
    if kind == "mamba1":
        shape = _mamba1_shape(text, hidden, True)
        return shape.block(hidden), shape.cache
    if kind == "kda":
        stated = text.get("linear_attn_config")
        stated = stated if isinstance(stated, Mapping) else {}
        low = not text.get("no_kda_lora", False)
        number = positive(stated.get("num_heads")) if low else None
        wide = positive(stated.get("head_dim")) if low else positive(text.get("qk_rope_head_dim"))
        kernel = positive(stated.get("short_conv_kernel_size")) or positive(text.get("short_conv_kernel_size")) or 4
        delta = KimiDelta(
            number or need(text, "num_attention_heads"), wide or need(text, "linear_head_dim", "head_dim"), kernel, low
        )
        return delta.block(hidden), delta.cache
    if kind == "lightning":
        # the class of this type gives heads the size of their rotary part (transformers==5.24.0 BailingHybridConfig)
        light = Lightning(
            need(text, "num_attention_heads"), need(text, "qk_rope_head_dim", "head_dim"), bool(text.get("use_qk_norm"))
        )
        return light.block(hidden), light.cache
    if kind in ("gdn", "gdn_plain"):
        shape = DeltaNet(
            need(text, "linear_num_key_heads"),
            need(text, "linear_num_value_heads"),
            need(text, "linear_key_head_dim"),
            need(text, "linear_value_head_dim"),
            need(text, "linear_conv_kernel_dim"),
            kind == "gdn",
        )
        return shape.block(hidden), shape.cache
    if kind == "conv":
        kernel, width = need(text, "conv_L_cache"), need(text, "conv_dim", "hidden_size")
        bias = bool(text.get("conv_bias"))

        def write(ledger: Ledger) -> None:
            local = ledger.split(width, "convolution width")
            ledger.linear("short_conv.conv", kernel, [local], local if bias else 0, quantized=False)
            ledger.linear("short_conv.in_proj", hidden, [local] * 3, 3 * local if bias else 0, "column")
            ledger.row("short_conv.out_proj", width, hidden, bias)

        def cache_of(rank: Rank, index: int) -> CacheLayer:
            return CacheLayer("state", index, elements=(_conv_state(rank, width, kernel), 0, 0), state_kind="conv")

        return write, cache_of
    raise NotModelled(f"state kind {kind}")


def _pattern_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Nemotron-H: each layer is one of Mamba (M), attention (*), MLP (-), experts (E)."""
    from lint_vllm.budget.architectures import decoder

    text = model.text
    hidden, count = need(text, "hidden_size"), need(text, "num_hidden_layers")
    pattern = text.get("hybrid_override_pattern")
    if not isinstance(pattern, str):
        names = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
        blocks = text.get("layers_block_type") or text.get("layer_types")
        if not isinstance(blocks, list):
            raise NotModelled("hybrid_override_pattern is not in the configuration")
        pattern = "".join(names.get(str(b), "?") for b in blocks)
    if len(pattern) < count:
        raise NotModelled("hybrid_override_pattern is shorter than num_hidden_layers")
    shape = _mamba2_shape(text, hidden)
    heads = heads_of(model)
    layers: list[Layer] = []
    for index, letter in enumerate(pattern[:count]):
        caches: tuple[CacheLayer, ...] = ()
        block: Block
        if letter == "M":
            block, caches = shape.block(hidden), (shape.cache(rank, index),)
        elif letter == "*":
            block = attention(heads, model, family, "mixer")
            caches = (CacheLayer("full", index, kv_split(rank, heads.kv), heads.dim, heads.v_dim),)
        elif letter == "E":

            def block(ledger: Ledger) -> None:
                decoder.experts(ledger, family, text)

        elif letter == "-":
            width = text.get("intermediate_size")
            if isinstance(width, list):
                width = width[pattern[:index].count("-")] if len(width) > 1 else width[0]
            size = positive(width) or need(text, "intermediate_size")

            def block(ledger: Ledger, size: int = size) -> None:
                decoder.mlp(ledger, family, hidden, size, "mixer", bool(text.get("mlp_bias")))

        else:
            raise NotModelled(f"layer letter {letter}")
        layers.append(Layer((letter, width if letter == "-" else None), (block,), caches, False, 1))
    return layers


def _parallel_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Falcon-H1: attention and Mamba 2 side by side in every layer."""
    text = model.text
    hidden, count = need(text, "hidden_size"), need(text, "num_hidden_layers")
    shape, heads = _mamba2_shape({**text, "mamba_rms_norm": text.get("mamba_rms_norm", False)}, hidden), heads_of(model)
    layers: list[Layer] = []
    for index in range(count):
        full = CacheLayer("full", index, kv_split(rank, heads.kv), heads.dim, heads.v_dim)
        blocks = (attention(heads, model, family), shape.block(hidden, "mamba"))
        layers.append(Layer((), blocks, (full, shape.cache(rank, index))))
    return layers


def _mamba_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Attention-free Mamba 1 and 2 models."""
    text = model.text
    hidden, count = need(text, "hidden_size"), need(text, "num_hidden_layers")
    if family.get("state") == "mamba2":
        two = _mamba2_shape(
            {
                "mamba_expand": text.get("expand"),
                **text,
                "mamba_num_heads": text.get("num_heads"),
                "mamba_head_dim": text.get("head_dim"),
            },
            hidden,
        )
        return [Layer((), (two.block(hidden),), (two.cache(rank, i),), False, 1) for i in range(count)]
    one = _mamba1_shape(text, hidden, False)
    return [Layer((), (one.block(hidden, "mixer"),), (one.cache(rank, i),), False, 1) for i in range(count)]


def _pruned_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """DeciLM and Nemotron NAS: heads and width differ by layer, parts may be absent (``block_configs``)."""
    from lint_vllm.budget.architectures import decoder

    text = model.text
    hidden, count = need(text, "hidden_size"), need(text, "num_hidden_layers")
    blocks = text.get("block_configs")
    if not isinstance(blocks, list) or len(blocks) < count:
        raise NotModelled("block_configs is not in the configuration")
    base = heads_of(model)
    layers: list[Layer] = []
    for index, entry in enumerate(blocks[:count]):
        part, feed = entry.get("attention") or {}, entry.get("ffn") or {}
        writers: list[Block] = []
        caches: tuple[CacheLayer, ...] = ()
        norms = 0
        if not part.get("no_op") and not part.get("replace_with_linear"):
            heads = Heads(base.q, base.q // int(part["n_heads_in_group"]), base.dim, base.v_dim)
            writers.append(attention(heads, model, family))
            caches = (CacheLayer("full", index, kv_split(rank, heads.kv), heads.dim, heads.v_dim),)
            norms += 1
        elif part.get("replace_with_linear"):
            raise NotModelled("attention replaced by a linear layer")
        width = 0
        if not feed.get("no_op"):
            if feed.get("replace_with_linear"):
                raise NotModelled("MLP replaced by a linear layer")
            width = _nas_width(float(feed.get("ffn_mult") or 0), hidden) or need(feed, "intermediate_size")

            def write(ledger: Ledger, width: int = width) -> None:
                decoder.mlp(ledger, family, hidden, width)

            writers.append(write)
            norms += 1
        layers.append(Layer((part.get("n_heads_in_group"), bool(caches), width), tuple(writers), caches, False, norms))
    return layers


def _nas_width(multiple: float, hidden: int) -> int:
    """vllm==0.33.0 models/nemotron_nas.py _ffn_mult_to_intermediate_size."""
    size = int(2 * multiple * hidden / 3)
    return -(-size // 256) * 256


def _cross_layers(model: Model, family: Family, rank: Rank) -> list[Layer]:
    """Llama 3.2 Vision: some layers attend to the image alone; every layer has a cache of the same shape (models/mllama.py, to 0.10.2)."""
    text = model.text
    count, heads = need(text, "num_hidden_layers"), heads_of(model)
    types = text.get("layer_types")
    places = text.get("cross_attention_layers")
    if isinstance(types, list):
        cross = {i for i, kind in enumerate(types[:count]) if kind == "cross_attention"}
    elif isinstance(places, list):
        cross = {int(i) for i in places}
    else:
        raise NotModelled("cross_attention_layers is not in the configuration")
    plain, normed = attention(heads, model, family), attention(heads, model, {**family, "qk_norm": "head"})

    def gates(ledger: Ledger) -> None:
        ledger.vector(2)

    layers: list[Layer] = []
    for index in range(count):
        cache = CacheLayer("full", index, kv_split(rank, heads.kv), heads.dim, heads.v_dim)
        blocks = (normed, gates) if index in cross else (plain,)
        layers.append(Layer((index in cross,), blocks, (cache,)))
    return layers


MIXERS: Mapping[str, Callable[[Model, Family, Rank], list[Layer]]] = {
    "attention": _attention_layers,
    "mla": _latent_layers,
    "expanded_mla": _expanded_layers,
    "hybrid": _hybrid_layers,
    "pattern": _pattern_layers,
    "parallel": _parallel_layers,
    "mamba": _mamba_layers,
    "pruned": _pruned_layers,
    "cross": _cross_layers,
    "latent_hybrid": _latent_hybrid_layers,
    "shared": _shared_layers,
}

__all__ = ["Block", "Heads", "Layer", "attention", "heads_of", "kv_heads_of", "plan"]
