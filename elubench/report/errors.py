"""Errors of the validated iterate: against n for each model and start, and against d."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from elubench.plot import rates
from elubench.plot.laws import flatness_of
from elubench.plot.style import handle, in_order, legend_below, new_figure, styled, value_ticks

_STARTS = {"equal": "equal start", "generic": "generic start"}


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
            flatness = flatness_of(part)
            stated = math.nan if flatness is None else flatness.location_n
            rates(part, "location_error", fit=False, theory=stated, legend=False, ax=axes)
            axes.set_title(f"{model} model, {_STARTS[start]}")
            axes.set_ylabel("error of the location" if axes is line[0] else "")
            if number < len(models) - 1:
                axes.set_xlabel("")
    legend_below(figure, [handle(name) for name in in_order(rows["algorithm"])])
    return figure


@styled
def dimensions_figure(rows: pd.DataFrame, stated: Mapping[str, float]) -> Figure:
    """Validated errors of location and scale against d. ``rows`` are of one n and several d.

    ``stated`` has the exponents of d that theory gives, by the column of the error.
    """
    figure, panels = new_figure(2, height=3.3)
    for axes, (column, slope) in zip(panels, stated.items(), strict=True):
        theory = {"ELU": slope}
        rates(rows, column, x="d", fit=False, theory=theory, legend=False, ax=axes)
        axes.set_title(f"error of the {column.removesuffix('_error')}")
        axes.set_ylabel("")
        value_ticks(axes, "x", sorted(rows["d"].unique()))
    panels[0].set_ylabel("root mean square error")
    legend_below(figure, [handle(name) for name in in_order(rows["algorithm"])])
    return figure
