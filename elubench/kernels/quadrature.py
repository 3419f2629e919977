"""The points and weights of a bin from its sums of powers: Gauss quadrature.

Eight points with positive weights have the same sixteen sums as the rows of a bin. Chebyshev's algorithm
finds their Jacobi matrix, whose eigenvalues are the points. Rows that fill a bin evenly have almost the
points of the uniform density, from which Newton's method needs three or four steps, all points at once.
Where it does not find eight points that are well apart, the eigenvalues are computed, and the first
components of the eigenvectors are the roots of the weights (Golub, Welsch). A bin with fewer distinct
rows has as few points.

Where rows crowd, the last numbers of the matrix are rounding. They decide where the points are, but not
what the lower sums are, which only the first numbers make. So a point may lie just outside of the bin,
where moving it back would change all sums; if it is farther out, the matrix is cut short.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel
from elubench.kernels.lanes import absolute, added, load, store, zeros

POINTS = 8  # of a bin: as many as there are lanes
POWERS = 2 * POINTS  # 0 to 15
SCRATCH = 5  # rows of POWERS numbers each that a bin needs meanwhile

# the points of the uniform density, where Newton's method begins; its steps, and their size at its end
_EVEN = np.array([-0.4801, -0.3983, -0.2628, -0.0917, 0.0917, 0.2628, 0.3983, 0.4801])
_STEPS, _ENDED = 8, 1e-14
_APART = 1e-3  # points that are closer may be one that was found twice
_EDGE = 0.51  # how far from the middle of a bin a point may lie
_NOTHING = 1e-15  # of a bin's weight: what is left after subtraction below this is rounding
_TURNS = 60  # of the QL iteration; two for each eigenvalue are usual


@kernel("exact", counted=False)
def _jacobi(sums: Any, old: Any, new: Any, diagonal: Any, beside: Any, most: int) -> int:
    """Chebyshev's algorithm: the Jacobi matrix of a measure from its sums of powers; its order <= most.

    ``beside`` are the squares of the numbers beside the diagonal, from the second place on. It ends
    early at a measure of fewer points, where what is left is rounding.
    """
    weight = sums[0]
    for j in range(POWERS):
        old[j] = 0.0
        new[j] = sums[j] / weight
    diagonal[0] = new[1]
    beside[0] = 0.0
    ratio, norm, beta = new[1], 1.0, 0.0
    for k in range(1, most):
        for j in range(k, POWERS - k):
            old[j] = new[j + 1] - diagonal[k - 1] * new[j] - beta * old[j]
        old, new = new, old
        left = new[k]
        if not left > _NOTHING:
            return k
        beta = left / norm
        centre = new[k + 1] / left - ratio
        if beta > _EDGE * _EDGE or abs(centre) > _EDGE:
            return k
        diagonal[k] = centre
        beside[k] = beta
        ratio, norm = new[k + 1] / left, left
    return most


@kernel("exact", counted=False)
def _by_newton(total: float, d: Any, e: Any, points: Any, weights: Any) -> bool:
    """Points and weights from the diagonal d and the squares e[1:] beside it; False if not found.

    The points are the roots of p_8, where p_(k+1) = (x - d_k) p_k - e_k p_(k-1).
    """
    x = load(_EVEN, 0)
    for _ in range(_STEPS):
        before, here = zeros(), zeros() + 1.0
        slope_before, slope = zeros(), zeros()
        for k in range(POINTS):
            t = x - d[k]
            slope_before, slope = slope, here + t * slope - e[k] * slope_before
            before, here = here, t * here - e[k] * before
        step = here / slope
        x = x - step
        if added(absolute(step)) <= _ENDED:
            store(points, 0, x)
            store(weights, 0, total * _shares(x, d, e))
            for k in range(1, POINTS):
                if not points[k] - points[k - 1] > _APART:
                    return False
            return points[0] >= -_EDGE and points[POINTS - 1] <= _EDGE
    return False


@kernel("exact", counted=False)
def _shares(x: Any, d: Any, e: Any) -> Any:
    """What the points weigh of a total of 1: 1 / sum of p_k^2 / (e_1 ... e_k), k = 0 to 7.

    This is off by the rounding of x times a hundred. So the sums of w p_k, which are 1, 0, 0, ..., are
    taken, and what they are off is subtracted: p_k(x_i) (w_i / e_1 ... e_k)^(1/2) are orthogonal.
    """
    before, here = zeros(), zeros() + 1.0
    square, norm = here, 1.0
    for k in range(POINTS - 1):
        before, here = here, (x - d[k]) * here - e[k] * before
        norm *= e[k + 1]
        square = square + here * here / norm
    shares = 1.0 / square
    before, here = zeros(), zeros() + 1.0
    excess, norm = here * (added(shares) - 1.0), 1.0
    for k in range(POINTS - 1):
        before, here = here, (x - d[k]) * here - e[k] * before
        norm *= e[k + 1]
        excess = excess + here * (added(shares * here) / norm)
    return shares - shares * excess


@kernel("exact", counted=False)
def _eigen(count: int, d: Any, e: Any, first: Any) -> bool:
    """Eigenvalues d and first components of the eigenvectors of a Jacobi matrix, by implicit QL.

    e[1:] are the squares of what is beside the diagonal. All of d and e is overwritten. False if the
    iteration does not end.
    """
    for i in range(count):
        first[i] = 0.0
    first[0] = 1.0
    for i in range(1, count):
        e[i - 1] = math.sqrt(e[i])
    e[count - 1] = 0.0
    for low in range(count):
        for turn in range(_TURNS + 1):
            high = low
            while high < count - 1:
                near = abs(d[high]) + abs(d[high + 1])
                if abs(e[high]) <= 1e-17 or abs(e[high]) <= 1.1e-16 * near:
                    break
                high += 1
            if high == low:
                break
            if turn == _TURNS:
                return False
            g = (d[low + 1] - d[low]) / (2.0 * e[low])
            r = math.sqrt(g * g + 1.0)
            g = d[high] - d[low] + e[low] / (g + math.copysign(r, g))
            sine, cosine, p = 1.0, 1.0, 0.0
            ended = False
            for i in range(high - 1, low - 1, -1):
                f, b = sine * e[i], cosine * e[i]
                r = math.sqrt(f * f + g * g)
                e[i + 1] = r
                if r == 0.0:
                    d[i + 1] -= p
                    e[high] = 0.0
                    ended = True
                    break
                sine, cosine = f / r, g / r
                g = d[i + 1] - p
                r = (d[i] - g) * sine + 2.0 * cosine * b
                p = sine * r
                d[i + 1] = g + p
                g = cosine * r - b
                f = first[i + 1]
                first[i + 1] = sine * first[i] + cosine * f
                first[i] = cosine * first[i] - sine * f
            if not ended:
                d[low] -= p
                e[low] = g
                e[high] = 0.0
    return True


@kernel("exact", counted=False)
def _points_of(sums: Any, room: Any, points: Any, weights: Any) -> int:
    """Points t and weights of one bin; how many there are. ``room`` is (SCRATCH, POWERS)."""
    if not sums[0] > 0.0:
        return 0
    diagonal, beside, first = room[0], room[1], room[2]
    for most in range(POINTS, 1, -1):
        count = _jacobi(sums, room[3], room[4], diagonal, beside, most)
        if count == POINTS and _by_newton(sums[0], diagonal, beside, points, weights):
            return count
        inside = _eigen(count, diagonal, beside, first)
        for i in range(count):
            points[i] = diagonal[i]
            weights[i] = sums[0] * first[i] * first[i]
            inside = inside and abs(points[i]) <= _EDGE
        if inside:
            return count
    points[0] = sums[1] / sums[0]
    weights[0] = sums[0]
    return 1


_matrix = types.float64[:, ::1]
_MAKE = types.void(_matrix, types.float64[:, :, ::1], _matrix, _matrix, types.int64[::1])


@kernel("parallel", _MAKE)
def points_parallel(sums: Any, room: Any, points: Any, weights: Any, counts: Any) -> None:
    """Sums (bins, POWERS) to points and weights (bins, POINTS), of which the first counts[k] hold.

    ``room`` is (bins, SCRATCH, POWERS).
    """
    for k in prange(counts.size):
        counts[k] = _points_of(
            borrow(sums)[k], borrow(room)[k], borrow(points)[k], borrow(weights)[k]
        )


@kernel("exact", _MAKE)
def points_serial(sums: Any, room: Any, points: Any, weights: Any, counts: Any) -> None:
    """The same in the calling thread."""
    for k in range(counts.size):
        counts[k] = _points_of(sums[k], room[k], points[k], weights[k])
