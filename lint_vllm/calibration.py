"""What a user's own start-up logs measured, kept beside the settings and preferred over fitted figures.

``lint-vllm log FILE --save`` writes entries into ``.lint-vllm-calibration.json``. The same launch on the same card then uses
the measured items; another launch on that rig keeps its own formula, shifted by how far the rig was off.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.runtime import RuntimeEstimate
from lint_vllm.facts import version_key
from lint_vllm.facts.card import Card
from lint_vllm.frozen import dataclass
from lint_vllm.log import StartupLog
from lint_vllm.settings import CALIBRATION_NAME, SettingsError

FILE_NAME = CALIBRATION_NAME
_FORMAT = 1

_REPEAT = 0.1 * GIB
"""The same launch on the same rig comes out up to 0.1 GiB apart."""
_SCATTER = 0.2 * GIB
"""How far two launches of one rig differ in what the formula misses, where it misses little."""
_SAME_TOTAL = 0.3 * GIB
"""Drivers move a card's total by up to 0.15 GiB; two kinds of card differ by more."""


class CalibrationError(SettingsError):
    """A calibration file that cannot be read or written; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One measured start: the launch as far as its size depends on it, and the figures, GiB a GPU."""

    model: str | None
    total_gib: float
    release: str
    source: str
    """The log's file name."""
    card: str | None = None
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    quantization: str | None = None
    dtype: str | None = None
    enforce_eager: bool = False
    cpu_offload_gb: float = 0.0
    draft: str | None = None
    """Method of speculative decoding."""
    lora: bool = False
    utilization: float | None = None
    weights_gib: float | None = None
    activations_gib: float | None = None
    framework_gib: float | None = None
    graphs_gib: float | None = None
    """What came out of the share for graphs, or what capturing took beside it."""
    runtime_gib: float | None = None
    """Share less weights less pool."""
    kv_available_gib: float | None = None
    predicted_runtime_gib: float | None = None
    """What the engine expected for that start without calibration."""

    @property
    def origin(self) -> str:
        return f"measured on this rig ({self.source})"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Figures to use in place of the engine's own. ``runtime`` holds what measured weights differ from the formula."""

    runtime: RuntimeEstimate
    total: Quantity
    origin: str
    same_launch: bool


def entry(log: StartupLog, config: EngineConfig, estimate: RuntimeEstimate, source: str) -> Calibration | None:
    """The entry of a log; ``None`` when it lacks the card's total or the pool, which everything else hangs on."""
    total = log.total_gib or (config.card.total.likely / GIB if config.card is not None and config.card.total.is_exact else None)
    share = log.share_gib if log.share_gib is not None else (total * config.utilization if total is not None else None)
    if total is None or share is None or log.kv_available_gib is None:
        return None
    weights = log.weights_gib
    graphs = log.cudagraph_estimate_gib if log.estimate_applied else log.cudagraph_gib
    return Calibration(
        model=config.model.id,
        total_gib=round(total, 2),
        release=log.release or config.release,
        source=source,
        card=config.card.name if config.card is not None else None,
        tensor_parallel_size=config.tensor_parallel_size,
        pipeline_parallel_size=config.pipeline_parallel_size,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        quantization=config.quantization,
        dtype=config.dtype,
        enforce_eager=config.enforce_eager,
        cpu_offload_gb=config.cpu_offload_gb,
        draft=_draft(config),
        lora=config.lora is not None,
        utilization=config.utilization,
        weights_gib=weights,
        activations_gib=log.activations_gib,
        framework_gib=log.framework_gib,
        graphs_gib=graphs,
        runtime_gib=None if weights is None else round(share - weights - log.kv_available_gib, 3),
        kv_available_gib=log.kv_available_gib,
        predicted_runtime_gib=round(estimate.in_share.likely / GIB, 3),
    )


def _draft(config: EngineConfig) -> str | None:
    return config.speculative.method if config.speculative is not None else None


def match(config: EngineConfig, calibrations: Sequence[Calibration]) -> Calibration | None:
    """The entry nearest to a launch: same card and release generation; then same ranks, model and batch; latest first."""
    fitting = [c for c in calibrations if _same_rig(config, c)]
    return max(fitting, key=lambda c: _likeness(config, c), default=None)


def _same_rig(config: EngineConfig, known: Calibration) -> bool:
    card = config.card
    if card is None or version_key(known.release)[:2] != version_key(config.release)[:2]:
        return False
    if known.release != config.release and ".dev" in known.release + config.release:
        return False  # two development builds of one number measure differently
    total = known.total_gib * GIB
    if not card.total.low - _SAME_TOTAL <= total <= card.total.high + _SAME_TOTAL:
        return False
    return known.card is None or card.members != () or not _named(card) or known.card == card.name


def _named(card: Card) -> bool:
    return card.capability is not None


def _likeness(config: EngineConfig, known: Calibration) -> tuple[bool, bool, bool, bool]:
    same_ranks = (known.tensor_parallel_size, known.pipeline_parallel_size) == (
        config.tensor_parallel_size,
        config.pipeline_parallel_size,
    )
    return (
        same_ranks,
        known.model == config.model.id and known.quantization == config.quantization,
        known.max_num_seqs == config.max_num_seqs,
        known.max_num_batched_tokens == config.max_num_batched_tokens,
    )


def apply(config: EngineConfig, estimate: RuntimeEstimate, known: Calibration, weights: Quantity | None = None) -> Calibrated:
    """The estimate of a launch corrected by what its rig measured; ``weights`` are the bytes that the formula gives."""
    ranks, model, sequences, tokens = _likeness(config, known)
    loaded = (
        ranks
        and model
        and (known.dtype, known.cpu_offload_gb, known.draft, known.lora)
        == (
            config.dtype,
            config.cpu_offload_gb,
            _draft(config),
            config.lora is not None,
        )
    )
    same = loaded and sequences and tokens and known.enforce_eager == config.enforce_eager
    runtime = _measured(estimate, known) if same else _shifted(estimate, known)
    if loaded and weights is not None and known.weights_gib is not None:
        runtime = replace(runtime, margin=runtime.margin + Quantity.exact(known.weights_gib * GIB - weights.likely))
    return Calibrated(runtime, Quantity.exact(known.total_gib * GIB), known.origin, same)


def _measured(estimate: RuntimeEstimate, known: Calibration) -> RuntimeEstimate:
    """The measured items. Their sum is what the pool showed: a printed peak may hold the graphs, or not."""
    framework = _about(known.framework_gib)
    if framework is None or known.activations_gib is None:
        return _shifted(estimate, known, _REPEAT)
    graphs = _about(known.graphs_gib) or estimate.cuda_graphs
    peak = known.activations_gib * GIB
    if known.runtime_gib is not None:
        peak = max(0.0, known.runtime_gib * GIB - framework.likely - (graphs.likely if estimate.graphs_inside else 0.0))
    return replace(estimate, activations=Quantity.exact(peak), framework=framework, cuda_graphs=graphs, margin=Quantity.exact(0))


def _shifted(estimate: RuntimeEstimate, known: Calibration, spread: float | None = None) -> RuntimeEstimate:
    """All of the rig's difference goes to the framework; what is left uncertain is the formula of another launch."""
    if known.runtime_gib is None or known.predicted_runtime_gib is None:
        return estimate
    shift = (known.runtime_gib - known.predicted_runtime_gib) * GIB
    if spread is None and shift:
        # between launches of one rig: a difference within their scatter says little of the rig
        shift *= shift**2 / (shift**2 + _SCATTER**2)
    framework = max(0.0, estimate.framework.likely + shift)
    rest = min(0.0, estimate.framework.likely + shift)
    width = spread if spread is not None else max(_REPEAT, 0.25 * abs(shift))
    return replace(
        estimate,
        activations=_narrowed(estimate.activations, rest, spread),
        framework=Quantity(max(0.0, framework - width), framework, framework + width),
        margin=Quantity(0.0, 0.0, _REPEAT),
    )


def _narrowed(item: Quantity, shift: float, spread: float | None) -> Quantity:
    likely = max(0.0, item.likely + shift)
    if spread is not None:
        return Quantity.exact(likely)
    return Quantity(max(0.0, likely - (item.likely - item.low) / 2), likely, likely + (item.high - item.likely) / 2)


def _about(gib: float | None) -> Quantity | None:
    return None if gib is None else Quantity(max(0.0, gib * GIB - _REPEAT), gib * GIB, gib * GIB + _REPEAT)


def load(folder: Path | str) -> tuple[Calibration, ...]:
    """The entries that hold in a folder: the nearest calibration file upwards. Raises :class:`CalibrationError`."""
    place = Path(folder).absolute()
    for parent in (place, *place.parents):
        path = parent / FILE_NAME
        if os.path.isfile(path):
            return read(path)
        if os.path.exists(parent / ".git"):
            break
    return ()


def read(path: Path | str) -> tuple[Calibration, ...]:
    """The entries of one file. Raises :class:`CalibrationError`."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CalibrationError(f"{path}: {error}") from None
    if not isinstance(content, dict) or content.get("version") != _FORMAT or not isinstance(content.get("calibrations"), list):
        raise CalibrationError(f"{path}: not a calibration file of version {_FORMAT}")
    return tuple(_entry(item, path) for item in content["calibrations"])


_TEXTS = {"model", "release", "source", "card", "quantization", "dtype", "draft"}
_COUNTS = {"tensor_parallel_size", "pipeline_parallel_size", "max_num_seqs", "max_num_batched_tokens"}


def _entry(item: object, path: Path | str) -> Calibration:
    if not isinstance(item, dict):
        raise CalibrationError(f"{path}: an entry is not an object")
    known = {f.name for f in fields(Calibration)}
    values = {name: value for name, value in item.items() if name in known}
    for name, value in values.items():
        wanted: type | tuple[type, ...] = str if name in _TEXTS else int if name in _COUNTS else (int, float)
        if name in ("enforce_eager", "lora"):
            wanted = bool
        if value is not None and not isinstance(value, wanted):
            raise CalibrationError(f"{path}: {name} is {value!r}")
    try:
        return Calibration(**values)
    except TypeError:
        raise CalibrationError(f"{path}: an entry lacks model, total_gib, release or source") from None


def save(path: Path | str, new: Calibration) -> None:
    """Add an entry, in place of an older one of the same launch. Atomic. Raises :class:`CalibrationError`."""
    target = Path(path)
    kept = [old for old in (read(target) if target.exists() else ()) if not _same_launch(old, new)]
    entries = [{name: value for name, value in asdict(one).items() if value is not None} for one in (*kept, new)]
    text = json.dumps({"version": _FORMAT, "calibrations": entries}, indent=1) + "\n"
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=FILE_NAME)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise CalibrationError(f"{target}: {error}") from None


def _same_launch(one: Calibration, other: Calibration) -> bool:
    def key(c: Calibration) -> tuple[object, ...]:
        return (
            c.model,
            c.card,
            c.total_gib,
            c.release,
            c.tensor_parallel_size,
            c.pipeline_parallel_size,
            c.max_num_seqs,
            c.max_num_batched_tokens,
            c.quantization,
            c.dtype,
            c.enforce_eager,
            c.cpu_offload_gb,
            c.draft,
            c.lora,
        )

    return key(one) == key(other)
