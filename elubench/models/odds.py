"""The algebra of two free locations with one scale and weights that are free, or given.

After theta_1 and theta_2 there is one more number, half the log odds, h = (1/2) log(w_2 / w_1), so that
w_2 - w_1 = tanh h. The data enter through

    y = (x - m).u + h,   f = (f of equal weights, with this y) + log cosh h,

so it is the same pass with another b. EM's new weights are (1 -+ T0) / 2, df/dh = tanh h - T0, and a
stationary point has its scale on the same curve as with equal weights. The log odds rather than a
weight: there is no boundary, y is linear in h, so that natural coordinates have a Hessian without
third-order terms here, too, and exchanging the labels changes a sign. If the weights are given, h is
held: EM's step and the gradient leave it where it is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.kernels import kernel, layout, signatures
from elubench.models import locations
from elubench.models.base import Algebra, Natural


@kernel("exact")
def _log_cosh(h: float) -> float:
    return abs(h) + math.log1p(math.exp(-2.0 * abs(h))) - math.log(2.0)


@kernel("exact")
def _sech2(h: float) -> float:
    e = math.exp(-2.0 * abs(h))
    return 4.0 * e / ((1.0 + e) * (1.0 + e))


@kernel("exact", signatures.DIRECTION)
def _direction(params: Any, m1: Any, m2: Any, u: Any) -> float:
    return locations.direction(params, m1, m2, u) + params[-1]


@kernel("exact", signatures.GAP)
def _gap(params: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    return locations.gap(params, m1, m2, e1, e2, log_cosh - _log_cosh(params[-1]))


@kernel("exact", signatures.RESPOND)
def _respond(params: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    locations.respond(params, m1, m2, sums, em, gradient)
    _move(params, sums, em, gradient)


@kernel("exact", signatures.RESPOND)
def _respond_held(params: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    locations.respond(params, m1, m2, sums, em, gradient)
    _hold(params, em, gradient)


@kernel("exact")
def _move(params: Any, sums: Any, em: Any, gradient: Any) -> None:
    t0 = sums[layout.T0]
    inside = abs(t0) < 1.0  # else one component has no row left
    em[-1] = 0.5 * (math.log1p(t0) - math.log1p(-t0)) if inside else np.nan
    gradient[-1] = math.tanh(params[-1]) - t0


@kernel("exact")
def _hold(params: Any, em: Any, gradient: Any) -> None:
    held = gradient[0] - gradient[0]  # 0, or NaN where everything is
    em[-1] = params[-1] + held
    gradient[-1] = held


@kernel("exact")
def _hold_hessian(out: Any) -> None:
    """No curvature with the others; its own is 1, so that a step of Newton's is 0."""
    out[-1, :] = 0.0
    out[:, -1] = 0.0
    out[-1, -1] = 1.0


@kernel("exact", signatures.HESSIAN)
def _hessian(params: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """The last column is the derivative by h of the gradient in locations.respond."""
    locations.hessian(params, m1, m2, sums, out)
    d = m1.size
    s = locations.parts(params, m1, m2)[2]
    c0, c1 = sums[layout.c0_at(d)], layout.c1_at(d)
    w = 0.0
    for j in range(d):
        m = 0.5 * (params[j] + params[d + j])
        w += (sums[c1 + j] - c0 * m) * 0.5 * (params[d + j] - params[j])
    w *= 2.0 / (d * s)
    for j in range(d):
        delta = 0.5 * (params[d + j] - params[j])
        m = 0.5 * (params[j] + params[d + j])
        by_m = c0 * delta / s + w * ((m - m1[j]) / s)
        by_delta = -(sums[c1 + j] - c0 * m) / s - w * (delta / s)
        out[j, -1] = 0.5 * (by_m - by_delta)
        out[d + j, -1] = 0.5 * (by_m + by_delta)
        out[-1, j] = out[j, -1]
        out[-1, d + j] = out[d + j, -1]
    out[-1, -1] = _sech2(params[-1]) - c0


@kernel("exact", signatures.HESSIAN)
def _hessian_held(params: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    locations.hessian(params, m1, m2, sums, out)
    _hold_hessian(out)


@kernel("exact", signatures.ERROR)
def _error(params: Any, m1: Any, m2: Any, truth: Any) -> float:
    """Wasserstein-2 distance of the mixing measures.

    The cost is linear in the mass that stays with the first location, so it is least at one end.
    """
    d = params.size // 2
    costs = np.zeros((2, 2))
    for i in range(2):
        for k in range(2):
            for j in range(d):
                costs[i, k] += (params[i * d + j] - truth[k * d + j]) ** 2
    one, other = 0.5 - 0.5 * math.tanh(params[-1]), 0.5 - 0.5 * math.tanh(truth[-1])
    least = np.inf
    for mass in (min(one, other), max(0.0, one + other - 1.0)):
        cost = mass * costs[0, 0] + (one - mass) * costs[0, 1] + (other - mass) * costs[1, 0]
        least = min(least, cost + max(0.0, 1.0 - one - other + mass) * costs[1, 1])
    return math.sqrt(least)


# Natural coordinates: (epsilon, phi, h).


@kernel("exact", signatures.CHANGE)
def _from_locations(params: Any, m1: Any, m2: Any, point: Any) -> None:
    locations.from_locations(params, m1, m2, point)
    point[-1] = params[-1]


@kernel("exact", signatures.CHANGE)
def _to_locations(point: Any, m1: Any, m2: Any, params: Any) -> None:
    locations.to_locations(point, m1, m2, params)
    params[-1] = point[-1]


@kernel("exact", signatures.DIRECTION)
def _natural_direction(point: Any, m1: Any, m2: Any, u: Any) -> float:
    return locations.natural_direction(point, m1, m2, u) + point[-1]


@kernel("exact", signatures.GAP)
def _natural_gap(point: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    return locations.natural_gap(point, m1, m2, e1, e2, log_cosh - _log_cosh(point[-1]))


@kernel("exact", signatures.RESPOND)
def _natural_respond(point: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    locations.natural_respond(point, m1, m2, sums, em, gradient)
    _move(point, sums, em, gradient)


@kernel("exact", signatures.RESPOND)
def _natural_respond_held(point: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    locations.natural_respond(point, m1, m2, sums, em, gradient)
    _hold(point, em, gradient)


@kernel("exact", signatures.HESSIAN)
def _natural_hessian(point: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    locations.natural_hessian(point, m1, m2, sums, out)
    d = m1.size
    root = math.sqrt(locations.spread(m1, m2))
    c0, c1 = sums[layout.c0_at(d)], layout.c1_at(d)
    for j in range(d):
        out[j, -1] = c0 * point[d + j]
        out[d + j, -1] = (c0 * (m1[j] + root * point[j]) - sums[c1 + j]) / root
        out[-1, j] = out[j, -1]
        out[-1, d + j] = out[d + j, -1]
    out[-1, -1] = _sech2(point[-1]) - c0


@kernel("exact", signatures.HESSIAN)
def _natural_hessian_held(point: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    locations.natural_hessian(point, m1, m2, sums, out)
    _hold_hessian(out)


@kernel("exact", signatures.ERROR)
def _natural_error(point: Any, m1: Any, m2: Any, truth: Any) -> float:
    params = np.empty(point.size)
    _to_locations(point, m1, m2, params)
    return _error(params, m1, m2, truth)


FREE = Algebra(locations.scale, _direction, _respond, _gap, _hessian, _error)
HELD = FREE._replace(respond=_respond_held, hessian=_hessian_held)
_natural = Algebra(
    locations.natural_scale,
    _natural_direction,
    _natural_respond,
    _natural_gap,
    _natural_hessian,
    _natural_error,
)
FREE_NATURAL = Natural(_natural, _from_locations, _to_locations)
HELD_NATURAL = FREE_NATURAL._replace(
    algebra=_natural._replace(respond=_natural_respond_held, hessian=_natural_hessian_held)
)
