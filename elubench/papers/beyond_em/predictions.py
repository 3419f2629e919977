"""What theory says at finite n: iterations of EM and ELU to the radius, and the error of the MLE.

The rates of `theory` are what these follow as n grows. At the n that can be run they differ from
them by corrections to scaling: EM's iterations to c n^(-1/8) at d = 1 are

    n^(3/4) / (4 c^6) (1 + (9/2) c^2 n^(-1/4) - ...)

so that with c = 2 their local slope is 0.72 at n = 10^8 and 0.746 at 10^12. Each maker returns a
function of n for `rates.corrected`. Iterations are continuous: a run arrives at the next whole number.

**EM.** In s = ln |theta|^2 a step is s -> s - h(s). Where h is small, steps are those of a flow whose
time is `integral ds / v(s)`, and from the condition that time 1 be one step,
`1/v = 1/h - h'/(2 h) + O(h)`. So the time between two points is

    integral of ds / h  -  (1/2) ln(h at the upper end / h at the lower)  +  O(h)

Where h is not small, exact steps lead down to where it is. Their number plus the time from there is a
smooth function A with A(after a step) = A - 1, and A(start) - A(target) are the iterations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em.population import gradient
from elubench.papers.beyond_em.population.coordinates import deficit, w

#: A statistic of runs at n.
Prediction = Callable[[float], float]

_SMALL = 5e-3  # of h: the flow is then off by less than h / 2 iterations
_WIDTH, _NODES = 0.5, 16  # quadrature in ln q: 1/h is a power times a function that hardly moves


def em_iterations(d: int = 1, constant: float = 2.0, start: float = 0.9) -> Prediction:
    """EM at infinite n, isotropic model: iterations from |theta| = start to constant times the radius.

    It follows n^(3/4) at d = 1 and n^(1/2) at d >= 2.
    """
    target_at, start = _course(d, constant, start)

    def iterations(n: float) -> float:
        target = target_at(n)
        return em_time(start, target, d) if target < start else 0.0

    return iterations


def em_time(start: float, target: float, d: int) -> float:
    """Continuous number of EM's steps, at infinite n, from |theta| = start down to target."""
    (upper, before), (lower, after) = (_descended(norm**2 / d, d) for norm in (start, target))
    return before - after + _flow(upper, lower, d)


def elu_iterations(
    d: int = 1,
    constant: float = 2.0,
    start: float = 0.9,
    eta: float = 0.01,
    beta: float = 0.8,
) -> Prediction:
    """ELU at infinite n, isotropic model, likewise; ln |theta| is linear between two steps.

    It grows like `alpha |a| ln n / ln(1/beta)`, with the radius n^a.
    """
    target_at, start = _course(d, constant, start)
    eta, beta = checks.real(eta, "eta", above=0.0), checks.real(beta, "beta", 0.0, 1.0)

    def iterations(n: float) -> float:
        target = target_at(n)
        theta, t, last = start * np.eye(1, d)[0], 0, start
        while (size := abs(float(theta[0]))) > target:
            last, step = size, eta * beta**-t
            theta, t = theta - step * gradient("isotropic", theta), t + 1
        if t == 0 or size == 0.0:
            return float(t)
        return t - math.log(target / size) / math.log(last / size)

    return iterations


def mle_rmse(n: float) -> float:
    """The limit law's root-mean-square of the MLE at d = 1, one Gaussian of scale 1: 0.802 n^(-1/8).

    With k the excess kurtosis, `theta^4 = -k/2` where k < 0 and else theta = 0; sqrt(n) k is N(0, 24).
    So n^(1/8) |theta| tends to (sqrt(6) Z_+)^(1/4), whose mean square is 6^(1/4) E sqrt(Z_+).
    """
    half = 2.0**0.25 * math.gamma(0.75) / (2.0 * math.sqrt(math.pi))  # E sqrt(Z_+)
    return math.sqrt(6.0**0.25 * half) * math.pow(checks.real(n, "n", above=0.0), -0.125)


def _course(d: int, constant: float, start: float) -> tuple[Callable[[float], float], float]:
    """The target at n, and the start, both checked."""
    d, constant = checks.integer(d, "d", 1), checks.real(constant, "constant", above=0.0)

    def target_at(n: float) -> float:
        return location_scale(d).radius(checks.real(n, "n", above=0.0), d, constant)

    return target_at, checks.real(start, "start", 0.0, math.sqrt(d))


def _step(q: Floats, d: int) -> Floats:
    """h(s) at q = |theta|^2 / d: what a step takes from ln q."""
    return -2.0 * np.log1p(-deficit(q, (d - 1) * w(q)) / (1.0 - q))


@lru_cache(maxsize=256)
def _descended(q: float, d: int) -> tuple[float, int]:
    """Where exact steps lead before h is small, and how many there are."""
    at, steps = np.array([q]), 0
    while (h := _step(at, d))[0] > _SMALL:
        at, steps = at * np.exp(-h), steps + 1
    return float(at[0]), steps


def _flow(upper: float, lower: float, d: int) -> float:
    """The flow's time from q = upper to lower; negative if lower is above."""
    low, high = math.log(lower), math.log(upper)
    parts = max(1, math.ceil(abs(high - low) / _WIDTH))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    edges = np.linspace(low, high, parts + 1)
    half = 0.5 * np.diff(edges)[:, None]
    s = 0.5 * (edges[:-1] + edges[1:])[:, None] + half * nodes
    time = float(np.sum(half * weights / _step(np.exp(s).ravel(), d).reshape(s.shape)))
    below, above = _step(np.array([lower, upper]), d)
    return time - 0.5 * math.log(above / below)
