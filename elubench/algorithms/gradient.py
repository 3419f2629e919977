"""Gradient descent with other steps: by the loss that is left (Polyak), or of a given length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.elu import descend, next_step
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, accept, finish, stay
from elubench.kernels.vectors import copy, norm


@kernel("exact", signatures.UPDATE)
def _polyak(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    options = own.options
    gradient, gap = answers.gradient, answers.gap
    left = gap[0] - options[0]
    square = norm(gradient[0]) ** 2
    if left <= 0.0 or square == 0.0:
        stay(report, 0.0)
        finish(report)
        return
    step = left / square
    descend(points[0], gradient[0], step)
    copy(points[0], iterate)
    accept(report, step)


@dataclass(frozen=True)
class Polyak(Algorithm):
    """Gradient descent on the restricted loss with the step (f - f*) / |gradient|^2.

    B. T. Polyak, Minimization of unsmooth functionals, USSR Computational Mathematics and
    Mathematical Physics 9 (1969), 14-29. The optimum f* is taken to be the loss of the one-Gaussian
    fit plus ``optimum``: right to O(1/n) when the data are from one Gaussian, too high when they are
    not. The run ends, converged, when the loss is no longer above it. Not monotone: where f is not
    convex a step may be too long.

    Parameters
    ----------
    optimum : f* less the loss of the one-Gaussian fit.
    """

    optimum: float = 0.0
    update = staticmethod(_polyak)
    command = "polyak"
    look = Look("#868686", "<", (0.0, (1.0, 1.0)), place=7)
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.real(self.optimum, "optimum")


@kernel("exact", signatures.UPDATE)
def _normalized(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """next_step divides by options[1]: here 1 / beta, so the length shrinks."""
    options, state, t = own.options, own.state, own.t
    gradient = answers.gradient
    length = next_step(options, state, t)
    size = norm(gradient[0])
    if size == 0.0:
        stay(report, 0.0)
        finish(report)
        return
    descend(points[0], gradient[0], length / size)
    copy(points[0], iterate)
    accept(report, length)


@dataclass(frozen=True)
class NormalizedGD(Algorithm):
    """Steps of length eta beta^t down the restricted loss.

    J.-L. Goffin, On convergence rates of subgradient optimization methods, Mathematical Programming
    13 (1977), 329-347, for lengths that shrink geometrically. The sum of all steps, eta / (1 - beta),
    must cover the way; lengths are in the units of the data. Not monotone: a step is as long as it is
    told to be, however close the minimum.

    Parameters
    ----------
    eta : first length, > 0.
    beta : factor from one length to the next, in (0, 1].
    """

    eta: float = 0.1
    beta: float = 0.9
    update = staticmethod(_normalized)
    command = "normalized-gd"
    look = Look("#5d3a9b", ">", (0.0, (1.0, 1.0)), place=8)
    typical_passes = 100.0
    endless = 1.0

    def __post_init__(self) -> None:
        checks.real(self.eta, "eta", above=0.0)
        checks.real(self.beta, "beta", 0.0, 1.0, closed="below")

    def options(self, weight: float = 1.0) -> Any:
        return np.array([self.eta, 1.0 / self.beta])

    def state_size(self, p: int) -> int:
        return 1
