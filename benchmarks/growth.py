"""How iterations to the radius grow with n, for asv: the distance of the fitted growth from theory.

EM needs ``c n^b`` iterations, ELU ``a ln n + c`` (``elubench.theory``). Both are fitted by least squares
to medians over ``SAMPLES`` lattice samples of each n, with the radius and the start of
``benchmarks.radius``. What is left is the distance of a finite n from the limit; a change of it is a
change of the algorithm.
"""

import math

import numpy as np

from benchmarks.profiles import Suite, grid
from benchmarks.radius import CONSTANT, start_of

SAMPLES = 8
MOST_ITERATIONS = 2_000_000
#: Powers of ten, by d.
SIZES = {1: range(5, 12), 2: range(4, 10), 3: range(4, 9), 4: range(4, 8)}


def medians(model, algorithm, d, powers=None, replicates=SAMPLES):
    """ln n, and the median number of iterations to the radius."""
    import elubench as eb

    counts, powers = [], SIZES[d] if powers is None else powers
    for power in powers:
        n = 10**power
        samples = [eb.LatticeSample.gaussian(n, d, seed=seed) for seed in range(replicates)]
        radius = eb.radius(model, n, d, constant=CONSTANT)
        options = {"radius": radius, "max_iter": MOST_ITERATIONS}
        runs = eb.run_many(samples, model, algorithm, start_of(model, d), **options)
        taken = [run.n_iter if run.status == "reached" else math.inf for run in runs]
        counts.append(float(np.median(taken)))
        if not math.isfinite(counts[-1]):
            raise RuntimeError(f"n = {n}: {sorted(run.status for run in runs)}")
    return np.log(10.0) * np.array(powers), np.array(counts)


class Growth(Suite):
    """Both algorithms on each model; for general locations ELU as repaired, ``CentredELU``."""

    params = (grid("isotropic", "diagonal", "general"), grid(1, 2, regular=(3,), large=(4,)))
    param_names = ("model", "d")
    version = "1"  # to be raised with what is run: asv looks at the code of the methods alone

    def setup(self, model, d):
        import elubench as eb
        from elubench.models.known import named

        own = named(model)
        self.em = eb.EM()
        self.elu = (eb.CentredELU() if model == "general" else eb.ELU(eta=0.01, beta=0.8)).resolve(
            own
        )
        sample = eb.LatticeSample.gaussian(10**6, d, seed=0)
        params = start_of(model, d)
        steps = eb.run(sample, model, self.em, params, max_iter=3, metrics=False)
        for _ in range(3):
            params = own.em_step(sample, params)
        np.testing.assert_array_equal(steps.params, params)

    def track_em(self, model, d):
        """|b - theory|."""
        from elubench.papers.beyond_em import theory

        logs, counts = medians(model, self.em, d)
        fitted = np.polyfit(logs, np.log(counts), 1)[0]
        return abs(float(fitted) - theory.rates(model, d, "em").iterations_n)

    track_em.unit = "exponent"

    def track_elu(self, model, d):
        """|a - theory|."""
        from elubench.papers.beyond_em import theory

        logs, counts = medians(model, self.elu, d)
        fitted = np.polyfit(logs, counts, 1)[0]
        return abs(float(fitted) - theory.rates(model, d, "elu").slope(self.elu.beta))

    track_elu.unit = "iterations/ln n"
