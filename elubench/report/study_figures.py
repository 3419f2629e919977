"""What any study shows against n, a curve for each algorithm: counts to the radius, cost, errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.algorithms.base import Look
from elubench.rates import censoring
from elubench.report.captions import about, sentence
from elubench.report.errors import root_mean_square
from elubench.report.style import in_order, legend_below, look_of, new_figure, power_ticks, styled

#: For the second, third, ... curve of one look: other options, another start, another unknown class.
_MORE = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "v"), ("#56b4e9", "P"))


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a column ``curve``: the algorithm, its options and its start where they differ."""
    curve = rows["algorithm"].str.rpartition(":")[2]
    if curve.nunique() < rows["algorithm"].nunique():  # two modules have a class of one name
        curve = rows["algorithm"]
    several = rows.groupby(["model", "d", "algorithm"])["options"].transform("nunique") > 1
    several = several.groupby(rows["algorithm"]).transform("any")
    curve = curve.where(~several, curve + " " + rows["options"].map(_options))
    if rows["start"].nunique() > 1:
        curve = curve + ", " + rows["start"]
    return rows.assign(curve=curve)


def _options(text: str) -> str:
    given = json.loads(text)
    return ", ".join(f"{key} {value}" for key, value in given.items() if key != "name")


def looks(rows: pd.DataFrame) -> dict[str, Look]:
    """How each curve of labelled rows is drawn, in the order of the legend."""
    names = rows.drop_duplicates("curve").set_index("curve")["algorithm"]
    found: dict[str, Look] = {}
    for algorithm in in_order(names):
        for curve in sorted(names.index[names == algorithm]):
            look, used = look_of(algorithm), len(found)
            if look in found.values():
                colour, marker = _MORE[used % len(_MORE)]
                look = look._replace(colour=colour, marker=marker)
            found[curve] = look
    return found


@styled
def against_n(rows: pd.DataFrame, columns: Sequence[str]) -> Figure:
    """A panel for each column of results: rows of one model and d, a curve for each algorithm.

    Of what it took to the radius medians by Kaplan-Meier, bars from quartile to quartile, hollow
    markers where runs are censored, an arrow where too many are for a median; of errors root mean
    squares over replicates.
    """
    rows = labelled(rows)
    kinds = looks(rows)
    figure, panels = new_figure(len(columns), height=3.2)
    for axes, column in zip(panels, columns, strict=True):
        for curve, look in reversed(kinds.items()):
            part = rows[rows["curve"] == curve]
            (_counts if column.endswith("_to_radius") else _errors)(axes, part, column, look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(words_of(column))
        axes.set_xlabel("sample size n")
        power_ticks(axes, "x")
        power_ticks(axes, "y")
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.dash, label=curve)
        for curve, look in kinds.items()
    ]
    longest = max(map(len, kinds))
    legend_below(figure, handles, columns=max(1, 120 // (longest + 9)))
    return figure


def _counts(axes: Axes, rows: pd.DataFrame, column: str, look: Look) -> None:
    spent = column.removesuffix("_to_radius")
    table = censoring.running_times(rows, column, spent, by="n", quantiles=(0.25, 0.5, 0.75))
    table["spent"] = rows.groupby("n")[spent].max().reindex(table["n"]).to_numpy(dtype=float)
    known = table[np.isfinite(table["median"]) & (table["median"] > 0)]
    axes.plot(known["n"], known["median"], color=look.colour, linestyle=look.dash, lw=look.width)
    high = np.where(np.isfinite(known["q75"]), known["q75"], known["spent"])
    axes.vlines(known["n"], known["q25"], high, color=look.colour, linewidth=1.0, alpha=0.6)
    style: dict[str, Any] = {"color": look.colour, "linestyle": ""}
    for whole, face in ((True, look.colour), (False, "white")):
        some = known[(known["censored"] == 0.0) == whole]
        axes.plot(some["n"], some["median"], marker=look.marker, markerfacecolor=face, **style)
    lost = table[~np.isfinite(table["median"]) & (table["spent"] > 0)]
    axes.plot(lost["n"], lost["spent"], marker=r"$\uparrow$", markersize=7.0, **style)


def _errors(axes: Axes, rows: pd.DataFrame, column: str, look: Look) -> None:
    found = root_mean_square(rows, column)
    axes.plot(
        found.index, found, color=look.colour, marker=look.marker, ls=look.dash, lw=look.width
    )


def against_n_words(rows: pd.DataFrame, columns: Sequence[str]) -> str:
    """The caption of :func:`against_n`."""
    counts = [column for column in columns if column.endswith("_to_radius")]
    lost = int((~rows["reached"]).sum())
    of_counts = "Medians over samples by Kaplan-Meier, bars from quartile to quartile"
    hollow = (
        f"; {lost:,} of {len(rows):,} runs are censored: hollow markers, or an arrow at the budget "
        "where too many are for a median"
    )
    return sentence(
        of_counts + (hollow if lost else "; no run is censored") if counts else "",
        "Root mean squares over samples" if len(counts) < len(columns) else "",
        about(rows, radius=bool(counts)),
    )


def words_of(column: str) -> str:
    """A column of results in words."""
    if column.startswith("cost"):
        return "cost to the radius, in plain passes"
    return column.replace("_to_radius", " to the radius").replace("_", " ")
