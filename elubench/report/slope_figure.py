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
from elubench.plot.laws import flatness_of, law_of
from elubench.plot.style import (
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
def local_slopes_figure(
    errors: pd.DataFrame, iterations: pd.DataFrame, slopes: pd.DataFrame
) -> Figure:
    """Slopes between neighbouring n with 95 % intervals, beside those of theory, by d.

    Parameters
    ----------
    errors : rows with validation, of one model, for one or several d.
    iterations : rows of runs to the radius, of the same model.
    slopes : as `rates.Corrected.local`, with columns `quantity` ("location", "scale" or "EM"), `d`, and
        `corrected`: False for plain slopes, which are hollow.
    """
    figure, panels = new_figure(2, 2, height=2.7)
    dimensions = sorted({*errors["d"].unique(), *iterations["d"].unique()})
    for number, d in enumerate(dimensions):
        elu = errors[(errors["d"] == d) & (errors["algorithm"] == "ELU")]
        here, flat = iterations[iterations["d"] == d], flatness_of(elu)
        stated = (math.nan, math.nan) if flat is None else (flat.location_n, flat.scale_n)
        place = (number, len(dimensions))
        values = zip(("location", "scale", "EM"), (*stated, law_of(here, "EM")[1]), strict=True)
        for axes, (quantity, value) in zip(panels, values, strict=False):
            for corrected in (False, True):
                chosen = (slopes["quantity"] == quantity) & (slopes["d"] == d)
                part = slopes[chosen & (slopes["corrected"] == corrected)]
                _slopes(axes, part, value, place, hollow=not corrected)
        counted = log_slopes(here[here["algorithm"] == "ELU"])
        _slopes(panels[3], counted, law_of(here, "ELU")[1], place, hollow=True)
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
    grey: dict[str, Any] = {"color": "0.4", "marker": "o", "linestyle": ""}
    legend_below(
        figure,
        [
            *handles,
            Line2D([], [], label="corrected", **grey),
            Line2D([], [], label="plain", markerfacecolor="none", **grey),
            Line2D([], [], label="theory", **THEORY),
        ],
    )
    return figure


def _slopes(
    axes: Axes, table: pd.DataFrame, value: float, place: tuple[int, int], hollow: bool
) -> None:
    """Points at the middle of each pair of neighbours, the pairs of different d side by side."""
    if table.empty:
        return
    colour = shade(*place)
    aside = 2 * place[0] + (not hollow) - place[1] + 0.5
    middle = np.sqrt(table["from"] * table["to"]) * 1.16**aside
    axes.errorbar(
        middle,
        table["slope"],
        yerr=np.stack([table["slope"] - table["low"], table["high"] - table["slope"]]),
        fmt=_MARKERS[place[0] % len(_MARKERS)],
        color=colour,
        markerfacecolor="none" if hollow else colour,
        elinewidth=0.6 if hollow else 1.2,
        markersize=4.0,
    )
    if not math.isnan(value):
        axes.axhline(value, zorder=1.0, **{**THEORY, "color": colour})


def log_slopes(rows: pd.DataFrame) -> pd.DataFrame:
    """Slopes of the median number of iterations by ln n.

    Medians at different n are independent, so the distances from a median to its bounds add in squares.
    """
    try:
        sizes = rates.growth(rows, resamples=_RESAMPLES).sizes
    except ValueError:  # too few sizes at which half of the runs arrive
        return pd.DataFrame()
    sizes = sizes[(sizes["used"] != "") & np.isfinite(sizes["high"])]
    n = sizes["n"].to_numpy(dtype=float)
    middle, low, high = (sizes[name].to_numpy(dtype=float) for name in ("median", "low", "high"))
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
