"""Verdicts as a picture: what was measured, in units of what agrees with each claim."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from elubench import checks
from elubench.plot.hues import current
from elubench.verification.verdicts import VERDICTS

#: Colour, marker and face of a verdict.
_LOOKS = {
    "supported": ("#0072b2", "o", "#0072b2"),
    "contradicted": ("#d55e00", "X", "#d55e00"),
    "inconclusive": ("0.35", "s", "white"),
}
_REACH = 3.0  # how far the axis goes, in units of half the region
_REGION = "0.87"


def verdicts(data: pd.DataFrame, *, legend: bool = True, ax: Axes | None = None) -> Axes:
    """What was measured for each claim, beside the values that agree with it.

    A row per claim with a measurement. The grey bar is the region of values that agree, scaled to
    [-1, 1]; the marker and its line are the decisive measurement and its 95 % interval. What lies
    beyond the axis is drawn at its end, as an arrow.

    Parameters
    ----------
    data : ``eb.verify(...).table`` or ``eb.load_verification(...).table``, or some of its rows:
        columns ``claim``, ``verdict``, ``measured``, ``low``, ``high``, ``theory``, ``least`` and
        ``most``.
    legend : whether there is one.
    ax : axes to draw on; by default the current ones.

    Returns
    -------
    The axes.

    Examples
    --------
    >>> eb.plot.verdicts(eb.load_verification("verification").table)  # doctest: +SKIP
    """
    numbers = ("measured", "low", "high", "theory", "least", "most")
    checks.frame(data, "data", "claim", "verdict", *numbers)
    axes, rows = current(ax), data[data["measured"].notna()].reset_index(drop=True)
    for place, (_, row) in enumerate(rows.iterrows()):
        here = {name: float(row[name]) for name in numbers}
        colour, marker, face = _LOOKS[str(row["verdict"])]
        left, right, value, low, high = _scaled(here)
        axes.plot([left, right], [place, place], color=_REGION, lw=7.0, solid_capstyle="butt")
        axes.plot([low, high], [place, place], color=colour, lw=1.4)
        if abs(value) > _REACH:
            marker = ">" if value > 0.0 else "<"
        axes.plot(
            np.clip(value, -_REACH, _REACH), place, marker, color=colour, mfc=face, clip_on=False
        )
    axes.set_yticks(range(len(rows)), rows["claim"])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-_REACH, _REACH)
    axes.axvline(0.0, color=_REGION, lw=0.8, zorder=0.5)
    axes.set_xlabel("measured, in units of the region that agrees")
    if legend:
        handles: list[Any] = [Patch(color=_REGION, label="agrees")]
        for verdict in VERDICTS:
            if verdict in _LOOKS and (rows["verdict"] == verdict).any():
                colour, marker, face = _LOOKS[verdict]
                handles.append(Line2D([], [], color=colour, marker=marker, mfc=face, label=verdict))
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return axes


def _scaled(row: dict[str, float]) -> list[float]:
    """Both ends of the region, the value and both ends of its interval, the region at [-1, 1].

    A region with one border has it at 1 or -1, and is as wide as the border is from what theory
    states, or from 0. One without width, or without borders, is as wide as the interval.
    """
    least, most = row["least"], row["most"]
    middle, half = 0.5 * (least + most), 0.5 * (most - least)
    if math.isinf(least) != math.isinf(most):
        border = most if math.isinf(least) else least
        stated = row["theory"] if math.isfinite(row["theory"]) else 0.0
        half = abs(border - stated) or abs(border)
        middle = border - half if math.isinf(least) else border + half
    elif math.isinf(least):
        middle, half = row["measured"], row["high"] - row["low"]
    half = half or abs(row["measured"] - middle) or 1.0

    def placed(value: float) -> float:
        return float(np.clip((value - middle) / half, -2.0 * _REACH, 2.0 * _REACH))

    return [placed(value) for value in (least, most, row["measured"], row["low"], row["high"])]
