"""Growth of iterations: a contest of laws, by how well they predict the largest n."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.rates.censoring import counts
from elubench.rates.laws import LAWS, Points, fit, log_law, log_power
from elubench.rates.medians import Medians, step_of
from elubench.rates.resampling import LEAST_SIZES, Resampling, TooLittle, in_order, positive

Family = Literal["logarithm", "power", "undecided"]


@dataclass(frozen=True, eq=False)
class Growth:
    """Which law the counts follow, by how well it predicts the largest n from smaller ones.

    Attributes
    ----------
    sizes : one row per value of `by`: `runs`, `reached`, `failed`, `censored` (share), the
        Kaplan-Meier `median` with its interval `low`, `high`, the `centre` that laws are fitted to
        (the median made continuous), and what it was `used` for: "fit", "held out", or "" if no
        law can be fitted to it (see `growth`).
    laws : one row per law (index: its name): `formula`; `a`, `b` with intervals, fitted to all n;
        `predicted` at the largest n from the fit to the smaller ones, with interval; `error`,
        `predicted / median - 1`, and whether its interval `covered` 0, since the best of three laws
        may still be wrong; `curvature` with interval, the quadratic term over all n in the law's
        own coordinates (count against ln n, ln count against ln n, ln count against ln ln n), and
        `moving` where that interval excludes 0.
    contest : one row per pair of laws: `law`, `other`, and `ratio`, the log10 of `law`'s
        absolute prediction error, in ln count, over the other's, with interval `low`, `high`:
        negative where `law` predicts better, decided where the interval excludes 0.
    winner : the law that beats both others, or "undecided".
    family : "logarithm" or "power", decided between the power law and the better of the two
        logarithmic laws, or "undecided".
    censored : the share of all runs that did not arrive.
    slope_per_log, exponent : b of the first law and of the power law on the upper half of n, each
        as (estimate, low, high).
    log_power : p of `a + b (ln n)^p`, fitted to all n: 1 for a logarithm, 2 for its square.
    """

    value: str
    by: str
    level: float
    sizes: pd.DataFrame
    laws: pd.DataFrame
    contest: pd.DataFrame
    winner: str
    family: Family
    censored: float
    slope_per_log: tuple[float, float, float]
    exponent: tuple[float, float, float]
    log_power: tuple[float, float, float]


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

    Then they predict the median at the largest n. `holdout` is how many of the largest n the fit does
    not see; by default a fifth of them, at least one. The laws move apart with the square of
    the distance, in ln n, over which they extrapolate, and the noise of a prediction only
    linearly; but a law fitted too far away takes its constants from where no theorem holds yet.

    Counts are whole numbers with many ties. A count t stands for an arrival in (t - step, t],
    evenly: that makes medians continuous (see `censoring.quantile`). What is left of the rounding
    is in the noise: every resampled median is moved by a uniform number in (-step/2, step/2). So
    small counts have a small weight, and a prediction error below the rounding counts as the
    rounding's standard deviation. The step is the largest number that divides all counts, usually 1;
    a column of fractions has none and is taken as it is.

    A median below a step (runs that start within the radius) fits no law. Nor does one that half of
    the runs do not reach, even if only in one resample of twenty: its n is in `Growth.sizes`, but in
    no fit.

    Parameters
    ----------
    frame : rows of runs of one algorithm from one start; one row per `by` and replicate.
    value, spent : the columns of what it took to arrive (NaN: not arrived), and of what was spent.
    by : the column of n, or another number above 1.
    """
    how = Resampling(level, resamples, seed)
    checks.frame(frame, "frame", value, spent, by)
    ordered = in_order(frame, by, value, spent)
    groups = positive(ordered, by)
    if not np.all(groups > 1.0):
        raise ValueError(f"frame[{by!r}] must be > 1: a law has the logarithm of its logarithm")
    every = counts(ordered, value, spent)
    step = step_of(every)
    at = np.unique(groups)
    medians = [Medians.of(every, groups == x, x, step, how) for x in at]
    used = np.array([one.known for one in medians])
    if np.count_nonzero(used) < LEAST_SIZES:
        raise TooLittle(
            f"a contest needs {LEAST_SIZES} values of {by!r} with two runs or more, at least half of "
            f"which reach the radius, and not at once, got {np.count_nonzero(used)}"
        )
    known = [one for one in medians if one.known]
    drawn = np.log(np.stack([one.drawn for one in known], axis=1))
    variance = np.maximum(np.var(drawn, axis=0), 1e-6)  # no count is known to a thousandth
    y = np.log([one.centre for one in known])
    points = Points(np.log(at[used]), y, drawn, 1.0 / variance)
    held = _held(len(y), holdout)
    rounding = max(step / math.sqrt(12.0) / math.exp(y[-1]), 1e-12)
    table, errors = _laws(points, held, rounding, how)
    contest, winner, family = _contest(errors, how)
    upper = points.part(slice(len(y) // 2, None))
    per_log, power = (how.estimate(fit(law, upper)[1]) for law in ("logarithm", "power"))
    kept = np.flatnonzero(used)
    uses = np.full(len(at), "", dtype=object)
    uses[kept], uses[kept[-held:]] = "fit", "held out"
    sizes = pd.DataFrame([one.row(how) for one in medians])
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
        log_power=how.estimate(log_power(points)),
    )


def _held(sizes: int, holdout: int | None) -> int:
    """How many of the largest n are held out; two are left for the fit."""
    return checks.integer(
        max(1, sizes // 5) if holdout is None else holdout, "holdout", 1, sizes - 2
    )


def _laws(
    points: Points, held: int, rounding: float, how: Resampling
) -> tuple[pd.DataFrame, dict[str, Floats]]:
    """The table of `Growth.laws`; absolute errors of each law, plain and in the resamples."""
    x, y, drawn, weight = points
    rows, errors = {}, {}
    for law, formula in LAWS.items():
        a, b = fit(law, points)
        smaller = fit(law, points.part(slice(None, len(x) - held)))
        predicted = log_law(law, *smaller, x[-1])
        observed = np.concatenate([y[-1:], drawn[:, -1]])
        errors[law] = np.maximum(np.abs(predicted - observed), rounding)
        place = np.log(x) if law == "power of the logarithm" else x
        if law == "logarithm":
            counted = np.exp(y)
            bend = how.curvature(place, weight / counted**2, counted, np.exp(drawn))
        else:
            bend = how.curvature(place, weight, y, drawn)
        row: dict[str, Any] = {"formula": formula}
        for name, values in (("a", a), ("b", b), ("predicted", np.exp(predicted))):
            row[name], row[f"{name}_low"], row[f"{name}_high"] = how.estimate(values)
        row["error"] = math.expm1(predicted[0] - y[-1])
        low, high = how.interval(predicted[1:] - drawn[:, -1])
        row["covered"] = bool(low <= 0.0 <= high)
        row["curvature"], row["curvature_low"], row["curvature_high"] = bend
        row["moving"] = bend[1] > 0.0 or bend[2] < 0.0
        rows[law] = row
    return pd.DataFrame.from_dict(rows, orient="index"), errors


def _contest(errors: Mapping[str, Floats], how: Resampling) -> tuple[pd.DataFrame, str, Family]:
    def ratio(one: Floats, two: Floats) -> tuple[float, float, float]:
        return how.estimate(np.log10(one) - np.log10(two))

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
    family: Family = "logarithm" if high < 0.0 else "power" if low > 0.0 else "undecided"
    return pd.DataFrame(rows), winner, family
