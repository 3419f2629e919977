"""Measurements that are not grids of runs: EM's contraction at the optimum, and what its speed tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from elubench.algorithms import NewtonAnderson
from elubench.fits.evidence import contraction
from elubench.models import Isotropic
from elubench.papers.beyond_em.separation import crossover
from elubench.papers.crossover.weights import equal_weights, known_weights
from elubench.runs import run
from elubench.studies.truths import Truth
from elubench.verification.paper import Probe

#: d, h, a and the sizes at which EM's contraction is measured.
CONTRACTIONS = (
    (1, 1.0, 1 / 16, (10**8, 10**10, 10**12, 10**14)),
    (1, 1.0, 3 / 32, (10**8, 10**10, 10**12, 10**14)),
    (2, 2.5, 1 / 8, (10**6, 10**8, 10**10, 10**12)),
    (2, 2.5, 3 / 16, (10**6, 10**8, 10**10, 10**12)),
)


def contractions(seed: int, replicates: int) -> pd.DataFrame:
    """1 - rho of EM at each sample's own optimum, ``slowness``."""
    model, rows = Isotropic(), []
    for d, h, a, sizes in CONTRACTIONS:
        truth = Truth(h, a)
        for n in sizes:
            for k in range(replicates):
                sample = truth.sample("lattice", n, d, 1_000_000 * seed + k)
                start = truth.params(model, n, d) + 0.1 * truth.half_distance(n)
                found = run(sample, model, NewtonAnderson(precision=1e-8), start, metrics=False)
                rho, _, _ = contraction(model, sample, found.params)
                rows.append((d, a, n, k, truth.half_distance(n), 1.0 - rho))
    columns = ["d", "a", "n", "replicate", "half_distance", "slowness"]
    return pd.DataFrame(rows, columns=columns).assign(seed=seed)


def signs(
    seed: int,
    replicates: int,
    sizes: Sequence[int] = (10**6, 10**8, 10**10, 10**12),
    half_distances: Sequence[float] = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
) -> pd.DataFrame:
    """What EM's speed says after 100 or 1,000 iterations on two Gaussians close to each other."""
    found = crossover(seed, replicates, sizes, half_distances, ((1, 100), (1, 1_000), (2, 100)))
    return found[["d", "budget", "half_distance", "n", "replicate", "geometric", "seed"]].astype(
        {"n": np.int64}
    )


PROBES = {
    "contractions": Probe("EM's contraction at the optimum", contractions),
    "signs": Probe("what EM's speed says", signs),
    "equal_weights": Probe("equal weights fitted to unequal ones", equal_weights),
    "known_weights": Probe("weights that are known", known_weights),
}
