"""Exponents with corrections to scaling: what n^b is multiplied by, at the n that were run.

A rate n^b is a statement about n without end. At finite n it comes with factors such as
`1 + c n^(-1/4)`, and a plain line through ln statistic then has a slope that is not b, however narrow
its interval. Here the factors are taken from theory (`predicted`) or fitted along (`terms`), and chance
differences between the samples at different n are taken away (`controls`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

from elubench import checks
from elubench.rates.controls import checked_names
from elubench.rates.exponents import check_statistic, local_slopes
from elubench.rates.intervals import Interval
from elubench.rates.outcomes import of_counts, of_errors
from elubench.rates.resampling import Resampling, TooLittle, solution

_TERM = re.compile(r"\^\(?-(\d+(?:\.\d+)?(?:/\d+)?)\)?")


@dataclass(frozen=True, eq=False)
class Corrected:
    """An exponent with corrections to scaling, next to the plain one.

    Attributes
    ----------
    exponent, low, high : the corrected exponent and its interval.
    plain : the slope of a plain line through ln statistic, with its interval.
    stated : the exponent of the prediction, nan without one.
    sizes : one row per value of `by`: `runs`, `reached` (with an outcome), `censored` (share without),
        `statistic`, `adjusted` (by the controls), `predicted` (nan without a prediction), and whether it
        was `used`: a median that too few runs reach is in no fit.
    terms : one row per term: `term`, `coefficient`, `low`, `high`.
    controls : one row per control and power: `control`, `power`, `coefficient` (per standard
        deviation of the control).
    explained : the share of the variance within each n that the controls explain.
    local, plain_local : slopes between neighbours, corrected and plain: columns `from`, `to`,
        `slope`, `low`, `high`.
    curvature : the coefficient of `(ln by)^2` that the corrections leave, with its interval.
    runs, censored : runs in the frame, and those without an outcome.
    """

    value: str
    by: str
    statistic: str | float
    level: float
    exponent: float
    low: float
    high: float
    plain: Interval
    stated: float
    sizes: pd.DataFrame
    terms: pd.DataFrame
    controls: pd.DataFrame
    explained: float
    local: pd.DataFrame
    plain_local: pd.DataFrame
    curvature: Interval
    runs: int
    censored: int

    @property
    def interval(self) -> Interval:
        """The corrected exponent with its interval."""
        return Interval(self.exponent, self.low, self.high)

    @property
    def moving(self) -> bool:
        """Whether the slope still moves with n after the corrections."""
        return self.curvature.low > 0.0 or self.curvature.high < 0.0


def corrected(
    frame: pd.DataFrame,
    value: str = "location_error",
    by: str = "n",
    statistic: str | float = "rmse",
    predicted: Callable[[float], float] | None = None,
    stated: float | None = None,
    terms: Sequence[str | float] = (),
    controls: Sequence[str] = (),
    spent: str = "iterations",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Corrected:
    """The exponent b of a statistic over replicates, with corrections to scaling.

        ln statistic(n) - ln predicted(n) = a + (b - stated) ln n + sum_i c_i n^(-e_i)

    by least squares with the weights of `rates.exponent`. Without a prediction the left-hand side is
    ln statistic(n) and the slope is b itself.

    Parameters
    ----------
    frame : rows of runs of one algorithm from one start; one row per `by` and replicate.
    value : the column of errors, or of counts (NaN: not arrived).
    statistic : of errors "rmse", "mean" or a number in (0, 1), that quantile; of counts "median",
        Kaplan and Meier's, made continuous as in `rates.growth`: what is left of the rounding is in
        the noise, so that an interval is never narrower than the rounding.
    predicted : what theory says of the statistic at finite n, up to a constant factor. It must
        follow n^stated as n grows; then b is `stated` plus the slope of what it leaves.
    stated : the exponent of `predicted`.
    terms : corrections to fit along, each as text, "n^(-1/4)", or as its e > 0.
    controls : columns of the frame that explain part of an outcome, such as the excess kurtosis of
        the sample. Each is multiplied by sqrt(n), and enters with its square. Of counts they explain
        ln count, of "rmse" the squared error over its mean at that n, of "mean" the error over its mean.
        It is assumed that they have the same law at every n (`rates.controls`), which holds
        for fluctuations of moments. Quantiles of errors take none.
    spent : the column of what a run has spent, for counts alone: it censors runs that did not arrive.
    level, resamples, seed : of the bootstrap intervals.
    """
    how = Resampling(level, resamples, seed)
    if statistic != "median":
        check_statistic(statistic)
    if (predicted is None) != (stated is None):
        raise ValueError("predicted and stated must be given together: stated is its exponent")
    if predicted is None and not len(terms) and not len(controls):
        raise ValueError("predicted, terms or controls must be given; else use `exponent`")
    if predicted is not None and not callable(predicted):
        raise TypeError(f"predicted must be a function of {by}, got {checks.brief(predicted)}")
    promised = math.nan if stated is None else checks.real(stated, "stated")
    powers = [power_of(term, by, f"terms[{place}]") for place, term in enumerate(terms)]
    if len(set(powers)) < len(powers):
        raise ValueError(f"terms must differ, got {tuple(terms)!r}")
    names = checked_names(controls, frame)
    if names and isinstance(statistic, float):
        raise ValueError("controls must be left out for a quantile: they act on means and medians")
    if statistic == "median":
        found = of_counts(frame, value, by, spent, names, how)
    else:
        found = of_errors(frame, value, by, statistic, names, how)
    sizes, plain, adjusted, about = found
    at = sizes[by].to_numpy()[sizes["used"].to_numpy()]
    if len(at) < 3 + len(powers):
        raise TooLittle(
            f"a slope with {len(powers)} corrections needs {3 + len(powers)} values of {by!r} "
            f"with an outcome, got {len(at)}"
        )
    guess = np.full(len(sizes), math.nan)
    base = np.zeros(len(at))
    if predicted is not None:
        guess = np.array([_positive(predicted, n, by) for n in sizes[by]])
        base = np.log(guess[sizes["used"].to_numpy()]) - promised * adjusted.x
    sizes["predicted"] = guess
    x, y, drawn, weight = adjusted
    y, drawn = y - base, drawn - base
    decay = np.stack([at**-power for power in powers], axis=1) if powers else np.empty((len(at), 0))
    # Relative to the smallest n, so that columns are of one size.
    unit = decay[0] if powers else np.empty(0)
    fit = solution(np.column_stack([np.ones(len(x)), x, decay / unit]), weight)
    low, high = how.interval(drawn @ fit[1])
    rows = []
    for place, power in enumerate(powers):
        row = fit[2 + place] / unit[place]
        ends = how.interval(drawn @ row)
        rows.append((f"{by}^(-{Fraction(power).limit_denominator(1000)})", row @ y, *ends))
    left = fit[2:].T @ (decay / unit).T
    y, drawn = y - y @ left, drawn - drawn @ left
    line = solution(np.column_stack([np.ones(len(x)), x]), plain.weight)[1]
    outcomes = int(sizes["reached"].sum())
    return Corrected(
        value=value,
        by=by,
        statistic=statistic,
        level=level,
        exponent=float(fit[1] @ (adjusted.y - base)),
        low=float(low),
        high=float(high),
        plain=Interval(*how.estimate(np.concatenate([[plain.y @ line], plain.drawn @ line]))),
        stated=promised,
        sizes=sizes,
        terms=pd.DataFrame(rows, columns=["term", "coefficient", "low", "high"]),
        controls=about.table,
        explained=about.explained,
        local=local_slopes(at, x, y, drawn, how),
        plain_local=local_slopes(at, x, plain.y, plain.drawn, how),
        curvature=Interval(*how.curvature(x, weight, y, drawn)),
        runs=int(sizes["runs"].sum()),
        censored=int(sizes["runs"].sum()) - outcomes,
    )


def power_of(term: str | float, by: str, name: str) -> float:
    """The e of a term n^(-e)."""
    if not isinstance(term, str):
        return checks.real(term, name, above=0.0)
    found = _TERM.fullmatch(term.replace(" ", "").removeprefix(by))
    if not found or not term.strip().startswith(by) or Fraction(found[1]) == 0:
        raise ValueError(
            f"{name} must be a number or text such as '{by}^(-1/4)', got {checks.brief(term)}"
        )
    return float(Fraction(found[1]))


def _positive(predicted: Callable[[float], float], n: float, by: str) -> float:
    value = float(predicted(n))
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"predicted must be positive and finite, got {value!r} at {by} = {n:g}")
    return value
