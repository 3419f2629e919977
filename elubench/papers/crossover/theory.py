"""Two Gaussians of scale 1 at +-theta*, theta* = h n^(-a): what maximum likelihood and EM do there.

**The loss.** For data from one Gaussian, EM's step near 0 is, with kappa = 1 - 1/d and M the
traceless part of the sample's second moments (d >= 2) or k its excess kurtosis (d = 1),

    d = 1     theta -> theta - (k/3) theta^3 - (2/3) theta^7
    d >= 2    theta -> theta + M theta - kappa |theta|^2 theta

Two Gaussians give k = -2 theta*^4 and M = theta* theta*' - |theta*|^2/d, both plus noise of order
n^(-1/2): sqrt(n) k has variance 24, and sqrt(n) M tends to a symmetric Gaussian matrix W of
variance 1 off the diagonal and 2 on it, less its trace. Everything below follows from these two
lines.

**Where the regimes meet.** Signal and noise are equal at theta*^4 = n^(-1/2) (d = 1) and |theta*|^2
= n^(-1/2) (d >= 2): at a = 1/8 and at a = 1/4. Beyond, the data do not know of theta*, and all is
as for one Gaussian.

**Error, below that a.** The optimum is at theta^4 = -k/2 and, at d >= 2, along the first
eigenvector of M with kappa |theta|^2 its eigenvalue. To first order in the noise

    d = 1     n E(theta - theta*)^2 -> (6/16) theta*^(-6)
    d >= 2    n E|theta - theta*|^2 -> (d/(2(d-1)) + d - 1) |theta*|^(-2)

along and across theta*: the location is known to n^(-1/2 + 3a) at d = 1 and n^(-1/2 + a) at d >= 2.
The squared scale is m2 - |theta|^2/d. Its error is 2 theta*/d times that along theta*, and that of
m2: n^(-1/2 + 2a) at d = 1, n^(-1/2) at d >= 2. `location_error` and `scale_error` have no small
theta* in them: they are of the exact information.

**EM's contraction there.** Derivatives of the steps: 1 - rho = (8/3) theta*^6 at d = 1; at d >= 2
it is 2 kappa |theta*|^2 along theta* and |theta*|^2 across it, and the second is never the larger.

**EM's iterations.** In units of theta*, u = theta/theta*, the steps are a flow in the time
theta*^alpha t, alpha = 6 or 2. From far away it needs a constant time to u = 2, and then
ln(theta*/radius) over (1 - rho) theta*^(-alpha) to the statistical radius:

    d = 1     n^(6a) h^(-6) ((3/8)(1/2 - 4a) ln n + O(1))
    d >= 2    n^(2a) h^(-2) ((1/2 - 2a) ln n + O(1))

n^(6a) log n and n^(2a) log n: log n at a = 0, as for two Gaussians well apart, and n^(3/4) and
n^(1/2), as for one Gaussian, where the regimes meet and the logarithm has gone. `em_iterations` has
the exact step.

**Their median over samples.** A sample's EM ends at its own optimum, theta* + g, and near the end its
path is that of infinite n moved by g. With e the distance still to go at infinite n, in units of the
radius and along the unit vector v, it arrives at |e v + g| = 1: e = sqrt(1 - |g across v|^2) - g.v. At
d = 1 there is nothing across, and the median of e is 1. At d >= 2 the median of ln e is -c, with c of
the order of the variance of g and the same at every n: c/(1 - rho) iterations more than at infinite n,
a share that falls like 1/ln n. A path crosses the radius between two iterates, on average half an
iteration before the count. At counts of 30 that is a share of 1.7 %: predicted counts that are whole
numbers have exponents wrong by up to 0.002. `em_iterations` has both, g from the exact information.

**Unequal weights.** The symmetric models see even functions of x alone, whose law does not depend
on the weights: nothing changes. With a free centre, weights 1/2 +- delta give k = -2 theta*^4 (1 -
16 delta^2 + 48 delta^4), and a skewness of order delta theta*^3 that a model of equal weights
cannot use. It then finds theta^4 = theta*^4 (1 - 16 delta^2), too small by 4 delta^2 theta*. That
exceeds the statistical error from delta = (6^(1/4)/4) n^(-1/4 + 2a) h^(-2) on: n^(-1/4) where the
Gaussians are apart, but a constant where the regimes meet.

**Known weights.** A model that knows the weights p, q = 1/2 +- delta, with a free centre and scale,
has skewness A theta^3 and excess kurtosis B theta^4, A = 8 p q (p - q) and B = 16 p q (1 - 6 p q).
On one Gaussian those of the sample are sqrt(6/n) Z1 and sqrt(24/n) Z2, with independent standard
normal Z1 and Z2, and its optimum is where

    (Z1 - a theta^3)^2 + (Z2 - b theta^4)^2,    a = A sqrt(n/6), b = B sqrt(n/24),

is least: theta has the sign of Z1, and for Z1 > 0 is the only positive root of

    3 a Z1 + 4 b Z2 theta - 3 a^2 theta^3 - 4 b^2 theta^5

(the signs of the coefficients change once). At fixed delta, theta^3 = Z1/a to leading order: the
error is of order n^(-1/6). At delta = n^(-1/8), a = 4 delta sqrt(n/6) and b = -2 sqrt(n/24) make both
terms equal in order: it is n^(-1/8), and no better below. Neither is a power law at finite n. At fixed
delta the kurtosis changes the mean square by a share of order n^(-1/3). At delta = n^(-1/8),

    A = 4 delta (1 - 4 delta^2)    B = -2 (1 - 16 delta^2 + 48 delta^4)

differ from their limits by shares of order n^(-1/4): B is half its limit at n = 10^6, theta is larger
there, and a plain line through n = 10^6 to 10^14 has a slope of -0.1275. `known_weights_error` has A
and B as they are. What it leaves out is smaller: fifth and sixth moments move theta by a share of
n^(-1/4) at most, but their noise is independent of Z1 and Z2, so that the mean square changes by the
square of that share, n^(-1/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em.separation import contraction as contraction

_REACH, _STEP = 12.0, 1.0 / 16.0  # of the rule of integration, in standard deviations
_COUNTED = 1_000  # iterations that are made one by one
_SHARES = 200  # parts of equal probability that a law is cut into


def meeting(d: int) -> float:
    """The exponent a at which the regimes meet: 1/8 at d = 1, 1/4 at d >= 2."""
    return -location_scale(d).location_n


def location_exponent(a: float, d: int) -> float:
    """Exponent of n in the location error of maximum likelihood."""
    flat = location_scale(d)
    return -0.5 + (flat.alpha - flat.gamma) * min(a, meeting(d))


def scale_exponent(a: float, d: int) -> float:
    """Exponent of n in the error of the squared scale."""
    return -0.5 + 2.0 * min(a, meeting(1)) if d == 1 else -0.5


def iterations_exponent(a: float, d: int) -> float:
    """Exponent of n in EM's iterations, apart from a factor log n below the meeting."""
    return location_scale(d).alpha * min(a, meeting(d))


def _nodes(theta: float) -> tuple[Floats, Floats]:
    """Points and weights for means over a standard normal of functions that bend within 1/theta."""
    step = _STEP / max(1.0, theta)
    v = np.arange(-math.ceil(_REACH / step), math.ceil(_REACH / step) + 1) * step
    weights = np.exp(-0.5 * v**2) * step / math.sqrt(2.0 * math.pi)
    return np.asarray(v, float), np.asarray(weights, float)


@lru_cache(maxsize=4096)
def _variances(theta: float, d: int) -> tuple[float, float, float]:
    """n times the variances of the location along and across theta*, and of the squared scale."""
    v, weights = _nodes(theta)
    x = v + theta
    tanh = np.tanh(theta * x)
    location = x * tanh - theta  # the scores: along theta, and of the squared scale
    scale = 0.5 * (x**2 - 1.0 + theta**2) - theta * x * tanh
    others = 0.5 * (d - 1)  # what the other coordinates add to the information on the scale
    ll, ls, ss = (float(weights @ one) for one in (location**2, location * scale, scale**2))
    ss += others
    # what is left of a score after projection on the other, summed by itself: no cancellation
    slope = ls / ss
    along = float(weights @ (location - slope * scale) ** 2) + slope**2 * others
    slope = ls / ll
    of_scale = float(weights @ (scale - slope * location) ** 2) + others
    across = float(weights @ tanh**2)
    return 1.0 / along, 1.0 / across, 1.0 / of_scale


def location_error(theta: float, n: float, d: int) -> float:
    """Root mean square error of the location, to leading order in n, at exact information."""
    d = checks.integer(d, "d", 1)
    along, across, _ = _variances(_theta(theta), d)
    return math.sqrt((along + (d - 1) * across) / n)


def scale_error(theta: float, n: float, d: int) -> float:
    """Root mean square error of the squared scale, in the same way."""
    return math.sqrt(_variances(_theta(theta), checks.integer(d, "d", 1))[2] / n)


def _theta(theta: float) -> float:
    return checks.real(theta, "theta", 0.0)


def em_step(at: Floats, theta: float, d: int) -> Floats:
    """EM's step at infinite n from (along, across) theta*; across is one number, by symmetry.

    E[X tanh(X.u)] = theta* E tanh Y + u E sech^2 Y with Y from N(u.theta*, |u|^2), by Stein's identity.
    """
    u = at / (1.0 + (theta**2 - float(at @ at)) / d)
    length = float(np.linalg.norm(u))
    v, weights = _nodes(length)
    tanh = np.tanh(length * v + u[0] * theta)
    moved = u * float(weights @ (1.0 - tanh**2))
    moved[0] += theta * float(weights @ tanh)
    return np.asarray(moved)


def _arrived(at: Floats, theta: float, radius: float, d: int, n: float) -> float:
    """The share of samples of n whose EM is within the radius when that of infinite n is ``at``."""
    along, across, _ = _variances(theta, d)
    along, across = math.sqrt(along / n), math.sqrt(across / n)
    first = at[0] - theta + along * ndtri((np.arange(_SHARES) + 0.5) / _SHARES)
    room = radius**2 - first**2
    if d > 2:  # directions that the start has nothing of
        rest = chi2.ppf((np.arange(_SHARES) + 0.5) / _SHARES, d - 2)
        room = room[:, None] - across**2 * rest
    reach = np.sqrt(np.maximum(room, 0.0))
    return float(np.mean(ndtr((reach - at[1]) / across) - ndtr((-reach - at[1]) / across)))


def _between(left: Callable[[Floats], float], last: Floats, at: Floats, goal: Floats) -> float:
    """The part of a step from ``last`` to ``at`` after which nothing is left."""
    factor = float(np.linalg.norm(at - goal) / np.linalg.norm(last - goal))

    def rest(part: float) -> float:
        return left(last + (at - last) * ((1.0 - factor**part) / (1.0 - factor)))

    return float(brentq(rest, 0.0, 1.0))


@lru_cache(maxsize=4096)
def em_iterations(
    theta: float, radius: float, d: int, start: float = 0.9, n: float = math.inf
) -> float:
    """EM's iterations to within the radius of theta*; many of them as the time of a flow.

    At infinite n or, given an n, the median over samples. A path crosses the radius between two
    iterates: where, on a path that approaches theta* by the same factor all the time. The start has
    equal coordinates, its norm ``start`` in units of the spread, and theta* is on an axis.
    """
    norm = start * math.sqrt(1.0 + theta**2 / d)
    begin = norm * np.array([1.0, math.sqrt(d - 1.0)]) / math.sqrt(d)
    goal, at = np.array([theta, 0.0]), begin

    def left(at: Floats) -> float:
        away = float(np.linalg.norm(at - goal)) / radius
        if math.isinf(n) or d == 1 or away > 3.0:  # so far away that few samples have arrived
            return away - 1.0
        return 0.5 - _arrived(at, theta, radius, d, n)

    if left(at) <= 0.0:
        return 0.0
    for count in range(_COUNTED):
        last, at = at, em_step(at, theta, d)
        if left(at) <= 0.0:
            return count + _between(left, last, at, goal)

    def flow(_: float, at: Floats) -> Floats:
        # the flow through the iterates, to second order: half of what a step changes the next by
        once = em_step(at, theta, d)
        return 1.5 * (once - at) - 0.5 * (em_step(once, theta, d) - once)

    def arrived(_: float, at: Floats) -> float:
        return left(at)

    arrived.terminal = True  # type: ignore[attr-defined]
    arrived.direction = -1.0  # type: ignore[attr-defined]
    found = solve_ivp(
        flow, (0.0, 1e15), begin, "LSODA", rtol=1e-6, atol=1e-3 * radius, events=arrived
    )
    return float(found.t_events[0][0])


@lru_cache(maxsize=64)
def known_weights_error(delta: float, n: float) -> float:
    """Root mean square of theta that known weights 1/2 +- delta give on one Gaussian at d = 1."""
    delta = checks.real(delta, "delta", 0.0, 0.5)
    product = 0.25 - delta**2
    a = 16.0 * product * delta * math.sqrt(n / 6.0)
    b = 16.0 * product * (1.0 - 6.0 * product) * math.sqrt(n / 24.0)
    z = (np.arange(-200, 200) + 0.5) / 25.0
    weights = np.exp(-0.5 * z**2) / np.sum(np.exp(-0.5 * z**2))
    level, slope = 3.0 * a * np.abs(z[:, None]), 4.0 * b * z
    cube, fifth = 3.0 * a**2, 4.0 * b**2
    # the polynomial is concave: Newton's method comes down to its root from above
    theta = np.cbrt(2.0 * level / cube) + np.sqrt(2.0 * np.abs(slope) / cube)
    if fifth > 0.0:
        other = (2.0 * level / fifth) ** 0.2 + (2.0 * np.abs(slope) / fifth) ** 0.25
        theta = np.minimum(theta, other)
    for _ in range(20):
        value = level + slope * theta - cube * theta**3 - fifth * theta**5
        theta -= value / (slope - 3.0 * cube * theta**2 - 5.0 * fifth * theta**4)
    return math.sqrt(weights @ theta**2 @ weights)
