"""Tables of the report that compare the rivals: passes and cost to the radius, distances to the MLE."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from elubench.papers.beyond_em.rows import DIMENSIONS, to_radius, validated
from elubench.plot.radius import race_table
from elubench.plot.style import in_order, size
from elubench.report.captions import about, sentence
from elubench.report.html import PageTable
from elubench.verification.evidence import Evidence

_NONE = "–"  # noqa: RUF001
#: What a plain pass is, and how the others compare with it.
PLAIN = (
    "one that brings EM's step from one point. Loss, curvature and further points cost more, moments "
    "alone less at small d; how much was measured on the machine that made the rows"
)


def rival_tables(evidence: Evidence) -> list[PageTable]:
    """Passes and cost to the radius by algorithm and n for each d, then distances to the MLE."""
    tables = []
    for d in DIMENSIONS:
        rows = to_radius(evidence, d)
        if not rows.empty:
            tables += [passes(rows), cost(rows)]
    for d in DIMENSIONS:
        rows = validated(evidence, d)
        if rows["mle_distance"].notna().any():
            tables.append(distances(rows))
    return tables


def passes(rows: pd.DataFrame) -> PageTable:
    """Median passes to the radius by Kaplan-Meier, with the censored share where there is one."""
    d = rows["d"].iloc[0]
    return PageTable(
        f"Passes to the radius at d = {d}",
        sentence(
            f"Median passes over the data to the radius at d = {d}, by Kaplan-Meier; in brackets the "
            "share of censored runs, where there are any",
            about(rows),
        ),
        *_by_size(race_table(rows), _median),
    )


def cost(rows: pd.DataFrame) -> PageTable:
    """The same for the cost of these passes."""
    d = rows["d"].iloc[0]
    return PageTable(
        f"Cost to the radius at d = {d}",
        sentence(
            f"Median cost of the passes to the radius at d = {d}, by Kaplan-Meier, in units of a plain "
            f"pass; {PLAIN}. In brackets the share of censored runs, where there are any",
            about(rows),
        ),
        *_by_size(race_table(rows, "cost"), _median),
    )


def _median(found: pd.Series[float]) -> str:
    """The median in a row of :func:`race_table`, and the share of censored runs."""
    lost, median = float(found["censored"]), float(found["median"])
    if math.isfinite(median):
        text = f"{median:,.0f}" if median == round(median) else f"{median:,.1f}"
    else:
        text = _NONE if math.isnan(found["spent"]) else f"> {found['spent']:,.0f}"
    return f"{text} ({lost:.0%})" if lost else text


def distances(rows: pd.DataFrame) -> PageTable:
    """Median distance to the sample's own MLE of the kept and of the last iterate."""
    d = rows["d"].iloc[0]
    unit = rows["radius"].astype(float) / rows["radius_constant"].astype(float)
    table = (
        rows.assign(kept=rows["mle_distance"] / unit, last=rows["last_mle_distance"] / unit)
        .groupby(["algorithm", "n"], as_index=False)[["kept", "last"]]
        .median()
    )

    def cell(found: pd.Series[float]) -> str:
        pair = (float(found["kept"]), float(found["last"]))
        return _NONE if any(map(math.isnan, pair)) else "{:.2f} / {:.2f}".format(*pair)

    return PageTable(
        f"Distance to the MLE at d = {d}",
        sentence(
            f"Distance to the sample's own maximum-likelihood fit at d = {d} in units of the "
            "statistical radius (constant 1): medians for the iterate that validation keeps / for "
            "the last one",
            about(rows, radius=False),
        ),
        *_by_size(table, cell),
    )


def _by_size(
    table: pd.DataFrame, cell: Callable[[pd.Series[float]], str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Columns and rows: one row per algorithm, one column per size."""
    sizes = sorted(table["n"].unique())
    at = {(row["algorithm"], row["n"]): cell(row) for _, row in table.iterrows()}
    rows = [
        (name, *(at.get((name, n), _NONE) for n in sizes)) for name in in_order(table["algorithm"])
    ]
    return ("algorithm", *(f"n = {size(n)}" for n in sizes)), tuple(rows)
