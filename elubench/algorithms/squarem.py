"""SQUAREM: EM extrapolated along two of its steps, which needs nothing but values of the EM map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, accept, stay
from elubench.kernels.vectors import copy

# The state: place in the cycle, the largest step, the gap at x1; then x0, x1, x2.
_PHASE, _LARGEST, _GAP, _VECTORS = 0, 1, 2, 3


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """A cycle is x0, x1 = F(x0), x2 = F(x1), a leap y, and F(y): three passes, one iterate."""
    growth, state, em, gap = own.options[0], own.state, answers.em, answers.gap
    p = iterate.size
    x0 = state[_VECTORS : _VECTORS + p]
    x1 = state[_VECTORS + p : _VECTORS + 2 * p]
    x2 = state[_VECTORS + 2 * p : _VECTORS + 3 * p]
    stay(report, np.nan)
    if state[_PHASE] == 0.0:
        if state[_LARGEST] == 0.0:
            state[_LARGEST] = growth
        copy(points[0], x0)
        copy(em[0], x1)
        copy(em[0], points[0])
        state[_PHASE] = 1.0
    elif state[_PHASE] == 1.0:
        copy(em[0], x2)
        state[_GAP] = gap[0]
        first, second = 0.0, 0.0
        for j in range(p):
            r = x1[j] - x0[j]
            v = x2[j] - x1[j] - r
            first += r * r
            second += v * v
        length = 1.0
        if second > 0.0:
            length = min(max(math.sqrt(first / second), 1.0), state[_LARGEST])
        if length == state[_LARGEST]:
            state[_LARGEST] *= growth
        if length == 1.0:  # the leap would be x2 itself
            copy(x2, points[0])
            copy(x2, iterate)
            accept(report, length)
            state[_PHASE] = 0.0
        else:
            for j in range(p):
                r = x1[j] - x0[j]
                points[0, j] = x0[j] + 2.0 * length * r + length * length * (x2[j] - x1[j] - r)
            stay(report, length)
            state[_PHASE] = 2.0
    else:
        if gap[0] <= state[_GAP]:
            copy(em[0], iterate)
        else:  # also where the leap left the region of positive scale, and the gap is NaN
            copy(x2, iterate)
            state[_LARGEST] = max(1.0, state[_LARGEST] / growth)
        copy(iterate, points[0])
        accept(report, np.nan)
        state[_PHASE] = 0.0


@dataclass(frozen=True)
class SQUAREM(Algorithm):
    """Squared extrapolation of EM, with step length |r| / |v| (scheme S3).

    R. Varadhan and C. Roland, Simple and globally convergent methods for accelerating the convergence
    of any EM algorithm, Scandinavian Journal of Statistics 35 (2008), 335-353. A leap that raises the
    loss above that of x1 is replaced by x2.

    Parameters
    ----------
    growth : factor by which the bound on the step length grows when it is met, > 1.
    """

    growth: float = 4.0
    update = staticmethod(_update)
    command = "squarem"
    look = Look("#029e73", "v", (0.0, (4.0, 1.2)), place=5)
    endless = 3.0
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.real(self.growth, "growth", above=1.0)

    def state_size(self, p: int) -> int:
        return _VECTORS + 3 * p
