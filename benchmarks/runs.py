"""Runs, for asv: iterations a second, and what one algorithm or driver costs beside another.

Every ``setup`` compiles what is timed and checks it: iterates against EM steps made one by one.
"""

import numpy as np

from benchmarks.kernels import use_threads
from benchmarks.profiles import Suite, clock, grid, once
from elubench import ELU, EM, ArraySample, LatticeSample, Sample, Simultaneous, gaussian, run
from elubench.models.known import named


class Elsewhere(Sample):
    """A sample that the compiled loop cannot read."""

    def __init__(self, inner):
        self.inner, self.n, self.d = inner, inner.n, inner.d

    def moments(self):
        return self.inner.moments()

    def sums(self, u, b, want, even=False):
        return self.inner.sums(u, b, want, even=even)

    def shape_about(self, centre, units, even=False):
        return self.inner.shape_about(centre, units, even=even)


def iterate(sample, model, algorithm, iterations):
    """A run of that many iterations and nothing else; its seconds are the iterations alone."""
    result = run(sample, model, algorithm, max_iter=iterations, metrics=False)
    assert (result.status, result.n_iter) == ("max_iter", iterations), result
    return result


def check_em(sample, model):
    """Refuse to time a run whose iterates are not those of EM."""
    own = named(model)
    params = own.default_start(sample)
    for _ in range(5):
        params = own.em_step(sample, params)
    np.testing.assert_array_equal(iterate(sample, model, EM(), 5).params, params)


class LatticeRuns(Suite):
    """EM on a sample whose cost does not grow with n, one thread."""

    params = (grid("isotropic", "diagonal", "general"), grid(1, 2))
    param_names = ("model", "d")
    timer = clock(threads=1)

    @once
    def setup(self, model, d):
        use_threads(1)
        self.sample = LatticeSample.gaussian(10**10, d, seed=1)
        check_em(self.sample, model)

    def time_1000_iterations_of_em(self, model, d):
        iterate(self.sample, model, EM(), 1000)

    def track_em(self, model, d):
        """Microseconds an iteration, the best of five."""
        iterations = 200_000 if d == 1 else 20_000
        seconds = min(iterate(self.sample, model, EM(), iterations).seconds for _ in range(5))
        return seconds / iterations * 1e6

    track_em.unit = "us"


class Algorithms(Suite):
    """One iteration of ELU and of both together, beside one of EM; two threads."""

    params = (grid(100_000, 1_000_000), grid(4, regular=(16,)))
    param_names = ("n", "d")
    iterations = 10

    @once
    def setup(self, n, d):
        use_threads(2)
        self.sample = ArraySample(gaussian(n, d, seed=1))
        check_em(self.sample, "isotropic")
        both = iterate(self.sample, "isotropic", Simultaneous(), self.iterations)
        alone = iterate(self.sample, "isotropic", ELU(), self.iterations)
        np.testing.assert_array_equal(both.params, alone.params)

    def time_em(self, n, d):
        iterate(self.sample, "isotropic", EM(), self.iterations)

    def time_elu(self, n, d):
        iterate(self.sample, "isotropic", ELU(), self.iterations)

    def time_simultaneous(self, n, d):
        iterate(self.sample, "isotropic", Simultaneous(), self.iterations)


def python_overhead(rounds=5, iterations=2000):
    """Seconds that the Python driver spends on an iteration, its pass taken out: the median."""
    import time

    sample = LatticeSample.gaussian(1000, 1, seed=1)
    elsewhere = Elsewhere(sample)
    usual = iterate(sample, "isotropic", EM(), iterations)
    np.testing.assert_array_equal(
        iterate(elsewhere, "isotropic", EM(), iterations).params, usual.params
    )
    u, b = np.full((1, 1), 0.3), np.zeros(1)
    found = []
    for _ in range(rounds):
        whole = iterate(elsewhere, "isotropic", EM(), iterations).seconds
        begun = time.perf_counter()
        for _ in range(iterations):
            sample.sums(u, b, 0, even=True)
        found.append((whole - (time.perf_counter() - begun)) / iterations)
    return float(np.median(found))


class PythonDriver(Suite):
    """What the Python driver adds to the pass."""

    params = ([1],)
    param_names = ("threads",)

    def setup(self, threads):
        use_threads(threads)

    def track_overhead(self, threads):
        return python_overhead() * 1e6

    track_overhead.unit = "us"
