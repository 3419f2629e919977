"""Errors of the validated iterate: against n for each model and start, and against d."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elubench.report.laws import flatness_of
from elubench.report.style import (
    fraction,
    handle,
    in_order,
    legend_below,
    look_of,
    new_figure,
    power_ticks,
    slope_line,
    styled,
    value_ticks,
)

_STARTS = {"equal": "equal start", "generic": "generic start"}


def root_mean_square(rows: pd.DataFrame, column: str, by: str = "n") -> pd.Series[float]:
    """Over replicates, at each value of ``by``; what cannot stand on a logarithmic axis is left out."""
    squares = rows.assign(square=rows[column].astype(float) ** 2)
    found = squares.groupby(by)["square"].mean() ** 0.5
    return found[np.isfinite(found) & (found > 0.0)]


@styled
def starts_figure(rows: pd.DataFrame) -> Figure:
    """The validated location's error against n: a row of panels for each model, one for each start."""
    models = list(dict.fromkeys(rows["model"]))
    starts = [start for start in _STARTS if (rows["start"] == start).any()]
    figure, panels = new_figure(len(starts), len(models), height=3.1, sharey="row")
    for number, model in enumerate(models):
        line = panels[len(starts) * number : len(starts) * (number + 1)]
        for axes, start in zip(line, starts, strict=True):
            part = rows[(rows["model"] == model) & (rows["start"] == start)]
            draw_validated(axes, part)
            axes.set_title(f"{model} model, {_STARTS[start]}")
        for axes in line:
            power_ticks(axes, "x")
            power_ticks(axes, "y")
        line[0].set_ylabel("error of the location")
    for axes in panels[-len(starts) :]:
        axes.set_xlabel("sample size n")
    legend_below(figure, [handle(name) for name in in_order(rows["algorithm"])])
    return figure


def draw_validated(axes: Axes, rows: pd.DataFrame) -> None:
    """Root mean square errors of the validated location against n, and the slope of theory below."""
    for name in reversed(in_order(rows["algorithm"])):
        _curve(axes, rows[rows["algorithm"] == name], "location_error", name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    flatness = flatness_of(rows)
    if flatness is not None:
        _theory_below(axes, rows, flatness.location_n)


def _curve(axes: Axes, rows: pd.DataFrame, column: str, name: str, by: str = "n") -> None:
    kind, found = look_of(name), root_mean_square(rows, column, by)
    axes.plot(
        found.index,
        found,
        color=kind.colour,
        marker=kind.marker,
        linestyle=kind.dash,
        linewidth=kind.width,
    )


def _theory_below(axes: Axes, rows: pd.DataFrame, slope: float) -> None:
    """The claimed slope, under the lowest curve."""
    lines = [
        root_mean_square(rows[rows["algorithm"] == name], "location_error")
        for name in in_order(rows["algorithm"])
    ]
    least = pd.concat(lines, axis=1).min(axis=1)
    if len(least) < 2:
        return
    n = least.index.to_numpy(dtype=float)
    offset = float(np.min(least.to_numpy() / n**slope)) * 0.7
    anchor = (n[0], offset * n[0] ** slope)
    slope_line(axes, (n[0], n[-1]), anchor, slope, f"slope {fraction(slope)}", above=False)


@styled
def dimensions_figure(rows: pd.DataFrame, stated: Mapping[str, float]) -> Figure:
    """Validated errors of location and scale against d. ``rows`` are of one n and several d.

    ``stated`` has the exponents of d that theory gives, by the column of the error.
    """
    figure, panels = new_figure(2, height=3.3)
    d = sorted(rows["d"].unique())
    names = in_order(rows["algorithm"])
    for axes, (column, slope) in zip(panels, stated.items(), strict=True):
        for name in reversed(names):
            _curve(axes, rows[rows["algorithm"] == name], column, name, by="d")
        axes.set_xscale("log")
        axes.set_yscale("log")
        best = root_mean_square(rows[rows["algorithm"] == "ELU"], column, "d")
        if len(best) > 1:
            offset = float(np.min(best.to_numpy() / best.index.to_numpy(dtype=float) ** slope))
            ends = (float(best.index[0]), float(best.index[-1]))
            slope_line(
                axes,
                ends,
                (ends[0], 0.75 * offset * ends[0] ** slope),
                slope,
                f"slope {fraction(slope)}",
                above=False,
            )
        axes.set_title(f"error of the {column.removesuffix('_error')}")
        axes.set_xlabel("dimension d")
        value_ticks(axes, "x", d)
        power_ticks(axes, "y")
    panels[0].set_ylabel("root mean square error")
    legend_below(figure, [handle(name) for name in names])
    return figure
