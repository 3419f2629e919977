"""ELU: gradient descent on the restricted loss with the step eta / beta^t, t = 0, 1, ...

Algorithms 1, 2 and 3 of the paper, which differ only in the model. (The printed loops start at t = 1,
the text at t = 0, with the same step; the latter is used here. It is a shift by one iteration.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from elubench import checks
from elubench.algorithms.base import Algorithm, Goal, Look
from elubench.algorithms.gradient_descent import next_step, update
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept
from elubench.kernels.vectors import copy
from elubench.models.base import Model
from elubench.models.flatness import Flatness


@kernel("exact")
def descend_centred(point: Any, em: Any, gradient: Any, step: float) -> None:
    """The half sum takes the EM step; the half difference moves as it does in Algorithm 3.

    What comes after the locations takes the EM step, too.
    """
    d = point.size // 2
    for j in range(2 * d, point.size):
        point[j] = em[j]
    for j in range(d):
        m = 0.5 * (em[j] + em[d + j])
        delta = 0.5 * (point[d + j] - point[j]) - step * 0.5 * (gradient[d + j] - gradient[j])
        point[j] = m - delta
        point[d + j] = m + delta


@kernel("exact", signatures.UPDATE)
def _update_centred(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    step = next_step(own.options, own.state, own.t)
    descend_centred(points[0], answers.em[0], answers.gradient[0], step)
    copy(points[0], iterate)
    accept(report, step)


@dataclass(frozen=True)
class ELU(Algorithm):
    """Exponential location update, as printed.

    Not monotone: once the step exceeds what the curvature allows, the loss rises and the run diverges.

    Parameters
    ----------
    eta : first step size, > 0. By default the paper's: 0.01 (isotropic), 1 (other models).
    beta : the step grows by 1 / beta per iteration; in (0, 1]. By default 0.8 (isotropic), 0.9.
    """

    eta: float | None = None
    beta: float | None = None
    update = staticmethod(update)
    command = "elu"
    look = Look("#de8f05", "s", "-", 1.8, place=1)
    diverges = True

    def __post_init__(self) -> None:
        if self.eta is not None:
            checks.real(self.eta, "eta", above=0.0)
        if self.beta is not None:
            checks.real(self.beta, "beta", 0.0, 1.0, closed="below")

    def expected_passes(self, goal: Goal) -> float:
        if self.eta is None or self.beta is None or self.beta >= 1.0 or not goal.flatness.alpha:
            return float(goal.max_iter)
        needed = iterations(goal.flatness, goal.target, self.eta, self.beta)
        if goal.to_the_end:  # the step outgrows whatever curvature the noise leaves
            needed = 1.5 * needed + 40.0
        return min(needed, float(goal.max_iter))

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
        if flatness.alpha == 0.0:  # strongly convex: the growing step diverges
            return "", math.nan
        if self.beta is None or self.beta >= 1.0:
            return "logarithm", math.nan
        return "logarithm", flatness.iterations_n / math.log(1.0 / self.beta)

    def resolve(self, model: Model) -> ELU:
        super().resolve(model)
        eta, beta = model.elu_defaults
        return replace(
            self,
            eta=eta if self.eta is None else self.eta,
            beta=beta if self.beta is None else self.beta,
        )

    def state_size(self, p: int) -> int:
        return 1


@dataclass(frozen=True)
class CentredELU(ELU):
    """ELU for general locations, repaired: only the half difference moves by the growing step.

    The loss is strongly convex along the half sum of the locations, where an ever-growing step must
    diverge; here the half sum takes EM's step. Not monotone, like ELU.
    """

    update = staticmethod(_update_centred)
    needs = frozenset({"half sum"})
    command = "centred-elu"
    look = Look("#cc78bc", "p", (0.0, (6.0, 1.2)), 1.8, place=2)


# At infinite n theta is multiplied by 1 - x_t with x_t = eta kappa beta^(-t) |theta_t|^alpha, and
# x_(t+1) = x_t (1 - x_t)^alpha / beta. The fixed point of this map is x* = 1 - beta^(1/alpha).


def norm_at(flatness: Flatness, t: float, eta: float, beta: float) -> float:
    """|theta_t| at infinite n: `((1 - beta^(1/alpha)) beta^t / (eta kappa))^(1/alpha)`.

    `t` is the exponent in the step `eta / beta^t` that is about to be taken.
    """
    alpha, _, kappa = flatness
    return float(((1.0 - beta ** (1.0 / alpha)) * beta**t / (eta * kappa)) ** (1.0 / alpha))


def iterations(flatness: Flatness, target: float, eta: float, beta: float) -> float:
    """The t with `norm_at(t) = target`, which does not depend on a start that is above this curve."""
    ratio = norm_at(flatness, 0.0, eta, beta) / target
    return max(0.0, flatness.alpha * math.log(ratio) / math.log(1.0 / beta))
