"""For writing claims: from rows of runs to measurements with intervals, and sentences about the rows.

The values that agree with a claim are fixed with it, before anything is measured. The usual margins:
exponents of errors within a fifth of the stated one, of iterations within a tenth (they are measured
more precisely), exponents at infinite n within a hundredth.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.verification.evidence import Evidence
from elubench.verification.verdicts import Measurement

LEVEL = 0.95  # of every interval
ERRORS, ITERATIONS, EXACT = 0.2, 0.1, 0.01  # relative half-widths of what agrees
INF = math.inf


class Measured(NamedTuple):
    """What a claim's function returns."""

    measurements: tuple[Measurement, ...]
    settings: str
    remarks: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


class NoEvidence(Exception):
    """The evidence has nothing on a claim."""


def around(value: float, share: float) -> tuple[float, float]:
    """The region within a share of a value."""
    return value - share * abs(value), value + share * abs(value)


def exact(
    quantity: str,
    value: float,
    accepted: tuple[float, float],
    theory: float = math.nan,
    note: str = "",
) -> Measurement:
    """A value that is known exactly."""
    return Measurement(quantity, value, value, value, theory, accepted, note)


def rows_of(evidence: Evidence, **conditions: Any) -> pd.DataFrame:
    """Rows of the evidence, or the reason why there are none."""
    rows = evidence.rows(**conditions)
    if rows.empty:
        asked = ", ".join(f"{key} {value}" for key, value in conditions.items())
        raise NoEvidence(f"There are no runs with {asked} at the level {evidence.level}.")
    return rows


def table_of(evidence: Evidence, name: str) -> pd.DataFrame:
    """A table of the probes, or the reason why there is none."""
    if name not in evidence.tables:
        raise NoEvidence(f"The table '{name}' has not been made yet.")
    return evidence.tables[name]


def settings_of(rows: pd.DataFrame) -> str:
    """Which runs these are, in a line."""
    sizes = sorted(rows["n"].unique())
    n = f"n from {sizes[0]:.0e} to {sizes[-1]:.0e}"
    if len(sizes) == 1:
        n = f"n = {sizes[0]:.0e}" if float(f"{sizes[0]:.0e}") == sizes[0] else f"n = {sizes[0]:,}"
    counts = rows.groupby(["n", "d", "start", "algorithm", "options"]).size()
    pairs = sorted(set(zip(rows["algorithm"], rows["options"], strict=True)))
    options = [_named(str(name), str(given)) for name, given in pairs]
    held = rows["validation"].dropna().unique()
    parts = [
        f"{'/'.join(rows['model'].unique())} model, d = {_listed(rows['d'])}, "
        f"{n.replace('e+', 'e')} ({len(sizes)} size{'s' if len(sizes) > 1 else ''})",
        f"{int(counts.min())} {rows['samples'].iloc[0]} samples each",
        f"start {'/'.join(rows['start'].unique())}, norm {_listed(rows['start_norm'])}",
        ", ".join(options),
        f"radius constant {_listed(rows['radius_constant'])}",
        f"{held[0]:.0%} held out" if len(held) else "nothing held out",
        f"study {rows['study'].iloc[0]} with the study's own seed {_listed(rows['seed'])}",
    ]
    return "; ".join(parts)


def _listed(column: pd.Series[Any]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(column.unique()))


def _named(algorithm: str, options: str) -> str:
    given = numbers_in(options)
    said = ", ".join(f"{key} {given[key]:g}" for key in ("eta", "beta") if key in given)
    return f"{algorithm} ({said})" if said else algorithm


def exponent_of(
    rows: pd.DataFrame,
    value: str,
    expected: float,
    share: float = ERRORS,
    by: str = "n",
    statistic: str | float = "rmse",
    name: str | None = None,
) -> Measurement:
    """The exponent of ``by`` in an error over replicates."""
    fit = rates.exponent(rows, value=value, by=by, statistic=statistic, level=LEVEL)
    what = {"location_error": "location error", "scale_error": "scale error"}.get(value, value)
    said = {"rmse": "root mean square", "mean": "mean"}
    note = f"{said.get(str(statistic), f'{statistic} quantile')} over replicates"
    if fit.moving:
        note += f"; the local slope still changes with {by}"
    quantity = name or f"exponent of {by}, {what}"
    return Measurement(quantity, *fit.interval, expected, around(expected, share), note)


def share_of(quantity: str, count: int, of: int, accepted: tuple[float, float]) -> Measurement:
    """A share with Wilson's interval."""
    note = f"{count} of {of}"
    return Measurement(quantity, *rates.share(count, of, LEVEL), math.nan, accepted, note)


def ratio_of_rms(
    quantity: str,
    over: pd.Series[float],
    under: pd.Series[float],
    accepted: tuple[float, float],
    note: str = "",
) -> Measurement:
    """A ratio of two root mean squares over the same samples, with a bootstrap interval."""
    pairs = np.square([over.to_numpy(float), under.to_numpy(float)])
    pairs = pairs[:, np.lexsort(pairs)]  # so that the interval does not depend on the rows' order
    found = rates.bootstrap(
        lambda a, b: np.sqrt(a.mean(axis=-1) / b.mean(axis=-1)), *pairs, level=LEVEL
    )
    return Measurement(quantity, *found, math.nan, accepted, note)


def contest(found: rates.Growth, law: str) -> Measurement:
    """How much better the stated law predicts the largest n than the other one: a ratio below 1."""
    other = {"logarithm": "power", "power": "logarithm"}[law]
    table = found.contest
    row = table[(table["law"] == "logarithm") & (table["other"] == "power")].iloc[0]
    logs = (row["ratio"], row["low"], row["high"])
    if law == "power":
        logs = (-row["ratio"], -row["high"], -row["low"])
    value, low, high = (float(10.0**one) for one in logs)
    quantity = f"error of the {law} law at the largest n, over that of the {other} law"
    note = "each fitted without the two largest n"
    return Measurement(quantity, value, low, high, math.nan, (0.0, 1.0), note)


def censored(rows: pd.DataFrame) -> str:
    """How many runs are censored, as a sentence."""
    count = int((~rows["reached"]).sum())
    if not count:
        return f"None of the {len(rows):,} runs is censored."
    return (
        f"{count:,} of {len(rows):,} runs {'is' if count == 1 else 'are'} censored (never within the "
        "radius) and counted as longer than the budget."
    )
