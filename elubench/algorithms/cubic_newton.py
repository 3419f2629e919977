"""Newton's method with cubic regularisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.newton_anderson import eigen
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import CURVATURE, LOG_COSH, accept, finish, stay
from elubench.kernels.vectors import copy

# The state: whether there is an iterate, M, its gap, the model's decrease at the trial; then slopes
# and eigenvalues, and the eigenvectors as columns.
_BEGUN, _CUBIC, _GAP, _DECREASE, _REST = 0, 1, 2, 3, 4


@kernel("exact")
def _length(slopes: Any, values: Any, shift: float) -> float:
    """|(H + shift I)^(-1) g| in eigencoordinates."""
    total = 0.0
    for i in range(slopes.size):
        if slopes[i] != 0.0:
            total += (slopes[i] / (values[i] + shift)) ** 2
    return math.sqrt(total)


@kernel("exact")
def _minimum(slopes: Any, values: Any, cubic: float, step: Any) -> float:
    """The s that minimises m(s) = g.s + s.H s / 2 + cubic |s|^3 / 6, and -m(s) there.

    It is s = -(H + cubic r/2 I)^(-1) g with r = |s| and H + cubic r/2 I positive semidefinite.
    """
    lowest = 0
    for i in range(slopes.size):
        if values[i] < values[lowest]:
            lowest = i
    least = max(0.0, -2.0 * values[lowest] / cubic)
    low, high = least * (1.0 + 1e-12) + 1e-300, 2.0 * least + 1e-8
    while _length(slopes, values, 0.5 * cubic * high) > high:
        high *= 2.0
    aside = 0.0
    if _length(slopes, values, 0.5 * cubic * low) < low:  # g does not see the lowest direction
        high = low
        aside = math.sqrt(low * low - _length(slopes, values, 0.5 * cubic * low) ** 2)
    for _ in range(100):
        if high <= low * (1.0 + 1e-14):
            break
        middle = math.sqrt(low * high) if high > 4.0 * low else 0.5 * (low + high)
        if _length(slopes, values, 0.5 * cubic * middle) > middle:
            low = middle
        else:
            high = middle
    decrease, square = 0.0, 0.0
    for i in range(slopes.size):
        step[i] = 0.0 if slopes[i] == 0.0 else -slopes[i] / (values[i] + 0.5 * cubic * high)
        if i == lowest:
            step[i] += aside if step[i] >= 0.0 else -aside
        decrease -= step[i] * (slopes[i] + 0.5 * values[i] * step[i])
        square += step[i] * step[i]
    return decrease - cubic * square * math.sqrt(square) / 6.0


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: first, least, the decrease of the mean loss that is not worth a pass."""
    state, p = own.state, iterate.size
    slopes, values = state[_REST : _REST + p], state[_REST + p : _REST + 2 * p]
    vectors = state[_REST + 2 * p : _REST + 2 * p + p * p].reshape(p, p)
    stay(report, state[_CUBIC])
    fresh = state[_BEGUN] == 0.0
    if fresh:
        state[_BEGUN], state[_CUBIC] = 1.0, own.options[0]
    elif answers.gap[0] <= state[_GAP] - state[_DECREASE]:
        fresh = True
        accept(report, state[_CUBIC])
        state[_CUBIC] = max(0.5 * state[_CUBIC], own.options[1])
    else:  # the model is no upper bound; also where the gap is NaN
        state[_CUBIC] *= 2.0
    if fresh:
        state[_GAP] = answers.gap[0]
        copy(points[0], iterate)
        eigen(answers.hessian[0], vectors)
        for i in range(p):
            values[i], slopes[i] = answers.hessian[0, i, i], 0.0
            for j in range(p):
                slopes[i] += vectors[j, i] * answers.gradient[0, j]
    step = np.empty(p)
    state[_DECREASE] = _minimum(slopes, values, state[_CUBIC], step)
    if not state[_DECREASE] > own.options[2]:
        finish(report)
        return
    for j in range(p):
        points[0, j] = iterate[j]
        for i in range(p):
            points[0, j] += vectors[j, i] * step[i]


@dataclass(frozen=True)
class CubicNewton(Algorithm):
    """Newton's method on the loss plus M |s|^3 / 6, which bounds the loss from above.

    Y. Nesterov and B. T. Polyak, Cubic regularization of Newton method and its global performance,
    Mathematical Programming 108 (2006), 177-205. M is doubled until the model is an upper bound at the
    trial, and halved after each success. It leaves saddles and never raises the loss. Near one Gaussian,
    with M held, the cubic term outweighs a Hessian of order |theta|^alpha, and steps are of order
    |theta|^((alpha + 1) / 2): n^(5/16) iterations at d = 1, n^(1/8) at d >= 2. As M falls it becomes
    Newton's method, linear with factor 6/7 and 2/3. It works in natural coordinates; a pass brings loss
    and curvature.

    Parameters
    ----------
    first : M at the start, > 0.
    least : M is never smaller, > 0.
    precision : stop when the log-likelihood would gain less by the model, > 0.
    """

    first: float = 1.0
    least: float = 1e-12
    precision: float = 1e-3
    update = staticmethod(_update)
    command = "cubic-newton"
    look = Look("#7a5195", "H", (0.0, (4.0, 1.0, 1.0, 1.0)), place=18)
    typical_passes = 40.0
    want = LOG_COSH | CURVATURE

    @property
    def natural(self) -> bool:
        return True

    def __post_init__(self) -> None:
        checks.real(self.first, "first", above=0.0)
        checks.real(self.least, "least", above=0.0)
        checks.real(self.precision, "precision", above=0.0)

    def options(self, rows: float = 1.0) -> Floats:
        return np.array([self.first, self.least, self.precision / rows])

    def state_size(self, p: int) -> int:
        return _REST + 2 * p + p * p
