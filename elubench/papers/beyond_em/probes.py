"""Measurements that are not grids of runs: the lemmas' tables, what an iteration costs, the practical
procedure.

Each probe is a function of the level and the seed that returns a tidy table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from elubench.algorithms import ELU, EM, Algorithm, NewtonAnderson, Simultaneous
from elubench.checks import Floats
from elubench.papers.beyond_em import lemmas
from elubench.runs import run
from elubench.samples import ArraySample, LatticeSample, Sample, gaussian


class Probe(NamedTuple):
    """A measurement, with the line that announces it."""

    title: str
    measure: Callable[[str, int], pd.DataFrame]


def lemma_tables(level: str, seed: int) -> pd.DataFrame:
    """Lemmas 1 to 4, and iterates at infinite n: the summary tables of ``lemmas``.

    The column ``probe`` has the function's name.
    """
    replicates = 20 if level == "quick" else 60
    tables = {
        "homogeneity": lemmas.homogeneity(),
        "stability_univariate": lemmas.stability_univariate(replicates=replicates, seed=seed),
        "stability_multivariate": lemmas.stability_multivariate(replicates=replicates, seed=seed),
        "pseudo_convexity": lemmas.pseudo_convexity(),
        "diagonal_homogeneity": lemmas.diagonal_homogeneity(),
        "trajectory_rates": lemmas.trajectory_rates(),
        "diagonal_phases": lemmas.diagonal_phases(),
        "general_instability": lemmas.general_instability(),
    }
    return pd.concat(
        [table.assign(probe=name) for name, table in tables.items()], ignore_index=True
    )


#: Sizes at which iterations are timed: large enough for every thread to have work.
COST_SIZES = ((2**18, 1), (2**20, 1), (2**22, 1), (2**18, 4), (2**17, 16))


def costs(level: str, seed: int) -> pd.DataFrame:
    """Seconds and passes an iteration of EM, ELU and both together, in turns on the same samples.

    In turns, so that a disturbance of the machine meets all of them: compare within a ``round``.
    """
    rounds, iterations = (11 if level == "quick" else 31), 8
    rows = []
    contestants: tuple[Algorithm, ...] = (EM(), ELU(), Simultaneous())
    for n, d in COST_SIZES:
        sample = ArraySample(gaussian(n, d, seed=seed))
        for turn in range(-1, rounds):  # the first turn compiles, and wakes the threads
            for algorithm in contestants:
                ended = run(sample, "isotropic", algorithm, max_iter=iterations, metrics=False)
                if turn >= 0:
                    each = ended.seconds / ended.n_iter
                    rows.append((n, d, turn, algorithm.name, each, ended.passes / ended.n_iter))
    columns = ["n", "d", "round", "algorithm", "seconds", "passes"]
    return pd.DataFrame(rows, columns=columns)


#: Distance of the two true locations in units of the scale; 0 is one Gaussian.
PRACTICE_CASES = {"one Gaussian": 0.0, "separated": 4.0}
_PRACTICE_ROWS = {"one Gaussian": 10**8, "separated": 20_000}  # the first are on a lattice
_PRACTICE_ITERATIONS = 100


def practice(level: str, seed: int) -> pd.DataFrame:
    """The paper's practical procedure: EM and ELU together, and EM's speed tells whom to follow.

    One row a sample: whether EM was found to converge geometrically (``geometric``), the error of the
    location that the procedure returns (``location_error``), that of EM after as many iterations
    (``em_error``) and that of the sample's own optimum (``mle_error``).
    """
    replicates = 30 if level == "quick" else 100
    rows = []
    for d in (1, 2):
        for case, distance in PRACTICE_CASES.items():
            truth = np.full(d, 0.5 * distance / math.sqrt(d))
            for replicate in range(replicates):
                sample = _practice_sample(case, d, truth, _seed(seed, d, replicate))
                start = np.full(d, 0.8 * math.sqrt(1.0 + 0.25 * distance**2) / math.sqrt(d))
                both = run(
                    sample,
                    "isotropic",
                    Simultaneous(),
                    start,
                    max_iter=_PRACTICE_ITERATIONS,
                    validation=0.1,
                    seed=replicate,
                    metrics=False,
                )
                alone = run(sample, "isotropic", EM(), start, max_iter=both.n_iter, metrics=False)
                best = run(sample, "isotropic", NewtonAnderson(), start, metrics=False)
                rows.append(
                    (
                        case,
                        sample.n,
                        d,
                        replicate,
                        bool(both.details["geometric"]),
                        both.n_iter,
                        _distance(both.params, truth),
                        _distance(alone.params, truth),
                        _distance(best.params, truth),
                    )
                )
    columns = ["case", "n", "d", "replicate", "geometric", "iterations"]
    return pd.DataFrame(rows, columns=[*columns, "location_error", "em_error", "mle_error"])


def _practice_sample(case: str, d: int, truth: Floats, seed: int) -> Sample:
    n = _PRACTICE_ROWS[case]
    if not np.any(truth):
        return LatticeSample.gaussian(n, d, seed=seed)
    signs = np.random.default_rng(seed).integers(0, 2, n)
    return ArraySample(gaussian(n, d, seed=seed) + (2 * signs - 1)[:, None] * truth)


def _seed(seed: int, d: int, replicate: int) -> int:
    return 1_000_000 * seed + 1_000 * d + replicate


def _distance(found: Floats, truth: Floats) -> float:
    """To the truth, which is known up to its sign."""
    return float(min(np.linalg.norm(found - truth), np.linalg.norm(found + truth)))


PROBES = {
    "lemmas": Probe("the lemmas, at infinite n and on samples", lemma_tables),
    "practice": Probe("the practical procedure", practice),
    "costs": Probe("what an iteration costs", costs),
}
