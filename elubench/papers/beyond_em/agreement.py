"""Steps of a fixed factor in the error: how linear and sublinear convergence are told apart.

Under linear convergence each step takes as many iterations as the one before; under a power law
t^(-1/alpha), factor^alpha times as many.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from elubench.checks import Floats
from elubench.papers.beyond_em import theory

#: The factor of a step in the error.
FACTOR = math.sqrt(2.0)
#: Paths are followed to this multiple of their smallest error: closer, they turn.
_CLOSE = 1.1


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
