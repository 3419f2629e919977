"""Condensed samples: as good as all rows, whatever the rows are, at a cost that does not grow with n."""

import math

import numba
import numpy as np
import pandas as pd
import pytest
from conftest import JIT, needs_jit, scaled
from hypothesis import given
from hypothesis import strategies as st

import elubench as eb
from elubench.fits import placing
from elubench.kernels import quadrature
from elubench.samples import ArraySample, CondensedSample, Condenser, bins, condensed

# Compiled arithmetic makes NaN of 0/0 in silence; the same kernels as plain Python warn.
pytestmark = [] if JIT else [pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")]

N = scaled(10_000, 600)
BOTH = 3  # log cosh and curvature
LOG_2 = np.log(np.longdouble(2))


@pytest.fixture(autouse=True)
def _no_row_is_kept_for_being_few(monkeypatch):
    monkeypatch.setattr(condensed, "_FEW_ROWS", 1)


def rows(kind, n, seed=0):
    """n rows of a kind, of about unit scale."""
    rng = np.random.default_rng(seed)
    return {
        "Gaussian": lambda: rng.standard_normal(n),
        "two parts": lambda: rng.standard_normal(n) + 4 * rng.choice([-1.0, 1.0], n),
        "t2": lambda: rng.standard_t(2, n),
        "Cauchy": lambda: rng.standard_cauchy(n),
        "whole numbers": lambda: rng.integers(-9, 30, n).astype(float),
        "one decimal": lambda: np.round(rng.standard_normal(n), 1),
        "two points": lambda: rng.choice([-0.7, 1.3], n),
        "mostly one value": lambda: np.where(rng.random(n) < 0.1, rng.standard_normal(n), 0.3),
        "outlier": lambda: np.append(rng.standard_normal(n - 1), 1e6),
        "exponential": lambda: rng.exponential(size=n),
        "narrow and wide": lambda: rng.standard_normal(n) * rng.choice([1e-4, 1.0], n),
    }[kind]()


KINDS = (
    "Gaussian", "two parts", "t2", "Cauchy", "whole numbers", "one decimal", "two points",
    "mostly one value", "outlier", "exponential", "narrow and wide",
)  # fmt: skip


def reference(x, u, b, weights=None):
    """The sums of a pass in extended precision, and those of absolute values."""
    x = x.astype(np.longdouble)
    w = np.ones_like(x) if weights is None else weights.astype(np.longdouble)
    w = w / w.sum()
    y = x * u + b
    a = np.abs(y)
    t, e = np.tanh(y), np.exp(-2 * a)
    c = 4 * e / (1 + e) ** 2
    log_cosh = np.where(a < 1e-3, y * y / 2 - y**4 / 12 + y**6 / 45, a + np.log1p(e) - LOG_2)
    terms = np.stack([t, t * x, log_cosh, c, c * x, c * x * x])
    return (terms @ w).astype(float), (np.abs(terms) @ w).astype(float)


def assert_same_sums(sample, x, u, b, weights=None):
    """Within 1e-14 of sums of absolute values, and of what rounding y and tanh costs any pass."""
    got = sample.sums(np.array([[u]]), np.array([b]), BOTH)[0]
    expected, sizes = reference(x, u, b, weights)
    w = np.ones(len(x)) if weights is None else weights
    w = w / w.max()
    w = w / w.sum()
    scale = np.max(np.abs(x))
    unit = x / scale
    powers = np.array([1.0, w @ np.abs(unit) * scale, 0.0, 1.0, w @ np.abs(unit) * scale, 0.0])
    powers[5] = w @ unit**2 * scale**2
    # y is off by the roundings of u x and b; 1 - tanh^2 by that of tanh
    y_size = abs(u) * np.abs(x) + abs(b)
    slope = np.exp(-2 * np.minimum(np.abs(u * x + b), 300.0))
    off = 4 * 2.0**-53 * np.array([
        w @ (slope * y_size), w @ (slope * y_size * np.abs(unit)) * scale, w @ y_size,
        w @ (slope * y_size), w @ (slope * y_size * np.abs(unit)) * scale,
        w @ (slope * y_size * unit**2) * scale**2,
    ])  # fmt: skip
    rounding = 4 * 2.0**-53 * np.where(np.arange(6) < 3, 0.0, powers)
    np.testing.assert_array_less(np.abs(got - expected), 1e-14 * sizes + off + rounding + 1e-305)


def assert_same_moments(sample, full):
    got, expected = sample.moments(), full.moments()
    assert got.weight == pytest.approx(expected.weight, rel=2e-15)
    np.testing.assert_allclose(got.m2, expected.m2, rtol=4e-15)
    np.testing.assert_allclose(got.m1, expected.m1, rtol=0, atol=4e-15 * math.sqrt(expected.m2[0]))


def scale_of(x):
    return float(np.subtract(*np.quantile(x, [0.75, 0.25]))) or float(np.std(x))


@pytest.mark.parametrize("largest_u", [1.0, 1e-8])
def test_few_directions_do_not_cost_digits(largest_u):
    """Bins are narrower than the range, even where wider ones would serve."""
    x = np.random.default_rng(0).random((N, 1))
    condenser = Condenser(0.0, 1.0, largest_u=largest_u)
    condenser.add(x)
    assert_same_moments(condenser.finish(), ArraySample(x))


@pytest.mark.parametrize("tiny", [1e-310, 1e-300, 1e-290])
def test_most_rows_next_to_nothing(tiny):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(N) < 0.8, tiny * rng.random(N), rng.standard_normal(N))[:, None]
    assert_same_moments(CondensedSample(x), ArraySample(x))


def test_close_to_the_largest_numbers():
    x = 1e150 - 1e147 * np.abs(np.random.default_rng(0).standard_normal((N, 1)))
    assert_same_moments(CondensedSample(x), ArraySample(x))


@pytest.mark.parametrize("kind", KINDS)
def test_any_data(kind):
    x = rows(kind, N)
    sample, full = CondensedSample(x[:, None]), ArraySample(x[:, None])
    assert (sample.n, sample.d, sample.n_weighted) == (N, 1, N)
    weights = sample.tiles.weights.reshape(-1)
    assert (weights[: sample.condensed_to] > 0).all()
    assert (weights[sample.condensed_to :] == 0).all()
    assert_same_moments(sample, full)
    for size in (1e-6, 2.0, 0.99 * sample.largest_u * scale_of(x), 300.0):
        u = size / scale_of(x)
        for place in (0.0, float(x[1])):
            assert_same_sums(sample, x, u, -place * u)


@given(
    st.sampled_from(KINDS),
    st.integers(2, N),
    st.floats(-100, 100),
    st.sampled_from([0.0, 1.0, -30.0, 1e3, 1e5]),
    st.floats(-3, 2.5),
    st.floats(-2, 2),
    st.sampled_from(["none", "uniform", "zeros", "ratios"]),
)
def test_any_scale_offset_and_weights(kind, n, exponent, offset, size, place, weighing):
    unit = 10.0**exponent
    x = (rows(kind, n, seed=n) + offset) * unit
    rng = np.random.default_rng(n)
    weights = {
        "none": None,
        "uniform": rng.random(n) + 1e-3,
        "zeros": np.where(rng.random(n) < 0.7, 0.0, 1.0),
        "ratios": 10.0 ** rng.uniform(-200, 90, n),
    }[weighing]
    if weights is not None:
        weights[:2] = np.maximum(weights[:2], weights.max() * 0.5 or 1.0)
    sample = CondensedSample(x[:, None], weights)
    full = ArraySample(x[:, None], weights)
    assert sample.n_weighted == full.n_weighted
    assert_same_moments(sample, full)
    u = 10.0**size / (scale_of(x) or unit)
    b = -u * (float(np.median(x)) + place * scale_of(x))
    assert_same_sums(sample, x, u, b, weights)


@needs_jit
@pytest.mark.parametrize("kind", ["Gaussian", "t2", "whole numbers"])
def test_ten_million_rows_and_one_far_outlier(kind):
    """Every row comes a thousand times, so that the reference can take it once."""
    x = rows(kind, 10_000)
    many = np.tile(x, 1000)
    many[0] = 1e6 * scale_of(x)
    weights = np.repeat([999.0, 1000.0, 1.0], [1, len(x) - 1, 1])
    sample = CondensedSample(many[:, None])
    assert sample.condensed_to < 20_000
    for size in (1e-6, 2.0, 0.99 * sample.largest_u * scale_of(x)):
        u = size / scale_of(x)
        assert_same_sums(sample, np.append(x, many[0]), u, -u * x[1], weights)


@pytest.mark.parametrize("seed", range(scaled(40, 4)))
def test_the_bound_holds_for_rows_placed_to_break_it(seed):
    """A bin of very few rows anywhere in it, with the steepest part of tanh on top of them."""
    rng = np.random.default_rng(seed)
    condenser = Condenser(-1.0, 1.0)
    width = condenser.width
    # more rows than points of a bin, else these are the rows
    x = width * (rng.integers(-20, 20) + np.sort(rng.beta(0.5, 0.5, scaled(5000, 40))))
    condenser.add(x[:, None])
    sample = condenser.finish()
    assert sample.condensed_to <= 2 * quadrature.POINTS
    for u in (sample.largest_u, 0.7 * sample.largest_u):
        for place in width * rng.uniform(-3, 3, 4) + x[0]:
            assert_same_sums(sample, x, u, -u * place)


def points_of(t):
    """The points and weights of a bin with rows at these local coordinates, and its sums of powers."""
    sums = np.stack([np.sum(t**j) for j in range(quadrature.POWERS)])
    points, weights = np.empty((2, 1, quadrature.POINTS))
    counts = np.zeros(1, dtype=np.int64)
    room = np.empty((1, quadrature.SCRATCH, quadrature.POWERS))
    eb.kernels.ready(quadrature.points_serial)(sums[None], room, points, weights, counts)
    return points[0, : counts[0]], weights[0, : counts[0]], sums


#: Rows in a bin, from [0, 1): some fill it evenly, others lie together in parts of it.
FILLED = {
    "evenly": lambda u: u,
    "to both ends": lambda u: np.concatenate([[0.0], u, [1.0 - 2.0**-53]]),
    "at both ends": lambda u: 0.5 - 0.5 * np.cos(np.pi * u),
    "on the left": lambda u: u**6,
    "in the middle": lambda u: 0.5 + 0.05 * (u - 0.5),
    "in two parts": lambda u: np.where(u < 0.5, 0.1 * u, 1.0 - 0.1 * u),
    "in nine places": lambda u: np.floor(9.0 * u) / 9.0,
    "in eight places": lambda u: np.floor(8.0 * u) / 8.0,
    "crowded at an edge": lambda u: 1e-3 * -np.log1p(-u),
    "crowded at the other": lambda u: 1.0 - 0.02 * u**3,
    "with long tails": lambda u: np.minimum(1e-4 / (1.0 - u) ** 2, 1.0),
    "one heavy place": lambda u: np.append(u, np.full(100_000, 0.731)),
}


@pytest.mark.parametrize("how", FILLED)
def test_points_have_the_sums_of_the_rows(how):
    t = FILLED[how]((np.arange(999) + np.random.default_rng(0).random(999)) / 999) - 0.5
    points, weights, sums = points_of(t)
    crowded = ("in the middle", "in two parts", "crowded at an edge", "crowded at the other")
    assert len(points) == quadrature.POINTS or how in crowded
    assert_has_sums(points, weights, sums)
    assert off(points, weights, sums).max() <= 2e-15


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 12, 30])
def test_points_of_few_rows(rows):
    rng = np.random.default_rng(rows)
    for _ in range(scaled(100, 10)):
        assert_has_sums(*points_of(rng.random(rows) - 0.5))


def test_weights_are_right_to_rounding():
    """Where a row weighs much more than the others, its point's rounding would show in their weights."""
    evenly = (np.arange(999) + 0.5) / 999
    points, weights, sums = points_of(np.append(evenly, np.full(100_000, 0.01)) - 0.5)
    assert off(points, weights, sums).max() <= 5e-16


def test_points_of_rows_that_crowd_at_an_edge():
    rng = np.random.default_rng(0)
    crowds = (
        lambda n: np.abs(rng.normal(size=n)),
        lambda n: rng.exponential(size=n) ** 4,
        lambda n: rng.random(n) ** 8,
        lambda n: np.floor(6.0 * rng.random(n)) / 5.0 + 1e-3 * rng.random(n),
        lambda n: rng.pareto(1.0, n),
    )
    for _ in range(scaled(600, 8)):
        for crowd in crowds:
            spread, rows = 10.0 ** rng.uniform([-5.0, 0.5], [0.0, 3.2])
            t = np.minimum(spread * crowd(int(rows)), 1.0 - 2.0**-53)
            for local in (t - 0.5, 0.5 - t):
                assert_has_sums(*points_of(local))


def off(points, weights, sums):
    """What the sums of powers of the points are off, as shares of the weight."""
    again = np.array([np.sum(weights * points**j) for j in range(quadrature.POWERS)])
    return np.abs(again - sums) / sums[0]


def assert_has_sums(points, weights, sums):
    """Higher ones may be off more: in a bin, tanh has less than (1 / pi)^j of t^j."""
    assert (weights > 0).all()
    assert (np.abs(points) <= 0.51).all()
    assert (off(points, weights, sums) <= 2e-15 * 2.0 ** np.arange(quadrature.POWERS)).all()


@pytest.mark.parametrize("how", ["evenly", "at both ends", "on the left"])
def test_points_are_those_of_gauss(how):
    """Against orthogonal polynomials made from the rows, not from sums, whose rounding matters more."""
    t = FILLED[how]((np.arange(999) + 0.5) / 999) - 0.5
    before, here = np.zeros_like(t), np.full_like(t, len(t) ** -0.5)
    diagonal, beside = [], [0.0]
    for _ in range(quadrature.POINTS):
        diagonal.append(np.sum(t * here**2))
        above = (t - diagonal[-1]) * here - beside[-1] * before
        beside.append(np.sqrt(np.sum(above**2)))
        before, here = here, above / beside[-1]
    matrix = np.diag(diagonal) + np.diag(beside[1:-1], 1) + np.diag(beside[1:-1], -1)
    expected, vectors = np.linalg.eigh(matrix)
    points, weights, _ = points_of(t)
    np.testing.assert_allclose(points, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(weights, len(t) * vectors[0] ** 2, rtol=1e-6)


@pytest.mark.parametrize("noise", [1e-4, 1e-3, 0.01, 0.1])
def test_whole_numbers_with_noise(noise):
    """They crowd where bins begin, and the sums of powers have few digits of where."""
    for seed in range(scaled(10, 2)):
        rng = np.random.default_rng(seed)
        x = np.round(3.0 * rng.normal(size=N)) + noise * np.abs(rng.normal(size=N))
        sample = CondensedSample(x[:, None])
        for u in (0.2, sample.largest_u):
            assert_same_sums(sample, x, u, 0.1)


def test_few_distinct_rows_are_found_again():
    x = np.repeat([0.25, 0.75, 3.0, 3.001], scaled(30_000, 300))
    sample = CondensedSample(x[:, None])
    kept = np.sort(sample.tiles.data.reshape(-1)[: sample.condensed_to])
    np.testing.assert_allclose(kept, [0.25, 0.75, 3.0, 3.001], rtol=1e-12)


def test_scaling_by_a_power_of_two_changes_no_bit():
    x = rows("Gaussian", N)[:, None]
    one, other = CondensedSample(x), CondensedSample(1024.0 * x)
    assert (1024.0 * one.tiles.data == other.tiles.data).all()
    assert (one.tiles.weights == other.tiles.weights).all()


@needs_jit
def test_threads_change_no_bit():
    x = rows("Gaussian", 500_000)[:, None]
    weights = np.random.default_rng(1).random(len(x))
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, before):
            numba.set_num_threads(threads)
            found += [CondensedSample(x, weights).tiles, CondensedSample(x).tiles]
    finally:
        numba.set_num_threads(before)
    with eb.kernels.region.parallel_region.entered():  # nobody else goes in: the serial kernels
        found += [CondensedSample(x, weights).tiles, CondensedSample(x).tiles]
    for place, one in enumerate(found[2:]):
        assert one.data.tobytes() == found[place % 2].data.tobytes()
        assert one.weights.tobytes() == found[place % 2].weights.tobytes()


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_merged_are_the_whole(weighted):
    x = rows("t2", N)
    weights = np.random.default_rng(1).random(N) * 1e-200 if weighted else None
    whole = Condenser(-8, 8)
    whole.add(x[:, None], weights)
    parts = [Condenser(-8, 8) for _ in range(3)]
    for part, places in zip(parts, np.array_split(np.arange(N), 3), strict=True):
        for half in np.array_split(places, 2):
            part.add(x[half, None], None if weights is None else weights[half])
    for part in parts[1:]:
        parts[0].merge(part)
    one, other = parts[0].finish(), whole.finish()
    assert (one.n, one.n_weighted, one.condensed_to) == (N, N, other.condensed_to)
    assert_same_moments(one, other)
    for u in (0.3, 0.99 * one.largest_u):
        assert_same_sums(one, x, u, 0.1, weights)


def test_parts_of_different_weight():
    """A part of weight 1e-3 with one of 1e5: neither spoils the other."""
    x, n = rows("Gaussian", N), N // 2
    weights = np.repeat([1e-3, 1e5], [n, N - n])
    condenser = Condenser(-4, 4)
    condenser.add(x[:n, None], weights[:n])
    condenser.add(x[n:, None], weights[n:])
    assert_same_sums(condenser.finish(), x, 1.3, 0.2, weights)
    assert_same_moments(condenser.finish(), ArraySample(x[:, None], weights))


def test_asked_for_more():
    sample = Condenser(-5, 5)
    sample.add(rows("Gaussian", N)[:, None])
    finer = Condenser(-5, 5, largest_u=500)
    finer.add(rows("Gaussian", N)[:, None])
    u = 0.1 * np.array([[sample.finish().largest_u]])
    assert finer.finish().largest_u >= 500
    np.testing.assert_allclose(
        finer.finish().sums(u, np.zeros(1), BOTH),
        sample.finish().sums(u, np.zeros(1), BOTH),
        rtol=1e-14,
        atol=1e-15,
    )
    with pytest.raises(ValueError, match=r"u must be at most .* in size"):
        sample.finish().sums(np.array([[400.0]]), np.zeros(1), 0)
    with pytest.raises(ValueError, match="to be split"):
        sample.finish().split()


def test_beyond_the_largest_u_all_rows_are_read_unless_none_is_near():
    x = rows("Gaussian", N)[:, None]
    sample, full = CondensedSample(x), ArraySample(x)
    u = np.array([[0.5], [3.0 * sample.largest_u], [9.0 * sample.largest_u]])
    b = np.array([0.1, 0.0, 0.0])
    got = sample.sums(u, b, BOTH)
    assert (got[1:] == full.sums(u[1:], b[1:], BOTH)).all()
    assert (got[:1] == sample.sums(u[:1], b[:1], BOTH)).all()
    assert sample._full is not None
    again = CondensedSample(x)
    assert_same_sums(again, x[:, 0], 9.0 * sample.largest_u, -90.0 * sample.largest_u)
    assert again._full is None


@pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
@pytest.mark.parametrize(
    "algorithm", [eb.EM(), eb.ELU(), eb.NewtonAnderson()], ids=lambda a: a.name
)
@pytest.mark.parametrize("kind", ["Gaussian", "two parts"])
def test_runs_agree(model, algorithm, kind):
    x = (rows(kind, N) + 0.1)[:, None]
    full, sample = ArraySample(x), CondensedSample(x)
    iterations = scaled(40, 4)
    expected = eb.run(full, model, algorithm, max_iter=iterations)
    got = eb.run(sample, model, algorithm, max_iter=iterations)
    again = eb.run(sample, model, algorithm, max_iter=iterations, driver="python")
    assert got.details["condensed_to"] == sample.condensed_to
    assert (got.status, got.n_iter, got.passes) == (
        expected.status,
        expected.n_iter,
        expected.passes,
    )
    assert (got.last == again.last).all()
    count = min(12, len(got.trace))  # ELU, as it diverges, magnifies rounding
    np.testing.assert_allclose(
        got.trace["gap"][:count], expected.trace["gap"][:count], rtol=1e-11, atol=1e-13
    )
    if not algorithm.diverges:
        # the gradient is (2/3) theta^7 there, and Newton divides its rounding by its slope
        flat = kind == "Gaussian" and isinstance(algorithm, eb.NewtonAnderson)
        np.testing.assert_allclose(got.last, expected.last, rtol=0, atol=1e-7 if flat else 1e-11)


def test_a_run_goes_beyond_the_largest_u_and_comes_back():
    """EM from far outside, where the components are narrow; both drivers make the same passes."""
    x = rows("Gaussian", N)[:, None]
    start = [float(np.sqrt(np.mean(x**2))) * (1 - 1e-4)]
    full = ArraySample(x)
    runs = []
    for driver in ("compiled", "python"):
        sample = CondensedSample(x)
        runs.append(eb.run(sample, "isotropic", eb.EM(), start, max_iter=6, driver=driver))
        assert sample._full is not None
    expected = eb.run(full, "isotropic", eb.EM(), start, max_iter=6)
    assert (runs[0].last == runs[1].last).all()
    np.testing.assert_allclose(runs[0].last, expected.last, rtol=1e-12)
    assert runs[0].passes == 6


def test_run_many_gives_the_same_as_run():
    samples = [CondensedSample(rows("Gaussian", N, seed)[:, None]) for seed in range(3)]
    options = {"max_iter": 5, "metrics": False}
    together = eb.run_many(samples, "isotropic", eb.EM(), **options)
    for sample, one in zip(samples, together, strict=True):
        assert (one.last == eb.run(sample, "isotropic", eb.EM(), **options).last).all()


def test_validation():
    x = rows("Gaussian", N)[:, None]
    options = {"validation": 0.2, "max_iter": scaled(20, 3)}
    got = eb.run(CondensedSample(x), "isotropic", eb.ELU(), **options)
    expected = eb.run(ArraySample(x), "isotropic", eb.ELU(), **options)
    assert (got.selected, got.n_iter) == (expected.selected, expected.n_iter)
    np.testing.assert_allclose(
        got.trace["validation_loss"], expected.trace["validation_loss"], rtol=1e-12
    )
    held = CondensedSample(x)
    with pytest.raises(ValueError, match="'compiled' cannot validate on a CondensedSample"):
        eb.run(x, "isotropic", eb.ELU(), validation=held, driver="compiled")


@pytest.fixture
def condense_all(monkeypatch):
    """Called, makes every fit at d = 1 condense its data."""

    def now():
        monkeypatch.setattr(placing, "CONDENSED_FROM", 2)
        monkeypatch.setattr(placing, "DENSE", 1.0)

    return now


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (model, kind)
        for model in ("isotropic", "diagonal", "general")
        for kind in ("Gaussian", "two parts", "t2", "exponential", "outlier")
        if (model, kind) != ("general", "outlier")  # the next test
    ],
)
def test_fits_agree(model, kind, condense_all):
    x = (rows(kind, N) * 3.0)[:, None]
    expected = eb.fit(x, model)
    assert "condensed_to" not in expected.run.details
    condense_all()
    got = eb.fit(x, model)
    assert got.run.details["condensed_to"] <= N
    assert (got.status, got.regime) == (expected.status, expected.regime)
    assert got.run.passes == expected.run.passes
    assert got.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-13)
    assert got.gain == pytest.approx(expected.gain, rel=1e-11, abs=1e-9)
    # one Gaussian or nearly so: the locations are known to the eighth root of rounding only
    sharp = got.evidence.contraction < 0.999
    np.testing.assert_allclose(got.location, expected.location, rtol=1e-12 if sharp else 1e-6)
    np.testing.assert_allclose(got.scale, expected.scale, rtol=1e-12 if sharp else 1e-6)


def test_rows_that_count_once_are_not_called_weighted():
    """The weights of the points add up to n, but for rounding."""
    x = 5.0 + 3.0 * np.random.default_rng(2).standard_normal((60_000, 1))
    sample = eb.CondensedSample(x)
    assert 0.0 < abs(sample.total - 60_000) < 1e-9
    assert sample.moments().weight == eb.fit(x).weight == 60_000
    assert not any("weights" in note for note in eb.fit(x).notes)
    assert any("weights" in note for note in eb.fit(x, weights=np.full(60_000, 1.5)).notes)


def test_fits_agree_with_an_outlier_as_far_as_digits_go(condense_all):
    """One component is at the outlier: the scale, about 9, is a difference of numbers of 1e12."""
    x = (rows("outlier", N) * 3.0)[:, None]
    expected = eb.fit(x)
    condense_all()
    got = eb.fit(x)
    assert (got.status, got.regime) == (expected.status, expected.regime)
    np.testing.assert_allclose(got.location, expected.location, rtol=1e-2, atol=0.01)
    np.testing.assert_allclose(got.scale, expected.scale, rtol=2e-3)
    assert got.log_likelihood == pytest.approx(expected.log_likelihood, rel=2e-3)


def test_a_fit_far_from_zero(condense_all):
    x = (rows("two parts", N) + 1e6)[:, None]
    expected = eb.fit(x)
    condense_all()
    got = eb.fit(x)
    assert "condensed_to" in got.run.details
    np.testing.assert_allclose(got.location - 1e6, expected.location - 1e6, rtol=1e-9)
    np.testing.assert_allclose(got.scale, expected.scale, rtol=1e-11)
    assert got.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)


def test_moving_keeps_the_digits_of_the_differences():
    x = rows("Gaussian", N) + 1e7
    origin = np.array([float(np.round(np.mean(x)))])
    moved = CondensedSample(x[:, None]).about(origin)
    assert not moved.origin().any()
    assert_same_moments(moved, ArraySample((x - origin)[:, None]))
    assert_same_sums(moved, x - origin, 2.0, 0.3)
    assert_same_sums(moved, x - origin, 3.0 * moved.largest_u, 0.3)  # all rows, moved


def test_data_that_do_not_condense_are_fitted_as_they_are(monkeypatch):
    monkeypatch.setattr(placing, "CONDENSED_FROM", 100)
    x = np.random.default_rng(0).standard_normal((scaled(4000, 400), 1))
    assert isinstance(placing.read(x, None), ArraySample)


def test_few_rows_are_kept_as_they_are(monkeypatch):
    monkeypatch.undo()
    x = rows("Gaussian", 50)[:, None]
    sample = CondensedSample(x)
    assert (sample.tiles.data.reshape(-1)[:50] == x[:, 0]).all()
    assert sample.largest_u == math.inf
    weighted = CondensedSample(x, np.repeat([0.0, 2.0], 25))
    assert (weighted.condensed_to, weighted.n, weighted.n_weighted) == (25, 50, 25)


@pytest.mark.parametrize("form", ["list", "frame", "float32", "fortran", "sample"])
def test_forms_of_x(form):
    x = np.round(rows("Gaussian", scaled(9000, 300)), 2).astype(np.float32).astype(float)[:, None]
    given = {
        "list": x.tolist,
        "frame": lambda: pd.DataFrame(x),
        "float32": lambda: x.astype(np.float32),
        "fortran": lambda: np.asfortranarray(np.hstack([x, x]))[:, :1],
        "sample": lambda: ArraySample(x),
    }[form]()
    one = given.condensed() if form == "sample" else CondensedSample(given)
    other = CondensedSample(x)
    assert (one.tiles.data == other.tiles.data).all()
    assert (one.tiles.weights == other.tiles.weights).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [(np.nan, "got NaN"), (np.inf, "got infinity"), (-1e200, "too large to square")],
)
@pytest.mark.parametrize("n", [20, scaled(9000, 300)])
def test_bad_numbers_are_refused(value, message, n):
    x = rows("Gaussian", n)[:, None]
    x[n // 3] = value
    with pytest.raises(ValueError, match=f"X must be .*{message}"):
        CondensedSample(x)
    condenser = Condenser(-3, 3)
    with pytest.raises(ValueError, match=f"X must be .*{message}"):
        condenser.add(x)


def test_bad_arguments_are_refused():
    x = rows("Gaussian", 50)
    with pytest.raises(ValueError, match="X must have one column to be condensed, got 2"):
        CondensedSample(np.stack([x, x], axis=1))
    with pytest.raises(ValueError, match="X must have one column to be condensed, got 2"):
        ArraySample(np.stack([x, x], axis=1)).condensed()
    with pytest.raises(ValueError, match="weights must be None for an ArraySample"):
        CondensedSample(ArraySample(x[:, None]), np.ones(50))
    with pytest.raises(ValueError, match="high must be in"):
        Condenser(1.0, 1.0)
    with pytest.raises(ValueError, match="largest_u must be finite and > 0"):
        Condenser(0.0, 1.0, largest_u=-1)
    with pytest.raises(ValueError, match="at most 65536 bins"):
        Condenser(0.0, 1.0, largest_u=1e9)
    with pytest.raises(ValueError, match=r"at least 2 rows .* got 0"):
        Condenser(0.0, 1.0).finish()
    with pytest.raises(ValueError, match="other must have the same bins"):
        Condenser(0.0, 1.0).merge(Condenser(0.0, 2.0))


def test_rows_all_the_same():
    for value in (0.0, 3.7, -1e140, 1e-200):
        sample = CondensedSample(np.full((300, 1), value))
        assert sample.moments().m1[0] == pytest.approx(value, rel=1e-15)
        assert sample.condensed_to == 1


def test_cost_does_not_grow_with_n():
    sizes = [CondensedSample(rows("Gaussian", n)[:, None]).condensed_to for n in (N, 4 * N)]
    most = 2 * bins._LEAST_BINS * quadrature.POINTS
    assert max(sizes) < most
