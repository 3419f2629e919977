"""Colour, marker and dash of each curve: an algorithm's own, or those of its place in an order."""

from __future__ import annotations

import numbers
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elubench import checks
from elubench.algorithms.base import Look
from elubench.plot.style import in_order, look_of, shade

#: For curves that are told apart by words, and for the second, third, ... of one look.
MORE = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "v"), ("#56b4e9", "P"))
_MARKERS = "os^Dv"  # of numbers in an order


def looks(data: pd.DataFrame, hue: str = "algorithm") -> dict[str, Any]:
    """How seaborn draws the algorithms in a table as all figures of this package do.

    Parameters
    ----------
    data : a table with a column of algorithms, or of anything else that tells curves apart.
    hue : the name of that column.

    Returns
    -------
    Options for ``sns.lineplot``, ``sns.scatterplot`` and ``sns.relplot``: ``hue`` and ``style`` with
    their orders, ``palette``, ``markers`` and ``dashes``.

    Examples
    --------
    >>> sns.lineplot(rows, x="n", y="location_error", **eb.plot.looks(rows))  # doctest: +SKIP
    """
    kinds = curves(data, hue)
    filled = {name for name, kind in kinds.items() if kind.marker in Line2D.filled_markers}
    # seaborn draws either filled markers or those made of lines
    plain = "o" if filled else ""
    return {
        "hue": hue,
        "style": hue,
        "hue_order": list(kinds),
        "style_order": list(kinds),
        "palette": {name: kind.colour for name, kind in kinds.items()},
        "markers": {
            name: kind.marker if name in filled else plain or kind.marker
            for name, kind in kinds.items()
        },
        "dashes": {
            name: "" if isinstance(kind.dash, str) else kind.dash[1] for name, kind in kinds.items()
        },
    }


def curves(data: pd.DataFrame, hue: str) -> dict[Any, Look]:
    """The look of each value of a column, in the order of a legend."""
    checks.frame(data, "data", hue)
    if hue == "algorithm":
        return {name: look_of(name) for name in in_order(data[hue])}
    values = sorted(data[hue].unique())
    if pd.api.types.is_numeric_dtype(data[hue]):
        return {
            value: Look(shade(k, len(values)), _MARKERS[k % len(_MARKERS)])
            for k, value in enumerate(values)
        }
    return {value: Look(*MORE[k % len(MORE)]) for k, value in enumerate(values)}


def named(hue: str, value: Any) -> str:
    """What a legend says: an algorithm by its name, a number with that of its column."""
    return f"{hue} = {value:g}" if isinstance(value, numbers.Real) else str(value)


def current(ax: Axes | None) -> Axes:
    """The axes given, or the current ones."""
    return plt.gca() if ax is None else ax


def one_of(data: pd.DataFrame, *columns: str) -> None:
    """Raise ValueError where a column has several values: medians over them would mean nothing."""
    for column in columns:
        if column in data and data[column].nunique() > 1:
            found = ", ".join(f"{value}" for value in sorted(data[column].unique())[:6])
            raise ValueError(f"data must have one value of {column!r}, got {found}")
