"""The one pass over the data, for asv, beside what it is to be compared with.

Every ``setup`` compiles what is timed and checks it against NumPy; a combination that is too large
for the machine, or needs more threads than there are, is skipped.
"""

import math

import numba
import numpy as np

from benchmarks.profiles import Suite, clock, grid, once
from elubench.kernels import layout
from elubench.kernels.hardware import SHARE, add_up
from elubench.samples import ArraySample, CondensedSample, LatticeSample, gaussian

MOST_NUMBERS = 20_000_000  # 160 MB


# cached: every combination of parameters is a process of its own
@numba.njit(fastmath={"contract"}, error_model="numpy", nogil=True, cache=True)
def _library_tanh_share(x, u, b):
    t0 = t1 = 0.0
    for i in range(len(x)):
        t = math.tanh(x[i] * u + b)
        t0 += t
        t1 += t * x[i]
    return t0, t1


@numba.njit(parallel=True, error_model="numpy", nogil=True, cache=True)
def library_tanh(x, u, b):
    """The pass at d = 1 as a plain loop that calls ``math.tanh``: T0 and T1."""
    shares = (len(x) + SHARE - 1) // SHARE
    partial = np.zeros((shares, 2))
    for share in numba.prange(shares):
        t0, t1 = _library_tanh_share(x[share * SHARE : (share + 1) * SHARE], u, b)
        partial[share, 0] = t0
        partial[share, 1] = t1
    return partial[:, 0].sum() / len(x), partial[:, 1].sum() / len(x)


def use_threads(threads):
    """Set the number of threads, or skip the benchmark."""
    if threads > numba.config.NUMBA_NUM_THREADS:
        raise NotImplementedError(f"{threads} threads are more than this machine has")
    numba.set_num_threads(threads)


def direction(d):
    """A direction of length 0.3, as iterates have on their way."""
    return np.full((1, d), 0.3 / math.sqrt(d))


def check_pass(sample, X, u):
    """Refuse to time a pass that is wrong."""
    got = sample.tanh_moments(u[0], log_cosh=True)
    y = X @ u[0]
    np.testing.assert_allclose(got.t0, np.tanh(y).mean(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(got.t1, np.tanh(y) @ X / len(X), rtol=0, atol=1e-12)
    log_cosh = np.logaddexp(y, -y).mean() - math.log(2)
    np.testing.assert_allclose(got.log_cosh, log_cosh, rtol=0, atol=1e-12)


def drawn(n, d, threads):
    """Rows for a pass with this number of threads, unless they are too many."""
    if n * d > MOST_NUMBERS:
        raise NotImplementedError("too large")
    use_threads(threads)
    return gaussian(n, d, seed=1)


SIZES = (
    grid(10_000, 1_000_000, regular=(1_000, 100_000)),
    grid(1, 16, regular=(4, 64)),
    grid(1, 2, large=(4, 8)),
)
SIZE_NAMES = ("n", "d", "threads")


class Pass(Suite):
    """One pass, with and without the sums that can be asked for."""

    params = SIZES
    param_names = SIZE_NAMES

    @once
    def setup(self, n, d, threads):
        self.timer = clock(threads)
        X = drawn(n, d, threads)
        self.sample = ArraySample(X)
        self.u, self.b = direction(d), np.zeros(1)
        self.two, self.two_b = np.concatenate([self.u, -0.5 * self.u]), np.zeros(2)
        check_pass(self.sample, X, self.u)
        alone = [self.sample.sums(u[None].copy(), self.b, 0)[0] for u in self.two]
        np.testing.assert_array_equal(self.sample.sums(self.two, self.two_b, 0), alone)
        every = self.sample.sums(self.u, self.b, layout.LOG_COSH | layout.CURVATURE)[0]
        trace = every[layout.c2_at(d) :][
            np.cumsum(range(1, d + 1)) - 1
        ].sum()  # of a lower triangle
        expected = (1 - np.tanh(X @ self.u[0]) ** 2) @ (X**2).sum(axis=1) / n
        np.testing.assert_allclose(trace, expected, rtol=1e-12)

    def time_pass(self, n, d, threads):
        self.sample.sums(self.u, self.b, 0)

    def time_log_cosh(self, n, d, threads):
        self.sample.sums(self.u, self.b, layout.LOG_COSH)

    def time_curvature(self, n, d, threads):
        self.sample.sums(self.u, self.b, layout.LOG_COSH | layout.CURVATURE)

    def time_two_directions(self, n, d, threads):
        self.sample.sums(self.two, self.two_b, 0)


class Reading(Suite):
    """The same data only read."""

    params = SIZES
    param_names = SIZE_NAMES

    @once
    def setup(self, n, d, threads):
        self.timer = clock(threads)
        X = drawn(n, d, threads)
        self.flat = ArraySample(X).tiles.data.reshape(-1)
        np.testing.assert_allclose(add_up(self.flat), X.sum(), rtol=0, atol=1e-9 * n * d)

    def time_reading(self, n, d, threads):
        add_up(self.flat)


class LibraryTanh(Suite):
    """The pass at d = 1 beside the same loop with ``math.tanh``."""

    params = (grid(1_000_000, regular=(100_000,)), grid(1, 2))
    param_names = ("n", "threads")

    @once
    def setup(self, n, threads):
        self.timer = clock(threads)
        use_threads(threads)
        X = gaussian(n, 1, seed=1)
        self.sample, self.x = ArraySample(X), X[:, 0].copy()
        self.u, self.b = direction(1), np.zeros(1)
        check_pass(self.sample, X, self.u)
        got = self.sample.tanh_moments(self.u[0])
        loop = library_tanh(self.x, self.u[0, 0], 0.0)
        np.testing.assert_allclose([got.t0, got.t1[0]], loop, rtol=0, atol=1e-12)

    def time_pass(self, n, threads):
        self.sample.sums(self.u, self.b, 0)

    def time_math_tanh(self, n, threads):
        library_tanh(self.x, self.u[0, 0], 0.0)


class Accuracy(Suite):
    """Errors, in units in the last place, of what is timed above."""

    params = (grid("tanh", "log cosh"),)
    param_names = ("function",)

    @once
    def setup(self, function):
        self.points = np.concatenate([np.linspace(1e-3, 3, 4000), np.linspace(3, 25, 1000)])
        self.sample = ArraySample(np.ones((2, 1)))

    def track_largest_error(self, function):
        """Two rows that are both 1: T0 and LC are the functions at u themselves."""
        import mpmath

        out = self.sample.sums(self.points[:, None].copy(), np.zeros(5000), layout.LOG_COSH)
        worst = 0.0
        with mpmath.workdps(30):
            for x, got in zip(self.points, out[:, 0 if function == "tanh" else 2], strict=True):
                exact = mpmath.tanh(x) if function == "tanh" else mpmath.log(mpmath.cosh(x))
                worst = max(worst, float(abs(got - exact) / math.ulp(float(exact))))
        return worst

    track_largest_error.unit = "ulp"


class Packing(Suite):
    """From the caller's array to tiles, by the array's layout."""

    params = (
        grid(4, 64, regular=(1,)),
        grid("float64", "Fortran", "weights", regular=("float32",)),
    )
    param_names = ("d", "layout")

    @once
    def setup(self, d, layout):
        self.X = gaussian(4_000_000 // d, d, seed=1)
        self.weights = np.ones(len(self.X)) if layout == "weights" else None
        if layout == "float32":
            self.X = self.X.astype(np.float32)
        elif layout == "Fortran":
            self.X = np.asfortranarray(self.X)
        np.testing.assert_array_equal(ArraySample(self.X, self.weights).rows(), self.X)

    def time_array_sample(self, d, layout):
        ArraySample(self.X, self.weights)

    def track_memory(self, d, layout):
        """Largest memory beyond the caller's data, in packed copies."""
        import tracemalloc

        tracemalloc.start()
        ArraySample(self.X, self.weights)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak / (self.X.size * 8)

    track_memory.unit = "copies"


class Condensing(Suite):
    """From rows of one coordinate to weighted points, by the kind of rows."""

    params = (grid("normal", "Cauchy", regular=("weights",)),)
    param_names = ("rows",)

    @once
    def setup(self, rows):
        self.X = gaussian(1_000_000, 1, seed=1)
        if rows == "Cauchy":
            self.X /= gaussian(len(self.X), 1, seed=2)
        self.weights = np.ones(len(self.X)) if rows == "weights" else None
        check_pass(CondensedSample(self.X, self.weights), self.X, direction(1))

    def time_condensed_sample(self, rows):
        CondensedSample(self.X, self.weights)

    def track_points(self, rows):
        """What a pass reads instead of a million rows."""
        return CondensedSample(self.X, self.weights).condensed_to

    track_points.unit = "points"


class Draws(Suite):
    """Direct draws."""

    params = (grid(1_000_000, regular=(100_000,), large=(10_000_000,)), grid(1, regular=(4,)))
    param_names = ("n", "d")

    @once
    def setup(self, n, d):
        X = gaussian(n, d, seed=1)
        np.testing.assert_allclose(X.mean(axis=0), 0.0, rtol=0, atol=6 / math.sqrt(n))

    def time_gaussian(self, n, d):
        gaussian(n, d, seed=1)


class Lattice(Suite):
    """Samples whose cost is to grow with the number of nodes, and not with n."""

    timer = clock(threads=1)
    params = (grid(10**6, 10**12, regular=(10**3, 10**15)), grid(1, 2, regular=(4,)))
    param_names = ("n", "d")

    @once
    def setup(self, n, d):
        use_threads(1)
        self.sample = LatticeSample.gaussian(n, d, seed=1)
        self.u, self.b = direction(d), np.zeros(1)
        y = self.sample.nodes @ self.u[0]
        expected = (self.sample.counts * np.tanh(y)) @ self.sample.nodes / n
        for even in (False, True):
            got = self.sample.sums(self.u, self.b, 0, even=even)[0, 1:-1]
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)

    def time_draw(self, n, d):
        LatticeSample.gaussian(n, d, seed=1)

    def time_split(self, n, d):
        self.sample.split(0.1)

    def time_100_passes(self, n, d):
        for _ in range(100):
            self.sample.sums(self.u, self.b, 0)

    def time_100_folded_passes(self, n, d):
        for _ in range(100):
            self.sample.sums(self.u, self.b, 0, even=True)

    def track_nodes(self, n, d):
        return len(self.sample.nodes)

    track_nodes.unit = "nodes"
