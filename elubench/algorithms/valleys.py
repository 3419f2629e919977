"""Steps along valleys that are hyperbolas: where every coordinate has a scale of its own.

Data from one Gaussian have a loss of, to leading order, the sum over pairs of -R_ij t_i t_j +
(t_i t_j)^2 / 2 with correlations R_ij of order n^(-1/2). Its bottom is a valley on which the product of
two coordinates stays the same, from t_i = t_j of order n^(-1/4) to the axes, where kurtosis makes holes
at n^(-1/8) and the other coordinate is of order n^(-3/8). A straight step leaves it at once.

In a = arsinh(t / width) such a valley is straight, as for a logarithm, and a coordinate may change its
sign. ``width`` is of the order of the shortest coordinates in a valley.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.kernels import kernel

_LONGEST = 1.2  # a step, of each coordinate: three times as long, or a third
_FAR = 0.25  # from here on a step along the valley is not left to the curvature
_LEAST, _MOST = 0.1, 0.6  # what is left of a step that led upwards
_SHORTEST = 1e-6


@kernel("exact", plain=True)
def straightened(
    iterate: Any, width: float, gradient: Any, hessian: Any, slope: Any, curvature: Any
) -> None:
    """Gradient and Hessian in the coordinates in which valleys are straight."""
    for i in range(iterate.size):
        rate = math.sqrt(iterate[i] * iterate[i] + width * width)
        slope[i] = rate * gradient[i]
        for j in range(iterate.size):
            other = math.sqrt(iterate[j] * iterate[j] + width * width)
            curvature[i, j] = rate * hessian[i, j] * other
        curvature[i, i] += iterate[i] * gradient[i]


@kernel("exact", plain=True)
def _to_hole(coordinate: float, slope: float) -> float:
    """How much a coordinate's logarithm changes to the bottom of p t^4 + t^8 / 12, if it has this slope.

    It is the loss along an axis, in locations; what kurtosis contributes is p t^4.
    """
    size = abs(coordinate)
    t = 2.0 * size / (1.0 + math.sqrt(1.0 + 4.0 * size * size))
    eighth = t**8 / 12.0
    fourth = 0.25 * (slope * (1.0 + t * t) / (1.0 - t * t) - 8.0 * eighth)
    if fourth >= 0.0:
        return -_LONGEST
    if -fourth > 1e3 * eighth:
        return _LONGEST
    bottom = min(t * (-0.5 * fourth / eighth) ** 0.25, 0.99)
    return math.log(bottom / (1.0 - bottom * bottom) / size)


@kernel("exact", plain=True)
def limited(iterate: Any, slope: Any, step: Any) -> float:
    """Cut Newton's step: to a hole, and to a length that is never too much; the slope along it.

    Where the curvature is negative or close to 0 it says nothing about the length of a step.
    """
    p = step.size
    most, down, longest = 0.0, 0.0, 0
    for j in range(p):
        most = max(most, abs(step[j]))
        down += slope[j] * step[j]
        if abs(step[j] * iterate[j]) > abs(step[longest] * iterate[longest]):
            longest = j
    share = 1.0 if most < _LONGEST else _LONGEST / most
    growth = step[longest] if iterate[longest] >= 0.0 else -step[longest]
    if abs(growth) > _FAR:
        share = min(share, _to_hole(iterate[longest], down / growth) / growth)
    for j in range(p):
        step[j] *= share
    return share * down


@kernel("exact", plain=True)
def follow(iterate: Any, width: float, step: Any, share: float, point: Any) -> None:
    """The point at this share of a step."""
    for j in range(iterate.size):
        far, rate = share * step[j], math.sqrt(iterate[j] * iterate[j] + width * width)
        point[j] = iterate[j] * math.cosh(far) + rate * math.sinh(far)


@kernel("exact", plain=True)
def shorter(
    share: float, rise: float, before: float, point: Any, width: float, gradient: Any, step: Any
) -> float:
    """The share of a step that led upwards by ``rise`` to try next; 0 for none.

    It is the lowest point of the cubic with this rise and the slopes along the step at both ends;
    ``before`` is that at the iterate.
    """
    after = 0.0
    for j in range(point.size):
        after += gradient[j] * math.sqrt(point[j] * point[j] + width * width) * step[j]
    low, high = share * before, share * after
    bend, twist = 3.0 * rise - 2.0 * low - high, low + high - 2.0 * rise
    root = bend * bend - 3.0 * twist * low
    part = (
        _MOST if math.isfinite(root) else _LEAST
    )  # no loss is known where scales are not positive
    if root >= 0.0 and bend + math.sqrt(root) > 0.0:
        part = -low / (bend + math.sqrt(root))
    share *= min(max(part, _LEAST), _MOST)
    return share if share > _SHORTEST else 0.0


@kernel("exact", plain=True)
def bent(iterate: Any, direction: Any, reach: float, one: Any, other: Any) -> int:
    """Steps to both ends of the hyperbola that has this direction here; the number of them.

    A coordinate that grows does so until it is ``reach``; one that shrinks keeps its sign.
    """
    found = 0
    for sign in (1.0, -1.0):
        length = np.inf
        for j in range(iterate.size):
            if direction[j] != 0.0 and sign * direction[j] * iterate[j] >= 0.0:
                length = min(length, (reach - abs(iterate[j])) / abs(direction[j]))
        if not 0.0 < length < np.inf:
            continue
        step = other if found else one
        for j in range(iterate.size):
            step[j] = sign * length * direction[j]
            if step[j] * iterate[j] < 0.0:
                step[j] /= 1.0 - step[j] / iterate[j]
        found += 1
    return found
