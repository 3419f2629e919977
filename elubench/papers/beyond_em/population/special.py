"""Functions of one number with their leading terms removed."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
from scipy.special import zeta

from elubench.checks import Floats


@lru_cache(maxsize=1)
def _tanh_coefficients() -> Floats:
    """c_1, c_2, ... with tanh y = sum_j c_j y^(2j-1), from the poles at i pi (k - 1/2)."""
    j = np.arange(1, 18)
    sums = (2.0 / np.pi) ** (2 * j) * (1.0 - 4.0**-j) * zeta(2.0 * j)  # of the poles' 2j-th powers
    return np.asarray(2.0 * (-1.0) ** (j - 1) * sums, dtype=float)


def log_cosh(y: Floats) -> Floats:
    """Log cosh y, without overflow."""
    size = np.abs(y)
    return cast(Floats, size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0))


def quartic_deficit(y: Floats) -> Floats:
    """(y^2/2 - log cosh y) / y^4, 1/12 at 0."""
    c = _tanh_coefficients()[1:]
    near = -np.polynomial.polynomial.polyval(
        np.minimum(y * y, 0.25), c / (2.0 * np.arange(2, 2 + c.size))
    )
    far = np.maximum(np.abs(y), 0.5)
    return np.where(np.abs(y) < 0.5, near, (0.5 * far**2 - log_cosh(far)) / far**4)


def cubic_deficit(y: Floats) -> Floats:
    """(y - tanh y) / y^3, 1/3 at 0."""
    near = -np.polynomial.polynomial.polyval(np.minimum(y * y, 0.25), _tanh_coefficients()[1:])
    far = np.maximum(np.abs(y), 0.5)
    return np.where(np.abs(y) < 0.5, near, (far - np.tanh(far)) / far**3)


def exp_excess(x: Floats) -> Floats:
    """exp(x) - 1 - x."""
    near = np.clip(x, -0.5, 0.5)
    total = np.ones_like(near)
    for k in range(16, 2, -1):  # x^2/2 (1 + x/3 (1 + x/4 (...)))
        total = 1.0 + total * near / k
    return np.where(np.abs(x) < 0.5, 0.5 * near**2 * total, np.expm1(x) - x)


def log_excess(q: Floats) -> Floats:
    """(log(1 - q) + q/(1 - q)) / (2 q^2) = 1/2 sum_k (1 - 1/k) q^(k-2), for q < 0.3."""
    k = np.arange(2, 36)  # 0.3^34 < 1e-17
    return cast(Floats, np.polynomial.polynomial.polyval(q, 0.5 * (1.0 - 1.0 / k)))
