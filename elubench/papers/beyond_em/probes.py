"""Measurements that are not grids of runs: the lemmas' tables, the loss at infinite n, the noise around
it, the cost of an iteration; others are in modules of their own.

Each probe is a function of the seed and of a level's options that returns a tidy table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from elubench.algorithms import ELU, EM, Algorithm, Simultaneous
from elubench.papers.beyond_em import lemmas, population
from elubench.papers.beyond_em.axes import axes
from elubench.papers.beyond_em.law_samples import limit_law
from elubench.papers.beyond_em.lower_bound import lower_bound
from elubench.papers.beyond_em.separation import crossover, separated
from elubench.papers.beyond_em.theorem_steps import theorem_1
from elubench.runs import run
from elubench.samples import ArraySample, gaussian
from elubench.verification.paper import Probe


def lemma_tables(seed: int, replicates: int) -> pd.DataFrame:
    """Lemmas 1 to 4, and iterates at infinite n: the summary tables of ``lemmas``.

    The column ``probe`` has the function's name. Samples of different seeds have none in common.
    """
    on_samples = (lemmas.stability_univariate, lemmas.stability_multivariate)
    tables = [
        table(replicates=replicates, seed=1_000_000 * seed).assign(probe=table.__name__)
        for table in on_samples
    ]
    return pd.concat([*_at_infinite_n(), *tables], ignore_index=True)


@lru_cache(maxsize=1)
def _at_infinite_n() -> list[pd.DataFrame]:
    """The tables that no seed changes, made once."""
    tables = (
        lemmas.homogeneity,
        lemmas.pseudo_convexity,
        lemmas.diagonal_homogeneity,
        lemmas.trajectory_rates,
        lemmas.diagonal_phases,
        lemmas.general_instability,
        lemmas.diagonal_hessian,
        lemmas.diagonal_starts,
        lemmas.proposition_1,
        lemmas.strong_convexity,
        lemmas.scale_equivariance,
    )
    return [table().assign(probe=table.__name__) for table in tables]


#: Sizes at which iterations are timed: large enough for every thread to have work.
COST_SIZES = ((2**18, 1), (2**20, 1), (2**22, 1), (2**18, 4), (2**18, 16))


def stability(
    seed: int, sizes: Sequence[int] = (10**4, 10**6, 10**8, 10**10), replicates: int = 12
) -> pd.DataFrame:
    """The gradient on lattice samples less that at infinite n, against |theta| at d = 1."""
    radii = np.geomspace(0.01, 0.7, 16)
    noise = lemmas.stability(1, sizes, radii, replicates, "lattice", 1_000_000 * seed)
    return noise.assign(seed=seed)


def profiles(_: int, dimensions: Sequence[int] = (1, 2, 4)) -> pd.DataFrame:
    """The isotropic loss along a ray at infinite n, for several d."""
    r = np.geomspace(0.01, 0.9, 60)
    return pd.concat([lemmas.isotropic_profile(d, r) for d in dimensions], ignore_index=True)


def landscape(_: int, points: int = 91) -> pd.DataFrame:
    """The diagonal loss at infinite n and d = 2, on a square grid."""
    grid = np.linspace(-0.03, 0.72, points)
    theta_1, theta_2 = (axis.ravel() for axis in np.meshgrid(grid, grid))
    gap = population.loss("diagonal", np.stack([theta_1, theta_2], axis=-1))
    return pd.DataFrame({"theta_1": theta_1, "theta_2": theta_2, "gap": gap})


#: Where the iterates begin, of one norm: on the diagonal, and off it.
FLOW_STARTS = {"equal": (0.5, 0.5), "generic": (0.6, 0.374)}


def flows(_: int, steps: int = 300, eta: float = 1.0, beta: float = 0.9) -> pd.DataFrame:
    """Iterates of EM and ELU on the diagonal loss at infinite n and d = 2."""
    parts = [
        lemmas.diagonal_flow(at, name.lower(), steps, eta, beta).assign(
            start=start, algorithm=name, eta=eta, beta=beta
        )
        for start, at in FLOW_STARTS.items()
        for name in ("EM", "ELU")
    ]
    return pd.concat(parts, ignore_index=True)


#: Iterations that are timed in a turn.
_COST_ITERATIONS = 8


def costs(seed: int, rounds: int) -> pd.DataFrame:
    """Seconds and passes per iteration of EM, ELU and both together, in turns on the same samples.

    In turns, so that a disturbance of the machine affects all of them: compare within a ``round``.
    """
    rows = []
    contestants: tuple[Algorithm, ...] = (EM(), ELU(), Simultaneous())
    for n, d in COST_SIZES:
        sample = ArraySample(gaussian(n, d, seed=seed))
        for turn in range(-1, rounds):  # the first turn compiles, and wakes the threads
            for algorithm in contestants:
                ended = run(
                    sample, "isotropic", algorithm, max_iter=_COST_ITERATIONS, metrics=False
                )
                if turn >= 0:
                    each = ended.seconds / ended.n_iter
                    rows.append((n, d, turn, algorithm.name, each, ended.passes / ended.n_iter))
    columns = ["n", "d", "round", "algorithm", "seconds", "passes"]
    return pd.DataFrame(rows, columns=columns)


PROBES = {
    "lemmas": Probe("the lemmas, at infinite n and on samples", lemma_tables),
    "stability": Probe("the noise of the gradient", stability),
    "profiles": Probe("the isotropic loss at infinite n", profiles, seeded=False),
    "landscape": Probe("the diagonal loss at infinite n", landscape, seeded=False),
    "flows": Probe("EM and ELU at infinite n", flows, seeded=False),
    "axes": Probe("iterates on the diagonal model", axes),
    "costs": Probe("the cost of an iteration", costs),
    "limit_law": Probe("samples against the limit laws", limit_law),
    "lower_bound": Probe("Le Cam's bound", lower_bound, seeded=False),
    "crossover": Probe("the practical procedure, from one Gaussian to two", crossover),
    "separated": Probe("EM where the Gaussians are well apart", separated),
    "theorem_1": Probe("iterations under the conditions of Theorem 1", theorem_1, seeded=False),
}
