"""Errors and counts against n: the power that fits them, and the laws that compete for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from elubench import checks
from elubench import rates as fits
from elubench.algorithms.base import Look
from elubench.checks import Floats
from elubench.plot.hues import current, curves, named, one_of
from elubench.plot.radius import in_legend_order
from elubench.plot.style import (
    QUIET,
    fraction,
    line,
    log_axes,
    look_of,
    power_ticks,
    slope_line,
    spread,
)
from elubench.rates.exponents import error_points, errors_by
from elubench.rates.resampling import Resampling
from elubench.text import with_interval

_SHORT = {"logarithm": "ln", "power": "power", "power of the logarithm": "power of ln"}
_PRINTED = {
    "logarithm": r"$a + b\,\ln n$",
    "power": r"$a\,n^b$",
    "power of the logarithm": r"$a\,(\ln n)^b$",
}
_DASHES = {"logarithm": "-", "power": (0, (5.0, 2.0)), "power of the logarithm": (0, (1.0, 1.2))}
_HOW = Resampling(level=0.95, resamples=1000, seed=0)
_BELOW = 0.75  # of the lowest point, where a line of theory is drawn


def rates(
    data: pd.DataFrame,
    y: str = "location_error",
    *,
    x: str = "n",
    hue: str = "algorithm",
    statistic: str | float = "rmse",
    fit: bool = True,
    theory: float | Mapping[Any, float] | None = None,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """How a power of n fits errors: points with intervals, fitted lines, and the slope of theory.

    The legend has the exponents with their 95 % bootstrap intervals, those of ``eb.fit_rates``.

    Parameters
    ----------
    data : rows of runs, of one model and start; replicates share a value of ``x``.
    y : the column of errors, or of any other positive number.
    x : the column of n, or d.
    hue : the column that tells curves apart, "algorithm" or for example "d".
    statistic : "rmse", "mean", or a number between 0 and 1: that quantile over replicates.
    fit : whether there are fitted lines; without them, points are connected and have no intervals.
    theory : the exponent that theory states, or a mapping from values of ``hue`` to it; drawn dashed.
    legend : whether there is one.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes, both logarithmic. A curve on which no line can be fitted (one n, one replicate) is
    connected.

    Examples
    --------
    >>> eb.plot.rates(rows, "location_error", theory=-1 / 8)  # doctest: +SKIP
    >>> eb.plot.rates(rows, "scale_error", hue="d", theory={1: -1 / 4, 2: -1 / 2})  # doctest: +SKIP
    """
    checks.frame(data, "data", x, y, hue)
    one_of(data, *({"d"} - {x, hue}))
    axes = current(ax)
    levels = {}
    for value, kind in reversed(curves(data, hue).items()):
        rows = data[data[hue] == value]
        drawn = fit and _fitted(axes, rows, (x, y, statistic), kind, named(hue, value))
        levels[value] = statistic_of(rows, y, x, statistic)
        if not drawn:
            axes.plot(
                levels[value].index,
                levels[value],
                marker=kind.marker,
                label=named(hue, value),
                **line(kind),
            )
    log_axes(axes)
    if isinstance(theory, Mapping):
        named_already: set[float] = set()
        for value in levels:  # the last of the legend is lowest as a rule
            if value in theory:
                _theory(axes, levels[value], theory[value], theory[value] in named_already)
                named_already.add(theory[value])
    elif theory is not None and not math.isnan(theory):
        _theory(axes, pd.concat(levels.values(), axis=1).min(axis=1), theory, False)
    axes.set_xlabel({"n": "sample size n", "d": "dimension d"}.get(x, x))
    axes.set_ylabel(y.replace("_", " "))
    if legend:
        in_legend_order(axes)
    return axes


def statistic_of(
    rows: pd.DataFrame, column: str, by: str = "n", statistic: str | float = "rmse"
) -> pd.Series[float]:
    """Over replicates, at each value of ``by``; what cannot stand on a logarithmic axis is left out."""
    errors = rows[column].astype(float)
    if statistic == "rmse":
        found = (errors**2).groupby(rows[by]).mean() ** 0.5
    elif statistic == "mean":
        found = errors.groupby(rows[by]).mean()
    else:
        found = errors.groupby(rows[by]).quantile(float(statistic))
    return found[np.isfinite(found) & (found > 0.0)]


def _fitted(
    axes: Axes, rows: pd.DataFrame, what: tuple[str, str, str | float], kind: Look, label: str
) -> bool:
    """Points with intervals and the line of their exponent, if there are enough for one."""
    x, y, statistic = what
    try:
        found = fits.exponent(rows, y, x, statistic)
    except fits.TooLittle:
        return False
    points = error_points(errors_by(rows, y, x)[0], statistic, _HOW, y, x)
    low, high = np.exp(_HOW.interval(points.drawn))
    middle = found.statistics
    bars = np.stack([np.maximum(0.0, middle - low), np.maximum(0.0, high - middle)])
    slope = " ".join(with_interval(*found.interval))
    axes.plot(found.at, found.predict(found.at), **line(kind))
    axes.errorbar(
        found.at,
        middle,
        yerr=bars,
        color=kind.colour,
        marker=kind.marker,
        linestyle="",
        elinewidth=1.0,
        label=f"{label}: {slope}".replace("-", "−"),  # noqa: RUF001
    )
    return True


def _theory(axes: Axes, points: pd.Series[float], slope: float, nameless: bool) -> None:
    """A line with the slope of theory, under the points."""
    if len(points) < 2:
        return
    n = points.index.to_numpy(dtype=float)
    offset = _BELOW * float(np.min(points.to_numpy() / n**slope))
    text = "" if nameless else f"slope {fraction(slope)}"
    slope_line(axes, (n[0], n[-1]), (n[0], offset * n[0] ** slope), slope, text, above=False)


def growth(
    data: pd.DataFrame,
    spent: str = "iterations",
    *,
    holdout: int = 2,
    yscale: Literal["log", "linear"] = "log",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A contest of growth laws: each is fitted to the smaller n and has to predict the largest.

    Filled markers are medians by Kaplan-Meier in the fit, hollow ones are held out. At the right are the
    95 % intervals of the predictions for the largest n, and their errors.

    Parameters
    ----------
    data : rows of runs of one algorithm to the radius, of one model and d.
    spent : "iterations", "passes" or "cost".
    holdout : how many of the largest n the laws do not see.
    yscale : "log" or "linear".
    legend : whether there is one, of the laws.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes.

    Examples
    --------
    >>> eb.plot.growth(rows[rows["algorithm"] == "ELU"], yscale="linear")  # doctest: +SKIP
    """
    checks.frame(data, "data", "algorithm", "n", f"{spent}_to_radius", spent)
    checks.choice(yscale, "yscale", ("log", "linear"))
    one_of(data, "algorithm", "model", "d")
    axes = current(ax)
    found = fits.growth(data, f"{spent}_to_radius", spent, holdout=holdout)
    known = found.sizes[found.sizes["used"] != ""]
    fitted, held = known[known["used"] == "fit"], known[known["used"] == "held out"]
    first, last = float(fitted["n"].min()), float(held["n"].max())
    kind = look_of(str(data["algorithm"].iloc[0]))
    points: dict[str, Any] = {"color": kind.colour, "zorder": 3.0}
    axes.plot(fitted["n"], fitted["median"], kind.marker, ms=5.5, **points)
    axes.plot(held["n"], held["median"], kind.marker, mfc="white", ms=7.0, **points)
    smaller = fits.growth(data[data["n"].isin(fitted["n"])], f"{spent}_to_radius", spent, holdout=1)
    grid = np.geomspace(first, last, 200)
    for law in found.laws.index:
        a, b = smaller.laws.loc[[law], ["a", "b"]].to_numpy(dtype=float)[0]
        curve = law_at(str(law), a, b, grid)
        shown = np.where(curve > 0.3, curve, np.nan)
        axes.plot(
            grid, shown, linestyle=_DASHES[str(law)], color=QUIET, lw=1.3, label=_PRINTED[str(law)]
        )
    axes.set_xscale("log")
    axes.set_yscale(yscale)
    axes.set_xlim(first / (last / first) ** 0.05, last * (last / first) ** 0.5)
    axes.set_ylim(0.5 * float(fitted["median"].min()) if yscale == "log" else 0.0, None)
    _predictions(axes, found.laws, last, last * (last / first) ** 0.07)
    axes.set_xlabel("sample size n")
    axes.set_ylabel(f"{spent} to the radius")
    power_ticks(axes, "x", upto=last)
    if yscale == "log":
        power_ticks(axes, "y")
    if legend:
        axes.legend(loc="upper left")
    return axes


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


def _predictions(axes: Axes, laws: pd.DataFrame, last: float, x: float) -> None:
    """Intervals of the laws' predictions beside the curves, and their relative errors."""
    laws = laws.sort_values("predicted")
    to_axes = axes.transData + axes.transAxes.inverted()
    middle = [float(to_axes.transform((last, y))[1]) for y in laws["predicted"]]
    places = spread(middle, 0.062)
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
