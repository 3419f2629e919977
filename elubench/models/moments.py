"""Two components from the moments of one read: no start and no iteration over the data.

K. Pearson, Contributions to the mathematical theory of evolution, Philosophical Transactions of the
Royal Society A 185 (1894), 71-110, for one coordinate. All steps here are half differences of the
locations in units of the one-Gaussian fit, from moments about its centre.

d = 1. The fourth cumulant of the components' places -t and t is -2 t^4, and a Gaussian adds nothing.

d >= 2, one scale. The covariance is s I + t t^T: its leading eigenvector, and what its eigenvalue has
more than the others.

d >= 2, a scale per coordinate. Correlations are t_i t_j, i != j; the diagonal says nothing. On one
Gaussian these are the larger effect, but with two coordinates any t of the same product has the same
correlation, and components that differ along one axis leave none: there the fourth cumulant decides,
and the correlations with that coordinate say what the others are.
"""

from __future__ import annotations

import math

import numpy as np

from elubench.checks import Floats
from elubench.samples.base import Shape

#: Of the variance, what may lie between the components: the scale stays positive.
MOST = 1.0 - 2.0**-30
# Not to the end: where no t fits, one coordinate grows without bound while the others vanish. Each
# factoring halves what is missing of a coordinate's share at d = 2, and more beyond.
_FACTORINGS = 12
_SWEEPS = 40  # of least squares, which go to the end
_SMALL = 1e-12
_KEPT_AXES = 2  # candidates along an axis that are worth comparing


def along_one(variance: float, fourth: float) -> float:
    """The half difference at d = 1, from second and fourth moments; 0 where tails are heavy."""
    quartic = max(0.5 * (3.0 * variance * variance - fourth), 0.0)
    return math.sqrt(min(math.sqrt(quartic), MOST * variance))


def along_leading(length: float, direction: Floats, total: float) -> Floats:
    """The half difference (d,) from the leading eigenpair and the trace of the second moments."""
    d = len(direction)
    rest = (total - length) / (d - 1)
    square = min(max(length - rest, 0.0), MOST * total)
    return math.sqrt(square) * direction


def one_scale(shape: Shape) -> Floats:
    """The half difference (d,) of a model with one scale."""
    if len(shape.fourth) == 1:
        return np.array([along_one(float(shape.second[0, 0]), float(shape.fourth[0]))])
    values, vectors = np.linalg.eigh(shape.second)
    return along_leading(float(values[-1]), upright(vectors[:, -1]), float(np.sum(values)))


def one_factor(correlations: Floats) -> Floats:
    """A short t (d,) with t_i t_j close to the correlations off the diagonal: principal factors."""
    off = correlations - np.diag(np.diagonal(correlations))
    t = np.zeros(len(off))
    for _ in range(_FACTORINGS):
        values, vectors = np.linalg.eigh(off + np.diag(t * t))
        t = _limited(math.sqrt(max(values[-1], 0.0)) * vectors[:, -1])
    return upright(t)


def least_squares(correlations: Floats, start: Floats) -> Floats:
    """The t (d,) with t_i t_j closest to the correlations off the diagonal, coordinate by coordinate."""
    off = correlations - np.diag(np.diagonal(correlations))
    t = start.copy()
    for _ in range(_SWEEPS):
        before = t.copy()
        for j in range(len(t)):
            others = float(t @ t - t[j] * t[j])
            if others > _SMALL * float(t @ t):
                t[j] = float(off[j] @ t) / others
        t = _limited(t)
        if np.max(np.abs(t - before)) <= _SMALL:
            break
    return t


def along_axes(shape: Shape) -> list[Floats]:
    """Steps (d,) close to an axis, the other coordinates from their correlations with it; best first.

    To leading order a row's log-likelihood gains r^2 / 2 from a correlation r that t explains and
    -k t^4 / 12 - t^8 / 12 from an excess kurtosis k. With k > 0 the axis is worth it only for its
    correlations: the products of the other coordinates, which are small where t is large, then cost as
    much as k does.
    """
    second, kurtosis = shape.second, shape.excess_kurtosis
    gains, steps = [], []
    for j, k in enumerate(kurtosis):
        squares = float(np.sum(second[j] ** 2) - second[j, j] ** 2)
        along = along_one(float(second[j, j]), float(shape.fourth[j]))
        if k > 0.0:
            along = min((6.0 * squares * squares / k) ** 0.125, math.sqrt(0.5))
        if along > 0.0:
            step = np.clip(second[j] / along, -along, along)
            step[j] = along
            steps.append(step)
            gains.append(0.5 * squares - k * along**4 / 12.0 - along**8 / 12.0)
    return [steps[place] for place in np.argsort(gains)[: -_KEPT_AXES - 1 : -1]]


def _limited(t: Floats) -> Floats:
    limit = math.sqrt(MOST)
    clipped: Floats = np.clip(t, -limit, limit)
    return clipped


def upright(direction: Floats) -> Floats:
    """One of the two signs: that with a positive largest coordinate."""
    return -direction if direction[np.argmax(np.abs(direction))] < 0.0 else direction
