"""What an iteration costs: seconds against the size of the data, and in units of EM's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.plot.style import (
    QUIET,
    handle,
    in_order,
    legend_below,
    line,
    log_axes,
    look_of,
    new_figure,
    styled,
)


@styled
def costs_figure(table: pd.DataFrame) -> Figure:
    """Seconds per iteration against the numbers in the data, and in units of EM's in the same round."""
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
                marker=kind.marker,
                markerfacecolor=kind.colour if faces[d] == "fill" else "white",
                **line(kind),
            )
    log_axes(left)
    left.set_xlabel("numbers in the data, n d")
    left.set_ylabel("milliseconds per iteration")
    left.set_title("median over rounds")
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
    axes.set_title("relative to EM in the same round")
    axes.set_ylabel("ratio, median and quartiles")
    axes.set_xlabel("n and d")
