"""General locations at infinite n: two free locations and one scale.

Everything depends on the half sum m and the half difference delta (second minus first) through
|m|^2, |delta|^2 and m.delta.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elubench.checks import Floats
from elubench.papers.beyond_em.population.base import Population
from elubench.papers.beyond_em.population.coordinates import (
    deficit,
    deficit_slope,
    differences,
    dw,
    flat,
    w,
)
from elubench.papers.beyond_em.population.isotropic import gap_of
from elubench.papers.beyond_em.population.means import evaluate, half_line, means


class GeneralPopulation(Population):
    """theta is theta1 then theta2; derivatives by m and delta are turned into those by theta."""

    name = "general"
    locations = 2
    region = "|delta|^2 < d scale + |m|^2 (half difference delta, half sum m)"

    def curve_scale(self, theta: Floats) -> Floats:
        m, delta = _halves(theta)
        return np.asarray(1.0 + np.mean(m * m, axis=1) - np.mean(delta * delta, axis=1))

    def gap(self, theta: Floats) -> Floats:
        x = _frame(*_halves(theta))
        gap = np.empty_like(x.s)
        f, g = x.flat, ~x.flat
        # f = gap(q) + (d/2) log v + [K(d w) - K(tau)] - [K(tau, b) - K(tau)],  tau = d w/v
        gap[f] = (
            gap_of(x.q[f], x.d)
            + 0.5 * x.d * np.log1p(x.mu[f])
            + differences(x.tau[f], x.tau[f] * x.mu[f])[2]
            - evaluate(_offset, x.tau[f], x.b[f])[0]
        )
        k = means(x.tau[g], x.b[g]).k
        gap[g] = 0.5 * x.d * np.log(x.s[g]) + x.gamma[g] / x.s[g] - k
        return gap

    def gradient(self, theta: Floats) -> Floats:
        m, delta = _halves(theta)
        x = _frame(m, delta)
        f_alpha, f_gamma, f_c = (g[:, None] for g in _slopes(x, _means(x)))
        by_m, by_delta = 2.0 * f_alpha * m + f_c * delta, 2.0 * f_gamma * delta + f_c * m
        return 0.5 * np.concatenate([by_m - by_delta, by_m + by_delta], axis=1)

    def hessian(self, theta: Floats) -> Floats:
        mm, md, dd = _blocks(*_halves(theta))
        dm = np.swapaxes(md, 1, 2)
        return 0.25 * np.concatenate(
            [
                np.concatenate([mm - md - dm + dd, mm + md - dm - dd], axis=2),
                np.concatenate([mm - md + dm - dd, mm + md + dm + dd], axis=2),
            ],
            axis=1,
        )

    def em_step(self, theta: Floats) -> Floats:
        m, delta = _halves(theta)
        x = _frame(m, delta)
        e = _means(x)
        moment = delta * (e.c / x.s)[:, None]  # E[X tanh] by Stein's lemma
        t = e.t[:, None]
        if t.size and not np.max(np.abs(t)) < 1.0 - 1e-9:
            # Its new location would be a quotient of rounding errors.
            raise ValueError("theta must leave each component some data, got one too far off")
        return np.concatenate([-moment / (1.0 - t), moment / (1.0 + t)], axis=1)


def _halves(theta: Floats) -> tuple[Floats, Floats]:
    """Half sum and half difference (second minus first) of the two locations."""
    first, second = np.split(theta, 2, axis=1)
    return 0.5 * (first + second), 0.5 * (second - first)


class _Frame(NamedTuple):
    """A general-location point, with true mean 0 and scale 1, through its invariants; arrays (m,).

    alpha = |m|^2, gamma = |delta|^2, c = m.delta for the half sum m and the half difference delta;
    v = 1 + alpha/d, s = v - gamma/d the scale on the curve, q = gamma/(d v), tau = gamma/s^2 and
    b = -c/s the variance and the mean of the argument of tanh. `flat`: cancellation is removed.
    """

    d: int
    mu: Floats  # alpha/d
    gamma: Floats
    v: Floats
    q: Floats
    s: Floats
    tau: Floats
    b: Floats
    flat: NDArray[np.bool_]


def _frame(m: Floats, delta: Floats) -> _Frame:
    d = m.shape[1]
    mu = np.sum(m * m, axis=1) / d
    gamma = np.sum(delta * delta, axis=1)
    v = 1.0 + mu
    q = gamma / (d * v)
    s = v * (1.0 - q)
    tau = gamma / s**2
    b = -np.sum(m * delta, axis=1) / s
    where = flat(q, d * w(q)) & (np.abs(b) <= 1.0)
    return _Frame(d, mu, gamma, v, q, s, tau, b, where)


class _Means(NamedTuple):
    """D = s - C(tau, b), T, C, A and C' at (tau, b), and dD/dgamma; arrays (m,)."""

    deficit: Floats
    t: Floats
    c: Floats
    a: Floats
    dc: Floats
    deficit_gamma: Floats


def _means(x: _Frame) -> _Means:
    out = np.empty((6, x.s.size))
    f, g = x.flat, ~x.flat

    plain = means(x.tau[g], x.b[g])
    tau_gamma, b_gamma = _frame_slopes(x)
    out[0, g] = x.s[g] - plain.c
    out[1:5, g] = plain[1:]
    out[5, g] = -1.0 / x.d - plain.dc * tau_gamma[g] + 2.0 * plain.a * b_gamma[g]

    # D = mu (1 - q) + D_isotropic(q) + [C(d w) - C(tau)] + [C(tau) - C(tau, b)]
    q, mu, v, tau = x.q[f], x.mu[f], x.v[f], x.tau[f]
    rest = (x.d - 1) * w(q)
    drop, drop_slope, _ = differences(tau, tau * mu)
    _, t, shift, a, shift_slope, c0, dc0 = evaluate(_offset, tau, x.b[f])
    slope, _ = deficit_slope(q, rest, float(x.d))
    out[0, f] = mu * (1.0 - q) + deficit(q, rest) - drop + shift
    out[1, f], out[2, f], out[3, f], out[4, f] = t, c0 - shift, a, dc0 - shift_slope
    out[5, f] = (
        (-mu + slope + x.d * dw(q) * (dc0 * mu / v - drop_slope)) / (x.d * v)
        + shift_slope * tau_gamma[f]
        + 2.0 * a * b_gamma[f]
    )
    return _Means(*out)


def _frame_slopes(x: _Frame) -> tuple[Floats, Floats]:
    """dtau/dgamma and db/dgamma."""
    return 1.0 / x.s**2 + 2.0 * x.gamma / (x.d * x.s**3), x.b / (x.d * x.s)


def _slopes(x: _Frame, e: _Means) -> tuple[Floats, Floats, Floats]:
    """df/dalpha, df/dgamma, df/dc; then grad_m = 2 f_alpha m + f_c delta, and so on."""
    f_alpha = 0.5 / x.s + (x.b * e.t - x.tau * e.deficit) / (x.d * x.s)
    f_gamma = e.deficit * (2.0 * x.v - x.s) / (2.0 * x.s**3) - x.b * e.t / (x.d * x.s)
    return f_alpha, f_gamma, e.t / x.s


def _blocks(m: Floats, delta: Floats) -> tuple[Floats, Floats, Floats]:
    """The blocks (m, m), (m, delta) and (delta, delta) of the Hessian, each (points, d, d)."""
    x = _frame(m, delta)
    e = _means(x)
    f_alpha, f_gamma, f_c = _slopes(x, e)
    d, s, b = x.d, x.s, x.b
    tau_gamma, b_gamma = _frame_slopes(x)
    tau_alpha, b_alpha = -2.0 * x.gamma / (d * s**3), -b / (d * s)
    t_alpha = -e.a * tau_alpha + e.c * b_alpha
    t_gamma = -e.a * tau_gamma + e.c * b_gamma
    deficit_alpha = 1.0 / d - e.dc * tau_alpha + 2.0 * e.a * b_alpha
    bt, bt_alpha, bt_gamma = b * e.t, b_alpha * e.t + b * t_alpha, b_gamma * e.t + b * t_gamma
    twice_v = 2.0 * x.v - s  # v + gamma/d

    f_aa = (
        -0.5 / (d * s**2)
        + (bt_alpha - tau_alpha * e.deficit - x.tau * deficit_alpha) / (d * s)
        - (bt - x.tau * e.deficit) / (d * s) ** 2
    )
    f_ag = (
        0.5 / (d * s**2)
        + (bt_gamma - tau_gamma * e.deficit - x.tau * e.deficit_gamma) / (d * s)
        + (bt - x.tau * e.deficit) / (d * s) ** 2
    )
    f_gg = (
        e.deficit_gamma * twice_v / (2.0 * s**3)
        + e.deficit * (1.0 + 3.0 * twice_v / s) / (2.0 * d * s**3)
        - bt_gamma / (d * s)
        - bt / (d * s) ** 2
    )
    f_ac = t_alpha / s - e.t / (d * s**2)
    f_gc = t_gamma / s + e.t / (d * s**2)
    f_cc = -e.c / s**2

    def block(one: Floats, mm: Floats, md: Floats, dm: Floats, dd: Floats) -> Floats:
        outer = [u[:, :, None] * v[:, None, :] for u in (m, delta) for v in (m, delta)]
        total = one[:, None, None] * np.eye(d)
        for factor, matrix in zip((mm, md, dm, dd), outer, strict=True):
            total = total + factor[:, None, None] * matrix
        return total

    return (
        block(2.0 * f_alpha, 4.0 * f_aa, 2.0 * f_ac, 2.0 * f_ac, f_cc),
        block(f_c, 2.0 * f_ac, 4.0 * f_ag, f_cc, 2.0 * f_gc),
        block(2.0 * f_gamma, f_cc, 2.0 * f_gc, 2.0 * f_gc, 4.0 * f_gg),
    )


def _offset(tau: Floats, b: Floats) -> Floats:
    """What an offset b changes, for tau <= 1 and |b| <= 1, with y = sqrt(tau) V averaged over +-V.

    Rows: K(tau, b) - K(tau), T = E tanh(y + b), C(tau) - C(tau, b), A = E[tanh sech^2](y + b),
    C'(tau) - C'(tau, b), C(tau), C'(tau). All but the last two vanish with b, and are written with
    beta = tanh b as a factor.
    """
    nodes, weights = half_line()
    y = np.sqrt(tau) * nodes
    t2, s = np.tanh(y) ** 2, np.cosh(y) ** -2.0
    beta = np.tanh(b)
    beta2, sb = beta**2, np.cosh(b) ** -2.0
    r = beta2 * t2
    z = 1.0 - r
    rows = [
        0.5 * np.log1p(np.sinh(b) ** 2 * s),
        beta * s / z,
        beta2 * s * (1.0 - 3.0 * t2 + r * (1.0 + t2)) / z**2,
        beta * s * sb * (1.0 - 3.0 * t2 + r * (3.0 - t2)) / z**3,
        beta2
        * s**2
        * ((2.0 - beta2) * (1.0 + 6.0 * r + r**2) - t2 * (10.0 - 5.0 * r + 4.0 * r**2 - r**3))
        / z**4,  # E sech^4 without and with the offset
        s,
        2.0 * s - 3.0 * s**2,
    ]
    table = np.stack([row @ weights for row in rows])
    table[4] = 2.0 * table[2] - 3.0 * table[4]
    return table
