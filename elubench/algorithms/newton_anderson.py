"""Newton-Anderson: Newton's method that estimates the order of the root as it goes.

At data from one Gaussian the gradient vanishes like theta^7 (d = 1) or |theta|^2 theta (d >= 2), so the
root of the gradient is of order 7 or 3, Newton's steps fall short by that factor, and its convergence
is linear (6/7, 2/3). Extrapolating along the last two steps makes it superlinear without knowing the
order; this is known for singular roots (S. Pollock and M. Dallas, Newton-Anderson at singular points,
International Journal of Numerical Analysis and Modeling 20 (2023); M. Dallas, S. Pollock and
L. G. Rebholz, Analysis of an adaptive safeguarded Newton-Anderson algorithm of depth one, 2023).

Three things are different here.

1. Natural coordinates (see elubench.models.base): no boundary and no steep walls.
2. The order is estimated separately in each eigendirection of the Hessian, as -dx / dw, where dx is the
   last step and dw the change of the Newton step along it. On the diagonal model a root can be of
   order 7 along an axis and of order 1 across it, so one factor cannot serve both.
3. Where the gradient predicts no further gain, the lowest eigendirection is tried once before stopping:
   at a saddle (one Gaussian is always a stationary point) the gradient does not show the way down, nor
   does the Hessian where it vanishes. With more coordinates than one, such a direction may also be a
   valley that bends away from the straight line: there Newton's steps go on until they predict much
   less. If every coordinate has a scale of its own, valleys are hyperbolas, on which the products of
   two coordinates stay the same: Newton's steps follow them (see elubench.algorithms.valleys), and the
   two ends of one are tried.

One read of the data gives loss, gradient and Hessian; every trial counts as a pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from elubench import checks
from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.valleys import bent, follow, limited, shorter, straightened
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.kernels.layout import CURVATURE, LOG_COSH, STEP, accept, finish, stay
from elubench.kernels.vectors import norm
from elubench.models.base import Model

_START, _EXTRAPOLATED, _PLAIN, _PROBE, _CURVED = 0.0, 1.0, 2.0, 3.0, 4.0
_PHASE, _GAP, _SHARE, _PROBES, _HISTORY, _SLOPE, _RESUME, _VECTORS = range(8)

_LONGEST = 2.0  # a Newton step, in units of the one-Gaussian fit, or
_LONGEST_SHARE = 0.75  # of the iterate's norm if that is more: never just onto the centre
_LEAST_ORDER, _MOST_ORDER = 0.5, 12.0
_MOST_PROBES = 4.0
_UNEQUAL = 1e3  # ratio of two coordinates' units from which on they are scaled
# at a root of order 7 or 3, what is left is 1.75 or 1.5 times what Newton's model predicts
_CAUTION = 0.4
_PLATEAU = 0.002  # the same on a plateau, where the prediction says nothing about what is left
_HELD = 10.0  # the lowest curvature that is no plateau, over the one that a probe looks into
_ONE = 1.0  # gain in log-likelihood across a valley from which on it is followed; what makes one
_COARSE = 0.01  # the same along it, below which its ends are tried, whatever the precision, ...
_MIDDLE = 0.5  # ... if the iterate is no more than this share of the way to them
_WIDTH = 0.3  # of n^(-3/8), the order of the shortest coordinates in a valley


@kernel("exact", plain=True)
def eigen(matrix: Any, vectors: Any) -> None:
    """Eigenvalues to the diagonal of a symmetric matrix, eigenvectors to the columns of `vectors`.

    Cyclic Jacobi rotations: the same bits everywhere, which a threaded library does not promise.
    """
    p = matrix.shape[0]
    for i in range(p):
        for j in range(p):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(40):
        off, on = 0.0, 0.0
        for i in range(p):
            on += matrix[i, i] * matrix[i, i]
            for j in range(i):
                off += matrix[i, j] * matrix[i, j]
        if off <= 1e-32 * on or off == 0.0:
            return
        for i in range(p - 1):
            for j in range(i + 1, p):
                if abs(matrix[i, j]) < 1e-100:  # nothing, and tau squared would overflow
                    continue
                tau = (matrix[j, j] - matrix[i, i]) / (2.0 * matrix[i, j])
                tangent = 1.0 / (abs(tau) + math.sqrt(1.0 + tau * tau))
                if tau < 0.0:
                    tangent = -tangent
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                for k in range(p):
                    one, two = matrix[k, i], matrix[k, j]
                    matrix[k, i] = cosine * one - sine * two
                    matrix[k, j] = sine * one + cosine * two
                for k in range(p):
                    one, two = matrix[i, k], matrix[j, k]
                    matrix[i, k] = cosine * one - sine * two
                    matrix[j, k] = sine * one + cosine * two
                for k in range(p):
                    one, two = vectors[k, i], vectors[k, j]
                    vectors[k, i] = cosine * one - sine * two
                    vectors[k, j] = sine * one + cosine * two


@kernel("exact", plain=True)
def _units(hessian: Any, iterate: Any, units: Any) -> None:
    """A length for each coordinate: 1, unless they would differ by so much that digits are lost.

    Between narrow components the half difference over the scale is of the order of 10^6 and the
    eigenvalues of the Hessian span 10^15. In units of a coordinate's own size, or of the length at
    which its loss changes by 1/2 if that is less, they are comparable again.
    """
    least, most = np.inf, 0.0
    for j in range(iterate.size):
        units[j] = max(1.0, abs(iterate[j]))
        if units[j] * units[j] * abs(hessian[j, j]) > 1.0:
            units[j] = 1.0 / math.sqrt(abs(hessian[j, j]))
        least, most = min(least, units[j]), max(most, units[j])
    if most < _UNEQUAL * least:
        units[:] = 1.0


@kernel("exact", plain=True)
def _decompose(hessian: Any, units: Any, vectors: Any) -> float:
    """Eigenvalues in these units to the diagonal, eigenvectors to the columns; a floor for curvature."""
    p = units.size
    for i in range(p):
        for j in range(p):
            hessian[i, j] *= units[i] * units[j]
    eigen(hessian, vectors)
    largest = 1.0
    for i in range(p):
        largest = max(largest, abs(hessian[i, i]))
    return 1e-13 * largest


@kernel("exact", plain=True)
def _newton(values: Any, vectors: Any, floor: float, gradient: Any, units: Any, step: Any) -> float:
    """Newton's step with the absolute values of the curvatures; the decrease that it predicts."""
    p, predicted = units.size, 0.0
    for j in range(p):
        step[j] = 0.0
    for i in range(p):
        slope = 0.0
        for j in range(p):
            slope += vectors[j, i] * (units[j] * gradient[j])
        curvature = max(abs(values[i, i]), floor)
        predicted += 0.5 * slope * slope / curvature
        for j in range(p):
            step[j] -= slope / curvature * (units[j] * vectors[j, i])
    return predicted


@kernel("exact", plain=True)
def _curve(width: float, gradient: Any, hessian: Any, iterate: Any, step: Any, point: Any) -> float:
    """Newton's step where valleys are straight, and the point that it leads to; the slope along it."""
    p = iterate.size
    slope, curvature, vectors = np.empty(p), np.empty((p, p)), np.empty((p, p))
    straightened(iterate, width, gradient, hessian, slope, curvature)
    eigen(curvature, vectors)
    largest = np.max(np.abs(np.diag(curvature)))
    _newton(curvature, vectors, 1e-13 * largest, slope, np.ones(p), step)
    along = limited(iterate, slope, step)
    follow(iterate, width, step, 1.0, point)
    return along


@kernel("exact", plain=True)
def _retreat(
    state: Any,
    points: Any,
    gap: float,
    gradient: Any,
    width: float,
    iterate: Any,
    newton: Any,
    curved: Any,
    report: Any,
) -> None:
    """After a rejected trial: the plain step, then shorter ones; or the other end of a valley."""
    if state[_PHASE] == _CURVED:
        rise = gap - state[_GAP]
        share = shorter(state[_SHARE], rise, state[_SLOPE], points[0], width, gradient, newton)
        state[_SHARE] = share
        report[STEP] = share
        follow(iterate, width, newton, share, points[0])
        if share == 0.0:
            finish(report)
        return
    if state[_PHASE] == _PROBE:
        if state[_SHARE] == 0.0:
            if state[_RESUME] == 0.0:
                finish(report)
                return
            state[_RESUME] = 0.0
            state[_PHASE] = _CURVED
            state[_SHARE] = 1.0
            newton[:] = curved
            follow(iterate, width, newton, 1.0, points[0])
            return
        state[_SHARE] = 0.0
        for j in range(iterate.size):
            points[0, j] = iterate[j] + newton[j]
        return
    if state[_PHASE] == _EXTRAPOLATED:
        state[_PHASE] = _PLAIN
        state[_SHARE] = 1.0
    else:
        state[_SHARE] *= 0.25
    if state[_SHARE] < 1e-7:  # no descent possible at this precision
        finish(report)
        return
    report[STEP] = state[_SHARE]
    for j in range(iterate.size):
        points[0, j] = iterate[j] + state[_SHARE] * newton[j]


@kernel("exact", signatures.UPDATE, plain=signatures.FEW)
def _update(own: Any, points: Any, answers: Any, iterate: Any, report: Any) -> None:
    """options: a decrease of the mean loss that is not worth a pass; where r^8 / 12 equals it; whether
    valleys bend; 1 / n.
    """
    options, state = own.options, own.state
    gradient, gap, hessian = answers.gradient, answers.gap, answers.hessian
    p = iterate.size
    target = options[0]
    width = _WIDTH * options[3] ** 0.375
    newton = state[_VECTORS : _VECTORS + p]
    last_newton = state[_VECTORS + p : _VECTORS + 2 * p]
    last = state[_VECTORS + 2 * p : _VECTORS + 3 * p]
    phase = state[_PHASE]
    stay(report, 1.0)

    ceiling = state[_GAP] - (0.5 * target if phase == _PROBE else 0.0)
    if phase != _START and not (gap[0] <= ceiling):
        _retreat(state, points, gap[0], gradient[0], width, iterate, newton, last_newton, report)
        return
    state[_HISTORY] = 1.0 if phase in (_EXTRAPOLATED, _PLAIN) else 0.0
    for j in range(p):
        last[j] = iterate[j]
        last_newton[j] = newton[j]
        iterate[j] = points[0, j]
    if phase != _START:
        accept(report, 1.0)
    state[_GAP] = gap[0]
    state[_RESUME] = 0.0

    bends = p > 1 and options[2] != 0.0
    whole = hessian[0].copy() if bends else hessian[0]
    values, vectors, units = hessian[0], np.empty((p, p)), np.empty(p)
    _units(values, iterate, units)
    floor = _decompose(values, units, vectors)
    lowest = 0
    for i in range(p):
        if values[i, i] < values[lowest, lowest]:
            lowest = i
    predicted = _newton(values, vectors, floor, gradient[0], units, newton)
    length, longest = norm(newton), max(_LONGEST, _LONGEST_SHARE * norm(iterate))
    if length > longest:
        for j in range(p):
            newton[j] *= longest / length
        length = longest

    value = values[lowest, lowest]
    down = 0.0
    for j in range(p):
        down += vectors[j, lowest] * (units[j] * gradient[0, j])
    # in the lowest direction a valley may be so flat that Newton's model predicts anything
    across = predicted - 0.5 * down * down / max(abs(value), floor)
    # a direction that the Hessian does not hold may be a valley that bends: with more coordinates
    # than one its floor falls where the straight line rises, and only Newton's steps can follow it
    held = p == 1 or 0.5 * value * options[1] * options[1] > _HELD * target
    if predicted < (_CAUTION if held or bends else _PLATEAU) * target:
        along, reach, ends = 0.0, 0.0, 0
        direction, probe = np.empty(p), np.empty(p)
        for j in range(p):
            along += vectors[j, lowest] * iterate[j] / units[j]
            direction[j] = units[j] * vectors[j, lowest]
        if value < 0.0 and 0.25 * value * value > target:
            reach = math.sqrt(-value)  # the bottom of value r^2 / 2 + r^4 / 4, as at d >= 2
        elif not bends and 0.5 * value * options[1] * options[1] < target:
            # the Hessian does not hold this direction; along it the loss may fall like -r^4 to the
            # bottom of r^8 / 12, as at d = 1
            reach = max(options[1] - abs(along), 0.0)
        if reach > 0.0:
            ends = 1
            reach = reach if along >= 0.0 else -reach
            for j in range(p):
                probe[j] = reach * units[j] * vectors[j, lowest]
        elif bends and not held:
            ends = bent(iterate, direction, options[1], probe, newton)
        if ends == 0 or state[_PROBES] >= _MOST_PROBES:
            finish(report)
            return
        state[_PROBES] += 1.0
        state[_PHASE] = _PROBE
        state[_SHARE] = ends - 1.0
        for j in range(p):
            points[0, j] = iterate[j] + probe[j]
        return

    small = _ONE * options[3]
    if bends and across < small and 0.5 * value * (12.0 * small) ** 0.25 < _HELD * small:
        state[_PHASE] = _CURVED
        state[_SHARE] = 1.0
        state[_SLOPE] = _curve(width, gradient[0], whole, iterate, newton, points[0])
        coarse = _COARSE * options[3]
        far = (12.0 * coarse) ** 0.125
        if (
            state[_PROBES] == 0.0
            and predicted < _CAUTION * coarse
            and np.max(np.abs(iterate)) < _MIDDLE * far
            and 0.5 * value * far * far < _HELD * coarse
        ):
            probe, direction = np.empty(p), np.empty(p)
            for j in range(p):
                last_newton[j] = newton[j]
                direction[j] = units[j] * vectors[j, lowest]
            ends = bent(iterate, direction, far, probe, newton)
            if ends > 0:
                state[_PROBES] += 1.0
                state[_PHASE] = _PROBE
                state[_SHARE] = ends - 1.0
                state[_RESUME] = 1.0
                for j in range(p):
                    points[0, j] = iterate[j] + probe[j]
        return

    state[_PHASE] = _PLAIN
    state[_SHARE] = 1.0
    for j in range(p):
        points[0, j] = iterate[j] + newton[j]
    if state[_HISTORY] == 0.0:
        return
    trial = np.zeros(p)
    for i in range(p):
        moved, changed, step = 0.0, 0.0, 0.0
        for j in range(p):
            moved += vectors[j, i] * ((iterate[j] - last[j]) / units[j])
            changed += vectors[j, i] * ((newton[j] - last_newton[j]) / units[j])
            step += vectors[j, i] * (newton[j] / units[j])
        order = 1.0 if changed == 0.0 else -moved / changed
        order = min(max(order, _LEAST_ORDER), _MOST_ORDER)
        for j in range(p):
            trial[j] += order * step * (units[j] * vectors[j, i])
    extrapolated = norm(trial)
    if extrapolated <= 2.0 * max(norm(iterate), length):
        state[_PHASE] = _EXTRAPOLATED
        report[STEP] = extrapolated / length
        for j in range(p):
            points[0, j] = iterate[j] + trial[j]


@dataclass(frozen=True)
class NewtonAnderson(Algorithm):
    """Safeguarded Newton with an extrapolation that adapts to the order of the root; new here.

    Monotone in the loss. It stops by itself when the predicted decrease of the mean loss is below
    ``precision`` / n, that is, when the log-likelihood would gain less than ``precision`` in total.

    The second-order sums cost O(n d^2): a pass with them takes as long as 1.4 plain ones at d = 1, 1.5
    at d = 4, three at d = 16 and nine at d = 64 (one thread, rows in the cache). Beyond d = ``up_to``
    use :class:`LBFGS`.

    Parameters
    ----------
    precision : gain in log-likelihood that is not worth another pass, > 0.
    """

    precision: float = 0.01
    #: The largest d at which second-order passes are worth their cost.
    up_to: ClassVar[int] = 32
    #: Whether the model's valleys are hyperbolas; ``resolve`` knows.
    bends: ClassVar[bool] = False
    update = staticmethod(_update)
    command = "newton-anderson"
    look = Look("#000000", "P", "-", 1.6, place=3)
    typical_passes = 20.0
    want = LOG_COSH | CURVATURE

    def __post_init__(self) -> None:
        checks.real(self.precision, "precision", above=0.0)

    @property
    def natural(self) -> bool:
        return True

    def resolve(self, model: Model) -> NewtonAnderson:
        super().resolve(model)
        bends = "scale per coordinate" in model.features
        resolved = self if bends == self.bends else replace(self)
        if resolved is not self:
            object.__setattr__(resolved, "bends", bends)
        return resolved

    def options(self, rows: float = 1.0) -> Floats:
        target = self.precision / rows
        return np.array([target, (12.0 * target) ** 0.125, float(self.bends), 1.0 / rows])

    def state_size(self, p: int) -> int:
        return _VECTORS + 3 * p
