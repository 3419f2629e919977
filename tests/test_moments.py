"""Moments in one read, and two components from them: against NumPy, exact cases and symmetries."""

import hypothesis.strategies as st
import naive
import numba
import numpy as np
import pytest
from conftest import needs_jit, scaled
from elsewhere import Elsewhere
from hypothesis import given

import elubench as eb
from elubench.kernels import moments as kernels
from elubench.kernels._jit import ready
from elubench.models import moments as closed_forms
from elubench.models.known import named
from elubench.samples.base import Shape

MODELS = ("isotropic", "diagonal", "general")


def clusters(n, d, half, seed, centre=0.0):
    """Rows from two Gaussians of scale 1 whose locations differ most in the first coordinate."""
    rng = np.random.default_rng([seed, d])
    step = half * np.linspace(1.0, 0.4, d)
    return centre + rng.standard_normal((n, d)) + rng.choice([-1.0, 1.0], (n, 1)) * step


def estimate(X, model, weights=None, **options):
    sample = eb.ArraySample(X, weights)
    return eb.run(sample, model, eb.Moments(), metrics=False, **options)


class TestShape:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(
        ("n", "d"), [(2, 1), (700, 1), (777, 2), (1300, 3), (301, 4), (1111, 4), (130, 9), (70, 40)]
    )
    def test_against_naive_sums(self, n, d, weighted):
        rng = np.random.default_rng([n, d])
        X = 100.0 + 3.0 * rng.standard_normal((n, d))
        weights = rng.integers(0, 5, n) + (np.arange(n) < 2) if weighted else None
        centre, units = X.mean(axis=0), X.std(axis=0)
        found = eb.ArraySample(X, weights).shape_about(centre, units)
        z = (X - centre) / units
        w = np.ones(n) if weights is None else weights.astype(float)
        pairs = naive.mean(z[:, :, None] * z[:, None, :], w)
        bound = 4 * (n + 8) * naive.EPS
        size = np.sqrt(np.outer(np.diagonal(pairs), np.diagonal(pairs)))
        assert (np.abs(found.second - pairs) <= bound * size).all()
        assert (found.second == found.second.T).all()
        fourth = naive.mean(z**4, w)
        np.testing.assert_allclose(found.fourth, fourth, rtol=bound)
        kurtosis = fourth / np.diagonal(pairs) ** 2 - 3.0
        np.testing.assert_allclose(found.excess_kurtosis, kurtosis, atol=4 * bound * n)

    @needs_jit
    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9])
    def test_threads_and_serial_agree_to_the_last_bit(self, d, weighted, monkeypatch):
        X = clusters(20_001, d, 1.0, seed=0, centre=7.0)
        sample = eb.ArraySample(X, np.abs(X[:, 0]) if weighted else None)
        centre, units = np.full(d, 7.0), np.full(d, 2.0)
        calls, found = [], []
        usual = numba.get_num_threads()
        monkeypatch.setattr(kernels, "ready", lambda kind: calls.append(kind) or ready(kind))
        try:
            for parallel, threads in ((True, 2), (True, 1), (False, 1)):
                monkeypatch.setattr(kernels, "worth_threads", lambda tiles, p=parallel: p)
                numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
                found.append(np.concatenate([x.ravel() for x in sample.shape_about(centre, units)]))
        finally:
            numba.set_num_threads(usual)
        assert calls == [kernels.shape_parallel] * 2 + [kernels.shape_serial]
        assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()

    @pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
    def test_weights_of_one_change_no_bit(self, d):
        X = clusters(2_005, d, 1.0, seed=3, centre=7.0)
        found = [
            np.concatenate(
                [x.ravel() for x in sample.shape_about(np.full(d, 7.1), np.full(d, 1.7))]
            )
            for sample in (eb.ArraySample(X), eb.ArraySample(X, np.ones(len(X))))
        ]
        assert found[0].tobytes() == found[1].tobytes()

    def test_units_are_exact_and_do_not_overflow(self):
        X = clusters(100, 2, 1.0, seed=1)
        plain = eb.ArraySample(X).shape()
        for factor in (2.0**-400, 2.0**400):
            scaled_up = eb.ArraySample(factor * X).shape()
            for one, two in zip(plain, scaled_up, strict=True):
                assert one.tobytes() == two.tobytes()

    def test_about_a_centre(self):
        X = clusters(50, 2, 1.0, seed=2)
        found = eb.ArraySample(X).shape(centre=0.0)
        np.testing.assert_allclose(found.second, (X.T @ X) / 50 / np.outer(X.std(0), X.std(0)))
        with pytest.raises(ValueError, match="centre"):
            eb.ArraySample(X).shape(centre=[1.0, 2.0, 3.0])

    def test_a_constant_column_has_no_kurtosis(self):
        X = clusters(50, 2, 1.0, seed=2) * [1.0, 0.0] + 3.0
        kurtosis = eb.ArraySample(X).shape().excess_kurtosis
        assert np.isfinite(kurtosis[0])
        assert np.isnan(kurtosis[1])

    @pytest.mark.parametrize("d", [1, 2])
    def test_a_lattice_folds_for_even_models(self, d):
        sample = eb.LatticeSample.gaussian(5000, d, seed=0)
        whole, half = (sample.shape_about(np.zeros(d), np.ones(d), even) for even in (False, True))
        np.testing.assert_allclose(half.second, whole.second, atol=1e-13)
        np.testing.assert_allclose(half.fourth, whole.fourth, rtol=1e-13)


def exact_shape(step, scales):
    """The moments of (1/2) N(-t, diag(s)) + (1/2) N(t, diag(s)), from the cumulants of t and -t."""
    second = np.diag(scales) + np.outer(step, step)
    return Shape(second, 3.0 * np.diagonal(second) ** 2 - 2.0 * step**4)


class TestClosedForms:
    @given(st.floats(1e-3, 30.0), st.floats(0.01, 10.0))
    def test_one_coordinate(self, half, scale):
        found = closed_forms.one_scale(exact_shape(np.array([half]), np.array([scale])))
        lost = 1e-15 * (1.0 + scale / half**2) ** 2  # of t^4, a difference of squares
        assert found[0] == pytest.approx(half, rel=10 * lost + 2.0**-30)

    @pytest.mark.parametrize("d", [2, 3, 8])
    def test_one_scale(self, d):
        step = np.linspace(1.0, -0.5, d)
        found = closed_forms.one_scale(exact_shape(step, np.full(d, 0.7)))
        np.testing.assert_allclose(found, step, atol=1e-12)

    @pytest.mark.parametrize("d", [2, 3, 8])
    def test_one_factor(self, d):
        """The diagonal of the correlations is not used: any scales will do."""
        step = np.full(d, 0.6) if d == 2 else np.linspace(0.8, 0.3, d)
        shape = exact_shape(step, 1.0 - step**2)
        found = closed_forms.one_factor(shape.second)
        np.testing.assert_allclose(found, step, rtol=2.0**-12 if d == 2 else 0.1)
        assert (closed_forms.one_factor(shape.second + np.eye(d)) == found).all()
        best = closed_forms.least_squares(shape.second, found)
        np.testing.assert_allclose(best, step, rtol=2.0**-12 if d == 2 else 1e-6)

    def test_axis(self):
        """Components that differ along one axis leave no correlation, and are found by kurtosis."""
        step = np.array([0.0, 0.7, 0.0])
        shape = exact_shape(step, 1.0 - step**2)
        assert not closed_forms.one_factor(shape.second).any()
        np.testing.assert_allclose(closed_forms.along_axes(shape)[0], step, atol=1e-12)

    def test_axis_with_correlations(self):
        step = np.array([0.05, 0.8, -0.1])
        found = closed_forms.along_axes(exact_shape(step, 1.0 - step**2))[0]
        np.testing.assert_allclose(found, step, atol=1e-12)

    def test_heavy_tails_are_one_component(self):
        assert closed_forms.along_one(1.0, 3.0) == 0.0
        assert closed_forms.along_one(1.0, 9.0) == 0.0

    def test_two_points_keep_a_positive_scale(self):
        assert closed_forms.along_one(1.0, 1.0) ** 2 < 1.0
        step = closed_forms.one_scale(exact_shape(np.array([3.0, 4.0]), np.zeros(2)))
        assert step @ step < 25.0


def naive_estimate(X, model):
    """The formulas in NumPy, for one scale."""
    middle = X.mean(axis=0) if model == "general" else 0.0
    Z = X - middle
    if X.shape[1] == 1:
        quartic = (3.0 * np.mean(Z**2) ** 2 - np.mean(Z**4)) / 2.0
        step = np.array([max(quartic, 0.0) ** 0.25])
    else:
        values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
        step = np.sqrt(values[-1] - values[:-1].mean()) * vectors[:, -1]
    return np.concatenate([middle - step, middle + step]) if model == "general" else step


class TestRuns:
    @pytest.mark.parametrize("model", ["isotropic", "general"])
    @pytest.mark.parametrize("d", [1, 2, 5])
    def test_against_numpy(self, model, d):
        X = clusters(scaled(900, 90), d, 1.2, seed=3, centre=0.0 if model == "isotropic" else 50.0)
        result = estimate(X, model)
        assert (result.status, result.n_iter, result.passes) == ("converged", 1, 1.0)
        expected = naive_estimate(X, model)
        assert named(model).location_error(result.params, expected) < 1e-10
        assert naive_estimate(X, model).any()

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 2, 4])
    def test_the_start_does_not_matter(self, model, d):
        X = clusters(200, d, 1.0, seed=4)
        own = named(model)
        sample = eb.ArraySample(X)
        starts = [own.random_start(sample, np.random.default_rng(k)) for k in range(2)]
        one, two = (eb.run(sample, model, eb.Moments(), start).params for start in starts)
        assert one.tobytes() == two.tobytes()

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 3])
    def test_weights_are_repeated_rows(self, model, d):
        X = clusters(200, d, 1.0, seed=5)
        weights = np.random.default_rng(0).integers(0, 4, 200)
        one = estimate(X, model, weights=weights).params
        two = estimate(np.repeat(X, weights, axis=0), model).params
        assert named(model).location_error(one, two) < 1e-9

    @given(st.sampled_from(MODELS), st.sampled_from([1, 2, 3]), st.integers(-60, 60))
    def test_powers_of_two_scale_exactly(self, model, d, exponent):
        X = clusters(60, d, 1.0, seed=6)
        one, two = estimate(X, model), estimate(X * 2.0**exponent, model)
        assert (two.params == one.params * 2.0**exponent).all()

    @pytest.mark.parametrize("model", MODELS)
    def test_permuted_columns(self, model):
        X = clusters(200, 4, 1.0, seed=7)
        order = np.array([2, 0, 3, 1])
        own = named(model)
        one, two = estimate(X, model).params, estimate(X[:, order], model).params
        moved = one.reshape(-1, 4)[:, order].ravel()
        assert own.location_error(two, moved) < 1e-9

    @pytest.mark.parametrize("model", ["isotropic", "general"])
    def test_rotated_rows(self, model):
        X = clusters(200, 3, 1.0, seed=8)
        turn, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))
        one, two = estimate(X, model).params, estimate(X @ turn, model).params
        assert named(model).location_error(two, (one.reshape(-1, 3) @ turn).ravel()) < 1e-9

    @pytest.mark.parametrize("d", [1, 2])
    @pytest.mark.parametrize("by", [3.0, 1e5, -1e9])
    def test_moved_rows(self, d, by):
        X = np.round(clusters(200, d, 1.5, seed=9), 3)
        one, two = estimate(X, "general").params, estimate(X + by, "general").params
        lost = 200 * np.spacing(abs(by)) + 1e-9  # rows themselves are rounded far away
        assert named("general").location_error(two - by, one) < lost

    @pytest.mark.parametrize("model", MODELS)
    def test_is_consistent(self, model):
        """Components 2.4 apart: the error is a few times n^(-1/2)."""
        n, step = scaled(40_000, 400), 1.2 * np.linspace(1.0, 0.4, 3)
        result = estimate(clusters(n, 3, 1.2, seed=10), model)
        truth = step if model != "general" else np.concatenate([-step, step])
        assert named(model).location_error(result.params, truth) < 6.0 / np.sqrt(n)

    def test_a_model_without_an_estimate(self):
        class Plain(eb.Isotropic):
            features = frozenset()

        with pytest.raises(ValueError, match="Moments needs a model with a moment estimate; Plain"):
            eb.run(clusters(20, 1, 1.0, seed=0), Plain(), eb.Moments())

    def test_many_coordinates_take_three_reads(self):
        n, d = scaled(3000, 200), 130
        for model in MODELS:
            counted = Elsewhere(eb.ArraySample(clusters(n, d, 0.5, seed=11)))
            result = eb.run(counted, model, eb.Moments(), metrics=False)
            assert result.passes == counted.reads == 3.0
            step = 0.5 * np.linspace(1.0, 0.4, d)
            truth = step if model != "general" else np.concatenate([-step, step])
            assert named(model).location_error(result.params, truth) < 3.0 * np.sqrt(d / n)


class TestOnOneGaussian:
    @needs_jit
    @pytest.mark.parametrize(("model", "d"), [("isotropic", 1), ("isotropic", 2), ("general", 3)])
    def test_one_read_is_the_maximum_likelihood_fit(self, model, d):
        n, own = 10**8, named(model)
        samples = [eb.LatticeSample.gaussian(n, d, seed) for seed in range(10)]
        radius = eb.radius(model, n, d)
        for sample, found in zip(samples, eb.run_many(samples, own, eb.Moments()), strict=True):
            end = eb.run(sample, own, eb.NewtonAnderson(1e-6), own.default_start(sample))
            best = end.params if own.gap(sample, end.params) < 0.0 else own.truth(0.0, d)
            assert n * (own.gap(sample, found.params) - own.gap(sample, best)) < 0.02
            assert own.location_error(found.params, best) < 0.1 * radius

    @needs_jit
    @pytest.mark.parametrize("n", [10**4, 10**8, 10**12])
    @pytest.mark.parametrize(
        ("model", "d"), [("isotropic", 1), ("diagonal", 2), ("diagonal", 3), ("general", 2)]
    )
    def test_one_read_to_the_radius(self, model, d, n):
        """Whatever n is. (At d = 2 one MLE of fifty is itself outside.)"""
        samples = [eb.LatticeSample.gaussian(n, d, seed) for seed in range(20)]
        radius = eb.radius(model, n, d, constant=2.0)
        runs = eb.run_many(samples, model, eb.Moments(), radius=radius)
        reached = [run for run in runs if run.status == "reached"]
        assert {run.passes for run in reached} == {1.0}
        assert len(reached) >= 19

    @needs_jit
    def test_the_diagonal_model_compares_its_rivals(self):
        lost = []
        for seed in range(8):
            sample = eb.LatticeSample.gaussian(10**8, 2, seed)
            found = eb.run(sample, "diagonal", eb.Moments())
            assert found.passes == 2.0
            gaps = found.trace["gap"].to_numpy()
            assert gaps[-1] <= gaps[1]
            starts = found.model.mle_starts(sample)
            ends = [
                eb.run(sample, "diagonal", eb.NewtonAnderson(), start).params for start in starts
            ]
            lost.append(1e8 * (gaps[-1] - min(found.model.gap(sample, end) for end in ends)))
        assert np.median(lost) < 0.01
        assert max(lost) < 0.5

    @needs_jit
    @pytest.mark.parametrize("seed", [1, 4, 12, 21])
    def test_a_valley_of_the_diagonal_model_is_not_followed_step_by_step(self, seed):
        sample = eb.LatticeSample.gaussian(10**6, 2, seed)
        start = eb.run(sample, "diagonal", eb.Moments(), metrics=False).params
        assert eb.run(sample, "diagonal", eb.NewtonAnderson(), start).passes <= 4
