"""EM and ELU at infinite n when scale and weights are known, and the law of nearly equal weights.

The data are from N(0, I), the weights 1 - w and w, and b = (1/2) log(w / (1 - w)): tanh(b) = 2 w - 1.
Along theta, of length r, x is standard normal, and E Z tanh(r Z + b) = r E tanh'(r Z + b). So a step of
EM is

    theta -> (1 - h(r)) theta,   h(r) = E tanh(r Z + b)^2,

and the gradient of the loss is h(r) theta. At the truth h is (1 - 2 w)^2: EM contracts by 4 w (1 - w).
With equal weights h(r) = r^2 - 2 r^4 + ..., and EM slows down without end.

**Nearly equal weights.** With the imbalance rho = |1 - 2 w| = h n^(-1/4) and theta = u n^(-1/4), all
terms of the gradient at d = 1 are of order n^(-3/4): u^3 + h^2 u from the population and
-h Z1 - sqrt(2) Z2 u from chance, where Z1 = sqrt(n) mean x and Z2 = sqrt(n / 2) (mean x^2 - 1). The MLE
minimises

    u^4 / 4 + (h^2 - sqrt(2) Z2) u^2 / 2 - h Z1 u.

For large h it is Z1 / h, that is theta = mean x / rho, and for h = 0 sqrt(max(sqrt(2) Z2, 0)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad

from elubench.checks import Floats
from elubench.models import KnownScale
from elubench.models.known import radius

# E f(Z) as a sum: the trapezoid rule is exact up to rounding for functions as smooth as these
_Z = np.linspace(-12.0, 12.0, 1201)
_WEIGHTS = np.exp(-0.5 * _Z**2) / np.sum(np.exp(-0.5 * _Z**2))
_SMALL = 5e-3  # of h: steps are then those of a flow, up to h / 2 iterations


def shrinkage(r: float, weight: float = 0.5) -> float:
    """h(r), the share of theta that a step of EM takes away; |theta| = r."""
    return float(np.sum(_WEIGHTS * np.tanh(r * _Z + KnownScale(weight).offset) ** 2))


def loss(r: float, weight: float = 0.5) -> float:
    """The population loss less that of one Gaussian."""
    b = KnownScale(weight).offset
    log_cosh = np.logaddexp(r * _Z + b, -r * _Z - b) - np.logaddexp(b, -b)
    return float(0.5 * r * r - np.sum(_WEIGHTS * log_cosh))


def gradient(theta: Floats, weight: float = 0.5) -> Floats:
    """The gradient (d,) of the population loss: what EM takes away from theta."""
    return shrinkage(float(np.linalg.norm(theta)), weight) * theta


def contraction(weight: float) -> float:
    """EM's contraction at the truth, 4 w (1 - w)."""
    return 4.0 * weight * (1.0 - weight)


def per_log(weight: float) -> float:
    """EM's iterations to the radius (d/n)^(1/2) per unit of ln n, for unequal weights."""
    return 0.5 / math.log(1.0 / contraction(weight))


def em_iterations(d: int, constant: float, start: float) -> Callable[[float], float]:
    """EM's iterations from |theta| = start to the radius of a sample of size n, equal weights.

    Exact steps lead to where h is small. From there on the steps are those of a flow in ln r^2 whose
    time is the integral of 1/v, 1/v = 1/k - k'/(2 k), with k = -2 ln(1 - h) a step's length.
    """

    def length(s: float) -> float:
        return -2.0 * math.log1p(-shrinkage(math.exp(0.5 * s)))

    def descended(s: float) -> tuple[float, int]:
        steps = 0
        while length(s) > _SMALL:
            s, steps = s - length(s), steps + 1
        return s, steps

    def iterations(n: float) -> float:
        target = 2.0 * math.log(radius(KnownScale(), n, d, constant))
        (high, before), (low, after) = descended(2.0 * math.log(start)), descended(target)
        # k is about exp(s): in units of that the integrand hardly moves
        time, _ = quad(lambda v: 1.0 / (v * length(-math.log(v))), math.exp(-high), math.exp(-low))
        return before - after + time - 0.5 * math.log(length(high) / length(low))

    return iterations


def elu_path(start: float, weight: float, eta: float, beta: float, iterations: int) -> Floats:
    """|theta| of ELU at infinite n after 0, 1, ... iterations."""
    path = [start]
    for t in range(iterations):
        path.append(abs(1.0 - eta * beta**-t * shrinkage(path[-1], weight)) * path[-1])
    return np.array(path)


def crossover(ratio: Any, z1: Any, z2: Any) -> Floats:
    """The limit of n^(1/4) |theta| at the MLE, where rho = ratio n^(-1/4); see the module.

    It is the largest root of u^3 + p u = |h Z1|: Newton's method comes down to it from above.
    """
    slope = np.abs(ratio * np.asarray(z1, dtype=float))
    p = np.square(ratio) - math.sqrt(2.0) * np.asarray(z2, dtype=float)
    u: Floats = np.sqrt(np.maximum(-p, 0.0)) + np.cbrt(slope)
    for _ in range(40):
        bend = 3.0 * u * u + p
        u = np.where(bend > 0.0, (2.0 * u**3 + slope) / np.where(bend > 0.0, bend, 1.0), u)
    return u


def crossover_rms(ratio: float) -> float:
    """The root mean square of :func:`crossover` over standard normal Z1 and Z2."""
    z, weights = _Z[::8], _WEIGHTS[::8] / np.sum(_WEIGHTS[::8])
    squares = crossover(ratio, z[:, None], z[None, :]) ** 2
    return float(np.sqrt(weights @ squares @ weights))
