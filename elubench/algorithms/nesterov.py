"""Nesterov's accelerated gradient with adaptive restarts and a step that adapts to the curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import accept, finish, stay
from elubench.kernels.vectors import copy, norm

# The state: the step, Nesterov's t (0 before the first pass), the momentum that it gives; then the last
# point, its gradient, and the iterate that they give, which is accepted if the next gradient agrees.
_ETA, _T, _MOMENTUM, _REST = 0, 1, 2, 3
_NEAR = 1e-13  # apart in units of the point: nearer, differences of gradients are rounding errors


@kernel("exact")
def _curvature(point: Any, gradient: Any, last: Any, before: Any) -> float:
    """Of the loss between two points, by their gradients; 0 where they are too close to tell."""
    along, square = 0.0, 0.0
    for j in range(point.size):
        step = point[j] - last[j]
        along += step * (gradient[j] - before[j])
        square += step * step
    return along / square if math.sqrt(square) > _NEAR * norm(point) else 0.0


@kernel("exact")
def _proceed(
    state: Any, last: Any, gradient: Any, following: Any, iterate: Any, point: Any
) -> None:
    """The step from the last point, and the next point, where the momentum leads from there."""
    for j in range(iterate.size):
        following[j] = last[j] - state[_ETA] * gradient[j]
        point[j] = following[j] + state[_MOMENTUM] * (following[j] - iterate[j])


@kernel("exact", signatures.UPDATE)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: eta, growth."""
    state, p = own.state, iterate.size
    last, gradient = state[_REST : _REST + p], state[_REST + p : _REST + 2 * p]
    following = state[_REST + 2 * p : _REST + 3 * p]
    stay(report, state[_ETA])
    if state[_T] == 0.0:
        state[_ETA], state[_T] = own.options[0], 1.0
    else:
        curvature = _curvature(points[0], answers.gradient[0], last, gradient)
        if not (state[_ETA] * curvature <= 1.0):  # also where the point has no gradient
            state[_ETA] *= 0.5
            if state[_ETA] * curvature > 1.0:
                state[_ETA] = 1.0 / curvature
            _proceed(state, last, gradient, following, iterate, points[0])
            return
        copy(following, iterate)
        accept(report, state[_ETA])
        state[_ETA] *= own.options[1]
    copy(points[0], last)
    copy(answers.gradient[0], gradient)
    if norm(gradient) == 0.0:
        finish(report)
        return
    uphill = 0.0
    for j in range(p):
        uphill += gradient[j] * (last[j] - state[_ETA] * gradient[j] - iterate[j])
    before = 1.0 if uphill > 0.0 else state[_T]
    state[_T] = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * before * before))
    state[_MOMENTUM] = (before - 1.0) / state[_T]
    _proceed(state, last, gradient, following, iterate, points[0])


@dataclass(frozen=True)
class Nesterov(Algorithm):
    """Accelerated gradient on the restricted loss, restarted when the momentum points uphill.

    Y. Nesterov, A method of solving a convex programming problem with convergence rate O(1/k^2), 1983;
    the restart by the gradient is that of B. O'Donoghue and E. Candes, Adaptive restart for accelerated
    gradient schemes, Foundations of Computational Mathematics 15 (2015), 715-732. The step grows until
    the curvature between two points forbids it, and is then halved, as in their software (S. Becker,
    E. Candes and M. Grant, Templates for convex cone problems, Mathematical Programming Computation 3
    (2011), 165-218). With a constant step, |theta| falls like t^(-2 / alpha) where EM has t^(-1 / alpha)
    (J.-F. Aujol, C. Dossal and A. Rondepierre, SIAM Journal on Optimization 29 (2019)): the square root
    of EM's iterations, n^(3/8) at d = 1 and no more than n^(1/4) at d >= 2. With a growing one a
    multiple of ln n suffices, except where a direction is steep: along a ravine the step cannot grow,
    and what swings across it restarts the momentum. It works in natural coordinates, by plain passes.
    Not monotone.

    Parameters
    ----------
    eta : first step size, > 0.
    growth : factor by which it grows from one iterate to the next, >= 1.
    """

    eta: float = 1.0
    growth: float = 1.0 / 0.9
    update = staticmethod(_update)
    command = "nesterov"
    look = Look("#3b6fb6", "2", (0.0, (6.0, 1.5, 1.5, 1.5)), place=15)
    endless = 1.3

    @property
    def natural(self) -> bool:
        return True

    def __post_init__(self) -> None:
        checks.real(self.eta, "eta", above=0.0)
        checks.real(self.growth, "growth", above=1.0, closed="above")

    def state_size(self, p: int) -> int:
        return _REST + 3 * p
