"""What one coordinate contributes: functions of q = theta_j^2 that the models share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elubench.checks import Floats
from elubench.papers.beyond_em.population.means import evaluate, half_line, means
from elubench.papers.beyond_em.population.special import (
    cubic_deficit,
    exp_excess,
    log_excess,
    quartic_deficit,
)


def flat(q: Floats, total: Floats) -> NDArray[np.bool_]:
    """Where the plain formulas cancel: q is small, and so is the variance W of the argument of tanh."""
    return (q < 0.3) & (total <= 1.0)


def w(q: Floats) -> Floats:
    """The variance a coordinate adds to the argument of tanh: q/(1 - q)^2."""
    return q / (1.0 - q) ** 2


def dw(q: Floats) -> Floats:
    """dw/dq = (1 + q)/(1 - q)^3."""
    return (1.0 + q) / (1.0 - q) ** 3


def dw2(q: Floats) -> Floats:
    """d^2w/dq^2 = (4 + 2 q)/(1 - q)^4."""
    return (4.0 + 2.0 * q) / (1.0 - q) ** 4


def entropy(q: Floats) -> Floats:
    """(log(1 - q) + 2 q/(1 - q))/2, what a coordinate adds to the loss without log cosh."""
    return 0.5 * np.log1p(-q) + q / (1.0 - q)


def own_gap(q: Floats) -> Floats:
    """The gap at d = 1, where flat."""
    return evaluate(_alone, q)[0]


def moment(tau: Floats) -> Floats:
    """M(tau) = E[y^2/2 - log cosh y], y = sqrt(tau) V, for tau <= 1."""
    return evaluate(_moment, tau)[0]


def deficit(q: Floats, rest: Floats) -> Floats:
    """D = 1 - q - C(w(q) + rest); `rest` is what the other coordinates add. Never negative."""
    own = w(q)
    total = own + rest
    out = np.empty_like(q)
    f = flat(q, total)
    out[f] = evaluate(_alone, q[f])[1] + differences(own[f], rest[f])[0]
    out[~f] = 1.0 - q[~f] - means(total[~f]).c
    return out


def deficit_slope(q: Floats, rest: Floats, share: float) -> tuple[Floats, Floats]:
    """dD/dq = -1 - share C'(W) dw/dq, and C'(W); `share` is dW/dw: 1, or d if all q_j are equal."""
    own = w(q)
    total = own + rest
    out = np.empty_like(q)
    dc = means(total).dc
    f = flat(q, total)
    out[f] = evaluate(_alone, q[f])[2] + dw(q[f]) * (
        differences(own[f], rest[f])[1] - (share - 1.0) * dc[f]
    )
    out[~f] = -1.0 - share * dc[~f] * dw(q[~f])
    return out, dc


def differences(tau: Floats, rest: Floats) -> Floats:
    """Rows C(tau) - C(tau + rest), C'(tau) - C'(tau + rest) and K(tau + rest) - K(tau).

    For tau + rest <= 1. C = E sech^2 and, by the heat equation, K' = C/2 and C' = E[2 sech^2 - 3
    sech^4]. tanh^2 x - tanh^2 y = sinh(x - y) sinh(x + y) sech^2 x sech^2 y, and x - y comes from
    `rest`, not from a subtraction.
    """
    return evaluate(_differences, tau, rest)


def _differences(tau: Floats, rest: Floats) -> Floats:
    nodes, weights = half_line()
    a, b = np.sqrt(tau), np.sqrt(tau + rest)
    y, x = a * nodes, b * nodes
    e = rest / np.maximum(a + b, np.finfo(float).tiny) * nodes
    sy, sx = np.cosh(y) ** -2.0, np.cosh(x) ** -2.0
    drop = np.sinh(e) * np.sinh(x + y) * sx * sy
    rise = np.log1p(2.0 * np.sinh(0.5 * e) ** 2 + np.tanh(y) * np.sinh(e))
    return np.stack([drop @ weights, (drop * (2.0 - 3.0 * (sx + sy))) @ weights, rise @ weights])


def _moment(tau: Floats) -> Floats:
    nodes, weights = half_line()
    y = np.sqrt(tau) * nodes
    return ((quartic_deficit(y) * y**4) @ weights)[None]


def _alone(q: Floats) -> Floats:
    """Rows gap, D and dD/dq at d = 1, where flat; D = 1 - q - E sech^2(sqrt(w) V).

    l = q^2 (x^2/(2 s^2) - lambda - g x^4/s^4) with lambda from `log_excess`, g = (y^2/2 - log cosh
    y)/y^4 and y = x sqrt(q)/s; its derivatives follow from dy/dq = y (1 + q)/(2 q s), and
    D = 2 gap'(q)/P with P = (1 + q)/s^3.
    """
    x, weights = half_line()
    s = 1.0 - q
    y = x * np.sqrt(q) / s
    cubic = cubic_deficit(y)
    slope = 1.0 - y * y * cubic  # tanh(y)/y
    x2, x4 = x**2, x**4
    l0 = q**2 * (x2 / (2.0 * s**2) - log_excess(q) - quartic_deficit(y) * x4 / s**4)
    l1 = q * (x2 / s**3 - 0.5 / s**2 - cubic * x4 * (1.0 + q) / (2.0 * s**5))
    l2 = (
        x2 * (1.0 + 2.0 * q) / s**4
        - (1.0 + q) / (2.0 * s**3)
        - x4 * ((slope * (1.0 + q)) ** 2 + cubic * (6.0 * q + 3.0 * q**2 - 1.0)) / (4.0 * s**6)
    )
    u = np.expm1(l0)
    loss = exp_excess(l0) @ weights
    first = (u * l1) @ weights
    second = ((1.0 + u) * l1**2 + u * l2) @ weights
    q, s = q[:, 0], s[:, 0]
    p = (1.0 + q) / s**3
    short = 2.0 * first / p
    return np.stack([loss, short, (2.0 * second - dw2(q) * short) / p])
