"""GDPolyak: several gradient steps of constant size, then one of Polyak's."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elubench import checks
from elubench.algorithms import polyak
from elubench.algorithms.base import Algorithm, Look
from elubench.kernels.layout import LOG_COSH
from elubench.models.flatness import Flatness


@dataclass(frozen=True)
class GDPolyak(Algorithm):
    """Short gradient steps that lead to the floor of a ravine, then one long step along it.

    D. Davis, D. Drusvyatskiy and L. Jiang, Gradient descent with adaptive stepsize converges (nearly)
    linearly under fourth-order growth, 2024 (arXiv:2409.19791). A Polyak step divides the distance by
    8/7 where the loss is of order 8 (d = 1) and by 4/3 where it is of order 4 (d >= 2), so that a
    multiple of ln n iterations suffices; the short steps contract what is curved across. It works in
    natural coordinates, where curvatures near one Gaussian are at most 1, and takes the loss of the
    one-Gaussian fit plus ``optimum`` to be the smallest, as :class:`Polyak` does. The run converges when
    the loss is no longer above that. The authors' code halves the distance to a lower bound and begins
    again where the smallest loss is unknown: ln(n) times as many passes. Not monotone: a Polyak step may
    be too long.

    Parameters
    ----------
    short : gradient steps before each Polyak step, >= 0. One suffices here; the paper allows for many.
    eta : their size, > 0.
    optimum : the smallest loss, less that of the one-Gaussian fit.
    """

    short: int = 1
    eta: float = 1.0
    optimum: float = 0.0
    update = staticmethod(polyak.update)
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
