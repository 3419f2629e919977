"""The laws of growth: their formulas, their fit in ln count, and what they predict."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elubench.checks import Floats
from elubench.rates.resampling import least_squares

#: The laws of the growth contest, in the order of their names.
LAWS = {
    "logarithm": "a + b ln n",
    "power": "a n^b",
    "power of the logarithm": "a (ln n)^b",
}

_POWERS = np.linspace(0.01, 4.0, 400)  # of ln n, that are tried


class Points(NamedTuple):
    """What laws are fitted to: ln n, ln count (sizes,), its resamples (resamples, sizes), weights."""

    x: Floats
    y: Floats
    drawn: Floats
    weight: Floats

    def part(self, which: slice) -> Points:
        """Some of the sizes."""
        return Points(self.x[which], self.y[which], self.drawn[:, which], self.weight[which])


def fit(law: str, points: Points) -> tuple[Floats, Floats]:
    """a and b by weighted least squares in ln count: of the estimate first, then of each resample."""
    x, y, drawn, weight = points
    rows = np.vstack([y, drawn])
    if law == "logarithm":
        return _fit_logarithm(x, rows, weight)
    line = least_squares(np.log(x) if law == "power of the logarithm" else x, weight, 1)
    return np.exp(rows @ line[0]), rows @ line[1]


def _fit_logarithm(x: Floats, rows: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """a + b x = c (1 + g (x - mean x)): c in closed form, g by golden section.

    g lies where the law is positive at every x, a finite interval; a grid brackets the minimum.
    """
    share, middle = weight / np.sum(weight), np.mean(x)
    away = x - middle
    least, width = -1.0 / away[-1], 1.0 / away[-1] - 1.0 / away[0]
    centred = rows - (rows @ share)[:, None]

    def loss(places: Floats) -> Floats:
        shape = np.log1p((least + width * places)[:, None] * away)
        return np.asarray(((centred - shape + (shape @ share)[:, None]) ** 2) @ share)

    cells = 32
    shapes = np.log1p((least + width * (np.arange(cells) + 0.5) / cells)[:, None] * away)
    shapes -= (shapes @ share)[:, None]
    best = np.argmin((shapes**2 @ share)[:, None] - 2.0 * (shapes * share) @ centred.T, axis=0)
    low, high = best / cells - 0.5 / cells, (best + 1.5) / cells
    low, high = np.maximum(low, 1e-12), np.minimum(high, 1.0 - 1e-12)
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(30):
        smaller = at_left < at_right
        low, high = np.where(smaller, low, left), np.where(smaller, right, high)
        kept, at_kept = np.where(smaller, left, right), np.where(smaller, at_left, at_right)
        new = np.where(smaller, high - golden * (high - low), low + golden * (high - low))
        at_new = loss(new)
        left, right = np.where(smaller, new, kept), np.where(smaller, kept, new)
        at_left, at_right = (
            np.where(smaller, at_new, at_kept),
            np.where(smaller, at_kept, at_new),
        )
    slope = least + width * 0.5 * (low + high)
    shape = np.log1p(slope[:, None] * away)
    scale = np.exp(rows @ share - shape @ share)
    return scale * (1.0 - slope * middle), scale * slope


def log_power(points: Points) -> Floats:
    """p of `a + b (ln n)^p` by weighted least squares: of the estimate first, then of each resample."""
    x, y, drawn, weight = points
    counts = np.exp(np.vstack([y, drawn]))
    root = np.sqrt(weight / np.exp(2.0 * y))  # weights are of ln count
    columns = np.stack([np.ones((len(_POWERS), len(x))), x ** _POWERS[:, None]], axis=-1)
    basis, _ = np.linalg.qr(columns * root[:, None])
    explained = np.sum(((counts * root) @ basis) ** 2, axis=-1)
    return np.asarray(_POWERS[np.argmax(explained, axis=0)])


def log_law(law: str, a: Floats, b: Floats, x: float) -> Floats:
    """ln law at ln n = x; a line that has fallen to 0 is kept just above it."""
    if law == "logarithm":
        return np.log(np.maximum(a + b * x, 1e-3))
    return np.log(a) + b * (math.log(x) if law == "power of the logarithm" else x)
