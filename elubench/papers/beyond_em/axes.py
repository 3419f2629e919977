"""Whether ELU's iterates on the diagonal model fall onto an axis, the second phase of Appendix B.1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from elubench.algorithms import ELU
from elubench.checks import Floats
from elubench.runs import run
from elubench.samples import LatticeSample

#: An iterate is on an axis if its other coordinate is less than this share of its norm.
CLOSE = 0.1
#: Iterates in a row on an axis that count as having entered the second phase: a coordinate that
#: changes its sign passes an axis once.
IN_A_ROW = 5

_NORM = 0.8


def axes(
    seed: int, sizes: Sequence[int] = (10**5, 10**7, 10**9), replicates: int = 40
) -> pd.DataFrame:
    """ELU (eta 1, beta 0.9) at d = 2 on lattice samples, from equal and from generic starts.

    One row per run: `start_ratio`, the smaller coordinate of the start over its norm; `row`, the most
    iterates in a row on an axis; `entered`, whether these are enough; `least_norm` of all iterates.
    Generic starts have a random direction that is not on an axis itself.
    """
    rows = []
    for n in sizes:
        for replicate in range(replicates):
            rng = np.random.default_rng((seed, n, replicate))
            sample = LatticeSample.gaussian(n, 2, seed=int(rng.integers(2**62)))
            for start, direction in (("equal", np.full(2, math.sqrt(0.5))), ("generic", _off(rng))):
                begin = _NORM * direction
                ended = run(sample, "diagonal", ELU(eta=1.0, beta=0.9), begin, max_iter=500)
                path = np.abs(ended.trace[["param_0", "param_1"]].to_numpy(dtype=float))
                norm = np.linalg.norm(path, axis=1)
                row = longest(path.min(axis=1) < CLOSE * norm)
                ratio = float(np.abs(direction).min())
                rows.append((n, replicate, start, ratio, row, row >= IN_A_ROW, float(norm.min())))
    columns = ["n", "replicate", "start", "start_ratio", "row", "entered", "least_norm"]
    return pd.DataFrame(rows, columns=columns)


def _off(rng: np.random.Generator) -> Floats:
    """A random unit vector (2,) that is not on an axis."""
    while True:
        drawn = rng.standard_normal(2)
        drawn /= np.linalg.norm(drawn)
        if np.abs(drawn).min() >= CLOSE:
            return np.asarray(drawn)


def longest(true: Sequence[bool] | np.ndarray) -> int:
    """The length of the longest run of true values."""
    best = now = 0
    for one in true:
        now = now + 1 if one else 0
        best = max(best, now)
    return best
