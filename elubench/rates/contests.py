"""Growth of iterations: a contest of laws, by how well they predict the largest n."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from elubench.checks import Floats
from elubench.rates.censoring import counts, require
from elubench.rates.laws import LAWS, fit, log_law
from elubench.rates.medians import Medians, step_of
from elubench.rates.resampling import (
    LEAST_SIZES,
    TooLittle,
    check_options,
    curvature,
    in_order,
    interval,
    positive,
)

Verdict = Literal["logarithm", "power", "undecided"]


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
    check_options(level, resamples, seed)
    require(frame, value, spent, by)
    ordered = in_order(frame, by, value, spent)
    groups = positive(ordered, by)
    if not np.all(groups > 1.0):
        raise ValueError(f"by: {by!r} must be above 1: a law has the logarithm of its logarithm")
    every = counts(ordered, value, spent)
    step = step_of(every)
    at = np.unique(groups)
    medians = [Medians.of(every, groups == x, x, step, resamples, seed) for x in at]
    used = np.array([one.known for one in medians])
    if np.count_nonzero(used) < LEAST_SIZES:
        raise TooLittle(
            f"frame: a contest needs {LEAST_SIZES} values of {by!r} with two runs or more, half of "
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
        _estimate(fit(law, x[half], y[half], drawn[:, half], 1.0 / variance[half])[1], level)
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
        a, b = fit(law, x, y, drawn, weight)
        smaller = fit(law, x[few], y[few], drawn[:, few], weight[few])
        predicted = log_law(law, *smaller, x[-1])
        observed = np.concatenate([y[-1:], drawn[:, -1]])
        errors[law] = np.maximum(np.abs(predicted - observed), rounding)
        place = np.log(x) if law == "power of the logarithm" else x
        if law == "logarithm":
            counted = np.exp(y)
            bend = curvature(place, weight / counted**2, counted, np.exp(drawn), level)
        else:
            bend = curvature(place, weight, y, drawn, level)
        row: dict[str, Any] = {"formula": formula}
        for name, values in (("a", a), ("b", b), ("predicted", np.exp(predicted))):
            row[name], row[f"{name}_low"], row[f"{name}_high"] = _estimate(values, level)
        row["error"] = math.expm1(predicted[0] - y[-1])
        low, high = interval(predicted[1:] - drawn[:, -1], level)
        row["covered"] = bool(low <= 0.0 <= high)
        row["curvature"], row["curvature_low"], row["curvature_high"] = bend
        row["moving"] = bend[1] > 0.0 or bend[2] < 0.0
        rows[law] = row
    return pd.DataFrame.from_dict(rows, orient="index"), errors


def _estimate(values: Floats, level: float) -> tuple[float, float, float]:
    """The first, and the interval of the rest."""
    low, high = interval(values[1:], level)
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
