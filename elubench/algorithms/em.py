"""EM: the next iterate is the EM step (equations 4 and 5 of the paper; B and C for other models)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from elubench.algorithms.base import Algorithm, Goal, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept
from elubench.kernels.vectors import copy
from elubench.models.flatness import Flatness


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    copy(answers.em[0], points[0])
    copy(answers.em[0], iterate)
    accept(report, 1.0)


@dataclass(frozen=True)
class EM(Algorithm):
    """Expectation-maximisation. It never raises the loss."""

    update = staticmethod(_update)
    command = "em"
    look = Look("#0173b2", "o", "-", 1.8, place=0)
    endless = 1.3  # with the run that finds the radius

    def expected_passes(self, goal: Goal) -> float:
        if goal.to_the_end:
            return super().expected_passes(goal)
        return min(iterations(goal.flatness, goal.target, goal.start), float(goal.max_iter))

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
        if flatness.alpha == 0.0:
            return "logarithm", flatness.location_n / math.log1p(-flatness.kappa)
        return "power", flatness.iterations_n


# At infinite n a step multiplies theta by 1 - kappa |theta|^alpha, to leading order. Put
# z = |theta|^(-alpha): then z grows by alpha kappa per step, whatever theta is. With alpha = 0 steps are
# geometric.


def norm_at(flatness: Flatness, t: float, start: float = math.inf) -> float:
    """|theta_t| at infinite n to leading order: `(start^-alpha + alpha kappa t)^(-1/alpha)`."""
    alpha, _, kappa = flatness
    if alpha == 0.0:
        return float(start * (1.0 - kappa) ** t)
    return float((start**-alpha + alpha * kappa * t) ** (-1.0 / alpha))


def iterations(flatness: Flatness, target: float, start: float) -> float:
    """From start to target: `(target^-alpha - start^-alpha) / (alpha kappa)`, inf beyond float64."""
    alpha, _, kappa = flatness
    if alpha == 0.0:
        return max(0.0, math.log(target / start) / math.log1p(-kappa))
    try:
        reached = math.pow(target, -alpha)
    except OverflowError:
        return math.inf
    return max(0.0, (reached - math.pow(start, -alpha)) / (alpha * kappa))
