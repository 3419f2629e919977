"""Errors of the validated iterate: where ELU stops short, by dimension, local slopes; and costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench import rates
from elubench.papers.beyond_em import theory
from elubench.papers.beyond_em.figures.panels import root_mean_square
from elubench.report.captions import beta_of
from elubench.report.style import (
    QUIET,
    THEORY,
    fraction,
    handle,
    in_order,
    legend_below,
    look_of,
    new_figure,
    power_ticks,
    shade,
    slope_line,
    styled,
    value_ticks,
)

_STARTS = {"equal": "equal start", "generic": "generic start"}
_MODELS = {"isotropic": "isotropic", "diagonal": "diagonal model", "general": "general locations"}
_RESAMPLES = 400
_MARKERS = "os^Dv"  # of dimensions


@styled
def starts_figure(rows: pd.DataFrame) -> Figure:
    """The validated location's error against n, a row of panels for each model, one for each start."""
    models = [model for model in _MODELS if (rows["model"] == model).any()]
    starts = [start for start in _STARTS if (rows["start"] == start).any()]
    figure, panels = new_figure(len(starts), len(models), height=3.1, sharey="row")
    for number, model in enumerate(models):
        line = panels[len(starts) * number : len(starts) * (number + 1)]
        for axes, start in zip(line, starts, strict=True):
            part = rows[(rows["model"] == model) & (rows["start"] == start)]
            draw_validated(axes, part)
            axes.set_title(f"{_MODELS[model]}, {_STARTS[start]}")
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
    if len(rows):
        model, d = str(rows["model"].iloc[0]), int(rows["d"].iloc[0])
        _theory_below(axes, rows, theory.rates(model, d, "elu").location_n)


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
def dimensions_figure(rows: pd.DataFrame) -> Figure:
    """Validated errors of location and scale against d. ``rows`` are of one n and several d."""
    figure, panels = new_figure(2, height=3.3)
    d = sorted(rows["d"].unique())
    claimed = theory.rates("isotropic", max(2, int(d[-1])), "elu")
    names = in_order(rows["algorithm"])
    for axes, column, slope, title in (
        (panels[0], "location_error", claimed.location_d, "location"),
        (panels[1], "scale_error", claimed.scale_d, "scale"),
    ):
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
        axes.set_title(f"error of the {title}")
        axes.set_xlabel("dimension d")
        value_ticks(axes, "x", d)
        power_ticks(axes, "y")
    panels[0].set_ylabel("root mean square error")
    legend_below(figure, [handle(name) for name in names])
    return figure


@styled
def local_slopes_figure(errors: pd.DataFrame, iterations: pd.DataFrame) -> Figure:
    """Slopes between neighbouring n with 95 % intervals, beside what theory says, by d.

    Parameters
    ----------
    errors : rows with validation, isotropic, for one or several d.
    iterations : rows of runs to the radius, isotropic.
    """
    figure, panels = new_figure(2, 2, height=2.7)
    dimensions = sorted({*errors["d"].unique(), *iterations["d"].unique()})
    for number, d in enumerate(dimensions):
        claimed = theory.rates("isotropic", int(d), "elu")
        em = theory.rates("isotropic", int(d), "em")
        elu_errors = errors[(errors["d"] == d) & (errors["algorithm"] == "ELU")]
        here = iterations[iterations["d"] == d]
        beta = beta_of(here)
        place = (number, len(dimensions))
        _slopes(panels[0], error_slopes(elu_errors, "location_error"), claimed.location_n, place)
        _slopes(panels[1], error_slopes(elu_errors, "scale_error"), claimed.scale_n, place)
        for axes, name, logarithmic, value in (
            (panels[2], "EM", False, em.iterations_n),
            (panels[3], "ELU", True, math.nan if beta is None else claimed.slope(beta)),
        ):
            part = here[here["algorithm"] == name]
            _slopes(axes, count_slopes(part, logarithmic), value, place)
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


@styled
def costs_figure(table: pd.DataFrame) -> Figure:
    """Seconds an iteration against the numbers in the data, and in units of EM's in the same round."""
    figure, (left, right) = new_figure(2, height=3.1)
    numbers = table.assign(numbers=table["n"] * table["d"])
    names = in_order(table["algorithm"])
    dimensions = sorted(table["d"].unique())
    faces = {d: ("fill" if k == 0 else "open") for k, d in enumerate(dimensions)}
    for name in names:
        kind, part = look_of(name), numbers[numbers["algorithm"] == name]
        for d in dimensions:
            median = part[part["d"] == d].groupby("numbers")["seconds"].median()
            left.plot(
                median.index,
                1e3 * median,
                color=kind.colour,
                marker=kind.marker,
                linestyle=kind.dash,
                linewidth=kind.width,
                markerfacecolor=kind.colour if faces[d] == "fill" else "white",
            )
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("numbers in the data, n d")
    left.set_ylabel("milliseconds an iteration")
    left.set_title("median over rounds")
    power_ticks(left, "x")
    power_ticks(left, "y")
    _ratios(right, numbers, [name for name in names if name != "EM"])
    handles: list[Any] = [handle(name) for name in names]
    for d in dimensions[:2]:
        face = QUIET if faces[d] == "fill" else "white"
        label = f"d = {d}" if len(dimensions) < 3 or faces[d] == "fill" else "other d"
        handles.append(
            Line2D([], [], color=QUIET, marker="o", ls="", markerfacecolor=face, label=label)
        )
    legend_below(figure, handles)
    return figure


def _ratios(axes: Axes, numbers: pd.DataFrame, names: Sequence[str]) -> None:
    """Seconds over those of EM in the same round: median and quartiles at each size."""
    wide = numbers.pivot_table(index=["n", "d", "round"], columns="algorithm", values="seconds")
    if "EM" not in wide:
        return
    cells = sorted({(n, d) for n, d, _ in wide.index}, key=lambda cell: (cell[1], cell[0]))
    axes.axhline(1.0, color=look_of("EM").colour, linewidth=1.0, zorder=1.0)
    for number, name in enumerate(names):
        ratio, kind = wide[name] / wide["EM"], look_of(name)
        quarters = ratio.groupby(level=["n", "d"]).quantile(np.array([0.25, 0.5, 0.75])).unstack()
        x = np.arange(len(cells)) + 0.16 * (number - 0.5 * (len(names) - 1))
        low, middle, high = (
            np.array([quarters.loc[cell, q] for cell in cells]) for q in (0.25, 0.5, 0.75)
        )
        axes.vlines(x, low, high, color=kind.colour, linewidth=1.2)
        axes.plot(x, middle, kind.marker, color=kind.colour)
    axes.set_xticks(
        range(len(cells)), [f"$2^{{{math.log2(n):g}}}$\nd={d}" for n, d in cells], fontsize=8.5
    )
    axes.set_ylim(0.0, None)
    axes.set_title("seconds over EM's in the same round")
    axes.set_ylabel("ratio, median and quartiles")
    axes.set_xlabel("n and d")
