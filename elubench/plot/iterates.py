"""Iterates: their errors by iteration, and their paths on the loss at infinite n."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from elubench import checks
from elubench.plot.hues import current, curves
from elubench.plot.radius import in_legend_order
from elubench.plot.style import QUIET, line, look_of, power, power_ticks

_FAINT = 0.45
_DEPTH = 0.05  # how far below the radius an error is still shown
_LEVELS = np.arange(-9.0, 0.1, 1.0)  # powers of ten of the loss
_STARTS = (("-", "o"), (":", "s"), ("--", "^"), ("-.", "D"))  # dashes of paths, markers of starts


def traces(
    data: pd.DataFrame,
    y: str = "location_error",
    *,
    kept: pd.DataFrame | None = None,
    radius: float | None = None,
    faint: Collection[str] = (),
    xscale: Literal["log", "linear"] = "log",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Errors of the iterates of runs, from the first iteration on.

    Parameters
    ----------
    data : iterates, ``eb.run(...).trace`` of one run or several of them with columns ``algorithm`` and
        ``replicate`` to tell them apart (``eb.load_traces``).
    y : the column that is drawn, on a logarithmic scale.
    kept : rows of the same runs: a diamond marks the iterate that validation selected.
    radius : of the dotted line; by default that of ``kept``, if given.
    faint : algorithms that stand behind the others.
    xscale : "log" or "linear".
    legend : whether there is one.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes.

    Examples
    --------
    >>> run = eb.run(eb.LatticeSample.gaussian(10**8, 1), "isotropic", eb.ELU(), [0.9], truth=[0.0])
    >>> ax = eb.plot.traces(run.trace.assign(algorithm="ELU"), radius=10**-1)
    """
    checks.frame(data, "data", "t", y)
    checks.choice(xscale, "xscale", ("log", "linear"))
    axes = current(ax)
    if "algorithm" not in data:
        data = data.assign(algorithm="run")
    for name, kind in reversed(curves(data, "algorithm").items()):
        part = data[(data["algorithm"] == name) & (data["t"] > 0)]
        behind = name in faint
        runs = part.groupby("replicate") if "replicate" in part else [(0, part)]
        for number, (_, run) in enumerate(runs):
            error = run[y].to_numpy(dtype=float, na_value=np.nan)
            axes.plot(
                run["t"],
                np.where(error > 0.0, error, np.nan),
                color=kind.colour,
                linestyle=kind.dash,
                linewidth=1.1 if behind else kind.width,
                alpha=_FAINT if behind else 0.9,
                zorder=2.0 if behind else 2.5,
                label=name if number == 0 else None,
            )
    if kept is not None:
        checks.frame(kept, "kept", "algorithm", "selected", y, "radius")
        _selected(axes, kept[~kept["algorithm"].isin(list(faint))], y)
        radius = float(kept["radius"].iloc[0]) if radius is None else radius
    axes.set_yscale("log")
    axes.set_xscale(xscale)
    axes.set_xlim(1.0 if xscale == "log" else 0.0, None)
    if radius is not None:
        _radius(axes, radius)
    axes.set_xlabel("iteration t")
    axes.set_ylabel("error of the location" if y == "location_error" else y.replace("_", " "))
    if xscale == "log":
        power_ticks(axes, "x")
    power_ticks(axes, "y")
    if legend:
        in_legend_order(axes)
    return axes


def _selected(axes: Axes, kept: pd.DataFrame, y: str) -> None:
    for name, part in kept[kept["selected"] > 0].groupby("algorithm"):
        axes.plot(
            part["selected"].astype(float),
            part[y].astype(float),
            "D",
            color="black",
            markersize=5.5,
            markeredgecolor=look_of(str(name)).colour,
            markeredgewidth=1.2,
            zorder=4.0,
        )


def _radius(axes: Axes, radius: float) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, _DEPTH * radius), min(high, 20.0))
    axes.axhline(radius, color=QUIET, linewidth=0.8, linestyle=":", zorder=1.0)
    axes.annotate(
        "radius",
        (1.0, radius),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        xytext=(0.0, -2.0),
        ha="right",
        va="top",
        color=QUIET,
        fontsize=8.5,
    )


def landscape(
    data: pd.DataFrame,
    paths: pd.DataFrame | None = None,
    *,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A map of a loss over two parameters, by powers of ten, with paths of iterates on it.

    Parameters
    ----------
    data : the loss on a grid: columns ``theta_1``, ``theta_2`` and ``gap``, the loss above its minimum,
        for example of ``eb.population.loss``.
    paths : iterates, columns ``algorithm``, ``theta_1`` and ``theta_2``, and ``start`` where there are
        several; their moduli are drawn, since the loss is even.
    legend : whether there is one, where there are paths.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes; a scale of colours stands beside them.

    Examples
    --------
    >>> x, y = np.meshgrid(np.linspace(0.0, 0.7, 80), np.linspace(0.0, 0.7, 80))
    >>> gap = eb.population.loss("diagonal", np.stack([x, y], axis=-1))
    >>> grid = pd.DataFrame({"theta_1": x.ravel(), "theta_2": y.ravel(), "gap": gap.ravel()})
    >>> ax = eb.plot.landscape(grid)
    """
    checks.frame(data, "data", "theta_1", "theta_2", "gap")
    axes = current(ax)
    gap = data.pivot(index="theta_2", columns="theta_1", values="gap")
    filled = axes.contourf(
        gap.columns,
        gap.index,
        np.log10(np.maximum(gap, 10.0 ** (_LEVELS[0] - 3.0))),
        levels=_LEVELS,
        cmap="Greys_r",
        extend="min",
        alpha=0.55,
    )
    figure = axes.get_figure()
    assert figure is not None
    bar = figure.colorbar(filled, ax=axes, shrink=0.9, pad=0.02, ticks=[-8, -6, -4, -2, 0])
    bar.ax.set_yticklabels([power(10.0**k) for k in (-8, -6, -4, -2, 0)])
    bar.set_label("loss above its minimum", fontsize="small")
    if paths is not None:
        checks.frame(paths, "paths", "algorithm", "theta_1", "theta_2")
        _paths(axes, paths if "start" in paths else paths.assign(start=""))
        if legend:
            axes.legend(loc="upper left")
    axes.set_xlim(data["theta_1"].min(), data["theta_1"].max())
    axes.set_ylim(data["theta_2"].min(), data["theta_2"].max())
    axes.set_aspect("equal")
    axes.set_xlabel(r"$\theta_1$")
    axes.set_ylabel(r"$\theta_2$")
    return axes


def _paths(axes: Axes, paths: pd.DataFrame) -> None:
    """Moduli of the iterates; the first algorithm is wide, to show under the others."""
    for place, start in enumerate(dict.fromkeys(paths["start"])):
        dash, marker = _STARTS[place % len(_STARTS)]
        here = paths[paths["start"] == start]
        for number, (name, kind) in enumerate(curves(here, "algorithm").items()):
            path = here[here["algorithm"] == name]
            axes.plot(
                path["theta_1"].abs(),
                path["theta_2"].abs(),
                **{**line(kind), "linestyle": dash, "linewidth": 2.0 if number else 3.6},
                zorder=3.0,
                label=f"{name}, {start} start" if start else name,
            )
        first = here.iloc[0]
        axes.plot(first["theta_1"], first["theta_2"], marker, color="black", ms=6, zorder=4)
