"""ELU: gradient descent on the restricted loss with the step eta / beta^t, t = 0, 1, ...

Algorithms 1, 2 and 3 of the paper, which differ in the model only. (Their loops are printed from
t = 1 on, the text has the same step from t = 0 on; the latter is used here: a shift by one iteration.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from elubench import checks
from elubench.algorithms import em
from elubench.algorithms.base import Algorithm, Goal, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept
from elubench.kernels.vectors import copy
from elubench.models.base import Model
from elubench.models.flatness import Flatness


@kernel("exact")
def next_step(options: Any, state: Any, t: int) -> float:
    """eta / beta^t, by one division an iteration."""
    if t == 0:
        state[0] = options[0]
    step = state[0]
    state[0] = step / options[1]
    return step


@kernel("exact")
def descend(point: Any, gradient: Any, step: float) -> None:
    """One gradient step, in place."""
    for j in range(point.size):
        point[j] -= step * gradient[j]


@kernel("exact")
def descend_centred(point: Any, em: Any, gradient: Any, step: float) -> None:
    """The half sum takes the EM step; the half difference moves as it does in Algorithm 3."""
    d = point.size // 2
    for j in range(d):
        m = 0.5 * (em[j] + em[d + j])
        delta = 0.5 * (point[d + j] - point[j]) - step * 0.5 * (gradient[d + j] - gradient[j])
        point[j] = m - delta
        point[d + j] = m + delta


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    options, state, t = own.options, own.state, own.t
    gradient = answers.gradient
    step = next_step(options, state, t)
    descend(points[0], gradient[0], step)
    copy(points[0], iterate)
    accept(report, step)


@kernel("exact", signatures.UPDATE)
def _update_centred(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    options, state, t = own.options, own.state, own.t
    em, gradient = answers.em, answers.gradient
    step = next_step(options, state, t)
    descend_centred(points[0], em[0], gradient[0], step)
    copy(points[0], iterate)
    accept(report, step)


@dataclass(frozen=True)
class ELU(Algorithm):
    """Exponential location update, as printed.

    Not monotone: once the step has outgrown the curvature the loss rises, and the run diverges.

    Parameters
    ----------
    eta : first step size, > 0. By default the paper's: 0.01 (isotropic), 1 (other models).
    beta : the step grows by 1 / beta an iteration; in (0, 1]. By default 0.8 (isotropic), 0.9.
    """

    eta: float | None = None
    beta: float | None = None
    update = staticmethod(_update)
    command = "elu"
    look = Look("#de8f05", "s", "-", 1.8, place=1)

    def __post_init__(self) -> None:
        if self.eta is not None:
            checks.real(self.eta, "eta", above=0.0)
        if self.beta is not None:
            checks.real(self.beta, "beta", 0.0, 1.0, closed="below")

    def expected_passes(self, goal: Goal) -> float:
        if self.eta is None or self.beta is None or self.beta >= 1.0:
            return float(goal.max_iter)
        needed = iterations(goal.flatness, goal.target, self.eta, self.beta)
        if goal.to_the_end:  # the step outgrows whatever curvature the noise leaves
            needed = 1.5 * needed + 40.0
        return min(needed, float(goal.max_iter))

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
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
    """ELU for general locations, repaired: the growing step moves the half difference only.

    The half sum of the locations is a strongly convex direction, along which a step that grows for
    ever must blow up; here it takes EM's step. Not monotone, like ELU.
    """

    update = staticmethod(_update_centred)
    needs = frozenset({"half sum"})
    command = "centred-elu"
    look = Look("#cc78bc", "p", (0.0, (6.0, 1.2)), 1.8, place=2)


# At infinite n theta is multiplied by 1 - x_t with x_t = eta kappa beta^(-t) |theta_t|^alpha, and
# x_(t+1) = x_t (1 - x_t)^alpha / beta. The fixed point of this map is x* = 1 - beta^(1/alpha).


def norm(flatness: Flatness, t: float, eta: float, beta: float) -> float:
    """|theta_t| at infinite n: `((1 - beta^(1/alpha)) beta^t / (eta kappa))^(1/alpha)`.

    `t` is the exponent in the step `eta / beta^t` that is about to be taken.
    """
    alpha, _, kappa = flatness
    return float(((1.0 - beta ** (1.0 / alpha)) * beta**t / (eta * kappa)) ** (1.0 / alpha))


def iterations(flatness: Flatness, target: float, eta: float, beta: float) -> float:
    """The t with `norm(t) = target`, which does not depend on a start that is above this curve."""
    ratio = norm(flatness, 0.0, eta, beta) / target
    return max(0.0, flatness.alpha * math.log(ratio) / math.log(1.0 / beta))


@dataclass(frozen=True)
class GradientDescent(Algorithm):
    """Gradient descent on the restricted loss with a constant step: ELU at beta = 1.

    Not monotone where the step exceeds twice the inverse curvature.

    Parameters
    ----------
    eta : step size, > 0. By default the first step of ELU for the model.
    """

    eta: float | None = None
    update = staticmethod(_update)
    command = "gradient-descent"
    look = Look("#6b6b00", "X", (0.0, (4.0, 3.0)), place=10)
    endless = 1.3  # with the run that finds the radius

    def expected_passes(self, goal: Goal) -> float:
        if goal.to_the_end:
            return super().expected_passes(goal)
        needed = em.iterations(goal.flatness, goal.target, goal.start) / (self.eta or 1.0)
        return min(needed, float(goal.max_iter))

    def __post_init__(self) -> None:
        if self.eta is not None:
            checks.real(self.eta, "eta", above=0.0)

    def resolve(self, model: Model) -> GradientDescent:
        super().resolve(model)
        return replace(self, eta=model.elu_defaults[0] if self.eta is None else self.eta)

    def options(self, weight: float = 1.0) -> Any:
        return ELU(self.eta, 1.0).options()

    def state_size(self, p: int) -> int:
        return 1
