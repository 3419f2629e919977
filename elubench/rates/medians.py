"""Kaplan-Meier medians of counts at one n, resampled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from elubench.checks import Floats
from elubench.rates.censoring import Counts, counts, quantile, weighted_quantiles
from elubench.rates.intervals import Interval
from elubench.rates.resampling import Resampling, TooLittle, in_order


@dataclass(frozen=True, eq=False)
class Medians:
    """The median at one n, plain and resampled; then made continuous (`centre`) and resampled."""

    counts: Counts
    median: float
    medians: Floats
    centre: float
    drawn: Floats
    known: bool

    @classmethod
    def of(
        cls,
        every: Counts,
        here: Any,
        x: float,
        step: float,
        how: Resampling,
        spread: bool = True,
    ) -> Medians:
        """The medians of the counts `here`, at n = x.

        Counts are multiples of `step`. Unless `spread`, they have been made continuous before, and
        the step is only in the noise.
        """
        within = step if spread else 0.0
        own = Counts(*(column[here] for column in every))
        size = len(own.times)
        median = quantile(own.times, own.observed)
        centre = quantile(own.times, own.observed, step=within)
        if size < 2:
            return cls(own, median, np.array([median]), centre, np.array([centre]), False)
        indices, generator = how.draws(x, size)
        rows = np.arange(how.resamples)[:, None] * size
        times = np.bincount((indices + rows).ravel(), minlength=how.resamples * size)
        weights = times.reshape(how.resamples, size).astype(float)
        medians = weighted_quantiles(own.times, own.observed, weights, 0.5, 0.0)
        drawn = weighted_quantiles(own.times, own.observed, weights, 0.5, within)
        drawn += step * generator.uniform(-0.5, 0.5, how.resamples)
        finite = np.isfinite(drawn)
        known = math.isfinite(median) and median >= max(within, 1e-300) and np.mean(finite) >= 0.95
        if known:
            drawn = np.where(finite, drawn, np.max(drawn[finite]))
            drawn = np.maximum(drawn, max(0.1 * step, 1e-3 * centre))
        return cls(own, median, medians, centre, drawn, bool(known))

    def row(self, how: Resampling) -> dict[str, Any]:
        """The row of `Growth.sizes`."""
        low, high = np.quantile(self.medians, how.tails, method="inverted_cdf")  # inf stays inf
        return {
            "runs": len(self.counts.times),
            "reached": int(self.counts.observed.sum()),
            "failed": int(self.counts.failed.sum()),
            "censored": 1.0 - float(self.counts.observed.mean()),
            "median": self.median,
            "low": float(low),
            "high": float(high),
            "centre": self.centre,
        }


def step_of(every: Counts) -> float:
    """What counts are multiples of: usually 1, but 3 for three passes per step; 0 if not whole."""
    seen = every.times[every.observed]
    if not np.all(seen == np.rint(seen)):
        return 0.0
    return float(np.gcd.reduce(seen.astype(np.int64), initial=0) or 1)


def ratio_of_medians(
    over: pd.DataFrame,
    under: pd.DataFrame,
    value: str = "passes_to_radius",
    spent: str = "passes",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The ratio of two Kaplan-Meier medians at the largest n, with an interval.

    The rows are runs of one algorithm each, resampled independently of each other. Counts are made
    continuous, and what rounding hides is in the noise, as in `growth`.
    """
    found = []
    for place, frame in enumerate((over, under)):
        ordered = in_order(frame, "n", value, spent)
        every = counts(ordered, value, spent)
        largest = ordered["n"].to_numpy() == ordered["n"].max()
        how = Resampling(level, resamples, seed + place)
        found.append(Medians.of(every, largest, float(ordered["n"].max()), step_of(every), how))
    if not all(one.known for one in found):
        raise TooLittle(f"too few runs arrive for a median of {value}")
    low, high = Resampling(level, resamples, seed).interval(found[0].drawn / found[1].drawn)
    return Interval(found[0].centre / found[1].centre, float(low), float(high))
