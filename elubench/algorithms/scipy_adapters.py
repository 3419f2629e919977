"""SciPy's minimisers on the restricted loss, with its analytic derivatives.

A point is evaluated once: loss, gradient and, for Newton, Hessian come from the same read of the data.
Each can work on the locations themselves or in natural coordinates, where the problem has no boundary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from elubench import checks
from elubench.algorithms.base import Evaluation, ForeignAlgorithm, Look
from elubench.checks import Floats
from elubench.kernels.layout import CURVATURE, LOG_COSH

_NO_LIMIT = 10**9  # the run has its own budget
_MOST_TRIALS = 1000  # of a trust region that may shrink for ever where the loss is flat to rounding


_OUTSIDE = 1e3  # the loss, less that of one Gaussian, where the scale is not positive


class _Remembering:
    """Answers about the last point without another pass."""

    def __init__(self, evaluate: Callable[[Floats], Evaluation]):
        self._evaluate = evaluate
        self._point: bytes | None = None
        self._answer: Any = None

    def __call__(self, point: Floats) -> Evaluation:
        if self._point != point.tobytes():
            answer = self._evaluate(point)
            if not np.isfinite(answer.gap):
                flat = np.zeros_like(point)
                answer = Evaluation(_OUTSIDE, flat, np.diag(flat + 1.0))
            self._answer = answer
            self._point = point.tobytes()
        return self._answer

    def loss(self, point: Floats) -> float:
        return self(point).gap

    def gradient(self, point: Floats) -> Floats:
        return self(point).gradient

    def hessian(self, point: Floats) -> Floats:
        return self(point).hessian


def _stopping(accept: Callable[[Floats], bool]) -> Callable[[Floats], None]:
    def callback(xk: Floats) -> None:
        if not accept(xk):
            raise StopIteration

    return callback


def _check_coordinates(given: str) -> None:
    if given not in ("locations", "natural"):
        raise ValueError(f"coordinates must be 'locations' or 'natural', got {given!r}")


@dataclass(frozen=True)
class LBFGS(ForeignAlgorithm):
    """Limited-memory BFGS (SciPy's L-BFGS-B, without bounds).

    R. H. Byrd, P. Lu, J. Nocedal and C. Zhu, A limited memory algorithm for bound constrained
    optimization, SIAM Journal on Scientific Computing 16 (1995), 1190-1208.

    Parameters
    ----------
    memory : pairs of steps and gradient changes held, >= 1.
    gtol : stop when no entry of the gradient is larger, > 0.
    coordinates : "locations", or "natural", which takes a few passes more near one Gaussian (22
        against 18 at d = 1, n = 10^12) but never meets the boundary of the scale.
    """

    memory: int = 10
    gtol: float = 1e-13
    coordinates: str = "locations"
    want = LOG_COSH
    command = "lbfgs"
    look = Look("#d55e00", "^", (0.0, (5.0, 1.2, 1.2, 1.2)), place=4)
    typical_passes = 25.0

    @property
    def natural(self) -> bool:
        return self.coordinates == "natural"

    def __post_init__(self) -> None:
        _check_coordinates(self.coordinates)
        checks.integer(self.memory, "memory", 1)
        checks.real(self.gtol, "gtol", above=0.0)

    def minimise(
        self,
        evaluate: Callable[[Floats], Evaluation],
        accept: Callable[[Floats], bool],
        start: Floats,
    ) -> None:
        problem = _Remembering(evaluate)
        minimize(
            problem.loss,
            start,
            jac=problem.gradient,
            method="L-BFGS-B",
            callback=_stopping(accept),
            options={
                "maxcor": self.memory,
                "gtol": self.gtol,
                "ftol": 0.0,
                "maxiter": _NO_LIMIT,
                "maxfun": _NO_LIMIT,
            },
        )


@dataclass(frozen=True)
class Newton(ForeignAlgorithm):
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
    want = LOG_COSH | CURVATURE
    command = "newton"
    look = Look("#a0703c", "D", (0.0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)), place=9)
    typical_passes = 30.0

    @property
    def natural(self) -> bool:
        return self.coordinates == "natural"

    def __post_init__(self) -> None:
        _check_coordinates(self.coordinates)
        checks.real(self.trust, "trust", above=0.0)
        checks.real(self.gtol, "gtol", above=0.0)

    def minimise(
        self,
        evaluate: Callable[[Floats], Evaluation],
        accept: Callable[[Floats], bool],
        start: Floats,
    ) -> None:
        problem = _Remembering(evaluate)
        minimize(
            problem.loss,
            start,
            jac=problem.gradient,
            hess=problem.hessian,
            method="trust-exact",
            callback=_stopping(accept),
            options={
                "initial_trust_radius": self.trust,
                "max_trust_radius": 1000.0 * self.trust,
                "gtol": self.gtol,
                "maxiter": _MOST_TRIALS,
            },
        )
