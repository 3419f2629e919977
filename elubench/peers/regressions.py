"""What asv's results show as slower, by how much and since when; and all of them for other tools."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from elubench import checks
from elubench.peers.asv import COLUMNS
from elubench.peers.printed import ratio, seconds

_KEYS = ["date", "commit", "machine", "environment"]
#: What names a benchmark with its parameters on a machine.
SERIES = ["machine", "environment", "benchmark", "parameters", "unit"]


def regressions(results: pd.DataFrame, threshold: float = 0.05) -> pd.DataFrame:
    """Every benchmark whose last values are above earlier ones, by asv's own detection of steps.

    Parameters
    ----------
    results : of :func:`asv_results`.
    threshold : smallest relative increase, > 0; asv's web pages show those above 0.05.

    Returns
    -------
    A DataFrame with the largest ``factor`` first: ``latest`` over ``best``, the lowest level before. The
    last increase was between the commits ``last_good`` and ``since``, the latter of ``date``.
    """
    checks.real(threshold, "threshold", above=0.0)
    try:
        from asv.step_detect import detect_regressions, detect_steps
    except ModuleNotFoundError:
        raise ModuleNotFoundError("regressions need asv: pip install 'elubench[bench]'") from None
    found = []
    for names, rows in series(results):
        latest, best, steps = detect_regressions(detect_steps(list(rows["value"])), threshold)
        if steps:
            good, bad = (rows.iloc[place] for place in steps[-1][:2])
            found.append(
                {
                    **names,
                    "best": best,
                    "latest": latest,
                    "factor": latest / best if best > 0.0 else math.inf,
                    "last_good": good["commit"],
                    "since": bad["commit"],
                    "date": bad["date"],
                }
            )
    columns = [*SERIES, "best", "latest", "factor", "last_good", "since", "date"]
    return pd.DataFrame(found, columns=columns).sort_values(
        "factor", ascending=False, kind="stable"
    )


def by_commit(results: pd.DataFrame) -> pd.DataFrame:
    """One row per machine, environment and commit, one column per benchmark and its parameters.

    This is what tools that look for change points read: a column ``time``, and one per metric. Of a
    benchmark that has changed since, the values of its last version are there.
    """
    parts = []
    for names, rows in series(results):
        metric = names["benchmark"] + names["parameters"]
        parts.append(rows.assign(metric=metric)[[*_KEYS, "metric", "value"]])
    if not parts:
        return pd.DataFrame(columns=["time", *_KEYS[1:]])
    long = pd.concat(parts).rename(columns={"date": "time"})
    keys = ["time", *_KEYS[1:]]
    wide = long.pivot_table("value", keys, "metric", sort=True).reset_index()
    return wide.rename_axis(columns=None).sort_values("time", kind="stable")


def as_text(found: pd.DataFrame) -> str:
    """A line per regression."""
    if found.empty:
        return "nothing is slower than it was"
    lines = []
    for row in found.to_dict("records"):
        best, latest = (shown(row[name], row["unit"]) for name in ("best", "latest"))
        what = f"{row['benchmark']}{row['parameters']}"
        lines.append(
            f"{row['factor']:.2f} times: {best} -> {latest}, since "
            f"{row['since'][:8]} of {row['date']:%Y-%m-%d} (good: {row['last_good'][:8]})  {what}"
        )
    return "\n".join(lines)


def shown(value: float, unit: str) -> str:
    """A value of a benchmark in three digits, with its unit."""
    return seconds(value) if unit == "seconds" else f"{ratio(value)} {unit}".rstrip()


def series(results: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """What names a series, and its values in the order of commits, of the last version alone."""
    good = results[results["status"] == "ok"]
    options = [column for column in results if column not in COLUMNS]
    texts = []
    for row in good[options].to_dict("records"):
        given = [f"{value}" for value in row.values() if not pd.isna(value)]
        texts.append(f"({', '.join(given)})" if given else "")
    named = good.assign(parameters=texts, unit=good["unit"].fillna(""))
    for key, rows in named.groupby(SERIES, sort=True, dropna=False):
        ordered = rows.sort_values("date", kind="stable")
        last = ordered["version"].iloc[-1]
        yield dict(zip(SERIES, key, strict=True)), ordered[ordered["version"] == last]
