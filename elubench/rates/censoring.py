"""How long it takes when not every run arrives: right-censored counts.

A run that reaches the radius has its count there (`observed`). Any other run is censored:

- at what it spent, if it ran out of iterations: it might have arrived later;
- at infinity, if it converged elsewhere or diverged: it never will. Censored where it stopped, it
  would count as a run that was about to arrive, and the median would be too small;
- at 0, if it failed: nothing is known about it.

Nothing is dropped: every function here counts all runs, and `running_times` shows the censored share.

**Kaplan-Meier.** At the times t_1 < t_2 < ... at which runs arrive, with `e_j` arrivals and `r_j`
runs that have neither arrived nor been censored before t_j,

    S(t) = product over t_j <= t of (1 - e_j / r_j)

estimates the share of runs that need longer than t. A quantile that too few runs reach is `inf`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from elubench import checks
from elubench.checks import Floats

Truths = npt.NDArray[np.bool_]

_ROUNDING = 1e-12  # survival is a product of fractions: 1/2 may come out as 1/2 + 1e-16
_ENDED = ("converged", "diverged")  # statuses of runs that will never arrive


class Counts(NamedTuple):
    """What runs needed, one entry each.

    `times`: when a run arrives (`observed`) or is censored; `spent`: its cost until then; `failed`:
    nothing is known about it.
    """

    times: Floats
    observed: Truths
    spent: Floats
    failed: Truths


def counts(frame: pd.DataFrame, value: str, spent: str) -> Counts:
    """The column `value` where a run arrived; else `spent`, or inf or 0 by the column `status`."""
    checks.frame(frame, "frame", value, spent)
    times = frame[value].to_numpy(dtype=float, na_value=np.nan)
    budget = frame[spent].to_numpy(dtype=float, na_value=np.nan)
    observed = ~np.isnan(times)
    if "reached" in frame and np.any(frame["reached"].to_numpy(dtype=bool) != observed):
        raise ValueError(f"frame[{value!r}] must be NaN exactly where 'reached' is False")
    failed = ~observed & np.isnan(budget)
    used = np.where(observed, times, np.where(failed, 0.0, budget))
    if not np.all(np.isfinite(used) & (used >= 0.0)):
        raise ValueError(f"frame[{value!r}] and frame[{spent!r}] must be finite and >= 0")
    times = used
    if "status" in frame:
        never = frame["status"].isin(_ENDED).to_numpy(dtype=bool) & ~observed & ~failed
        times = np.where(never, np.inf, used)
    return Counts(times, observed, used, failed)


def quantile(
    times: npt.ArrayLike, observed: npt.ArrayLike, q: float = 0.5, step: float = 0.0
) -> float:
    """The time by which a share `q` of the runs has arrived, by Kaplan-Meier.

    It is the smallest t with S(t) <= 1 - q; where S is exactly 1 - q it is the middle of that
    stretch, as for the median of an even number. It is `inf` if S never falls below 1 - q: too
    many runs are censored. Without censoring it is NumPy's `method="averaged_inverted_cdf"`.

    With `step`, a count t stands for an arrival somewhere in (t - step, t], evenly, so that S is
    linear there: the median of 1, 2, 2, 2, 3 is then 1.5, with 1 and 3 on either side of its middle.
    """
    values, arrived = _checked(times, observed)
    q = checks.real(q, "q", 0.0, 1.0)
    step = checks.real(step, "step", above=0.0, closed="above")
    return float(weighted_quantiles(values, arrived, np.ones((1, len(values))), q, step)[0])


def weighted_quantiles(
    times: Floats, observed: Truths, weights: Floats, q: float, step: float
) -> Floats:
    """`quantile` for each row of `weights`: how often each run is counted, (rows, runs)."""
    where, place = np.unique(times[observed], return_inverse=True)
    if not len(where):
        return np.full(len(weights), np.inf)
    indicator = np.zeros((len(times), len(where)))
    indicator[np.flatnonzero(observed), place] = 1.0
    events = weights @ indicator
    at_risk = weights @ (times[:, None] >= where)
    with np.errstate(invalid="ignore"):
        survival = np.cumprod(np.where(events > 0.0, 1.0 - events / at_risk, 1.0), axis=1)
    level, rows = 1.0 - q, np.arange(len(weights))
    enough = survival <= level + _ROUNDING
    first = np.argmax(enough, axis=1)
    after = survival[rows, first]
    before = np.where(first > 0, survival[rows, first - 1], 1.0)
    width = np.minimum(step, where)[first]  # nothing arrives before 0
    found = where[first]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = found - width * np.clip((level - after) / (before - after), 0.0, 1.0)
    # On a stretch at exactly 1 - q: its middle, or inf where it never ends.
    flat = np.abs(after - level) <= _ROUNDING
    lower = survival < after[:, None] - _ROUNDING
    following = np.argmax(lower, axis=1)
    end = np.where(lower.any(axis=1), (where - np.minimum(step, where))[following], np.inf)
    found = np.where(flat, 0.5 * (where[first] + end), found)
    return np.where(enough.any(axis=1), found, np.inf)


def expected_running_time(times: npt.ArrayLike, observed: npt.ArrayLike) -> float:
    """Expected running time: all that was spent, by runs that arrive or not, per arrival.

    It is the average cost of starting again, on another sample, until a run arrives:
    `sum of times / number observed`, with the times at which runs stopped, all finite. With no
    arrivals it is `inf`.
    """
    values, arrived = _checked(times, observed)
    if not np.all(np.isfinite(values)):
        raise ValueError("times must be finite: it is what each run spent")
    successes = int(np.count_nonzero(arrived))
    return float(np.sum(values)) / successes if successes else float("inf")


def running_times(
    frame: pd.DataFrame,
    value: str = "iterations_to_radius",
    spent: str = "iterations",
    by: str | Sequence[str] = ("algorithm", "n"),
    quantiles: Sequence[float] = (0.1, 0.5, 0.9),
) -> pd.DataFrame:
    """One row per group: runs, how many arrived, were censored and failed, and what it took.

    Columns after those of `by`: `runs`, `reached`, `failed`, `censored` (the share of runs that did
    not arrive, failed ones included), `expected` (`expected_running_time`), and one Kaplan-Meier
    quantile per q, named `q10`, `median`, `q90`.
    """
    by = [by] if isinstance(by, str) else list(by)
    checks.frame(frame, "frame", *by, value, spent)
    names = ["median" if q == 0.5 else f"q{100 * q:g}" for q in quantiles]
    rows = []
    for key, group in frame.groupby(by, sort=True, observed=True, dropna=False):
        times, observed, used, failed = counts(group, value, spent)
        found = [quantile(times, observed, q) for q in quantiles]
        group_of: dict[str, Any] = dict(zip(by, key, strict=True))
        rows.append(
            {
                **group_of,
                "runs": len(times),
                "reached": int(observed.sum()),
                "failed": int(failed.sum()),
                "censored": 1.0 - float(observed.mean()),
                "expected": expected_running_time(used, observed),
                **dict(zip(names, found, strict=True)),
            }
        )
    return pd.DataFrame(rows)


def run_time_distribution(
    frame: pd.DataFrame,
    cost: str = "passes_to_radius",
    budget: str = "passes",
    by: str | Sequence[str] = ("algorithm",),
) -> pd.DataFrame:
    """The share of all runs, censored and failed ones included, that arrived by cost t.

    Returns
    -------
    Columns of `by`, `cost` and `share`, to be drawn as steps: each group begins at cost 0, has one row
    per cost at which runs arrive, and ends at the most that one of its runs spent. A share that ends
    below 1 says how many did not arrive.
    """
    by = [by] if isinstance(by, str) else list(by)
    checks.frame(frame, "frame", *by, cost, budget)
    parts = []
    for key, group in frame.groupby(by, sort=True, observed=True, dropna=False):
        _, observed, used, _ = counts(group, cost, budget)
        arrived = np.sort(used[observed])
        where = np.unique(np.concatenate([[0.0], arrived, [np.max(used)]]))
        share = np.searchsorted(arrived, where, side="right") / len(used)
        group_of: dict[str, Any] = dict(zip(by, key, strict=True))
        parts.append(pd.DataFrame({**group_of, "cost": where, "share": share}))
    return pd.concat(parts, ignore_index=True)


def _checked(times: npt.ArrayLike, observed: npt.ArrayLike) -> tuple[Floats, Truths]:
    values = np.asarray(times, dtype=np.float64)
    arrived = np.asarray(observed)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"times must hold one number per run, got shape {values.shape}")
    if not np.all(values >= 0.0):
        raise ValueError("times must be >= 0; NaN does not stand for a censored run")
    if arrived.shape != values.shape or arrived.dtype != np.bool_:
        raise ValueError(f"observed must hold {len(values)} booleans, one per time")
    if np.any(np.isinf(values[arrived])):
        raise ValueError("times must be finite where observed")
    return values, arrived
