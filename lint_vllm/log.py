"""Read the start-up log of a vLLM server: what it measured, how far it came, and what that means.

Wordings of 0.6 to 0.33 (vllm worker/worker.py, v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py and their relatives).
Logs of several ranks give the tightest figures; a log of several starts gives the last one that measured something.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, replace
from typing import Any

from lint_vllm.budget.result import Outcome
from lint_vllm.facts import version_key
from lint_vllm.frozen import dataclass

LONGEST = 64 * 2**20
"""Characters of a log that are read; of a longer one the last ones."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|#033\[[0-9;]*m")
_LONGEST_DICT = 20_000


@dataclass(frozen=True, slots=True)
class StartupLog:
    """One start of vLLM as its log tells it. Sizes are GiB a GPU; ``None`` where the log does not say.

    ``activation_peak_gib`` is as printed: from 0.27 on it contains the graphs' estimate (see :attr:`activations_gib`).
    ``consumed_gib`` is weights plus everything persistent, printed from 0.27 on in place of weights and non-torch memory.
    """

    release: str | None = None
    engine: str | None = None
    model: str | None = None
    dtype: str | None = None
    quantization: str | None = None
    kv_cache_dtype: str | None = None
    max_model_len: int | None = None
    tensor_parallel_size: int | None = None
    pipeline_parallel_size: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    enforce_eager: bool | None = None
    arguments: Mapping[str, object] = field(default_factory=dict)
    """The non-default arguments that the server printed, dest -> value."""
    total_gib: float | None = None
    utilization: float | None = None
    requested_gib: float | None = None
    free_at_start_gib: float | None = None
    weights_gib: float | None = None
    non_torch_gib: float | None = None
    activation_peak_gib: float | None = None
    consumed_gib: float | None = None
    cudagraph_gib: float | None = None
    cudagraph_estimate_gib: float | None = None
    estimate_applied: bool = False
    """The graphs' estimate was taken out of the share."""
    kv_available_gib: float | None = None
    kv_tokens: int | None = None
    gpu_blocks: int | None = None
    max_concurrency: float | None = None
    concurrency_length: int | None = None
    kv_needed_gib: float | None = None
    estimated_max_len: int | None = None
    oom_tried_gib: float | None = None
    oom_free_gib: float | None = None
    oom_total_gib: float | None = None
    oom_in_use_gib: float | None = None
    outcome: Outcome = "unknown"
    phase: str = ""
    reason: str = ""
    """The sentence of the log that tells the failure."""

    @property
    def length(self) -> int | None:
        return self.concurrency_length or self.max_model_len

    @property
    def activations_gib(self) -> float | None:
        """The transient peak alone, without the graphs' estimate that newer releases print into it."""
        if self.activation_peak_gib is None:
            return None
        contained = self.cudagraph_estimate_gib if self.estimate_applied and self._peak_holds_graphs() else None
        return max(0.0, self.activation_peak_gib - (contained or 0.0))

    def _peak_holds_graphs(self) -> bool:
        return self.consumed_gib is not None or (self.release is not None and version_key(self.release) >= (0, 27))

    @property
    def framework_gib(self) -> float | None:
        """What persists besides weights: non-torch memory, or what was consumed less the weights."""
        if self.non_torch_gib is not None:
            return self.non_torch_gib
        if self.consumed_gib is not None and self.weights_gib is not None:
            return self.consumed_gib - self.weights_gib
        return None

    @property
    def runtime_gib(self) -> float | None:
        """Share less weights less pool: everything else vLLM counted."""
        if self.kv_available_gib is None or self.weights_gib is None or self.share_gib is None:
            return None
        return self.share_gib - self.weights_gib - self.kv_available_gib

    @property
    def share_gib(self) -> float | None:
        if self.requested_gib is not None:
            return self.requested_gib
        if self.total_gib is not None and self.utilization is not None:
            return self.total_gib * self.utilization
        return None

    @property
    def measured_anything(self) -> bool:
        return any(
            value is not None
            for value in (self.weights_gib, self.kv_available_gib, self.kv_tokens, self.gpu_blocks, self.oom_tried_gib)
        ) or self.outcome not in ("unknown",)


_NUMBER = r"(-?\d+(?:\.\d+)?)"
_SIZE = r"(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB|bytes)"
_COUNT = r"([\d,]+)"

Reader = Callable[["re.Match[str]"], Mapping[str, object]]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def _gib(number: str, unit: str) -> float:
    return float(number) * {"KiB": 2**-20, "MiB": 2**-10, "GiB": 1.0, "bytes": 2**-30}[unit]


def _one(name: str, convert: Callable[[str], object] = _number) -> Reader:
    return lambda match: {name: convert(match[1])}


def _profile_v0(match: re.Match[str]) -> Mapping[str, object]:
    weights, other, peak, pool = (_number(text) for text in match.groups())
    return {"weights_gib": weights, "non_torch_gib": other, "activation_peak_gib": peak, "kv_available_gib": pool}


def _usage(match: re.Match[str]) -> Mapping[str, object]:
    return {
        "weights_gib": _number(match[1]),
        "activation_peak_gib": _number(match[2]),
        "non_torch_gib": _number(match[3]),
        "cudagraph_gib": _number(match[4]),
    }


def _consumed(match: re.Match[str]) -> Mapping[str, object]:
    return {"consumed_gib": _number(match[1]), "activation_peak_gib": _number(match[2]), "cudagraph_gib": _number(match[3])}


def _too_long(match: re.Match[str]) -> Mapping[str, object]:
    return {
        "max_model_len": _whole(match[1]),
        "kv_needed_gib": _number(match[2]),
        "kv_available_gib": _number(match[3]),
        "outcome": "refused_kv",
    }


def _oom(match: re.Match[str]) -> Mapping[str, object]:
    return {"oom_tried_gib": _gib(match[1], match[2]), "outcome": "oom"}


# One row a wording: the pattern, and what it says. Blanks match line breaks, for logs that were wrapped by hand.
_PATTERNS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern.replace(" ", r"\s+")), reader)
    for pattern, reader in (
        # Weights: 0.6 "Loading model weights took 14.27 GB", later "Model loading took 14.27 GiB (memory) and 5.2 seconds".
        (rf"(?:Loading model weights|Model loading) took {_NUMBER} Gi?B", _one("weights_gib")),
        (
            rf"total_gpu_memory \({_NUMBER}\s*GiB\) x gpu_memory_utilization \({_NUMBER}\)(?: = {_NUMBER}\s*GiB)?",
            lambda m: {
                "total_gib": _number(m[1]),
                "utilization": _number(m[2]),
                **({"requested_gib": _number(m[3])} if m[3] else {}),
            },
        ),
        (
            rf"model weights take {_NUMBER}\s*GiB; non_torch_memory takes {_NUMBER}\s*GiB; PyTorch activation peak memory takes"
            rf" {_NUMBER}\s*GiB; the rest of the memory reserved for KV Cache is {_NUMBER}\s*GiB",
            _profile_v0,
        ),
        (
            rf"torch peak memory increase: {_NUMBER}\s*GiB; non-torch forward increase memory: {_NUMBER}\s*GiB; weights memory:"
            rf" {_NUMBER}\s*GiB",
            lambda m: {"activation_peak_gib": _number(m[1]), "non_torch_gib": _number(m[2]), "weights_gib": _number(m[3])},
        ),
        (rf"Available KV cache memory: {_NUMBER} GiB", _one("kv_available_gib")),
        (rf"# (?:GPU|cuda|rocm) blocks: {_COUNT}", _one("gpu_blocks", _whole)),
        (rf"KV cache size: {_COUNT} tokens", _one("kv_tokens", _whole)),
        (
            rf"Maximum concurrency for {_COUNT} tokens per request: {_NUMBER}x",
            lambda m: {"concurrency_length": _whole(m[1]), "max_concurrency": _number(m[2])},
        ),
        (rf"Graph capturing finished in \d+ secs?, took {_NUMBER} GiB", _one("cudagraph_gib")),
        (rf"Estimated CUDA graph memory: {_NUMBER} GiB", _one("cudagraph_estimate_gib")),
        (
            rf"CUDA graph pool memory: {_NUMBER} GiB \(actual\), {_NUMBER} GiB \(estimated\)",
            lambda m: {"cudagraph_gib": _number(m[1]), "cudagraph_estimate_gib": _number(m[2])},
        ),
        (r"CUDA graph memory profiling is enabled", lambda m: {"estimate_applied": True}),
        (
            rf"Free memory on device(?: \w+:?\d*)? \({_NUMBER}/{_NUMBER} GiB\) on startup\. Desired GPU memory utilization is"
            rf" \({_NUMBER}, {_NUMBER} GiB\)",
            lambda m: {
                "free_at_start_gib": _number(m[1]),
                "total_gib": _number(m[2]),
                "utilization": _number(m[3]),
                "requested_gib": _number(m[4]),
            },
        ),
        (
            rf"Actual usage is {_NUMBER} GiB for weight, {_NUMBER} GiB for peak activation, {_NUMBER} GiB for non-torch memory,"
            rf" and {_NUMBER} GiB for CUDAGraph memory",
            _usage,
        ),
        (
            rf"Actual usage is {_NUMBER} GiB for consumed memory \(weights \+ non-torch\), {_NUMBER} GiB for peak activation,"
            rf" and {_NUMBER} GiB for CUDAGraph memory",
            _consumed,
        ),
        (
            rf"Initial free memory: {_NUMBER} GiB; Requested memory: {_NUMBER} \(util\), {_NUMBER} GiB",
            lambda m: {
                "free_at_start_gib": _number(m[1]),
                "utilization": _number(m[2]),
                "requested_gib": _number(m[3]),
            },
        ),
        # Refusals.
        (
            rf"Free memory on device(?: \w+:?\d*)? \({_NUMBER}/{_NUMBER} GiB\) on startup is less than desired GPU memory"
            rf" utilization \({_NUMBER}, {_NUMBER} GiB\)",
            lambda m: {
                "free_at_start_gib": _number(m[1]),
                "total_gib": _number(m[2]),
                "utilization": _number(m[3]),
                "requested_gib": _number(m[4]),
                "outcome": "refused_free_memory",
            },
        ),
        (
            rf"To serve at least one request with the models?(?:'s)? max seq len \({_COUNT}\), \(?{_NUMBER} GiB KV cache is"
            rf" needed, which is larger than the available KV cache memory \({_NUMBER} GiB\)",
            _too_long,
        ),
        (rf"estimated maximum model length is {_COUNT}", _one("estimated_max_len", _whole)),
        (
            rf"model's max seq len \({_COUNT}\) is larger than the maximum number of tokens that can be stored in KV cache"
            rf" \({_COUNT}\)",
            lambda m: {"max_model_len": _whole(m[1]), "kv_tokens": _whole(m[2]), "outcome": "refused_kv"},
        ),
        (r"No available memory for the cache blocks", lambda m: {"outcome": "no_memory"}),
        # Out of memory, CUDA and HIP, newer and older wording.
        (rf"(?:CUDA|HIP) out of memory\. Tried to allocate {_SIZE}", _oom),
        (
            rf"GPU \d+ has a total capacit?y? of {_SIZE} of which {_SIZE} is free",
            lambda m: {"oom_total_gib": _gib(m[1], m[2]), "oom_free_gib": _gib(m[3], m[4])},
        ),
        (
            rf"\(GPU \d+; {_SIZE} total capacity; {_SIZE} already allocated; {_SIZE} free",
            lambda m: {
                "oom_total_gib": _gib(m[1], m[2]),
                "oom_in_use_gib": _gib(m[3], m[4]),
                "oom_free_gib": _gib(m[5], m[6]),
            },
        ),
        (rf"this process has {_SIZE} memory in use", lambda m: {"oom_in_use_gib": _gib(m[1], m[2])}),
        (r"(?:CUDA|HIP) error: out of memory", lambda m: {"outcome": "oom"}),
        (r"(?:CUDA|HIP) out of memory occurred when warming up (?:sampler|pooler)", lambda m: {"outcome": "oom_warmup"}),
        # What was asked for.
        (r"Initializing an? (?:(V[01]) )?LLM engine \(v([^)\s]+)\)", lambda m: {"engine": m[1] or "V0", "release": m[2]}),
        (r"vLLM API server version v?(\d[\w.+]*)", lambda m: {"release": m[1]}),
        (r"with config: model='?([^',\s]+)", lambda m: {"model": m[1]}),
        (r"max_seq_len=(\d+)", _one("max_model_len", _whole)),
        (r"Using max model len (\d+)", _one("max_model_len", _whole)),
        (r"dtype=torch\.(\w+)", lambda m: {"dtype": m[1]}),
        (r"[ ,]tensor_parallel_size=(\d+)", _one("tensor_parallel_size", _whole)),
        (r"[ ,]pipeline_parallel_size=(\d+)", _one("pipeline_parallel_size", _whole)),
        (r"[ ,]quantization=(\w[\w-]*)", lambda m: {} if m[1] == "None" else {"quantization": m[1]}),
        (r"[ ,]enforce_eager=(True|False)", lambda m: {"enforce_eager": m[1] == "True"}),
        (r"[ ,]kv_cache_dtype='?(\w+)", lambda m: {"kv_cache_dtype": m[1]}),
        (r"max_num_batched_tokens=(\d+)", _one("max_num_batched_tokens", _whole)),
        (r"max_num_seqs'?[=:] ?(\d+)", _one("max_num_seqs", _whole)),
        # How far it came.
        (r"Application startup complete", lambda m: {"outcome": "starts"}),
        (r"init engine \(profile, create kv cache, warmup model\) took", lambda m: {"outcome": "starts"}),
    )
)

_ARGUMENTS = re.compile(r"non-default args: ?\{")
_START = re.compile(r"vLLM API server version|non-default args:|Initializing an? (?:V[01] )?LLM engine")

_MOST = frozenset(
    {"weights_gib", "non_torch_gib", "activation_peak_gib", "consumed_gib", "cudagraph_gib", "cudagraph_estimate_gib"}
)
"""Of several ranks the largest counts; of pools, blocks and free memory the smallest."""
_LEAST = frozenset({"kv_available_gib", "gpu_blocks", "kv_tokens", "free_at_start_gib", "max_concurrency"})

_PHASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("serving", ("starts",)),
    ("graph capture", ("kv_tokens", "gpu_blocks", "max_concurrency", "kv_available_gib")),
    ("profiling", ("weights_gib",)),
)


def read_log(text: str) -> StartupLog:
    """The last start in a log that measured something or failed; an empty :class:`StartupLog` when there is none."""
    starts = list(read_starts(text))
    return next((log for log in reversed(starts) if log.measured_anything), starts[-1] if starts else StartupLog())


def read_starts(text: str) -> Iterator[StartupLog]:
    """Every start in a log, in order."""
    clean = _ANSI.sub("", text[-LONGEST:])
    events = sorted(_events(clean), key=lambda event: event[0])
    record = _Record()
    for position, found in events:
        if "start" in found:
            if record.has_figures:
                yield record.finish(clean)
                record = _Record()
            continue
        record.add(position, found)
    yield record.finish(clean)


def _events(text: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    for match in _START.finditer(text):
        yield match.start(), {"start": True}
    for pattern, reader in _PATTERNS:
        for match in pattern.finditer(text):
            yield match.start(), reader(match)
    for match in _ARGUMENTS.finditer(text):
        arguments = _literal(text, match.end() - 1)
        if arguments:
            yield match.start(), {"arguments": arguments}


def _literal(text: str, start: int) -> Mapping[str, object]:
    """A printed dictionary, read as a literal; empty when it holds anything else."""
    line = text[start : start + _LONGEST_DICT].split("\n", 1)[0]
    end = line.rfind("}")
    try:
        value = ast.literal_eval(line[: end + 1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else {}


class _Record:
    """Figures of one start while they are gathered."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.outcome: Any = ""
        self.phase = ""
        self.at = 0

    @property
    def has_figures(self) -> bool:
        return bool(self.outcome) or "weights_gib" in self.values or "kv_available_gib" in self.values

    def add(self, position: int, found: Mapping[str, Any]) -> None:
        for name, value in found.items():
            if name == "outcome":
                self._ended(str(value), position)
            elif name in _MOST and isinstance(self.values.get(name), (int, float)):
                self.values[name] = max(self.values[name], value)
            elif name in _LEAST and isinstance(self.values.get(name), (int, float)):
                self.values[name] = min(self.values[name], value)
            else:
                self.values[name] = value

    def _ended(self, kind: str, position: int) -> None:
        """The first failure explains the rest; a start that comes later than a failure of a rank is none."""
        if self.outcome and self.outcome != "starts":
            return
        if kind == "starts":
            self.outcome, self.phase = "starts", ""
        elif kind == "oom":
            self.phase = self._reached()
            self.outcome = {"serving": "oom_runtime", "weight loading": "oom_load"}.get(self.phase, "oom_profile")
            self.at = position
        elif kind == "oom_warmup":
            self.outcome, self.phase, self.at = "oom_profile", "sampler warm-up", position
        elif kind == "no_memory":
            self.outcome, self.phase, self.at = "oom_profile", "KV sizing", position
        elif self.outcome != "starts":
            self.outcome, self.at = kind, position
            self.phase = "start check" if kind == "refused_free_memory" else "KV sizing"

    def _reached(self) -> str:
        if self.outcome == "starts":
            return "serving"
        for phase, marks in _PHASES:
            if any(mark in self.values for mark in marks):
                return phase
        return "weight loading"

    def finish(self, text: str) -> StartupLog:
        reason = ""
        if self.outcome not in ("", "starts"):
            reason = " ".join(text[self.at : self.at + 400].split("\n", 1)[0].split())[:300]
        names = {f.name for f in fields(StartupLog)}
        values = {name: value for name, value in self.values.items() if name in names}
        log = StartupLog(**values, outcome=self.outcome or "unknown", phase=self.phase, reason=reason)
        return _completed(log)


def _completed(log: StartupLog) -> StartupLog:
    """Take over what the printed arguments say and the configuration line does not."""
    arguments = log.arguments
    model = arguments.get("model") or arguments.get("model_tag")
    utilization = arguments.get("gpu_memory_utilization")
    sequences = arguments.get("max_num_seqs")
    return replace(
        log,
        model=str(model) if isinstance(model, str) else log.model,
        utilization=log.utilization if log.utilization is not None else _float(utilization),
        max_num_seqs=log.max_num_seqs if log.max_num_seqs is not None else _int(sequences),
    )


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
