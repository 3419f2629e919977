"""Who reaches the statistical radius, and at what cost: against n, and as shares of runs by cost.

A run that does not come within the radius is censored and stays in every count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elubench.rates import censoring
from elubench.report.laws import law_of
from elubench.report.style import (
    THEORY,
    fraction,
    handle,
    in_order,
    label_ends,
    legend_below,
    look_of,
    new_figure,
    power_ticks,
    size,
    slope_line,
    styled,
)

_QUARTILES = (0.25, 0.5, 0.75)
_PANELS = 3  # sizes n for which distributions are drawn
#: What it takes to the radius, by the column that says what a run spent.
_LABELS = {"passes": "passes over the data", "cost": "cost, in plain passes"}


def passes_figure(rows: pd.DataFrame) -> Figure:
    """Passes to the radius against n, a row of panels for each d: all algorithms, and all but EM.

    Medians by Kaplan-Meier, bars from quartile to quartile, hollow markers where runs are censored; an
    arrow at the passes spent where too many are censored for a median.
    """
    return _figure(rows, "passes")


def cost_figure(rows: pd.DataFrame) -> Figure:
    """The same in units of a plain pass."""
    return _figure(rows, "cost")


def priced(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, or none where some were written by a version that knew no costs."""
    known = "cost" in rows and rows["cost"].notna().equals(rows["passes"].notna())
    return rows if known else rows[:0]


@styled
def _figure(rows: pd.DataFrame, spent: str) -> Figure:
    dimensions = sorted(rows["d"].unique())
    figure, panels = new_figure(2, len(dimensions), height=3.4, width_ratios=(1.0, 1.15))
    for number, d in enumerate(dimensions):
        left, right = panels[2 * number : 2 * number + 2]
        draw_race(left, right, rows[rows["d"] == d], spent)
    for axes in panels[-2:]:
        axes.set_xlabel("sample size n")
    return figure


def draw_race(left: Axes, right: Axes, rows: pd.DataFrame, spent: str = "passes") -> None:
    """Passes or cost to the radius at one d: on logarithmic axes, and without EM on a linear scale."""
    d = int(rows["d"].iloc[0])
    table = race_table(rows, spent)
    every = _draw_medians(left, table, ())
    others = _draw_medians(right, table, ("EM",))
    for axes in (left, right):
        axes.set_xscale("log")
    left.set_yscale("log")
    left.set_ylabel(_LABELS[spent])
    left.set_title(f"d = {d}: {spent} to the radius")
    right.set_title(f"d = {d}: without EM, linear scale")
    _em_slope(left, table, law_of(rows, "EM")[1])
    _elu_slope(right, table, law_of(rows, "ELU")[1])
    right.set_ylim(0.0, None)
    label_ends(left, [end for end in every if end[0] in ("EM", "ELU")], room=0.16)
    label_ends(right, others, room=0.33)
    for axes in (left, right):
        power_ticks(axes, "x", upto=float(table["n"].max()))
    power_ticks(left, "y")


def race_table(rows: pd.DataFrame, spent: str = "passes") -> pd.DataFrame:
    """By algorithm and n: runs, censored share, quartiles by Kaplan-Meier, and the most spent.

    ``spent`` is "passes", or "cost" for their cost in units of a plain pass.
    """
    table = censoring.running_times(
        rows, f"{spent}_to_radius", spent, by=("algorithm", "n"), quantiles=_QUARTILES
    )
    most = rows.groupby(["algorithm", "n"], as_index=False).agg(spent=(spent, "max"))
    return table.merge(most, on=["algorithm", "n"], how="left")


def _draw_medians(
    axes: Axes, table: pd.DataFrame, skip: Sequence[str]
) -> list[tuple[str, float, float]]:
    """Curves of all algorithms but those to skip; the name and last point of each."""
    ends = []
    for name in reversed(in_order(table["algorithm"])):
        if name in skip:
            continue
        kind = look_of(name)
        part = table[table["algorithm"] == name].sort_values("n")
        known = part[np.isfinite(part["median"]) & (part["median"] > 0)]
        axes.plot(
            known["n"], known["median"], color=kind.colour, linestyle=kind.dash, lw=kind.width
        )
        high = np.where(np.isfinite(known["q75"]), known["q75"], known["spent"].astype(float))
        axes.vlines(known["n"], known["q25"], high, color=kind.colour, linewidth=1.0, alpha=0.6)
        for whole, face in ((True, kind.colour), (False, "white")):
            some = known[(known["censored"] == 0.0) == whole]
            axes.plot(
                some["n"],
                some["median"],
                kind.marker,
                color=kind.colour,
                markerfacecolor=face,
                zorder=3.0,
            )
        lost = part[~np.isfinite(part["median"]) & (part["spent"].fillna(0.0) > 0)]
        axes.plot(lost["n"], lost["spent"], marker=r"$\uparrow$", color=kind.colour, ls="", ms=7.0)
        if len(known):
            last = known.iloc[-1]
            ends.append((name, float(last["n"]), float(last["median"])))
    return ends


def _em_slope(axes: Axes, table: pd.DataFrame, slope: float) -> None:
    part = table[(table["algorithm"] == "EM") & np.isfinite(table["median"])].sort_values("n")
    if len(part) < 2 or math.isnan(slope):
        return
    at = part.iloc[-1]
    first = float(part["n"].iloc[len(part) // 3])
    slope_line(
        axes,
        (first, float(at["n"])),
        (float(at["n"]), 0.4 * float(at["median"])),
        slope,
        f"slope {fraction(slope)}",
        above=False,
    )


def _elu_slope(axes: Axes, table: pd.DataFrame, each: float) -> None:
    part = table[(table["algorithm"] == "ELU") & np.isfinite(table["median"])].sort_values("n")
    if len(part) < 2 or math.isnan(each):
        return
    n = np.array([float(part["n"].iloc[0]), float(part["n"].iloc[-1])])
    lift = 0.06 * float(part["median"].max())
    end = float(part["median"].iloc[-1]) + lift
    axes.plot(n, end + each * np.log(n / n[1]), zorder=1.5, **THEORY)
    middle = n[0] * (n[1] / n[0]) ** 0.75
    axes.annotate(
        f"{each:.2f} per unit of ln n",
        (middle, end + each * math.log(middle / n[1])),
        textcoords="offset points",
        xytext=(-4.0, 4.0),
        ha="right",
        va="bottom",
        color=THEORY["color"],
        fontsize=8.5,
    )


@styled
def run_time_figure(rows: pd.DataFrame) -> Figure:
    """The share of runs that reached the radius by a number of passes, failures included.

    A row of panels for each d: the smallest, the middle and the largest n.
    """
    dimensions = sorted(rows["d"].unique())
    figure, panels = new_figure(_PANELS, len(dimensions), height=2.7, sharey=True)
    for number, d in enumerate(dimensions):
        line = panels[_PANELS * number : _PANELS * (number + 1)]
        part = rows[rows["d"] == d]
        sizes = sorted(part["n"].unique())
        picked = sorted(
            {sizes[round(k * (len(sizes) - 1) / (_PANELS - 1))] for k in range(_PANELS)}
        )
        for axes, n in zip(line, picked, strict=False):
            draw_run_times(axes, part[part["n"] == n])
            axes.set_title(f"d = {d}, n = {size(n)}")
        for axes in line[len(picked) :]:
            axes.set_visible(False)
        line[0].set_ylabel("share within the radius")
    for axes in panels[-_PANELS:]:
        axes.set_xlabel("passes over the data")
    legend_below(figure, [handle(name) for name in in_order(rows["algorithm"])], columns=5)
    return figure


def draw_run_times(axes: Axes, rows: pd.DataFrame) -> None:
    """Shares of the runs of each algorithm within the radius, against passes; one n and one d."""
    table = censoring.run_time_distribution(rows)
    for name in reversed(in_order(table["algorithm"])):
        one, kind = table[table["algorithm"] == name], look_of(name)
        cost = one["cost"].clip(lower=1.0)  # at the start already: on the axis
        short = one["share"].iloc[-1] < 1.0
        last = -1 if short else int(np.argmax(one["share"].to_numpy()))
        axes.step(
            cost,
            one["share"],
            where="post",
            color=kind.colour,
            linestyle=kind.dash,
            linewidth=kind.width,
        )
        axes.plot(
            cost.iloc[last],
            one["share"].iloc[last],
            kind.marker,
            color=kind.colour,
            markerfacecolor="white" if short else kind.colour,
            clip_on=False,
            zorder=3.0,
        )
    axes.set_xscale("log")
    axes.set_xlim(left=1.0)
    axes.set_ylim(0.0, 1.03)
    power_ticks(axes, "x", most=6)
