"""Gradient descent with steps of a given length, which shrinks geometrically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.gradient_descent import descend, next_step
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept, finish, stay
from elubench.kernels.vectors import copy, norm


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """next_step divides by options[1]: here 1 / beta, so the length shrinks."""
    gradient = answers.gradient[0]
    length = next_step(own.options, own.state, own.t)
    size = norm(gradient)
    if size == 0.0:
        stay(report, 0.0)
        finish(report)
        return
    descend(points[0], gradient, length / size)
    copy(points[0], iterate)
    accept(report, length)


@dataclass(frozen=True)
class NormalizedGD(Algorithm):
    """Steps of length eta beta^t down the restricted loss.

    J.-L. Goffin, On convergence rates of subgradient optimization methods, Mathematical Programming
    13 (1977), 329-347, for lengths that shrink geometrically. The sum of all steps, eta / (1 - beta),
    must cover the distance; lengths are in the units of the data. This is not :class:`NormGD`, whose
    step depends on the curvature. Not monotone: the length of a step does not depend on how close the
    minimum is.

    Parameters
    ----------
    eta : first length, > 0.
    beta : factor from one length to the next, in (0, 1].
    """

    eta: float = 0.1
    beta: float = 0.9
    update = staticmethod(_update)
    command = "normalized-gd"
    look = Look("#5d3a9b", ">", (0.0, (1.0, 1.0)), place=8)
    typical_passes = 100.0
    endless = 1.0

    def __post_init__(self) -> None:
        checks.real(self.eta, "eta", above=0.0)
        checks.real(self.beta, "beta", 0.0, 1.0, closed="below")

    def options(self, rows: float = 1.0) -> Any:
        return np.array([self.eta, 1.0 / self.beta])

    def state_size(self, p: int) -> int:
        return 1
