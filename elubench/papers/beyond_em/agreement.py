"""The paper's panels in numbers: what their captions say, compared with the runs that remake them.

Left-hand panels: ELU converges to the radius linearly and then diverges, EM converges sublinearly.
Speeds are compared by steps of a fixed factor in the error: under linear convergence each step takes as
many iterations as the one before; under a power law t^(-1/alpha), factor^alpha times as many.

Right-hand panels: the errors of the validated iterate fall like a power of n.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from elubench import rates
from elubench.checks import Floats
from elubench.papers.beyond_em import theory
from elubench.verification.expectations import near
from elubench.verification.verdicts import LEVEL, Measurement

#: The factor of a step in the error.
FACTOR = math.sqrt(2.0)
#: Paths are followed to this multiple of their smallest error: closer, they turn.
_CLOSE = 1.1
_STATED = {"location_error": "location_n", "scale_error": "scale_n"}


def step_times(path: pd.DataFrame, factor: float = FACTOR) -> list[float]:
    """Iterations after which the error has fallen by the factor, its square, and so on.

    ``path`` has columns ``t`` and ``location_error``, in the order of t. Times are interpolated.
    """
    t = path["t"].to_numpy(dtype=float)
    error = np.minimum.accumulate(path["location_error"].to_numpy(dtype=float))
    steps = math.log(error[0] / (_CLOSE * error[-1])) / math.log(factor)
    times = []
    for k in range(1, math.floor(steps) + 1):
        target = error[0] / factor**k
        after = int(np.argmax(error <= target))
        between = math.log(error[after - 1] / target) / math.log(error[after - 1] / error[after])
        times.append(float(t[after - 1] + between * (t[after] - t[after - 1])))
    return times


def descents(paths: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """One row per algorithm of a left-hand panel, medians over replicates.

    ``closest`` is the smallest error in units of the radius, ``after`` the iterations it took,
    ``ended`` how most runs ended, ``slowing`` the iterations of the last step in the error over those
    of the step before: 1 where convergence is linear (see the module), nan with fewer than two steps.
    """
    rows = []
    for name, part in paths.groupby("algorithm"):
        radius = float(part["radius"].iloc[0])
        found = []
        for _, path in part.groupby("replicate"):
            error = path["location_error"].to_numpy(dtype=float)
            times = np.diff(step_times(path), prepend=0.0)
            slowing = times[-1] / times[-2] if len(times) > 1 else math.nan
            found.append((error.min() / radius, float(path["t"].iloc[error.argmin()]), slowing))
        closest, after, slowing = np.median(np.array(found), axis=0)
        ended = kept.loc[kept["algorithm"] == name, "status"].mode().iloc[0]
        rows.append((name, closest, after, ended, slowing))
    return pd.DataFrame(rows, columns=["algorithm", "closest", "after", "ended", "slowing"])


def steps_outside(paths: pd.DataFrame) -> list[Floats]:
    """For each replicate the iterations of each step in the error that ends outside the radius.

    The rows are those of one algorithm. The first step, which has the run's beginning in it, is left
    out, and so are replicates with fewer than three others.
    """
    found = []
    for _, path in paths.groupby("replicate"):
        begin, radius = (float(path[name].iloc[0]) for name in ("location_error", "radius"))
        count = math.floor(math.log(begin / radius) / math.log(FACTOR))
        steps = np.diff(step_times(path)[: max(0, count)])
        if len(steps) > 2:
            found.append(steps)
    return found


def linear_step(model: str, d: int, beta: float) -> float:
    """The iterations of a step of ELU by theory: its error falls by beta^(1/alpha) in each."""
    return theory.homogeneity(model, d).value * math.log(FACTOR) / math.log(1.0 / beta)


def sublinear(model: str, d: int) -> float:
    """``slowing`` of EM by theory: the factor to the power alpha."""
    return float(FACTOR ** theory.homogeneity(model, d).value)


def slopes(rows: pd.DataFrame, algorithm: str = "ELU") -> dict[str, Measurement]:
    """Exponents of n in the validated errors of a right-hand panel, by the column of the error."""
    part = rows[rows["algorithm"] == algorithm]
    stated = theory.rates(str(part["model"].iloc[0]), int(part["d"].iloc[0]), "elu")
    found = {}
    for column, name in _STATED.items():
        fit = rates.exponent(part, value=column, level=LEVEL)
        value, quantity = getattr(stated, name), f"exponent of n, {column.replace('_', ' ')}"
        found[column] = Measurement(near(quantity, value, 0.2 * abs(value)), *fit.interval)
    return found
