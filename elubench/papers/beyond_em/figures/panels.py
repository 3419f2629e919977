"""The paper's figures: errors against iterations, and the validated error against n."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.papers.beyond_em import theory
from elubench.plot import traces
from elubench.plot.against_n import statistic_of
from elubench.plot.style import (
    QUIET,
    fraction,
    handle,
    in_order,
    legend_below,
    log_axes,
    look_of,
    new_figure,
    size,
    slope_line,
    styled,
)

#: Drawn in front; what the paper does not have stands faint behind.
MAIN = ("EM", "ELU", "CentredELU")
_FAINT = 0.45


@styled
def paper_figure(paths: pd.DataFrame, kept: pd.DataFrame, sizes: pd.DataFrame) -> Figure:
    """Two panels as in the paper.

    Parameters
    ----------
    paths : traces of runs on samples of one n; kept : the rows of the same runs.
    sizes : rows over several n, with validation.
    """
    figure, (left, right) = new_figure(2, height=3.5)
    names = in_order([*paths["algorithm"], *sizes["algorithm"]])
    rivals = [name for name in names if name not in MAIN]
    traces(paths, kept=kept, faint=rivals, legend=False, ax=left)
    n, d = kept["n"].iloc[0], kept["d"].iloc[0]
    left.set_title(f"error by iteration, n = {size(n)}, d = {d}")
    draw_errors(right, sizes)
    handles: list[Any] = [handle(name, faint=name not in MAIN) for name in names]
    handles.append(
        Line2D([], [], color="black", marker="D", linestyle="", markersize=6, label="validated")
    )
    handles.append(
        Line2D(
            [],
            [],
            color=QUIET,
            marker="o",
            linestyle="",
            markerfacecolor="white",
            label="scale (open)",
        )
    )
    legend_below(figure, handles, columns=5)
    return figure


def draw_errors(axes: Axes, rows: pd.DataFrame) -> None:
    """Root mean square errors of the validated iterate against n, with the slopes of theory."""
    model, d = str(rows["model"].iloc[0]), int(rows["d"].iloc[0])
    claimed = theory.rates(model, d, "elu")
    n = np.array(sorted(rows["n"].unique()), dtype=float)
    for name in reversed(in_order(rows["algorithm"])):
        main, kind = name in MAIN, look_of(name)
        part = rows[rows["algorithm"] == name]
        for column, face in (("location_error", kind.colour), ("scale_error", "white")):
            if column == "scale_error" and not main:
                continue
            found = statistic_of(part, column)
            axes.plot(
                found.index,
                found,
                color=kind.colour,
                marker=kind.marker,
                markerfacecolor=face,
                linestyle=kind.dash,
                linewidth=1.6 if main else 1.0,
                alpha=1.0 if main else _FAINT,
                zorder=2.5 if main else 2.0,
            )
    log_axes(axes)
    for column, slope, above in (
        ("location_error", claimed.location_n, True),
        ("scale_error", claimed.scale_n, False),
    ):
        names = (
            in_order(rows["algorithm"])
            if above
            else [x for x in MAIN if x in set(rows["algorithm"])]
        )
        found = pd.concat([statistic_of(rows[rows["algorithm"] == name], column) for name in names])
        if len(n) < 2 or found.empty:
            continue
        levels = found.to_numpy() / found.index.to_numpy(dtype=float) ** slope
        level = 1.2 * levels.max() if above else levels.min() / 1.25
        anchor = (n[0], level * n[0] ** slope)
        slope_line(axes, (n[0], n[-1]), anchor, slope, f"slope {fraction(slope)}", above=above)
    axes.set_title(f"error of the validated iterate, d = {d}")
    axes.set_xlabel("sample size n")
    axes.set_ylabel("root mean square error")
