"""Control variates: what a column of each run's sample explains of its outcome, taken away.

At n, run r has a response u_r and controls z_r, columns multiplied by sqrt(n). With a_n a constant of
each n and coefficients c common to all n,

    u_r = a_n + c_1 z_r + c_2 z_r^2 + rest

is fitted by least squares within each n. The part of `c_1 z_r + c_2 z_r^2` that exceeds its mean over
all runs, the *shift*, is then taken away from every response.

**What is assumed** is that the controls have the same law at every n. Then the shifts have the
same mean at every n, and no slope in ln n moves, whatever c is: a poor fit narrows an interval
less, but does not move it. Nor does it matter that c is estimated, except that p coefficients
make the rest look smaller by p degrees of freedom, which `inflation` makes up for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.rates.censoring import Truths
from elubench.rates.resampling import TooLittle

_LEAST_PER_COEFFICIENT = 5  # runs, beyond one for each n


class Controlled(NamedTuple):
    """What controls explain.

    `shift`: of the response of each run, mean 0 over those fitted. `table`: rows `control`,
    `power`, `coefficient`, per standard deviation of the control. `explained`: the share of the variance
    within each n. `inflation`: of intervals, for the degrees of freedom.
    """

    shift: Floats
    table: pd.DataFrame
    explained: float
    inflation: float


def scaled_controls(frame: pd.DataFrame, names: Sequence[str], by: str, used: Truths) -> Floats:
    """The columns (runs, controls) times sqrt(by), standardised over the runs in use, 0 elsewhere."""
    columns = np.zeros((len(frame), len(names)))
    for place, name in enumerate(names):
        given = frame[name].to_numpy(dtype=float, na_value=np.nan)[used]
        if not np.all(np.isfinite(given)):
            raise ValueError(f"frame[{name!r}] must be finite for every run with an outcome")
        values = given * np.sqrt(frame[by].to_numpy(dtype=float)[used])
        spread = float(np.std(values))
        if not spread > 1e-12 * float(np.max(np.abs(values))):
            raise ValueError(f"frame[{name!r}] must differ between runs")
        columns[used, place] = (values - np.mean(values)) / spread
    return columns


def controlled(
    response: Floats, columns: Floats, groups: Floats, fitted: Truths, names: Sequence[str]
) -> Controlled:
    """Fit the responses of the runs `fitted` by the controls and their squares, within each group."""
    if not names:
        nothing = pd.DataFrame({"control": [], "power": [], "coefficient": []})
        return Controlled(np.zeros(len(groups)), nothing, 0.0, 1.0)
    design = np.concatenate([columns, columns**2], axis=1)
    _, place = np.unique(groups[fitted], return_inverse=True)
    runs, count = np.count_nonzero(fitted), design.shape[1]
    free = runs - (int(np.max(place, initial=-1)) + 1)
    if free < _LEAST_PER_COEFFICIENT * count:
        raise TooLittle(
            f"{len(names)} controls need {_LEAST_PER_COEFFICIENT * count} runs beyond one for each "
            f"n, got {free}"
        )
    inside, y = _within(design[fitted], place), _within(response[fitted][:, None], place)[:, 0]
    found = np.linalg.lstsq(inside, y, rcond=None)[0]
    shift = (design - np.mean(design[fitted], axis=0)) @ found
    total = float(y @ y)
    rest = float(np.sum((y - inside @ found) ** 2))
    table = pd.DataFrame(
        {
            "control": 2 * list(names),
            "power": [1] * len(names) + [2] * len(names),
            "coefficient": found,
        }
    )
    explained = 1.0 - rest / total if total > 0.0 else 0.0
    return Controlled(shift, table, explained, math.sqrt(free / (free - count)))


def checked_names(controls: Sequence[str], frame: pd.DataFrame) -> tuple[str, ...]:
    """The names of the controls, each a column of the frame."""
    if isinstance(controls, str):
        raise TypeError(f"controls must be a list of columns, got {checks.brief(controls)}")
    names = tuple(controls)
    checks.frame(frame, "frame", *names)
    if len(set(names)) < len(names):
        raise ValueError(f"controls must differ, got {names!r}")
    return names


def _within(values: Floats, place: Any) -> Floats:
    """The rows less the mean of their group."""
    sums = np.zeros((int(np.max(place)) + 1, values.shape[1]))
    np.add.at(sums, place, values)
    return np.asarray(values - (sums / np.bincount(place)[:, None])[place])
