"""Iterations of EM and ELU at infinite n, isotropic model, also where there are a billion of them.

|theta| alone matters. With u = ln |theta|, an iteration of EM takes u to `u - h(u)`, and one of ELU to
`u + ln(1 - eta beta^(-t) g(u))`. Both h and g are exp(alpha u) times a smooth function of u, which is
tabulated once per d and interpolated.

**ELU** is iterated step by step: its steps grow, so there are never many.

**EM** is iterated while its steps are long. From then on the count is an integral: over one step that of
1/h is `1 + h'/2 + O(h^2)`, so that from a to b < a it takes

    integral from b to a of du/h(u)  -  ln(h(a)/h(b))/2

steps, up to an error of order h(a).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em import population, theory

_KNOTS = 4_000  # relative error of the spline below 1e-12
_FARTHEST, _CLOSEST = 0.95, 1e-4  # of |theta|/sqrt(d); closer, the table is constant
_LONG = 2e-5  # EM's relative step above which it is iterated


class _Table(NamedTuple):
    """ln(value exp(-alpha u)) by u = ln |theta|: first knot, spacing, and a cubic for each interval."""

    alpha: float
    first: float
    spacing: float
    cubics: list[tuple[float, float, float, float]]

    def log(self, u: float) -> float:
        """The logarithm of the value at u."""
        at = max(0.0, (u - self.first) / self.spacing)
        k = min(int(at), len(self.cubics) - 1)
        x = (at - k) * self.spacing
        a, b, c, d = self.cubics[k]
        return self.alpha * u + ((a * x + b) * x + c) * x + d


def _table(d: int, values: Floats, u: Floats) -> _Table:
    alpha = location_scale(d).alpha
    spline = CubicSpline(u, np.log(values) - alpha * u)
    cubics = [tuple(column) for column in spline.c.T.tolist()]
    return _Table(alpha, float(u[0]), float(u[1] - u[0]), cubics)


@lru_cache(maxsize=16)
def _tables(d: int) -> tuple[_Table, _Table]:
    """Of h for EM and of g for ELU."""
    u = np.linspace(math.log(_CLOSEST * math.sqrt(d)), math.log(_FARTHEST * math.sqrt(d)), _KNOTS)
    points = np.zeros((_KNOTS, d))
    points[:, 0] = np.exp(u)
    # EM's move is (1 - q)^2/(1 + q) times the gradient, which does not round it away
    q = points[:, 0] ** 2 / d
    g = population.gradient("isotropic", points)[:, 0] / points[:, 0]
    h = -np.log1p(-g * (1.0 - q) ** 2 / (1.0 + q))
    return _table(d, h, u), _table(d, g, u)


def _checked(d: int, targets: Sequence[float], start: float) -> tuple[int, Floats, float]:
    d = checks.integer(d, "d", 1)
    most = _FARTHEST * math.sqrt(d)
    start = checks.real(start, "start", 0.0, most, closed="below")
    goals = np.array([checks.real(target, "targets", above=0.0) for target in targets])
    return d, goals, start


def em_iterations(d: int, targets: Sequence[float], start: float = 0.8) -> Floats:
    """EM's iterations from |theta| = start until |theta| <= target, for each target; whole numbers."""
    d, goals, start = _checked(d, targets, start)
    table = _tables(d)[0]
    path, u = [math.log(start)], math.log(start)
    while (step := math.exp(table.log(u))) > _LONG:
        u -= step
        path.append(u)
    out = np.zeros(goals.size)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for i, goal in enumerate(np.log(goals)):
        if goal >= path[-1]:
            out[i] = int(np.argmax(np.array(path) <= goal))
            continue
        # 1/h varies like exp(-alpha u): pieces on which u changes by no more than 1/4
        edges = np.linspace(goal, u, 2 + int(4.0 * (u - goal)))
        half = 0.5 * (edges[1] - edges[0])
        places = (0.5 * (edges[1:] + edges[:-1]))[:, None] + half * nodes
        inverse = np.exp([[-table.log(x) for x in row] for row in places])
        count = half * float((inverse @ weights).sum()) - 0.5 * (table.log(u) - table.log(goal))
        out[i] = len(path) - 1 + math.ceil(count)
    return out


def elu_iterations(
    d: int, targets: Sequence[float], eta: float, beta: float, start: float = 0.8
) -> Floats:
    """ELU's iterations from |theta| = start until |theta| <= target; inf if it diverges before."""
    d, goals, start = _checked(d, targets, start)
    eta, beta = checks.real(eta, "eta", above=0.0), checks.real(beta, "beta", 0.0, 1.0)
    table = _tables(d)[1]
    out, order = np.full(goals.size, math.inf), list(np.argsort(-goals))
    logs = np.log(goals)
    u, t, growth, first = math.log(start), 0, -math.log(beta), math.log(eta)
    while order:
        while order and u <= logs[order[0]]:
            out[order.pop(0)] = t
        move = math.exp(first + t * growth + table.log(u))
        if move >= 2.0:  # |theta| would not shrink
            break
        u += math.log(abs(1.0 - move)) if move != 1.0 else -math.inf
        t += 1
    return out


def crossing(d: int, constant: float = 2.0, start: float = 0.8) -> float:
    """The n from which on ELU with the steps of Theorem 1 needs fewer iterations than EM.

    Both go from ``start`` to ``constant`` times the statistical radius; for smaller n EM is cheaper.
    """
    d = checks.integer(d, "d", 1)
    steps = theory.theorem_steps(start, d)
    sizes = np.geomspace(10.0, 1e16, 600)
    sizes = sizes[[theory.radius("isotropic", n, d, constant) < start for n in sizes]]
    targets = [theory.radius("isotropic", n, d, constant) for n in sizes]
    em = em_iterations(d, targets, start)
    elu = elu_iterations(d, targets, *steps, start)
    # ELU's count is close to linear in ln n, and EM's to a power: interpolate the log of the ratio
    ahead = np.log(np.maximum(em, 1.0) / np.maximum(elu, 1.0))
    last = int(np.flatnonzero(ahead < 0.0)[-1])
    if last == sizes.size - 1:
        return math.inf
    line = CubicSpline(np.log(sizes[last - 1 : last + 3]), ahead[last - 1 : last + 3])
    return float(math.exp(brentq(line, math.log(sizes[last]), math.log(sizes[last + 1]))))


def theorem_1(
    _: int,
    sizes: Sequence[float] = (1e4, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12, 1e14, 1e15),
    dimensions: Sequence[int] = (1, 2, 4),
    constant: float = 2.0,
    start: float = 0.8,
) -> pd.DataFrame:
    """Iterations at infinite n to ``constant`` radii of a sample of size n.

    ``steps`` tells ELU with the fastest steps that Theorem 1 allows ("theorem") from ELU as in the
    paper's experiments ("experiments": eta 0.01, beta 0.8). ``crossing`` is the n from which on ELU
    under the theorem needs fewer iterations than EM.
    """
    rows = []
    for d in dimensions:
        targets = [theory.radius("isotropic", n, d, constant) for n in sizes]
        meeting = crossing(d, constant, start)
        kinds = {"theorem": theory.theorem_steps(start, d), "experiments": theory.Steps(0.01, 0.8)}
        runs = [("EM", "", theory.Steps(math.nan, math.nan), em_iterations(d, targets, start))]
        for kind, steps in kinds.items():
            runs.append(("ELU", kind, steps, elu_iterations(d, targets, *steps, start)))
        for name, kind, steps, counts in runs:
            for n, count in zip(sizes, counts, strict=True):
                rows.append((d, float(n), name, kind, *steps, count, constant, start, meeting))
    columns = ["d", "n", "algorithm", "steps", "eta", "beta", "iterations"]
    return pd.DataFrame(rows, columns=[*columns, "constant", "start", "crossing"])
