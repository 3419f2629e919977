"""Where ``fit`` starts on many rows: a part of them is looked at, and nothing is lost by it."""

import numpy as np
import pytest
from conftest import needs_jit

import elubench as eb
from elubench.fits import starts
from elubench.models import directions
from elubench.models.known import named
from elubench.samples.base import SHAPE, Read

N = 70_000  # more than twice the part

pytestmark = needs_jit


def data(kind, d):
    rng = np.random.default_rng([d, 3])
    X = rng.standard_normal((N, d))
    if kind == "sorted halves":
        X[:, 0] += 2.0 * (rng.random(N) < 0.5)
        X = X[np.argsort(X[:, 0])]
    elif kind == "small part":
        X[:, 0] += 8.0 * (rng.random(N) < 0.05)
    elif kind == "weak":
        X[:, 0] += 1.2 * (rng.random(N) < 0.5)
    elif kind == "skewed":
        X = np.exp(0.7 * X)
    elif kind == "heavy":
        X = rng.standard_t(3.0, (N, d))
    elif kind == "one far row":
        X[17] *= 1e4
    return X


KINDS = ("one", "sorted halves", "small part", "weak", "skewed", "heavy", "one far row")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("model", "d"), [("general", 1), ("general", 3), ("diagonal", 2)])
def test_as_good_as_with_all_rows(kind, model, d, monkeypatch):
    sample = eb.ArraySample(data(kind, d))
    quick = eb.fit(sample, model)
    monkeypatch.setattr(starts, "_THIN", N)
    full = eb.fit(sample, model)
    assert quick.log_likelihood >= full.log_likelihood - 0.01
    assert quick.status == full.status == "converged"


@pytest.mark.parametrize(("model", "d"), [("isotropic", 2), ("general", 1), ("general", 4)])
def test_passes_on_one_gaussian(model, d):
    """A read for moments, one to compare, a short run, likelihood and contraction."""
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((N, d))
        fit = eb.fit(eb.ArraySample(X), model)  # else it would be condensed at d = 1
        assert fit.run.passes <= 6
        assert fit.passes <= fit.run.passes + 4 + 4 * 0.5  # four reads of less than half the rows


class TestPart:
    def test_even_on_sorted_rows(self):
        X = np.sort(np.random.default_rng(0).standard_normal((N, 1)), axis=0)
        sample = eb.ArraySample(X)
        part = starts._part(eb.General(), sample)
        assert part.n < 0.6 * N
        assert abs(part.moments().m1[0] - sample.moments().m1[0]) < 0.02

    def test_rows_are_rows_of_the_sample(self):
        X = np.arange(2.0 * N).reshape(N, 2)
        weights = np.arange(1, N + 1)
        part = eb.ArraySample(X, weights).thinned(1000)
        rows = part.tiles.data.transpose(0, 2, 1).reshape(-1, 2)
        assert len(rows) == part.n >= 1000
        place = (rows[:, 0] / 2).astype(int)
        assert (X[place] == rows).all()
        kept = np.ldexp(part.tiles.weights.ravel(), part.exponent)
        assert (kept == weights[place]).all()
        assert part.moments().weight == kept.sum()

    def test_all_rows_if_they_are_few_or_unlike(self):
        few = eb.ArraySample(np.random.default_rng(0).standard_normal((1000, 2)))
        assert starts._part(eb.General(), few) is few
        far = eb.ArraySample(data("one far row", 2))
        assert starts._part(eb.General(), far) is far
        lattice = eb.LatticeSample.gaussian(10**9, 2, seed=0)
        assert starts._part(eb.General(), lattice) is lattice

    def test_no_weight_in_the_part(self):
        weights = np.zeros(N)
        weights[:100] = 1.0  # in the first tile, which is not taken
        sample = eb.ArraySample(np.random.default_rng(0).standard_normal((N, 1)), weights)
        assert starts._part(eb.General(), sample) is sample


def test_coinciding_components_are_moved_apart():
    """Heavy tails have the moment estimate 0, which no gradient could leave."""
    sample = eb.ArraySample(np.random.default_rng(0).standard_t(6.0, (2000, 1)))
    for name in ("isotropic", "general"):
        model = named(name)
        (estimate,), _ = model.moment_estimates(sample)
        assert model.is_stationary_start(estimate)
        assert not model.is_stationary_start(starts._apart(model, sample, estimate))
        assert eb.fit(sample, name, "em").gain >= 0.0


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("name", ["isotropic", "general"])
def test_one_gaussian_starts_from_the_moments(name, d):
    """From nothing else, on rows in memory and, at d = 1, condensed."""
    X, model = eb.gaussian(N, d, seed=4), named(name)
    for sample in [eb.ArraySample(X), *([eb.CondensedSample(X)] if d == 1 else [])]:
        (estimate,), _ = model.moment_estimates(sample)
        begins = starts.starts(model, sample, lambda: False)
        assert begins.flat
        expected = starts._apart(model, sample, estimate)
        assert [one.tolist() for one in begins.points] == [expected.tolist()]


@pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
def test_fit_by_moments_alone(model):
    """An estimate, reported with what EM would still gain from there."""
    X = data("weak", 2) - 0.6 * np.array([1.0, 0.0])
    fit, best = eb.fit(X, model, "moments"), eb.fit(X, model)
    assert isinstance(fit.algorithm, eb.Moments)
    assert fit.run.passes <= 2.0
    assert best.gain - 5.0 < fit.gain <= best.gain + 1e-6


@pytest.mark.parametrize(
    ("n", "d", "rows", "away"),
    [(900, 5, 3, 2400.0), (12_000, 1, 15, 400.0), (20_000, 5, 15, 360.0), (60_000, 8, 5, 520.0)],
)
def test_a_few_far_rows(n, d, rows, away):
    """They are a component, whether equal or not, although no candidate knows how many they are."""
    for equal in (True, False):
        X = np.random.default_rng(3).standard_normal((n, d))
        X[:rows] = (X[0] if equal else X[:rows]) + away
        fit = eb.fit(X)
        assert fit.gain > 0.5 * n
        assert fit.scale[0] == pytest.approx(np.var(X[rows:]), rel=0.02)


@pytest.mark.parametrize("n", [30, 3000, 100_000])
def test_kurtosis_along_axes(n):
    """From one pass along short directions: to a per cent, also where a single row is all of it."""
    rng = np.random.default_rng(n)
    gaussian = 5.0 + rng.standard_normal((n, 3))
    far = gaussian.copy()
    far[0] += 1e4
    for X in (gaussian, far, rng.standard_t(3, (n, 3)), rng.random((n, 3))):
        sample, centre = eb.ArraySample(X), X.mean(axis=0)
        _, vectors = np.linalg.eigh(np.cov(X.T))
        along = (X - centre) @ vectors
        axes = (np.sqrt(np.mean(along**2, axis=0)) * vectors).T
        found = directions.kurtosis(sample, centre, np.ones(3), axes)
        expected = np.mean(along**4, axis=0) / np.mean(along**2, axis=0) ** 2
        np.testing.assert_allclose(found, expected, rtol=0.01)
    one = eb.ArraySample(gaussian[:, :1])
    about, unit = gaussian[:, :1].mean(axis=0), np.full(1, 2.0)
    (found,) = directions.kurtosis(one, about, unit, np.ones((1, 1)))
    z = gaussian[:, 0] - about
    assert found == pytest.approx(np.mean(z**4) / np.mean(z**2) ** 2, rel=1e-9)


def test_a_part_that_is_too_far_out_for_all_rows():
    """The far rows are a larger share of the part that is looked at first."""
    rng = np.random.default_rng(5)
    X, far = rng.standard_normal((20_000, 2)), rng.permutation(20_000)[:100]
    X[far] = X[far[0]] + 800.0
    fit = eb.fit(X)
    assert fit.status == "converged"
    assert fit.scale[0] == pytest.approx(1.0, rel=0.05)


def test_free_weights_see_a_row_that_the_first_look_misses():
    X = np.random.default_rng(1).standard_normal((60_000, 8))
    X[7000, 0] += 32.7
    fit = eb.fit(X, eb.General(mixing="free"))
    assert fit.gain > 400.0
    assert any("an outlier" in note for note in fit.notes)


def test_many_rows_and_a_far_one():
    """The estimate from the moments, which it spoils, is not the only start."""
    X = np.random.default_rng(1).standard_normal((40_000, 2))
    X[0] = 1e4, 0.0
    fit = eb.fit(X, "isotropic")
    assert fit.status == "converged"
    assert fit.gain > 0.3


def test_two_points_in_the_first_look_only():
    """Rows beside them are in none of the tiles that are looked at first."""
    X = np.zeros((60_000, 2))
    X[::2] = 1.0
    sample = eb.ArraySample(X)
    part = starts._part(eb.General(), sample)
    assert part is not sample
    with pytest.raises(ValueError, match="more than two points"):
        eb.fit(X)
    for first in range(0, len(X), 500):
        others = X.copy()
        others[first : first + 5] = 0.5
        thin = starts._part(eb.General(), eb.ArraySample(others))
        if not (thin.tiles.data == 0.5).any():
            break
    else:
        pytest.fail("every row was looked at")
    assert eb.fit(others).scale[0] > 1e-6


@pytest.mark.parametrize("scale", [1e4, 1e10, 1e100])
def test_a_known_scale_far_above_the_spread(scale):
    """Steps of EM bring the components together to the last bit."""
    fit = eb.fit(np.random.default_rng(0).standard_normal((300, 3)), eb.KnownScale(scale=scale))
    assert fit.gain >= 0.0
    assert fit.regime != "separated"


@pytest.mark.parametrize("model", ["isotropic", "general", "diagonal", "known-scale"])
def test_moments_are_read_once(model):
    fit = eb.fit(np.random.default_rng(0).standard_normal((2000, 3)), model)
    assert fit.bill.reads[Read(SHAPE)] == 1.0


class TestPrecision:
    """Where a run stops: early only where many rows show no more than one Gaussian."""

    @pytest.mark.parametrize(
        ("kind", "n", "model", "precision"),
        [
            ("one", N, "general", 0.01),
            ("one", N, "isotropic", 0.01),
            ("one", N, "diagonal", 1e-4),
            ("one", 30_000, "general", 1e-6),
            ("weak", N, "general", 1e-4),
            ("one far row", N, "general", 1e-4),
        ],
    )
    def test_by_data_and_model(self, kind, n, model, precision):
        X = data(kind, 2)[:n]
        found = eb.fit(X, model)
        assert found.algorithm.precision == precision
        assert found.gain >= eb.fit(X, model, eb.NewtonAnderson(1e-9)).gain - precision

    def test_options_of_the_user_stay(self):
        given = eb.NewtonAnderson(1e-3)
        assert eb.fit(data("one", 2), "general", given).algorithm.precision == 1e-3
