"""For writing claims: from rows of runs to measurements with intervals, and sentences about the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, at_most, below
from elubench.verification.verdicts import LEVEL, Measurement

_STATISTICS = {"rmse": "root mean square", "mean": "mean", "median": "median"}
_CONTROLS = {
    "sample_kurtosis": "sample's excess kurtosis",
    "sample_gap": "gap of the sample's eigenvalues",
    "sample_trace": "trace of the sample's second moments",
    "held_kurtosis": "excess kurtosis of what is held out",
    "held_gap": "gap of the eigenvalues of what is held out",
}


class Measured(NamedTuple):
    """What a claim's function returns."""

    measurements: tuple[Measurement, ...]
    settings: str
    remarks: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


class NoEvidence(Exception):
    """The evidence has nothing on a claim."""


def exactly(expected: Expectation, value: float, note: str = "", where: str = "") -> Measurement:
    """A value that is known exactly: no other sample would change it."""
    return Measurement(expected, value, value, value, note, where, exact=True)


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
    counts = rows.groupby(["model", "n", "d", "start", "algorithm", "options"]).size()
    pairs = sorted(set(zip(rows["algorithm"], rows["options"], strict=True)))
    options = [_named(str(name), str(given)) for name, given in pairs]
    held = rows["validation"].dropna().unique()
    parts = [
        f"{'/'.join(rows['model'].unique())} model, d = {listed(rows['d'])}, "
        f"{n.replace('e+', 'e')} ({len(sizes)} size{'s' if len(sizes) > 1 else ''})",
        f"{int(counts.min())} {rows['samples'].iloc[0]} samples each",
        f"start {'/'.join(rows['start'].unique())}, norm {listed(rows['start_norm'])}",
        ", ".join(options),
        f"radius constant {listed(rows['radius_constant'])}",
        f"{held[0]:.0%} held out" if len(held) else "nothing held out",
        f"study {rows['study'].iloc[0]} with the study's own seed {listed(rows['seed'])}",
    ]
    return "; ".join(parts)


def listed(column: pd.Series[Any]) -> str:
    """The different numbers of a column, in order."""
    return ", ".join(f"{value:g}" for value in sorted(column.unique()))


def _named(algorithm: str, options: str) -> str:
    given = numbers_in(options)
    said = ", ".join(f"{key} {given[key]:g}" for key in ("eta", "beta") if key in given)
    return f"{algorithm} ({said})" if said else algorithm


def exponent_of(
    expected: Expectation,
    rows: pd.DataFrame,
    value: str,
    by: str = "n",
    statistic: str | float = "rmse",
    where: str = "",
) -> Measurement:
    """The exponent of ``by`` in an error over replicates."""
    fit = rates.exponent(rows, value=value, by=by, statistic=statistic, level=LEVEL)
    note = f"{_STATISTICS.get(str(statistic), f'{statistic} quantile')} over replicates"
    if fit.moving:
        note += f"; the local slope still changes with {by}"
    return Measurement(expected, *fit.interval, note, where)


def corrected_of(
    expected: Expectation,
    rows: pd.DataFrame,
    value: str,
    statistic: str | float = "rmse",
    where: str = "",
    **corrections: Any,
) -> Measurement:
    """The exponent of n with corrections to scaling, as for :func:`elubench.rates.corrected`."""
    fit = rates.corrected(rows, value=value, statistic=statistic, level=LEVEL, **corrections)
    by = [
        "theory at finite n" if corrections.get("predicted") else "",
        *(f"a term {term}" for term in fit.terms["term"]),
        *(f"the {_CONTROLS.get(name, name)}" for name in fit.controls["control"].unique()),
    ]
    note = (
        f"{_STATISTICS.get(str(statistic), f'{statistic} quantile')} over replicates, corrected by "
    )
    note += " and ".join(one for one in by if one)
    if fit.moving:
        note += "; the local slope still changes with n"
    return Measurement(expected, *fit.interval, note, where, plain=fit.plain)


def share_of(expected: Expectation, count: int, of: int, where: str = "") -> Measurement:
    """A share with Wilson's interval."""
    return Measurement(expected, *rates.share(count, of, LEVEL), f"{count} of {of}", where)


def ratio_of_rms(
    expected: Expectation,
    over: pd.Series[float],
    under: pd.Series[float],
    note: str = "",
    where: str = "",
) -> Measurement:
    """A ratio of two root mean squares over the same samples, with a bootstrap interval."""
    pairs = np.square([over.to_numpy(float), under.to_numpy(float)])
    pairs = pairs[:, np.lexsort(pairs)]  # so that the interval does not depend on the rows' order
    found = rates.bootstrap(
        lambda a, b: np.sqrt(a.mean(axis=-1) / b.mean(axis=-1)), *pairs, level=LEVEL
    )
    return Measurement(expected, *found, note, where)


def predicts_better(law: str) -> Expectation:
    """That a law of growth predicts the largest n better than the other one."""
    other = {"logarithm": "power", "power": "logarithm"}[law]
    what = f"error of the {law} law at the largest n, over that of the {other} law"
    return at_most(what, 1.0)


def contest(expected: Expectation, found: rates.Growth, law: str, where: str = "") -> Measurement:
    """How much better the stated law predicts the largest n than the other one: a ratio below 1."""
    table = found.contest
    row = table[(table["law"] == "logarithm") & (table["other"] == "power")].iloc[0]
    logs = (row["ratio"], row["low"], row["high"])
    if law == "power":
        logs = (-row["ratio"], -row["high"], -row["low"])
    value, low, high = (float(10.0**one) for one in logs)
    return Measurement(expected, value, low, high, "each fitted without the two largest n", where)


#: That counts grow at most like ln n.
LOG_POWER = below("p in iterations a + b (ln n)^p", 1.0, {"(ln n)^2": 2.0})


def log_power(found: rates.Growth, where: str = "") -> Measurement:
    """The power of ln n with which counts grow."""
    return Measurement(LOG_POWER, *found.log_power, "fitted to all n", where)


def censored(rows: pd.DataFrame) -> str:
    """How many runs are censored, as a sentence."""
    count = int((~rows["reached"]).sum())
    if not count:
        return f"None of the {len(rows):,} runs is censored."
    return (
        f"{count:,} of {len(rows):,} runs {'is' if count == 1 else 'are'} censored (never within the "
        "radius) and counted as longer than the budget."
    )
