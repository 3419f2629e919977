"""SciPy's minimisers on the restricted loss, with its analytic derivatives.

A point is evaluated once: loss, gradient and, where wanted, Hessian come from the same read of the
data. A minimiser can work on the locations or in natural coordinates, where there is no boundary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from elubench import checks
from elubench.algorithms.base import Evaluation, ForeignAlgorithm
from elubench.checks import Floats
from elubench.kernels.layout import CURVATURE

NO_LIMIT = 10**9  # the run has its own budget
_OUTSIDE = 1e3  # the loss, less that of one Gaussian, where the scale is not positive


def check_coordinates(given: str) -> None:
    """Raise ValueError for unknown coordinates."""
    checks.choice(given, "coordinates", ("locations", "natural"))


class ScipyAlgorithm(ForeignAlgorithm):
    """A method of ``scipy.optimize.minimize``, with Hessians if it wants the curvature."""

    method: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """Options of the method."""
        raise NotImplementedError

    def minimise(
        self,
        evaluate: Callable[[Floats], Evaluation],
        accept: Callable[[Floats], bool],
        start: Floats,
    ) -> None:
        from scipy.optimize import minimize  # a quarter of a second, which other algorithms save

        problem = _Remembering(evaluate)
        minimize(
            problem.loss,
            start,
            jac=problem.gradient,
            hess=problem.hessian if self.want & CURVATURE else None,
            method=self.method,
            callback=_stopping(accept),
            options=self.settings(),
        )


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
