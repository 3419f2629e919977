"""GDPolyak: several gradient steps of constant size, then one of Polyak's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.gradient_descent import descend
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, accept, finish, stay
from elubench.kernels.vectors import copy, norm
from elubench.models.flatness import Flatness


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: short, eta, optimum."""
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
class GDPolyak(Algorithm):
    """Short gradient steps that lead to the floor of a ravine, then one long step along it.

    D. Davis, D. Drusvyatskiy and L. Jiang, Gradient descent with adaptive stepsize converges (nearly)
    linearly under fourth-order growth, 2024 (arXiv:2409.19791). A Polyak step divides the distance by
    8/7 where the loss is of order 8 (d = 1) and by 4/3 where it is of order 4 (d >= 2), so that a
    multiple of ln n iterations suffices; the short steps contract what is curved across. It works in
    natural coordinates, where curvatures near one Gaussian are at most 1, and takes the loss of the
    one-Gaussian fit plus ``optimum`` to be the smallest, as :class:`Polyak` does. The run converges when
    the loss is no longer above that. Not monotone: a Polyak step may be too long.

    Parameters
    ----------
    short : gradient steps before each Polyak step, >= 0. One suffices here; the paper allows for many.
    eta : their size, > 0.
    optimum : the smallest loss, less that of the one-Gaussian fit.
    """

    short: int = 1
    eta: float = 1.0
    optimum: float = 0.0
    update = staticmethod(_update)
    command = "gd-polyak"
    look = Look("#7f7f00", "1", (0.0, (1.0, 1.5)), place=14)
    typical_passes = 150.0
    endless = 1.3
    want = LOG_COSH

    @property
    def natural(self) -> bool:
        return True

    def __post_init__(self) -> None:
        checks.integer(self.short, "short", 0)
        checks.real(self.eta, "eta", above=0.0)
        checks.real(self.optimum, "optimum")

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
        order = flatness.alpha + 2.0
        return "logarithm", (self.short + 1) * flatness.location_n / math.log(1.0 - 1.0 / order)
