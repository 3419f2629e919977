"""Symmetric locations, one scale: (1/2) N(-theta, s I) + (1/2) N(theta, s I).

With a = sum(m2) / d the curve is s = a - |theta|^2 / d. Writing rho = |theta|^2 and leaving constants
out, the loss is

    f = (d/2) log s + (d a + rho) / (2 s) - mean log cosh(x.u),   u = theta / s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elubench.kernels import kernel, signatures
from elubench.models.base import Algebra, Model
from elubench.samples import check
from elubench.samples.base import Floats, Moments, Sample


@kernel("exact")
def _square(v: Any) -> float:
    total = 0.0
    for value in v:
        total += value * value
    return total


@kernel("exact")
def _mean(v: Any) -> float:
    total = 0.0
    for value in v:
        total += value
    return total / v.size


@kernel("exact", signatures.SCALE)
def _scale(theta: Any, m1: Any, m2: Any, out: Any) -> None:
    out[0] = _mean(m2) - _square(theta) / theta.size


@kernel("exact", signatures.DIRECTION)
def _direction(theta: Any, m1: Any, m2: Any, u: Any) -> float:
    s = _mean(m2) - _square(theta) / theta.size
    if not (s > 0.0):
        u[:] = np.nan
        return np.nan
    for j in range(u.size):
        u[j] = theta[j] / s
    return 0.0


@kernel("exact", signatures.RESPOND)
def _respond(theta: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """theta - T1 is kept as one difference: near the truth it is all that is left of the gradient."""
    d = theta.size
    s = _mean(m2) - _square(theta) / d
    inner = 0.0
    for j in range(d):
        em[j] = sums[1 + j]
        inner += theta[j] * (theta[j] - em[j])
    for j in range(d):
        gradient[j] = (theta[j] - em[j]) / s + 2.0 / d * inner / (s * s) * theta[j]


@kernel("exact", signatures.GAP)
def _gap(theta: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    """With q = rho / (d a), s = a (1 - q), and every term is of the order of rho.

    Between narrow components the two large terms cancel, so s must be the very s of the direction.
    """
    d = theta.size
    a = _mean(m2)
    rho = _square(theta)
    q = rho / (d * a)
    s = a - rho / d
    if not (s > 0.0 and q < 1.0):
        return np.nan
    explained = (d * _mean(e2) * q + rho) / (2.0 * s)
    return 0.5 * d * math.log1p(-q) + explained - log_cosh


@kernel("exact", signatures.HESSIAN)
def _hessian(theta: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """Hess A - J C2 J - (T1 . Hess u), with A the part without data and J = I/s + h theta theta^T.

    J is the derivative of u, h = 2 / (d s^2), and
    T1 . Hess u = h (T1 theta^T + theta T1^T + (T1.theta) I) + (8 (T1.theta) / (d^2 s^3)) theta theta^T.
    """
    d = theta.size
    a = _mean(m2)
    rho = _square(theta)
    s = a - rho / d
    h = 2.0 / (d * s * s)
    first = (d * a + rho) / (2.0 * d * s * s)
    second = 1.0 / (2.0 * d * s * s) + (d * a + rho) / (d * d * s * s * s)
    inner = 0.0
    for j in range(d):
        inner += theta[j] * sums[1 + j]
    c_theta = np.zeros(d)  # C2 theta
    at = 3 + 2 * d
    for i in range(d):
        for j in range(i + 1):
            c_theta[i] += sums[at] * theta[j]
            if j < i:
                c_theta[j] += sums[at] * theta[i]
            at += 1
    c_square = 0.0
    for j in range(d):
        c_square += theta[j] * c_theta[j]
    at = 3 + 2 * d
    for i in range(d):
        for j in range(i + 1):
            pair = theta[i] * theta[j]
            value = 4.0 * second * pair
            value -= sums[at] / (s * s)
            value -= (
                h / s * (theta[i] * c_theta[j] + c_theta[i] * theta[j]) + h * h * c_square * pair
            )
            value -= h * (sums[1 + i] * theta[j] + sums[1 + j] * theta[i])
            value -= 8.0 * inner / (d * d * s * s * s) * pair
            if i == j:
                value += 2.0 * first - h * inner
            out[i, j] = value
            out[j, i] = value
            at += 1


@kernel("exact", signatures.ERROR)
def symmetric_error(theta: Any, truth: Any) -> float:
    """min(|theta - truth|, |theta + truth|): theta and -theta are the same mixture."""
    minus, plus = 0.0, 0.0
    for j in range(theta.size):
        minus += (theta[j] - truth[j]) ** 2
        plus += (theta[j] + truth[j]) ** 2
    return math.sqrt(min(minus, plus))


class SymmetricModel(Model):
    """What models with locations -theta and theta have in common."""

    even = True

    def n_params(self, d: int) -> int:
        return d

    def truth(self, location: ArrayLike, d: int) -> Floats:
        given = np.asarray(location)
        return check.vector(np.broadcast_to(given, d) if given.ndim == 0 else given, "location", d)

    def is_stationary_start(self, params: Floats) -> bool:
        return not params.any()


class Isotropic(SymmetricModel):
    """Algorithm 1's model: locations -theta and theta, covariance s I."""

    name = "isotropic"
    elu_defaults = (0.01, 0.8)
    algebra = Algebra(_scale, _direction, _respond, _gap, _hessian, symmetric_error)

    def n_scales(self, d: int) -> int:
        return 1

    def default_start(self, sample: Sample) -> Floats:
        """Equal coordinates, norm 0.9 sqrt(a)."""
        a = float(np.mean(sample.moments().m2))
        return np.full(sample.d, 0.9 * math.sqrt(a / sample.d))

    def one_gaussian_loss(self, fitted: Moments, evaluated: Moments) -> float:
        a, d = float(np.mean(fitted.m2)), fitted.m2.size
        return 0.5 * d * (math.log(2.0 * math.pi * a) + float(np.mean(evaluated.m2)) / a)
