"""Iterations of EM and ELU at infinite n, isotropic model, also where there are billions of them.

The rates of `theory` are what these follow as n grows. At the n that can be run they differ from
them by corrections to scaling: EM's iterations to c n^(-1/8) at d = 1 are

    n^(3/4) / (4 c^6) (1 + (9/2) c^2 n^(-1/4) - ...)

so that with c = 2 their local slope is 0.72 at n = 10^8 and 0.746 at 10^12. Iterations are
continuous: a run arrives at the next whole number.

**EM.** In s = ln |theta|^2 a step is s -> s - h(s). Where h is small, steps are those of a flow whose
time is `integral ds / v(s)`, and from the condition that time 1 be one step,
`1/v = 1/h - h'/(2 h) + O(h)`. So the time between two points is

    integral of ds / h  -  (1/2) ln(h at the upper end / h at the lower)  +  O(h)

Where h is not small, exact steps lead down to where it is. Their number plus the time from there is a
smooth function A with A(after a step) = A - 1, and A(start) - A(target) are the iterations.

**ELU** is iterated step by step: its steps grow, so there are never very many. In u = ln |theta| a step
is `u -> u + ln|1 - eta beta^(-t) g(u)|`, where g, the gradient over theta, is exp(alpha u) times a
smooth function of u that is tabulated once per d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em.population import gradient
from elubench.papers.beyond_em.population.coordinates import deficit, w

#: A statistic of runs at n, for `rates.corrected`.
Prediction = Callable[[float], float]

_SMALL = 5e-3  # of h: the flow is then off by less than h / 2 iterations
_WIDTH, _NODES = 0.5, 16  # quadrature in ln q: 1/h is a power times a function that hardly moves
_KNOTS = 4_000  # relative error of the table below 1e-12
_FARTHEST, _CLOSEST = 0.95, 1e-4  # of |theta|/sqrt(d) in the table; closer, it is constant


def em_iterations(d: int = 1, constant: float = 2.0, start: float = 0.9) -> Prediction:
    """EM from |theta| = start to constant times the radius of a sample of size n.

    It follows n^(3/4) at d = 1 and n^(1/2) at d >= 2.
    """
    target_at = _targets(d, constant)
    start = _start(start, d)
    return lambda n: em_time(start, target_at(n), d)


def em_time(start: float, target: float, d: int) -> float:
    """EM's steps from |theta| = start down to target; 0 where the start is within."""
    d = checks.integer(d, "d", 1)
    start, target = _start(start, d), checks.real(target, "target", above=0.0)
    if start <= target:
        return 0.0
    (upper, before), (lower, after) = (_descended(norm**2 / d, d) for norm in (start, target))
    return before - after + _flow(upper, lower, d)


def elu_times(start: float, targets: Sequence[float], d: int, eta: float, beta: float) -> Floats:
    """ELU's steps from |theta| = start to each target; inf if it diverges before.

    ln |theta| is linear between two steps.
    """
    d = checks.integer(d, "d", 1)
    start = _start(start, d)
    goals = np.array([checks.real(target, "targets", above=0.0) for target in targets])
    eta, beta = checks.real(eta, "eta", above=0.0), checks.real(beta, "beta", 0.0, 1.0)
    if not goals.size:
        return np.empty(0)
    logs, log_g, path = np.log(goals), _log_gradient(d), _path(start, d, eta, beta)
    growth, first, least = -math.log(beta), math.log(eta), float(np.min(logs))
    while (u := path[-1]) > least:
        move = math.exp(min(700.0, first + (len(path) - 1) * growth + log_g(u)))
        if move >= 2.0:  # |theta| would not shrink
            break
        path.append(u + math.log(abs(1.0 - move)) if move != 1.0 else -math.inf)
    at = np.array([*path, -math.inf])
    steps = np.searchsorted(-at, -logs)  # the first step that is not above
    last, u_then = at[np.maximum(steps - 1, 0)], at[steps]
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where((steps > 0) & (u_then > -math.inf), (logs - u_then) / (last - u_then), 0.0)
    return np.where(steps < len(path), steps - times, math.inf)


@lru_cache(maxsize=8)
def _path(start: float, d: int, eta: float, beta: float) -> list[float]:
    """ln |theta| after each step that was ever asked for; :func:`elu_times` makes it longer."""
    return [math.log(start)]


def _targets(d: int, constant: float) -> Callable[[float], float]:
    """The radius at n, times the constant."""
    d, constant = checks.integer(d, "d", 1), checks.real(constant, "constant", above=0.0)
    return lambda n: location_scale(d).radius(checks.real(n, "n", above=0.0), d, constant)


def _start(start: float, d: int) -> float:
    return checks.real(start, "start", 0.0, math.sqrt(d))


def _step(q: Floats, d: int) -> Floats:
    """h(s) at q = |theta|^2 / d: what a step of EM takes from ln q."""
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


def _relative_gradient(u: Floats, d: int) -> Floats:
    """g at u = ln |theta|: the gradient over theta."""
    points = np.zeros((u.size, d))
    points[:, 0] = np.exp(u)
    return np.asarray(gradient("isotropic", points)[:, 0] / points[:, 0])


@lru_cache(maxsize=16)
def _log_gradient(d: int) -> Callable[[float], float]:
    """ln g as a function of u, from a table."""
    low, high = (math.log(share * math.sqrt(d)) for share in (_CLOSEST, _FARTHEST))
    knots, alpha = np.linspace(low, high, _KNOTS), location_scale(d).alpha
    spline = CubicSpline(knots, np.log(_relative_gradient(knots, d)) - alpha * knots)
    cubics: list[list[float]] = spline.c.T.tolist()
    spacing = float(knots[1] - knots[0])

    def log_g(u: float) -> float:
        if u >= high:
            return math.log(_relative_gradient(np.array([u]), d)[0])
        at = max(0.0, (u - low) / spacing)
        k = min(int(at), len(cubics) - 1)
        x = (at - k) * spacing
        a, b, c, e = cubics[k]
        return alpha * u + ((a * x + b) * x + c) * x + e

    return log_g
