"""How far apart two Gaussians must be before n rows tell them from one.

The likelihood ratio of two components against one is, for n rows from two Gaussians of equal weight
at +-theta with theta small, about that of a Gaussian shift. With delta = 2 n KL, KL the divergence
of the two Gaussians from the closest single one:

    d = 1    (Z + sqrt(delta))_+^2,          KL = theta^8/12 to leading order
    d = 2    noncentral chi^2 with two degrees of freedom and noncentrality delta
    d >= 2   lambda^2/(2 kappa),             KL = kappa theta^4/4 to leading order, kappa = 1 - 1/d

where lambda is the largest eigenvalue of W + g (e e' - I/d), W a symmetric Gaussian matrix with
entries of variance 1 off the diagonal and 2 on it, less its trace, e a unit vector and kappa g^2/2
= delta. To see two components, delta must be of order 1: theta of order n^(-1/8) at d = 1, n^(-1/4)
at d >= 2. The exact KL carries this over to distances that are not small.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from elubench import checks
from elubench.checks import Floats
from elubench.models import Model
from elubench.models.known import named

_REACH, _STEP = 12.0, 1.0 / 16.0  # of the rule of integration, in standard deviations
_CLOSE, _FAR = 1e-4, 50.0  # half distances between which the answer is looked for
_KNOWN = 1000.0  # half distance from which on there is a formula
_CERTAIN = 1e6  # twice the gain in log-likelihood that no test overlooks
_MOST_D = 200  # the eigenvalues of larger matrices take minutes
_DRAWS = 20_000


def divergence(half_distance: float, d: int) -> float:
    """Kullback and Leibler's, of two Gaussians of scale 1 from the closest single one.

    E log cosh(theta x) - theta^2 + (d/2) log(1 + theta^2/d), x from N(theta, 1).
    """
    theta = checks.real(half_distance, "half_distance", 0.0, closed="above")
    d = checks.integer(d, "d", 1)
    if theta > _KNOWN:  # log cosh(theta x) is theta |x| - log 2 for all x that there are
        return d * math.log(math.hypot(1.0, theta / math.sqrt(d))) - math.log(2.0)
    step = _STEP / max(1.0, theta)  # log cosh bends within 1/theta of 0
    v = np.arange(-math.ceil(_REACH / step), math.ceil(_REACH / step) + 1) * step
    weights = np.exp(-0.5 * v**2) * step / math.sqrt(2.0 * math.pi)
    y = np.abs(theta * (v + theta))
    # log cosh y - y^2/2 summed by itself: little is lost where theta is small
    bent = np.log1p(0.5 * np.expm1(-2.0 * y)) + y - 0.5 * y**2
    q = theta**2 / d
    rest = 0.5 * theta**4 - 0.5 * theta**2 + 0.5 * d * math.log1p(q)
    return max(0.0, float(weights @ bent) + rest)


def detection_power(
    n: float,
    d: int,
    half_distance: float,
    model: Model | type[Model] | str = "general",
    level: float = 0.01,
) -> float:
    """Probability that the likelihood-ratio test tells two equal Gaussians from one, for large n.

    Parameters
    ----------
    n, d : rows and columns. The limit needs n well above d^2.
    half_distance : half the distance between the means, in standard deviations.
    model : "isotropic" or "general"; "diagonal" at d = 1.
    level : probability of taking one Gaussian for two.
    """
    n, d, level = _checked(n, d, model, level)
    delta = min(2.0 * (n * divergence(half_distance, d)), _CERTAIN)
    if d == 1:
        return float(ndtr(math.sqrt(delta) + ndtri(level)))
    if d == 2:
        from scipy.stats import chi2, ncx2  # slow to import

        return float(ncx2.sf(chi2.isf(level, 2), 2, delta)) if delta > 0.0 else level
    noise, largest = _noise(d)
    shift = np.eye(d)[0] - 1.0 / d
    pull = math.sqrt(2.0 * delta / (1.0 - 1.0 / d))
    found = np.linalg.eigvalsh(noise + pull * np.diag(shift))[:, -1]
    return float(np.mean(found > np.quantile(largest, 1.0 - level)))


def detectable(
    n: float,
    d: int,
    model: Model | type[Model] | str = "general",
    level: float = 0.01,
    power: float = 0.9,
) -> float:
    """The smallest half distance, in standard deviations, that n rows detect with this power.

    Two Gaussians of equal weight against one, by the likelihood-ratio test at this level, as in
    :func:`detection_power`.
    """
    n, d, level = _checked(n, d, model, level)
    power = checks.real(power, "power", level, 1.0)

    def short(log_distance: float) -> float:
        return detection_power(n, d, math.exp(log_distance), model, level) - power

    ends = math.log(_CLOSE), math.log(_FAR)
    if short(ends[1]) < 0.0:
        raise ValueError(
            f"n must be larger: {n:g} rows detect no distance with power {power:g} at level "
            f"{level:g}"
        )
    if short(ends[0]) > 0.0:
        raise ValueError(f"n must be smaller: {n:g} rows detect distances below {_CLOSE:g}")
    return math.exp(brentq(short, *ends, xtol=1e-4 if d > 2 else 1e-9))


def _checked(
    n: float, d: int, model: Model | type[Model] | str, level: float
) -> tuple[float, int, float]:
    n = checks.real(n, "n", 2.0, closed="above")
    d = checks.integer(d, "d", 1, _MOST_D)
    chosen = named(model)
    if chosen.name not in ("isotropic", "general") and not (chosen.name == "diagonal" and d == 1):
        raise ValueError(f"model must be isotropic or general at d = {d}, got {chosen.name}")
    return n, d, checks.real(level, "level", 0.0, 0.5)


@lru_cache(maxsize=4)
def _noise(d: int) -> tuple[Floats, Floats]:
    """Draws of W and their largest eigenvalues.

    The same at every distance, so that power rises smoothly with it.
    """
    draws = max(1_000, _DRAWS // max(1, d - 3))
    matrix = np.random.default_rng(0).standard_normal((draws, d, d))
    matrix = (matrix + matrix.transpose(0, 2, 1)) / math.sqrt(2.0)
    trace = np.trace(matrix, axis1=1, axis2=2) / d
    matrix -= trace[:, None, None] * np.eye(d)
    return matrix, np.asarray(np.linalg.eigvalsh(matrix)[:, -1], float)
