"""Exponents: a statistic of errors over replicates, as a power of n."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.rates.intervals import Interval
from elubench.rates.laws import Points
from elubench.rates.resampling import Resampling, TooLittle, in_order, least_squares, positive

Weights = Literal["variance", "equal"]
_ROUNDING = 1e-24  # a variance of ln statistic below this is of equal numbers


@dataclass(frozen=True, eq=False)
class Exponent:
    """A fit of `statistic = exp(intercept) by^slope`, with bootstrap intervals.

    `at`, `statistics` and `replicates` have one entry per value of `by` in the fit; `missing` counts
    rows without a value (failed runs), which are in no statistic. `curvature` is the coefficient of
    `(ln by)^2` in a quadratic fit: the slope is still `moving` if its interval excludes 0 (nan, and
    not moving, with fewer than three values of `by`). `local` has the slopes between neighbours:
    columns `from`, `to`, `slope`, `low`, `high`.
    """

    value: str
    by: str
    statistic: str | float
    slope: float
    low: float
    high: float
    level: float
    intercept: float
    at: Floats
    statistics: Floats
    replicates: npt.NDArray[np.int64]
    missing: int
    curvature: float
    curvature_low: float
    curvature_high: float
    moving: bool
    local: pd.DataFrame

    @property
    def interval(self) -> Interval:
        """The slope with its interval."""
        return Interval(self.slope, self.low, self.high)

    def predict(self, x: npt.ArrayLike) -> Floats:
        """The statistic on the fitted line: `exp(intercept) x^slope`."""
        return np.asarray(np.exp(self.intercept + self.slope * np.log(np.asarray(x, float))))


def exponent(
    frame: pd.DataFrame,
    value: str = "location_error",
    by: str = "n",
    statistic: str | float = "rmse",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    upper_half: bool = False,
    weights: Weights = "variance",
) -> Exponent:
    """The exponent of a statistic of errors over replicates, as a power of n.

    Weighted least squares of `ln statistic` on `ln n`. The weight of each n is

    - "variance": `m / (v + mean of v)`, where m counts replicates and `v / m` is the bootstrap
      variance of `ln statistic`, with ln v smoothed by a line in ln n. Raw variances are too noisy:
      the n that happen to look certain would get the weight, and intervals would be too short. The
      mean is for algorithms that stall: at large n all their errors are the same, and these n would
      otherwise outweigh the rest a thousand times;
    - "equal": 1.

    Parameters
    ----------
    frame : rows of runs of one algorithm from one start; one row per `by` and replicate.
    value : the column of errors. Rows where it is NaN are counted and left out. Exact zeros are
        errors like any other; a statistic that is itself 0 has no logarithm and raises TooLittle.
    by : the column of n, or d, or another positive number.
    statistic : "rmse", "mean", or a number strictly between 0 and 1: that quantile.
    level : of the intervals, from bootstrap percentiles.
    upper_half : use only the upper half of the values of `by`, rounded up.
    """
    how = Resampling(level, resamples, seed)
    checks.choice(weights, "weights", ("variance", "equal"))
    check_statistic(statistic)
    samples, missing = errors_by(frame, value, by)
    at = np.array(sorted(samples))
    if upper_half:
        at = at[len(at) // 2 :]
    if len(at) < 2:
        raise TooLittle(f"a slope needs two values of {by!r} or more, got {len(at)}")
    x, y, drawn, weight = error_points({n: samples[n] for n in at}, statistic, how, value, by)
    if weights == "equal":
        weight = np.ones(len(x))
    line = least_squares(x, weight, 1)
    intercept, slope = line @ y
    low, high = how.interval(drawn @ line[1])
    bend = how.curvature(x, weight, y, drawn)
    return Exponent(
        value=value,
        by=by,
        statistic=statistic,
        slope=float(slope),
        low=float(low),
        high=float(high),
        level=level,
        intercept=float(intercept),
        at=at,
        statistics=np.exp(y),
        replicates=np.array([len(samples[n]) for n in at], dtype=np.int64),
        missing=missing,
        curvature=bend[0],
        curvature_low=bend[1],
        curvature_high=bend[2],
        moving=bend[1] > 0.0 or bend[2] < 0.0,
        local=local_slopes(at, x, y, drawn, how),
    )


def local_slopes(at: Floats, x: Floats, y: Floats, drawn: Floats, how: Resampling) -> pd.DataFrame:
    """The table of `Exponent.local`: slopes of y, and of its resamples, between neighbours."""
    steps = np.diff(y) / np.diff(x)
    low, high = how.interval(np.diff(drawn, axis=1) / np.diff(x))
    return pd.DataFrame({"from": at[:-1], "to": at[1:], "slope": steps, "low": low, "high": high})


def error_points(
    samples: Mapping[float, Floats], statistic: str | float, how: Resampling, value: str, by: str
) -> Points:
    """ln statistic at each n, plain and resampled, with the weights of `exponent`."""
    at = np.array(list(samples))
    sizes = np.array([len(errors) for errors in samples.values()])
    found = np.array([_statistic(errors[None, :], statistic)[0] for errors in samples.values()])
    if not np.all(found > 0.0):
        where = at[np.argmin(found)]
        raise TooLittle(
            f"the {_said(statistic)} of {value!r} at {by} = {where:g} is 0 and has no "
            "logarithm; choose 'rmse' or a higher quantile"
        )
    drawn = np.stack(
        [
            _statistic(errors[how.draws(x, len(errors))[0]], statistic)
            for x, errors in samples.items()
        ],
        axis=1,
    )
    usable = np.all(drawn > 0.0, axis=1)
    if np.mean(usable) < 0.99:
        raise TooLittle(
            f"the {_said(statistic)} of {value!r} is 0 in {1 - np.mean(usable):.0%} of the "
            "resamples: too many exact zeros; choose 'rmse' or a higher quantile"
        )
    x, drawn = np.log(at), np.log(drawn[usable])
    return Points(x, np.log(found), drawn, sizes / smoothed(x, np.var(drawn, axis=0) * sizes))


def errors_by(frame: pd.DataFrame, value: str, by: str) -> tuple[dict[float, Floats], int]:
    """The errors at each value of `by`, in the order of the replicates, and how many are missing."""
    _, groups, errors, known = errors_in(frame, value, by)
    samples = {float(x): errors[(groups == x) & known] for x in np.unique(groups)}
    return samples, int(np.sum(~known))


def errors_in(frame: pd.DataFrame, value: str, by: str) -> tuple[pd.DataFrame, Floats, Floats, Any]:
    """The rows in order, their n and errors, and which are known: two or more at each n."""
    checks.frame(frame, "frame", value, by)
    ordered = in_order(frame, by, value)
    errors = ordered[value].to_numpy(dtype=float, na_value=np.nan)
    known = ~np.isnan(errors)
    if np.any(np.isinf(errors)) or np.any(errors < 0.0):
        raise ValueError(f"frame[{value!r}] must be finite and >= 0, or NaN")
    groups = positive(ordered, by)
    for x in np.unique(groups):
        count = np.count_nonzero((groups == x) & known)
        if count < 2:
            raise TooLittle(
                f"a slope needs at least 2 replicates; at {by} = {x:g} there are "
                f"{count} values of {value!r}"
            )
    return ordered, groups, errors, known


def _statistic(errors: Floats, statistic: str | float) -> Floats:
    """The statistic of each row."""
    if statistic == "rmse":
        return np.asarray(np.sqrt(np.mean(errors**2, axis=1)))
    if statistic == "mean":
        return np.asarray(np.mean(errors, axis=1))
    return np.asarray(np.quantile(errors, float(statistic), axis=1))


def check_statistic(statistic: str | float) -> None:
    """Raise ValueError for an unknown statistic."""
    known = statistic in ("rmse", "mean")
    if not known and (isinstance(statistic, str) or not 0.0 < statistic < 1.0):
        raise ValueError(
            f"statistic must be 'rmse', 'mean' or a number in (0, 1), got {checks.brief(statistic)}"
        )


def _said(statistic: str | float) -> str:
    return statistic if isinstance(statistic, str) else f"{statistic:g} quantile"


def smoothed(x: Floats, variance: Floats) -> Floats:
    """Variances on the line that fits their logarithms, plus their mean; equal if none fits."""
    if len(x) < 4 or not np.all(variance > _ROUNDING):
        return np.ones(len(x))
    line = np.exp(np.polynomial.Polynomial.fit(x, np.log(variance), 1)(x))
    return np.asarray(line + np.mean(line))
