"""Theorem 1 with the steps that it allows: ELU's iterations beside EM's, at infinite n."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from elubench import checks
from elubench.checks import Floats
from elubench.papers.beyond_em import predictions, theory

#: The steps of the paper's experiments on the isotropic model.
EXPERIMENTS = theory.Steps(0.01, 0.8)


def crossing(d: int, constant: float = 2.0, start: float = 0.8) -> float:
    """The n from which on ELU with the steps of Theorem 1 needs fewer iterations than EM.

    Both go from ``start`` to ``constant`` times the statistical radius; for smaller n EM is cheaper.
    """
    d = checks.integer(d, "d", 1)
    steps = theory.theorem_steps(start, d)

    def ahead(sizes: Floats) -> Floats:
        """ln of EM's iterations over ELU's, for sizes whose radius is smaller than the start."""
        targets = [theory.radius("isotropic", n, d, constant) for n in sizes]
        em = [predictions.em_time(start, target, d) for target in targets]
        return np.log(np.array(em) / predictions.elu_times(start, targets, d, *steps))

    sizes = np.geomspace(10.0, 1e16, 31)
    sizes = sizes[[theory.radius("isotropic", n, d, constant) < 0.99 * start for n in sizes]]
    last = int(np.flatnonzero(ahead(sizes) < 0.0)[-1])
    if last == sizes.size - 1:
        return math.inf
    close = np.geomspace(sizes[last], sizes[last + 1], 7)
    line = CubicSpline(np.log(close), ahead(close))
    return float(math.exp(brentq(line, math.log(close[0]), math.log(close[-1]))))


def theorem_1(
    _: int,
    sizes: Sequence[float] = (1e4, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12, 1e14, 1e15),
    dimensions: Sequence[int] = (1, 2, 4),
    constants: Sequence[float] = (1.0, 2.0, 3.0),
    start: float = 0.8,
) -> pd.DataFrame:
    """Iterations at infinite n to ``constant`` radii of a sample of size n, rounded up.

    ``steps`` tells ELU with the fastest steps that Theorem 1 allows ("theorem") from ELU as in the
    paper's experiments ("experiments"). ``crossing`` is the n from which on ELU under the theorem
    needs fewer iterations than EM.
    """
    rows = []
    for d, constant in itertools.product(dimensions, constants):
        targets = [theory.radius("isotropic", n, d, constant) for n in sizes]
        meeting = crossing(d, constant, start)
        em = [predictions.em_time(start, target, d) for target in targets]
        runs = [("EM", "", theory.Steps(math.nan, math.nan), em)]
        kinds = {"theorem": theory.theorem_steps(start, d), "experiments": EXPERIMENTS}
        for kind, steps in kinds.items():
            elu = predictions.elu_times(start, targets, d, *steps)
            runs.append(("ELU", kind, steps, elu.tolist()))
        for name, kind, steps, times in runs:
            for n, time in zip(sizes, np.ceil(times), strict=True):
                rows.append(
                    (d, float(n), name, kind, *steps, float(time), constant, start, meeting)
                )
    columns = ["d", "n", "algorithm", "steps", "eta", "beta", "iterations"]
    return pd.DataFrame(rows, columns=[*columns, "constant", "start", "crossing"])
