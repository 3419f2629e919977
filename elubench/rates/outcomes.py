"""What came out at each n: a statistic over replicates, as it is and with controls, resampled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.rates.censoring import Truths, counts
from elubench.rates.controls import Controlled, controlled, scaled_controls
from elubench.rates.exponents import error_points, errors_in, smoothed
from elubench.rates.laws import Points
from elubench.rates.medians import Medians, step_of
from elubench.rates.resampling import Resampling, TooLittle, in_order, positive

_ROUNDS = 4  # in turn the levels, which responses are relative to, and the coefficients


class Outcomes(NamedTuple):
    """The rows of `Corrected.sizes`, ln statistic `plain` and `adjusted`, and what controls explain."""

    sizes: pd.DataFrame
    plain: Points
    adjusted: Points
    about: Controlled


def of_errors(
    frame: pd.DataFrame,
    value: str,
    by: str,
    statistic: str | float,
    names: tuple[str, ...],
    how: Resampling,
) -> Outcomes:
    """Statistics of errors.

    With controls, u = error^2 ("rmse") or the error is `level_n (1 + shift_r + rest)`, so that
    `level_n` is the mean of u over the mean of `1 + shift`. Resampled are the pseudo-values of this
    ratio, `level_n (1 + u_r / mean u - (1 + shift_r) / mean (1 + shift))`, whose mean it is.
    """
    ordered, groups, errors, known = errors_in(frame, value, by)
    samples = {float(x): errors[(groups == x) & known] for x in np.unique(groups)}
    plain = adjusted = error_points(samples, statistic, how, value, by)
    columns = scaled_controls(ordered, names, by, known)
    about = controlled(np.zeros(0), columns, groups, known, ())
    if names:
        power = 2 if statistic == "rmse" else 1
        response, shift = errors**power, np.zeros(len(groups))
        for _ in range(_ROUNDS):
            level = _means(response, groups, known) / _means(1.0 + shift, groups, known)
            about = controlled(response / level, columns, groups, known, names)
            shift = about.shift
        rise, mean = _means(1.0 + shift, groups, known), _means(response, groups, known)
        pseudo = mean / rise * (1.0 + response / mean - (1.0 + shift) / rise)
        parts = {x: pseudo[(groups == x) & known] for x in samples}
        means = error_points(parts, "mean", how, value, by)
        adjusted = _inflated(
            Points(means.x, means.y / power, means.drawn / power, means.weight), about.inflation
        )
    sizes = pd.DataFrame(
        {
            by: list(samples),
            "runs": [int(np.sum(groups == x)) for x in samples],
            "reached": [len(one) for one in samples.values()],
        }
    )
    sizes["censored"] = 1.0 - sizes["reached"] / sizes["runs"]
    sizes["statistic"], sizes["adjusted"] = np.exp(plain.y), np.exp(adjusted.y)
    sizes["used"] = True
    return Outcomes(sizes, plain, adjusted, about)


def of_counts(
    frame: pd.DataFrame,
    value: str,
    by: str,
    spent: str,
    names: tuple[str, ...],
    how: Resampling,
) -> Outcomes:
    """Kaplan-Meier medians of counts."""
    checks.frame(frame, "frame", value, spent, by)
    ordered = in_order(frame, by, value, spent)
    groups = positive(ordered, by)
    every, at = counts(ordered, value, spent), np.unique(groups)
    step = step_of(every)
    medians = [Medians.of(every, groups == x, x, step, how) for x in at]
    shown = medians
    columns = scaled_controls(ordered, names, by, ~every.failed)
    middle = every.times - np.where(every.observed, np.minimum(0.5 * step, 0.5 * every.times), 0.0)
    fitted = every.observed & (middle > 0.0)
    response = np.log(np.where(fitted, middle, 1.0))
    about = controlled(response, columns, groups, fitted, names)
    if names:
        moved = every._replace(times=middle * np.exp(-about.shift))
        medians = [Medians.of(moved, groups == x, x, step, how, spread=False) for x in at]
    known = np.array([one.known and two.known for one, two in zip(shown, medians, strict=True)])

    def points(chosen: list[Medians]) -> Points:
        kept = [one for one, use in zip(chosen, known, strict=True) if use]
        if len(kept) < 2:
            raise TooLittle(
                f"a slope needs two values of {by!r} with two runs or more, at least half of which "
                f"arrive, and not at once, got {len(kept)}"
            )
        x, drawn = np.log(at[known]), np.log(np.stack([one.drawn for one in kept], axis=1))
        runs = np.array([len(one.counts.times) for one in kept])
        y = np.log([one.centre for one in kept])
        return Points(x, y, drawn, runs / smoothed(x, np.var(drawn, axis=0) * runs))

    sizes = pd.DataFrame([one.row(how) for one in shown])
    sizes = sizes[["runs", "reached", "censored"]]
    sizes.insert(0, by, at)
    sizes["statistic"] = [one.centre for one in shown]
    sizes["adjusted"] = [one.centre for one in medians]
    sizes["used"] = known
    return Outcomes(sizes, points(shown), _inflated(points(medians), about.inflation), about)


def _means(values: Floats, groups: Floats, known: Truths) -> Floats:
    """For every run the mean over the known runs of its group."""
    _, place = np.unique(groups, return_inverse=True)
    sums = np.bincount(place, weights=np.where(known, values, 0.0))
    return np.asarray((sums / np.bincount(place, weights=known))[place])


def _inflated(points: Points, factor: float) -> Points:
    return points._replace(drawn=points.y + factor * (points.drawn - points.y))
