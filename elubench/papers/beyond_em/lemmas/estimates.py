"""What the lemmas' tables are made of: estimates with an uncertainty, and rows that hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats


class Estimate(NamedTuple):
    """A measured number, and how far it may be off."""

    measured: float
    uncertainty: float = 0.0


COLUMNS = ("lemma", "model", "d", "quantity", "measured", "uncertainty", "theory", "note")


class Summary:
    """A summary table of one model, filled row by row."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.rows: list[tuple[object, ...]] = []

    def add(
        self,
        lemma: str,
        d: int,
        quantity: str,
        found: Estimate,
        theory: float = math.nan,
        note: str = "",
    ) -> None:
        """Add a row."""
        self.rows.append((lemma, self.model, d, quantity, *found, theory, note))

    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        return pd.DataFrame(self.rows, columns=list(COLUMNS))


def limit(values: Callable[[float], float], r: float) -> Estimate:
    """The limit at 0 of a function of r^2, from r, r/2 and r/4, and what the last step changed."""
    a, b, c = values(r), values(r / 2), values(r / 4)
    first, second = (4 * b - a) / 3, (4 * c - b) / 3
    best = (16 * second - first) / 15
    return Estimate(best, abs(best - second))


def exponent(values: Callable[[float], float], r: float) -> Estimate:
    """The exponent of r at 0 of a function r^k (1 + O(r^2)), from local slopes."""
    return limit(lambda x: math.log2(values(x) / values(x / 2)), r)


def slope(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The slope of the least-squares line, and its standard error."""
    u, v = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    centred = u - u.mean()
    found = float(centred @ v / (centred @ centred))
    residual = v - float(v.mean() - found * u.mean()) - found * u
    spread = float(residual @ residual) / max(1, u.size - 2)
    return Estimate(found, math.sqrt(spread / float(centred @ centred)))


def axis(r: ArrayLike, d: int) -> Floats:
    """Points r e_1, shape (*r.shape, d)."""
    r = np.asarray(r, dtype=float)
    out = np.zeros((*r.shape, d))
    out[..., 0] = r
    return out


def dimensions(d_values: Sequence[int], least: int = 1) -> list[int]:
    """The values of d, checked."""
    if not len(d_values):
        raise ValueError("d_values must have at least one d, got none")
    return [checks.integer(d, "d", least) for d in d_values]
