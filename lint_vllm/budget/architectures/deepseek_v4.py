"""DeepSeek-V4: residual streams, one latent vector for keys and values, compressors, hashed first layers, MXFP4 experts.

Weights as vllm==0.33.0 models/deepseek_v4/nvidia/model.py builds them from the published FP8 checkpoints. Its cache shares pages
between compressed rows and compressor states in groups of its own, which is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lint_vllm.budget.architectures.decoder import need
from lint_vllm.budget.ledger import CacheLayer, Ledger, NotModelled
from lint_vllm.budget.quantization import ceil_div
from lint_vllm.facts.model import Model

BLOCK = 128
"""Rows and columns that share one scale of a byte (UE8M0)."""


def deepseek_v4(model: Model, ledger: Ledger) -> None:
    """Embedding, layers, head; every layer's cache is ``unknown``."""
    text = model.text
    if model.quantization is None or model.quantization.method != "fp8":
        raise NotModelled("DeepSeek-V4 in another format than its own FP8")
    hidden, count, vocab = need(text, "hidden_size"), need(text, "num_hidden_layers"), need(text, "vocab_size")
    streams = need(text, "hc_mult")
    ratios = _ratios(text, count)
    hashed = _hashed(text, count)
    if ledger.is_first:
        ledger.embedding(vocab, hidden)

    def layer(index: int) -> None:
        mixes = streams * streams + 2 * streams
        ledger.vector(2 * (mixes * streams * hidden + mixes + 3), item=4)
        _attention(ledger, text, ratios[index])
        _experts(ledger, text, vocab, index in hashed)
        ledger.vector(2 * hidden)

    ledger.layers(count, lambda i: (ratios[i], i in hashed), layer)
    ledger.caches.extend(CacheLayer("unknown", i) for i in range(count))
    if ledger.is_last:
        ledger.vector(streams * streams * hidden + streams + 1, item=4)
        ledger.vector(hidden)
        ledger.head(vocab, hidden)


def _ratios(text: Mapping[str, Any], count: int) -> list[int]:
    """How far each layer compresses its cache; 0 for a plain window."""
    stated = text.get("compress_ratios")
    if isinstance(stated, list) and len(stated) >= count:
        return [int(r) for r in stated[:count]]
    return [128 if i < 2 or i % 2 else 4 for i in range(count)]


def _hashed(text: Mapping[str, Any], count: int) -> frozenset[int]:
    number = text.get("num_hash_layers", 3)
    return frozenset(range(min(count, int(number))))


def _fp8(ledger: Ledger, inputs: int, outputs: int) -> None:
    """A matrix of one byte a weight with its scales, sizes of one rank."""
    ledger.bytes += inputs * outputs + ceil_div(inputs, BLOCK) * ceil_div(outputs, BLOCK)


def _attention(ledger: Ledger, text: Mapping[str, Any], ratio: int) -> None:
    hidden, heads, dim = need(text, "hidden_size"), need(text, "num_attention_heads"), need(text, "head_dim")
    low, out, groups = need(text, "q_lora_rank"), need(text, "o_lora_rank"), need(text, "o_groups")
    local, parts = ledger.split(heads, "number of attention heads"), ledger.split(groups, "output groups")
    ledger.vector(local, item=4)
    _fp8(ledger, hidden, low + dim)
    ledger.vector(low, dim)
    _fp8(ledger, low, local * dim)
    _fp8(ledger, heads * dim // groups, parts * out)
    _fp8(ledger, parts * out, hidden)
    if ratio:
        _compressor(ledger, hidden, dim, ratio)
    if ratio == 4:
        many, wide = need(text, "index_n_heads"), need(text, "index_head_dim")
        _fp8(ledger, low, many * wide)
        ledger.vector(many * hidden)
        _compressor(ledger, hidden, wide, ratio)


def _compressor(ledger: Ledger, hidden: int, dim: int, ratio: int) -> None:
    width = dim * (2 if ratio == 4 else 1)
    ledger.vector(ratio * width, item=4)
    ledger.vector(2 * width * hidden, dim)


def _experts(ledger: Ledger, text: Mapping[str, Any], vocab: int, hashed: bool) -> None:
    hidden, width, count = need(text, "hidden_size"), need(text, "moe_intermediate_size"), need(text, "num_experts")
    ledger.vector(count * hidden)
    ledger.vector(vocab * need(text, "num_experts_per_tok") if hashed else count, item=4)
    shared = ledger.split(width * need(text, "n_shared_experts"), "shared expert width")
    _fp8(ledger, hidden, 2 * shared)
    _fp8(ledger, shared, hidden)
    if text.get("expert_dtype", "fp4") == "fp8":
        ledger.experts("ffn.experts", count, hidden, width)
        return
    rank = ledger.rank
    if rank.experts_over > 1:
        local, part = ceil_div(count + rank.redundant_experts, rank.experts_over), width
    else:
        local, part = count, ledger.split(width, "expert intermediate size", rank.expert_tp or rank.tp)
    # half a byte a weight and a byte of scale for each 32
    ledger.bytes += local * 3 * hidden * part // 2 + local * 3 * hidden * part // 32
