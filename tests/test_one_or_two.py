"""The law of the likelihood ratio for one Gaussian, and the test that is made of it."""

import numba
import numpy as np
import pytest
from conftest import scaled
from scipy import stats
from scipy.optimize import minimize

import elubench as eb
from elubench.fits import nulls

MODELS = {"isotropic": eb.Isotropic(), "diagonal": eb.Diagonal(), "general": eb.General()}


class Mine(eb.General):
    """A model without a law of its own."""


def ratios(model, *tables):
    return np.array(list(nulls._ratios(model, [eb.ArraySample(X) for X in tables])))


def close(draws, other):
    """Whether two sets of draws may be from one law; about one pair in 10,000 is not."""
    return stats.ks_2samp(draws, other).pvalue > 1e-4


class TestPivotal:
    """Maps that the model allows leave the ratio as it is."""

    @pytest.mark.parametrize("model", MODELS)
    def test_affine_maps(self, model):
        rng = np.random.default_rng(1)
        X = rng.standard_normal((60, 3))
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        maps = {
            "isotropic": [X @ turn, 7.3 * X, -X],
            "diagonal": [X * [0.1, 5.0, 2.0], X[:, [2, 0, 1]], X * [1.0, -1.0, 1.0]],
            "general": [X @ turn, 0.03 * X, X + np.array([5.0, -3.0, 1.0])],
        }
        one, *others = ratios(MODELS[model], X, *maps[model])
        np.testing.assert_allclose(others, one, atol=1e-3)  # twice what a run may leave

    def test_other_maps_do_not(self):
        """A stretched Gaussian is no Gaussian of the isotropic model."""
        X = np.random.default_rng(2).standard_normal((100, 2))
        one, other = ratios(MODELS["isotropic"], X, X * [1.0, 3.0])
        assert other > one + 10.0


@pytest.mark.slow_without_jit
class TestLimits:
    @pytest.mark.parametrize("model", ["isotropic", "general"])
    def test_one_coordinate(self, model):
        """Half 0, half chi^2 with one degree of freedom."""
        draws = nulls.drawn(MODELS[model], 10**10, 1, scaled(150, 20), seed=1)
        rng = np.random.default_rng(0)
        law = np.maximum(rng.standard_normal(100_000), 0.0) ** 2
        assert close(np.where(draws < 1e-3, 0.0, draws), law)
        assert close(nulls.limit(MODELS[model], 1e10, 1), law)

    def test_one_scale_of_two_coordinates(self):
        law = nulls.limit(MODELS["isotropic"], 1e10, 2)
        assert stats.kstest(law, stats.chi2(2).cdf).pvalue > 1e-4

    @pytest.mark.parametrize("d", [3, 20])
    def test_one_scale_is_the_largest_eigenvalue(self, d):
        """n l^2 / (2 - 2/d), with l the largest eigenvalue of a Gaussian matrix without its trace."""
        rng = np.random.default_rng(d)
        a = rng.standard_normal((2000, d, d))
        a = (a + a.transpose(0, 2, 1)) / np.sqrt(2.0)
        a -= np.trace(a, axis1=1, axis2=2)[:, None, None] * np.eye(d) / d
        largest = np.linalg.eigvalsh(a)[:, -1]
        law = nulls.limit(MODELS["general"], 1e12, d)
        assert close(largest**2 / (2.0 - 2.0 / d), law)

    def test_scale_per_coordinate(self):
        rng = np.random.default_rng(0)
        r, z = rng.standard_normal(100_000), rng.standard_normal((100_000, 2))
        law = r**2 + np.max(np.minimum(z, 0.0) ** 2, axis=1)
        assert close(nulls.limit(MODELS["diagonal"], 1e12, 2), law)

    def test_scale_per_coordinate_is_a_maximum(self):
        """Against maxima from many starts, for the same normal numbers."""
        d, draws = 3, 5
        found = nulls._several_scales(d, draws, np.random.default_rng(3))
        rng = np.random.default_rng(3)
        pairs = np.triu_indices(d, 1)
        numbers, z = rng.standard_normal((draws, 3)), rng.standard_normal((draws, d))
        for each, upper, kurtosis in zip(found, numbers, z, strict=True):
            r = np.zeros((d, d))
            r[pairs] = upper
            r += r.T

            def lost(t, upper=upper):
                product = np.outer(t, t)[pairs]
                return float(np.sum(product**2 - 2.0 * upper * product))

            inner = max(-minimize(lost, rng.standard_normal(d)).fun for _ in range(5))
            axis = np.max(np.sum(r**2, axis=1) + np.minimum(kurtosis, 0.0) ** 2)
            assert each == pytest.approx(max(inner, axis), rel=0.02)

    @pytest.mark.parametrize(
        ("model", "n", "d"),
        [("general", 30, 1), ("isotropic", 100, 4), ("diagonal", 100, 2), ("general", 60, 16)],
    )
    def test_size(self, model, n, d):
        """0.05, give or take three standard errors; ``benchmarks.calibration`` takes more draws."""
        draws = nulls.drawn(MODELS[model], n, d, 150, seed=77)
        size = np.mean(draws > nulls.critical(MODELS[model], n, d, 0.05).ratio)
        assert 0.0 < size < 0.105


@pytest.mark.slow_without_jit
class TestPValue:
    def test_formula(self):
        fit = eb.fit(eb.gaussian(40, 2, seed=3), "isotropic")
        draws = nulls.drawn(fit.model, 40, 2, 19, seed=5)
        expected = (1 + np.sum(draws >= fit.evidence.likelihood_ratio)) / 20
        assert fit.p_value(19, seed=5) == expected
        assert f"{expected:.4g}    p-value" in fit.summary()
        assert fit.as_dict()["p_value"] == expected

    def test_uniform(self):
        """Over data from one Gaussian, as far as 60 of them show."""
        law = nulls.drawn(MODELS["general"], 50, 2, 99, seed=0)
        data = nulls.drawn(MODELS["general"], 50, 2, scaled(60, 20), seed=1)
        p = (1 + np.sum(law >= data[:, None], axis=1)) / 100
        assert stats.kstest(p, "uniform").pvalue > 1e-3

    def test_two_components(self):
        X = eb.gaussian(200, 1, seed=0)
        X[::2] += 4.0
        assert eb.fit(X).p_value(39) == 1 / 40

    def test_many_rows_and_columns(self):
        """The limit law, at no cost in n."""
        fit = eb.fit(eb.gaussian(scaled(4000, 1700), 10, seed=0), "general")
        tested = fit.tested(99)
        assert "limit law" in tested.law
        assert 0.01 <= tested.p_value <= 1.0

    def test_model_without_a_law(self):
        X = eb.gaussian(40, 1, seed=1)
        fit = eb.fit(X, Mine())
        assert nulls.limit(Mine(), 40, 1) is None
        assert fit.evidence.law == "199 draws of 30 rows"
        assert fit.p_value(19) == eb.fit(X).p_value(19)

    def test_weights_count_rows(self):
        X, precise = eb.gaussian(20, 1, seed=4), eb.NewtonAnderson(precision=1e-10)
        one = eb.fit(X, algorithm=precise, weights=np.full(20, 2.0))
        other = eb.fit(np.repeat(X, 2, axis=0), algorithm=precise)
        assert one.p_value(19) == other.p_value(19)
        assert any("n = 40 for the tests" in note for note in one.notes)
        assert one.evidence.misfit == pytest.approx(other.evidence.misfit, rel=1e-6)

    def test_progress(self):
        calls = []
        eb.fit(eb.gaussian(20, 1, seed=1)).p_value(70, 0, lambda *call: calls.append(call))
        assert calls == [(64, 70), (70, 70)]

    @pytest.mark.parametrize("arguments", [{"draws": 0}, {"seed": -1}, {"draws": 1.5}])
    def test_refusals(self, arguments):
        fit = eb.fit(eb.gaussian(20, 1, seed=1))
        with pytest.raises((TypeError, ValueError), match=next(iter(arguments))):
            fit.p_value(**arguments)

    def test_same_bits_for_any_number_of_threads(self):
        model, before = MODELS["diagonal"], numba.get_num_threads()
        found = []
        for threads in (1, min(2, before)):
            numba.set_num_threads(threads)
            found.append(nulls.drawn(model, 3000, 2, scaled(30, 4), seed=2).tobytes())
        numba.set_num_threads(before)
        assert found[0] == found[1]


def test_level():
    X = eb.gaussian(300, 2, seed=0)
    strict, loose = eb.fit(X, level=0.001).evidence, eb.fit(X, level=0.5).evidence
    assert loose.null_quantile < strict.null_quantile
    with pytest.raises(ValueError, match="level"):
        eb.fit(X, level=0.0)
