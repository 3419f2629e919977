"""Anderson acceleration of EM, damped and restarted, which needs nothing but values of the EM map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, STEP, accept, stay

# The state: phase, columns held, gap of the iterate, successes; then the iterate's EM residual, and
# `depth` rows each of the differences of iterates and of residuals.
_PHASE, _COUNT, _BASE, _SUCCESSES, _REST = 0, 1, 2, 3, 4


@kernel("exact")
def _solve(matrix: Any, right: Any, ridge: float, m: int, factor: Any, out: Any) -> None:
    """(matrix + ridge I) out = right by Cholesky; matrix is positive semidefinite, ridge > 0."""
    for i in range(m):
        for j in range(i + 1):
            total = matrix[i, j] + (ridge if i == j else 0.0)
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(max(total, 1e-300)) if i == j else total / factor[j, j]
    for i in range(m):
        total = right[i]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]
    for i in range(m - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, m):
            total -= factor[k, i] * out[k]
        out[i] = total / factor[i, i]


@kernel("exact")
def damped_weights(changes: Any, residual: Any, m: int, damping: float) -> Any:
    """Least-squares weights of the residual differences, shrunk by a ridge.

    The ridge makes |gamma|^2 `damping` times that of plain least squares.
    """
    gram, right = np.empty((m, m)), np.empty(m)
    trace = 0.0
    for i in range(m):
        for j in range(m):
            gram[i, j] = 0.0
            for k in range(residual.size):
                gram[i, j] += changes[i, k] * changes[j, k]
        right[i] = 0.0
        for k in range(residual.size):
            right[i] += changes[i, k] * residual[k]
        trace += gram[i, i]
    factor, gamma = np.zeros((m, m)), np.zeros(m)
    least = 1e-14 * trace + 1e-300
    _solve(gram, right, least, m, factor, gamma)
    goal = 0.0
    for i in range(m):
        goal += gamma[i] * gamma[i]
    goal *= damping
    low, high = math.log(least), math.log(1e3 * trace + 1e-299)
    for _ in range(40):  # |gamma| falls as the ridge grows
        middle = 0.5 * (low + high)
        _solve(gram, right, math.exp(middle), m, factor, gamma)
        size = 0.0
        for i in range(m):
            size += gamma[i] * gamma[i]
        if size > goal:
            low = middle
        else:
            high = middle
    return gamma


@kernel("exact")
def remember(point: Any, em: Any, iterate: Any, residual: Any, move: Any, change: Any) -> None:
    """How far the point is from the iterate, and its EM residual from the iterate's."""
    for j in range(point.size):
        move[j] = point[j] - iterate[j]
        change[j] = em[j] - point[j] - residual[j]


@kernel("exact")
def mix(moves: Any, changes: Any, residual: Any, damping: float, point: Any) -> None:
    """Take the weighted differences, a row each, from the EM step."""
    gamma = damped_weights(changes, residual, len(moves), damping)
    for i in range(len(moves)):
        for j in range(point.size):
            point[j] -= gamma[i] * (moves[i, j] + changes[i, j])


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: depth, a, kappa. A trial with a higher loss gives way to the EM step."""
    options, state = own.options, own.state
    em, gap = answers.em, answers.gap
    p = iterate.size
    depth = int(options[0])
    residual = state[_REST : _REST + p]
    at = _REST + p
    moves = state[at : at + depth * p].reshape(depth, p)
    at += depth * p
    changes = state[at : at + depth * p].reshape(depth, p)
    stay(report, np.nan)
    if state[_PHASE] == 1.0 and not (gap[0] <= state[_BASE]):
        # the trial was worse: the EM step from the iterate cannot be, whatever rounding says
        state[_PHASE] = 2.0
        for j in range(p):
            points[0, j] = iterate[j] + residual[j]
        state[_COUNT] = 0.0
        state[_SUCCESSES] = max(state[_SUCCESSES] - 2.0, -options[2])
        return
    count = int(state[_COUNT])
    if state[_PHASE] != 0.0:
        if count == depth:  # restart
            count = 0
        remember(points[0], em[0], iterate, residual, moves[count], changes[count])
        count += 1
        state[_SUCCESSES] += 1.0
        accept(report, np.nan)
    for j in range(p):
        iterate[j] = points[0, j]
        residual[j] = em[0, j] - points[0, j]
        points[0, j] = em[0, j]
    state[_BASE] = gap[0]
    state[_PHASE] = 1.0
    state[_COUNT] = count
    used = min(count, p)
    if used > 0:
        damping = 1.0 / (1.0 + options[1] ** (options[2] - state[_SUCCESSES]))
        mix(
            moves[count - used : count], changes[count - used : count], residual, damping, points[0]
        )
        report[STEP] = float(used)


@dataclass(frozen=True)
class Anderson(Algorithm):
    """Damped Anderson acceleration of EM with restarts and monotonicity control (DAAREM).

    N. C. Henderson and R. Varadhan, Damped Anderson acceleration with restarts and monotonicity
    control for accelerating EM and EM-like algorithms, Journal of Computational and Graphical
    Statistics 28 (2019), 834-846. Here a trial must not raise the loss at all.

    Parameters
    ----------
    depth : residual differences held between restarts, >= 1.
    a, kappa : the share of the least-squares weights' squared length that is kept is
        1 / (1 + a^(kappa - successes)); a > 1, kappa >= 0.
    """

    depth: int = 5
    a: float = 1.2
    kappa: float = 25.0
    update = staticmethod(_update)
    command = "anderson"
    look = Look("#56b4e9", "h", (0.0, (2.4, 1.0)), place=6)
    typical_passes = 80.0
    endless = 1.3
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.integer(self.depth, "depth", 1, 50)
        checks.real(self.a, "a", above=1.0)
        checks.real(self.kappa, "kappa", above=0.0, closed="above")

    def state_size(self, p: int) -> int:
        return _REST + p + 2 * self.depth * p
