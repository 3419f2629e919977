"""The way to the statistical radius, for asv: seconds, iterations and passes over n and d.

Every run starts at equal coordinates of norm 0.8 and has to come within twice the radius. Its budget is
``BUDGET`` passes over the data; one that diverges, stops elsewhere or spends the budget counts with the
budget, in iterations and in passes, and is censored. ``track_`` values are medians over ``SAMPLES``
samples, or the censored share of them. ``time_to_radius`` is one run on the first of these samples;
where that one is censored, there is no time to the radius and the benchmark is skipped.

Algorithms have their defaults for the model, but for gradient descent, whose default step is ELU's
first. The run on the first sample is checked against NumPy: that the locations are where it says, and
that the likelihood there is better than at the start.
"""

import math
from itertools import product

import numpy as np

from benchmarks.profiles import Suite, by_profile, clock, grid, once
from elubench.algorithms.known import known
from elubench.models.known import named

BUDGET = {"array": 2_000, "lattice": 200_000}
CONSTANT = 2.0
START_NORM = 0.8
SAMPLES = 5
MOST_NUMBERS = 100_000_000  # 0.8 GB

MODELS = grid("isotropic", "diagonal", "general")
KNOWN = known()
FAST = 13  # the first of them, in the order of legends
ALGORITHMS = grid(*list(KNOWN)[:FAST], regular=list(KNOWN)[FAST:])
OPTIONS = {"GradientDescent": {"eta": 0.5}}


def split(params, most=math.inf):
    """Combinations that there are, and those that are not: other models, or too large."""
    there, missing = [], []
    for model, algorithm, n, d in product(*params):
        fits = KNOWN[algorithm].needs <= named(model).features and n * d <= most
        (there if fits else missing).append((model, algorithm, n, d))
    return there, missing


def draw(kind, n, d, seed):
    """A sample of one Gaussian; imports are in functions, since most processes need none."""
    import elubench as eb

    if kind == "lattice":
        return eb.LatticeSample.gaussian(n, d, seed=seed)
    return eb.ArraySample(eb.gaussian(n, d, seed=seed))


def start_of(model, d):
    """Equal coordinates; for general locations the two on either side of the centre."""
    theta = np.full(d, START_NORM / math.sqrt(d))
    return np.concatenate([-theta, theta]) if model == "general" else theta


def to_radius(sample, model, algorithm, budget):
    """One run, and whether it got there."""
    import elubench as eb

    chosen = getattr(eb, algorithm)(**OPTIONS.get(algorithm, {}))
    ended = eb.run(
        sample,
        model,
        chosen,
        start_of(model, sample.d),
        radius=eb.radius(model, sample.n, sample.d, constant=CONSTANT),
        max_iter=budget,
        metrics=False,
    )
    return ended, ended.status == "reached" and ended.passes <= budget


def halves(model, params):
    """Half sum and half difference of the two locations."""
    d = len(params) // 2 if model == "general" else len(params)
    first, second = (params[:d], params[d:]) if model == "general" else (-params, params)
    return (first + second) / 2, (second - first) / 2


def loss(rows, weights, model, params):
    """Minus the mean log-likelihood on the curve of scales, by plain NumPy."""
    middle, delta = halves(model, params)
    total = weights.sum()
    squares = weights @ (rows - middle) ** 2 / total - delta**2
    scale = squares if model == "diagonal" else np.full_like(squares, squares.mean())
    exponents = [
        -0.5 * ((rows - middle - side * delta) ** 2 / scale).sum(axis=1) for side in (-1, 1)
    ]
    density = np.logaddexp(*exponents) - math.log(2) - 0.5 * np.log(2 * math.pi * scale).sum()
    return -(weights @ density) / total


def check(sample, model, ended):
    """Refuse a run that is not where it says, or that made things worse."""
    import elubench as eb

    lattice = isinstance(sample, eb.LatticeSample)
    rows = sample.nodes if lattice else sample.rows()
    weights = sample.counts if lattice else np.ones(sample.n)
    radius = eb.radius(model, sample.n, sample.d, constant=CONSTANT)
    error = np.linalg.norm(ended.params)
    if model == "general":
        error /= math.sqrt(2.0)  # root mean square of the two distances
    assert error <= radius * (1 + 1e-12), f"{ended.status} at a distance of {error}, not {radius}"
    before, after = (
        loss(rows, weights, model, params) for params in (start_of(model, sample.d), ended.params)
    )
    assert after < before, f"a loss of {after} after one of {before}"


def measure(kind, model, algorithm, n, d):
    """Iterations, passes and whether it got there for every sample; or what went wrong."""
    import numba

    numba.set_num_threads(1)
    budget, found = BUDGET[kind], []
    try:
        for seed in range(SAMPLES):
            sample = draw(kind, n, d, seed)
            ended, reached = to_radius(sample, model, algorithm, budget)
            if reached and seed == 0:
                check(sample, model, ended)
            found.append((ended.n_iter, ended.passes, 0) if reached else (budget, budget, 1))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return found


class _ToRadius(Suite):
    """What the runs cost; they are made once, in ``setup_cache``, for all three benchmarks."""

    param_names = ("model", "algorithm", "n", "d")
    version = "1"  # to be raised with what is run: asv looks at the code of the methods alone

    def _found(self, results, *parameters):
        found = results[parameters]
        if isinstance(found, str):
            raise RuntimeError(found)
        return np.array(found)

    def track_iterations(self, results, *parameters):
        return float(np.median(self._found(results, *parameters)[:, 0]))

    track_iterations.unit = "iterations"

    def track_passes(self, results, *parameters):
        return float(np.median(self._found(results, *parameters)[:, 1]))

    track_passes.unit = "passes"

    def track_censored(self, results, *parameters):
        return 100.0 * float(np.mean(self._found(results, *parameters)[:, 2]))

    track_censored.unit = "%"


class Arrays(_ToRadius):
    """Direct draws, kept as rows."""

    params = (
        MODELS,
        ALGORITHMS,
        grid(10_000, 100_000, regular=(1_000_000,), large=(10_000_000,)),
        grid(1, 4, regular=(16,), large=(64,)),
    )
    cases, skip_params = split(params, MOST_NUMBERS)

    def setup_cache(self):
        return {case: measure("array", *case) for case in self.cases}

    setup_cache.timeout = by_profile(300, 3600, 36_000)


class Lattices(_ToRadius):
    """Draws on a lattice, where n can be as large as the theory likes."""

    params = (
        MODELS,
        ALGORITHMS,
        grid(10**4, 10**8, regular=(10**6, 10**10), large=(10**12,)),
        grid(1, 2, large=(3,)),
    )
    cases, skip_params = split(params)

    def setup_cache(self):
        return {case: measure("lattice", *case) for case in self.cases}

    setup_cache.timeout = by_profile(300, 3600, 36_000)


class _Clock(Suite):
    """One run on direct draws, with its set-up and its trace."""

    param_names = ("model", "algorithm", "n", "d")
    version = "1"  # to be raised with what is run: asv looks at the code of the methods alone

    def _prepare(self, threads, model, algorithm, n, d):
        import numba

        numba.set_num_threads(threads or numba.config.NUMBA_NUM_THREADS)
        self.sample = draw("array", n, d, seed=0)
        ended, reached = to_radius(self.sample, model, algorithm, BUDGET["array"])
        if not reached:
            raise NotImplementedError(f"not at the radius: {ended.status}")
        check(self.sample, model, ended)

    def time_to_radius(self, model, algorithm, n, d):
        to_radius(self.sample, model, algorithm, BUDGET["array"])


class OneThread(_Clock):
    """Seconds of the thread at work."""

    params = Arrays.params
    skip_params = Arrays.skip_params
    timer = clock(threads=1)

    @once
    def setup(self, model, algorithm, n, d):
        self._prepare(1, model, algorithm, n, d)


class AllThreads(_Clock):
    """Seconds of the wall clock with all the threads that the machine has, for n that use them."""

    params = (
        MODELS,
        ALGORITHMS,
        grid(100_000, regular=(1_000_000,), large=(10_000_000,)),
        Arrays.params[3],
    )
    skip_params = split(params, MOST_NUMBERS)[1]

    @once
    def setup(self, model, algorithm, n, d):
        self._prepare(None, model, algorithm, n, d)
