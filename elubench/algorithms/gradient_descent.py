"""Gradient descent on the restricted loss, with a constant step or one that grows geometrically."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms import em
from elubench.algorithms.base import Algorithm, Goal, Look
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept
from elubench.kernels.vectors import copy
from elubench.models.base import Model


@kernel("exact")
def next_step(options: Any, state: Any, t: int) -> float:
    """eta / beta^t, by one division per iteration."""
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


@kernel("exact", signatures.UPDATE)
def update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """A gradient step of size eta / beta^t; options: eta, beta."""
    step = next_step(own.options, own.state, own.t)
    descend(points[0], answers.gradient[0], step)
    copy(points[0], iterate)
    accept(report, step)


@dataclass(frozen=True)
class GradientDescent(Algorithm):
    """Gradient descent on the restricted loss with a constant step: ELU at beta = 1.

    Not monotone where the step exceeds twice the inverse curvature.

    Parameters
    ----------
    eta : step size, > 0. By default the first step of ELU for the model.
    """

    eta: float | None = None
    update = staticmethod(update)
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

    def options(self, rows: float = 1.0) -> Floats:
        return np.array([self.eta, 1.0], dtype=np.float64)

    def state_size(self, p: int) -> int:
        return 1
