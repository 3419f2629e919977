"""The contest of growth laws, drawn: each law fitted to the smaller n and extended to the largest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench import rates
from elubench.checks import Floats
from elubench.report.style import (
    QUIET,
    _spread,
    legend_below,
    look_of,
    new_figure,
    power_ticks,
    styled,
)

#: How many of the largest n the laws have to predict; as for the claims.
HOLDOUT = 2

_SHORT = {"logarithm": "ln", "power": "power", "power of the logarithm": "power of ln"}
_PRINTED = {
    "logarithm": r"$a + b\,\ln n$",
    "power": r"$a\,n^b$",
    "power of the logarithm": r"$a\,(\ln n)^b$",
}
_DASHES = {"logarithm": "-", "power": (0, (5.0, 2.0)), "power of the logarithm": (0, (1.0, 1.2))}


def law_at(law: str, a: float, b: float, n: npt.ArrayLike) -> Floats:
    """A law of :data:`elubench.rates.LAWS` at n."""
    size = np.asarray(n, dtype=float)
    if law == "logarithm":
        found = a + b * np.log(size)
    elif law == "power":
        found = a * size**b
    else:
        found = a * np.log(size) ** b
    return np.asarray(found, dtype=np.float64)


@styled
def contest_figure(rows: pd.DataFrame) -> Figure:
    """Iterations to the radius of EM and ELU with the three laws, a row of panels for each d.

    Laws are fitted to the filled markers and have to predict the hollow ones; bars at the largest n
    are 95 % intervals of the predictions.
    """
    dimensions = sorted(rows["d"].unique())
    figure, panels = new_figure(2, len(dimensions), height=3.0)
    for number, d in enumerate(dimensions):
        for axes, name in zip(panels[2 * number : 2 * number + 2], ("EM", "ELU"), strict=True):
            part = rows[(rows["d"] == d) & (rows["algorithm"] == name)]
            draw_contest(axes, part, name)
            axes.set_title(f"{name}, d = {d}")
    for axes in panels[-2:]:
        axes.set_xlabel("sample size n")
    for axes in panels[::2]:
        axes.set_ylabel("iterations to the radius")
    legend_below(
        figure,
        [
            Line2D([], [], color=QUIET, ls=dash, lw=1.3, label=_PRINTED[law])
            for law, dash in _DASHES.items()
        ],
    )
    return figure


def draw_contest(axes: Axes, rows: pd.DataFrame, name: str) -> None:
    """One panel: rows of one algorithm and d."""
    found = rates.growth(rows, holdout=HOLDOUT)
    known = found.sizes[found.sizes["used"] != ""]
    fit, held = known[known["used"] == "fit"], known[known["used"] == "held out"]
    first, last = float(fit["n"].min()), float(held["n"].max())
    kind = look_of(name)
    axes.plot(fit["n"], fit["median"], kind.marker, color=kind.colour, ms=5.5, zorder=3.0)
    axes.plot(
        held["n"], held["median"], kind.marker, color=kind.colour, mfc="white", ms=7.0, zorder=3.0
    )
    smaller = rates.growth(rows[rows["n"].isin(fit["n"])], holdout=1)
    grid = np.geomspace(first, last, 200)
    for law in found.laws.index:
        a, b = smaller.laws.loc[[law], ["a", "b"]].to_numpy(dtype=float)[0]
        curve = law_at(str(law), a, b, grid)
        shown = np.where(curve > 0.3, curve, np.nan)
        axes.plot(grid, shown, linestyle=_DASHES[str(law)], color=QUIET, lw=1.3)
    axes.set_xscale("log")
    axes.set_xlim(first / (last / first) ** 0.05, last * (last / first) ** 0.5)
    if name == "EM":
        axes.set_yscale("log")
        axes.set_ylim(0.5 * float(fit["median"].min()), None)
        power_ticks(axes, "y")
    else:
        axes.set_ylim(0.0, None)
    _predictions(axes, found.laws, last, last * (last / first) ** 0.07)
    power_ticks(axes, "x", upto=last)


def _predictions(axes: Axes, laws: pd.DataFrame, last: float, x: float) -> None:
    """Intervals of the laws' predictions beside the curves, and their relative errors."""
    laws = laws.sort_values("predicted")
    to_axes = axes.transData + axes.transAxes.inverted()
    middle = [float(to_axes.transform((last, y))[1]) for y in laws["predicted"]]
    places = _spread(middle, 0.062)
    right = float(to_axes.transform((x, 1.0))[0]) + 0.05
    for place, (law, row) in zip(places, laws.iterrows(), strict=True):
        axes.vlines(x, row["predicted_low"], row["predicted_high"], color=QUIET, lw=1.6)
        axes.plot(x, row["predicted"], "_", color=QUIET, ms=7)
        error = 100.0 * row["error"]
        said = f"{error:+.0f}" if abs(error) >= 9.5 else f"{error:+.1f}"
        axes.annotate(
            f"{_SHORT[str(law)]}  {said.replace('-', '−')} %",  # noqa: RUF001
            (x, row["predicted"]),
            textcoords="axes fraction",
            xytext=(right, place),
            va="center",
            fontsize=8.0,
            arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.5, "shrinkB": 4.0},
        )
