"""ELU: gradient descent on the restricted loss with the step eta / beta^t, t = 0, 1, ...

Algorithms 1, 2 and 3 of the paper, which differ in the model only. (Their loops are printed from
t = 1 on, the text has the same step from t = 0 on; the latter is used here: a shift by one iteration.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from elubench import checks
from elubench.algorithms.base import Algorithm
from elubench.kernels import kernel, signatures
from elubench.kernels.vectors import copy
from elubench.models.base import Model


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
def _update(
    options: Any,
    state: Any,
    t: int,
    points: Any,
    em: Any,
    gradient: Any,
    gap: Any,
    hessian: Any,
    iterate: Any,
    report: Any,
) -> None:
    step = next_step(options, state, t)
    descend(points[0], gradient[0], step)
    copy(points[0], iterate)
    report[0], report[1], report[2] = step, 1.0, 0.0


@kernel("exact", signatures.UPDATE)
def _update_centred(
    options: Any,
    state: Any,
    t: int,
    points: Any,
    em: Any,
    gradient: Any,
    gap: Any,
    hessian: Any,
    iterate: Any,
    report: Any,
) -> None:
    step = next_step(options, state, t)
    descend_centred(points[0], em[0], gradient[0], step)
    copy(points[0], iterate)
    report[0], report[1], report[2] = step, 1.0, 0.0


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

    def __post_init__(self) -> None:
        if self.eta is not None:
            checks.real(self.eta, "eta", above=0.0)
        if self.beta is not None:
            checks.real(self.beta, "beta", 0.0, 1.0, closed="below")

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


class StepConditions(NamedTuple):
    """The two conditions of Theorem 1 on the step size, each as value, bound and verdict."""

    growth: float
    growth_needed: float
    growth_ok: bool
    size: float
    size_allowed: float
    size_ok: bool


def step_size_conditions(
    eta: float, beta: float, start: float, d: int, c1: float | None = None
) -> StepConditions:
    """Check Theorem 1's conditions for a start at distance ``start`` from the truth.

        growth:  eta c1 start^alpha beta / ((alpha + 1)(alpha + 2)) + beta^(2/alpha)  >=  1
        size:    eta c1 (alpha + 2) 3^alpha start^alpha                               <=  alpha + 1

    alpha is 6 at d = 1 and 2 at d >= 2. The theorem says of c1 only that it bounds the largest
    eigenvalue of the Hessian by c1 |theta|^alpha; by default it is the least such constant near the
    truth, 14/3 at d = 1 and 3 (1 - 1/d) at d >= 2.
    """
    eta = checks.real(eta, "eta", above=0.0)
    beta = checks.real(beta, "beta", 0.0, 1.0, closed="below")
    start = checks.real(start, "start", above=0.0, closed="above")
    d = checks.integer(d, "d", 1)
    alpha = 6 if d == 1 else 2
    if c1 is None:
        c1 = 14.0 / 3.0 if d == 1 else 3.0 * (1.0 - 1.0 / d)
    c1 = checks.real(c1, "c1", above=0.0)
    power = start**alpha
    growth = eta * c1 * power * beta / ((alpha + 1) * (alpha + 2)) + beta ** (2.0 / alpha)
    size = eta * c1 * (alpha + 2) * 3.0**alpha * power
    return StepConditions(growth, 1.0, growth >= 1.0, size, alpha + 1.0, size <= alpha + 1.0)
