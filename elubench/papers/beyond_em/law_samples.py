"""Lattice samples against the limit laws: what is drawn, and how far it is from the law."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from elubench.algorithms import EM, NewtonAnderson
from elubench.checks import Floats
from elubench.models import Isotropic
from elubench.papers.beyond_em import limit_laws, theory
from elubench.papers.beyond_em.predictions import em_time
from elubench.runs import run_many
from elubench.samples import LatticeSample

_START = 0.8
#: An optimum closer to 0 than this in units of the radius is 0: see `rates.zeros`.
_ZERO = 0.1
_FAR = 6.0  # in the same units; the law's 10^-50 quantile is lower
_CONSTANT = 2.0  # of the radius that EM is timed to
LOCATION, TIME = "location", "EM's time"


def limit_law(
    seed: int,
    location_sizes: Sequence[int] = (10**8, 10**10, 10**12, 10**14, 10**15),
    plane_sizes: Sequence[int] = (10**6, 10**8, 10**10, 10**12),
    time_sizes: Sequence[int] = (10**8, 10**9),
    replicates: int = 1_000,
    time_replicates: int = 500,
) -> pd.DataFrame:
    """One row per sample: ``law``, ``d``, ``n``, ``replicate`` and ``value``, which has the limit law.

    * "location": n^(1/8) |theta| of the sample's optimum at d = 1 (exactly 0 on about half the samples),
      n^(1/4) |theta| at d = 2;
    * "EM's time": iterations to 2 n^(-1/8) at d = 1 in units of n^(3/4), times the limit at infinite n
      over the count at infinite n. That takes out the factor `1 + 18 n^(-1/4) + ...` which all
      samples of a size share and which at n = 10^8 is twice as large as the spread between samples.
    """
    rows: list[tuple[str, int, int, int, float]] = []
    for n in location_sizes:
        for k in range(replicates):
            rows.append((LOCATION, 1, n, k, _optimum(n, _sample(n, 1, seed, k))))
    for n in plane_sizes:
        samples = [_sample(n, 2, seed, k) for k in range(replicates)]
        for k, found in enumerate(run_many(samples, "isotropic", NewtonAnderson(precision=1e-8))):
            rows.append((LOCATION, 2, n, k, n**0.25 * float(np.linalg.norm(found.params))))
    for n in time_sizes:
        samples = [_sample(n, 1, seed, k) for k in range(time_replicates)]
        target = theory.radius("isotropic", n, 1, _CONSTANT)
        usual = em_time(_START, target, 1)
        most = math.ceil(20.0 * usual)
        ended = run_many(samples, "isotropic", EM(), [_START], max_iter=most, radius=target)
        scale = limit_laws.em_time(0.0, _CONSTANT) / usual
        for k, found in enumerate(ended):
            time = found.n_iter - 0.5 if found.status == "reached" else math.inf
            rows.append((TIME, 1, n, k, scale * time))
    return pd.DataFrame(rows, columns=["law", "d", "n", "replicate", "value"]).assign(seed=seed)


def _sample(n: int, d: int, seed: int, replicate: int) -> LatticeSample:
    return LatticeSample.gaussian(n, d, seed=1_000_000 * seed + replicate)


def _optimum(n: int, sample: LatticeSample) -> float:
    """n^(1/8) times the location of the sample's optimum at d = 1: a root of the gradient.

    Where the loss is as flat as theta^8 its rounding hides the optimum; that of the gradient does not.
    """
    model, unit = Isotropic(), float(n) ** -0.125

    def slope(u: float) -> float:
        return float(model.gradient(sample, np.array([u * unit]))[0])

    far = min(_FAR, 0.9 / unit)
    if slope(_ZERO) >= 0.0:
        return 0.0
    return float(brentq(slope, _ZERO, far, xtol=1e-6))


def law_cdf(x: Floats, law: str, d: int) -> Floats:
    """The law's distribution function, for values of `limit_law`."""
    if law == TIME:
        return limit_laws.em_time_cdf(x, _CONSTANT)
    return limit_laws.location_cdf(x, d)


def distance(values: Floats, law: str, d: int) -> float:
    """Kolmogorov and Smirnov's distance between values and the law, the atom at 0 included."""
    values = np.sort(np.asarray(values, dtype=float))
    if not values.size:
        raise ValueError("values must have an entry")
    points, counts = np.unique(values, return_counts=True)
    up_to = np.cumsum(counts) / values.size
    there = law_cdf(points, law, d)  # at infinity, the share that ever arrives
    after = np.abs(up_to - there)[np.isfinite(points)]
    at_zero = (points == 0.0) & (law == LOCATION) & (d == 1)
    before = np.abs(up_to - counts / values.size - np.where(at_zero, 0.0, there))
    return float(max(after.max(initial=0.0), before.max()))
