"""What one rank builds: weights added up module by module, and the cache layers that its attention declares.

Architecture builders (``budget/architectures``) write into a ``Ledger`` as vLLM's model classes construct their modules:
column- and row-parallel linears, replicated ones, padded vocabularies, experts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Literal

from lint_vllm.budget.quantization import PLAIN, Indivisible, NotModelled, Scheme, ceil_div, round_up
from lint_vllm.frozen import dataclass

__all__ = ["CacheLayer", "Indivisible", "Ledger", "NotModelled", "Rank"]

CacheKind = Literal["full", "sliding", "chunked", "mla", "state", "cross", "encoder", "unknown"]


@dataclass(frozen=True, slots=True)
class CacheLayer:
    """The cache of one layer, before block sizes are known.

    ``kv_heads`` counts one rank's heads; ``head_dim`` K, ``v_dim`` V. For "mla" ``head_dim`` is the latent row. For "state"
    ``elements`` are (conv-like, recurrent, float32) counts of one rank. ``reach`` is the window or chunk. "unknown" stands for a
    cache without a formula.
    """

    kind: CacheKind
    layer: int
    kv_heads: int = 0
    head_dim: int = 0
    v_dim: int = 0
    reach: int = 0
    elements: tuple[int, int, int] = (0, 0, 0)
    checkpoints: int = 0
    """Extra state blocks with prefix caching (gated delta-net on recent releases)."""
    alignment: int = 1
    """Blocks must be a multiple of it when states are checkpointed."""
    row_bytes: int | None = None
    """Bytes a token, where they do not follow from heads and dtype (sparse-attention indexer)."""
    state_kind: str = ""
    tokens: int = 0
    """Encoder tokens, for "cross"."""


@dataclass(frozen=True, slots=True)
class Rank:
    """One GPU's place: tensor, expert and pipeline split."""

    tp: int = 1
    experts_over: int = 1
    """Ranks over which whole experts are spread; 1 = experts are sharded by ``tp``."""
    expert_tp: int | None = None
    """Split of each expert's width when data parallelism shards experts over more ranks than ``tp``."""
    redundant_experts: int = 0
    pp: int = 1
    stage: int = 0
    item: int = 2
    capability: tuple[int, int] | None = None
    release: str = "0.33.0"
    encoder_tp: int = 1
    language_only: bool = False
    pooling: bool = False


@dataclass
class Ledger:
    """Adds up bytes. ``caches`` are in layer order."""

    rank: Rank
    scheme: Scheme
    bytes: int = 0
    linear_bytes: int = 0
    """The part in linears and experts of decoder layers, which LoRA and quantization concern."""
    caches: list[CacheLayer] = field(default_factory=list)
    layer: int | None = None
    notes: list[str] = field(default_factory=list)
    loras: list[tuple[str, int, tuple[int, ...], Literal["column", "row", "whole"]]] = field(default_factory=list)
    """Linears that LoRA can wrap in the layers built: (name, inputs and outputs of one rank, kind)."""
    first_layer: int = 0
    end_layer: int = 0
    uncertain: float = 0.0
    """Bytes that may be there or not (parts known only as an interval)."""

    # ---- sizes

    def split(self, size: int, what: str = "size", tp: int | None = None) -> int:
        parts = self.rank.tp if tp is None else tp
        if size % parts:
            raise Indivisible(what, size, parts)
        return size // parts

    def kv_heads(self, total: int) -> int:
        """KV heads of one rank: split, or copied when there are more ranks than heads."""
        tp = self.rank.tp
        if total >= tp:
            return self.split(total, "number of KV heads")
        if tp % total:
            raise Indivisible("tensor parallel size for the number of KV heads", tp, total)
        return 1

    # ---- modules

    def linear(
        self, name: str, inputs: int, outputs: Iterable[int], bias: int = 0, kind: Literal["column", "row", "whole"] = "whole",
        row_split: bool = False, quantized: bool = True,
    ) -> None:  # fmt: skip
        """A linear layer with sizes of one rank; ``bias`` is its number of elements."""
        parts = list(outputs)
        form = self.scheme.format_of(name, self.layer) if quantized else PLAIN
        size = form.linear(inputs, parts, self.rank.item, row_split)
        self.bytes += size + bias * self.rank.item
        if self.layer is not None:
            self.linear_bytes += size
            self.loras.append((name, inputs, tuple(parts), kind))

    def column(self, name: str, inputs: int, *outputs: int, bias: bool = False, quantized: bool = True) -> None:
        parts = [self.split(o, name.rsplit(".", 1)[-1] + " output") for o in outputs]
        self.linear(name, inputs, parts, sum(parts) if bias else 0, "column", quantized=quantized)

    def row(self, name: str, inputs: int, output: int, bias: bool = False, quantized: bool = True) -> None:
        part = self.split(inputs, name.rsplit(".", 1)[-1] + " input")
        self.linear(name, part, [output], output if bias else 0, "row", self.rank.tp > 1, quantized)

    def whole(self, name: str, inputs: int, *outputs: int, bias: bool = False, quantized: bool = True) -> None:
        self.linear(name, inputs, outputs, sum(outputs) if bias else 0, "whole", quantized=quantized)

    def qkv(
        self, name: str, inputs: int, heads: int, kv_heads: int, dim: int, v_dim: int | None = None, bias: bool = False
    ) -> None:
        q = self.split(heads, "number of attention heads") * dim
        kv = self.kv_heads(kv_heads)
        parts = [q, kv * dim, kv * (dim if v_dim is None else v_dim)]
        self.linear(name, inputs, parts, sum(parts) if bias else 0, "column")

    def experts(self, name: str, count: int, hidden: int, width: int, gated: bool = True, bias: bool = False) -> None:
        """Routed experts, spread whole (expert parallel) or sharded by width."""
        rank = self.rank
        total = count + rank.redundant_experts
        if rank.experts_over > 1:
            local, part = ceil_div(total, rank.experts_over), width
        else:
            local, part = total, self.split(width, "expert intermediate size", rank.expert_tp or rank.tp)
        form = self.scheme.format_of(name, self.layer)
        size = form.experts(local, hidden, part, 2 if gated else 1, rank.item, bias)
        self.bytes += size
        self.linear_bytes += size

    def vector(self, *sizes: int, item: int | None = None) -> None:
        """Parameters that every rank holds: norms, router biases."""
        self.bytes += sum(sizes) * (self.rank.item if item is None else item)

    def embedding(self, vocab: int, dim: int) -> None:
        """A vocabulary-parallel table, padded to a multiple of 64."""
        padded = round_up(vocab, 64)
        self.bytes += self.split(padded, "padded vocabulary") * dim * self.rank.item

    def head(self, vocab: int, dim: int, bias: bool = False) -> None:
        padded = round_up(vocab, 64)
        rows = self.split(padded, "padded vocabulary")
        if self.scheme.head:
            self.bytes += self.scheme.format_of("lm_head").linear(dim, [rows], self.rank.item, False)
        else:
            self.bytes += rows * dim * self.rank.item
        if bias:
            self.bytes += rows * self.rank.item

    # ---- layers

    def stage_range(self, layers: int) -> range:
        """Layers of this pipeline stage (vllm==0.33.0 distributed/utils.py get_pp_indices)."""
        pp = self.rank.pp
        sizes = [layers // pp] * pp
        remaining = layers - sum(sizes)
        for i in range(2, remaining + 2):
            sizes[-i] += 1
        start = sum(sizes[: self.rank.stage])
        self.first_layer, self.end_layer = start, start + sizes[self.rank.stage]
        return range(self.first_layer, self.end_layer)

    @property
    def is_first(self) -> bool:
        return self.rank.stage == 0

    @property
    def is_last(self) -> bool:
        return self.rank.stage == self.rank.pp - 1

    def layers(self, count: int, kind: Callable[[int], object], build: Callable[[int], None]) -> None:
        """Build the stage's layers; layers of one kind that the scheme treats alike are built once and counted again."""
        known: dict[object, tuple[int, int, int, int]] = {}
        for index in self.stage_range(count):
            key = (kind(index), self.scheme.layer_key(index))
            self.layer = index
            if key in known:
                size, linears, start, end = known[key]
                self.bytes += size
                self.linear_bytes += linears
                self.loras.extend(self.loras[start:end])
            else:
                before, linears_before, start = self.bytes, self.linear_bytes, len(self.loras)
                build(index)
                known[key] = (self.bytes - before, self.linear_bytes - linears_before, start, len(self.loras))
            self.layer = None
