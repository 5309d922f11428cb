"""Decoder-only language models: dense, mixture of experts, latent attention, hybrids with a state.

Traits come from ``data/families.json``; sizes from the configuration. Module names are those of vLLM, without the part up to
``layers.N.``, because skip lists of quantized checkpoints name them (vllm==0.33.0 model_executor/models/).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lint_vllm.budget.architectures import mixers
from lint_vllm.budget.ledger import Ledger, NotModelled
from lint_vllm.budget.quantization import round_up
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import TIED_BY_CLASS, positive

Family = Mapping[str, Any]


def need(text: Mapping[str, Any], *keys: str) -> int:
    """A size that must be stated, under any of its names."""
    for key in keys:
        found = positive(text.get(key))
        if found is not None:
            return found
    raise NotModelled(f"{keys[0]} is not in the configuration")


def flag(text: Mapping[str, Any], rule: object) -> bool:
    """A trait that is fixed (true, false) or read from the configuration (a key, or several separated by ``|``)."""
    if isinstance(rule, str):
        return any(bool(text.get(key)) for key in rule.split("|"))
    return bool(rule)


def norm_size(family: Family, hidden: int) -> int:
    return {"rms": hidden, "ln_nobias": hidden, "ln": 2 * hidden, "none": 0}[str(family.get("norm", "rms"))]


def norms_of(family: Family, text: Mapping[str, Any]) -> int:
    """Norms of one layer. Falcon has one for both parallel parts, or one each (models/falcon.py)."""
    if family.get("norms_rule") == "falcon":
        if text.get("new_decoder_architecture"):
            return int(text.get("num_ln_in_parallel_attn") or 2)
        return 1 if text.get("parallel_attn", True) else 2
    return int(family.get("norms", 2))


# ---- which layers have experts -----------------------------------------------------------------------------------


def expert_layers(text: Mapping[str, Any], family: Family, layers: int) -> frozenset[int]:
    """Indices of mixture-of-experts layers."""
    if text.get("num_experts") is None and "moe" in str(text.get("model_type")) and not family.get("dense"):
        raise NotModelled("num_experts is not in the configuration")
    if not positive(text.get("num_experts")) or family.get("dense"):
        return frozenset()
    kinds = text.get("mlp_layer_types")
    if isinstance(kinds, list) and kinds:
        return frozenset(i for i, k in enumerate(kinds[:layers]) if k in ("sparse", "moe"))
    if text.get("moe_layers"):
        return frozenset(int(i) for i in text["moe_layers"] if int(i) < layers)
    enum = text.get("moe_layers_enum")
    if isinstance(enum, str) and enum:
        return frozenset(int(i) for i in enum.split(",") if i.strip().isdigit() and int(i) < layers)
    frequency = text.get("moe_layer_freq")
    if isinstance(frequency, list):
        return frozenset(i for i, f in enumerate(frequency[:layers]) if f)
    first = int(
        text.get("first_k_dense_replace")
        or text.get("moe_layer_start_index")
        or text.get("num_dense_layers")
        or family.get("dense_layers")
        or 0
    )
    last = int(text.get("moe_layer_end_index") or 0)
    last = last if 0 < last < layers else layers - 1
    if text.get("expert_layer_period"):
        period, offset = int(text["expert_layer_period"]), int(text.get("expert_layer_offset") or 0)
        return frozenset(i for i in range(layers) if i % period == offset)
    if text.get("interleave_moe_layer_step"):
        step = int(text["interleave_moe_layer_step"])
        return frozenset(i for i in range(layers) if (i + 1) % step == 0)
    if text.get("decoder_sparse_step"):
        step, dense = int(text["decoder_sparse_step"]), set(text.get("mlp_only_layers") or ())
        return frozenset(i for i in range(layers) if i not in dense and (i + 1) % step == 0)
    step = int(frequency or text.get("moe_layer_interval") or 1)
    if text.get("moe_layer_interval"):
        return frozenset(i for i in range(first, last + 1) if (i + 1) % step == 0)
    return frozenset(i for i in range(first, layers) if i % step == 0)


# ---- feed-forward parts ------------------------------------------------------------------------------------------


def mlp(ledger: Ledger, family: Family, hidden: int, width: int, name: str = "mlp", bias: bool = False) -> None:
    gated = family.get("gated", True)
    if family.get("mlp_whole"):
        ledger.whole(f"{name}.up_proj", hidden, width, bias=bias)
        ledger.whole(f"{name}.down_proj", width, hidden, bias=bias)
        return
    up, down = family.get("mlp_names", ("gate_up_proj", "down_proj") if gated else ("up_proj", "down_proj"))
    if gated:
        ledger.column(f"{name}.{up}", hidden, width, width, bias=bias)
    else:
        ledger.column(f"{name}.{up}", hidden, width, bias=bias)
    ledger.row(f"{name}.{down}", width, hidden, bias=bias)
    ledger.vector(int(family.get("activation_parameters", 0)))


def experts(ledger: Ledger, family: Family, text: Mapping[str, Any]) -> None:
    """Router, routed experts and shared experts of one layer."""
    hidden = need(text, "hidden_size")
    count = need(text, "num_experts")
    width = need(text, *family.get("expert_width", ("moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")))
    gated = family.get("gated", True)
    name = str(family.get("expert_name", "mlp"))
    latent = positive(text.get("moe_latent_size"))
    rule = family.get("router_float32")
    wide = (
        rule is True
        or (isinstance(rule, str) and bool(text.get(rule)))
        or (rule == "before_hopper" and (ledger.rank.capability or (0, 0))[0] not in (9, 10))
    )
    if family.get("router_quantized"):
        ledger.linear(f"{name}.gate", hidden, [count])
    else:
        ledger.vector(count * hidden, item=4 if wide else None)
    if flag(text, family.get("router_linear_bias", False)):
        ledger.vector(count)
    if flag(text, family.get("router_bias", False)):
        ledger.vector(count, item=4)
    if latent:
        ledger.whole(f"{name}.fc1_latent_proj", hidden, latent)
        ledger.whole(f"{name}.fc2_latent_proj", latent, hidden)
    ledger.experts(f"{name}.experts", count, latent or hidden, width, gated, flag(text, family.get("expert_bias", False)))
    shared = shared_width(text, family, width)
    if shared:
        shared_name = str(family.get("shared_name", f"{name}.shared_experts"))
        mlp(ledger, family, hidden, shared, shared_name)
        if family.get("shared_gate"):
            ledger.vector(hidden)


def shared_width(text: Mapping[str, Any], family: Family, width: int) -> int:
    """Total width of the shared experts."""
    if family.get("shared") is False:
        return 0
    if family.get("shared") == "one":
        return width
    for key in (
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
    ):
        if positive(text.get(key)):
            times = positive(text.get("n_shared_experts")) or 1
            return int(text[key]) * (times if key == "moe_shared_expert_intermediate_size" else 1)
    for key in ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert"):
        number = positive(text.get(key))
        if number:
            return number * width
    return 0


# ---- one decoder layer -------------------------------------------------------------------------------------------


HEADED = (
    "ForCausalLM",
    "ForConditionalGeneration",
    "LMHeadModel",
    "ChatModel",
    "ChatGLMModel",
    "LlamaModel",
    "MistralModel",
    "Qwen2Model",
    "Gemma2Model",
)
"""Architectures that vLLM serves by a class with an output head."""


def decoder(model: Model, family: Family, ledger: Ledger) -> None:
    """The whole language part: embedding, layers, final norm, head; and the cache of every layer."""
    text = model.text
    hidden, layers, vocab = (
        need(text, "hidden_size"),
        need(text, "num_hidden_layers"),
        need(text, "vocab_size", "padded_vocab_size"),
    )
    plan = mixers.plan(model, family, ledger.rank)
    with_experts = expert_layers(text, family, layers)
    norm = norm_size(family, hidden)
    embed = positive(text.get(str(family.get("embed_dim", "")))) or hidden
    tied = bool(text.get("tie_word_embeddings", family.get("tied", False))) if family.get("tied") != "always" else True

    everywhere = bool(family.get("ends_on_every_stage"))
    if ledger.is_first or (tied and ledger.is_last):
        ledger.embedding(vocab + int(family.get("embed_extra", 0)), embed)
        if embed != hidden:
            ledger.whole("project_in", embed, hidden)
            ledger.whole("project_out", hidden, embed)
        if ledger.is_first and "learned_positions" in family:
            ledger.vector((need(text, "max_position_embeddings") + int(family["learned_positions"])) * hidden)
        if ledger.is_first and family.get("embed_norm"):
            ledger.vector(2 * hidden)

    beside = LAYER_EXTRA.get(str(family.get("layer_extra", "")))

    def build(index: int) -> None:
        blocks = plan[index].blocks
        for block in blocks:
            block(ledger)
        if plan[index].feed_forward:
            feed_forward(ledger, family, text, index, index in with_experts)
        own = plan[index].norms
        ledger.vector((norms_of(family, text) if own is None else own) * norm)
        if beside is not None:
            beside(ledger, text, index in with_experts)

    ledger.layers(layers, lambda i: (plan[i].key, i in with_experts, _width_key(text, i)), build)
    for item in plan:
        ledger.caches.extend(item.caches)

    extra = EXTRA.get(str(family.get("extra", "")))
    if extra is not None:
        extra(ledger, text)
    if ledger.is_last or everywhere:
        if family.get("final_norm", True):
            ledger.vector(norm)
        headless = bool(model.architectures) and not any(a.endswith(HEADED) for a in model.architectures)
        if not (tied or headless):
            ledger.head(vocab, embed, flag(text, family.get("head_bias", False)))
        elif text.get(TIED_BY_CLASS) and not headless:
            ledger.uncertain += ledger.split(round_up(vocab, 64), "padded vocabulary") * embed * ledger.rank.item
        elif family.get("head_bias") and not headless:
            ledger.vector(ledger.split(round_up(vocab, 64), "padded vocabulary"))


def lfm2_width(text: Mapping[str, Any], size: int) -> int:
    """LFM2 scales and rounds its MLP width (models/lfm2.py Lfm2MLP)."""
    size = positive(text.get("block_ff_dim")) or size
    if text.get("block_auto_adjust_ff_dim"):
        size = int(2 * size / 3)
        size = int(float(text.get("block_ffn_dim_multiplier") or 1.0) * size)
        size = round_up(size, positive(text.get("block_multiple_of")) or 256)
    return size


def _width_key(text: Mapping[str, Any], index: int) -> object:
    width = text.get("intermediate_size")
    return width[index] if isinstance(width, list) and index < len(width) else None


def feed_forward(ledger: Ledger, family: Family, text: Mapping[str, Any], index: int, sparse: bool) -> None:
    hidden = need(text, "hidden_size")
    width = text.get("intermediate_size")
    if isinstance(width, list):
        width = width[index] if index < len(width) else None
    bias = flag(text, family.get("mlp_bias", False))
    name = str(family.get("mlp_name", "mlp"))
    if sparse:
        experts(ledger, family, text)
        if not family.get("dense_beside_experts"):
            return
    for key in family.get("dense_width", ()):
        if positive(text.get(key)):
            width = text[key]
            break
    size = positive(width)
    if size is not None and family.get("lfm2_width"):
        size = lfm2_width(text, size)
    if size is not None and family.get("width_half"):
        size //= 2
    if size is not None and family.get("wide_shared_layers") and text.get("use_double_wide_mlp"):
        shared = positive(text.get("num_kv_shared_layers")) or 0
        size *= 2 if shared and index >= need(text, "num_hidden_layers") - shared else 1
    if size is None:
        if family.get("width_factor"):
            size = int(family["width_factor"]) * hidden
        else:
            raise NotModelled("intermediate_size is not in the configuration")
    mlp(ledger, family, hidden, size, name, bias)


def _gemma3n(ledger: Ledger, text: Mapping[str, Any]) -> None:
    """Per-layer embeddings, and projections into and out of the alternating inputs (models/gemma3n.py)."""
    hidden, inputs = need(text, "hidden_size"), need(text, "altup_num_inputs")
    _gemma4(ledger, text)
    for _ in range(2 * (inputs - 1)):
        ledger.column("altup_projections", hidden, hidden)


def _gemma3n_layer(ledger: Ledger, text: Mapping[str, Any], sparse: bool) -> None:
    """Gemma 3n: alternating updates, a low-rank residual, and the per-layer embedding's gate and projection."""
    hidden, inputs, low = need(text, "hidden_size"), need(text, "altup_num_inputs"), need(text, "laurel_rank")
    ledger.vector(hidden, item=4)
    ledger.vector(inputs * inputs + inputs**3 + inputs * hidden + hidden)
    ledger.column("laurel.linear_left", hidden, low)
    ledger.row("laurel.linear_right", low, hidden)
    ledger.vector(hidden)
    _gemma4_layer(ledger, text, False)


def _gemma4(ledger: Ledger, text: Mapping[str, Any]) -> None:
    """Per-layer embeddings of the small Gemma 4 models, and one scale a layer."""
    width, hidden = positive(text.get("hidden_size_per_layer_input")), need(text, "hidden_size")
    layers = need(text, "num_hidden_layers")
    if width:
        vocab = positive(text.get("vocab_size_per_layer_input")) or need(text, "vocab_size")
        ledger.embedding(vocab, layers * width)
        ledger.column("per_layer_model_projection", hidden, layers * width)
        ledger.vector(width)


def _gemma4_layer(ledger: Ledger, text: Mapping[str, Any], sparse: bool) -> None:
    """Gemma 4: three more norms and router scales beside experts, and the per-layer embedding's gate and projection."""
    hidden, width = need(text, "hidden_size"), positive(text.get("hidden_size_per_layer_input"))
    if sparse:
        ledger.vector(3 * hidden, hidden, need(text, "num_experts"))
    if width:
        ledger.whole("per_layer_input_gate", hidden, width)
        ledger.whole("per_layer_projection", width, hidden)
        ledger.vector(hidden)


def _arctic_layer(ledger: Ledger, text: Mapping[str, Any], sparse: bool) -> None:
    """Snowflake Arctic: an unquantized MLP of the hidden width beside the experts, with a norm (models/arctic.py, to 0.28)."""
    hidden = need(text, "hidden_size")
    if sparse:
        ledger.column("residual_mlp.w13", hidden, hidden, hidden, quantized=False)
        ledger.row("residual_mlp.w2", hidden, hidden, quantized=False)
        ledger.vector(hidden)


def _zamba2(ledger: Ledger, text: Mapping[str, Any]) -> None:
    """The shared transformer blocks of Zamba 2, over the layer's input beside the embedding (models/zamba2.py)."""
    hidden, heads = need(text, "hidden_size"), need(text, "num_attention_heads")
    width = positive(text.get("intermediate_size")) or 4 * hidden
    for _ in range(positive(text.get("num_mem_blocks")) or 1):
        ledger.qkv("shared_transformer.self_attn.qkv_proj", 2 * hidden, heads, heads, 2 * hidden // heads)
        ledger.row("shared_transformer.self_attn.o_proj", 2 * hidden, hidden)
        ledger.column("shared_transformer.feed_forward.gate_up_proj", hidden, width, width)
        ledger.row("shared_transformer.feed_forward.down_proj", width, hidden)
        ledger.vector(2 * hidden, hidden)


EXTRA = {"gemma3n": _gemma3n, "gemma4": _gemma4, "zamba2": _zamba2}
LAYER_EXTRA = {"gemma3n": _gemma3n_layer, "gemma4": _gemma4_layer, "arctic": _arctic_layer}
