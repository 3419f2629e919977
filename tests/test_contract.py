"""One contract for every algorithm, model and sample, algorithms that are added later included."""

import dataclasses
import inspect
import math

import numba
import numpy as np
import pytest
from conftest import JIT, needs_jit, scaled
from elsewhere import Elsewhere
from naive_models import rounding

import elubench
from elubench import ArraySample, LatticeSample, algorithms, gaussian, run, run_many
from elubench.algorithms.known import known as known_algorithms
from elubench.models.known import known as known_models

# Compiled arithmetic overflows to infinity in silence; the same kernels as plain Python warn.
pytestmark = [] if JIT else [pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]

STATUSES = {"reached", "converged", "max_iter", "diverged", "interrupted"}

ALGORITHMS = list(known_algorithms().values())
MODELS = list(known_models().values())
N = scaled(300, 40)


def fits(algorithm, model):
    try:
        algorithm().resolve(model())
    except ValueError:
        return False
    return True


def rows(n=N, seed=1):
    """Data from one Gaussian with a scale of 4, which every model can express."""
    return 2 * np.random.default_rng(seed).standard_normal((n, 2))


SAMPLES = {
    "array": lambda: ArraySample(rows()),
    "weights": lambda: ArraySample(rows(), np.random.default_rng(0).integers(1, 4, N)),
    "lattice": lambda: LatticeSample.gaussian(10**4, scaled(2, 1), seed=1, scale=4.0),
}

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.__name__)
each_pair = pytest.mark.parametrize(
    ("algorithm", "model"),
    [(a, m) for a in ALGORITHMS for m in MODELS if fits(a, m)],
    ids=lambda value: value.__name__,
)
each_sample = pytest.mark.parametrize("kind", SAMPLES)


def start_for(model, sample):
    """Not the default: coordinates differ, and so does the half sum from the centre."""
    start = model.default_start(sample)
    factors = np.linspace(0.8, 1.0, len(start))
    centre = 0.0 if model.even else model.truth(sample.moments().m1, sample.d)
    return centre + (start - centre) * factors


def parameters(result):
    return result.trace.filter(like="param_").to_numpy()


def assert_same(one, two):
    """Everything but the clock, to the last bit."""
    assert (one.status, one.n_iter, one.passes) == (two.status, two.n_iter, two.passes)
    assert one.params.tobytes() == two.params.tobytes()
    assert one.scale.tobytes() == two.scale.tobytes()
    columns = [name for name in one.trace.columns if name != "seconds"]
    assert one.trace[columns].to_numpy().tobytes() == two.trace[columns].to_numpy().tobytes()


def assert_sound(result, model, sample, max_iter):
    assert result.status in STATUSES
    assert result.params.shape == (model.n_params(sample.d),)
    assert np.isfinite(result.params).all()
    assert np.isfinite(result.scale).all()
    assert (result.scale > 0).all()
    assert 0 <= result.n_iter <= max_iter
    assert result.passes >= result.n_iter * (result.status != "diverged")
    t = result.trace["t"].to_numpy()
    assert (t[0], t[-1]) == (0, result.n_iter)
    assert (np.diff(t) > 0).all()
    assert (np.diff(result.trace["passes"]) >= 0).all()
    assert (np.diff(result.trace["seconds"]) >= 0).all()


def test_there_is_something_to_check():
    names = {found.__name__ for found in ALGORITHMS}
    assert {"EM", "ELU", "GradientDescent", "CentredELU", "Simultaneous"} <= names
    assert {found.__name__ for found in MODELS} == {"Isotropic", "Diagonal", "General"}


@each_sample
@each_pair
def test_runs_end_with_a_known_status(algorithm, model, kind):
    sample = SAMPLES[kind]()
    start = start_for(model(), sample)
    for max_iter in (0, 1, 25):
        result = run(sample, model(), algorithm(), start, max_iter=max_iter)
        assert_sound(result, model(), sample, max_iter)
        # a step may leave the region at once; a start that was accepted is a result
        assert result.n_iter > 0 or max_iter == 0 or result.status in ("diverged", "converged")


@each_sample
@each_pair
def test_passes_are_counted(algorithm, model, kind):
    inner = SAMPLES[kind]()
    counted = Elsewhere(inner)
    start = start_for(model(), inner)
    result = run(counted, model(), algorithm(), start, max_iter=15, metrics=False)
    assert result.passes == counted.reads
    assert result.trace["passes"].iloc[-1] <= result.passes


@each_sample
@each_pair
def test_drivers_agree_to_the_last_bit(algorithm, model, kind):
    sample = SAMPLES[kind]()
    start = start_for(model(), sample)
    kwargs = {"max_iter": 20, "radius": 0.2, "tol": 1e-9}
    usual = run(sample, model(), algorithm(), start, **kwargs)
    assert_same(usual, run(sample, model(), algorithm(), start, driver="python", **kwargs))
    assert_same(usual, run(Elsewhere(sample), model(), algorithm(), start, **kwargs))


@needs_jit
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread only")
@each_pair
def test_threads_agree_to_the_last_bit(algorithm, model):
    sample = ArraySample(rows(12_000))  # three blocks, enough for threads to be used
    start = start_for(model(), sample)
    usual = numba.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            kwargs = {"max_iter": 15, "validation": 0.4, "metrics": False}
            results.append(run(sample, model(), algorithm(), start, **kwargs))
    finally:
        numba.set_num_threads(usual)
    assert_same(*results)


@each_pair
def test_many_are_as_one_by_one(algorithm, model):
    samples = [ArraySample(rows(N + 5 * k, seed=k)) for k in range(3)]
    samples.append(LatticeSample.gaussian(1000, 2, seed=3))
    samples.append(Elsewhere(samples[0]))
    starts = [start_for(model(), sample) for sample in samples]
    kwargs = {"max_iter": 12, "radius": 0.3}
    together = run_many(samples, model(), algorithm(), starts, metrics=True, **kwargs)
    for sample, start, result in zip(samples, starts, together, strict=True):
        assert_same(result, run(sample, model(), algorithm(), start, **kwargs))


@each_pair
def test_validation_selects_an_iterate(algorithm, model):
    sample = ArraySample(rows())
    train, held = sample.split(0.25, seed=2)
    kwargs = {"max_iter": 20, "seed": 2}
    result = run(sample, model(), algorithm(), validation=0.25, **kwargs)
    assert_sound(result, model(), train, 20)
    losses = result.trace["validation_loss"]
    chosen = result.trace["t"].tolist().index(result.selected)
    assert losses[chosen] == losses.min()  # the gap decides where losses tie
    assert result.params.tolist() == parameters(result)[chosen].tolist()
    moments = train.moments()
    gap = model().gap(held, result.params, moments)
    best = gap + model().one_gaussian_loss(moments, held.moments())
    # an algorithm may move in other coordinates, in which the same point is rounded anew
    bound = rounding(sample.rows(), result.params, result.scale, 0)
    assert abs(best - losses.min()) <= bound


@each_pair
def test_refused_trials_come_to_an_end(algorithm, model):
    """Where the loss is flat to rounding, no trial is better: a run must still get on, or stop.

    Refused trials are passes without an iteration, so no budget of iterations would end them.
    """
    for seed in range(3):
        sample = ArraySample(rows(seed=seed))
        counted = Elsewhere(sample, limit=60 * 30)
        start = start_for(model(), sample)
        run(counted, model(), algorithm(), start, max_iter=60, metrics=False)


@each_pair
def test_the_radius_stops_at_the_first_iterate_inside(algorithm, model):
    sample = ArraySample(rows())
    start = start_for(model(), sample)
    truth = model().truth(0.0, 2)
    kwargs = {"max_iter": scaled(60, 20), "metrics": False}
    free = run(Elsewhere(sample, limit=2000), model(), algorithm(), start, truth=truth, **kwargs)
    errors = free.trace["location_error"].to_numpy()
    inside = errors[1:].min() * (1 + 1e-9)
    if not inside < errors[0]:
        pytest.skip("never gets closer to the truth than it was at the start")
    first = int(np.argmax(errors <= inside))
    result = run(sample, model(), algorithm(), start, radius=inside, **kwargs)
    assert (result.status, result.n_iter) == ("reached", first)
    assert result.params.tolist() == parameters(free)[first].tolist()


@each_pair
def test_descends_or_says_that_it_need_not(algorithm, model):
    if "not monotone" in " ".join(algorithm.__doc__.lower().split()):
        return
    for seed in range(4):
        X = rows(seed=seed) + (seed % 2) * 4 * np.sign(rows(seed=9)[:, :1])
        sample = ArraySample(X)
        capped = Elsewhere(sample, limit=3000)
        result = run(capped, model(), algorithm(), start_for(model(), sample), max_iter=40)
        gaps, points = result.trace["gap"].to_numpy(), parameters(result)
        for t in range(1, len(gaps)):
            bound = rounding(X, points[t], model().scale(sample, points[t]), 0)
            rise = gaps[t] - gaps[t - 1]
            assert rise <= bound, f"iteration {t} raised the loss: say 'Not monotone' in its doc"


@needs_jit
@each_pair
def test_no_data_make_it_raise(algorithm, model):
    """Nearly degenerate, heavy-tailed, enormous or tiny: a run ends with a status, and silently."""
    rng = np.random.default_rng(4)
    signs = rng.choice([-1.0, 1.0], (50, 2))
    hard = {
        "two points": signs[:, :1] * [1.0, 2.0] + 1e-9 * rng.standard_normal((50, 2)),
        "four points": signs,
        "three rows": rng.standard_normal((3, 2)),
        "heavy tails": rng.standard_cauchy((200, 2)) ** 3,
        "one far row": np.vstack([rng.standard_normal((99, 2)), [[1e6, -1e6]]]),
        "large": 1e50 * rng.standard_normal((50, 2)),
        "small": 1e-50 * rng.standard_normal((50, 2)),
        "far away": 1e5 + rng.standard_normal((50, 2)),
        "correlated": rng.standard_normal((50, 1)) * [1.0, 1.0 + 1e-7],
    }
    for name, X in hard.items():
        result = run(Elsewhere(ArraySample(X), limit=5000), model(), algorithm(), max_iter=60)
        assert result.status in STATUSES, name
        assert (result.scale > 0).all(), name
        assert np.isfinite(result.params).all(), name


@pytest.mark.parametrize(
    ("algorithm", "model"),
    [(a, m) for a in ALGORITHMS for m in MODELS if not fits(a, m)],
    ids=lambda value: value.__name__,
)
def test_a_pair_that_does_not_fit_is_refused_by_name(algorithm, model):
    sentence = f"{algorithm.__name__} needs a model with .*; {model.__name__} has none"
    for call in (run, lambda sample, *rest: run_many([sample], *rest)):
        with pytest.raises(ValueError, match=sentence):
            call(rows(), model(), algorithm())


@each_algorithm
def test_bad_options_are_named(algorithm):
    for option in dataclasses.fields(algorithm):
        for value in ("much", math.nan, -math.inf, True, [1.0]):
            with pytest.raises((TypeError, ValueError)) as caught:
                algorithm(**{option.name: value})
            message = str(caught.value)
            assert option.name in message or algorithm.__name__ in message
            assert repr(value) in message or type(value).__name__ in message


@each_algorithm
def test_is_documented_and_exported(algorithm):
    assert getattr(elubench, algorithm.__name__) is algorithm
    doc = inspect.getdoc(algorithm)
    assert doc != inspect.getdoc(algorithm.__bases__[0])
    inherited = "\n".join(inspect.getdoc(base) or "" for base in algorithm.__mro__[:-1])
    for option in dataclasses.fields(algorithm):
        assert option.name in inherited, f"{option.name} is not documented"


@each_algorithm
def test_is_a_value(algorithm):
    one, two = algorithm(), algorithm()
    assert one == two
    assert hash(one) == hash(two)
    assert one.name == algorithm.__name__
    assert repr(one).startswith(algorithm.__name__ + "(")
    for option in dataclasses.fields(algorithm):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(one, option.name, 1.0)


@pytest.mark.slow_without_jit
@each_pair
def test_large_and_small_samples_of_the_same_numbers(algorithm, model):
    """A lattice and its rows written out are the same data, up to the order of summation."""
    sample = LatticeSample.gaussian(2000, 1, seed=2)
    written = ArraySample(np.repeat(sample.nodes, sample.counts.astype(int), axis=0))
    start = start_for(model(), sample)
    kwargs = {"max_iter": 4, "metrics": False}
    one, two = (run(data, model(), algorithm(), start, **kwargs) for data in (sample, written))
    assert one.n_iter == two.n_iter
    # a few steps of size 1: rounding has no time to grow
    np.testing.assert_allclose(one.params, two.params, rtol=0, atol=1e-9)


def test_gaussian_rows_work_for_all():
    """What the first lines of the documentation do."""
    X = gaussian(n=scaled(2000, 100), d=2, seed=0)
    for model in MODELS:
        assert run(X, model.name, algorithms.EM(), max_iter=3).n_iter == 3
