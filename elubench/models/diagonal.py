"""Symmetric locations, a scale for each coordinate: the model of Algorithm 2.

The curve is s_j = m2_j - theta_j^2, and u_j = theta_j / s_j. Every coordinate brings the loss of an
isotropic model with d = 1; only log cosh(x.u) ties them together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.kernels import kernel, signatures
from elubench.models.base import Algebra
from elubench.models.isotropic import SymmetricModel, symmetric_error
from elubench.samples.base import Floats, Moments, Sample


@kernel("exact", signatures.SCALE)
def _scale(theta: Any, m1: Any, m2: Any, out: Any) -> None:
    for j in range(theta.size):
        out[j] = m2[j] - theta[j] * theta[j]


@kernel("exact", signatures.DIRECTION)
def _direction(theta: Any, m1: Any, m2: Any, u: Any) -> float:
    for j in range(theta.size):
        s = m2[j] - theta[j] * theta[j]
        if not (s > 0.0):
            u[:] = np.nan
            return np.nan
        u[j] = theta[j] / s
    return 0.0


@kernel("exact", signatures.RESPOND)
def _respond(theta: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """With g_j = (m2_j + theta_j^2) / s_j^2, the derivative of u_j: gradient_j = g_j (theta - T1)_j."""
    for j in range(theta.size):
        square = theta[j] * theta[j]
        s = m2[j] - square
        em[j] = sums[1 + j]
        gradient[j] = (m2[j] + square) / (s * s) * (theta[j] - em[j])


@kernel("exact", signatures.GAP)
def _gap(theta: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    total = 0.0
    for j in range(theta.size):
        square = theta[j] * theta[j]
        q = square / m2[j]
        s = m2[j] - square  # the very s of the direction
        if not (s > 0.0 and q < 1.0):
            return np.nan
        total += 0.5 * math.log1p(-q) + (e2[j] * q + square) / (2.0 * s)
    return total - log_cosh


@kernel("exact", signatures.HESSIAN)
def _hessian(theta: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    d = theta.size
    g = np.empty(d)
    for j in range(d):
        square = theta[j] * theta[j]
        s = m2[j] - square
        g[j] = (m2[j] + square) / (s * s)
    at = 3 + 2 * d
    for i in range(d):
        for j in range(i + 1):
            value = -g[i] * g[j] * sums[at]
            if i == j:
                square = theta[i] * theta[i]
                s = m2[i] - square
                slope = 2.0 * theta[i] / (s * s) + 4.0 * theta[i] * (m2[i] + square) / (s * s * s)
                value += g[i] + (theta[i] - sums[1 + i]) * slope
            out[i, j] = value
            out[j, i] = value
            at += 1


class Diagonal(SymmetricModel):
    """Algorithm 2's model: locations -theta and theta, covariance diag(s_1, ..., s_d)."""

    name = "diagonal"
    algebra = Algebra(_scale, _direction, _respond, _gap, _hessian, symmetric_error)

    def n_scales(self, d: int) -> int:
        return d

    def default_start(self, sample: Sample) -> Floats:
        """0.9 / sqrt(d) of every coordinate's spread."""
        return 0.9 * np.sqrt(sample.moments().m2 / sample.d)

    def one_gaussian_loss(self, fitted: Moments, evaluated: Moments) -> float:
        terms = np.log(2.0 * math.pi * fitted.m2) + evaluated.m2 / fitted.m2
        return 0.5 * float(np.sum(terms))
