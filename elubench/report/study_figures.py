"""What any study shows against n, a curve for each algorithm: counts to the radius, cost, errors."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.algorithms.base import Look
from elubench.plot.against_n import statistic_of
from elubench.plot.hues import MORE
from elubench.plot.radius import draw_medians, race_table
from elubench.plot.style import in_order, legend_below, line, log_axes, look_of, new_figure, styled
from elubench.report.captions import about, sentence


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
                colour, marker = MORE[used % len(MORE)]
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
        if column.endswith("_to_radius"):
            table = race_table(rows, column.removesuffix("_to_radius"), "curve")
            draw_medians(axes, table, kinds, "curve")
        else:
            for curve, look in reversed(kinds.items()):
                found = statistic_of(rows[rows["curve"] == curve], column)
                axes.plot(found.index, found, marker=look.marker, **line(look))
        log_axes(axes)
        axes.set_title(words_of(column))
        axes.set_xlabel("sample size n")
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.dash, label=curve)
        for curve, look in kinds.items()
    ]
    longest = max(map(len, kinds))
    legend_below(figure, handles, columns=max(1, 120 // (longest + 9)))
    return figure


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
