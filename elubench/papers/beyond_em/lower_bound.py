"""How close any estimate can come: Le Cam's bound between one Gaussian and two (isotropic model).

N(0, I) and the two-component mixture at +-theta with scale 1 - q, q = |theta|^2/d, which has the same
total variance, are the hardest to tell apart. If the total variation distance of n draws is V, the prior
that gives either one half leaves a Bayes risk, for squared error of the location (whose sign is
irrelevant), of

    |theta|^2/2 integral of p0 p1/(p0 + p1)  >=  |theta|^2/4 (1 - V)

and |theta|^2/(2 d) (1 - V) for the absolute error of the squared scale. So no estimate has a smaller
worst-case risk. V is bounded in two ways, both valid at every n.

**Divergence.** V is at most sqrt(n KL/2) and sqrt(1 - exp(-n KL)); KL is the population loss above its
minimum: theta^8/12 + ... at d = 1 and (1 - 1/d) theta^4/4 + ... at d >= 2. One theta against 0 gives
the exponent of n, but none of d.

**Sphere.** At d >= 2 the direction is not known either. For two that are drawn uniformly, with cosine r,
the density ratios have the mean product

    g(r) = (1 - q^2)^(-d/2) exp(-d q^2/(1 - q^2)) cosh(d q r/(1 - q^2))

(a Gaussian integral), and V is at most half the root of `E g(r)^n - 1`. This gives both exponents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em import limit_laws, population

Method = Literal["divergence", "sphere"]
METHODS: tuple[Method, ...] = ("divergence", "sphere")
_NODES = 200  # of the angle between two directions


def divergence(theta: float, d: int) -> float:
    """KL(N(0, I), mixture at +-theta with scale 1 - theta^2/d), by quadrature."""
    d = checks.integer(d, "d", 1)
    theta = checks.real(theta, "theta", 0.0, math.sqrt(d))
    return float(population.loss("isotropic", theta * np.eye(d)[0]))


def log_overlap(theta: float, cosine: Floats, d: int) -> Floats:
    """ln g: of the mean under N(0, I) of the product of two density ratios, in these directions."""
    q = theta**2 / d
    rest = 1.0 - q * q
    y = d * q * cosine / rest
    # ln cosh y without losing a small y; far out the sinh would overflow
    near = np.log1p(2.0 * np.sinh(0.5 * np.minimum(np.abs(y), 30.0)) ** 2)
    curve = np.where(np.abs(y) < 30.0, near, np.abs(y) - math.log(2.0))
    return np.asarray(curve - 0.5 * d * math.log1p(-q * q) - d * q * q / rest)


def total_variation(theta: float, n: float, d: int, method: Method = "divergence") -> float:
    """An upper bound, at most 1, of the total variation distance of n draws."""
    checks.choice(method, "method", METHODS)
    n = checks.real(n, "n", above=0.0)
    if method == "divergence":
        total = n * divergence(theta, d)
        return min(math.sqrt(0.5 * total), math.sqrt(-math.expm1(-total)))
    d = checks.integer(d, "d", 1)
    theta = checks.real(theta, "theta", 0.0, math.sqrt(d))
    cosine, log_weights = _directions(d)
    powers = n * log_overlap(theta, cosine, d)
    if powers.max() < 1.0:  # the mean may be close to 1
        excess = float(np.exp(log_weights) @ np.expm1(powers))
    else:
        excess = math.expm1(min(10.0, float(logsumexp(powers + log_weights))))
    return min(1.0, 0.5 * math.sqrt(max(0.0, excess)))


@lru_cache(maxsize=32)
def _directions(d: int) -> tuple[Floats, Floats]:
    """The cosine between two uniform directions, as nodes and logarithms of weights."""
    if d == 1:
        return np.ones(1), np.zeros(1)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    angle = 0.25 * math.pi * (nodes + 1.0)  # g is even in the cosine
    log_weights = np.log(weights) + (d - 2) * np.log(np.sin(angle))
    return np.cos(angle), log_weights - logsumexp(log_weights)


class Bound(NamedTuple):
    """A lower bound on the worst risk of any estimate from n draws, and the theta that gives it.

    ``location`` bounds the mean squared error of the location, ``scale`` the mean absolute error of the
    squared scale; ``variation`` is the bound of the total variation distance at this theta.
    """

    theta: float
    variation: float
    location: float
    scale: float


def bound(n: float, d: int, method: Method = "divergence") -> Bound:
    """The largest bound over theta."""
    n = checks.real(n, "n", above=1.0)
    d = checks.integer(d, "d", 1)
    flatness = location_scale(d)
    unit = flatness.radius(n, 1)

    def risk(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return -(theta**2) * (1.0 - total_variation(theta, n, d, method))

    most = math.log(min(4.0 * d**0.25 * unit, 0.9 * math.sqrt(d)))
    found = minimize_scalar(
        risk, bounds=(math.log(0.1 * unit), most), method="bounded", options={"xatol": 1e-6}
    )
    theta = math.exp(float(found.x))
    variation = total_variation(theta, n, d, method)
    left = theta**2 * (1.0 - variation)
    return Bound(theta, variation, left / 4.0, left / (2.0 * d))


def lower_bound(
    seed: int,
    sizes: Sequence[float] = (1e4, 1e6, 1e8, 1e10, 1e12, 1e14),
    dimensions: Sequence[int] = (1, 2, 4, 8, 16, 32),
    draws: int = 4_000,
) -> pd.DataFrame:
    """Bounds by d, n and method beside the risk of maximum likelihood on one Gaussian, in the limit.

    ``location`` and ``scale`` as in `Bound`; ``mle`` is the mean squared error of the
    maximum-likelihood location and ``mle_error`` its standard error, from ``draws`` where d > 2. At
    d = 1 one Gaussian is the worst case for maximum likelihood (`limit_laws.location_risk`).
    """
    rows = []
    for d in dimensions:
        rms, error = limit_laws.location_rms(d, draws, seed)
        for n in sizes:
            rate = float(n) ** (2.0 * location_scale(d).location_n)
            mle = (rms**2 * rate, 2.0 * rms * error * rate)
            for method in METHODS:
                found = bound(n, d, method)
                rows.append((d, float(n), method, *found, n * divergence(found.theta, d), *mle))
    columns = ["d", "n", "method", *Bound._fields, "divergence", "mle", "mle_error"]
    return pd.DataFrame(rows, columns=columns)
