"""What theory says about rows of runs: how flat their model is, how an algorithm's iterations grow."""

from __future__ import annotations

import math

import pandas as pd

from elubench.algorithms.known import known as algorithms
from elubench.algorithms.known import numbers_in
from elubench.models.flatness import Flatness
from elubench.models.known import known, named, with_options


def flatness_of(rows: pd.DataFrame) -> Flatness | None:
    """That of the first row's model and d; None where there are no rows or it is not one of ours."""
    model = str(rows["model"].iloc[0]) if len(rows) else ""
    if with_options(model)[0] not in known():
        return None
    return named(model).flatness(int(rows["d"].iloc[0]))


def law_of(rows: pd.DataFrame, algorithm: str) -> tuple[str, float]:
    """The law and the constant by which an algorithm's iterations to the radius grow with n.

    As :meth:`elubench.Algorithm.growth_law`, with the options of the first such run.
    """
    flatness, runs = flatness_of(rows), rows[rows["algorithm"] == algorithm]
    if flatness is None or runs.empty or algorithm not in algorithms():
        return "", math.nan
    options = numbers_in(str(runs["options"].iloc[0]))
    return algorithms()[algorithm](**options).growth_law(flatness)
