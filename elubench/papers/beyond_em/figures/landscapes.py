"""The loss at infinite n, iterates on it, and the noise around it: drawn from tables of the probes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.papers.beyond_em import theory
from elubench.plot import landscape as draw_landscape
from elubench.plot.style import (
    THEORY,
    handle,
    legend_below,
    log_axes,
    look_of,
    new_figure,
    shade,
    size,
    slope_line,
    styled,
)


@styled
def landscape_figure(
    profiles: pd.DataFrame, landscape: pd.DataFrame, flows: pd.DataFrame
) -> Figure:
    """The loss at infinite n: how flat it is along a ray, and EM and ELU on the diagonal model's."""
    figure, panels = new_figure(2, 2, height=3.2, height_ratios=(0.9, 1.1))
    draw_profiles(panels[0], panels[1], profiles)
    draw_diagonal(panels[2], panels[3], landscape, flows)
    legend_below(
        figure,
        [
            *panels[0].get_legend_handles_labels()[0],
            handle("EM"),
            handle("ELU"),
            Line2D([], [], color="black", marker="o", ls="-", lw=1.2, label="equal start"),
            Line2D([], [], color="black", marker="s", ls=":", lw=1.8, label="generic start"),
        ],
        columns=7,
    )
    return figure


def draw_profiles(left: Axes, right: Axes, profiles: pd.DataFrame) -> None:
    """The isotropic loss above its minimum and its gradient by |theta|, with the powers of Lemma 1."""
    by_d = {d: profiles[profiles["d"] == d] for d in sorted(profiles["d"].unique())}
    for place, (d, part) in enumerate(by_d.items()):
        for axes, column in ((left, "gap"), (right, "gradient")):
            axes.plot(part["r"], part[column], color=shade(place, len(by_d)), label=f"d = {d}")
    left.set_title("isotropic: loss above its minimum")
    right.set_title("isotropic: norm of the gradient")
    for axes, column, more in ((left, "gap", 2.0), (right, "gradient", 1.0)):
        log_axes(axes)
        for d in {min(by_d), max(by_d)}:
            slope = theory.homogeneity("isotropic", d).value + more
            r, value = (float(by_d[d][name].iloc[0]) for name in ("r", column))
            below = d == 1
            anchor = (r, value * (0.1 if below else 10.0))
            slope_line(axes, (r, 20.0 * r), anchor, slope, f"slope {slope:g}", above=not below)
        axes.set_xlabel(r"$|\theta|$")
    left.set_ylabel(r"$f(\theta) - f(0)$")
    right.set_ylabel(r"$|\nabla f(\theta)|$")


def draw_diagonal(left: Axes, right: Axes, landscape: pd.DataFrame, flows: pd.DataFrame) -> None:
    """The diagonal loss at d = 2 as a map, with EM and ELU from an equal and a generic start."""
    draw_landscape(landscape, flows, legend=False, ax=left)
    left.set_title("diagonal, d = 2: iterates on the loss")
    for (name, start), path in flows[flows["t"] > 0].groupby(["algorithm", "start"]):
        equal, colour = start == "equal", look_of(str(name)).colour
        style: dict[str, Any] = {
            "linestyle": "-" if equal else ":",
            "linewidth": 1.6 if equal else 2.0,
        }
        right.plot(path["t"], path["norm"], color=colour, **style)
        if path["status"].iloc[-1] == "diverged":
            last = path.iloc[-1]
            right.plot(last["t"], last["norm"], "x", color=colour, markersize=7, mew=2.0)
    log_axes(right)
    right.set_xlim(1.0, flows["t"].max())
    right.set_ylim(max(right.get_ylim()[0], 1e-7), None)
    right.set_title("diagonal: distance from the truth")
    right.set_xlabel("iteration t")
    right.set_ylabel(r"$|\theta_t|$")


@styled
def stability_figure(table: pd.DataFrame) -> Figure:
    """Noise of the gradient against |theta| at d = 1, for several n: ``lemmas.stability`` at d = 1.

    Left as it is; right in units of n^(-1/2), where all n should fall on one curve.
    """
    figure, panels = new_figure(2, height=3.3)
    squares = table.assign(square=table["noise"] ** 2)
    mean = squares.groupby(["n", "r"], as_index=False)["square"].mean()
    sizes = sorted(mean["n"].unique())
    for place, n in enumerate(sizes):
        part = mean[mean["n"] == n]
        noise = np.sqrt(part["square"])
        colour = shade(len(sizes) - 1 - place, len(sizes))
        for axes, scale in ((panels[0], 1.0), (panels[1], math.sqrt(n))):
            axes.plot(part["r"], scale * noise, color=colour, marker="o", markersize=3.0)
        edge = theory.phase_radius(float(n))
        at = part.iloc[int(np.argmin(np.abs(np.log(part["r"] / edge))))]
        panels[0].plot(at["r"], math.sqrt(at["square"]), "k|", markersize=11, mew=1.4, zorder=4)
    r = np.array([float(mean["r"].min()), float(mean["r"].max())])
    scaled = mean.assign(value=np.sqrt(mean["square"] * mean["n"]))
    first = float(scaled.loc[scaled["r"] == scaled["r"].min(), "value"].mean())
    last = float(scaled.loc[scaled["r"] == scaled["r"].max(), "value"].mean())
    for axes in panels:
        log_axes(axes)
        axes.set_xlabel(r"$|\theta|$")
    middle = math.sqrt(r[0] * r[1])
    slope_line(panels[1], (r[0], middle), (r[0], 0.35 * first), 3.0, "slope 3", above=False)
    slope_line(panels[1], (middle, r[1]), (r[1], 2.5 * last), 1.0, "slope 1")
    panels[0].set_title("gradient of a sample less that at infinite n")
    panels[1].set_title(r"the same times $n^{1/2}$")
    panels[0].set_ylabel("root mean square noise")
    handles = [
        Line2D(
            [],
            [],
            color=shade(len(sizes) - 1 - k, len(sizes)),
            marker="o",
            ms=3,
            label=f"n = {size(n)}",
        )
        for k, n in enumerate(sizes)
    ]
    mark = Line2D([], [], color="black", marker="|", ms=11, mew=1.4, ls="", label=r"$n^{-1/16}$")
    legend_below(figure, [*handles, mark, Line2D([], [], label="theory", **THEORY)])
    return figure
