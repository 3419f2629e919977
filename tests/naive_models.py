"""The models from their densities, nothing simplified. Imports nothing that it is to check.

A mixture is two locations, a variance for each coordinate and weights of one half. ``Exact`` works at
40 digits and takes derivatives by differences that lose half of these; the functions below it work
in float64 on samples of any size.
"""

import math

import numpy as np
from naive import EPS, mp


def halves(model, params, d):
    """The two locations."""
    params = np.asarray(params)
    return (params[:d], params[d:]) if model == "general" else (-params, params)


class Exact:
    """Loss, gradient and Hessian of the restricted likelihood of a small sample, at 40 digits."""

    def __init__(self, model, X, weights=None):
        self.model = model
        self.X = [[mp.mpf(float(x)) for x in row] for row in X]
        self.n, self.d = np.shape(X)
        self.w = [mp.mpf(float(w)) for w in (np.ones(self.n) if weights is None else weights)]
        self.total = mp.fsum(self.w)

    def mean(self, values):
        return mp.fsum(w * v for w, v in zip(self.w, values, strict=True)) / self.total

    def scales(self, params):
        """The variance of every coordinate, on the curve of all stationary points.

        EM's own update of the scale leaves the mean square distance of the rows from the locations,
        each weighted by its responsibilities; at a fixed point these are the formulas of the paper.
        """
        p = [mp.mpf(float(v)) if isinstance(v, float) else v for v in params]
        second = [self.mean([row[j] ** 2 for row in self.X]) for j in range(self.d)]
        if self.model == "diagonal":
            return [second[j] - p[j] ** 2 for j in range(self.d)]
        if self.model == "isotropic":
            s = (mp.fsum(second) - mp.fsum(v**2 for v in p)) / self.d
            return [s] * self.d
        m = [(p[j] + p[self.d + j]) / 2 for j in range(self.d)]
        delta = [(p[self.d + j] - p[j]) / 2 for j in range(self.d)]
        about = [
            self.mean([(row[j] - m[j]) ** 2 for row in self.X]) - delta[j] ** 2
            for j in range(self.d)
        ]
        return [mp.fsum(about) / self.d] * self.d

    def loss(self, params, scales=None):
        p = [mp.mpf(float(v)) if isinstance(v, float) else v for v in params]
        s = self.scales(p) if scales is None else scales
        one, two = (p[: self.d], p[self.d :]) if self.model == "general" else ([-v for v in p], p)
        constant = mp.fsum(mp.log(2 * mp.pi * v) for v in s) / 2

        def minus_log(row):
            a = mp.fsum((x - t) ** 2 / (2 * v) for x, t, v in zip(row, one, s, strict=True))
            b = mp.fsum((x - t) ** 2 / (2 * v) for x, t, v in zip(row, two, s, strict=True))
            low, high = min(a, b), max(a, b)
            return constant + low - mp.log1p(mp.exp(low - high)) + mp.ln2

        return self.mean([minus_log(row) for row in self.X])

    def one_gaussian(self):
        """Parameters of the best single Gaussian of the model."""
        if self.model != "general":
            return [mp.mpf(0)] * self.d
        return [self.mean([row[j] for row in self.X]) for j in range(self.d)] * 2

    def gap(self, params):
        return self.loss(params) - self.loss(self.one_gaussian())

    def gradient(self, params):
        """Central differences: truncation h^2 = 1e-24, rounding 1e-40/h = 1e-28."""
        h = mp.mpf(10) ** -12
        p = [mp.mpf(float(v)) for v in params]

        def moved(j, by):
            return [v + by if i == j else v for i, v in enumerate(p)]

        return np.array(
            [
                float((self.loss(moved(j, h)) - self.loss(moved(j, -h))) / (2 * h))
                for j in range(len(p))
            ]
        )

    def hessian(self, params):
        """Second central differences: truncation h^2 = 1e-20, rounding 1e-40/h^2 = 1e-20."""
        h = mp.mpf(10) ** -10
        p = [mp.mpf(float(v)) for v in params]

        def moved(i, j, by_i, by_j):
            q = list(p)
            q[i] += by_i
            q[j] += by_j
            return self.loss(q)

        out = np.empty((len(p), len(p)))
        for i in range(len(p)):
            for j in range(i + 1):
                corners = moved(i, j, h, h) - moved(i, j, h, -h)
                corners -= moved(i, j, -h, h) - moved(i, j, -h, -h)
                out[i, j] = out[j, i] = float(corners / (4 * h * h))
        return out


def scale(model, X, params, weights=None):
    """The scale on the curve: one number, or one for each coordinate of a diagonal model."""
    one, two = halves(model, params, X.shape[1])
    m, delta = (one + two) / 2, (two - one) / 2
    by_coordinate = np.average((X - m) ** 2, axis=0, weights=weights) - delta**2
    return by_coordinate if model == "diagonal" else np.array([by_coordinate.mean()])


def log_densities(model, X, params, s):
    """log N(x; theta_k, s) for both components: (n, 2)."""
    d = X.shape[1]
    s = np.broadcast_to(s, d)
    return np.column_stack(
        [
            -0.5 * np.sum(np.log(2 * math.pi * s) + (X - theta) ** 2 / s, axis=1)
            for theta in halves(model, params, d)
        ]
    )


def loss(model, X, params, weights=None, s=None):
    """Mean negative log-likelihood, with the scale on the curve unless one is given."""
    s = scale(model, X, params, weights) if s is None else s
    log = log_densities(model, X, params, s)
    return np.average(math.log(2) - np.logaddexp(log[:, 0], log[:, 1]), weights=weights)


def em_step(model, X, params, weights=None):
    """E step and M step, as in a textbook: responsibilities, then weighted means."""
    weights = np.ones(len(X)) if weights is None else weights
    log = log_densities(model, X, params, scale(model, X, params, weights))
    r = np.exp(log - np.logaddexp(log[:, 0], log[:, 1])[:, None])
    first, second = ((r[:, k] * weights) @ X for k in (0, 1))
    if model == "general":
        return np.concatenate([first / (weights @ r[:, 0]), second / (weights @ r[:, 1])])
    return (second - first) / weights.sum()


def gradient(model, X, params, weights=None):
    """Of the restricted loss: through the locations, and through the scale that follows them.

    The derivative of a log-likelihood is the mean over the posterior of that of the complete one.
    """
    d = X.shape[1]
    weights = np.ones(len(X)) if weights is None else weights
    curve = scale(model, X, params, weights)
    s = np.broadcast_to(curve, d)
    log = log_densities(model, X, params, s)
    r = np.exp(log - np.logaddexp(log[:, 0], log[:, 1])[:, None]) * weights[:, None] / weights.sum()
    thetas = halves(model, params, d)
    by_theta = [-(r[:, k] @ (X - thetas[k])) / s for k in (0, 1)]
    by_s = sum(0.5 * (r[:, k].sum() / s - (r[:, k] @ (X - thetas[k]) ** 2) / s**2) for k in (0, 1))
    if model == "diagonal":
        return by_theta[1] - by_theta[0] + by_s * -2 * params
    if model == "isotropic":
        return by_theta[1] - by_theta[0] + by_s.sum() * -2 * params / d
    one, two = thetas
    e = (one + two) / 2 - np.average(X, axis=0, weights=weights)
    delta = (two - one) / 2
    return np.concatenate(
        [by_theta[0] + by_s.sum() * (e + delta) / d, by_theta[1] + by_s.sum() * (e - delta) / d]
    )


def rounding(X, params, s, order, n=None):
    """What rounding may do to a derivative of this order: roundings times the size of its terms.

    Terms are products of at most ``order + 1`` factors x.theta/s, |x|^2/s or 1, over a length
    sqrt(s) for every derivative; a mean of n rows has n roundings at worst and the algebra a few
    dozen. Both sides of a comparison may err.
    """
    n = len(X) if n is None else n
    s = float(np.min(s))
    reach = np.max(np.sum(np.square(X), axis=1)) + float(np.sum(np.square(params)))
    return 2 * (n + 32) * EPS * (1 + reach / s) ** (order + 1) / s ** (order / 2)
