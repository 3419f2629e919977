"""Measurements that are not grids of runs: EM at infinite n, nearly equal weights, mixed regression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from elubench.models import KnownScale
from elubench.papers.singularity import theory
from elubench.samples import ArraySample, LatticeSample
from elubench.studies.mle import maximum_likelihood
from elubench.verification.paper import Probe

#: P(|Z| <= 1) + P(|Z| > 1) / 2, in the upper bound for equal weights.
_P = 0.5 * (1.0 + math.erf(math.sqrt(0.5)))


def population(
    seed: int, weights: Sequence[float] = (0.5, 0.51, 0.6, 0.7, 0.8, 0.9, 0.99), points: int = 400
) -> pd.DataFrame:
    """EM's factor |EM(theta)| / |theta| at infinite n, and bounds on it; a row per weight and r."""
    rows = []
    for weight in weights:
        for r in np.geomspace(1e-4, 10.0, points):
            low = 1.0 / (1.0 + 2.0 * r * r) if weight == 0.5 else 0.0
            high = 1.0 - _P + _P / (1.0 + 0.5 * r * r)
            if weight != 0.5:
                high = 1.0 - 0.5 * (1.0 - 2.0 * weight) ** 2
            rows.append((weight, r, 1.0 - theory.shrinkage(float(r), weight), low, high))
    return pd.DataFrame(rows, columns=["weight", "r", "factor", "low", "high"])


def crossover(
    seed: int,
    sizes: Sequence[int] = (10**6, 10**8, 10**10),
    ratios: Sequence[float] = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    replicates: int = 100,
) -> pd.DataFrame:
    """MLEs where |1 - 2 w| = ratio n^(-1/4), d = 1; one row per sample.

    ``error`` is n^(1/4) |theta|; ``law`` what the limit law makes of the same sample's two moments,
    ``unequal`` and ``equal`` what its ends do, large and small ratios.
    """
    rows = []
    for n in sizes:
        for ratio in ratios:
            model = KnownScale(0.5 + 0.5 * ratio * n**-0.25)
            for k in range(replicates):
                sample = LatticeSample.gaussian(
                    n, 1, np.random.SeedSequence([seed, k]).generate_state(1)[0]
                )
                moments = sample.moments()
                z1 = math.sqrt(n) * float(moments.m1[0])
                z2 = math.sqrt(0.5 * n) * (float(moments.m2[0]) - 1.0)
                error = n**0.25 * maximum_likelihood(model, sample).location_error
                law = float(theory.crossover(ratio, z1, z2))
                equal = float(theory.crossover(0.0, z1, z2))
                rows.append((n, ratio, k, error, law, abs(z1) / ratio, equal))
    columns = ["n", "ratio", "replicate", "error", "law", "unequal", "equal"]
    return pd.DataFrame(rows, columns=columns)


def regression(
    seed: int,
    sizes: Sequence[int] = (1_000, 10_000, 100_000),
    weights: Sequence[float] = (0.5, 0.7),
    replicates: int = 300,
) -> pd.DataFrame:
    """Two regressions y = -x.theta + e and y = x.theta + e fitted to y = e; d = 1, covariates N(0, 1).

    With x divided by the root of its mean square, theta is multiplied by it, and the likelihood is that
    of a known scale on the products z = y x, which are not Gaussian. In more dimensions the same holds
    with a root of mean x x'. One row per sample and weight: ``error`` is that of the MLE.
    """

    def found() -> Iterator[tuple[float, ...]]:
        for n in sizes:
            for k in range(replicates):
                x, y = np.random.default_rng([seed, n, k]).standard_normal((2, n))
                root = math.sqrt(float(np.mean(x * x)))
                sample = ArraySample((x / root * y)[:, None])
                for weight in weights:
                    best = maximum_likelihood(KnownScale(weight), sample)
                    yield n, weight, k, best.location_error / root

    return pd.DataFrame(found(), columns=["n", "weight", "replicate", "error"])


PROBES = {
    "population": Probe("EM at infinite n", population),
    "crossover": Probe("weights that are nearly equal", crossover),
    "regression": Probe("mixed linear regression", regression),
}
