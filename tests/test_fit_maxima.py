"""``fit`` finds the highest maximum: against EM from many random starts, in plain NumPy."""

import numpy as np
import pytest
from conftest import needs_jit, scaled

import elubench as eb
from elubench.algorithms.known import commands


def best_of_em(X, starts=60, seed=0):
    """The highest log-likelihood of two Gaussians of equal weight and covariance s I, or of one.

    Every start is a pair of rows. 40 steps from each, then the best five to their ends.
    """
    rng, (n, d) = np.random.default_rng(seed), X.shape
    single = np.mean((X - X.mean(axis=0)) ** 2)

    def steps(state, most):
        (one, two, s), value = state, -np.inf
        for _ in range(most):
            first, second = (-0.5 * np.sum((X - at) ** 2, axis=1) / s for at in (one, two))
            total = np.logaddexp(first, second)
            reached = np.sum(total) - n * np.log(2.0) - 0.5 * n * d * np.log(2.0 * np.pi * s)
            if reached - value < 1e-10:
                break
            value, p = reached, np.exp(second - total)
            if not 1e-9 < p.sum() < n - 1e-9:
                break
            one, two = (1.0 - p) @ X / (n - p.sum()), p @ X / p.sum()
            s = ((1.0 - p) @ (X - one) ** 2 + p @ (X - two) ** 2).sum() / (n * d)
        return value, (one, two, s)

    pairs = [X[rng.choice(n, 2, replace=False)] for _ in range(starts)]
    tried = [steps((*pair, single * rng.choice([1.0, 0.3, 0.1])), 40) for pair in pairs]
    tried.sort(key=lambda each: -each[0])
    ends = [steps(state, 2000)[0] for _, state in tried[:5]]
    return max(-0.5 * n * d * (np.log(2.0 * np.pi * single) + 1.0), *ends)


def parts(n, d, share, distance, seed):
    rng = np.random.default_rng([seed, d, int(100 * share), distance])
    X = rng.standard_normal((n, d))
    X[:, 0] += distance * (rng.random(n) < share)
    return X


class TestAgainstManyStarts:
    @pytest.mark.slow_without_jit
    @pytest.mark.parametrize("d", [1, 2])
    @pytest.mark.parametrize(
        ("share", "distance"),
        [(0.2, 5), (0.2, 8), (0.1, 5), (0.1, 8), (0.05, 5), (0.05, 8), (0.5, 5), (0.0, 5)],
    )
    def test_parts(self, d, share, distance):
        for seed in range(2):
            X = parts(scaled(1000, 200), d, share, distance, seed)
            fit = eb.fit(X)
            assert fit.log_likelihood >= best_of_em(X) - 1e-3
            assert fit.gain >= 0.0
            assert fit.passes <= (25 if d == 1 else 45)  # random candidates, up to four runs

    @pytest.mark.slow_without_jit
    @pytest.mark.parametrize("kind", ["lognormal", "exponential", "standard_t", "small"])
    @pytest.mark.parametrize("d", [1, 3])
    def test_other_shapes(self, kind, d):
        for seed in range(3):
            rng = np.random.default_rng([seed, d])
            if kind == "small":
                X = rng.standard_normal((30, d))
            elif kind == "standard_t":
                X = rng.standard_t(3.0, (100, d))
            else:
                X = getattr(rng, kind)(size=(100, d))
            fit = eb.fit(X)
            assert fit.log_likelihood >= best_of_em(X) - 1e-3
            assert fit.gain >= 0.0

    @pytest.mark.parametrize(("n", "d"), [(39, 5), (200, 12)])
    def test_one_far_row(self, n, d):
        for seed in range(3):
            X = np.random.default_rng(seed).standard_normal((n, d))
            X[0] *= 1e4
            fit = eb.fit(X)
            alone = (n - 1) / n * X[1:].var(axis=0).mean()
            assert fit.scale[0] == pytest.approx(alone, rel=1e-3)

    @needs_jit
    def test_diagonal(self):
        """A maximum near every axis: those of 20 starts are hardly ever higher."""
        lower = 0
        for seed in range(12):
            X = np.random.default_rng([2, 1000, seed + 20]).standard_normal((1000, 2))
            more = eb.fit(X, "diagonal", starts=20).log_likelihood
            lower += eb.fit(X, "diagonal").log_likelihood < more - 0.01
        assert lower <= 1

    def test_second_direction(self):
        """The data spread most along the first column, but only the second has two parts."""
        rng = np.random.default_rng(3)
        X = rng.standard_normal((scaled(500, 150), 2)) * [2.0, 0.5]
        X[:, 1] += 3.0 * (rng.random(len(X)) < 0.5)
        X[:, 0] *= 0.9
        assert eb.fit(X).log_likelihood >= best_of_em(X) - 1e-3


class TestNeverBelowOneGaussian:
    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    @pytest.mark.parametrize("algorithm", ["newton-anderson", "elu", "polyak", "normalized-gd"])
    def test_gain(self, model, algorithm):
        for seed in range(4):
            X = np.random.default_rng(seed).standard_t(4.0, (60, 2))
            fit = eb.fit(X, model, algorithm, max_iter=50)
            assert fit.gain >= 0.0

    def test_the_answer_is_one_gaussian(self):
        """Heavy tails are narrower than one Gaussian in the middle: two are never better."""
        X = np.random.default_rng(0).standard_t(5.0, (400, 1))
        fit = eb.fit(X, "isotropic", "em", max_iter=1)
        assert fit.gain == 0.0
        assert fit.location[0] == 0.0
        assert fit.scale[0] == pytest.approx(np.mean(X**2), rel=1e-12)
        assert fit.regime == "over-specified"
        assert any("one Gaussian, given twice" in note for note in fit.notes)


class TestStalled:
    @pytest.mark.parametrize("name", ["polyak", "gradient-descent", "normalized-gd"])
    @pytest.mark.parametrize("model", ["isotropic", "general"])
    def test_a_short_step_is_not_convergence(self, name, model):
        """Where a run says that it has converged, EM has next to nothing left to gain."""
        statuses = set()
        for seed in range(4):
            rng = np.random.default_rng(seed)
            half = 0.5 + 0.5 * seed
            X = rng.standard_normal((200, 1)) + half * rng.choice([-1.0, 1.0], (200, 1))
            for scale in (0.01, 1.0, 100.0):
                fit = eb.fit(scale * X, model, commands()[name](), max_iter=300)
                onwards = eb.run(
                    scale * X,
                    model,
                    eb.EM(),
                    fit.run.params,
                    max_iter=scaled(500, 50),
                    metrics=False,
                )
                sample = eb.ArraySample(scale * X)
                left = fit.model.gap(sample, fit.run.params) - fit.model.gap(sample, onwards.params)
                statuses.add(fit.status)
                if fit.status == "converged" and fit.gain > 0.0:
                    assert left * len(X) < 0.1
                if fit.status == "stalled":
                    assert any("would still gain" in note for note in fit.notes)
        assert statuses <= {"converged", "stalled", "max_iter", "diverged"}

    def test_steps_that_shrink_too_fast(self):
        X = 100.0 * parts(400, 1, 0.3, 3, seed=0)
        fit = eb.fit(X, "general", eb.NormalizedGD(eta=1e-4, beta=0.5))
        assert fit.status == "stalled"


class TestColumns:
    X = np.random.default_rng(0).standard_normal((60, 3))

    @pytest.mark.parametrize("kind", ["ones", "signs"])
    def test_unbounded_on_the_diagonal_model(self, kind):
        X = self.X.copy()
        X[:, 1] = 7.0 if kind == "ones" else np.sign(X[:, 1])
        with pytest.raises(ValueError, match=r"unbounded otherwise, got column 2; leave it out"):
            eb.fit(X, "diagonal")

    def test_zeros_are_named(self):
        X = self.X * [1.0, 1.0, 0.0]
        with pytest.raises(
            ValueError, match=r"no positive scale for the diagonal model in column 3"
        ):
            eb.fit(X, "diagonal")

    @pytest.mark.parametrize("model", ["isotropic", "general"])
    def test_a_constant_column_elsewhere_is_noted(self, model):
        X = self.X.copy()
        X[:, 1] = 0.5
        fit = eb.fit(X, model)
        assert any(note.startswith("column 2 of X is constant") for note in fit.notes)
        assert not any("constant" in note for note in eb.fit(self.X, model).notes)


@needs_jit
@pytest.mark.parametrize("seed", [0, 1])
def test_two_maxima_of_which_a_part_of_the_rows_shows_the_other(seed):
    """One part in thirty is far away; with a few rows less, two parts in the middle would fit better."""
    n, d = 60_000, 3
    rng = np.random.default_rng(seed)
    X, away = rng.standard_normal((n, d)), rng.standard_normal(d)
    away *= 7.6 / np.linalg.norm(away)
    X[rng.permutation(n)[: n // 30 - 2]] += away
    sample, model = eb.ArraySample(X), eb.General()
    there = eb.run(sample, model, eb.NewtonAnderson(1e-6), np.concatenate([np.zeros(d), away]))
    assert eb.fit(X).gain >= -n * model.gap(sample, there.params) - 1e-2


class TestExtremes:
    """Warnings are errors in tests: none may come out of a fit."""

    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    @pytest.mark.parametrize("size", [1e-70, 1e70])
    def test_scales(self, model, size):
        X = parts(40, 2, 0.5, 5, seed=0)
        X -= X.mean(axis=0)
        one, other = eb.fit(X, model), eb.fit(size * X, model)
        np.testing.assert_allclose(other.location / size, one.location, atol=1e-2)

    @pytest.mark.parametrize("algorithm", ["em", "gradient-descent", "squarem"])
    @pytest.mark.parametrize("size", [1e-140, 1e140])
    def test_algorithms(self, algorithm, size):
        for model in ("isotropic", "diagonal", "general"):
            fit = eb.fit(size * parts(40, 1, 0.5, 5, seed=1), model, algorithm, max_iter=20)
            assert np.isfinite(fit.location).all()
            assert fit.gain >= 0.0

    def test_the_default_model_is_general(self):
        heights = np.random.default_rng(0).normal(170.0, 8.0, (100, 1))
        fit = eb.fit(heights)
        assert fit.model.name == "general"
        assert fit.regime == "over-specified"
        assert not fit.notes
