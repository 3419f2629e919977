"""The practical procedure from one Gaussian to two far apart: maps of its answers and of its error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from elubench.papers.beyond_em.separation import verdicts
from elubench.plot.style import new_figure, size, styled

#: Dark is bad in both rows; cividis and its like keep their order for every kind of eye.
_ROWS: tuple[tuple[str, str, str, Any], ...] = (
    ("right", "share right", "cividis", Normalize(0.0, 1.0)),
    ("location_ratio", "error over the optimum's", "cividis_r", LogNorm(1.0, 4.0)),
)


@styled
def crossover_figure(table: pd.DataFrame) -> Figure:
    """Maps of `separation.verdicts` over half distance and n, a column of panels for each budget."""
    found = verdicts(table)
    kinds = [(int(d), int(most)) for d, most in found[["d", "budget"]].drop_duplicates().to_numpy()]
    figure, panels = new_figure(len(kinds), len(_ROWS), height=2.9, sharey=True)
    for row, (column, label, colours, norm) in enumerate(_ROWS):
        beside = panels[row * len(kinds) : (row + 1) * len(kinds)]
        for axes, (d, budget) in zip(beside, kinds, strict=True):
            part = found[(found["d"] == d) & (found["budget"] == budget)]
            drawn = heat_map(
                axes, part.pivot(index="half_distance", columns="n", values=column), colours, norm
            )
            axes.set_title(f"d = {d}, {budget:,} iterations")
            if row == len(_ROWS) - 1:
                axes.set_xlabel("sample size n")
        beside[0].set_ylabel("half distance")
        bar = figure.colorbar(
            drawn, ax=beside, pad=0.01, aspect=18, extend="max" if row else "neither"
        )
        bar.set_label(label)
        if bar.solids is not None:
            bar.solids.set(rasterized=False, edgecolor="face")  # the report's figures are vectors
        if row:
            bar.set_ticks([1.0, 2.0, 4.0], labels=["1", "2", "4"])
            bar.minorticks_off()
    return figure


def heat_map(axes: Axes, values: pd.DataFrame, colours: str, norm: Normalize) -> Any:
    """One map, a cell for each half distance and n, with its number."""
    grid = values.to_numpy(dtype=float)
    drawn = axes.pcolormesh(grid, cmap=colours, norm=norm, edgecolors="white", linewidth=0.3)
    for (i, j), value in np.ndenumerate(grid):
        if np.isfinite(value):
            red, green, blue, _ = drawn.cmap(norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            said = f"{value:.2f}" if value < 9.95 else f"{value:.0f}"
            axes.text(
                j + 0.5,
                i + 0.5,
                said,
                ha="center",
                va="center",
                fontsize=6.5,
                color="white" if dark else "black",
            )
    axes.set_xticks(
        np.arange(values.shape[1]) + 0.5, labels=[size(float(n)) for n in values.columns]
    )
    axes.set_yticks(np.arange(values.shape[0]) + 0.5, labels=[f"{half:g}" for half in values.index])
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return drawn
