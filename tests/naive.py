"""Slow, obvious references for the kernels and the samples. Imports nothing that it is to check.

Sums are exact (``math.fsum``) over terms in float64, and come with a bound on the distance that
another correct float64 evaluation can have from them.
"""

import math

import mpmath
import numpy as np

EPS = 2.0**-53  # half an ulp, relative: the error of one rounding
TINY = 2.0**-1060  # more than a thousand roundings of subnormal numbers

mp = mpmath.mp.clone()
mp.dps = 40


def tanh_exact(x):
    """tanh to 40 digits."""
    x = mp.mpf(x)
    if abs(x) > 200:
        return mp.sign(x)
    return mp.tanh(x)


def log_cosh_exact(x):
    """log cosh to 40 digits: log1p(2 sinh^2(x/2)) has no cancellation near 0."""
    a = abs(mp.mpf(x))
    if a > 200:
        return a - mp.ln2
    return mp.log1p(2 * mp.sinh(a / 2) ** 2)


def ulps(got, exact):
    """Distance of a float from the exact value, in units of the last place of the exact value."""
    return float(abs(mp.mpf(float(got)) - exact) / mp.mpf(math.ulp(float(exact))))


def log_cosh(y):
    """log cosh of an array, within 3 roundings of terms of size |y| + 1."""
    a = np.abs(y)
    return a + np.log1p(np.exp(-2 * a)) - math.log(2)


def mean(terms, weights):
    """sum w_i term_i / sum w_i for terms (n, ...), added exactly."""
    flat = terms.reshape(len(terms), -1)
    sums = [math.fsum(weights * column) / math.fsum(weights) for column in flat.T]
    return np.array(sums).reshape(terms.shape[1:])


class Pass:
    """The one pass, row by row: T0, T1, LC, C0, C1 and, on request, C2, each with a bound.

    A term computed in float64 differs from the true one by the error of y, at most d + 2 roundings
    of |b| + sum |x_j u_j|, times the derivative of the function of y, plus a few ulps of the value;
    n terms in any order add at most n roundings of the sum of their sizes, and a weight, a total
    weight and a division one each. Both sides of a comparison may err.
    """

    def __init__(self, X, u, b=0.0, weights=None, second=False):
        X = np.asarray(X, dtype=float)
        n, d = X.shape
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        u = np.asarray(u, dtype=float)
        y = np.array([math.fsum([b, *(x * u)]) for x in X])
        y_error = (d + 2) * EPS * (abs(b) + np.abs(X) @ np.abs(u))
        # Over [y - e, y + e] no derivative is larger than these.
        slope = np.minimum(1.0, 4 * np.exp(-2 * np.maximum(np.abs(y) - y_error, 0)))
        t, c, cosh = np.tanh(y), 1 / np.cosh(np.clip(y, -300, 300)) ** 2, log_cosh(y)
        t_error = slope * y_error + 8 * EPS * np.abs(t)
        c_error = 2 * t_error + 8 * EPS * c
        cosh_error = y_error + 8 * EPS * (np.abs(y) + 1)

        def both(value, error, factor):
            terms = np.einsum("i,i...->i...", value, factor)
            slack = np.einsum("i,i...->i...", error + (n + 8) * EPS * np.abs(value), abs(factor))
            return mean(terms, weights), 2 * mean(slack, weights) + TINY

        ones = np.ones(n)
        self.t0, self.t0_error = both(t, t_error, ones)
        self.t1, self.t1_error = both(t, t_error, X)
        self.log_cosh, self.log_cosh_error = both(cosh, cosh_error, ones)
        self.c0, self.c0_error = both(c, c_error, ones)
        self.c1, self.c1_error = both(c, c_error, X)
        if second:
            self.c2, self.c2_error = both(c, c_error, np.einsum("ij,ik->ijk", X, X))


def moments(X, weights=None):
    """W, m1, m2 and the errors that rounding allows them."""
    X = np.asarray(X, dtype=float)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    slack = 2 * (len(X) + 4) * EPS
    return (
        (math.fsum(weights), mean(X, weights), mean(X**2, weights)),
        (
            slack * math.fsum(weights),
            slack * mean(abs(X), weights),
            slack * mean(X**2, weights) + TINY,
        ),
    )


def gaussian_moment(order):
    """E[x^order] of the standard normal: (order - 1)!! for even orders, else 0."""
    return 0 if order % 2 else math.prod(range(1, order, 2))


def gaussian_mean(function):
    """E[function(x)] of the standard normal, by adaptive quadrature at 40 digits."""
    density = lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)  # noqa: E731
    return mp.quad(lambda x: function(x) * density(x), [-16, -8, -4, -2, 0, 2, 4, 8, 16])


def fitted_location(x, weights=None):
    """|theta| of the maximum-likelihood fit of a symmetric two-component mixture to numbers x.

    On the curve s = a - theta^2 it is the root of theta = mean x tanh(x theta / s), or 0 where the
    right side is smaller for every theta > 0. By bisection, to 1e-4.
    """
    weights = np.ones(len(x)) if weights is None else weights
    total = weights.sum()
    weighted = weights * x
    a = np.sum(weighted * x) / total

    def excess(theta):
        return theta - np.sum(weighted * np.tanh(theta / (a - theta * theta) * x)) / total

    low, high = 0.02, 0.8 * math.sqrt(a)
    if excess(low) >= 0:
        return 0.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if excess(middle) < 0:
            low = middle
        else:
            high = middle
    return low
