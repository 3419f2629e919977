"""The loss, its gradient and its Hessian at infinite n, exact to rounding however flat they are.

The data are one Gaussian, the model is two. The restricted loss f is the negative log-likelihood
with the scale on its curve. Everything here is about `f(theta) - f(truth)`, the Kullback-Leibler
divergence from the truth to the mixture. It can be 1e-20 where f itself is 1, so it is never
computed by subtraction. How, at true scale 1:

**One coordinate** (q = theta^2, s = 1 - q). The log density ratio of mixture and truth is
`l(x) = q^2 (...)`: its terms of order q cancel and are removed by hand. Since the ratio has mean 1,

    gap(q) = E[-l] = E[exp(l) - 1 - l]        gap'(q) = E[(exp(l) - 1) l_q]

The first integrand is positive and the second positive to leading order, so nothing cancels.

**Several coordinates** (q_j = theta_j^2, w_j = q_j/(1 - q_j)^2, W = sum w_j). Only
`K(W) = E log cosh(sqrt(W) V)`, V standard normal, couples them:

    f = sum_j gap(q_j) + [sum_j K(w_j) - K(W)]

The bracket is positive because K is concave. With K(t) = t/2 - M(t) it is M(W) - sum M(w_j).
When one coordinate is far smaller than the others this cancels too, and then
`log cosh(x + y) - log cosh x - log cosh y = log(1 + tanh x tanh y)`, averaged over the sign of y,
gives the series of positive terms `1/2 sum_k E[tanh^2k x] E[tanh^2k y] / k`.
The gradient needs `D_j = 1 - q_j - E sech^2(sqrt(W) V)`, split in the same way. The isotropic model
is the diagonal one with all q_j equal to |theta|^2/d.

**General locations** add to the isotropic gap of the half difference terms that vanish with the
half sum m, each a mean of a function that vanishes with it.

Far from the truth (q_j >= 0.3, or W > 1) nothing cancels and the plain formulas are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elubench import checks
from elubench.checks import Floats
from elubench.papers.beyond_em.population.base import Population
from elubench.papers.beyond_em.population.diagonal import DiagonalPopulation
from elubench.papers.beyond_em.population.general import GeneralPopulation
from elubench.papers.beyond_em.population.isotropic import IsotropicPopulation
from elubench.papers.beyond_em.theory import AnyModel, name_of

_KNOWN: dict[str, Population] = {
    one.name: one for one in (IsotropicPopulation(), DiagonalPopulation(), GeneralPopulation())
}


class _Points(NamedTuple):
    """Checked points in units of the true scale: theta (points, p), unit (p,), shape of the batch."""

    population: Population
    theta: Floats
    unit: Floats
    shape: tuple[int, ...]


def _points(model: AnyModel, theta: ArrayLike, scale: ArrayLike) -> _Points:
    population = _KNOWN[name_of(model)]
    array = checks.numeric(theta, "theta")
    if array.ndim < 1 or array.shape[-1] < 1:
        raise ValueError(f"theta must have shape (..., p) with p >= 1, got {array.shape}")
    p = array.shape[-1]
    if p % population.locations:
        raise ValueError(f"theta must be theta1 then theta2 for the general model, got {p} numbers")
    if not np.all(np.isfinite(array)):
        raise ValueError("theta must be finite, got NaN or infinity")
    unit = np.sqrt(_true_scale(population, scale, p // population.locations))
    unit = np.tile(unit, population.locations)
    return _Points(population, array.reshape(-1, p) / unit, unit, array.shape[:-1])


def _true_scale(population: Population, scale: ArrayLike, d: int) -> Floats:
    value = checks.numeric(scale, "scale")
    if value.ndim > 0 and not (population.many_scales and value.shape == (d,)):
        expected = f"a number or {d} numbers" if population.many_scales else "a number"
        raise ValueError(
            f"scale must be {expected} for the {population.name} model, got shape {value.shape}"
        )
    if not (np.all(np.isfinite(value)) and np.all(value > 0.0)):
        raise ValueError(f"scale (sigma^2) must be positive and finite, got {checks.brief(scale)}")
    return np.broadcast_to(value, (d,)).astype(float)


def _points_inside(model: AnyModel, theta: ArrayLike, scale: ArrayLike) -> _Points:
    x = _points(model, theta, scale)
    with np.errstate(over="ignore", invalid="ignore"):  # far outside
        lowest = x.population.curve_scale(x.theta)
    if lowest.size and not np.min(lowest) > 0.0:
        raise ValueError(
            f"theta must be where the scale of the {x.population.name} model is positive, "
            f"{x.population.region}, got a scale of {np.min(lowest):.6g} times the true one"
        )
    return x


def inside(model: AnyModel, theta: ArrayLike, scale: ArrayLike = 1.0) -> NDArray[np.bool_]:
    """Whether the scale on the curve is positive at theta (..., p); shape (...)."""
    x = _points(model, theta, scale)
    positive = x.population.curve_scale(x.theta) > 0.0
    if positive.ndim == 2:
        positive = np.all(positive, axis=1)
    return positive.reshape(x.shape)[()]


def loss(model: AnyModel, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """f(theta) - f(truth) at infinite n, data N(0, scale).

    `theta` is (..., p) with p = d, or 2 d (theta1 then theta2) for general locations; `scale` is
    the true sigma^2, a number, or one per coordinate for the diagonal model. Returns shape (...).
    For data with mean mu subtract mu from both locations first. At true scale 1, with
    q = |theta|^2/d,

        isotropic   (d/2) (log(1 - q) + 2 q/(1 - q)) - E log cosh(X.theta/(1 - q))
        diagonal    the same, summed over coordinates, with 1 - theta_j^2 for 1 - q
        general     (d/2) log s + |delta|^2/s - E log cosh((X - m).delta/s),
                    s = 1 + |m|^2/d - |delta|^2/d
    """
    x = _points_inside(model, theta, scale)
    return x.population.gap(x.theta).reshape(x.shape)[()]


def gradient(model: AnyModel, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """The gradient of `loss` by theta; shape (..., p).

    At true scale 1, `theta_j (1 + q_j)/(1 - q_j)^3 (1 - q_j - E sech^2(sqrt(W) V))`; isotropic:
    q_j = |theta|^2/d; diagonal: q_j = theta_j^2; W = sum_j q_j/(1 - q_j)^2.
    """
    x = _points_inside(model, theta, scale)
    return np.reshape(x.population.gradient(x.theta) / x.unit, (*x.shape, x.unit.size))


def hessian(model: AnyModel, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """The Hessian of `loss` by theta; shape (..., p, p)."""
    x = _points_inside(model, theta, scale)
    value = x.population.hessian(x.theta) / np.outer(x.unit, x.unit)
    return np.reshape(value, (*x.shape, x.unit.size, x.unit.size))


def em_step(model: AnyModel, theta: ArrayLike, scale: ArrayLike = 1.0) -> Floats:
    """One step of EM at infinite n from theta (..., p), with the scale on its curve at theta.

    Isotropic and diagonal: theta_j (1 - D_j/(1 - q_j)), which is E[X_j tanh(.)] without rounding
    away the tiny move. General: theta2 = E[X t]/(1 + E t), theta1 = -E[X t]/(1 - E t), t = tanh.
    """
    x = _points_inside(model, theta, scale)
    return np.reshape(x.population.em_step(x.theta) * x.unit, (*x.shape, x.unit.size))
