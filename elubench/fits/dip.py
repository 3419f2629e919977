"""Hartigan's dip: how far the empirical distribution is from every unimodal one.

J. A. Hartigan and P. M. Hartigan, The dip test of unimodality, Annals of Statistics 13 (1985), 70-84. A
unimodal distribution function is convex up to its mode and concave from there on. The greatest convex
minorant and the least concave majorant of the data bracket it; the mode is where the two are furthest
apart, and the interval around it shrinks until nothing more is gained.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.kernels import ready
from elubench.kernels.hull import lower_hull

# 95 % points of sqrt(n) dip for n uniform draws, the hardest unimodal ones to tell from two modes
_ROWS = (10, 30, 100, 300, 1000)
_POINTS = (0.442, 0.482, 0.510, 0.526, 0.539)


def _minorant(x: Floats, y: Floats) -> Any:
    kept = np.empty(len(x), dtype=np.int64)
    return kept[: ready(lower_hull)(x, y, kept)]


def dip(values: Floats) -> float:
    """The dip of n sorted values: between 1/(2n), for one mode, and 1/4, for two atoms."""
    n = len(values)
    below, above = np.arange(n) / n, np.arange(1, n + 1) / n
    low, high, found = 0, n - 1, 1.0 / n
    while True:
        part = slice(low, high + 1)
        x, under, over = values[part], below[part], above[part]
        convex, concave = _minorant(x, under), _minorant(x, -over)
        lower, upper = (
            np.interp(x, x[convex], under[convex]),
            np.interp(x, x[concave], over[concave]),
        )
        knots = np.union1d(convex, concave)
        apart = (upper - lower)[knots]
        widest = int(knots[np.argmax(apart)])
        if float(apart.max()) <= found:
            return 0.5 * found
        left = int(convex[np.searchsorted(convex, widest, "right") - 1])
        right = int(concave[np.searchsorted(concave, widest, "left")])
        found = max(
            found,
            float(np.max((over - lower)[: left + 1])),
            float(np.max((upper - under)[right:])),
        )
        if (left, right) == (0, high - low):
            return 0.5 * found
        low, high = low + left, low + right


def dip_limit(n: int) -> float:
    """The 95 % point of the dip of n values with one mode."""
    return float(np.interp(math.log(n), np.log(_ROWS), _POINTS)) / math.sqrt(n)
