"""What it takes to reach the statistical radius: medians against n, and shares of runs by cost.

A run that does not come within the radius is censored and stays in every count.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from elubench import checks
from elubench.algorithms.base import Look
from elubench.plot.hues import current, curves, named, one_of
from elubench.plot.laws import law_of
from elubench.plot.style import THEORY, fraction, label_ends, line, power_ticks, slope_line
from elubench.rates import censoring

_QUARTILES = (0.25, 0.5, 0.75)
#: What a run spends, by the column that says how much.
_LABELS = {
    "cost": "cost, in plain passes",
    "passes": "passes over the data",
    "iterations": "iterations",
}


def costs(
    data: pd.DataFrame,
    spent: str = "cost",
    *,
    yscale: Literal["log", "linear"] = "log",
    label: Collection[str] | None = None,
    theory: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """What it costs to come within the statistical radius, against n, for all algorithms.

    Medians by Kaplan-Meier, bars from quartile to quartile; hollow markers where runs are censored, and
    an arrow at what was spent where too many are for a median.

    Parameters
    ----------
    data : rows of runs to the radius (``eb.load_results``), of one model and one d.
    spent : "cost" (in units of a plain pass), "passes" or "iterations".
    yscale : "log" shows a power of n as a straight line, "linear" a logarithm of n.
    label : the algorithms that are named at the right ends of their curves; by default all.
    theory : draw the growth that theory predicts: EM's power of n on a logarithmic scale, ELU's
        logarithm on a linear one.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes.

    Examples
    --------
    >>> rows = eb.load_results("results")  # doctest: +SKIP
    >>> eb.plot.costs(rows[rows["d"] == 1])  # doctest: +SKIP
    """
    checks.choice(spent, "spent", tuple(_LABELS))
    checks.choice(yscale, "yscale", ("log", "linear"))
    checks.frame(data, "data", "algorithm", "n", f"{spent}_to_radius", spent)
    one_of(data, "model", "d")
    axes, table, kinds = current(ax), race_table(data, spent), curves(data, "algorithm")
    ends = draw_medians(axes, table, kinds)
    axes.set_xscale("log")
    axes.set_yscale(yscale)
    axes.set_xlabel("sample size n")
    axes.set_ylabel(f"{_LABELS[spent]}")
    if theory and yscale == "log":
        _power(axes, table, law_of(data, "EM")[1])
    elif theory:
        _logarithm(axes, table, law_of(data, "ELU")[1])
    if yscale == "linear":
        axes.set_ylim(0.0, None)
    shown = [end for end in ends if label is None or end[0] in label]
    label_ends(axes, shown, room=0.16 if len(shown) < 3 else 0.33)
    power_ticks(axes, "x", upto=float(table["n"].max()))
    if yscale == "log":
        power_ticks(axes, "y")
    return axes


def race_table(rows: pd.DataFrame, spent: str = "passes", hue: str = "algorithm") -> pd.DataFrame:
    """By algorithm and n: runs, censored share, quartiles by Kaplan-Meier, and the most spent."""
    table = censoring.running_times(
        rows, f"{spent}_to_radius", spent, by=(hue, "n"), quantiles=_QUARTILES
    )
    most = rows.groupby([hue, "n"], as_index=False).agg(spent=(spent, "max"))
    return table.merge(most, on=[hue, "n"], how="left")


def draw_medians(
    axes: Axes, table: pd.DataFrame, kinds: Mapping[Any, Look], hue: str = "algorithm"
) -> list[tuple[str, float, float]]:
    """The curves of :func:`race_table`; the name and the last point of each."""
    ends = []
    for name, kind in reversed(list(kinds.items())):
        part = table[table[hue] == name].sort_values("n")
        known = part[np.isfinite(part["median"]) & (part["median"] > 0)]
        axes.plot(known["n"], known["median"], **line(kind))
        high = np.where(np.isfinite(known["q75"]), known["q75"], known["spent"].astype(float))
        axes.vlines(known["n"], known["q25"], high, color=kind.colour, linewidth=1.0, alpha=0.6)
        style: dict[str, Any] = {"color": kind.colour, "linestyle": ""}
        for whole, face in ((True, kind.colour), (False, "white")):
            some = known[(known["censored"] == 0.0) == whole]
            axes.plot(some["n"], some["median"], marker=kind.marker, mfc=face, zorder=3.0, **style)
        lost = part[~np.isfinite(part["median"]) & (part["spent"].fillna(0.0) > 0)]
        axes.plot(lost["n"], lost["spent"], marker=r"$\uparrow$", ms=7.0, **style)
        if len(known):
            last = known.iloc[-1]
            ends.append((str(name), float(last["n"]), float(last["median"])))
    return ends


def _power(axes: Axes, table: pd.DataFrame, slope: float) -> None:
    """EM's power of n, below its curve."""
    part = table[(table["algorithm"] == "EM") & np.isfinite(table["median"])].sort_values("n")
    if len(part) < 2 or math.isnan(slope):
        return
    at = part.iloc[-1]
    slope_line(
        axes,
        (float(part["n"].iloc[len(part) // 3]), float(at["n"])),
        (float(at["n"]), 0.4 * float(at["median"])),
        slope,
        f"slope {fraction(slope)}",
        above=False,
    )


def _logarithm(axes: Axes, table: pd.DataFrame, each: float) -> None:
    """ELU's logarithm of n, above its curve."""
    part = table[(table["algorithm"] == "ELU") & np.isfinite(table["median"])].sort_values("n")
    if len(part) < 2 or math.isnan(each):
        return
    n = np.array([float(part["n"].iloc[0]), float(part["n"].iloc[-1])])
    end = float(part["median"].iloc[-1]) + 0.06 * float(part["median"].max())
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


def run_times(
    data: pd.DataFrame,
    spent: str = "passes",
    *,
    hue: str = "algorithm",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Run-time distributions: the share of all runs within the radius by what they spent.

    Medians hide failures; here a curve that ends below 1, at a hollow marker, shows how many runs never
    arrive.

    Parameters
    ----------
    data : rows of runs to the radius, of one model, d and n.
    spent : "cost", "passes" or "iterations".
    hue : the column that tells curves apart.
    legend : whether there is one.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes.

    Examples
    --------
    >>> largest = rows[rows["n"] == rows["n"].max()]  # doctest: +SKIP
    >>> eb.plot.run_times(largest, "cost")  # doctest: +SKIP
    """
    checks.choice(spent, "spent", tuple(_LABELS))
    checks.frame(data, "data", hue, f"{spent}_to_radius", spent)
    one_of(data, *(column for column in ("model", "d", "n") if column != hue))
    axes = current(ax)
    table = censoring.run_time_distribution(data, f"{spent}_to_radius", spent, by=hue)
    first = table["cost"][table["cost"] > 0.0].min()
    least = min(1.0, 0.8 * float(first)) if spent == "cost" and first > 0.0 else 1.0
    if axes.has_data():
        least = min(least, axes.get_xlim()[0])
    for value, kind in reversed(curves(data, hue).items()):
        one = table[table[hue] == value]
        cost = one["cost"].clip(lower=least)  # at the start already: on the axis
        short = one["share"].iloc[-1] < 1.0
        last = -1 if short else int(np.argmax(one["share"].to_numpy()))
        axes.step(cost, one["share"], where="post", **line(kind))
        axes.plot(
            cost.iloc[last],
            one["share"].iloc[last],
            kind.marker,
            color=kind.colour,
            markerfacecolor="white" if short else kind.colour,
            clip_on=False,
            zorder=3.0,
        )
        axes.plot([], [], marker=kind.marker, label=named(hue, value), **line(kind))
    axes.set_xscale("log")
    axes.set_xlim(left=least)
    axes.set_ylim(0.0, 1.03)
    axes.set_xlabel(_LABELS[spent])
    axes.set_ylabel("share within the radius")
    power_ticks(axes, "x", most=6)
    if legend:
        in_legend_order(axes)
    return axes


def in_legend_order(axes: Axes, **options: Any) -> None:
    """A legend of curves that were drawn from the last to the first, so that the first is on top."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], **options)
