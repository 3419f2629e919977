"""A quasi-Newton method for the fixed point of EM, which needs nothing but values of the EM map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, accept, stay
from elubench.kernels.vectors import copy

# The state: phase, pairs so far, the iterate's gap; then F(x), F(F(x)), and `pairs` rows each of
# u = F(x) - x and v = F(F(x)) - F(x).
_PHASE, _COUNT, _GAP, _REST = 0, 1, 2, 3
_START, _SECOND, _TRIAL, _EM = 0.0, 1.0, 2.0, 3.0


_ROUNDING = 1e-12  # share of a column that is left of it where columns are dependent


@kernel("exact")
def _solve(matrix: Any, right: Any) -> bool:
    """Solve in place, to `right`, by elimination with row pivots; False if it is singular."""
    m = right.size
    least = np.empty(m)
    for k in range(m):
        least[k] = 0.0
        for i in range(m):
            least[k] = max(least[k], _ROUNDING * abs(matrix[i, k]))
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(matrix[i, k]) > abs(matrix[best, k]):
                best = i
        if not abs(matrix[best, k]) > least[k]:  # also where it is NaN
            return False
        for j in range(m):
            matrix[k, j], matrix[best, j] = matrix[best, j], matrix[k, j]
        right[k], right[best] = right[best], right[k]
        for i in range(k + 1, m):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, m):
                matrix[i, j] -= factor * matrix[k, j]
            right[i] -= factor * right[k]
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            right[k] -= matrix[k, j] * right[j]
        right[k] /= matrix[k, k]
    return True


@kernel("exact")
def _leap(once: Any, u: Any, v: Any, newest: int, out: Any) -> bool:
    """F(x) + V (U^T U - U^T V)^(-1) U^T u; the rows of `u` and `v` are pairs."""
    m, p = u.shape
    matrix, weights = np.zeros((m, m)), np.zeros(m)
    for i in range(m):
        for k in range(p):
            weights[i] += u[i, k] * u[newest, k]
        for j in range(m):
            for k in range(p):
                matrix[i, j] += u[i, k] * (u[j, k] - v[j, k])
    solved = _solve(matrix, weights)
    for k in range(p):
        out[k] = once[k]
        for i in range(m):
            out[k] += weights[i] * v[i, k]
    return solved


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: pairs. Two passes per iterate, at x and F(x); the pass at a trial is the next x's."""
    state, em, p = own.state, answers.em[0], iterate.size
    pairs = min(int(own.options[0]), p)
    once, twice = state[_REST : _REST + p], state[_REST + p : _REST + 2 * p]
    at = _REST + 2 * p
    u = state[at : at + pairs * p].reshape(pairs, p)
    at += pairs * p
    v = state[at : at + pairs * p].reshape(pairs, p)
    stay(report, np.nan)
    phase, count = state[_PHASE], int(state[_COUNT])
    newest = count % pairs
    if phase == _SECOND:
        copy(em, twice)
        for j in range(p):
            v[newest, j] = twice[j] - once[j]
        state[_COUNT] = count + 1.0
        held = min(count + 1, pairs)
        last = slice(newest, newest + 1)  # pairs of fewer directions than parameters are dependent
        if _leap(once, u[:held], v[:held], newest, points[0]) or _leap(
            once, u[last], v[last], 0, points[0]
        ):
            state[_PHASE] = _TRIAL
        else:
            copy(twice, points[0])
            state[_PHASE] = _EM
        return
    if phase == _TRIAL and not (answers.gap[0] <= state[_GAP]):
        copy(twice, points[0])
        state[_PHASE] = _EM
        return
    if phase != _START:
        copy(points[0], iterate)
        accept(report, np.nan)
    state[_GAP] = answers.gap[0]
    for j in range(p):
        u[newest, j] = em[j] - points[0, j]
    copy(em, once)
    copy(em, points[0])
    state[_PHASE] = _SECOND


@dataclass(frozen=True)
class QuasiNewton(Algorithm):
    """Quasi-Newton acceleration of EM by secant pairs.

    H. Zhou, D. Alexander and K. Lange, A quasi-Newton acceleration for high-dimensional optimization
    algorithms, Statistics and Computing 21 (2011), 261-273. With u = F(x) - x and v = F(F(x)) - F(x) for
    the EM map F, pairs (u, v) stand for its derivative, and a Newton step solves x = F(x) with it. A
    step that raises the loss is replaced by F(F(x)). At d = 1 it is Steffensen's method, which is linear
    at a root of order 7: it multiplies the error by 6/7 per iterate, that is, per two passes.

    Parameters
    ----------
    pairs : secant pairs held, >= 1; never more than parameters. The default is that of R's turboEM. With
        as many as parameters it finds a root fast, but that may be one Gaussian, a saddle.
    """

    pairs: int = 2
    update = staticmethod(_update)
    command = "quasi-newton"
    look = Look("#1b7f4b", "3", (0.0, (5.0, 1.0, 1.0, 1.0)), place=16)
    typical_passes = 60.0
    endless = 2.6
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.integer(self.pairs, "pairs", 1, 50)

    def state_size(self, p: int) -> int:
        return _REST + 2 * p + 2 * self.pairs * p
