"""Which attention backend a launch gets, and the block sizes that it takes.

Order and limits follow vllm==0.33.0 platforms/cuda.py ``_get_backend_priorities`` and the ``supports_*`` methods of
v1/attention/backends/. FlashInfer is taken as installed. On ROCm the Triton backend's limits are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lint_vllm.budget.refusal import Refusal
from lint_vllm.frozen import dataclass

Capability = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Need:
    """What the model's layers ask of a backend."""

    head_dim: int
    dtype: str
    kv_dtype: str
    mla: bool = False
    sparse: bool = False
    sinks: bool = False
    mm_prefix: bool = False
    nope_dim: int = 0
    heads: int = 0
    """Query heads of one rank."""
    sliding: bool = False


@dataclass(frozen=True, slots=True)
class Backend:
    """``multiple`` backends take multiples of their first size, others exactly the sizes listed."""

    name: str
    sizes: tuple[int, ...] = (16,)
    multiple: bool = True
    kv_dtypes: frozenset[str] = frozenset()
    floors: tuple[Capability, ...] = ()
    majors: tuple[int, ...] = ()
    max_head: int = 1 << 20
    head_step: int = 1
    float32: bool = False

    def accepts(self, block: int) -> bool:
        return block % self.sizes[0] == 0 if self.multiple else any(block % s == 0 for s in self.sizes)

    def preferred(self, default: int = 16) -> int:
        return default if self.accepts(default) else self.sizes[0]


SIXTEEN = frozenset({"auto", "float16", "bfloat16", "half"})
FP8 = frozenset({"fp8", "fp8_e4m3"})
PER_TOKEN = frozenset({"fp8_per_token_head", "int8_per_token_head", "int4_per_token_head"})
TURBO = frozenset({"turboquant_k8v4", "turboquant_4bit_nc", "turboquant_k3v4_nc", "turboquant_3bit_nc"})

BACKENDS: Mapping[str, Backend] = {
    b.name: b
    for b in (
        Backend("FLASH_ATTN", kv_dtypes=SIXTEEN | FP8, floors=((8, 0),), max_head=256, head_step=8),
        Backend("FLASHINFER", (16, 32, 64), False, SIXTEEN | FP8 | {"fp8_e5m2", "nvfp4"}, ((8, 0),), max_head=256),
        Backend("TRITON_ATTN", kv_dtypes=SIXTEEN | FP8 | PER_TOKEN | {"fp8_e5m2"}, float32=True),
        Backend("FLEX_ATTENTION", kv_dtypes=SIXTEEN, float32=True),
        Backend("TURBOQUANT", (32, 64, 128), False, TURBO, ((8, 0),)),
        Backend("TRITON_FLASHINFER", (64,), False, SIXTEEN | FP8, majors=(10,), max_head=1024),
        Backend("TRITON_FLASH_ATTN", kv_dtypes=SIXTEEN | FP8, majors=(9,), max_head=512),
        Backend("FLASH_ATTN_MLA", kv_dtypes=SIXTEEN, majors=(9,)),
        Backend("FLASHMLA", (64,), False, SIXTEEN | FP8, majors=(9, 10)),
        Backend("FLASHINFER_MLA", (32, 64), False, SIXTEEN | FP8, majors=(10,)),
        Backend("CUTLASS_MLA", (128,), False, SIXTEEN | FP8, majors=(10,)),
        Backend("TRITON_MLA", kv_dtypes=SIXTEEN | FP8),
        Backend(
            "FLASHMLA_SPARSE", (64,), True, frozenset({"auto", "bfloat16", "fp8", "fp8_ds_mla", "nvfp4_ds_mla"}), majors=(9, 10)
        ),
        Backend("FLASHINFER_MLA_SPARSE", (64,), True, SIXTEEN | FP8, majors=(10,)),
        Backend("FLASH_ATTN_MLA_SPARSE", (64,), True, SIXTEEN, majors=(9,)),
        Backend("FLASHINFER_MLA_SPARSE_SM120", (64,), True, frozenset({"auto", "fp8", "fp8_e4m3", "fp8_ds_mla"}), majors=(12,)),
    )
}


def _order(need: Need, capability: Capability) -> Iterable[str]:
    major = capability[0]
    if need.mla and need.sparse:
        if major == 10:
            quantized = need.kv_dtype not in SIXTEEN
            if quantized or need.heads <= 16:
                return ("FLASHINFER_MLA_SPARSE", "FLASHMLA_SPARSE")
            return ("FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE")
        if major == 12:
            return ("FLASHINFER_MLA_SPARSE_SM120",)
        return ("FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE")
    if need.mla:
        if major == 10:
            return ("FLASHINFER_MLA", "CUTLASS_MLA", "FLASHMLA", "TRITON_MLA")
        if major == 12:
            return ("TRITON_MLA",)
        return ("FLASH_ATTN_MLA", "FLASHMLA", "TRITON_MLA")
    if major == 10:
        return ("TRITON_FLASHINFER", "FLASHINFER", "FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION", "TURBOQUANT")
    return ("TRITON_FLASH_ATTN", "FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION", "TURBOQUANT")


def _fits(backend: Backend, need: Need, capability: Capability) -> bool:
    if need.kv_dtype not in backend.kv_dtypes or (need.dtype == "float32" and not backend.float32):
        return False
    if backend.floors and capability < backend.floors[0]:
        return False
    if backend.majors and capability[0] not in backend.majors:
        return False
    if need.head_dim > backend.max_head or need.head_dim % backend.head_step:
        return False
    name = backend.name
    if name == "FLASHINFER":
        if need.kv_dtype == "nvfp4" and capability[0] not in (8, 9, 10, 12):
            return False
        if need.head_dim not in (64, 128, 256) or need.mm_prefix or need.sinks:
            return False
    if name in ("TRITON_FLASH_ATTN", "TRITON_FLASHINFER"):
        return need.mm_prefix and need.head_dim > 256
    if name == "FLASH_ATTN":
        if need.sinks and capability < (9, 0):
            return False
        if need.sinks and capability[0] >= 10:
            return False
        if need.mm_prefix:
            return False
        if need.kv_dtype in FP8 and capability[0] != 9:
            return False
    if name == "FLASHINFER_MLA" and need.nope_dim not in (0, 64, 128, 192):
        return False
    return not (name == "FLASHMLA" and capability[0] != 9)


def choose(need: Need, capability: Capability, block: int | None, card: str, forced: str | None = None) -> Backend | Refusal:
    """The first backend that takes the layers, the card and the block size."""
    names = [forced.upper()] if forced and forced.upper() in BACKENDS else list(_order(need, capability))
    for name in names:
        backend = BACKENDS[name]
        if not _fits(backend, need, capability):
            continue
        if block is not None and not backend.accepts(block):
            continue
        if (
            name in ("TRITON_ATTN", "TRITON_MLA")
            and need.kv_dtype in (*FP8, "fp8_e5m2", "fp8_per_token_head")
            and capability < (8, 9)
        ):
            version = f"{capability[0]}.{capability[1]}"
            return Refusal(
                "kv_cache_dtype",
                f"an FP8 KV cache needs compute capability 8.9 in the Triton attention backend; {card} has {version}",
                "weight loading",
                ("kv_cache_dtype",),
            )
        return backend
    if block is not None and choose(need, capability, None, card, forced).__class__ is Backend:
        return Refusal(
            "backend",
            f"no attention backend takes a block size of {block} for this model on {card}: use a multiple of 16",
            "weight loading",
            ("block_size",),
        )
    return Refusal(
        "kv_cache_dtype" if need.kv_dtype not in SIXTEEN else "backend",
        f"no attention backend on {card} runs head size {need.head_dim} with dtype {need.dtype} and KV cache dtype {need.kv_dtype}",
        "weight loading",
        ("kv_cache_dtype",) if need.kv_dtype not in SIXTEEN else (),
    )
