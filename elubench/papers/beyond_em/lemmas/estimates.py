"""What the lemmas' tables are made of: estimates with an uncertainty, and rows that hold them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import t as student

from elubench import checks
from elubench.checks import Floats

#: How an uncertainty was obtained: there is none, it bounds a numerical error, or it is half the width
#: of a 95 % interval over samples.
Basis = Literal["exact", "numerical", "samples"]


class Estimate(NamedTuple):
    """A measured number, how far it may be off, and how that is known."""

    measured: float
    uncertainty: float = 0.0
    basis: Basis = "exact"


COLUMNS = (
    *("lemma", "model", "d", "quantity", "measured", "uncertainty", "basis", "theory", "note"),
)


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
    return Estimate(best, abs(best - second), "numerical")


def exponent(values: Callable[[float], float], r: float) -> Estimate:
    """The exponent of r at 0 of a function r^k (1 + O(r^2)), from local slopes."""
    return limit(lambda x: math.log2(values(x) / values(x / 2)), r)


def slope(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The slope of the least-squares line, with its 95 % interval from the residuals."""
    u, v = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    centred = u - u.mean()
    found = float(centred @ v / (centred @ centred))
    residual = v - float(v.mean() - found * u.mean()) - found * u
    spread = float(residual @ residual) / max(1, u.size - 2)
    return Estimate(
        found, half_width(math.sqrt(spread / float(centred @ centred)), u.size - 2), "samples"
    )


def half_width(error: float, degrees: float = math.inf) -> float:
    """Half the width of the 95 % interval of a standard error, by Student's t; nan without freedom."""
    if degrees < 1:
        return math.nan
    return error * float(student.ppf(0.975, degrees) if math.isfinite(degrees) else ndtri(0.975))


def mean(values: ArrayLike) -> Estimate:
    """The mean of independent values, with its 95 % interval."""
    x = np.asarray(values, dtype=float)
    error = float(x.std(ddof=1)) / math.sqrt(x.size) if x.size > 1 else math.nan
    return Estimate(float(x.mean()), half_width(error, x.size - 1), "samples")


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
