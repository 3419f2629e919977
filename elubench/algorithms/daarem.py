"""DAAREM: damped Anderson acceleration of EM with restarts, which may raise the loss a little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.anderson import mix, remember
from elubench.algorithms.base import Algorithm, Look
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import LOG_COSH, STEP, accept, stay
from elubench.kernels.vectors import copy

# The state: phase, columns held, gaps of the iterate and of the one that began the cycle, successes;
# then the iterate's EM residual, and `order` rows each of differences of iterates and of residuals.
_PHASE, _COUNT, _GAP, _CYCLE, _SUCCESSES, _REST = 0, 1, 2, 3, 4, 5
_START, _TRIAL, _EM = 0.0, 1.0, 2.0


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: order, a, kappa, the rise of the mean loss that is allowed."""
    state, em, gap, p = own.state, answers.em[0], answers.gap[0], iterate.size
    order, kappa = min(int(own.options[0]), (p + 1) // 2), own.options[2]
    residual = state[_REST : _REST + p]
    at = _REST + p
    moves = state[at : at + order * p].reshape(order, p)
    at += order * p
    changes = state[at : at + order * p].reshape(order, p)
    stay(report, np.nan)
    if state[_PHASE] == _TRIAL and not (gap <= state[_GAP] + own.options[3]):
        state[_PHASE] = _EM
        for j in range(p):
            points[0, j] = iterate[j] + residual[j]
        return
    if state[_PHASE] == _START:
        state[_CYCLE] = gap
    else:
        if state[_COUNT] == order:  # a cycle is over; a new one begins with the last difference
            if gap > state[_CYCLE]:
                state[_SUCCESSES] = max(state[_SUCCESSES] - order, -2.0 * kappa)
            state[_CYCLE], state[_COUNT] = gap, 0.0
        newest = int(state[_COUNT])
        remember(points[0], em, iterate, residual, moves[newest], changes[newest])
        state[_COUNT] += 1.0
        if state[_PHASE] == _TRIAL:
            state[_SUCCESSES] += 1.0
        accept(report, np.nan)
    for j in range(p):
        iterate[j] = points[0, j]
        residual[j] = em[j] - points[0, j]
    state[_GAP] = gap
    copy(em, points[0])
    used = int(state[_COUNT])
    if used == 0:
        state[_PHASE] = _EM
        return
    state[_PHASE] = _TRIAL
    damping = 1.0 / (1.0 + own.options[1] ** (kappa - state[_SUCCESSES]))
    mix(moves[:used], changes[:used], residual, damping, points[0])
    report[STEP] = float(used)


@dataclass(frozen=True)
class DAAREM(Algorithm):
    """Damped Anderson acceleration of EM with restarts and monotonicity control, as published.

    N. C. Henderson and R. Varadhan, Damped Anderson acceleration with restarts and monotonicity
    control for accelerating EM and EM-like algorithms, Journal of Computational and Graphical
    Statistics 28 (2019), 834-846. A trial may lower the log-likelihood by ``slack``, or gives way to the
    EM step; a cycle of ``order`` iterates that lowers it costs ``order`` successes.
    :class:`Anderson` is stricter. Not monotone, by ``slack``.

    Parameters
    ----------
    order : differences held between restarts, >= 1; never more than half of the parameters.
    a, kappa : the share of the least-squares weights' squared length that is kept is
        1 / (1 + a^(kappa - successes)); a > 1, kappa >= 0.
    slack : fall of the log-likelihood that a trial may bring, >= 0.
    """

    order: int = 10
    a: float = 1.2
    kappa: float = 25.0
    slack: float = 0.01
    update = staticmethod(_update)
    command = "daarem"
    look = Look("#4c9ed9", "+", (0.0, (3.0, 1.0, 1.0, 1.0)), place=19)
    typical_passes = 80.0
    endless = 1.3
    want = LOG_COSH

    def __post_init__(self) -> None:
        checks.integer(self.order, "order", 1, 50)
        checks.real(self.a, "a", above=1.0)
        checks.real(self.kappa, "kappa", above=0.0, closed="above")
        checks.real(self.slack, "slack", above=0.0, closed="above")

    def options(self, rows: float = 1.0) -> Floats:
        return np.array([self.order, self.a, self.kappa, self.slack / rows])

    def state_size(self, p: int) -> int:
        return _REST + p + 2 * self.order * p
