"""The figure of a comparison: time per row and EM iteration, and time to the answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from elubench.peers.base import Peer
from elubench.peers.known import ELUBENCH, LIMITS, PEERS
from elubench.plot import style

_LOOKS = {peer.name: peer.look for peer in PEERS}
_OTHER = Peer.look  # of a peer that is not in the package
_LIMIT: dict[str, Any] = {"color": "0.55", "linestyle": "-", "linewidth": 5.0, "alpha": 0.5}
_LINE = 0.19  # inches per way to the answer
_COLUMNS = 4


@style.styled
def peers_figure(rows: pd.DataFrame) -> Figure:
    """Draw the rows of a comparison.

    Parameters
    ----------
    rows : of ``elubench.peers.compare`` or ``elubench.peers.load``.
    """
    good = rows[(rows["target"] == "iteration") & (rows["status"] == "ok")]
    widths = sorted(set(good["d"]))
    answers = rows[rows["part"] == "answer"]
    samples = list(dict.fromkeys(zip(answers["n"], answers["d"], strict=True)))
    if not widths and not samples:
        raise ValueError("nothing to draw: no measurement succeeded")
    above, below = math.ceil(len(widths) / _COLUMNS), math.ceil(len(samples) / 2)
    names = list(dict.fromkeys(zip(answers["peer"], answers["label"], strict=True)))
    heights = [2.6] * above + [0.75 + _LINE * len(names)] * below
    figure = Figure(figsize=(style.WIDTH, sum(heights) + 0.5), dpi=style.DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grids = figure.add_gridspec(above + below, 1, height_ratios=heights)
    for number in range(above):
        some = widths[number * _COLUMNS : (number + 1) * _COLUMNS]
        panels = grids[number].subgridspec(1, len(some)).subplots(sharey=True, squeeze=False)[0]
        for axes, d in zip(panels, some, strict=True):
            _iterations(axes, good[good["d"] == d], d)
        panels[0].set_ylabel("ns per row and EM iteration")
    for number in range(below):
        pair = samples[2 * number : 2 * number + 2]
        columns = min(2, len(samples))
        grid = grids[above + number].subgridspec(1, columns)
        panels = grid.subplots(sharey=True, squeeze=False)[0]
        for axes, (n, d) in zip(panels, pair, strict=False):
            _answers(axes, answers[(answers["n"] == n) & (answers["d"] == d)], names)
            axes.set_title(f"to the answer, n = {style.size(n)}, d = {d}")
        for axes in panels[len(pair) :]:
            axes.remove()
    style.legend_below(figure, _handles(rows), 5)
    return figure


def save_peers_figure(rows: pd.DataFrame, path: Any) -> None:
    """Write :func:`peers_figure` to a PNG file."""
    with open(path, "wb") as file:
        file.write(style.as_png(peers_figure(rows)))


def _iterations(axes: Axes, rows: pd.DataFrame, d: int) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = float(rows["n"].min()), float(rows["n"].max())
    axes.set_xlim(0.5 * low, 2.0 * high)
    limits = rows[rows["peer"].isin([peer.name for peer in LIMITS])]
    if len(limits):
        larger = limits.groupby("n")["seconds"].max()
        n = larger.index.to_numpy(dtype=float)
        y = 1e9 * larger.to_numpy() / n
        if len(n) == 1:  # a short line where there is one size
            n, y = n * np.array([0.6, 1.0, 1.7]), np.repeat(y, 3)
        axes.plot(n, y, solid_capstyle="butt", zorder=1.5, **_LIMIT)
    for name, some in rows[~rows.index.isin(limits.index)].groupby("peer", sort=False):
        kind = _LOOKS.get(str(name), _OTHER)
        n = some["n"].to_numpy(dtype=float)
        y, under, over = (
            1e9 * some[column].to_numpy(dtype=float) / n
            for column in ("seconds", "seconds_low", "seconds_high")
        )
        axes.errorbar(
            n,
            y,
            yerr=[y - under, over - y],
            marker=kind.marker,
            capsize=2.0,
            zorder=3.0 if name == ELUBENCH.name else 2.0,
            **style.line(kind),
        )
    axes.set_title(f"d = {d}")
    axes.set_xlabel("n")
    if low == high:
        axes.xaxis.set_major_locator(FixedLocator([low]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.size(x)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        style.power_ticks(axes, "x", 5)
    style.power_ticks(axes, "y", 5)


def _answers(axes: Axes, rows: pd.DataFrame, names: list[tuple[str, str]]) -> None:
    """Filled: the radius; hollow: the loss; an arrow: not reached."""
    axes.set_xscale("log")
    seen = rows["seconds"].dropna()
    if len(seen):
        axes.set_xlim(0.5 * float(seen.min()), 4.0 * float(seen.max()))
    for place, (peer, label) in enumerate(names):
        kind = _LOOKS.get(peer, _OTHER)
        own = rows[(rows["peer"] == peer) & (rows["label"] == label)]
        for target, filled in (("loss", False), ("radius", True)):
            for row in own[own["target"] == target].to_dict("records"):
                if row["status"] in ("ok", "budget"):
                    axes.plot(
                        row["seconds"],
                        place,
                        marker="o" if row["status"] == "ok" else ">",
                        color=kind.colour,
                        markerfacecolor=kind.colour if filled else "white",
                        markersize=5.0 if filled else 6.5,
                        linestyle="none",
                        zorder=3.0 if filled else 2.5,
                    )
        if len(own) and own["seconds"].isna().all():
            failed = own.loc[own["status"].isin(["crashed", "timed out", "wrong"]), "status"]
            text = str(failed.iloc[0]) if len(failed) else "reaches neither"
            axes.annotate(
                text, (0.99, place), xycoords=("axes fraction", "data"), ha="right", va="center",
                fontsize=8.0, color=style.QUIET,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            )  # fmt: skip
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.yaxis.set_major_locator(FixedLocator(range(len(names))))
    axes.set_yticklabels([f"{peer} {label}" for peer, label in names])
    axes.tick_params(axis="y", length=0.0)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("seconds")
    style.power_ticks(axes, "x", 6)


def _handles(rows: pd.DataFrame) -> list[Line2D]:
    drawn = rows[(rows["target"] == "iteration") & (rows["status"] == "ok")]
    limits = {peer.name for peer in LIMITS}
    handles = []
    for name in dict.fromkeys(drawn["peer"]):
        if name not in limits:
            kind = _LOOKS.get(name, _OTHER)
            handles.append(Line2D([], [], marker=kind.marker, label=name, **style.line(kind)))
    if limits & set(drawn["peer"]):
        handles.append(Line2D([], [], label="the hardware's limit", **_LIMIT))
    if (rows["part"] == "answer").any():
        dot: dict[str, Any] = {"color": "0.3", "linestyle": "none", "marker": "o"}
        hollow = dot | {"markersize": 6.5, "markerfacecolor": "white"}
        handles.append(Line2D([], [], label="to the radius", **dot))
        handles.append(Line2D([], [], label="to the loss", **hollow))
        if (rows["status"] == "budget").any():
            handles.append(Line2D([], [], label="not reached", **hollow | {"marker": ">"}))
    return handles
