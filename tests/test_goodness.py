"""Anderson-Darling, the dip, and what they say about data that are neither one nor two Gaussians."""

from itertools import pairwise

import numpy as np
import pytest
from conftest import scaled
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import linprog

import elubench as eb
from elubench.fits import goodness
from elubench.fits.dip import dip, dip_limit
from elubench.samples.array import picks


def naive_dip(x):
    """The smallest distance to a unimodal distribution, by a linear program for each mode.

    Unknown are the distribution function left of every value, right of the mode, and the distance.
    """
    n, best = len(x), np.inf
    for mode in range(n):
        rows, limits = [], []

        def bound(terms, limit, rows=rows, limits=limits):
            row = np.zeros(n + 2)
            for place, factor in terms:
                row[place] += factor
            rows.append(row)
            limits.append(limit)

        for i in range(n):
            right = n if i == mode else i
            bound([(right, -1.0), (n + 1, -1.0)], -(i + 1) / n)
            bound([(i, 1.0), (n + 1, -1.0)], i / n)
        bound([(n, 1.0), (n + 1, -1.0)], (mode + 1) / n)
        bound([(mode, -1.0), (n + 1, -1.0)], -mode / n)
        bound([(mode, 1.0), (n, -1.0)], 0.0)
        left = [(i, x[i]) for i in range(mode + 1)]
        beyond = [(n, x[mode]), *((i, x[i]) for i in range(mode + 1, n))]
        for side, sign in ((left, 1.0), (beyond, -1.0)):
            for (a, _), (b, _) in pairwise(side):
                bound([(a, 1.0), (b, -1.0)], 0.0)
            for (a, xa), (b, xb), (c, xc) in zip(side, side[1:], side[2:], strict=False):
                first, second = sign / (xb - xa), sign / (xc - xb)
                bound([(a, -first), (b, first + second), (c, -second)], 0.0)
        free = [(None, None)] * (n + 1) + [(0.0, None)]
        goal = np.eye(n + 2)[-1]
        best = min(best, linprog(goal, A_ub=np.array(rows), b_ub=limits, bounds=free).fun)
    return best


class TestDip:
    @pytest.mark.parametrize("seed", range(6))
    def test_against_a_linear_program(self, seed):
        rng = np.random.default_rng(seed)
        x = np.sort(rng.standard_normal(5 + seed) + rng.choice([0.0, 6.0], 5 + seed) * (seed % 2))
        assert dip(x) == pytest.approx(naive_dip(x), abs=1e-9)

    def test_ends(self):
        assert dip(np.arange(50.0)) == pytest.approx(1 / 100)
        two = np.concatenate([np.linspace(0.0, 1e-6, 50), np.linspace(1.0, 1.0 + 1e-6, 50)])
        assert dip(two) == pytest.approx(0.25, abs=0.01)

    @given(st.integers(0, 1000), st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
    def test_units(self, seed, factor, shift):
        x = np.sort(np.random.default_rng(seed).standard_normal(40))
        assert dip(np.sort(factor * x + shift)) == pytest.approx(dip(x), rel=1e-9)
        assert dip(-x[::-1]) == pytest.approx(dip(x), rel=1e-9)

    def test_limit(self):
        rng = np.random.default_rng(1)
        for n in (50, 300):
            found = [dip(np.sort(rng.random(n))) for _ in range(scaled(400, 40))]
            assert (
                0.0
                <= np.mean(np.array(found) > dip_limit(n))
                < 0.05 + 4 * np.sqrt(0.05 / len(found))
            )


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
        assert "the data do not show them" in fit.advice()
