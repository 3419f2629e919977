"""Intervals for claims: of a share, and of any statistic by a bootstrap over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elubench import checks
from elubench.rates.resampling import Resampling


class Interval(NamedTuple):
    """A value and the ends of its interval."""

    value: float
    low: float
    high: float


def share(count: int, of: int, level: float = 0.95) -> Interval:
    """The share `count / of` with Wilson's interval."""
    from scipy.stats import binomtest  # slow to import

    of = checks.integer(of, "of", 1)
    count = checks.integer(count, "count", 0, of)
    level = checks.real(level, "level", 0.0, 1.0)
    low, high = binomtest(count, of).proportion_ci(level, method="wilson")
    return Interval(count / of, float(low), float(high))


def bootstrap(
    statistic: Callable[..., Any],
    *columns: npt.ArrayLike,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """A statistic of rows with its bootstrap interval.

    Parameters
    ----------
    statistic : takes the columns, each (..., rows), and reduces their last axis. A ratio whose
        denominator is 0 may be infinite.
    columns : one array per argument of the statistic, all of one length. Rows are drawn whole. Their
        order decides which are drawn together: sort them first if theirs is arbitrary.
    level, resamples, seed : of the interval.
    """
    arrays = [np.asarray(column) for column in columns]
    how, rows = Resampling(level, resamples, seed), arrays[0].size
    if not rows or any(array.shape != (rows,) for array in arrays):
        raise ValueError(f"columns must have one length, got {[array.shape for array in arrays]}")
    draws = max(1, rows - 1)  # see `resampling`
    picks = np.random.default_rng(how.seed).integers(0, rows, (how.resamples, draws))
    with np.errstate(divide="ignore"):
        value = float(statistic(*arrays))
        drawn = np.sort(statistic(*(array[picks] for array in arrays)))
    place = max(1, int(how.tails[0] * (how.resamples + 1)))  # no arithmetic, so inf is inf
    return Interval(value, float(drawn[place - 1]), float(drawn[-place]))
