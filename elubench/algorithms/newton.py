"""Newton's method with a trust region, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elubench import checks
from elubench.algorithms.base import Look
from elubench.algorithms.scipy_loops import ScipyAlgorithm, check_coordinates
from elubench.kernels.layout import CURVATURE, LOG_COSH

_MOST_TRIALS = 1000  # of a trust region that may shrink for ever where the loss is flat to rounding


@dataclass(frozen=True)
class Newton(ScipyAlgorithm):
    """Trust-region Newton with the exact subproblem (SciPy's trust-exact).

    A. R. Conn, N. I. M. Gould and P. L. Toint, Trust region methods, SIAM, 2000, chapter 7.

    Parameters
    ----------
    trust : first radius of the trust region, > 0.
    gtol : stop when the gradient is no longer than this, > 0.
    coordinates : "natural" or "locations".
    """

    trust: float = 1.0
    gtol: float = 1e-13
    coordinates: str = "natural"
    method = "trust-exact"
    want = LOG_COSH | CURVATURE
    command = "newton"
    look = Look("#a0703c", "D", (0.0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)), place=9)
    typical_passes = 30.0

    @property
    def natural(self) -> bool:
        return self.coordinates == "natural"

    def __post_init__(self) -> None:
        check_coordinates(self.coordinates)
        checks.real(self.trust, "trust", above=0.0)
        checks.real(self.gtol, "gtol", above=0.0)

    def settings(self) -> dict[str, Any]:
        return {
            "initial_trust_radius": self.trust,
            "max_trust_radius": 1000.0 * self.trust,
            "gtol": self.gtol,
            "maxiter": _MOST_TRIALS,
        }
