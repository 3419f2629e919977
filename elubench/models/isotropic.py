"""Symmetric locations, one scale: (1/2) N(-theta, s I) + (1/2) N(theta, s I).

With a = sum(m2) / d the curve is s = a - |theta|^2 / d. With rho = |theta|^2 the loss is, up to a
constant,

    f = (d/2) log s + (d a + rho) / (2 s) - mean log cosh(x.u),   u = theta / s.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.kernels import kernel, layout, signatures
from elubench.models import directions
from elubench.models.base import Algebra, Natural
from elubench.models.symmetric import SymmetricModel, symmetric_error
from elubench.samples.base import RawMoments, Sample


@kernel("exact", plain=True)
def _square(v: Any) -> float:
    total = 0.0
    for value in v:
        total += value * value
    return total


@kernel("exact", plain=True)
def _mean(v: Any) -> float:
    total = 0.0
    for value in v:
        total += value
    return total / v.size


@kernel("exact", signatures.SCALE, plain=signatures.SMALL)
def _scale(theta: Any, m1: Any, m2: Any, out: Any) -> None:
    out[0] = _mean(m2) - _square(theta) / theta.size


@kernel("exact", signatures.DIRECTION, plain=signatures.SMALL)
def _direction(theta: Any, m1: Any, m2: Any, u: Any) -> float:
    s = _mean(m2) - _square(theta) / theta.size
    if not (s > 0.0):
        u[:] = np.nan
        return np.nan
    for j in range(u.size):
        u[j] = theta[j] / s
    return 0.0


@kernel("exact", signatures.RESPOND, plain=signatures.SMALL)
def _respond(theta: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """theta - T1 is one difference: near the truth it is all that remains of the gradient."""
    d = theta.size
    s = _mean(m2) - _square(theta) / d
    inner = 0.0
    for j in range(d):
        em[j] = sums[layout.T1 + j]
        inner += theta[j] * (theta[j] - em[j])
    for j in range(d):
        gradient[j] = (theta[j] - em[j]) / s + 2.0 / d * (inner / s) * (theta[j] / s)


@kernel("exact", plain=True)
def _gap_at(d: int, a: float, rho: float, q: float, s: float, e: float, log_cosh: float) -> float:
    """The gap where |theta|^2 = rho = q d a and the scale is s = a (1 - q); e is the evaluated a.

    Every term is of the order of rho. Between narrow components two large terms cancel, so s must be
    exactly the s in the direction u.
    """
    if not (s > 0.0 and q < 1.0):
        return np.nan
    return 0.5 * d * math.log1p(-q) + (d * e * q + rho) / (2.0 * s) - log_cosh


@kernel("exact", signatures.GAP, plain=signatures.SMALL)
def _gap(theta: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    d = theta.size
    a, rho = _mean(m2), _square(theta)
    return _gap_at(d, a, rho, rho / (d * a), a - rho / d, _mean(e2), log_cosh)


@kernel("exact", signatures.HESSIAN, plain=signatures.SMALL)
def _hessian(theta: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """Hess A - J C2 J - (T1 . Hess u), with A the part without data and J = I/s + h theta theta^T.

    J is the derivative of u, h = 2 / (d s^2), and
    T1 . Hess u = h (T1 theta^T + theta T1^T + (T1.theta) I) + (8 (T1.theta) / (d^2 s^3)) theta theta^T.
    All lengths are in units of sqrt(s), so that s is 1 and no power of it can underflow.
    """
    d = theta.size
    s = _mean(m2) - _square(theta) / d
    root = math.sqrt(s)
    x, t1 = np.empty(d), np.empty(d)
    for j in range(d):
        x[j], t1[j] = theta[j] / root, sums[layout.T1 + j] / root
    a, rho, h = _mean(m2) / s, _square(x), 2.0 / d
    first = (d * a + rho) / (2.0 * d)
    second = 1.0 / (2.0 * d) + (d * a + rho) / (d * d)
    inner = 0.0
    for j in range(d):
        inner += x[j] * t1[j]
    c_x = np.zeros(d)  # C2 x
    at = layout.c2_at(d)
    for i in range(d):
        for j in range(i + 1):
            c2 = sums[at] / s
            c_x[i] += c2 * x[j]
            if j < i:
                c_x[j] += c2 * x[i]
            at += 1
    c_square = 0.0
    for j in range(d):
        c_square += x[j] * c_x[j]
    at = layout.c2_at(d)
    for i in range(d):
        for j in range(i + 1):
            pair = x[i] * x[j]
            value = 4.0 * second * pair
            value -= sums[at] / s
            value -= h * (x[i] * c_x[j] + c_x[i] * x[j]) + h * h * c_square * pair
            value -= h * (t1[i] * x[j] + t1[j] * x[i])
            value -= 8.0 * inner / (d * d) * pair
            if i == j:
                value += 2.0 * first - h * inner
            out[i, j] = value / s
            out[j, i] = out[i, j]
            at += 1


# Natural coordinates: phi = u sqrt(a). With q = |phi|^2 / d the scale is s = a r, where r solves
# r = 1 - r^2 q, and theta = r phi sqrt(a).


@kernel("exact", plain=True)
def _share(phi: Any) -> float:
    """r = s / a, without the cancellation in the textbook formula for the root."""
    return 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * _square(phi) / phi.size))


@kernel("exact", signatures.CHANGE, plain=signatures.SMALL)
def _from_locations(theta: Any, m1: Any, m2: Any, phi: Any) -> None:
    a = _mean(m2)
    factor = math.sqrt(a) / (a - _square(theta) / theta.size)
    for j in range(theta.size):
        phi[j] = theta[j] * factor


@kernel("exact", signatures.CHANGE, plain=signatures.SMALL)
def _to_locations(phi: Any, m1: Any, m2: Any, theta: Any) -> None:
    factor = math.sqrt(_mean(m2)) * _share(phi)
    for j in range(theta.size):
        theta[j] = phi[j] * factor


@kernel("exact", signatures.SCALE, plain=signatures.SMALL)
def _natural_scale(phi: Any, m1: Any, m2: Any, out: Any) -> None:
    out[0] = _mean(m2) * _share(phi)


@kernel("exact", signatures.DIRECTION, plain=signatures.SMALL)
def _natural_direction(phi: Any, m1: Any, m2: Any, u: Any) -> float:
    root = math.sqrt(_mean(m2))
    total = 0.0
    for j in range(u.size):
        u[j] = phi[j] / root
        total += u[j]
    return 0.0 if math.isfinite(total) else np.nan


@kernel("exact", signatures.RESPOND, plain=signatures.SMALL)
def _natural_respond(phi: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """The gradient is (theta - T1) / sqrt(a)."""
    root = math.sqrt(_mean(m2))
    r = _share(phi)
    for j in range(phi.size):
        gradient[j] = r * phi[j] - sums[layout.T1 + j] / root
    _from_locations(sums[layout.T1 : layout.T1 + phi.size], m1, m2, em)


@kernel("exact", signatures.GAP, plain=signatures.SMALL)
def _natural_gap(phi: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    d = phi.size
    a, r = _mean(m2), _share(phi)
    q = r * r * _square(phi) / d
    return _gap_at(d, a, q * d * a, q, a * r, _mean(e2), log_cosh)


@kernel("exact", signatures.HESSIAN, plain=signatures.SMALL)
def _natural_hessian(phi: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """d theta / d phi - C2 / a, with d theta / d phi = r I - (2 r^2 / (d (1 + 2 r q))) phi phi^T."""
    d = phi.size
    a = _mean(m2)
    r = _share(phi)
    bend = 2.0 * r * r / (d * (1.0 + 2.0 * r * _square(phi) / d))
    at = layout.c2_at(d)
    for i in range(d):
        for j in range(i + 1):
            value = -bend * phi[i] * phi[j] - sums[at] / a
            if i == j:
                value += r
            out[i, j] = value
            out[j, i] = value
            at += 1


@kernel("exact", signatures.ERROR, plain=signatures.SMALL)
def _natural_error(phi: Any, m1: Any, m2: Any, truth: Any) -> float:
    theta = np.empty(phi.size)
    _to_locations(phi, m1, m2, theta)
    return symmetric_error(theta, m1, m2, truth)


class Isotropic(SymmetricModel):
    """Algorithm 1's model: locations -theta and theta, covariance s I."""

    name = "isotropic"
    formula = "(1/2) N(-theta, s I) + (1/2) N(theta, s I)"
    features = frozenset({"moment estimate"})
    elu_defaults = (0.01, 0.8)
    algebra = Algebra(_scale, _direction, _respond, _gap, _hessian, symmetric_error)
    natural = Natural(
        Algebra(
            _natural_scale,
            _natural_direction,
            _natural_respond,
            _natural_gap,
            _natural_hessian,
            _natural_error,
        ),
        _from_locations,
        _to_locations,
    )

    def n_scales(self, d: int) -> int:
        return 1

    def default_start(self, sample: Sample) -> Floats:
        """Equal coordinates, norm 0.9 sqrt(a)."""
        a = float(np.mean(sample.moments().m2))
        return np.full(sample.d, 0.9 * math.sqrt(a / sample.d))

    def steps(self, sample: Sample) -> tuple[list[Floats], int]:
        moments = sample.moments()
        return directions.steps(sample, self.centre(moments), self.spread(moments))

    def one_gaussian_loss(self, fitted: RawMoments, evaluated: RawMoments) -> float:
        a, d = float(np.mean(fitted.m2)), fitted.m2.size
        return 0.5 * d * (math.log(2.0 * math.pi * a) + float(np.mean(evaluated.m2)) / a)
