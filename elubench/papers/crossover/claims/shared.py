"""What the claims share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd

PLACE = "theory.py"


def where_of(d: int, a: float) -> str:
    """Which d and a a measurement is about."""
    return f"d = {d}, a = {Fraction(a).limit_denominator(64)}"


def pairs(table: pd.DataFrame, one: str, two: str) -> list[tuple[Any, Any]]:
    """The pairs of values of two columns."""
    return sorted(set(zip(table[one], table[two], strict=True)))


def sizes_of(table: pd.DataFrame) -> str:
    """From which n to which n a table goes."""
    return f"n = {table['n'].min():.0e} to {table['n'].max():.0e}".replace("e+", "e")
