"""Samples against the limit laws: distribution functions, drawn from the table of the probe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.papers.beyond_em.law_samples import LOCATION, TIME, law_cdf
from elubench.plot.style import SHADES, THEORY, legend_below, new_figure, size, styled

_PANELS = (
    (LOCATION, 1, "location of the optimum, d = 1", r"$n^{1/8}\,|\hat\theta|$"),
    (LOCATION, 2, "the same, isotropic, d = 2", r"$n^{1/4}\,|\hat\theta|$"),
    (TIME, 1, "EM's time to the radius, d = 1", r"1000 $T / n^{3/4}$, corrected"),
)


@styled
def limit_laws_figure(table: pd.DataFrame) -> Figure:
    """Empirical distribution functions of `law_samples.limit_law` for each n, with those of the laws."""
    figure, panels = new_figure(len(_PANELS), height=3.1, sharey=True)
    sizes = sorted(table["n"].unique())
    ramp = LinearSegmentedColormap.from_list("sizes", SHADES)
    colours = {n: ramp(k / max(1, len(sizes) - 1)) for k, n in enumerate(sizes)}
    for axes, (law, d, title, label) in zip(panels, _PANELS, strict=True):
        part = table[(table["law"] == law) & (table["d"] == d)]
        _draw(axes, part, law, d, colours)
        axes.set_title(title)
        axes.set_xlabel(label)
    panels[0].set_ylabel("share of samples below")
    panels[0].set_ylim(0.0, 1.02)
    handles = [Line2D([], [], color=colours[n], label=f"n = {size(n)}") for n in sizes]
    legend_below(figure, [*handles, Line2D([], [], label="limit law", **THEORY)])
    return figure


def _draw(axes: Axes, part: pd.DataFrame, law: str, d: int, colours: dict[int, Any]) -> None:
    unit = 1e3 if law == TIME else 1.0
    values = part["value"].to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    if not values.size:
        return
    low, high = (0.0 if law == LOCATION else float(values.min())), float(values.max())
    for n in sorted(part["n"].unique()):
        found = np.sort(part.loc[part["n"] == n, "value"].to_numpy(dtype=float))
        share = np.arange(1, found.size + 1) / found.size
        axes.step(
            unit * np.concatenate([[low], found]),
            np.concatenate([[0.0], share]),
            where="post",
            color=colours[n],
            linewidth=1.1,
        )
    grid = np.linspace(low, high, 300)
    axes.plot(unit * grid, law_cdf(grid, law, d), **{**THEORY, "linewidth": 1.6}, zorder=3)
