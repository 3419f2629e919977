"""What should I use? The cost to the radius and to the sample's own MLE, for all algorithms.

A run is as good as the MLE when its log-likelihood is within ``NEAR`` of the MLE's: no statistician
would notice. When it got there is read from its trace, which has all of its iterates, or 200 of them.
Costs are in units of a plain pass, and expected costs: what all runs spent, until they arrived or ended,
per arrival. This is the mean cost of starting again until a run arrives, so a run that ends at a worse
optimum counts, and no cost jumps where half of the runs do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elubench.algorithms.base import Look
from elubench.plot.style import (
    QUIET,
    in_order,
    label_ends,
    line,
    look_of,
    new_figure,
    power_ticks,
    size,
    styled,
)
from elubench.rates import censoring

#: Log-likelihood that may be missing to the MLE's.
NEAR = 0.01
#: Models and d in the figure and in the table.
SETTINGS = (("isotropic", 1), ("isotropic", 2), ("diagonal", 2), ("general", 2))
_LABELLED = 5  # the best of a panel; the others are grey, but for the two of the paper
_ALWAYS = ("EM", "ELU")
_GREY = Look("0.82", "", "-", 0.8)
_LEAST = 0.2  # the axis of costs begins here: moments cost less than a plain pass
_RUN = ["block", "model", "n", "d", "replicate", "start", "start_norm", "algorithm"]
_TARGETS = {"radius": "to the radius", "mle": "to the MLE"}


def with_mle(rows: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """The rows with ``cost_to_mle``, NaN where a run never was as good as the MLE."""
    joined = traces[[*_RUN, "cost", "gap"]].merge(rows[[*_RUN, "mle_gap"]], on=_RUN)
    there = joined[joined["gap"] - joined["mle_gap"] <= NEAR / joined["n"]]
    first = there.sort_values("cost", kind="stable").drop_duplicates(_RUN)
    found = first[_RUN].assign(cost_to_mle=first["cost"])
    return rows.merge(found, on=_RUN, how="left")


def costs(rows: pd.DataFrame, target: str) -> pd.DataFrame:
    """Expected cost to a target, "radius" or "mle", by algorithm and n; ``censored`` is the share."""
    arrived = rows.assign(reached=rows[f"cost_to_{target}"].notna())
    return censoring.running_times(arrived, f"cost_to_{target}", "cost", quantiles=())


def setting(rows: pd.DataFrame, model: str, d: int, start: str = "") -> pd.DataFrame:
    """The rows of one model and d, from starts of one kind: "equal", "generic", or "far"."""
    some = rows[(rows["model"] == model) & (rows["d"] == d)]
    far = some["block"] == "far"
    if start:
        some = some[far if start == "far" else (some["start"] == start) & ~far]
    return some


def best(rows: pd.DataFrame, count: int = _LABELLED, target: str = "mle") -> list[str]:
    """Algorithms with the lowest expected cost at the largest n, the best first."""
    table = costs(rows[rows["n"] == rows["n"].max()], target)
    table = table[np.isfinite(table["expected"])]
    return list(table.sort_values("expected", kind="stable")["algorithm"][:count])


@styled
def choice_figure(rows: pd.DataFrame, settings: Sequence[tuple[str, int]] = SETTINGS) -> Figure:
    """A row of panels per model and d: cost to the radius, to the MLE, and its distribution.

    The first two are expected costs against n from generic starts; the third has all starts at the
    largest n, equal, generic and far. The five best of a panel are named, EM and ELU always.

    Parameters
    ----------
    rows : of the study ``rivals``, from :func:`with_mle`.
    """
    figure, panels = new_figure(3, len(settings), height=2.45)
    for place, (model, d) in enumerate(settings):
        left, middle, right = panels[3 * place : 3 * place + 3]
        generic = setting(rows, model, d, "generic")
        for axes, target in ((left, "radius"), (middle, "mle")):
            _draw_costs(axes, generic, target)
            axes.set_title(f"{model}, d = {d}: {_TARGETS[target]}")
        left.set_ylabel("cost, in plain passes")
        largest = setting(rows, model, d)
        largest = largest[largest["n"] == largest["n"].max()]
        _draw_shares(right, largest)
        right.set_title(f"n = {size(largest['n'].iloc[0])}, all starts")
        right.set_ylabel("share at the MLE")
    for axes in panels[-3:-1]:
        axes.set_xlabel("sample size n")
    panels[-1].set_xlabel("cost, in plain passes")
    return figure


def _curve(kind: Look, seen: bool) -> dict[str, Any]:
    """Of an algorithm that is named, or of one that stands grey behind."""
    return {**line(kind if seen else _GREY), "zorder": 3.0 if seen else 1.0}


def _draw_costs(axes: Axes, rows: pd.DataFrame, target: str) -> None:
    named = {*best(rows, target=target), *_ALWAYS}
    table, ends = costs(rows, target), []
    for name in in_order(table["algorithm"]):
        kind, seen = look_of(name), name in named
        curve = table[table["algorithm"] == name].sort_values("n")
        curve = curve[np.isfinite(curve["expected"])]
        if curve.empty:
            continue
        axes.plot(
            curve["n"],
            curve["expected"].clip(lower=_LEAST),
            marker=kind.marker if seen else "",
            **_curve(kind, seen),
        )
        if seen:
            last = curve.iloc[-1]
            ends.append((name, float(last["n"]), max(float(last["expected"]), _LEAST)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(_LEAST, None)
    label_ends(axes, ends, room=0.46)
    power_ticks(axes, "x", 4, upto=float(rows["n"].max()))
    power_ticks(axes, "y", 6)


def _draw_shares(axes: Axes, rows: pd.DataFrame) -> None:
    named = {*best(rows), *_ALWAYS}
    arrived = rows.assign(reached=rows["cost_to_mle"].notna())
    table = censoring.run_time_distribution(arrived, "cost_to_mle", "cost")
    for name in in_order(table["algorithm"]):
        kind, seen, curve = look_of(name), name in named, table[table["algorithm"] == name]
        axes.step(
            curve["cost"].clip(lower=_LEAST),
            curve["share"],
            where="post",
            **_curve(kind, seen),
        )
        if seen:
            last = curve.iloc[int(np.argmax(curve["share"].to_numpy()))]
            axes.plot(
                max(last["cost"], _LEAST), last["share"], kind.marker, color=kind.colour, zorder=4.0
            )
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, 3e3)
    axes.set_ylim(0.0, 1.04)
    axes.axhline(1.0, color=QUIET, linewidth=0.5, zorder=0.5)
    power_ticks(axes, "x", 4)


def choice_table(
    rows: pd.DataFrame, settings: Sequence[tuple[str, int]] = SETTINGS
) -> pd.DataFrame:
    """Expected cost to the MLE from generic starts at the largest n: algorithms x settings, as text.

    In brackets the share of runs that never got there; the last column is that share over all settings,
    starts and n.
    """
    made = {}
    for model, d in settings:
        some = setting(rows, model, d, "generic")
        table = costs(some[some["n"] == some["n"].max()], "mle").set_index("algorithm")
        made[f"{model}, d = {d}"] = table.apply(_said, axis=1)
    frame = pd.DataFrame(made)
    partial = frame.isna().any(axis=1)  # not an algorithm for every model: last
    chosen = pd.concat([setting(rows, model, d) for model, d in settings])
    arrived = chosen["cost_to_mle"].notna().groupby(chosen["algorithm"]).mean()
    frame["never there"] = [f"{1.0 - arrived[name]:.0%}" for name in frame.index]
    order = sorted(frame.index, key=lambda name: (partial[name], -arrived[name]))
    return frame.loc[order].fillna("–")  # noqa: RUF001


def _said(found: pd.Series[float]) -> str:
    cost, lost = float(found["expected"]), float(found["censored"])
    if not math.isfinite(cost):
        return "never"
    text = f"{cost:,.3g}" if cost < 1000 else f"{cost:,.0f}"
    return f"{text} ({lost:.0%})" if lost else text
