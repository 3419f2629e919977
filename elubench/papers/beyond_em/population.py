"""The loss, its gradient and its Hessian at infinite n, exact to rounding however flat they are.

The data are one Gaussian, the model is two. The restricted loss f is the negative log-likelihood
with the scale on its curve, and everything here is about `f(theta) - f(truth)`, which is the
Kullback-Leibler divergence from the truth to the mixture. It can be 1e-20 where f itself is 1, so
it is never had by subtraction. How, at true scale 1:

**One coordinate** (q = theta^2, s = 1 - q). The log density ratio of mixture and truth is
`l(x) = q^2 (...)`: its terms of order q cancel and are removed by hand. Since the ratio has mean 1,

    gap(q) = E[-l] = E[exp(l) - 1 - l]        gap'(q) = E[(exp(l) - 1) l_q]

The first integrand is positive and the second positive to leading order, so nothing cancels.

**Several coordinates** (q_j = theta_j^2, w_j = q_j/(1 - q_j)^2, W = sum w_j). All that couples them
is `K(W) = E log cosh(sqrt(W) V)`, V standard normal:

    f = sum_j gap(q_j) + [sum_j K(w_j) - K(W)]

The bracket is positive because K is concave. Writing K(t) = t/2 - M(t) it is M(W) - sum M(w_j);
when a coordinate is far smaller than the others that cancels too, and then
`log cosh(x + y) - log cosh x - log cosh y = log(1 + tanh x tanh y)`, averaged over the sign of y,
gives the series of positive terms `1/2 sum_k E[tanh^2k x] E[tanh^2k y] / k`.
The gradient needs `D_j = 1 - q_j - E sech^2(sqrt(W) V)`, split in the same way. The isotropic model
is the diagonal one with all q_j equal to |theta|^2/d.

**General locations** add to the isotropic gap of the half difference terms that vanish with the
half sum m, each a mean of a function that vanishes with it.

Far from the truth (q_j >= 0.3, or W > 1) nothing cancels and the plain formulas are used. Means
over V are trapezoidal sums: for functions analytic in a strip they converge exponentially, and the
poles of tanh, at distance pi/2, put the error at step 3/16 below 1e-20.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, zeta

from elubench.checks import Floats
from elubench.papers.beyond_em.theory import model_name

_SMALL_Q = 0.3  # below it (and W <= 1) the forms that remove the cancellation are used
_STEP = 3.0 / 16.0  # in the smaller of the units V and y = sqrt(tau) V; dyadic, so nodes are exact
_REACH = 11.0  # standard deviations: V^8 phi(V) < 1e-18 beyond
_TAIL = 22.0  # sech^2(y) < 1e-18 beyond
_SMALL_W = 1.0 / 64.0  # below it the coupling is summed as a series
_SERIES_TERMS = 20
_BLOCK = 1024  # points at a time, so that points x nodes stay in cache


# --- functions of one number with their leading terms removed -------------------------------------


@lru_cache(maxsize=1)
def _tanh_coefficients() -> Floats:
    """c_1, c_2, ... with tanh y = sum_j c_j y^(2j-1), from the poles at i pi (k - 1/2)."""
    j = np.arange(1, 18)
    sums = (2.0 / np.pi) ** (2 * j) * (1.0 - 4.0**-j) * zeta(2.0 * j)  # of the poles' 2j-th powers
    return np.asarray(2.0 * (-1.0) ** (j - 1) * sums, dtype=float)


def _log_cosh(y: Floats) -> Floats:
    size = np.abs(y)
    return cast(Floats, size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0))


def _quartic_deficit(y: Floats) -> Floats:
    """(y^2/2 - log cosh y) / y^4, 1/12 at 0."""
    c = _tanh_coefficients()[1:]
    near = -np.polynomial.polynomial.polyval(
        np.minimum(y * y, 0.25), c / (2.0 * np.arange(2, 2 + c.size))
    )
    far = np.maximum(np.abs(y), 0.5)
    return np.where(np.abs(y) < 0.5, near, (0.5 * far**2 - _log_cosh(far)) / far**4)


def _cubic_deficit(y: Floats) -> Floats:
    """(y - tanh y) / y^3, 1/3 at 0."""
    near = -np.polynomial.polynomial.polyval(np.minimum(y * y, 0.25), _tanh_coefficients()[1:])
    far = np.maximum(np.abs(y), 0.5)
    return np.where(np.abs(y) < 0.5, near, (far - np.tanh(far)) / far**3)


def _exp_excess(x: Floats) -> Floats:
    """exp(x) - 1 - x."""
    near = np.clip(x, -0.5, 0.5)
    total = np.ones_like(near)
    for k in range(16, 2, -1):  # x^2/2 (1 + x/3 (1 + x/4 (...)))
        total = 1.0 + total * near / k
    return np.where(np.abs(x) < 0.5, 0.5 * near**2 * total, np.expm1(x) - x)


def _log_excess(q: Floats) -> Floats:
    """(log(1 - q) + q/(1 - q)) / (2 q^2) = 1/2 sum_k (1 - 1/k) q^(k-2), for q < _SMALL_Q."""
    k = np.arange(2, 36)  # 0.3^34 < 1e-17
    return cast(Floats, np.polynomial.polynomial.polyval(q, 0.5 * (1.0 - 1.0 / k)))


# --- means over a Gaussian -----------------------------------------------------------------------


def _evaluate(function: Callable[..., Floats], *arguments: Floats) -> Floats:
    """`function` of columns (m, 1) -> (k, m), over arrays of any one shape -> (k, *shape).

    Done block by block, and once for each distinct value when there is one argument: on a grid the
    coordinates take few values.
    """
    shape = np.shape(arguments[0])
    columns = [np.ravel(a) for a in arguments]
    inverse = None
    if len(columns) == 1:
        columns[0], inverse = np.unique(columns[0], return_inverse=True)
    blocks = [
        function(*(c[start : start + _BLOCK, None] for c in columns))
        for start in range(0, max(1, columns[0].size), _BLOCK)
    ]
    table = np.concatenate(blocks, axis=1)
    if inverse is not None:
        table = table[:, inverse.ravel()]
    return table.reshape(table.shape[0], *shape)


def _half_line() -> tuple[Floats, Floats]:
    """Nodes V >= 0 and weights for the mean of an even function of V."""
    nodes = _STEP * np.arange(0.0, np.ceil(_REACH / _STEP) + 1.0)
    weights = 2.0 * _STEP * np.exp(-0.5 * nodes**2) / np.sqrt(2.0 * np.pi)
    weights[0] /= 2.0
    return nodes, weights


def _univariate_block(q: Floats) -> Floats:
    """Rows gap, D and dD/dq at d = 1, for q < _SMALL_Q; D = 1 - q - E sech^2(sqrt(w) V).

    l = q^2 (x^2/(2 s^2) - lambda - g x^4/s^4) with lambda from `_log_excess`, g = (y^2/2 - log cosh
    y)/y^4 and y = x sqrt(q)/s; its derivatives follow from dy/dq = y (1 + q)/(2 q s), and
    D = 2 gap'(q)/P with P = (1 + q)/s^3.
    """
    x, weights = _half_line()
    s = 1.0 - q
    y = x * np.sqrt(q) / s
    cubic = _cubic_deficit(y)
    slope = 1.0 - y * y * cubic  # tanh(y)/y
    x2, x4 = x**2, x**4
    l0 = q**2 * (x2 / (2.0 * s**2) - _log_excess(q) - _quartic_deficit(y) * x4 / s**4)
    l1 = q * (x2 / s**3 - 0.5 / s**2 - cubic * x4 * (1.0 + q) / (2.0 * s**5))
    l2 = (
        x2 * (1.0 + 2.0 * q) / s**4
        - (1.0 + q) / (2.0 * s**3)
        - x4 * ((slope * (1.0 + q)) ** 2 + cubic * (6.0 * q + 3.0 * q**2 - 1.0)) / (4.0 * s**6)
    )
    u = np.expm1(l0)
    gap = _exp_excess(l0) @ weights
    first = (u * l1) @ weights
    second = ((1.0 + u) * l1**2 + u * l2) @ weights
    q, s = q[:, 0], s[:, 0]
    p = (1.0 + q) / s**3
    deficit = 2.0 * first / p
    return np.stack([gap, deficit, (2.0 * second - _dw2(q) * deficit) / p])


def _moment_block(tau: Floats) -> Floats:
    """Row M(tau) = E[y^2/2 - log cosh y], y = sqrt(tau) V, for tau <= 1."""
    nodes, weights = _half_line()
    y = np.sqrt(tau) * nodes
    return ((_quartic_deficit(y) * y**4) @ weights)[None]


def _power_block(tau: Floats) -> Floats:
    """Rows E[tanh^2k(sqrt(tau) V)], k = 1, ..., for tau <= 1."""
    nodes, weights = _half_line()
    square = np.tanh(np.sqrt(tau) * nodes) ** 2
    rows, power = [], np.ones_like(square)
    for _ in range(_SERIES_TERMS):
        power = power * square
        rows.append(power @ weights)
    return np.stack(rows)


def _difference_block(tau: Floats, rest: Floats) -> Floats:
    """Rows C(tau) - C(tau + rest), C'(tau) - C'(tau + rest) and K(tau + rest) - K(tau).

    For tau + rest <= 1. C = E sech^2 and, by the heat equation, K' = C/2 and C' = E[2 sech^2 - 3
    sech^4]. tanh^2 x - tanh^2 y = sinh(x - y) sinh(x + y) sech^2 x sech^2 y, and x - y comes from
    `rest`, not from a subtraction.
    """
    nodes, weights = _half_line()
    a, b = np.sqrt(tau), np.sqrt(tau + rest)
    y, x = a * nodes, b * nodes
    e = rest / np.maximum(a + b, np.finfo(float).tiny) * nodes
    sy, sx = np.cosh(y) ** -2.0, np.cosh(x) ** -2.0
    drop = np.sinh(e) * np.sinh(x + y) * sx * sy
    rise = np.log1p(2.0 * np.sinh(0.5 * e) ** 2 + np.tanh(y) * np.sinh(e))
    return np.stack([drop @ weights, (drop * (2.0 - 3.0 * (sx + sy))) @ weights, rise @ weights])


def _offset_block(tau: Floats, b: Floats) -> Floats:
    """What an offset b changes, for tau <= 1 and |b| <= 1, with y = sqrt(tau) V averaged over +-V.

    Rows: K(tau, b) - K(tau), T = E tanh(y + b), C(tau) - C(tau, b), A = E[tanh sech^2](y + b),
    C'(tau) - C'(tau, b), C(tau), C'(tau). All but the last two vanish with b, and are written with
    beta = tanh b as a factor.
    """
    nodes, weights = _half_line()
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


class _Means(NamedTuple):
    """Means over z = b + sqrt(tau) V of log cosh, tanh, sech^2 (C), tanh sech^2, and dC/dtau."""

    k: Floats
    t: Floats
    c: Floats
    a: Floats
    dc: Floats


def _narrow_block(tau: Floats, b: Floats) -> Floats:
    """The rows of `_Means`, for tau <= 1."""
    nodes, _ = _half_line()
    nodes = np.concatenate([-nodes[:0:-1], nodes])
    weights = _STEP * np.exp(-0.5 * nodes**2) / np.sqrt(2.0 * np.pi)
    z = b + np.sqrt(tau) * nodes
    t = np.tanh(z)
    # cosh overflows far out, where sech is 0 anyway
    s = np.cosh(np.minimum(np.abs(z), 300.0)) ** -2.0
    return np.stack([row @ weights for row in (_log_cosh(z), t, s, t * s, 2.0 * s - 3.0 * s**2)])


def _wide_block(tau: Floats, b: Floats) -> Floats:
    """The rows of `_Means`, for tau > 1.

    log cosh z + log 2 differs from z erf(c z) + exp(-c^2 z^2)/(c sqrt(pi)), and tanh z from
    erf(c z), by functions that decay like exp(-2 |z|); the means of these two over a Gaussian are
    the same functions of b with 1/c^2 larger by 2 tau. A and C' come from C by parts, because as
    means of tanh sech^2 and 2 sech^2 - 3 sech^4 they cancel for large tau.
    """
    count = np.ceil(_TAIL / _STEP)
    z = _STEP * np.arange(-count, count + 1.0)
    c = 1.0
    soft = z * erf(c * z) + np.exp(-((c * z) ** 2)) / (c * np.sqrt(np.pi))
    sech2 = np.cosh(z) ** -2.0
    columns = np.stack(
        [_log_cosh(z) + np.log(2.0) - soft, np.tanh(z) - erf(c * z), sech2, z * sech2, z**2 * sech2]
    )
    root = np.sqrt(tau)
    weights = np.exp(-0.5 * ((z - b) / root) ** 2) * (_STEP / np.sqrt(2.0 * np.pi)) / root
    k, t, mean, mean1, mean2 = (weights @ columns.T).T
    tau, b = tau[:, 0], b[:, 0]
    wide = c / np.sqrt(1.0 + 2.0 * c**2 * tau)
    k += b * erf(wide * b) + np.exp(-((wide * b) ** 2)) / (wide * np.sqrt(np.pi)) - np.log(2.0)
    t += erf(wide * b)
    a = -(mean1 - b * mean) / (2.0 * tau)
    dc = ((mean2 - 2.0 * b * mean1 + b**2 * mean) / tau - mean) / (2.0 * tau)
    return np.stack([k, t, mean, a, dc])


def _means(tau: Floats, b: Floats | float = 0.0) -> _Means:
    """The means over z = b + sqrt(tau) V, for any tau >= 0 and b; arrays of the shape of tau."""
    b = np.broadcast_to(b, np.shape(tau)).astype(float)
    out = np.empty((5, *np.shape(tau)))
    narrow = tau <= 1.0
    out[:, narrow] = _evaluate(_narrow_block, tau[narrow], b[narrow])
    out[:, ~narrow] = _evaluate(_wide_block, tau[~narrow], b[~narrow])
    return _Means(*out)


# --- the functions of q that all models share ----------------------------------------------------


def _w(q: Floats) -> Floats:
    """The variance a coordinate adds to the argument of tanh: q/(1 - q)^2."""
    return q / (1.0 - q) ** 2


def _dw(q: Floats) -> Floats:
    """dw/dq = (1 + q)/(1 - q)^3."""
    return (1.0 + q) / (1.0 - q) ** 3


def _dw2(q: Floats) -> Floats:
    """d^2w/dq^2 = (4 + 2 q)/(1 - q)^4."""
    return (4.0 + 2.0 * q) / (1.0 - q) ** 4


def _entropy(q: Floats) -> Floats:
    """(log(1 - q) + 2 q/(1 - q))/2, what a coordinate adds to the loss without log cosh."""
    return 0.5 * np.log1p(-q) + q / (1.0 - q)


def _isotropic_gap(q: Floats, d: int) -> Floats:
    """f(theta) - f(0) of the isotropic model at |theta|^2 = d q."""
    w = _w(q)
    total = d * w
    gap = np.empty_like(q)
    flat = (q < _SMALL_Q) & (total <= 1.0)
    own = _evaluate(_univariate_block, q[flat])[0]
    m_total, m_one = (_evaluate(_moment_block, t[flat])[0] for t in (total, w))
    gap[flat] = d * own + (m_total - d * m_one)
    gap[~flat] = d * _entropy(q[~flat]) - _means(total[~flat]).k
    return gap


def _diagonal_gap(q: Floats) -> Floats:
    """f(theta) - f(0) of the diagonal model at theta_j^2 = q_j; q (m, d) -> (m,)."""
    w = _w(q)
    total = w.sum(axis=1)
    gap = np.empty(total.shape)
    flat = np.all(q < _SMALL_Q, axis=1) & (total <= 1.0)
    gap[~flat] = _entropy(q[~flat]).sum(axis=1) - _means(total[~flat]).k
    own = _evaluate(_univariate_block, q[flat])[0].sum(axis=1)
    gap[flat] = own + _coupling(-np.sort(-w[flat], axis=1))
    return gap


def _coupling(w: Floats) -> Floats:
    """sum_j K(w_j) - K(sum_j w_j) for w (m, d), each row falling and of sum at most 1.

    Coordinates join one by one, the largest first: joining w to the sum A of those before costs
    M(A + w) - M(A) - M(w), or the series of positive terms when w is small.
    """
    coupling = np.zeros(w.shape[0])
    before = w[:, 0].copy()
    for j in range(1, w.shape[1]):
        one = w[:, j]
        small = one < _SMALL_W
        products = _evaluate(_power_block, before[small]) * _evaluate(_power_block, one[small])
        coupling[small] += 0.5 * np.sum(
            products / np.arange(1.0, _SERIES_TERMS + 1.0)[:, None], axis=0
        )
        both, left, right = (
            _evaluate(_moment_block, t[~small])[0] for t in (before + one, before, one)
        )
        coupling[~small] += both - left - right
        before += one
    return coupling


def _deficit(q: Floats, rest: Floats) -> Floats:
    """D = 1 - q - C(w(q) + rest); `rest` is what the other coordinates add. Never negative."""
    w = _w(q)
    total = w + rest
    out = np.empty_like(q)
    flat = (q < _SMALL_Q) & (total <= 1.0)
    out[flat] = (
        _evaluate(_univariate_block, q[flat])[1]
        + _evaluate(_difference_block, w[flat], rest[flat])[0]
    )
    out[~flat] = 1.0 - q[~flat] - _means(total[~flat]).c
    return out


def _deficit_slope(q: Floats, rest: Floats, share: float) -> tuple[Floats, Floats]:
    """dD/dq = -1 - share C'(W) dw/dq, and C'(W); `share` is dW/dw: 1, or d if all q_j are equal."""
    w = _w(q)
    total = w + rest
    out = np.empty_like(q)
    dc = _means(total).dc
    flat = (q < _SMALL_Q) & (total <= 1.0)
    out[flat] = _evaluate(_univariate_block, q[flat])[2] + _dw(q[flat]) * (
        _evaluate(_difference_block, w[flat], rest[flat])[1] - (share - 1.0) * dc[flat]
    )
    out[~flat] = -1.0 - share * dc[~flat] * _dw(q[~flat])
    return out, dc


# --- general locations ---------------------------------------------------------------------------


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
    flat = (q < _SMALL_Q) & (d * _w(q) <= 1.0) & (np.abs(b) <= 1.0)
    return _Frame(d, mu, gamma, v, q, s, tau, b, flat)


def _general_gap(m: Floats, delta: Floats) -> Floats:
    """The gap to the one-Gaussian fit; m and delta (m, d) -> (m,)."""
    x = _frame(m, delta)
    gap = np.empty_like(x.s)
    f, g = x.flat, ~x.flat
    # f = gap(q) + (d/2) log v + [K(d w) - K(tau)] - [K(tau, b) - K(tau)],  tau = d w/v
    gap[f] = (
        _isotropic_gap(x.q[f], x.d)
        + 0.5 * x.d * np.log1p(x.mu[f])
        + _evaluate(_difference_block, x.tau[f], x.tau[f] * x.mu[f])[2]
        - _evaluate(_offset_block, x.tau[f], x.b[f])[0]
    )
    k = _means(x.tau[g], x.b[g]).k
    gap[g] = 0.5 * x.d * np.log(x.s[g]) + x.gamma[g] / x.s[g] - k
    return gap


class _GeneralMeans(NamedTuple):
    """D = s - C(tau, b), T, C, A and C' at (tau, b), and dD/dgamma; arrays (m,)."""

    deficit: Floats
    t: Floats
    c: Floats
    a: Floats
    dc: Floats
    deficit_gamma: Floats


def _general_means(x: _Frame) -> _GeneralMeans:
    out = np.empty((6, x.s.size))
    f, g = x.flat, ~x.flat

    plain = _means(x.tau[g], x.b[g])
    tau_gamma, b_gamma = _frame_slopes(x)
    out[0, g] = x.s[g] - plain.c
    out[1:5, g] = plain[1:]
    out[5, g] = -1.0 / x.d - plain.dc * tau_gamma[g] + 2.0 * plain.a * b_gamma[g]

    # D = mu (1 - q) + D_isotropic(q) + [C(d w) - C(tau)] + [C(tau) - C(tau, b)]
    q, mu, v, tau = x.q[f], x.mu[f], x.v[f], x.tau[f]
    rest = (x.d - 1) * _w(q)
    drop, drop_slope, _ = _evaluate(_difference_block, tau, tau * mu)
    _, t, shift, a, shift_slope, c0, dc0 = _evaluate(_offset_block, tau, x.b[f])
    slope, _ = _deficit_slope(q, rest, float(x.d))
    out[0, f] = mu * (1.0 - q) + _deficit(q, rest) - drop + shift
    out[1, f], out[2, f], out[3, f], out[4, f] = t, c0 - shift, a, dc0 - shift_slope
    out[5, f] = (
        (-mu + slope + x.d * _dw(q) * (dc0 * mu / v - drop_slope)) / (x.d * v)
        + shift_slope * tau_gamma[f]
        + 2.0 * a * b_gamma[f]
    )
    return _GeneralMeans(*out)


def _frame_slopes(x: _Frame) -> tuple[Floats, Floats]:
    """dtau/dgamma and db/dgamma."""
    return 1.0 / x.s**2 + 2.0 * x.gamma / (x.d * x.s**3), x.b / (x.d * x.s)


def _general_slopes(x: _Frame, e: _GeneralMeans) -> tuple[Floats, Floats, Floats]:
    """df/dalpha, df/dgamma, df/dc; then grad_m = 2 f_alpha m + f_c delta, and so on."""
    f_alpha = 0.5 / x.s + (x.b * e.t - x.tau * e.deficit) / (x.d * x.s)
    f_gamma = e.deficit * (2.0 * x.v - x.s) / (2.0 * x.s**3) - x.b * e.t / (x.d * x.s)
    return f_alpha, f_gamma, e.t / x.s


def _general_gradient(m: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """The gradients by the half sum and by the half difference."""
    x = _frame(m, delta)
    f_alpha, f_gamma, f_c = (g[:, None] for g in _general_slopes(x, _general_means(x)))
    return 2.0 * f_alpha * m + f_c * delta, 2.0 * f_gamma * delta + f_c * m


def _general_hessian(m: Floats, delta: Floats) -> tuple[Floats, Floats, Floats]:
    """The blocks (m, m), (m, delta) and (delta, delta) of the Hessian, each (points, d, d)."""
    x = _frame(m, delta)
    e = _general_means(x)
    f_alpha, f_gamma, f_c = _general_slopes(x, e)
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
        outer = [u[:, :, None] * w[:, None, :] for u in (m, delta) for w in (m, delta)]
        total = one[:, None, None] * np.eye(d)
        for factor, matrix in zip((mm, md, dm, dd), outer, strict=True):
            total = total + factor[:, None, None] * matrix
        return total

    return (
        block(2.0 * f_alpha, 4.0 * f_aa, 2.0 * f_ac, 2.0 * f_ac, f_cc),
        block(f_c, 2.0 * f_ac, 4.0 * f_ag, f_cc, 2.0 * f_gc),
        block(2.0 * f_gamma, f_cc, 2.0 * f_gc, 2.0 * f_gc, 4.0 * f_gg),
    )


# --- public functions ----------------------------------------------------------------------------


class _Points(NamedTuple):
    """A checked argument in units of the true scale: theta (points, p), unit (p,) and its shape."""

    name: str
    theta: Floats
    unit: Floats
    shape: tuple[int, ...]


def _true_scale(name: str, scale: ArrayLike, d: int) -> Floats:
    value = np.asarray(scale, dtype=float)
    if value.ndim > 0 and (name != "diagonal" or value.shape != (d,)):
        expected = f"a number or {d} numbers" if name == "diagonal" else "a number"
        raise ValueError(
            f"scale: expected {expected} for the {name} model; got shape {value.shape}"
        )
    if not (np.all(np.isfinite(value)) and np.all(value > 0.0)):
        raise ValueError(f"scale: expected positive finite numbers (sigma^2); got {scale!r}")
    return np.broadcast_to(value, (d,)).astype(float)


def _checked(model: object, theta: ArrayLike, scale: ArrayLike) -> _Points:
    name = model_name(model)
    array = np.asarray(theta, dtype=float)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise ValueError(f"theta: expected shape (..., p) with p >= 1; got {array.shape}")
    p = array.shape[-1]
    if name == "general" and p % 2:
        raise ValueError(f"theta: the general model takes theta1 then theta2, 2 d numbers; got {p}")
    if not np.all(np.isfinite(array)):
        raise ValueError("theta: expected finite numbers; got nan or infinity")
    d = p // 2 if name == "general" else p
    unit = np.sqrt(_true_scale(name, scale, d))
    if name == "general":
        unit = np.concatenate([unit, unit])
    return _Points(name, array.reshape(-1, p) / unit, unit, array.shape[:-1])


def _curve_scale(x: _Points) -> Floats:
    """The scale on the curve, in units of the true one: (points,), or (points, d) if diagonal."""
    if x.name == "isotropic":
        return np.asarray(1.0 - np.mean(x.theta**2, axis=1))
    if x.name == "diagonal":
        return 1.0 - x.theta**2
    m, delta = _halves(x.theta)
    return np.asarray(1.0 + np.mean(m * m, axis=1) - np.mean(delta * delta, axis=1))


def _halves(theta: Floats) -> tuple[Floats, Floats]:
    """Half sum and half difference (second minus first) of the two locations."""
    first, second = np.split(theta, 2, axis=1)
    return 0.5 * (first + second), 0.5 * (second - first)


def _require_inside(x: _Points) -> None:
    lowest = _curve_scale(x)
    if lowest.size and not np.min(lowest) > 0.0:
        region = {
            "isotropic": "|theta|^2 < d scale",
            "diagonal": "theta_j^2 < scale_j",
            "general": "|delta|^2 < d scale + |m|^2 (half difference delta, half sum m)",
        }[x.name]
        raise ValueError(
            f"theta: the scale is not positive there; the {x.name} model needs {region}; "
            f"got a scale of {np.min(lowest):.6g} times the true one"
        )


def inside(model: object, theta: ArrayLike, scale: ArrayLike = 1.0) -> NDArray[np.bool_]:
    """Whether the scale on the curve is positive at theta (..., p); shape (...)."""
    x = _checked(model, theta, scale)
    positive = _curve_scale(x) > 0.0
    if positive.ndim == 2:
        positive = np.all(positive, axis=1)
    return positive.reshape(x.shape)[()]


def loss(model: object, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """f(theta) - f(truth) at infinite n, data N(0, scale).

    `theta` (..., p) with p = d, or 2 d (theta1 then theta2) for general locations; `scale` is the
    true sigma^2, a number, or one for each coordinate if diagonal. Returns shape (...). For data
    with mean mu subtract mu from both locations first. At true scale 1, with q = |theta|^2/d,

        isotropic   (d/2) (log(1 - q) + 2 q/(1 - q)) - E log cosh(X.theta/(1 - q))
        diagonal    the same sum by coordinate, 1 - theta_j^2 for 1 - q
        general     (d/2) log s + |delta|^2/s - E log cosh((X - m).delta/s),
                    s = 1 + |m|^2/d - |delta|^2/d
    """
    x = _checked(model, theta, scale)
    _require_inside(x)
    if x.name == "isotropic":
        gap = _isotropic_gap(np.mean(x.theta**2, axis=1), x.theta.shape[1])
    elif x.name == "diagonal":
        gap = _diagonal_gap(x.theta**2)
    else:
        gap = _general_gap(*_halves(x.theta))
    return gap.reshape(x.shape)[()]


def gradient(model: object, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """The gradient of `loss` by theta; shape (..., p).

    At true scale 1, `theta_j (1 + q_j)/(1 - q_j)^3 (1 - q_j - E sech^2(sqrt(W) V))`; isotropic:
    q_j = |theta|^2/d; diagonal: q_j = theta_j^2; W = sum_j q_j/(1 - q_j)^2.
    """
    x = _checked(model, theta, scale)
    _require_inside(x)
    p = x.theta.shape[1]
    if x.name == "isotropic":
        q = np.mean(x.theta**2, axis=1)
        value = x.theta * (_dw(q) * _deficit(q, (p - 1) * _w(q)))[:, None]
    elif x.name == "diagonal":
        q = x.theta**2
        value = x.theta * _dw(q) * _deficit(q, _others(_w(q)))
    else:
        by_m, by_delta = _general_gradient(*_halves(x.theta))
        value = 0.5 * np.concatenate([by_m - by_delta, by_m + by_delta], axis=1)
    return np.reshape(value / x.unit, (*x.shape, p))


def hessian(model: object, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """The Hessian of `loss` by theta; shape (..., p, p)."""
    x = _checked(model, theta, scale)
    _require_inside(x)
    p = x.theta.shape[1]
    eye = np.eye(p)
    if x.name == "isotropic":
        # f = d F(|theta|^2/d): Hessian 2 F' I + (4/d) F'' theta theta', F' = dw D/2
        q = np.mean(x.theta**2, axis=1)
        rest = (p - 1) * _w(q)
        deficit, (slope, _) = _deficit(q, rest), _deficit_slope(q, rest, float(p))
        across = _dw(q) * deficit
        along = 2.0 / p * (_dw2(q) * deficit + _dw(q) * slope)
        outer = x.theta[:, :, None] * x.theta[:, None, :]
        value = across[:, None, None] * eye + along[:, None, None] * outer
    elif x.name == "diagonal":
        # f_j = dw_j D_j/2 by q_j, f_jk = -dw_j dw_k C'(W)/2, and q_j = theta_j^2
        q = x.theta**2
        rest = _others(_w(q))
        deficit, (slope, dc) = _deficit(q, rest), _deficit_slope(q, rest, 1.0)
        side = x.theta * _dw(q)
        value = -2.0 * dc[:, :, None] * side[:, :, None] * side[:, None, :]
        diagonal = _dw(q) * deficit + 2.0 * q * (_dw2(q) * deficit + _dw(q) * slope)
        value = value * (1.0 - eye) + diagonal[:, :, None] * eye
    else:
        mm, md, dd = _general_hessian(*_halves(x.theta))
        dm = np.swapaxes(md, 1, 2)
        value = 0.25 * np.concatenate(
            [
                np.concatenate([mm - md - dm + dd, mm + md - dm - dd], axis=2),
                np.concatenate([mm - md + dm - dd, mm + md + dm + dd], axis=2),
            ],
            axis=1,
        )
    return np.reshape(value / np.outer(x.unit, x.unit), (*x.shape, p, p))


def _others(w: Floats) -> Floats:
    """For each coordinate the sum over the others, without a subtraction; (m, d) -> (m, d)."""
    return w @ (1.0 - np.eye(w.shape[1]))


def em_step(model: object, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """One step of EM at infinite n from theta (..., p), with the scale on its curve at theta.

    Isotropic and diagonal: theta_j (1 - D_j/(1 - q_j)), which is E[X_j tanh(.)] without rounding
    away the tiny move. General: theta2 = E[X t]/(1 + E t), theta1 = -E[X t]/(1 - E t), t = tanh.
    """
    x = _checked(model, theta, scale)
    _require_inside(x)
    p = x.theta.shape[1]
    if x.name == "isotropic":
        q = np.mean(x.theta**2, axis=1)
        value = x.theta * (1.0 - _deficit(q, (p - 1) * _w(q)) / (1.0 - q))[:, None]
    elif x.name == "diagonal":
        q = x.theta**2
        value = x.theta * (1.0 - _deficit(q, _others(_w(q))) / (1.0 - q))
    else:
        m, delta = _halves(x.theta)
        frame = _frame(m, delta)
        e = _general_means(frame)
        moment = delta * (e.c / frame.s)[:, None]  # E[X tanh] by Stein's lemma
        t = e.t[:, None]
        if t.size and not np.max(np.abs(t)) < 1.0 - 1e-9:
            # Its new location would be a quotient of rounding errors.
            raise ValueError("theta: one component is so far off that it holds none of the data")
        value = np.concatenate([-moment / (1.0 - t), moment / (1.0 + t)], axis=1)
    return np.reshape(value * x.unit, (*x.shape, p))
