"""Unequal weights: what a model of equal weights finds, and what one that knows the weights can find.

The first is fitted by the package's general model. The second has weights 1/2 +- delta that are known, a
free centre, half distance and scale; here it is fitted at d = 1 to the nodes of a lattice sample, as
the log-likelihood less that of one Gaussian, so that little of it is lost to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from elubench.algorithms import NewtonAnderson
from elubench.checks import Floats
from elubench.runs import run
from elubench.samples import LatticeSample
from elubench.studies.truths import Truth

_MOST = (0.7, 0.2, 0.2)  # of theta, centre and scale: the scale stays positive
#: Where a model of equal weights is fitted to unequal ones: n, half the distance, and 1/2 - weight.
EQUAL = (10**14, 0.1, (0.0, 0.05, 0.1, 0.2))
#: The weights 1/2 +- delta that a model knows: delta at n.
KNOWN: dict[str, Callable[[float], float]] = {
    "fixed": lambda n: 0.25,
    "shrinking": lambda n: float(n) ** -0.125,
}


def equal_weights(seed: int, replicates: int) -> pd.DataFrame:
    """(theta/theta*)^4, ``value``, of the general model's optimum on weights 1/2 +- delta."""
    (n, half, deltas), rows = EQUAL, []
    for delta in deltas:
        truth = Truth(half, weight=0.5 - delta)
        for k in range(replicates):
            sample = truth.sample("lattice", n, 1, 1_000_000 * seed + k)
            start = [-1.5 * half, 1.5 * half]
            found = run(sample, "general", NewtonAnderson(precision=1e-8), start, metrics=False)
            theta = 0.5 * float(found.params[1] - found.params[0])
            rows.append((delta, n, k, (theta / half) ** 4))
    return pd.DataFrame(rows, columns=["delta", "n", "replicate", "value"]).assign(seed=seed)


def known_weights(
    seed: int,
    replicates: int,
    sizes: Sequence[int] = (10**6, 10**8, 10**10, 10**12, 10**14),
) -> pd.DataFrame:
    """|theta|, ``value``, that a model with known weights finds on one Gaussian: ``case`` of KNOWN."""
    rows = []
    # L-BFGS has matrices so small that BLAS threads cost twenty times what they do.
    with threadpool_limits(1, "blas"):
        for n in sizes:
            for case, delta in KNOWN.items():
                for k in range(replicates):
                    sample = LatticeSample.gaussian(n, 1, 1_000_000 * seed + k)
                    rows.append((case, n, k, abs(known_optimum(sample, delta(n)))))
    return pd.DataFrame(rows, columns=["case", "n", "replicate", "value"]).assign(seed=seed)


def known_optimum(sample: LatticeSample, delta: float) -> float:
    """theta of the best of two fits, from either side of 0; weight 1/2 + delta is at -theta."""
    shares = sample.counts / sample.counts.sum()
    mean = float(shares @ sample.nodes[:, 0])
    x = sample.nodes[:, 0] - mean
    spread = float(shares @ x**2)
    unit = float(sample.n) ** -0.125
    weights = np.array([0.5 + delta, 0.5 - delta])
    apart = np.array([2.0 * delta - 1.0, 2.0 * delta + 1.0])  # the mean stays where it is
    # theta, and what centre and scale differ by from the sample's, in units of their order
    sizes = np.array([unit, unit**4, unit**4])
    precision = float(sample.n)

    def loss(point: Floats) -> tuple[float, Floats]:
        theta, aside, more = point * sizes
        places = aside + theta * apart
        scale = spread - 4.0 * weights[0] * weights[1] * theta**2 + more
        powers = (np.outer(places, x) - 0.5 * places[:, None] ** 2) / scale
        inside = weights @ np.expm1(powers)
        part = weights[:, None] * np.exp(powers) / (1.0 + inside)
        over = scale / spread - 1.0
        rest = 0.5 * (math.log1p(over) - over / (1.0 + over))
        value = rest - float(shares @ np.log1p(inside))
        moved = -(part * (x - places[:, None]) / scale) @ shares  # by the places
        off = np.sum(part * (x - places[:, None]) ** 2, axis=0)
        by_scale = 0.5 / scale * (1.0 - float(shares @ off) / scale)
        by_theta = float(moved @ apart) - by_scale * 8.0 * weights[0] * weights[1] * theta
        slope = np.array([by_theta, float(moved.sum()), by_scale])
        return precision * value, precision * slope * sizes

    fits = [
        minimize(
            loss,
            np.array([side, 0.0, 0.0]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-most / size, most / size) for most, size in zip(_MOST, sizes, strict=True)],
            options={"ftol": 0.0, "gtol": 1e-5, "maxiter": 1_000},
        )
        for side in (-1.0, 1.0)
    ]
    best = min(fits, key=lambda one: float(one.fun))
    return float(best.x[0]) * unit if best.fun < 0.0 else 0.0
