"""Persistent memory that is neither weights nor cache: contexts' growth, workspaces, communicators, staging buffers.

Constants fitted to what logs print as non-torch memory or as consumed less weights; each driver adds its own.
"""

from __future__ import annotations

from lint_vllm.budget.coefficients import coefficients, gib, spread, times
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.model_runner import model_runner, on_rocm
from lint_vllm.budget.quantity import Quantity
from lint_vllm.facts import version_key


def framework(config: EngineConfig) -> Quantity:
    """Bytes per GPU that vLLM counts against its share besides weights, activations and graphs."""
    constants = Quantity.total(gib("framework", name) for name in drivers(config))
    counts = penalty_counts(config)
    return constants + Quantity(counts if config.release_sure else 0.0, counts, counts) + _expert_copies(config)


def _expert_copies(config: EngineConfig) -> Quantity:
    """Experts on ROCm: the one rig that was seen lost half of their bytes again, for a reason no log shows. One sight is little:
    the likely share is drawn towards none."""
    model = config.model
    if not on_rocm(config) or not model.experts:
        return Quantity.exact(0)
    width = model.text.get("moe_intermediate_size") or model.intermediate_size or 0
    bits = 16 if config.quantization is None else 8
    experts = model.experts * 3 * float(width if isinstance(width, int) else 0) * (model.hidden_size or 0) * (model.num_layers or 0)
    return times(spread("framework", "rocm_experts_share"), experts * bits / 8 / config.world_size)


def outside(config: EngineConfig) -> Quantity:
    """Bytes per GPU that the process holds and vLLM does not count against its share."""
    if counts_context(config):
        return Quantity.exact(0)
    card = config.card
    context = gib("outside", "context_gib")
    if card is not None and card.ceiling is not None and not card.unified_memory:
        free = card.ceiling
        context = Quantity(*((1 - share) * card.total.likely for share in (free.high, free.likely, free.low)))
    if config.world_size > 1 and version_key(config.release) >= (0, 11):
        context = context + gib("outside", "nccl_gib")
    return context + gib("outside", "sleep_gib") if _hides_memory(config) else context


def _hides_memory(config: EngineConfig) -> bool:
    """Sleep mode's allocator is not seen by the measurement before it compares free memory (0.27): the pool comes out too large."""
    return config.enable_sleep_mode and version_key(config.release) < (0, 27)


def counts_context(config: EngineConfig) -> bool:
    """Whether the CUDA context counts against the share: the V1 engine before it compared snapshots, V0 before it did."""
    return version_key(config.release) < ((0, 9, 1) if config.v1 else (0, 6, 5))


def penalty_counts(config: EngineConfig) -> float:
    """Bytes: runner V2 keeps a count a token of the vocabulary for every sequence (v1/worker/gpu/sample/penalties.py)."""
    if model_runner(config) != "v2" or config.runner == "pooling":
        return 0.0
    return float(coefficients()["runner"]["penalty_counts"]) * config.max_num_seqs * (config.model.vocab_size or 0) * 4


def drivers(config: EngineConfig) -> tuple[str, ...]:
    """The entries of ``data/runtime.json`` (framework) that apply to the launch."""
    release = version_key(config.release)
    card = config.card
    names = ["consumed_gib" if release >= (0, 27) else "base_gib"]
    if counts_context(config):
        names.append("context_counted_gib")
    if card is not None and card.unified_memory:
        names.append("unified_gib")
    elif on_rocm(config):
        names.append("rocm_gib")
    if config.world_size > 1:
        names.append("nccl_before_snapshot_gib" if release < (0, 11) else "nccl_after_snapshot_gib")
    if _flashinfer(config):
        names.append("flashinfer_gib")
    if config.cpu_offload_gb > 0 or config.offload_groups:
        names.append("offload_gib")
    if config.speculative is not None and config.speculative.method not in ("ngram", "suffix"):
        names.append("draft_gib")
    if _hides_memory(config):
        names.append("sleep_gib")
    if config.lora is not None:
        names.append("lora_gib")
    if config.kv_connector:
        names.append("connector_gib")
    return tuple(names)


def _flashinfer(config: EngineConfig) -> bool:
    """The workspace of 256 MiB (394 from 0.11.2): asked for, or the default on compute capability 10."""
    backend = (config.attention_backend or config.env.get("VLLM_ATTENTION_BACKEND") or "").upper()
    if backend:
        return "FLASHINFER" in backend
    return config.capability is not None and config.capability[0] == 10
