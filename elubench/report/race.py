"""Who reaches the statistical radius, and at what cost: panels of :mod:`elubench.plot` for each d."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from elubench.plot import costs, run_times
from elubench.plot.style import handle, in_order, legend_below, new_figure, size, styled

_PANELS = 3  # sizes n for which distributions are drawn


@styled
def race_figure(rows: pd.DataFrame, spent: str = "passes") -> Figure:
    """What it takes to the radius against n, a row of panels for each d: all algorithms, all but EM.

    ``spent`` is "passes", or "cost" for units of a plain pass.
    """
    dimensions = sorted(rows["d"].unique())
    figure, panels = new_figure(2, len(dimensions), height=3.4, width_ratios=(1.0, 1.15))
    for number, d in enumerate(dimensions):
        left, right = panels[2 * number : 2 * number + 2]
        part = rows[rows["d"] == d]
        costs(part, spent, label=("EM", "ELU"), ax=left)
        left.set_title(f"d = {d}: {spent} to the radius")
        others = part[part["algorithm"] != "EM"]
        if len(others):
            costs(others, spent, yscale="linear", ax=right)
        right.set_title(f"d = {d}: without EM, linear scale")
        right.set_ylabel("")
    for axes in panels[:-2]:
        axes.set_xlabel("")
    return figure


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
            run_times(part[part["n"] == n], legend=False, ax=axes)
            axes.set_title(f"d = {d}, n = {size(n)}")
        for axes in line[len(picked) :]:
            axes.set_visible(False)
        for axes in line[1:]:
            axes.set_ylabel("")
    for axes in panels[:-_PANELS]:
        axes.set_xlabel("")
    legend_below(figure, [handle(name) for name in in_order(rows["algorithm"])], columns=5)
    return figure
