"""Encoder models: BERT and its relatives, ModernBERT, Whisper (vllm==0.33.0 models/{bert,roberta,modernbert,whisper}.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lint_vllm.budget.architectures.decoder import need
from lint_vllm.budget.ledger import CacheLayer, Ledger, NotModelled
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import positive


def encoder(model: Model, family: Mapping[str, Any], ledger: Ledger) -> None:
    """Token embeddings, bidirectional layers and a pooler; no cache."""
    text = model.text
    hidden, vocab, width = need(text, "hidden_size"), need(text, "vocab_size"), need(text, "intermediate_size")
    heads, count = need(text, "num_attention_heads"), need(text, "num_hidden_layers")
    dim = hidden // heads
    ledger.embedding(vocab, hidden)
    if family.get("rotary"):
        _rotary(text, family, ledger, heads)
        return
    if family.get("modern"):
        ledger.vector(hidden)

        def modern(index: int) -> None:
            ledger.qkv("attn.Wqkv", hidden, heads, heads, dim)
            ledger.row("attn.Wo", hidden, hidden)
            ledger.column("mlp.Wi", hidden, width, width)
            ledger.row("mlp.Wo", width, hidden)
            ledger.vector(2 * hidden if index else hidden)

        ledger.layers(count, lambda i: i == 0, modern)
        ledger.vector(hidden)
        return
    ledger.embedding(need(text, "max_position_embeddings"), hidden)
    ledger.embedding(positive(text.get("type_vocab_size")) or 1, hidden)
    ledger.vector(2 * hidden)

    def layer(index: int) -> None:
        ledger.qkv("attention.self.qkv_proj", hidden, heads, heads, dim, bias=True)
        ledger.row("attention.output.dense", hidden, hidden, True)
        ledger.column("intermediate.dense", hidden, width, bias=True)
        ledger.row("output.dense", width, hidden, True)
        ledger.vector(4 * hidden)

    ledger.layers(count, lambda i: None, layer)


def _rotary(text: Mapping[str, Any], family: Mapping[str, Any], ledger: Ledger, heads: int) -> None:
    """BERT with rotary positions: Nomic's (vllm==0.33.0 models/bert_with_rope.py)."""
    hidden, width = need(text, "hidden_size"), need(text, "intermediate_size")
    if positive(text.get("num_experts")):
        raise NotModelled("experts of an embedding model")
    bias = bool(text.get(str(family["rotary"])))
    gated = str(text.get("activation_function", "swiglu")) == "swiglu"
    ledger.embedding(positive(text.get("type_vocab_size")) or 1, hidden)
    ledger.vector(2 * hidden)

    def layer(index: int) -> None:
        ledger.qkv("attn.qkv_proj", hidden, heads, heads, hidden // heads, bias=bias)
        ledger.row("attn.out_proj", hidden, hidden, bias)
        ledger.column("mlp.up_proj", hidden, *([width, width] if gated else [width]), bias=bias)
        ledger.row("mlp.down_proj", width, hidden, bias)
        ledger.vector(4 * hidden)

    ledger.layers(need(text, "num_hidden_layers"), lambda i: None, layer)


def whisper(model: Model, ledger: Ledger) -> None:
    """Encoder and decoder; each decoder layer caches its own tokens and the encoder's output."""
    text = model.config
    defaults = model.text
    hidden = need(defaults, "d_model")
    vocab, mels = need(defaults, "vocab_size"), need(defaults, "num_mel_bins")
    sources, targets = need(defaults, "max_source_positions"), need(defaults, "max_target_positions")
    heads, width = need(defaults, "encoder_attention_heads"), need(defaults, "encoder_ffn_dim")
    decoder_heads, decoder_width = need(defaults, "decoder_attention_heads"), need(defaults, "decoder_ffn_dim")

    def attention(number: int, cross: bool = False) -> None:
        local = ledger.split(hidden, "attention width")
        ledger.split(number, "number of attention heads")
        # K has no bias in the checkpoint; the fused module has one for Q, K and V
        ledger.linear("encoder_attn.q_kv" if cross else "self_attn.qkv_proj", hidden, [local] * 3, 3 * local)
        ledger.linear("self_attn.out_proj", local, [hidden], hidden)

    def mlp(size: int) -> None:
        local = ledger.split(size, "MLP width")
        ledger.linear("mlp.fc1", hidden, [local], local)
        ledger.linear("mlp.fc2", local, [hidden], hidden)

    ledger.vector(mels * hidden * 3 + hidden, hidden * hidden * 3 + hidden, sources * hidden, 2 * hidden)
    for _ in range(need(defaults, "encoder_layers")):
        attention(heads)
        mlp(width)
        ledger.vector(4 * hidden)
    ledger.vector(vocab * hidden, targets * hidden, 2 * hidden)
    dim = hidden // decoder_heads
    kv = ledger.kv_heads(decoder_heads)
    for index in range(need(defaults, "decoder_layers")):
        attention(decoder_heads)
        attention(decoder_heads, True)
        mlp(decoder_width)
        ledger.vector(6 * hidden)
        ledger.caches.append(CacheLayer("full", index, kv, dim, dim))
        ledger.caches.append(CacheLayer("cross", index, kv, dim, dim, tokens=sources))
    del text
