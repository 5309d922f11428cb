"""Bytes of one linear layer or of a set of experts, by quantization method, as vLLM builds the parameters.

Shapes follow ``create_weights`` of vllm==0.33.0 model_executor/layers/quantization/; what stays 16-bit follows the
``modules_to_not_convert``, ``ignore`` and ``exclude_modules`` lists of the checkpoint.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, Protocol

from lint_vllm.facts.model import Quantization
from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern

FUSED: Mapping[str, str] = {
    # module as vLLM builds it -> a module of the checkpoint that stands for it in skip lists
    "qkv_proj": "q_proj",
    "gate_up_proj": "gate_proj",
    "in_proj_qkvz": "in_proj_qkv",
    "fused_qkv_a_proj": "q_a_proj",
    "experts": "experts.0.gate_proj",
}
LAYER = pattern(r"layers\.(\d+)\.(.+)")
ROOTS = ("model.", "model.language_model.", "language_model.model.")
"""What precedes ``layers.N.`` in the skip lists of checkpoints; vLLM maps all to its own (utils WeightsMapper)."""


class Indivisible(Exception):
    """A size that does not split over the ranks."""

    def __init__(self, what: str, size: int, parts: int) -> None:
        super().__init__(f"{what} {size} is not divisible by {parts}")
        self.what, self.size, self.parts = what, size, parts


class Misaligned(Indivisible):
    """A rank's share of a quantized matrix that is no whole number of quantization groups or blocks.

    ``everywhere``: the format quantizes every linear layer, so the matrix is quantized whatever a list would say.
    """

    def __init__(self, what: str, size: int, parts: int, everywhere: bool = False) -> None:
        super().__init__(what, size, parts)
        self.everywhere = everywhere


class NotModelled(Exception):
    """The engine has no formula for this; the text says for what."""


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def round_up(a: int, b: int) -> int:
    return ceil_div(a, b) * b


class Format(Protocol):
    """How a set of weights is stored. Sizes are those of one rank."""

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        """Bytes of a linear layer with the given partitions of its output; ``item`` is the model's 2 or 4 bytes."""

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        """Bytes of ``count`` experts: ``up`` (2 gated, 1 not) x width x hidden, and hidden x width."""


@dataclass(frozen=True, slots=True)
class Plain:
    """16-bit or 32-bit weights."""

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        return inputs * sum(outputs) * item

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        return count * ((up + 1) * hidden * width + ((up * width + hidden) if bias else 0)) * item


@dataclass(frozen=True, slots=True)
class Grouped:
    """Packed integers with a scale (and a zero point) for each group of inputs: AWQ, GPTQ, compressed-tensors WNA16."""

    bits: float
    group: int
    zeros: bool
    shape_entries: bool = False
    act_order: bool = False
    whole_groups: bool = False
    """Whether vLLM refuses a rank's share that is no whole number of groups; elsewhere a slower kernel may take it."""

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        out = sum(outputs)
        group = self.group if self.group > 0 else inputs
        if inputs % group:
            if self.whole_groups:
                raise Misaligned("quantized input size", inputs, group, True)
            raise NotModelled(f"a rank's input size {inputs} that is no whole number of groups of {group}")
        groups = inputs // group
        packed = int(inputs * out * self.bits) // 8
        zeros = int(groups * out * self.bits) // 8 if self.zeros else 0
        return packed + zeros + groups * out * item + (16 if self.shape_entries else 0) + (inputs * 4 if self.act_order else 0)

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        loose = replace(self, whole_groups=False)
        one = loose.linear(hidden, [up * width], item, False) + loose.linear(width, [hidden], item, True)
        return count * (one + ((up * width + hidden) * item if bias else 0))


@dataclass(frozen=True, slots=True)
class EightBit:
    """One byte a weight (FP8 or INT8) with float32 scales: for the tensor, for each output channel, or for blocks."""

    scales: str = "tensor"
    block: tuple[int, int] | None = None
    static: bool = False

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        out = sum(outputs)
        if self.block is not None:
            rows, columns = self.block
            if row_split and inputs % columns:
                raise Misaligned("FP8 block input size", inputs, columns)
            # the last of several merged matrices need not fill a block
            if any(o % rows for o in outputs[:-1]):
                raise Misaligned("FP8 block output size", next(o for o in outputs if o % rows), rows)
            scale = ceil_div(out, rows) * ceil_div(inputs, columns) * 4
        else:
            scale = (out if self.scales == "channel" else len(outputs)) * 4
        return inputs * out + scale + (len(outputs) * 4 if self.static else 0)

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        if self.block is not None:
            rows, columns = self.block
            # where a shard is no whole number of blocks, vLLM keeps finer scales
            while rows > 1 and width % rows:
                rows, columns = rows // 2, columns // 2
            scale = up * ceil_div(width, rows) * ceil_div(hidden, columns) + ceil_div(hidden, rows) * ceil_div(width, columns)
        elif self.scales == "channel":
            scale = up * width + hidden
        else:
            scale = up + 1 + (2 if self.static else 0)
        return count * ((up + 1) * hidden * width + scale * 4 + ((up * width + hidden) * item if bias else 0))


@dataclass(frozen=True, slots=True)
class Fp4:
    """Half a byte a weight: NVFP4 (a byte for each 16 weights, two float32 a partition) or MXFP4 (a byte for each 32)."""

    group: int = 16
    tensor_scales: int = 2
    align_hidden: int = 1
    align_width: int = 1

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        if inputs % self.group:
            raise Misaligned("FP4 input size", inputs, self.group)
        out = sum(outputs)
        return inputs * out // 2 + inputs // self.group * out + len(outputs) * 4 * self.tensor_scales

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        hidden, width = round_up(hidden, self.align_hidden), round_up(width, self.align_width)
        weights = (up + 1) * hidden * width
        scales = self.tensor_scales * (up + 1) * 4
        return count * (weights // 2 + weights // self.group + scales + ((up * width + hidden) * item if bias else 0))


@dataclass(frozen=True, slots=True)
class PackedExperts:
    """GPTQ experts: Marlin's layout with zero points and biases, or plain packed weights where Marlin has no tile."""

    bits: float
    group: int
    zeros: bool

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        return Grouped(self.bits, self.group, self.zeros).linear(inputs, outputs, item, row_split)

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        group = self.group if self.group > 0 else width
        if width % max(64, group) == 0:
            return Grouped(self.bits, self.group, True).experts(count, hidden, width, up, item, True)
        while group > 1 and width % group:
            group //= 2
        return Grouped(self.bits, group, self.zeros).experts(count, hidden, width, up, item, bias)


@dataclass(frozen=True, slots=True)
class Average:
    """A format known by its mean bits a weight only (GGUF, bitsandbytes)."""

    bits: float

    def linear(self, inputs: int, outputs: Sequence[int], item: int, row_split: bool) -> int:
        return int(inputs * sum(outputs) * self.bits / 8)

    def experts(self, count: int, hidden: int, width: int, up: int, item: int, bias: bool) -> int:
        return int(count * (up + 1) * hidden * width * self.bits / 8) + (count * (up * width + hidden) * item if bias else 0)


PLAIN = Plain()


@dataclass(frozen=True)
class Scheme:
    """Which format each module has.

    ``groups`` are (targets, format); the first group with a matching target wins. ``skipped`` modules stay 16-bit.
    """

    groups: tuple[tuple[tuple[str, ...], Format], ...] = ()
    skipped: tuple[str, ...] = ()
    substring: bool = False
    only_experts: bool = False
    quantized_head: bool = False
    towers: bool = True
    """Whether vision and audio towers take part; AWQ, GPTQ and bitsandbytes checkpoints leave them alone."""
    exact: bool = True
    """False where the stored form differs from what stays after loading by more than rounding."""
    spread: tuple[float, float] = (0.95, 1.08)
    """How far off an inexact scheme may be, as factors."""
    by_layer: Mapping[int, frozenset[str]] = field(default_factory=dict)
    general: tuple[str, ...] = ()
    layered_targets: bool = False

    @classmethod
    def of(cls, groups: Iterable[tuple[tuple[str, ...], Format]], skipped: Iterable[str] = (), **kw: Any) -> Scheme:
        by_layer: dict[int, set[str]] = {}
        general: list[str] = []
        names = tuple(str(s) for s in skipped)
        for name in names:
            found = None if name.startswith("re:") else LAYER.search(name)
            if found:
                by_layer.setdefault(int(found[1]), set()).add(found[2])
            else:
                general.append(name)
        parts = tuple(groups)
        layered = any(LAYER.search(t) for targets, _ in parts for t in targets)
        return cls(parts, names, by_layer={k: frozenset(v) for k, v in by_layer.items()}, general=tuple(general), layered_targets=layered, **kw)  # fmt: skip

    @property
    def plain(self) -> bool:
        return not self.groups

    def layer_key(self, index: int) -> object:
        """Layers with equal keys are treated alike."""
        return index if self.layered_targets else self.by_layer.get(index)

    def format_of(self, name: str, layer: int | None = None) -> Format:
        """The format of a linear module, named without the part up to ``layers.N.``."""
        if not self.groups or (self.only_experts and not name.endswith("experts")):
            return PLAIN
        full = f"model.layers.{layer}.{name}" if layer is not None else name
        candidates = [(name, full)]
        last = name.rsplit(".", 1)[-1]
        if last in FUSED:
            shard = name[: len(name) - len(last)] + FUSED[last]
            candidates.append((shard, full[: len(full) - len(last)] + FUSED[last]))
        for short, whole in candidates:
            if layer is not None and any(self._matches(p, short) for p in self.by_layer.get(layer, ())):
                return PLAIN
            tail = whole[len(ROOTS[0]) :]
            wholes = [whole] if layer is None else [root + tail for root in ROOTS]
            if any(self._matches(p, w) for p in self.general for w in wholes):
                return PLAIN
        for targets, form in self.groups:
            if any(t == "Linear" or self._matches(t, w) or self._layer_target(t, s, layer) for t in targets for s, w in candidates):
                return form
        return PLAIN

    @property
    def everything(self) -> Scheme:
        """The same formats with nothing left alone but what no method quantizes."""
        return replace(self, skipped=(), by_layer={}, general=())

    def keeps(self, part: str) -> bool:
        """Whether the skip list names a part of the model by its first word (``mtp``)."""
        return any(name.removeprefix("re:").removeprefix(".*").removeprefix("model.").startswith(part) for name in self.skipped)

    @property
    def head(self) -> bool:
        """Whether the output head is quantized: said by the method, or named as a target."""
        return self.quantized_head or any(t.rsplit(".", 1)[-1] == "lm_head" for targets, _ in self.groups for t in targets)

    def _layer_target(self, target: str, name: str, layer: int | None) -> bool:
        found = LAYER.search(target) if layer is not None else None
        return bool(found) and int(found[1]) == layer and self._matches(found[2], name)  # type: ignore[index]

    def _matches(self, pattern: str, name: str) -> bool:
        if pattern.startswith("re:"):
            return _regex(pattern[3:]).match(name) is not None
        if "*" in pattern:
            return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, "*." + pattern)
        if self.substring:
            return pattern in name
        return name == pattern or name.endswith("." + pattern) or name.startswith(pattern + ".") or f".{pattern}." in name


@lru_cache(maxsize=256)
def _regex(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile(re.escape(pattern))


UNQUANTIZED = Scheme()


def scheme_of(quantization: Quantization | None, capability: tuple[int, int] | None) -> Scheme:
    """The scheme of a checkpoint. Raises ``NotModelled`` for methods without a formula."""
    if quantization is None:
        return UNQUANTIZED
    build = METHODS.get(quantization.method)
    if build is None:
        raise NotModelled(f"quantization method {quantization.method}")
    return build(quantization, capability)


def _names(config: Mapping[str, object], *keys: str) -> list[str]:
    for key in keys:
        found = config.get(key)
        if isinstance(found, (list, tuple)):
            return [str(x) for x in found]
    return []


def _awq(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    form = Grouped(q.bits or 4, q.group_size or 128, bool(q.config.get("zero_point", True)), whole_groups=True)
    return Scheme.of([(("Linear",), form)], _names(q.config, "modules_to_not_convert"), substring=True, towers=False)


def _gptq(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    group = q.config.get("group_size")
    symmetric = bool(q.config.get("sym", True))
    form = Grouped(
        q.bits or 4,
        int(group) if isinstance(group, int) else 128,
        True,
        act_order=bool(q.config.get("desc_act")),
        whole_groups=True,
    )
    dynamic = q.config.get("dynamic")
    skipped = [f"re:.*{k[2:]}" for k in dynamic if k.startswith("-:")] if isinstance(dynamic, Mapping) else []
    experts = PackedExperts(q.bits or 4, form.group, not symmetric)
    return Scheme.of([(("re:.*experts$",), experts), (("Linear",), form)], skipped + _names(q.config, "modules_to_not_convert"),
                     quantized_head=bool(q.config.get("lm_head")), substring=True, towers=False)  # fmt: skip


def _fp8(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    static = q.config.get("activation_scheme") == "static"
    skipped = _names(q.config, "modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules")
    return Scheme.of([(("Linear",), EightBit("tensor", q.block, static))], skipped)


def _channel_fp8(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    return Scheme.of([(("Linear",), EightBit("channel"))], _names(q.config, "modules_to_not_convert"))


def _modelopt(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    inner = q.config.get("quantization")
    source: Mapping[str, object] = inner if isinstance(inner, Mapping) else q.config
    skipped = _names(source, "exclude_modules", "ignore") or _names(q.config, "ignore")
    algorithm = str(source.get("quant_algo") or q.config.get("quant_algo") or "FP8").upper()
    forms: dict[str, Format] = {
        "FP8": EightBit("tensor", None, True),
        "FP8_PER_CHANNEL_PER_TOKEN": EightBit("channel"),
        "FP8_PB_WO": EightBit("tensor", (128, 128)),
        "NVFP4": Fp4(),
        "MXFP8": Fp4(32, 0),
    }
    if algorithm == "MIXED_PRECISION":
        groups = source.get("config_groups") or q.config.get("config_groups")
        if not isinstance(groups, Mapping):
            raise NotModelled("a ModelOpt mixed-precision checkpoint without config_groups")
        return Scheme.of(_config_groups(groups, static=True), skipped)
    if algorithm not in forms or algorithm == "MXFP8":
        raise NotModelled(f"ModelOpt algorithm {algorithm}")
    return Scheme.of([(("Linear",), forms[algorithm])], skipped)


def _config_groups(groups: Mapping[str, Any], static: bool = False) -> list[tuple[tuple[str, ...], Format]]:
    parts: list[tuple[tuple[str, ...], Format]] = []
    for group in groups.values():
        if not isinstance(group, Mapping) or not isinstance(group.get("weights"), Mapping):
            continue
        weights, inputs = group["weights"], group.get("input_activations")
        targets = tuple(str(t) for t in group.get("targets") or ("Linear",))
        bits, kind, size = weights.get("num_bits"), weights.get("type", "int"), weights.get("group_size")
        strategy = weights.get("strategy") or ("group" if size else "tensor")
        form: Format
        if bits == 4 and kind == "float":
            form = Fp4(
                int(size or 16), 2 if int(size or 16) == 16 and isinstance(inputs, Mapping) else (1 if int(size or 16) == 16 else 0)
            )
        elif bits == 8 and strategy == "block":
            block = weights.get("block_structure") or (128, 128)
            form = EightBit("tensor", (int(block[0]), int(block[1])))
        elif bits == 8 and (kind == "float" or isinstance(inputs, Mapping)):
            fixed = isinstance(inputs, Mapping) and not inputs.get("dynamic", False)
            form = EightBit("channel" if strategy == "channel" else "tensor", None, fixed or static)
        elif isinstance(bits, int) and kind == "int":
            form = Grouped(
                bits, int(size) if strategy == "group" and size else -1, not weights.get("symmetric", True), True, whole_groups=True
            )
        else:
            raise NotModelled(f"compressed-tensors weights of {bits} bits ({kind})")
        parts.append((targets, form))
    return parts


def _compressed_tensors(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    groups = q.config.get("config_groups")
    if not isinstance(groups, Mapping):
        raise NotModelled("a compressed-tensors checkpoint without config_groups")
    parts = _config_groups(groups)
    # packed-integer checkpoints leave towers alone even where they do not say so
    return Scheme.of(parts, _names(q.config, "ignore"), towers=not any(isinstance(form, Grouped) for _, form in parts))


def _mxfp4(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    hidden = 128 if capability is not None and capability[0] == 9 else 256
    form = Fp4(32, 0, hidden, 128)
    return Scheme.of([(("Linear",), form)], (), only_experts=True)


def _bitsandbytes(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    bits = 8.0 if q.bits == 8 else 4.25
    return Scheme.of(
        [(("Linear",), Average(bits))], _names(q.config, "llm_int8_skip_modules"), substring=True, exact=False, towers=False
    )


def _average(bits: float) -> Callable[[Quantization, tuple[int, int] | None], Scheme]:
    return lambda q, capability: Scheme.of([(("Linear",), Average(q.bits or bits))], quantized_head=True, exact=False)


def _deepspeed(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    """6, 8 or 12 bits with a scale for each 512 (vllm==0.14.0 layers/quantization/deepspeedfp.py); a launch alone does not say which."""
    parts = [(("Linear",), Average((q.bits or 8) + 0.06))]
    return Scheme.of(parts, exact=False, spread=(0.95, 1.08) if q.bits else (0.75, 1.5))


def _quark(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    whole = q.config.get("global_quant_config")
    weight = whole.get("weight") if isinstance(whole, Mapping) else None
    kind = str(weight.get("dtype")) if isinstance(weight, Mapping) else ""
    skipped = _names(q.config, "exclude")
    if kind.startswith("fp8"):
        channel = isinstance(weight, Mapping) and weight.get("qscheme") == "per_channel"
        return Scheme.of([(("Linear",), EightBit("channel" if channel else "tensor", None, not channel))], skipped)
    if kind == "int8":
        return Scheme.of([(("Linear",), EightBit("channel"))], skipped)
    if kind == "fp4":
        return Scheme.of([(("Linear",), Fp4(32, 0))], skipped)
    raise NotModelled(f"Quark weights of type {kind or 'unknown'}")


def _experts_int8(q: Quantization, capability: tuple[int, int] | None) -> Scheme:
    return Scheme.of([(("Linear",), EightBit("channel"))], only_experts=True)


METHODS: Mapping[str, Callable[[Quantization, tuple[int, int] | None], Scheme]] = {
    "awq": _awq, "auto_awq": _awq, "awq_marlin": _awq,
    "gptq": _gptq, "auto_gptq": _gptq, "gptq_marlin": _gptq, "moe_wna16": _gptq,
    "fp8": _fp8, "fbgemm_fp8": _channel_fp8, "ptpc_fp8": _channel_fp8,
    "modelopt": _modelopt, "modelopt_fp4": _modelopt, "nvfp4": _modelopt, "modelopt_mixed": _modelopt,
    "compressed-tensors": _compressed_tensors,
    "mxfp4": _mxfp4, "gpt_oss_mxfp4": _mxfp4,
    "bitsandbytes": _bitsandbytes, "gguf": _average(4.85), "deepspeedfp": _deepspeed, "quark": _quark, "experts_int8": _experts_int8,
    "fp8_per_tensor": _fp8, "fp8_per_block": lambda q, c: Scheme.of([(("Linear",), EightBit("tensor", (128, 128)))]),
    "fp8_per_channel": _channel_fp8, "int8_per_channel_weight_only": _channel_fp8,
}  # fmt: skip
"""Method as vLLM or the checkpoint names it -> scheme. Absent methods have no formula here."""
