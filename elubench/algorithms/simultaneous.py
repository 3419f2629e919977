"""EM and ELU side by side in one read of the data: the paper's practical procedure.

Which of the two to follow depends on EM's contraction rho_t = |step_t| / |step_(t-1)|. If EM converges
geometrically, rho_t tends to a limit below 1 and t (1 - rho_t) grows without bound. If it converges
sublinearly, like t^(-1/6) (d = 1) or t^(-1/2) (d >= 2), its steps shrink like t^(-7/6) or t^(-3/2), and
t (1 - rho_t) tends to 7/6 or 3/2. Hence EM counts as geometric where t (1 - rho_t) exceeds ``evidence``,
and for good once its steps are mere rounding: their ratio then means nothing, and sublinear EM never
gets there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Goal, Look
from elubench.algorithms.elu import ELU, CentredELU, descend_centred
from elubench.algorithms.em import EM
from elubench.algorithms.gradient_descent import descend, next_step
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept, stay
from elubench.kernels.vectors import copy
from elubench.models.base import Model

# state[0] is next_step's; then:
_LAST_STEP, _CONTRACTION, _GEOMETRIC, _ALIVE, _ASKED, _USED, STATE_SIZE = 1, 2, 3, 4, 5, 6, 7
_ARRIVED = 2.0  # kept in _GEOMETRIC from then on
_ROUNDING = 2.0**-48  # of the location: a step no longer than this is the sum's rounding


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: eta, beta, evidence, 1 for a centred ELU. points: EM's, then ELU's.

    An iterate is accepted once the data have answered about it, so an ELU iterate outside the region
    of positive scale ends ELU's part of the run, not EM's. Iterate t of either is accepted by pass
    t + 1; the first pass is about the start.
    """
    options, state, em, gradient = own.options, own.state, answers.em, answers.gradient
    asked = int(state[_ASKED])
    state[_ASKED] += 1.0
    if asked == 0:
        state[_ALIVE] = 1.0
    square, whole = 0.0, 0.0
    for j in range(iterate.size):
        square += (em[0, j] - points[0, j]) ** 2
        whole += em[0, j] ** 2
    size = math.sqrt(square)
    if state[_GEOMETRIC] != _ARRIVED:
        if size <= _ROUNDING * math.sqrt(whole):
            state[_GEOMETRIC] = _ARRIVED
        elif asked > 0:
            state[_CONTRACTION] = size / state[_LAST_STEP]
            state[_GEOMETRIC] = 1.0 if asked * (1.0 - state[_CONTRACTION]) > options[2] else 0.0
    state[_LAST_STEP] = size
    for j in range(iterate.size):
        if not np.isfinite(gradient[1, j]):  # asking for losses would cost a third of the pass
            state[_ALIVE] = 0.0
    if state[_GEOMETRIC] != 0.0 or state[_ALIVE] == 0.0:
        copy(points[0], iterate)
        step = 1.0
    else:
        copy(points[1], iterate)
        step = state[_USED]
    if asked == 0:
        stay(report, step)
    else:
        accept(report, step)
    copy(em[0], points[0])
    state[_USED] = next_step(options, state, asked)
    if state[_ALIVE] == 0.0:
        copy(points[0], points[1])  # any valid point: the second direction is still evaluated
    elif options[3] != 0.0:
        descend_centred(points[1], em[1], gradient[1], state[_USED])
    else:
        descend(points[1], gradient[1], state[_USED])


@dataclass(frozen=True)
class Simultaneous(Algorithm):
    """EM and ELU run together; EM is followed where it converges geometrically, ELU elsewhere.

    Use it with ``validation``: ELU diverges after it has reached its radius, and the held-out loss
    shows when. Not monotone: ELU is not, and the iterate jumps when the regime changes.

    Parameters
    ----------
    first : EM().
    second : ELU(...) or, for general locations, CentredELU(...).
    evidence : threshold on t (1 - rho_t), > 3/2.
    """

    first: EM = field(default_factory=EM)
    second: ELU = field(default_factory=ELU)
    evidence: float = 5.0
    update = staticmethod(_update)
    points = 2
    command = "simultaneous"
    look = Look("#006d6d", "*", (0.0, (4.0, 3.0)), place=11)
    endless = 1.0
    diverges = True

    def __post_init__(self) -> None:
        if not isinstance(self.first, EM):
            raise TypeError(f"first must be EM(), got {checks.brief(self.first)}")
        if not isinstance(self.second, ELU):
            raise TypeError(
                f"second must be an ELU or a CentredELU, got {checks.brief(self.second)}"
            )
        checks.real(self.evidence, "evidence", above=1.5)

    def resolve(self, model: Model) -> Simultaneous:
        return Simultaneous(self.first, self.second.resolve(model), self.evidence)

    def options(self, rows: float = 1.0) -> Floats:
        centred = isinstance(self.second, CentredELU)
        return np.concatenate([self.second.options(rows), [self.evidence, float(centred)]])

    def state_size(self, p: int) -> int:
        return STATE_SIZE

    def expected_passes(self, goal: Goal) -> float:
        if goal.to_the_end:
            return super().expected_passes(goal)
        return self.second.expected_passes(goal)

    def describe(self, state: Floats) -> dict[str, Any]:
        """What the run found: EM's last contraction factor and which algorithm was followed."""
        return {
            "contraction": float(state[_CONTRACTION]),
            "followed": "EM" if state[_GEOMETRIC] or not state[_ALIVE] else self.second.name,
            "geometric": bool(state[_GEOMETRIC]),
        }
