"""The laws behind the rates, on one Gaussian: of the maximum-likelihood location, and of EM's time.

**Location, d = 1.** Near 0 the loss of a sample is `(k/12) theta^4 + theta^8/12`, k its excess kurtosis,
whose variance is 24/n. Its minimum is at `theta^4 = -k/2`, or at 0 where k is positive. So

    n^(1/8) |theta|  ->  (sqrt(6) Z)_+^(1/4)        Z standard normal,

with an atom of one half at 0. For two Gaussians at `+-h n^(-1/8)`, h^4 is added to sqrt(6) Z.

**Location, isotropic, d >= 2.** The loss is `-theta' M theta/2 + (1 - 1/d) |theta|^4/4`, M the traceless
part of the sample covariance. sqrt(n) M tends to W, Gaussian with independent entries above the diagonal
of variance 1, of variance 2 on it, less their mean. So

    n^(1/4) |theta|  ->  sqrt(lambda_max(W) / (1 - 1/d))

At d = 2, lambda_max(W) is the length of a standard normal vector of the plane, and the distribution
function is 1 - exp(-u^4/8).

**EM's time, d = 1.** With `theta = u n^(-1/8)` and t in units of n^(3/4) EM follows
`du/dt = -(2/3) u^7 + B u^3`, where B is -sqrt(n) k/3, of variance 8/3. From far away it
comes within c after

    tau = integral from c of du / ((2/3) u^7 - B u^3)

which grows with B, and is infinite from `B = (2/3) c^4` on.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gamma, ndtr

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale

#: Standard deviation of sqrt(n) theta_hat^4 before it is cut off at 0, and of B.
FOURTH_POWER, PULL = math.sqrt(6.0), math.sqrt(8.0 / 3.0)
_KAPPA = location_scale(1).kappa


def location_cdf(u: ArrayLike, d: int, h: float = 0.0) -> Floats:
    """P(n^(1/8) |theta| <= u) at d = 1, P(n^(1/4) |theta| <= u) at d = 2, in the limit.

    At d = 1 the truth may be two Gaussians at +-h n^(-1/8).
    """
    u = np.asarray(u, dtype=float)
    d = checks.integer(d, "d", 1, 2)
    h = checks.real(h, "h", above=0.0, closed="above")
    if d == 2:
        if h:
            raise ValueError(f"h must be 0 at d = 2, got {h:g}")
        return np.asarray(np.where(u < 0.0, 0.0, -np.expm1(-(u**4) / 8.0)))
    return np.asarray(np.where(u < 0.0, 0.0, ndtr((u**4 - h**4) / FOURTH_POWER)))


def location_draws(d: int, draws: int, seed: int = 0) -> Floats:
    """Independent draws from the limit of n^(1/8) |theta| (d = 1) or n^(1/4) |theta|."""
    d, draws = checks.integer(d, "d", 1), checks.integer(draws, "draws", 1)
    rng = np.random.default_rng(seed)
    if d == 1:
        return np.asarray(np.maximum(FOURTH_POWER * rng.standard_normal(draws), 0.0) ** 0.25)
    matrix = rng.standard_normal((draws, d, d))
    matrix = (matrix + matrix.transpose(0, 2, 1)) / math.sqrt(2.0)
    trace = np.trace(matrix, axis1=1, axis2=2) / d
    top = np.linalg.eigvalsh(matrix)[:, -1] - trace
    return np.asarray(np.sqrt(top / location_scale(d).kappa))


def location_rms(d: int, draws: int = 100_000, seed: int = 0) -> tuple[float, float]:
    """Root mean square of the limit, and its standard error: 0 for d <= 2, where it is exact.

    In units of n^(-1/8) at d = 1 and of n^(-1/4) at d >= 2.
    """
    d = checks.integer(d, "d", 1)
    if d == 1:  # E sqrt(sqrt(6) Z_+)
        mean = 6.0**0.25 * 2.0**0.25 * float(gamma(0.75)) / math.sqrt(math.pi) / 2.0
        return math.sqrt(mean), 0.0
    if d == 2:  # twice the mean length of a standard normal vector
        return math.sqrt(2.0 * math.sqrt(math.pi / 2.0)), 0.0
    squares = location_draws(d, draws, seed) ** 2
    rms = math.sqrt(float(squares.mean()))
    return rms, float(squares.std()) / math.sqrt(draws) / (2.0 * rms)


def location_risk(h: float) -> float:
    """E(n^(1/8) |theta| - h)^2 in the limit at d = 1, the truth at +-h n^(-1/8)."""
    h = checks.real(h, "h", above=0.0, closed="above")
    nodes, weights = np.polynomial.legendre.leggauss(100)
    # over u = (h^4 + sqrt(6) Z)^(1/4), whose density is 4 u^3/sqrt(6) phi((u^4 - h^4)/sqrt(6))
    top = (h**4 + 9.0 * FOURTH_POWER) ** 0.25
    low = max(0.0, h**4 - 9.0 * FOURTH_POWER) ** 0.25
    u = low + 0.5 * (top - low) * (nodes + 1.0)
    z = (u**4 - h**4) / FOURTH_POWER
    density = 4.0 * u**3 / FOURTH_POWER * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    rest = 0.5 * (top - low) * float(weights @ (density * (u - h) ** 2))
    return rest + h**2 * float(ndtr(-(h**4) / FOURTH_POWER))


def em_time(pull: float, constant: float = 2.0) -> float:
    """tau for B = pull and c = constant; inf where EM never comes within c."""
    pull = checks.real(pull, "pull")
    v = checks.real(constant, "constant", above=0.0) ** -2.0
    # with v = u^-2: integral from 0 to V of v^2/(kappa - B v^2) dv / 2
    x = pull * v * v / _KAPPA
    if x >= 1.0:
        return math.inf
    if abs(x) < 1e-2:  # the closed forms cancel; sum_k x^k/(2k + 3)
        series = sum(x**k / (2 * k + 3) for k in range(8))
    elif x > 0.0:
        series = (math.atanh(math.sqrt(x)) / math.sqrt(x) - 1.0) / x
    else:
        series = (math.atan(math.sqrt(-x)) / math.sqrt(-x) - 1.0) / x
    return v**3 / (2.0 * _KAPPA) * series


def em_time_cdf(tau: ArrayLike, constant: float = 2.0) -> Floats:
    """P(T n^(-3/4) <= tau) in the limit, T being EM's iterations to constant n^(-1/8)."""
    most = _KAPPA * checks.real(constant, "constant", above=0.0) ** 4

    def one(x: float) -> float:
        if x <= em_time(-40.0 * PULL, constant):
            return 0.0
        if x >= em_time(most * (1.0 - 1e-12), constant):
            return float(ndtr(most / PULL))
        pull = brentq(lambda b: em_time(b, constant) - x, -40.0 * PULL, most * (1.0 - 1e-12))
        return float(ndtr(pull / PULL))

    values = np.asarray(tau, dtype=float)
    return np.array([one(float(x)) for x in values.ravel()]).reshape(values.shape)
