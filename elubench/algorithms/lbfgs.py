"""L-BFGS, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elubench import checks
from elubench.algorithms.base import Look
from elubench.algorithms.scipy_loops import NO_LIMIT, ScipyAlgorithm, check_coordinates
from elubench.kernels.layout import LOG_COSH


@dataclass(frozen=True)
class LBFGS(ScipyAlgorithm):
    """Limited-memory BFGS (SciPy's L-BFGS-B, without bounds).

    R. H. Byrd, P. Lu, J. Nocedal and C. Zhu, A limited memory algorithm for bound constrained
    optimization, SIAM Journal on Scientific Computing 16 (1995), 1190-1208.

    Parameters
    ----------
    memory : pairs of steps and gradient changes held, >= 1.
    gtol : stop when no entry of the gradient is larger, > 0.
    coordinates : "locations", or "natural", which takes a few more passes near one Gaussian (22
        instead of 18 at d = 1, n = 10^12) but never meets the boundary of the scale.
    """

    memory: int = 10
    gtol: float = 1e-13
    coordinates: str = "locations"
    method = "L-BFGS-B"
    want = LOG_COSH
    command = "lbfgs"
    look = Look("#d55e00", "^", (0.0, (5.0, 1.2, 1.2, 1.2)), place=4)
    typical_passes = 25.0

    @property
    def natural(self) -> bool:
        return self.coordinates == "natural"

    def __post_init__(self) -> None:
        check_coordinates(self.coordinates)
        checks.integer(self.memory, "memory", 1)
        checks.real(self.gtol, "gtol", above=0.0)

    def settings(self) -> dict[str, Any]:
        return {
            "maxcor": self.memory,
            "gtol": self.gtol,
            "ftol": 0.0,
            "maxiter": NO_LIMIT,
            "maxfun": NO_LIMIT,
        }
