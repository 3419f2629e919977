"""Gradient descent with Polyak's step, which depends on the loss that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.gradient_descent import descend
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, accept, finish, stay
from elubench.kernels.vectors import copy, norm


@kernel("exact", signatures.UPDATE)
def update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: short, eta, optimum. Steps of size eta, as many as short, before each one of Polyak's."""
    gradient = answers.gradient[0]
    left = answers.gap[0] - own.options[2]
    square = norm(gradient) ** 2
    if left <= 0.0 or square == 0.0:
        stay(report, 0.0)
        finish(report)
        return
    cycle = int(own.options[0]) + 1
    step = left / square if own.t % cycle == cycle - 1 else own.options[1]
    descend(points[0], gradient, step)
    copy(points[0], iterate)
    accept(report, step)


@dataclass(frozen=True)
class Polyak(Algorithm):
    """Gradient descent on the restricted loss with the step (f - f*) / |gradient|^2.

    B. T. Polyak, Minimization of unsmooth functionals, USSR Computational Mathematics and
    Mathematical Physics 9 (1969), 14-29. The optimum f* is taken to be the loss of the one-Gaussian
    fit plus ``optimum``: right to O(1/n) for data from one Gaussian, too high otherwise. The run
    converges when the loss is no longer above it. Not monotone: where f is not convex a step may be
    too long.

    Parameters
    ----------
    optimum : f* less the loss of the one-Gaussian fit.
    """

    optimum: float = 0.0
    update = staticmethod(update)
    command = "polyak"
    look = Look("#868686", "<", (0.0, (1.0, 1.0)), place=7)
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.real(self.optimum, "optimum")

    def options(self, rows: float = 1.0) -> Floats:
        return np.array([0.0, 0.0, self.optimum])
