"""Anderson-Darling, the valley, and what they say about data that are neither one nor two Gaussians."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import scaled
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import elubench as eb
from elubench.fits import goodness
from elubench.samples.array import picks


class TestValley:
    """Standard errors by which the density is lower between the centres than at either."""

    EQUAL = np.full(2, 0.5)

    def test_against_loops(self):
        x = np.random.default_rng(1).normal(size=50)
        centres, weights, sigma = (-1.5, 2.0), (0.3, 0.7), 0.8
        between = np.linspace(*centres, 65)
        heights = [
            sum(w * norm.pdf(at, c, sigma) for w, c in zip(weights, centres, strict=True))
            for at in between
        ]
        lowest = between[int(np.argmin(heights))]
        found = []
        for centre in centres:
            gains = [
                norm.pdf((value - centre) / 0.24) - norm.pdf((value - lowest) / 0.24) for value in x
            ]
            found.append(np.mean(gains) / (np.std(gains) / np.sqrt(50)))
        valley = goodness.valley(x, np.array(centres), np.array(weights), sigma)
        assert valley == pytest.approx(min(found), rel=1e-9)

    @given(st.integers(0, 1000), st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
    def test_units(self, seed, factor, shift):
        x, centres = np.random.default_rng(seed).standard_normal(40), np.array([-1.0, 2.0])
        one = goodness.valley(x, centres, self.EQUAL, 1.0)
        moved = goodness.valley(factor * x + shift, factor * centres + shift, self.EQUAL, factor)
        mirrored = goodness.valley(-x, -centres[::-1], self.EQUAL, 1.0)
        assert [moved, mirrored] == pytest.approx([one, one], rel=1e-6, abs=1e-6)

    def test_one_mode_stays_below(self):
        """Uniform data are the hardest of one mode: 10 % at most, as far as 400 samples show."""
        centres, sigma = np.array([-0.58, 0.58]), 0.31  # of two equal Gaussians fitted to it
        x = np.random.default_rng(2).uniform(-1.0, 1.0, (400, 500))
        found = [goodness.valley(row, centres, self.EQUAL, sigma) for row in x]
        assert np.mean(np.array(found) > goodness.VALLEY) < 0.1 + 3 * np.sqrt(0.09 / 400)

    def test_a_fifth_of_the_rows(self):
        rng = np.random.default_rng(3)
        x = rng.standard_normal((50, 1000)) + 4.0 * (rng.random((50, 1000)) < 0.2)
        weights = np.array([0.8, 0.2])
        found = [goodness.valley(row, np.array([0.0, 4.0]), weights, 1.0) for row in x]
        assert np.mean(np.array(found) > goodness.VALLEY) > 0.8


class TestAndersonDarling:
    def test_against_the_integral(self):
        u = np.sort(np.random.default_rng(2).random(9))
        edges, total = np.concatenate([[0.0], u, [1.0]]), 0.0
        for k, (low, high) in enumerate(pairwise(edges)):
            total += quad(lambda v, k=k: (k / 9 - v) ** 2 / (v * (1.0 - v)), low, high)[0]
        assert goodness.anderson_darling(u) == pytest.approx(9 * total, rel=1e-8)

    def test_distribution(self):
        one, two, scale = [0.0, 1.0], [3.0, 2.0], [2.0, 0.5]
        u, centres, sigma = goodness.axis(np.array([one, two]), np.array(scale))
        rng = np.random.default_rng(0)
        rows = np.where(rng.random((200_000, 1)) < 0.5, one, two)
        rows += np.sqrt(scale) * rng.standard_normal(rows.shape)
        at = np.linspace(-2.0, 4.0, 5)
        shares = [np.mean(rows @ u <= value) for value in at]
        found = goodness.distribution(at, centres, np.full(2, 0.5), sigma)
        np.testing.assert_allclose(found, shares, atol=0.005)

    @pytest.mark.slow_without_jit
    def test_size(self):
        """At 1 %, also where the rows looked at are a small part."""
        for n in (300, 20_000):
            fits = [eb.fit(eb.gaussian(n, 1, seed)) for seed in range(30)]
            assert sum(fit.evidence.misfit > fit.evidence.misfit_limit for fit in fits) <= 3


class TestTies:
    def test_no_ties(self):
        x = np.array([0.0, 1.0, 5.0])
        assert goodness.spread_ties(x) is x

    @given(st.lists(st.integers(0, 6), min_size=2, max_size=30))
    def test_cells(self, values):
        x = np.sort(np.array(values, dtype=float))
        spread = goodness.spread_ties(x)
        assert (np.diff(spread) >= 0.0).all()
        if len(set(values)) > 1:
            assert (np.abs(spread - x) <= 0.5 * np.max(np.diff(x))).all()
            assert len(np.unique(spread)) == len(x)

    @pytest.mark.slow_without_jit
    def test_rounded_data_are_no_misfit(self):
        X = np.round(2.0 * eb.gaussian(3000, 1, seed=0))
        assert eb.fit(X).regime == "over-specified"


class TestPicks:
    def test_all(self):
        assert picks(10, None, 20).tolist() == list(range(10))
        assert picks(3, np.array([2.0, 0.0, 1.0]), 20).tolist() == [0, 0, 2]

    @given(st.integers(1, 200), st.integers(1, 50))
    def test_spread_out(self, n, count):
        found = picks(n, None, count)
        assert len(found) == min(n, count)
        assert (np.diff(found) > 0).all()

    def test_condensed_rows_are_those_of_the_array(self):
        X = eb.gaussian(scaled(60_000, 9000), 1, seed=1)
        condensed, array = eb.CondensedSample(X), eb.ArraySample(X)
        assert condensed.picked(100).tobytes() == array.picked(100).tobytes()
        moved = condensed.about(np.array([1.0]))
        np.testing.assert_array_equal(moved.picked(100), array.picked(100) - 1.0)
        assert eb.LatticeSample.gaussian(100, 1, 0).picked(10) is None


def shapes(n):
    rng = np.random.default_rng(5)
    return {
        "uniform": rng.random((n, 1)),
        "t3": rng.standard_t(3, (n, 1)),
        "Laplace": rng.laplace(size=(n, 1)),
        "lognormal": np.exp(rng.standard_normal((n, 1))),
        "exponential": rng.exponential(size=(n, 1)),
        "three": rng.standard_normal((n, 1)) + 4.0 * rng.integers(-1, 2, (n, 1)),
    }


@pytest.mark.slow_without_jit
class TestRegimes:
    @pytest.mark.parametrize("kind", shapes(2))
    def test_misfit(self, kind):
        fit = eb.fit(shapes(3000)[kind])
        assert fit.regime == "misfit"
        assert "shape of" in fit.advice()
        assert "Q-Q plot" in fit.advice()

    def test_flat_data_are_not_separated(self):
        rng = np.random.default_rng(0)
        for n in (300, 1000, 3000):
            found = [eb.fit(rng.beta(2.0, 2.0, (n, 1))).regime for _ in range(10)]
            assert found.count("separated") <= 1

    def test_two_modes_that_data_do_not_show(self):
        X = np.random.default_rng(1).beta(2.0, 2.0, (900, 1))
        fit = eb.fit(X)
        assert fit.regime == "undecided"
        assert "do not show two modes" in fit.advice()

    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    def test_rows_that_hardly_vary(self, model):
        """The rows looked at are all 0."""
        X = np.zeros((9000, 1))
        X[[5, 100, 7000]] = [[1.0], [2.0], [-3.0]]
        assert eb.fit(X, model).regime == "misfit"


def test_a_fit_too_far_out_for_the_rows_that_are_looked_at():
    """Where weights are below one, fewer rows are picked than were fitted."""
    rows = np.random.default_rng(0).standard_normal((50, 2))
    found = goodness.shape(eb.Diagonal(), rows, 51, np.array([3.0, 0.1]), np.ones(2), True)
    assert np.isfinite(found).all()
