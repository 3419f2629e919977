"""Local slopes: exponents of errors and growth of iterations between neighbouring n."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench import rates
from elubench.report.laws import flatness_of, law_of
from elubench.report.style import (
    THEORY,
    legend_below,
    new_figure,
    power_ticks,
    shade,
    styled,
)

_RESAMPLES = 400
_MARKERS = "os^Dv"  # of dimensions


@styled
def local_slopes_figure(errors: pd.DataFrame, iterations: pd.DataFrame) -> Figure:
    """Slopes between neighbouring n with 95 % intervals, beside those of theory, by d.

    Parameters
    ----------
    errors : rows with validation, of one model, for one or several d.
    iterations : rows of runs to the radius, of the same model.
    """
    figure, panels = new_figure(2, 2, height=2.7)
    dimensions = sorted({*errors["d"].unique(), *iterations["d"].unique()})
    for number, d in enumerate(dimensions):
        elu = errors[(errors["d"] == d) & (errors["algorithm"] == "ELU")]
        here, flat = iterations[iterations["d"] == d], flatness_of(elu)
        stated = (math.nan, math.nan) if flat is None else (flat.location_n, flat.scale_n)
        place = (number, len(dimensions))
        _slopes(panels[0], error_slopes(elu, "location_error"), stated[0], place)
        _slopes(panels[1], error_slopes(elu, "scale_error"), stated[1], place)
        for axes, name, logarithmic in ((panels[2], "EM", False), (panels[3], "ELU", True)):
            part = here[here["algorithm"] == name]
            _slopes(axes, count_slopes(part, logarithmic), law_of(here, name)[1], place)
    titles = (
        "ELU, location: exponent of n",
        "ELU, scale: exponent of n",
        "EM, iterations: exponent of n",
        "ELU, iterations: per unit of ln n",
    )
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title)
        axes.set_xscale("log")
        low, high = axes.get_ylim()
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        if axes.get_lines():
            power_ticks(axes, "x")
    for axes in panels[2:]:
        axes.set_xlabel("sample size n")
    handles: list[Any] = [
        Line2D(
            [],
            [],
            color=shade(k, len(dimensions)),
            marker=_MARKERS[k % len(_MARKERS)],
            linestyle="",
            label=f"d = {d}",
        )
        for k, d in enumerate(dimensions)
    ]
    legend_below(figure, [*handles, Line2D([], [], label="theory", **THEORY)])
    return figure


def _slopes(axes: Axes, table: pd.DataFrame, value: float, place: tuple[int, int]) -> None:
    """Points at the middle of each pair of neighbours, the pairs of different d side by side."""
    if table.empty:
        return
    colour = shade(*place)
    middle = np.sqrt(table["from"] * table["to"]) * 1.12 ** (place[0] - 0.5 * (place[1] - 1))
    axes.errorbar(
        middle,
        table["slope"],
        yerr=np.stack([table["slope"] - table["low"], table["high"] - table["slope"]]),
        fmt=_MARKERS[place[0] % len(_MARKERS)],
        color=colour,
        elinewidth=1.0,
        markersize=4.0,
    )
    if not math.isnan(value):
        axes.axhline(value, zorder=1.0, **{**THEORY, "color": colour})


_LOCAL = ("from", "to", "slope", "low", "high")


def error_slopes(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Slopes of the root mean square error between neighbouring n, from :func:`rates.exponent`."""
    try:
        return rates.exponent(rows, value=column, resamples=_RESAMPLES).local
    except ValueError:  # too few sizes or replicates for a slope
        return pd.DataFrame(columns=list(_LOCAL))


def count_slopes(rows: pd.DataFrame, logarithmic: bool) -> pd.DataFrame:
    """Slopes of the median number of iterations: by ln n, of its logarithm unless ``logarithmic``.

    Medians at different n are independent, so the distances from a median to its bounds add in squares.
    """
    try:
        sizes = rates.growth(rows, resamples=_RESAMPLES).sizes
    except ValueError:  # too few sizes at which half of the runs arrive
        return pd.DataFrame(columns=list(_LOCAL))
    sizes = sizes[(sizes["used"] != "") & np.isfinite(sizes["high"])]
    n = sizes["n"].to_numpy(dtype=float)
    values = [sizes[name].to_numpy(dtype=float) for name in ("median", "low", "high")]
    if not logarithmic:
        values = [np.log(np.maximum(value, 0.5)) for value in values]
    middle, low, high = values
    step, below, above = np.diff(np.log(n)), middle - low, high - middle
    slope = np.diff(middle) / step
    return pd.DataFrame(
        {
            "from": n[:-1],
            "to": n[1:],
            "slope": slope,
            "low": slope - np.hypot(below[1:], above[:-1]) / step,
            "high": slope + np.hypot(above[1:], below[:-1]) / step,
        }
    )
