"""Rates from tidy rows of runs: exponents, growth of iterations, and how sure they are.

Rows are those of `load_results`: one a run. A *statistic* over replicates at each n (root mean square,
mean or an upper quantile of an error, Kaplan-Meier median of a count) is fitted against ln n.

**Intervals.** Samples at different n are independent, and at one n the replicates are. So a bootstrap
draws replicates, with replacement, within each n. It draws m - 1 of m, which makes the variance of
a mean unbiased (Rao and Wu, 1988); with m of m the intervals of ten replicates are 5 % too short.
What is left is the bootstrap's own error: in simulations intervals of 95 % cover 94 % of the time with
sixty replicates, 92 % with ten, where a slope is called moving without cause in 10 % of cases.
What is drawn depends on (seed, n, m) alone: two algorithms that ran on the same replicates are
resampled alike, and differences between them keep their pairing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from elubench import theory
from elubench.censoring import Counts, Floats, counts, quantile, require, weighted_quantiles

Weights = Literal["variance", "equal"]
Verdict = Literal["logarithm", "power", "undecided"]

#: The laws of the growth contest, in the order of their names.
LAWS = {
    "logarithm": "a + b ln n",
    "power": "a n^b",
    "power of the logarithm": "a (ln n)^b",
}

_LEAST_SIZES = 3  # values of n for a line and one to spare
_CELL = ("study", "block", "model", "d", "start", "algorithm", "options")
_PAPERS = {"EM": "em", "ELU": "elu", "CentredELU": "elu"}  # what the theory is about


class TooLittle(ValueError):
    """There are too few runs, or values of n, to fit anything to."""


# Exponents.


@dataclass(frozen=True, eq=False)
class Exponent:
    """A fit of `statistic = exp(intercept) by^slope`, with bootstrap intervals.

    `at`, `statistics` and `replicates` have an entry for each value of `by` in the fit; `missing`
    counts rows without a value (failed runs), which are in no statistic. `curvature` is the
    coefficient of `(ln by)^2` in a quadratic fit: the slope is still `moving` when its interval
    excludes 0 (nan, and not moving, with fewer than three values of `by`). `local` has the slopes
    between neighbours: columns `from`, `to`, `slope`, `low`, `high`.
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

    Least squares of `ln statistic` on `ln n`, each n with the weight

    - "variance": `m / (v + mean of v)`, where m counts replicates and `v / m` is the bootstrap
      variance of `ln statistic`, with ln v smoothed by a line in ln n. As they come, variances are too
      noisy: the n that happen to look sure would get the weight, and intervals would be too short. And
      where an algorithm stalls at large n, all errors are the same there; without the mean these
      n would outweigh the rest a thousand times, and the slope be theirs alone;
    - "equal": 1.

    Parameters
    ----------
    frame : rows of runs of one algorithm from one start; one row for each `by` and replicate.
    value : the column of errors. Rows where it is NaN are counted, and left out. Exact zeros are
        errors like any other; a statistic that is itself 0 has no logarithm and is refused.
    by : the column of n, or d, or another positive number.
    statistic : "rmse", "mean", or a number strictly between 0 and 1: that quantile.
    level : of the intervals, from bootstrap percentiles.
    upper_half : use only the upper half of the values of `by`, rounded up.
    """
    _check_options(level, resamples, seed)
    if weights not in ("variance", "equal"):
        raise ValueError(f"weights: expected 'variance' or 'equal'; got {weights!r}")
    _check_statistic(statistic)
    samples, missing = _errors_by(frame, value, by)
    at = np.array(sorted(samples))
    if upper_half:
        at = at[len(at) // 2 :]
    if len(at) < 2:
        raise TooLittle(f"frame: a slope needs two values of {by!r} or more; got {len(at)}")
    chosen = [samples[x] for x in at]
    sizes = np.array([len(errors) for errors in chosen], dtype=np.int64)
    found = np.array([_statistic(errors[None, :], statistic)[0] for errors in chosen])
    if not np.all(found > 0.0):
        where = at[np.argmin(found)]
        raise TooLittle(
            f"frame: the {_said(statistic)} of {value!r} at {by} = {where:g} is 0 and has no "
            "logarithm; choose 'rmse' or a higher quantile"
        )
    drawn = np.stack(
        [
            _statistic(errors[_draws(seed, x, len(errors), resamples)[0]], statistic)
            for x, errors in zip(at, chosen, strict=True)
        ],
        axis=1,
    )
    usable = np.all(drawn > 0.0, axis=1)
    if np.mean(usable) < 0.99:
        raise TooLittle(
            f"frame: the {_said(statistic)} of {value!r} is 0 in {1 - np.mean(usable):.0%} of the "
            "resamples: too many exact zeros; choose 'rmse' or a higher quantile"
        )
    x, y, drawn = np.log(at), np.log(found), np.log(drawn[usable])
    weight = np.ones(len(x))
    if weights == "variance":
        weight = sizes / _smoothed(x, np.var(drawn, axis=0) * sizes)
    line = _least_squares(x, weight, 1)
    intercept, slope = line @ y
    low, high = _interval(drawn @ line[1], level)
    bend = _curvature(x, weight, y, drawn, level)
    steps = np.diff(y) / np.diff(x)
    lows, highs = _interval(np.diff(drawn, axis=1) / np.diff(x), level)
    local = pd.DataFrame(
        {"from": at[:-1], "to": at[1:], "slope": steps, "low": lows, "high": highs}
    )
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
        statistics=found,
        replicates=sizes,
        missing=missing,
        curvature=bend[0],
        curvature_low=bend[1],
        curvature_high=bend[2],
        moving=bend[1] > 0.0 or bend[2] < 0.0,
        local=local,
    )


def _errors_by(frame: pd.DataFrame, value: str, by: str) -> tuple[dict[float, Floats], int]:
    """The errors at each value of `by`, in the order of the replicates, and how many are missing."""
    require(frame, value, by)
    ordered = _ordered(frame, by, value)
    errors = ordered[value].to_numpy(dtype=float, na_value=np.nan)
    missing = np.isnan(errors)
    if np.any(np.isinf(errors)) or np.any(errors < 0.0):
        raise ValueError(f"frame: {value!r} must be finite and at least 0, or NaN")
    groups = _positive(ordered, by)
    samples: dict[float, Floats] = {}
    for x in np.unique(groups):
        samples[float(x)] = errors[(groups == x) & ~missing]
        if len(samples[float(x)]) < 2:
            raise TooLittle(
                f"frame: at {by} = {x:g} there are {len(samples[float(x)])} values of {value!r}; "
                "at least 2 replicates are needed"
            )
    return samples, int(missing.sum())


def _ordered(frame: pd.DataFrame, by: str, *values: str) -> pd.DataFrame:
    """Rows in an order that does not depend on theirs; a sample that is there twice is refused."""
    keys = [by, *(name for name in ("seed", "replicate") if name in frame and name != by)]
    if "replicate" not in frame:
        return frame.sort_values([*keys, *values])
    twice = frame.duplicated(keys)
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(
            f"frame: replicate {row['replicate']:g} is there more than once at {by} = {row[by]:g}; "
            "choose one model, d, start, algorithm and options"
        )
    return frame.sort_values(keys)


def _positive(frame: pd.DataFrame, by: str) -> Floats:
    values = frame[by].to_numpy(dtype=float, na_value=np.nan)
    if not np.all(np.isfinite(values) & (values > 0.0)):
        raise ValueError(f"by: {by!r} must be positive and finite in every row")
    return values


def _statistic(errors: Floats, statistic: str | float) -> Floats:
    """The statistic of each row."""
    if statistic == "rmse":
        return np.asarray(np.sqrt(np.mean(errors**2, axis=1)))
    if statistic == "mean":
        return np.asarray(np.mean(errors, axis=1))
    return np.asarray(np.quantile(errors, float(statistic), axis=1))


def _check_statistic(statistic: str | float) -> None:
    known = statistic in ("rmse", "mean")
    if not known and (isinstance(statistic, str) or not 0.0 < statistic < 1.0):
        raise ValueError(
            f"statistic: expected 'rmse', 'mean' or a number between 0 and 1; got {statistic!r}"
        )


def _said(statistic: str | float) -> str:
    return statistic if isinstance(statistic, str) else f"{statistic:g} quantile"


def _check_options(level: float, resamples: int, seed: int) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: expected a number strictly between 0 and 1; got {level!r}")
    if resamples < 100:
        raise ValueError(f"resamples: expected 100 or more; got {resamples!r}")
    if seed < 0:
        raise ValueError(f"seed: expected a number that is not negative; got {seed!r}")


# What both fits rest on.


def _draws(
    seed: int, x: float, size: int, resamples: int
) -> tuple[npt.NDArray[np.int64], np.random.Generator]:
    """Indices (resamples, size - 1) of the replicates drawn at x, and the generator for more."""
    high, low = divmod(int(np.float64(x).view(np.uint64)), 2**32)
    generator = np.random.default_rng([seed, high, low])
    return generator.integers(0, size, (resamples, size - 1)), generator


def _least_squares(x: Floats, weight: Floats, degree: int) -> Floats:
    """The matrix L with `L @ y` the coefficients of the weighted polynomial fit, constant first."""
    root = np.sqrt(weight / np.max(weight))
    powers = np.vander(x, degree + 1, increasing=True)
    return np.asarray(np.linalg.pinv(powers * root[:, None]) * root, dtype=np.float64)


def _smoothed(x: Floats, variance: Floats) -> Floats:
    """Variances on the line that fits their logarithms, and their mean; equal where that is no help."""
    if len(x) < 4 or not np.all(variance > 0.0):
        return np.ones(len(x))
    line = np.exp(np.polynomial.Polynomial.fit(x, np.log(variance), 1)(x))
    return np.asarray(line + np.mean(line))


def _curvature(
    x: Floats, weight: Floats, y: Floats, drawn: Floats, level: float
) -> tuple[float, float, float]:
    if len(x) < _LEAST_SIZES:
        return math.nan, math.nan, math.nan
    bend = _least_squares(x - np.mean(x), weight, 2)[2]
    low, high = _interval(drawn @ bend, level)
    return float(bend @ y), float(low), float(high)


def _interval(drawn: Floats, level: float) -> tuple[Any, Any]:
    low, high = np.quantile(drawn, [0.5 * (1.0 - level), 0.5 * (1.0 + level)], axis=0)
    return low, high


# Growth of iterations.


@dataclass(frozen=True, eq=False)
class Growth:
    """Which law the counts follow, by how well it predicts the largest n from smaller ones.

    Attributes
    ----------
    sizes : one row for each value of `by`: `runs`, `reached`, `failed`, `censored` (share), the
        Kaplan-Meier `median` with its interval `low`, `high`, the `centre` that laws are fitted to
        (the median made continuous), and what it was `used` for: "fit", "held out", or "" where no
        law can be fitted to it (see `growth`).
    laws : one row a law (index: its name): `formula`; `a`, `b` with intervals, fitted to all n;
        `predicted` at the largest n from the fit to the smaller ones, with interval; `error`,
        `predicted / median - 1`, and whether its interval has `covered` 0: the best of three laws
        may still be wrong; `curvature` with interval, the quadratic term over all n in the law's
        own coordinates (count against ln n, ln count against ln n, ln count against ln ln n), and
        `moving` where that interval excludes 0.
    contest : one row for each pair of laws: `law`, `other`, and `ratio`, the log10 of `law`'s
        absolute prediction error, in ln count, over the other's, with interval `low`, `high`:
        negative where `law` predicts better, decided where the interval excludes 0.
    winner : the law that beats both others, or "undecided".
    family : "logarithm" or "power", as `contest` decides between the power and the better of
        the two logarithmic laws, or "undecided".
    censored : the share of all runs that did not arrive.
    slope_per_log, exponent : b of the first law and of the power law on the upper half of n, each
        as (estimate, low, high).
    """

    value: str
    by: str
    level: float
    sizes: pd.DataFrame
    laws: pd.DataFrame
    contest: pd.DataFrame
    winner: str
    family: Verdict
    censored: float
    slope_per_log: tuple[float, float, float]
    exponent: tuple[float, float, float]


def growth(
    frame: pd.DataFrame,
    value: str = "iterations_to_radius",
    spent: str = "iterations",
    by: str = "n",
    level: float = 0.95,
    resamples: int = 500,
    seed: int = 0,
    holdout: int | None = None,
) -> Growth:
    """A contest between `a + b ln n`, `a n^b` and `a (ln n)^b` for the median count.

    All three are fitted alike, to the Kaplan-Meier medians by weighted least squares in ln count:

        ln median(n) = ln law(n) + error(n),   standard deviation of the error as bootstrapped.

    Then they predict the median at the largest n. `holdout` says how many of the largest n the fit
    does not see; by default a fifth of them, at least one. The laws move apart with the square of
    the distance, in ln n, over which they extrapolate, and the noise of a prediction only
    linearly; but a law fitted too far away has its constants from where no theorem holds yet.

    Counts are whole numbers with many ties. A count t stands for an arrival in (t - step, t],
    evenly: that makes medians continuous (see `censoring.quantile`). What is left of the rounding
    is in the noise: every resampled median is moved by a uniform number in (-step/2, step/2). So
    small counts have a small weight, and a prediction error below the rounding counts as the
    rounding's standard deviation. The step is the largest number that divides all counts: 1 as a
    rule; a column that is not whole has none, and is taken as it is.

    A median below a step (runs that start within the radius) fits no law, nor does one that half of
    the runs do not reach, be it in one resample of twenty: its n is in `Growth.sizes`, in no fit.

    Parameters
    ----------
    frame : rows of runs of one algorithm from one start; one row for each `by` and replicate.
    value, spent : the columns of what it took to arrive (NaN: not arrived), and of what was spent.
    by : the column of n, or another number above 1.
    """
    _check_options(level, resamples, seed)
    require(frame, value, spent, by)
    ordered = _ordered(frame, by, value, spent)
    groups = _positive(ordered, by)
    if not np.all(groups > 1.0):
        raise ValueError(f"by: {by!r} must be above 1: a law has the logarithm of its logarithm")
    every = counts(ordered, value, spent)
    step = _step(every)
    at = np.unique(groups)
    medians = [_Medians.of(every, groups == x, x, step, resamples, seed) for x in at]
    used = np.array([one.known for one in medians])
    if np.count_nonzero(used) < _LEAST_SIZES:
        raise TooLittle(
            f"frame: a contest needs {_LEAST_SIZES} values of {by!r} with two runs or more, half of "
            f"which or more reach the radius, not at once; got {np.count_nonzero(used)}"
        )
    x = np.log(at[used])
    known = [one for one in medians if one.known]
    y = np.log([one.centre for one in known])
    drawn = np.log(np.stack([one.drawn for one in known], axis=1))
    variance = np.maximum(np.var(drawn, axis=0), 1e-6)  # no count is better than to a thousandth
    held = _held(len(x), holdout)
    rounding = max(step / math.sqrt(12.0) / math.exp(y[-1]), 1e-12)
    table, errors = _laws(x, y, drawn, 1.0 / variance, held, rounding, level)
    contest, winner, family = _contest(errors, level)
    half = slice(len(x) // 2, None)
    per_log, power = (
        _estimate(_fit(law, x[half], y[half], drawn[:, half], 1.0 / variance[half])[1], level)
        for law in ("logarithm", "power")
    )
    kept = np.flatnonzero(used)
    uses = np.full(len(at), "", dtype=object)
    uses[kept], uses[kept[-held:]] = "fit", "held out"
    sizes = pd.DataFrame([one.row(level) for one in medians])
    sizes.insert(0, by, at)
    sizes["used"] = uses
    return Growth(
        value=value,
        by=by,
        level=level,
        sizes=sizes,
        laws=table,
        contest=contest,
        winner=winner,
        family=family,
        censored=1.0 - float(np.mean(every.observed)),
        slope_per_log=per_log,
        exponent=power,
    )


@dataclass(frozen=True, eq=False)
class _Medians:
    """The median at one n, as it is and resampled; then made continuous (`centre`) and resampled."""

    counts: Counts
    median: float
    medians: Floats
    centre: float
    drawn: Floats
    known: bool

    @classmethod
    def of(
        cls, every: Counts, here: Any, x: float, step: float, resamples: int, seed: int
    ) -> _Medians:
        own = Counts(*(column[here] for column in every))
        size = len(own.times)
        median = quantile(own.times, own.observed)
        centre = quantile(own.times, own.observed, step=step)
        if size < 2:
            return cls(own, median, np.array([median]), centre, np.array([centre]), False)
        indices, generator = _draws(seed, x, size, resamples)
        rows = np.arange(resamples)[:, None] * size
        times = np.bincount((indices + rows).ravel(), minlength=resamples * size)
        weights = times.reshape(resamples, size).astype(float)
        medians = weighted_quantiles(own.times, own.observed, weights, 0.5, 0.0)
        drawn = weighted_quantiles(own.times, own.observed, weights, 0.5, step)
        drawn += step * generator.uniform(-0.5, 0.5, resamples)
        finite = np.isfinite(drawn)
        known = math.isfinite(median) and median >= max(step, 1e-300) and np.mean(finite) >= 0.95
        if known:
            drawn = np.where(finite, drawn, np.max(drawn[finite]))
            drawn = np.maximum(drawn, max(0.1 * step, 1e-3 * centre))
        return cls(own, median, medians, centre, drawn, bool(known))

    def row(self, level: float) -> dict[str, Any]:
        tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
        low, high = np.quantile(self.medians, tails, method="inverted_cdf")  # inf stays inf
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


def _step(every: Counts) -> float:
    """What counts are multiples of: 1, as a rule, but 3 for passes of three a step; 0 if not whole."""
    seen = every.times[every.observed]
    if not np.all(seen == np.rint(seen)):
        return 0.0
    return float(np.gcd.reduce(seen.astype(np.int64), initial=0) or 1)


def _held(sizes: int, holdout: int | None) -> int:
    held = max(1, sizes // 5) if holdout is None else holdout
    if not 1 <= held <= sizes - 2:
        raise ValueError(
            f"holdout: expected 1 to {sizes - 2}, as two of {sizes} values are for the fit; got {held!r}"
        )
    return held


def _laws(
    x: Floats,
    y: Floats,
    drawn: Floats,
    weight: Floats,
    held: int,
    rounding: float,
    level: float,
) -> tuple[pd.DataFrame, dict[str, Floats]]:
    """The table of `Growth.laws`; absolute errors of each law, as they are and in the resamples."""
    rows, errors = {}, {}
    few = slice(None, len(x) - held)
    for law, formula in LAWS.items():
        a, b = _fit(law, x, y, drawn, weight)
        smaller = _fit(law, x[few], y[few], drawn[:, few], weight[few])
        predicted = _log_law(law, *smaller, x[-1])
        observed = np.concatenate([y[-1:], drawn[:, -1]])
        errors[law] = np.maximum(np.abs(predicted - observed), rounding)
        place = np.log(x) if law == "power of the logarithm" else x
        if law == "logarithm":
            counted = np.exp(y)
            bend = _curvature(place, weight / counted**2, counted, np.exp(drawn), level)
        else:
            bend = _curvature(place, weight, y, drawn, level)
        row: dict[str, Any] = {"formula": formula}
        for name, values in (("a", a), ("b", b), ("predicted", np.exp(predicted))):
            row[name], row[f"{name}_low"], row[f"{name}_high"] = _estimate(values, level)
        row["error"] = math.expm1(predicted[0] - y[-1])
        low, high = _interval(predicted[1:] - drawn[:, -1], level)
        row["covered"] = bool(low <= 0.0 <= high)
        row["curvature"], row["curvature_low"], row["curvature_high"] = bend
        row["moving"] = bend[1] > 0.0 or bend[2] < 0.0
        rows[law] = row
    return pd.DataFrame.from_dict(rows, orient="index"), errors


def _estimate(values: Floats, level: float) -> tuple[float, float, float]:
    """The first, and the interval of the rest."""
    low, high = _interval(values[1:], level)
    return float(values[0]), float(low), float(high)


def _contest(errors: Mapping[str, Floats], level: float) -> tuple[pd.DataFrame, str, Verdict]:
    def ratio(one: Floats, two: Floats) -> tuple[float, float, float]:
        return _estimate(np.log10(one) - np.log10(two), level)

    laws = list(errors)
    rows = []
    beaten: dict[str, int] = dict.fromkeys(laws, 0)
    for law in laws:
        for other in laws:
            if law == other:
                continue
            value, low, high = ratio(errors[law], errors[other])
            beaten[law] += high < 0.0
            if laws.index(law) < laws.index(other):
                rows.append({"law": law, "other": other, "ratio": value, "low": low, "high": high})
    winner = next((law for law in laws if beaten[law] == len(laws) - 1), "undecided")
    logarithmic = np.minimum(errors["logarithm"], errors["power of the logarithm"])
    _, low, high = ratio(logarithmic, errors["power"])
    family: Verdict = "logarithm" if high < 0.0 else "power" if low > 0.0 else "undecided"
    return pd.DataFrame(rows), winner, family


def _fit(law: str, x: Floats, y: Floats, drawn: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """a and b by weighted least squares in ln count: of the estimate first, then of each resample."""
    rows = np.vstack([y, drawn])
    if law == "logarithm":
        return _fit_logarithm(x, rows, weight)
    line = _least_squares(np.log(x) if law == "power of the logarithm" else x, weight, 1)
    return np.exp(rows @ line[0]), rows @ line[1]


def _fit_logarithm(x: Floats, rows: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """a + b x = c (1 + g (x - mean x)): c in closed form, g by golden section.

    g lies where the law is positive at every x, a finite interval; a grid brackets the minimum.
    """
    share, middle = weight / np.sum(weight), np.mean(x)
    away = x - middle
    least, width = -1.0 / away[-1], 1.0 / away[-1] - 1.0 / away[0]
    centred = rows - (rows @ share)[:, None]

    def loss(places: Floats) -> Floats:
        shape = np.log1p((least + width * places)[:, None] * away)
        return np.asarray(((centred - shape + (shape @ share)[:, None]) ** 2) @ share)

    cells = 32
    shapes = np.log1p((least + width * (np.arange(cells) + 0.5) / cells)[:, None] * away)
    shapes -= (shapes @ share)[:, None]
    best = np.argmin((shapes**2 @ share)[:, None] - 2.0 * (shapes * share) @ centred.T, axis=0)
    low, high = best / cells - 0.5 / cells, (best + 1.5) / cells
    low, high = np.maximum(low, 1e-12), np.minimum(high, 1.0 - 1e-12)
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(30):
        smaller = at_left < at_right
        low, high = np.where(smaller, low, left), np.where(smaller, right, high)
        kept, at_kept = np.where(smaller, left, right), np.where(smaller, at_left, at_right)
        new = np.where(smaller, high - golden * (high - low), low + golden * (high - low))
        at_new = loss(new)
        left, right = np.where(smaller, new, kept), np.where(smaller, kept, new)
        at_left, at_right = (
            np.where(smaller, at_new, at_kept),
            np.where(smaller, at_kept, at_new),
        )
    slope = least + width * 0.5 * (low + high)
    shape = np.log1p(slope[:, None] * away)
    scale = np.exp(rows @ share - shape @ share)
    return scale * (1.0 - slope * middle), scale * slope


def _log_law(law: str, a: Floats, b: Floats, x: float) -> Floats:
    """ln law at ln n = x; a line that has fallen to 0 there is kept just above it."""
    if law == "logarithm":
        return np.log(np.maximum(a + b * x, 1e-3))
    return np.log(a) + b * (math.log(x) if law == "power of the logarithm" else x)


# Samples whose own optimum is the truth.


def mle_at_zero(frame: pd.DataFrame, tolerance: float = 0.1, by: str = "n") -> pd.DataFrame:
    """The share of samples whose maximum-likelihood location is exactly the truth, 0.

    On these an algorithm may run far below the statistical radius: they pull a median of errors
    down without any rate in it. A sample counts where

        mle_location_error <= tolerance * radius / radius_constant

    At d = 1 the mean log-likelihood is, to leading order, `Z theta^4 / sqrt(n) - k theta^8` with Z
    normal. Where Z < 0, on about every second sample, its maximum is at 0; else it is at
    (Z/2k)^(1/4) n^(-1/8), which is below x times the radius with probability of order x^4: for a
    tenth, some two samples in a hundred thousand. Solvers leave 0 of an MLE at 0, or, where the
    loss differs by less than its rounding, up to a hundredth of the radius.

    Returns
    -------
    One row for each value of `by` (and study, block, model and d, where there are such columns):
    `samples` with a known MLE, those with it `at_zero`, and their `share`; nan where none is known.
    """
    require(frame, by, "replicate", "mle_location_error", "radius", "radius_constant")
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance: expected a number between 0 and 1; got {tolerance!r}")
    keys = [name for name in ("study", "block", "model", "d") if name in frame and name != by]
    keys.append(by)
    sample = [*keys, *(name for name in ("seed", "replicate") if name in frame)]
    known = frame.dropna(subset=["mle_location_error"]).drop_duplicates(sample)
    zero = at_zero(known, tolerance)
    made = (
        known[keys].assign(samples=1, at_zero=zero.astype(int)).groupby(keys, observed=True).sum()
    )
    every = frame[keys].drop_duplicates().sort_values(keys)
    made = every.merge(made.reset_index(), how="left", on=keys)
    made["samples"] = made["samples"].fillna(0).astype(int)
    made["at_zero"] = made["at_zero"].fillna(0).astype(int)
    made["share"] = made["at_zero"] / made["samples"].where(made["samples"] > 0)
    return made.reset_index(drop=True)


def at_zero(frame: pd.DataFrame, tolerance: float = 0.1) -> Any:
    """Whether each row's sample has its own optimum at exactly 0; see `mle_at_zero`."""
    radius = frame["radius"] / frame["radius_constant"]
    return frame["mle_location_error"] <= tolerance * radius


# Every rate in a study.


def fit_rates(
    df: pd.DataFrame,
    statistic: str | float = "rmse",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Every rate in the rows of a study, next to what the theory says.

    Parameters
    ----------
    df : rows as `load_results` returns them; a column `study` tells several studies apart.
    statistic : what the exponents of errors are of; see `exponent`.
    level, resamples, seed : of the bootstrap intervals.

    Returns
    -------
    One row for each study (if there is such a column), block, model, d, start, algorithm, options and
    `quantity`: `location_error` and `scale_error` of the selected iterate where runs go on to the end
    (`stop`), `iterations_to_radius` and `passes_to_radius` where they stop at the radius.

    law : "power", b in n^b; or "logarithm", b in a + b ln n. For errors it is the power; for counts
        the theory's law, else what the contest says (`family`), the power if it is undecided.
    estimate, low, high : b over all n, and its interval.
    upper, upper_low, upper_high : the same over the upper half of n.
    theory : b in the paper, nan where it says nothing. Centred ELU is compared with ELU.
    sizes, n_min, n_max, replicates : values of n in the fit, and the fewest replicates at one.
    censored, failed : share of runs that did not reach the radius; number of runs that failed.
    mle_at_zero : share of samples whose own MLE is 0 (`mle_at_zero`); nan where it is not known.
    curvature, curvature_low, curvature_high, moving : is the slope still moving over all n?
    winner, family, prediction_error : the contest of `growth`, and the error of `law` in it.
    note : why there is no estimate, or which n are in no fit.
    """
    _check_options(level, resamples, seed)
    _check_statistic(statistic)
    needed = [*_CELL[1:], "n", "replicate", "stop", "location_error", "scale_error", "iterations"]
    needed += ["iterations_to_radius", "passes_to_radius", "passes", "reached", "status"]
    require(df, *needed, name="df")
    if not df["stop"].isin(list(_QUANTITIES)).all():
        raise ValueError("df: 'stop' must be 'end' or 'radius' in every row")
    cell = [name for name in _CELL if name in df]
    sample = [*cell, "stop", "n", *(name for name in ("seed", "replicate") if name in df)]
    if df.duplicated(sample).any():
        row = df[df.duplicated(sample)].iloc[0]
        raise ValueError(
            f"df: replicate {row['replicate']:g} of {row['algorithm']} at n = {row['n']:g} in block "
            f"{row['block']!r} is there twice; a column 'study' tells studies apart"
        )
    rows = []
    for key, group in df.groupby([*cell, "stop"], sort=False, observed=True, dropna=False):
        about: dict[str, Any] = dict(zip(cell, key[:-1], strict=True))
        for quantity in _QUANTITIES[str(key[-1])]:
            made = _rate(group, about, quantity, statistic, level, resamples, seed)
            rows.append({**about, "quantity": quantity, **made})
    return pd.DataFrame(rows)


_QUANTITIES = {
    "end": {"location_error": "", "scale_error": ""},
    "radius": {"iterations_to_radius": "iterations", "passes_to_radius": "passes"},
}
_NUMBERS = ("estimate", "low", "high", "upper", "upper_low", "upper_high", "theory")
_BEND = ("curvature", "curvature_low", "curvature_high")


def _rate(
    group: pd.DataFrame,
    about: Mapping[str, Any],
    quantity: str,
    statistic: str | float,
    level: float,
    resamples: int,
    seed: int,
) -> dict[str, Any]:
    """The columns of `fit_rates` after those that say what a row is about."""
    spent = _QUANTITIES[group["stop"].iloc[0]][quantity]
    law, expected = _expected(about, quantity)
    runs = group.groupby("n")["replicate"].count()
    row: dict[str, Any] = {
        "law": law,
        **dict.fromkeys(_NUMBERS, math.nan),
        "theory": expected,
        "sizes": len(runs),
        "n_min": runs.index.min(),
        "n_max": runs.index.max(),
        "replicates": int(runs.min()),
        "censored": 1.0 - float(group["reached"].mean()),
        "failed": int((group["status"] == "failed").sum()),
        "mle_at_zero": _share_at_zero(group),
        **dict.fromkeys(_BEND, math.nan),
        "moving": False,
        "winner": "",
        "family": "",
        "prediction_error": math.nan,
        "note": "",
    }
    if len(runs) < _LEAST_SIZES:
        row["note"] = f"a rate needs {_LEAST_SIZES} values of n; there are {len(runs)}"
        return row
    try:
        if spent:
            row |= _growth_row(growth(group, quantity, spent, "n", level, resamples, seed), law)
        else:
            every, upper = (
                exponent(group, quantity, "n", statistic, level, resamples, seed, half)
                for half in (False, True)
            )
            row |= {
                **dict(zip(_NUMBERS[:3], (every.slope, every.low, every.high), strict=True)),
                **dict(zip(_NUMBERS[3:6], (upper.slope, upper.low, upper.high), strict=True)),
                **{name: getattr(every, name) for name in _BEND},
                "replicates": int(every.replicates.min()),
                "moving": every.moving,
            }
    except TooLittle as why:
        row["note"] = str(why).removeprefix("frame: ")
    return row


def _growth_row(found: Growth, law: str) -> dict[str, Any]:
    law = law or ("logarithm" if found.family == "logarithm" else "power")
    fitted = found.laws.loc[law]
    left = found.sizes[found.sizes["used"] == ""]["n"]
    upper = found.slope_per_log if law == "logarithm" else found.exponent
    return {
        "law": law,
        "estimate": fitted["b"],
        "low": fitted["b_low"],
        "high": fitted["b_high"],
        **dict(zip(_NUMBERS[3:6], upper, strict=True)),
        "sizes": len(found.sizes) - len(left),
        **{name: fitted[name] for name in _BEND},
        "moving": bool(fitted["moving"]),
        "winner": found.winner,
        "family": found.family,
        "prediction_error": fitted["error"],
        "note": f"in no fit: n = {', '.join(f'{n:g}' for n in left)}" if len(left) else "",
    }


def _expected(about: Mapping[str, Any], quantity: str) -> tuple[str, float]:
    """The law of a quantity and its b in the paper; "" and nan where there is none."""
    count = quantity.endswith("_to_radius")
    if about["algorithm"] not in _PAPERS or about["model"] not in theory.MODELS:
        return "" if count else "power", math.nan
    paper = theory.rates(about["model"], int(about["d"]), _PAPERS[about["algorithm"]])
    if quantity == "location_error":
        return "power", paper.location_n
    if quantity == "scale_error":
        return "power", paper.scale_n
    if paper.growth == "power":  # EM and ELU make one pass an iteration
        return "power", paper.iterations_n
    beta = json.loads(about["options"]).get("beta")
    return "logarithm", math.nan if beta is None else paper.slope(beta)


def _share_at_zero(group: pd.DataFrame) -> float:
    if not {"mle_location_error", "radius", "radius_constant"} <= set(group.columns):
        return math.nan
    known = group.dropna(subset=["mle_location_error"])
    return float(at_zero(known).mean()) if len(known) else math.nan
