"""The runtime term: what a launch needs besides weights and cache, as intervals fitted to measured start-ups."""

from __future__ import annotations

from lint_vllm.budget import framework, graphs, load_peak
from lint_vllm.budget.activations import activations
from lint_vllm.budget.coefficients import coefficients, gib
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.quantity import Quantity
from lint_vllm.frozen import dataclass

_NOTHING = Quantity.exact(0)


@dataclass(frozen=True, slots=True)
class RuntimeEstimate:
    """Bytes per GPU.

    ``activations``, ``framework`` and ``margin`` always come out of the share. ``cuda_graphs`` comes out of the share
    when ``graphs_inside``; else it is captured after the pool is sized and must fit beside the share:
    total - share - ``outside`` - what other processes hold. ``load_peak`` is what loading needs *beside* the weights that stay,
    CUDA context included: weights + load_peak is judged against the whole card.
    """

    activations: Quantity
    cuda_graphs: Quantity
    framework: Quantity
    margin: Quantity
    load_peak: Quantity
    graphs_inside: bool
    outside: Quantity = _NOTHING
    """What the process holds beside the share in any case: CUDA context, and communicators made before the snapshot."""

    @property
    def in_share(self) -> Quantity:
        """The part of the share that is neither weights nor cache, ends as fitted (they do not simply add up)."""
        parts = [self.activations, self.framework, self.margin]
        if self.graphs_inside:
            parts.append(self.cuda_graphs)
        return combined(parts)


def estimate(config: EngineConfig, weights: Quantity | None = None) -> RuntimeEstimate:
    """The runtime term of one launch. ``weights`` (bytes per GPU that stay) sharpens the loading peak."""
    return RuntimeEstimate(
        activations=activations(config),
        cuda_graphs=graphs.captured(config),
        framework=framework.framework(config),
        margin=gib("margin", "gib"),
        load_peak=load_peak.while_loading(config, weights),
        graphs_inside=graphs.inside_share(config),
        outside=framework.outside(config),
    )


def combined(parts: list[Quantity]) -> Quantity:
    """The sum of independent items: likely values add up, spreads add in quadrature (they rarely all go one way).

    The sum is as wide as on machines that no coefficient has seen, which is wider than the parts' own ranges say.
    """
    factor = float(coefficients()["spread"]["factor"])
    likely = sum(part.likely for part in parts)
    down = factor * sum((part.likely - part.low) ** 2 for part in parts) ** 0.5
    up = factor * sum((part.high - part.likely) ** 2 for part in parts) ** 0.5
    return Quantity(min(likely, max(0.0, likely - down)), likely, likely + up)
