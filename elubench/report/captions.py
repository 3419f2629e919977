"""What a caption says about the runs that a figure or a table rests on, computed from their rows."""

from __future__ import annotations

import pandas as pd

from elubench.algorithms.known import numbers_in
from elubench.plot.style import in_order, size
from elubench.verification.measuring import listed


def about(rows: pd.DataFrame, *, radius: bool = True) -> str:
    """Sizes, dimensions, samples, start, radius, study and seed of these runs, as a sentence."""
    n, d = sorted(rows["n"].unique()), sorted(rows["d"].unique())
    each = rows.groupby(["n", "d", "algorithm"])["replicate"].nunique()
    samples = "/".join(sorted(rows["samples"].unique()))
    parts = [
        f"{', '.join(rows['model'].unique())} model",
        f"n = {size(n[0])}" + (f" to {size(n[-1])}" if len(n) > 1 else ""),
        f"d = {d[0]}" + (f" to {d[-1]}" if len(d) > 1 else ""),
        f"{_span(each.min(), each.max())} {samples} sample{'s' if each.max() > 1 else ''}"
        + (" at each" if len(n) * len(d) > 1 else ""),
        f"start of norm {listed(rows['start_norm'])}",
    ]
    held = rows["validation"].dropna().unique()
    if len(held):
        parts.append(f"{held[0]:.0%} held out")
    if radius:
        parts.append(f"radius constant {listed(rows['radius_constant'])}")
    studies = ", ".join(rows["study"].unique())
    parts.append(f"study {studies} with the study's own seed {listed(rows['seed'])}")
    return f"{'; '.join(parts)}."


def steps(rows: pd.DataFrame) -> str:
    """The step sizes of ELU and its kind: "ELU with eta 0.01, beta 0.8"."""
    found: dict[str, None] = {}
    for name in in_order(rows["algorithm"]):
        for options in rows.loc[rows["algorithm"] == name, "options"].unique():
            given = numbers_in(options)
            if "eta" in given and "beta" in given:
                found[f"{name} with eta {given['eta']:g}, beta {given['beta']:g}"] = None
    return "; ".join(found)


def sentence(*parts: str) -> str:
    """Sentences in a row, each with a capital and a full stop."""
    made = [part.strip().rstrip(".") for part in parts if part.strip()]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in made)


def _span(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"
