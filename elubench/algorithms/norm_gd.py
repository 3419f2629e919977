"""Gradient descent whose step is the inverse of the largest curvature at the iterate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.gradient_descent import descend
from elubench.algorithms.newton_anderson import eigen
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import CURVATURE, accept, finish, stay
from elubench.kernels.vectors import copy
from elubench.models.flatness import Flatness


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    values, p = answers.hessian[0], iterate.size
    eigen(values, np.empty((p, p)))
    largest, size = -np.inf, 0.0
    for i in range(p):
        largest, size = max(largest, values[i, i]), max(size, abs(values[i, i]))
    if largest <= 0.0:  # concave in every direction, where the paper's step would climb
        largest = size
    if largest == 0.0:
        stay(report, 0.0)
        finish(report)
        return
    step = own.options[0] / largest
    descend(points[0], answers.gradient[0], step)
    copy(points[0], iterate)
    accept(report, step)


@dataclass(frozen=True)
class NormGD(Algorithm):
    """Gradient descent with the step eta / (largest eigenvalue of the Hessian).

    T. Ren, F. Cui, A. Atsidakou, S. Sanghavi and N. Ho, Improving computational complexity in
    statistical models with second-order information, 2022 (arXiv:2202.04219). Where the gradient is of
    order |theta|^(alpha + 1) an iteration multiplies theta by 1 - eta / (alpha + 1), so by 1 - eta/7 at
    d = 1 and by 1 - eta/3 at d >= 2: a multiple of ln n iterations suffices. Where another direction is
    steep, as with general locations, its curvature sets the step, and this is plain gradient descent.
    A pass brings the curvature. :class:`NormalizedGD` is another method. Not monotone.

    Parameters
    ----------
    eta : step size in units of the inverse curvature, > 0. At 1 a quadratic's steepest direction is
        minimised in one step.
    """

    eta: float = 1.0
    update = staticmethod(_update)
    command = "norm-gd"
    look = Look("#8c1c5a", "8", (0.0, (3.0, 1.5)), place=13)
    typical_passes = 40.0
    endless = 1.3
    want = CURVATURE

    def __post_init__(self) -> None:
        checks.real(self.eta, "eta", above=0.0)

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
        rate = 1.0 - self.eta / (flatness.alpha + 1.0)
        return "logarithm", flatness.location_n / math.log(rate) if 0.0 < rate < 1.0 else math.nan
