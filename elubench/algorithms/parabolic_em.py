"""Parabolic EM: a search along the parabola through three EM iterates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, STEP, accept, stay
from elubench.kernels.vectors import copy

# The state: phase, the search's s, the best gap; then x0, x1, x2, the best point and its EM step.
_PHASE, _BEYOND, _GAP, _VECTORS = 0, 1, 2, 3
_FIRST, _SECOND, _THIRD, _SEARCH = 0.0, 1.0, 2.0, 3.0


@kernel("exact")
def _on_parabola(x0: Any, x1: Any, x2: Any, t: float, out: Any) -> None:
    """(1 - t)^2 x0 + 2 t (1 - t) x1 + t^2 x2, from x0 at t = 0 to x2 at t = 1 and beyond."""
    for j in range(out.size):
        r = x1[j] - x0[j]
        out[j] = x0[j] + 2.0 * t * r + t * t * (x2[j] - x1[j] - r)


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: first, growth. A cycle is the trials and two passes from the best of them."""
    first, growth = own.options[0], own.options[1]
    state, em, p = own.state, answers.em[0], iterate.size
    x0 = state[_VECTORS : _VECTORS + p]
    x1 = state[_VECTORS + p : _VECTORS + 2 * p]
    x2 = state[_VECTORS + 2 * p : _VECTORS + 3 * p]
    best = state[_VECTORS + 3 * p : _VECTORS + 4 * p]
    after = state[_VECTORS + 4 * p : _VECTORS + 5 * p]
    stay(report, np.nan)
    if state[_PHASE] == _FIRST:
        copy(points[0], x0)
        copy(em, x1)
        copy(em, points[0])
        state[_PHASE] = _SECOND
    elif state[_PHASE] == _SECOND:
        copy(em, x2)
        copy(em, points[0])
        state[_PHASE] = _THIRD
    elif state[_PHASE] == _THIRD or answers.gap[0] < state[_GAP]:  # so far the best: go further
        copy(points[0], best)
        copy(em, after)
        state[_BEYOND] = first if state[_PHASE] == _THIRD else growth * state[_BEYOND]
        state[_GAP] = answers.gap[0]
        state[_PHASE] = _SEARCH
        _on_parabola(x0, x1, x2, 1.0 + state[_BEYOND], points[0])
        report[STEP] = 1.0 + state[_BEYOND]
    else:
        copy(best, iterate)
        accept(report, 1.0 + state[_BEYOND])
        if state[_BEYOND] > first:  # the leap is in the next parabola, which goes on from there
            copy(x1, x0)
            copy(x2, x1)
        else:
            copy(x2, x0)
            copy(after, x1)
        copy(after, points[0])
        state[_PHASE] = _SECOND


@dataclass(frozen=True)
class ParabolicEM(Algorithm):
    """EM with a search along the Bezier parabola of three points, at first x0, F(x0) and F(F(x0)).

    A. F. Berlinet and C. Roland, Parabolic acceleration of the EM algorithm, Statistics and Computing 19
    (2009), 35-47, with the geometric grid t = 1 + first growth^i: t grows while the loss falls, from x2
    at t = 1. After a leap to y the next parabola is that of x1, x2 and F(F(y)), so that it leads on in
    the leap's direction; without one it is that of x2, F(x2) and F(F(x2)). Every cycle pays for its
    search: a leap of length t takes about ln(t) / ln(growth) passes with the loss, where SQUAREM's
    formula is free.

    Parameters
    ----------
    first : how far the first trial goes beyond t = 1, > 0.
    growth : factor from one trial to the next, > 1.
    """

    first: float = 0.1
    growth: float = 1.5
    update = staticmethod(_update)
    command = "parabolic-em"
    look = Look("#c44e52", "4", (0.0, (2.0, 1.0, 4.0, 1.0)), place=17)
    typical_passes = 150.0
    endless = 15.0
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.real(self.first, "first", above=0.0)
        checks.real(self.growth, "growth", above=1.0)

    def state_size(self, p: int) -> int:
        return _VECTORS + 5 * p
