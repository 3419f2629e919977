"""Standard errors, profile intervals, information criteria and the comparison of models."""

import pickle

import numpy as np
import pytest
from conftest import scaled
from scipy.optimize import minimize_scalar

import elubench as eb
from elubench.fits import intervals


def two(n, d, half, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + half * rng.choice([-1.0, 1.0], (n, 1)) / np.sqrt(d)


def naive_loss(X, one, two, scale):
    """Mean negative log-likelihood, term by term."""
    parts = [
        -0.5 * np.sum((X - place) ** 2 / scale + np.log(2.0 * np.pi * scale), axis=1)
        for place in (one, two)
    ]
    return -float(np.mean(np.logaddexp(*parts) - np.log(2.0)))


def split(model, params, d):
    if model == "general":
        return params[:d], params[d : 2 * d], np.full(d, params[-1])
    return -params[:d], params[:d], np.broadcast_to(params[d:], d)


class TestStandardErrors:
    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    def test_against_differences(self, model):
        X, d = two(400, 2, 2.5, seed=1), 2
        fit = eb.fit(X, model)
        params = np.concatenate([fit.location.ravel(), fit.scale])
        h = 1e-3 * np.eye(len(params))
        hessian = np.array(
            [
                [
                    sum(
                        a * b * naive_loss(X, *split(model, params + a * one + b * other, d))
                        for a in (-1, 1)
                        for b in (-1, 1)
                    )
                    / 4e-6
                    for one in h
                ]
                for other in h
            ]
        )
        expected = np.sqrt(np.diagonal(np.linalg.inv(400 * hessian)))
        found = fit.standard_errors()
        values = np.concatenate([found.location.ravel(), found.scale])
        np.testing.assert_allclose(values, expected, rtol=1e-3)

    @pytest.mark.slow_without_jit
    @pytest.mark.parametrize(
        ("model", "d"), [(eb.Isotropic(), 1), (eb.Diagonal(), 2), (eb.General(mixing="free"), 1)]
    )
    def test_against_a_bootstrap(self, model, d):
        """The spread of refits to draws from the fit, within 4 standard errors of both."""
        n, draws, rng = 600, 150, np.random.default_rng(d)

        def errors(fit):
            found = fit.standard_errors()
            return np.concatenate([found.location.ravel(), found.scale])

        fit = eb.fit(two(n, d, 2.0, seed=6), model)
        refits = []
        for _ in range(draws):
            places = fit.locations[rng.choice(2, n, p=fit.weights)]
            X = places + np.sqrt(fit.scale) * rng.standard_normal((n, d))
            refits.append(eb.fit(X, model))
        spread = np.std([np.append(one.location, one.scale) for one in refits], axis=0, ddof=1)
        own = np.std([errors(one) for one in refits], axis=0)
        off = (errors(fit) - spread) / np.hypot(spread / np.sqrt(2 * draws), own)
        assert np.max(np.abs(off)) < 4.0

    def test_none_where_one_gaussian_does(self):
        fit = eb.fit(eb.gaussian(300, 1, seed=1))
        assert np.isnan(fit.standard_errors().location).all()
        assert fit.interval().location is None

    def test_far_from_zero(self):
        X = np.round(2.0**20 * two(300, 1, 2.5, seed=2)) / 2.0**20
        near, far = eb.fit(X).interval(), eb.fit(X + 2.0**20).interval()
        np.testing.assert_allclose(np.array(far.location) - 2.0**20, near.location, atol=1e-5)
        np.testing.assert_allclose(far.scale, near.scale, rtol=1e-5)


@pytest.mark.slow_without_jit
class TestProfile:
    def test_against_a_search_for_the_scale(self):
        X = two(300, 1, 0.8, seed=3)
        fit = eb.fit(X, "isotropic")
        profile = intervals.Profile(fit.model, fit.sample, fit.location, fit.scale)

        def best(r):
            def loss(log_scale):
                scale = np.exp([log_scale])
                place = r * np.sqrt(scale)
                return naive_loss(X, -place, place, scale)

            return minimize_scalar(loss, bounds=(-3.0, 2.0), options={"xatol": 1e-9}).fun

        top = -fit.log_likelihood / 300
        for r in (0.0, 0.3, 1.0, 2.0):
            assert profile(r) == pytest.approx(600 * (best(r) - top), abs=2e-3)

    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    def test_zero_is_one_gaussian(self, model):
        fit = eb.fit(two(300, 2, 1.5, seed=4), model)
        profile = intervals.Profile(fit.model, fit.sample, fit.location, fit.scale)
        assert profile(0.0) == pytest.approx(2.0 * fit.gain, abs=2e-3)
        assert profile(profile.fitted) == pytest.approx(0.0, abs=1e-3)

    def test_two_sides(self):
        fit = eb.fit(two(500, 1, 2.0, seed=5))
        (low, high), wider = fit.interval(0.9).half_distance, fit.interval(0.99).half_distance
        assert wider[0] < low < fit.evidence.half_distance < high < wider[1]

    @pytest.mark.parametrize(("d", "half"), [(1, 0.4), (3, 0.3)])
    def test_upper_bound(self, d, half):
        """It holds a separation that the test does not see, at 95 % or more."""
        fits = [eb.fit(two(300, d, half, seed)) for seed in range(20)]
        weak = [fit for fit in fits if fit.regime == "over-specified"]
        bounds = [fit.interval().half_distance for fit in weak]
        assert len(weak) > 10
        assert {low for low, _ in bounds} == {0.0}
        assert sum(high < half for _, high in bounds) <= 3
        assert max(high for _, high in bounds) < 2.0

    def test_lines(self):
        """A range for each coordinate."""
        fit = eb.fit(two(300, 2, 3.0, seed=1))
        found = fit.interval()
        (low, high), (scale_low, scale_high) = found.location, found.scale
        lines = [value for _, value in fit.facts(found)]
        for k in range(2):
            ranges = (f"{low[k, j]:.6g} to {high[k, j]:.6g}" for j in range(2))
            assert f"location {k + 1} {', '.join(ranges)}" in lines
        assert f"scale {scale_low[0]:.6g} to {scale_high[0]:.6g}" in lines

    @pytest.mark.parametrize("level", [0.5, 1.0, -1.0])
    def test_refusals(self, level):
        with pytest.raises(ValueError, match="level"):
            eb.fit(two(100, 1, 2.0, seed=0)).interval(level)


class TestCriteria:
    def test_values(self):
        fit = eb.fit(two(200, 3, 2.0, seed=0), "diagonal")
        assert fit.n_parameters == 6
        assert fit.aic == pytest.approx(12.0 - 2.0 * fit.log_likelihood)
        assert fit.bic == pytest.approx(6.0 * np.log(200) - 2.0 * fit.log_likelihood)

    def test_compare(self):
        X = two(scaled(500, 200), 2, 2.5, seed=1)
        table = eb.compare(X)
        assert len(table) == 8
        assert table.bic.is_monotonic_increasing
        for row in table.itertuples():
            fit = eb.fit(X, row.model)
            if row.components == 2:
                assert (row.aic, row.bic, row.regime) == (fit.aic, fit.bic, fit.regime)
            else:
                assert row.log_likelihood == fit.log_likelihood - fit.gain
        one = table[(table.model == "general") & (table.components == 1)].iloc[0]
        variance = np.mean(X.var(axis=0))
        expected = -len(X) * (np.log(2.0 * np.pi * variance) + 1.0)
        assert one.log_likelihood == pytest.approx(expected)
        assert one.parameters == 3
        with pytest.raises(ValueError, match="models"):
            eb.compare(X, models=[])

    def test_pickled_without_its_data(self):
        fit = pickle.loads(pickle.dumps(eb.fit(two(100, 1, 2.0, seed=0))))
        assert fit.p_value(9) == 0.1
        with pytest.raises(ValueError, match="its data"):
            fit.interval()
