"""The algebra of two free locations with one scale and equal weights, Algorithm 3's model.

Parameters are theta_1 followed by theta_2. With the half sum m and the half difference delta
(2 minus 1), e = m - m1, v0 = (sum(m2) - |m1|^2) / d:

    s = v0 + (|e|^2 - |delta|^2) / d,   u = delta / s,   b = -m.u
    f = (d/2) log s + |delta|^2 / s - mean log cosh((x - m).u)    up to a constant.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.kernels import kernel, layout, signatures
from elubench.models.base import Algebra, Natural


@kernel("exact", plain=True)
def spread(m1: Any, m2: Any) -> float:
    """v0, the scale of the one-Gaussian fit."""
    total = 0.0
    for j in range(m1.size):
        total += m2[j] - m1[j] * m1[j]
    return total / m1.size


@kernel("exact", plain=True)
def parts(params: Any, m1: Any, m2: Any) -> tuple[float, float, float]:
    """|e|^2, |delta|^2 and s."""
    d = m1.size
    e_square, delta_square = 0.0, 0.0
    for j in range(d):
        e = 0.5 * (params[j] + params[d + j]) - m1[j]
        delta = 0.5 * (params[d + j] - params[j])
        e_square += e * e
        delta_square += delta * delta
    return e_square, delta_square, spread(m1, m2) + (e_square - delta_square) / d


@kernel("exact", signatures.SCALE, plain=signatures.SMALL)
def scale(params: Any, m1: Any, m2: Any, out: Any) -> None:
    """The scale on the curve."""
    out[0] = parts(params, m1, m2)[2]


@kernel("exact", signatures.DIRECTION, plain=signatures.SMALL)
def direction(params: Any, m1: Any, m2: Any, u: Any) -> float:
    """u = delta / s; returns b."""
    d = m1.size
    s = parts(params, m1, m2)[2]
    if not (s > 0.0):
        u[:] = np.nan
        return np.nan
    b = 0.0
    for j in range(d):
        u[j] = 0.5 * (params[d + j] - params[j]) / s
        b -= 0.5 * (params[j] + params[d + j]) * u[j]
    return b


@kernel("exact", signatures.RESPOND, plain=signatures.SMALL)
def respond(params: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """The EM step, and the gradient through m and delta.

    With r = T1 - T0 m and w = (r - delta).delta / s^2:

    df/dm     = (e + T0 delta) / s + (2/d) w e,
    df/ddelta = (delta - r) / s - (2/d) w delta.
    """
    d = m1.size
    _, _, s = parts(params, m1, m2)
    t0 = sums[layout.T0]
    w = 0.0
    for j in range(d):
        delta = 0.5 * (params[d + j] - params[j])
        m = 0.5 * (params[j] + params[d + j])
        w += (sums[layout.T1 + j] - t0 * m - delta) * delta
    w *= 2.0 / (d * s)
    for j in range(d):
        delta = 0.5 * (params[d + j] - params[j])
        m = 0.5 * (params[j] + params[d + j])
        by_m = (m - m1[j] + t0 * delta) / s + w * ((m - m1[j]) / s)
        by_delta = (delta - (sums[layout.T1 + j] - t0 * m)) / s - w * (delta / s)
        gradient[j] = 0.5 * (by_m - by_delta)
        gradient[d + j] = 0.5 * (by_m + by_delta)
        em[j] = (m1[j] - sums[layout.T1 + j]) / (1.0 - t0)
        em[d + j] = (m1[j] + sums[layout.T1 + j]) / (1.0 + t0)


@kernel("exact", plain=True)
def _gap_at(e: Any, q: float, delta_square: float, s: float, m1: Any, e1: Any, e2: Any) -> float:
    """The gap without log cosh; s = v0 (1 - q) is exactly the scale in the direction u, e is m - m1.

    Terms that do not vanish at theta_1 = theta_2 = m1 have been cancelled by hand.
    """
    if not s > 0.0:
        return np.nan
    shift, evaluated = 0.0, 0.0
    for j in range(m1.size):
        shift += e[j] * (e[j] + 2.0 * (m1[j] - e1[j]))
        evaluated += e2[j] - 2.0 * m1[j] * e1[j] + m1[j] * m1[j]
    return 0.5 * m1.size * math.log1p(-q) + (evaluated * q + shift + delta_square) / (2.0 * s)


@kernel("exact", signatures.GAP, plain=signatures.SMALL)
def gap(params: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    """The loss less that of one Gaussian."""
    d = m1.size
    e_square, delta_square, s = parts(params, m1, m2)
    e = np.empty(d)
    for j in range(d):
        e[j] = 0.5 * (params[j] + params[d + j]) - m1[j]
    q = (delta_square - e_square) / (d * spread(m1, m2))
    return _gap_at(e, q, delta_square, s, m1, e1, e2) - log_cosh


@kernel("exact", signatures.HESSIAN, plain=signatures.SMALL)
def hessian(params: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """In (m, delta) first, then in (theta_1, theta_2).

    With z = x - m, r = z.delta, h = 2 / (d s^2), the derivatives of y = r / s are
    y_m = -delta/s - h r e and y_delta = z/s + h r delta; K0, K1, K2 are the sums weighted by sech^2
    about m, and tau = T1 - T0 m. All lengths are in units of sqrt(s), so that s is 1 and no power of it
    can underflow.
    """
    d = m1.size
    _, delta_square, s = parts(params, m1, m2)
    root, rho = math.sqrt(s), delta_square / s
    h = 2.0 / d
    cube = 8.0 / (d * d)
    m, delta, e = np.empty(d), np.empty(d), np.empty(d)
    for j in range(d):
        m[j] = 0.5 * (params[j] + params[d + j]) / root
        delta[j] = 0.5 * (params[d + j] - params[j]) / root
        e[j] = (0.5 * (params[j] + params[d + j]) - m1[j]) / root
    t0, k0, c1 = sums[layout.T0], sums[layout.c0_at(d)], layout.c1_at(d)
    tau, k1 = np.empty(d), np.empty(d)
    inner = 0.0
    for j in range(d):
        tau[j] = sums[layout.T1 + j] / root - t0 * m[j]
        k1[j] = sums[c1 + j] / root - k0 * m[j]
        inner += tau[j] * delta[j]
    k2 = np.empty((d, d))
    at = layout.c2_at(d)
    for i in range(d):
        for j in range(i + 1):
            ci, cj = sums[c1 + i] / root, sums[c1 + j] / root
            k2[i, j] = sums[at] / s - ci * m[j] - m[i] * cj + k0 * m[i] * m[j]
            k2[j, i] = k2[i, j]
            at += 1
    k_delta = np.zeros(d)  # K2 delta
    k1_delta, k_square = 0.0, 0.0
    for i in range(d):
        for j in range(d):
            k_delta[i] += k2[i, j] * delta[j]
        k1_delta += k1[i] * delta[i]
        k_square += delta[i] * k_delta[i]

    by_s = 0.5 * d - rho
    by_ss = -0.5 * d + 2.0 * rho
    a_kappa, a_rho = by_s / d, 1.0 - by_s / d
    a_kk = by_ss / (d * d)
    a_kr = -by_ss / (d * d) - 1.0 / d
    a_rr = by_ss / (d * d) + 2.0 / d
    for i in range(d):
        for j in range(d):
            same = 1.0 if i == j else 0.0
            mm = 2.0 * a_kappa * same + 4.0 * a_kk * e[i] * e[j]
            mm -= k0 * delta[i] * delta[j]
            mm -= (h * k1_delta + h * t0) * (delta[i] * e[j] + e[i] * delta[j])
            mm -= (h * h * k_square + cube * inner) * e[i] * e[j] - h * inner * same
            md = 4.0 * a_kr * e[i] * delta[j]
            md += delta[i] * (k1[j] + h * k1_delta * delta[j])
            md += h * e[i] * (k_delta[j] + h * k_square * delta[j])
            md += t0 * same + h * (t0 * delta[i] * delta[j] + e[i] * tau[j])
            md += cube * inner * e[i] * delta[j]
            dm = 4.0 * a_kr * e[j] * delta[i]
            dm += delta[j] * (k1[i] + h * k1_delta * delta[i])
            dm += h * e[j] * (k_delta[i] + h * k_square * delta[i])
            dm += t0 * same + h * (t0 * delta[i] * delta[j] + e[j] * tau[i])
            dm += cube * inner * e[j] * delta[i]
            dd = 2.0 * a_rho * same + 4.0 * a_rr * delta[i] * delta[j]
            dd -= k2[i, j] + h * (k_delta[i] * delta[j] + delta[i] * k_delta[j])
            dd -= (h * h * k_square + cube * inner) * delta[i] * delta[j]
            dd -= h * (tau[i] * delta[j] + delta[i] * tau[j] + inner * same)
            out[i, j] = 0.25 * (mm - md - dm + dd) / s
            out[i, d + j] = 0.25 * (mm + md - dm - dd) / s
            out[d + i, j] = 0.25 * (mm - md + dm - dd) / s
            out[d + i, d + j] = 0.25 * (mm + md + dm + dd) / s
    for i in range(2 * d):  # equal up to the order in which terms were added
        for j in range(i):
            out[j, i] = out[i, j]


@kernel("exact", signatures.ERROR, plain=signatures.SMALL)
def error(params: Any, m1: Any, m2: Any, truth: Any) -> float:
    """Wasserstein-2 distance of the mixing measures: two equal masses, matched the cheaper way."""
    d = params.size // 2
    straight, crossed = 0.0, 0.0
    for j in range(d):
        straight += (params[j] - truth[j]) ** 2 + (params[d + j] - truth[d + j]) ** 2
        crossed += (params[j] - truth[d + j]) ** 2 + (params[d + j] - truth[j]) ** 2
    return math.sqrt(0.5 * min(straight, crossed))


# Natural coordinates: (epsilon, phi) = (e / sqrt(v0), u sqrt(v0)). With v = 1 + |epsilon|^2 / d and
# q = |phi|^2 / d the scale is s = v0 r, where r solves r = v - r^2 q.


@kernel("exact", plain=True)
def _shares(point: Any) -> tuple[float, float]:
    """r = s / v0, and 1 / (1 + 2 r q)."""
    d = point.size // 2
    v, q = 1.0, 0.0
    for j in range(d):
        v += point[j] * point[j] / d
        q += point[d + j] * point[d + j] / d
    r = 2.0 * v / (1.0 + math.sqrt(1.0 + 4.0 * v * q))
    return r, 1.0 / (1.0 + 2.0 * r * q)


@kernel("exact", signatures.CHANGE, plain=signatures.SMALL)
def from_locations(params: Any, m1: Any, m2: Any, point: Any) -> None:
    """To natural coordinates."""
    d = m1.size
    root = math.sqrt(spread(m1, m2))
    s = parts(params, m1, m2)[2]
    for j in range(d):
        one, two = params[j], params[d + j]
        point[j] = (0.5 * (one + two) - m1[j]) / root
        point[d + j] = 0.5 * (two - one) * root / s


@kernel("exact", signatures.CHANGE, plain=signatures.SMALL)
def to_locations(point: Any, m1: Any, m2: Any, params: Any) -> None:
    """And back."""
    d = m1.size
    root = math.sqrt(spread(m1, m2))
    r, _ = _shares(point)
    for j in range(d):
        m, delta = m1[j] + root * point[j], root * r * point[d + j]
        params[j] = m - delta
        params[d + j] = m + delta


@kernel("exact", signatures.SCALE, plain=signatures.SMALL)
def natural_scale(point: Any, m1: Any, m2: Any, out: Any) -> None:
    """The scale in natural coordinates."""
    out[0] = spread(m1, m2) * _shares(point)[0]


@kernel("exact", signatures.DIRECTION, plain=signatures.SMALL)
def natural_direction(point: Any, m1: Any, m2: Any, u: Any) -> float:
    """u and b in natural coordinates."""
    d = m1.size
    root = math.sqrt(spread(m1, m2))
    b = 0.0
    for j in range(d):
        u[j] = point[d + j] / root
        b -= (m1[j] + root * point[j]) * u[j]
    return b if math.isfinite(b) else np.nan


@kernel("exact", signatures.RESPOND, plain=signatures.SMALL)
def natural_respond(point: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """By epsilon: epsilon / r + T0 phi. By phi: r phi - (T1 - T0 m) / sqrt(v0)."""
    d = m1.size
    root = math.sqrt(spread(m1, m2))
    r, _ = _shares(point)
    t0 = sums[layout.T0]
    step = np.empty(2 * d)
    for j in range(d):
        tau = (sums[layout.T1 + j] - t0 * (m1[j] + root * point[j])) / root
        gradient[j] = point[j] / r + t0 * point[d + j]
        gradient[d + j] = r * point[d + j] - tau
        step[j] = (m1[j] - sums[layout.T1 + j]) / (1.0 - t0)
        step[d + j] = (m1[j] + sums[layout.T1 + j]) / (1.0 + t0)
    from_locations(step, m1, m2, em)


@kernel("exact", signatures.GAP, plain=signatures.SMALL)
def natural_gap(point: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    """The gap in natural coordinates."""
    d = m1.size
    v0 = spread(m1, m2)
    r, _ = _shares(point)
    e = np.empty(d)
    e_square, delta_square = 0.0, 0.0
    for j in range(d):
        e[j] = math.sqrt(v0) * point[j]
        e_square += point[j] * point[j]
        delta_square += r * r * point[d + j] * point[d + j]
    q = (delta_square - e_square) / d
    return _gap_at(e, q, v0 * delta_square, v0 * r, m1, e1, e2) - log_cosh


@kernel("exact", signatures.HESSIAN, plain=signatures.SMALL)
def natural_hessian(point: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """By (epsilon, phi)."""
    d = m1.size
    v0 = spread(m1, m2)
    root = math.sqrt(v0)
    r, c = _shares(point)
    t0, k0, c1 = sums[layout.T0], sums[layout.c0_at(d)], layout.c1_at(d)
    k1 = np.empty(d)
    for j in range(d):
        k1[j] = (sums[c1 + j] - k0 * (m1[j] + root * point[j])) / root
    at = layout.c2_at(d)
    for i in range(d):
        mi = m1[i] + root * point[i]
        for j in range(i + 1):
            mj = m1[j] + root * point[j]
            e_pair, p_pair = point[i] * point[j], point[d + i] * point[d + j]
            about = sums[at] - sums[c1 + i] * mj - mi * sums[c1 + j] + k0 * mi * mj
            ee = -2.0 * c / (d * r * r) * e_pair - k0 * p_pair
            pp = -2.0 * c * r * r / d * p_pair - about / v0
            if i == j:
                ee += 1.0 / r
                pp += r
            out[i, j] = ee
            out[j, i] = ee
            out[d + i, d + j] = pp
            out[d + j, d + i] = pp
            at += 1
    for i in range(d):  # rows of phi, columns of epsilon
        for j in range(d):
            value = 2.0 * c / d * point[d + i] * point[j] + k1[i] * point[d + j]
            if i == j:
                value += t0
            out[d + i, j] = value
            out[j, d + i] = value


@kernel("exact", signatures.ERROR, plain=signatures.SMALL)
def natural_error(point: Any, m1: Any, m2: Any, truth: Any) -> float:
    """The error in natural coordinates."""
    params = np.empty(point.size)
    to_locations(point, m1, m2, params)
    return error(params, m1, m2, truth)


ALGEBRA = Algebra(scale, direction, respond, gap, hessian, error)
NATURAL = Natural(
    Algebra(
        natural_scale,
        natural_direction,
        natural_respond,
        natural_gap,
        natural_hessian,
        natural_error,
    ),
    from_locations,
    to_locations,
)
