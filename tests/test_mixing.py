"""Mixing weights that are free or given, against EM written out, R's mclust and scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import JIT, needs_jit, scaled
from scipy.special import logsumexp

import elubench as eb
from benchmarks.answers import STORED, sets
from elubench.algorithms.known import known
from elubench.fits import unequal
from elubench.testing import model_checks
from elubench.testing.algorithms import _fits, pair_checks

FREE = eb.General(mixing="free")
GIVEN = eb.General(mixing=(0.7, 0.3))
# as in the contract suite
pytestmark = [] if JIT else [pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]


def parts(n, d, half, share, seed=0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    X[:, 0] += half * np.where(rng.random(n) < share, 1.0, -1.0)
    return X


def log_likelihood(X, locations, weights, s):
    square = np.sum((X[:, None, :] - locations) ** 2, axis=2)
    logs = np.log(weights) - square / (2 * s) - 0.5 * X.shape[1] * np.log(2 * np.pi * s)
    return logs, float(np.sum(logsumexp(logs, axis=1)))


def em(X, locations, weights, s, free):
    """One iteration of EM, from the densities."""
    logs, _ = log_likelihood(X, locations, weights, s)
    shares = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    locations = (shares.T @ X) / shares.sum(axis=0)[:, None]
    square = np.sum((X[:, None, :] - locations) ** 2, axis=2)
    return locations, shares.mean(axis=0) if free else weights, np.sum(shares * square) / X.size


def split(params, d):
    odds = np.exp(2 * params[-1])
    return params[:-1].reshape(2, d), np.array([1, odds]) / (1 + odds)


class TestAlgebra:
    @pytest.mark.parametrize("name_and_check", list(model_checks(FREE)), ids=lambda pair: pair[0])
    def test_contract(self, name_and_check):
        name_and_check[1]()

    @pytest.mark.parametrize("model", [FREE, GIVEN], ids=repr)
    @pytest.mark.parametrize("d", [1, 3])
    def test_em_is_em(self, model, d):
        X = parts(200, d, 1.5, 0.3)
        sample = eb.ArraySample(X)
        params = model.em_step(
            sample, model.default_start(sample)
        )  # where the scale is EM's own, too
        for _ in range(3):
            locations, weights = split(params, d)
            s = model.scale(sample, params)[0]
            _, exact = log_likelihood(X, locations, weights, s)
            assert -len(X) * model.loss(sample, params) == pytest.approx(exact, rel=1e-12)
            params = model.em_step(sample, params)
            expected = em(X, locations, weights, s, model is FREE)
            np.testing.assert_allclose(split(params, d)[0], expected[0], rtol=1e-10)
            np.testing.assert_allclose(split(params, d)[1], expected[1], rtol=1e-10)
            assert model.scale(sample, params)[0] == pytest.approx(expected[2], rel=1e-10)

    def test_given_weights_stay(self):
        sample = eb.ArraySample(parts(200, 2, 1.5, 0.3))
        start = GIVEN.default_start(sample)
        assert GIVEN.gradient(sample, start)[-1] == 0.0
        assert GIVEN.hessian(sample, start)[-1].tolist() == [0, 0, 0, 0, 1]
        for algorithm in (eb.NewtonAnderson(), eb.EM(), eb.LBFGS()):
            found = eb.run(sample, GIVEN, algorithm, max_iter=20)
            assert found.params[-1] == pytest.approx(start[-1], abs=1e-15)

    def test_odds_of_zero_are_equal_weights(self):
        sample = eb.ArraySample(parts(300, 2, 1.5, 0.4))
        equal = eb.General().default_start(sample)
        free = np.append(equal, 0.0)
        assert FREE.gap(sample, free) == pytest.approx(eb.General().gap(sample, equal), abs=1e-14)
        np.testing.assert_allclose(
            FREE.hessian(sample, free)[:-1, :-1], eb.General().hessian(sample, equal), rtol=1e-13
        )

    def test_distance_of_mixing_measures(self):
        """By the plan of transport, tried on a grid."""
        rng = np.random.default_rng(1)
        for _ in range(20):
            one, two = rng.standard_normal((2, 5))
            (a, wa), (b, wb) = split(one, 2), split(two, 2)
            costs = np.sum((a[:, None] - b[None]) ** 2, axis=2)
            least = np.inf
            for mass in np.linspace(max(0.0, wa[0] + wb[0] - 1), min(wa[0], wb[0]), 50):
                plan = np.array([[mass, wa[0] - mass], [wb[0] - mass, 1 - wa[0] - wb[0] + mass]])
                least = min(least, np.sum(plan * costs))
            assert FREE.location_error(one, two) == pytest.approx(np.sqrt(least), rel=1e-9)


@pytest.mark.slow_without_jit
@needs_jit
@pytest.mark.parametrize("model", [FREE, GIVEN], ids=repr)
@pytest.mark.parametrize("algorithm", [k for k in known().values() if _fits(k, FREE)])
def test_every_algorithm(algorithm, model):
    for name, check in pair_checks(algorithm, model):
        if "no_data" not in name and "many" not in name:  # these take longest
            check()


class TestModel:
    def test_extreme_odds(self):
        """A weight that is 0 to rounding is no error."""
        params = np.array([-1.0, 1.0, 800.0])
        assert FREE.weights(params).tolist() == [0.0, 1.0]
        assert FREE.weights(FREE.swapped(params)).tolist() == [0.0, 1.0]
        assert FREE.location_error(params, np.array([-1.0, 1.0, 0.0])) == pytest.approx(np.sqrt(2))

    @pytest.mark.parametrize(
        "mixing",
        [
            "none",
            0.5,
            (0.5,),
            (0.2, 0.7),
            (1.0, 0.0),
            (-1.0, 2.0),
            (0.3, 0.3, 0.4),
            None,
            ("a", "b"),
        ],
    )
    def test_refused(self, mixing):
        with pytest.raises((ValueError, TypeError), match="mixing must be"):
            eb.General(mixing=mixing)

    @pytest.mark.parametrize("model", [eb.General(), FREE, GIVEN], ids=repr)
    def test_is_a_value(self, model):
        same = pickle.loads(pickle.dumps(model))
        assert same == model
        assert hash(same) == hash(model)
        assert eval(repr(model), {"General": eb.General}) == model
        assert sum(model == other for other in (eb.General(), FREE, GIVEN, eb.Isotropic())) == 1

    def test_numbers_that_are_fitted(self):
        assert [m.n_free(3) for m in (eb.General(), FREE, GIVEN, eb.Isotropic(), eb.Diagonal())] == [
            7, 8, 7, 4, 6
        ]  # fmt: skip


class TestFit:
    @pytest.mark.parametrize(("d", "half", "share"), [(1, 2.0, 0.2), (2, 1.5, 0.3), (4, 2.0, 0.5)])
    def test_ends_at_a_fixed_point_of_em(self, d, half, share):
        X = parts(400, d, half, share)
        for model in (FREE, eb.General(mixing=(1 - share, share))):
            fit = eb.fit(X, model, eb.NewtonAnderson(precision=1e-12))
            _, total = log_likelihood(X, fit.locations, fit.weights, fit.scale[0])
            assert fit.log_likelihood == pytest.approx(total, rel=1e-13)
            after = em(X, fit.locations, fit.weights, fit.scale[0], model is FREE)
            for found, next_ in zip((fit.locations, fit.weights, fit.scale[0]), after, strict=True):
                np.testing.assert_allclose(next_, found, rtol=1e-5, atol=1e-6)

    def test_sides_do_not_matter(self):
        X = parts(400, 2, 2.0, 0.2)
        one, other = eb.fit(X, FREE), eb.fit(-X, FREE)
        np.testing.assert_allclose(one.weights, other.weights[::-1], rtol=1e-6)
        np.testing.assert_allclose(one.locations, -other.locations[::-1], rtol=1e-5)
        given = [eb.fit(X, eb.General(mixing=w)) for w in ((0.2, 0.8), (0.8, 0.2))]
        assert given[0].log_likelihood == pytest.approx(given[1].log_likelihood, abs=1e-4)
        assert given[0].weights.tolist() == given[1].weights.tolist() == [0.8, 0.2]

    def test_far_from_zero(self):
        X = parts(400, 1, 2.0, 0.2)
        near, far = eb.fit(X, FREE), eb.fit(X + 2.0**24, FREE)
        np.testing.assert_allclose(far.weights, near.weights, rtol=1e-5)
        np.testing.assert_allclose(far.locations - 2.0**24, near.locations, rtol=1e-5)
        assert far.run.params[-1] == pytest.approx(near.run.params[-1], rel=1e-5)

    def test_an_outlier_is_said_to_be_one(self):
        X = np.vstack([parts(100, 2, 0.0, 0.5), [[9.0, 9.0]]])
        fit = eb.fit(X, FREE)
        assert min(fit.weights) == pytest.approx(1 / 101, rel=1e-6)
        assert any("an outlier rather than a part" in note for note in fit.notes)

    def test_at_least_as_good_as_equal_weights(self):
        for seed in range(scaled(8, 2)):
            X = np.random.default_rng(seed).standard_t(4, (80, 2))
            assert eb.fit(X, FREE).log_likelihood >= eb.fit(X).log_likelihood - 1e-4

    def test_said(self):
        fit = eb.fit(parts(300, 1, 2.0, 0.2), FREE)
        assert "w_1 N(theta_1, s I)" in fit.summary()
        assert f"weights         {fit.weights[0]:.6g}" in fit.summary()
        assert fit.as_dict()["weights"] == fit.weights.tolist()


class TestUnequal:
    @needs_jit
    def test_score_is_the_gain(self):
        """Twice the gain in log-likelihood of free weights, where sizes are not too unequal."""
        for seed, half, share in [(0, 2.5, 0.5), (1, 2.5, 0.4), (2, 1.5, 0.45), (3, 2.0, 0.5)]:
            X = parts(1000, 2, half, share, seed)
            equal = eb.fit(X, algorithm=eb.NewtonAnderson(precision=1e-10))
            gain = eb.fit(X, FREE).log_likelihood - equal.log_likelihood
            found = unequal.statistic(eb.General(), eb.ArraySample(X), equal.run.params)
            assert found == pytest.approx(2 * gain, rel=0.1, abs=0.02)

    def test_note(self):
        for share, expected in [(0.5, False), (0.25, True)]:
            for d in (1, 3):
                notes = eb.fit(parts(600, d, 2.0, share)).notes
                assert any("unequal size" in note for note in notes) == expected

    def test_note_on_parts_that_are_far_apart(self):
        """In units of the spread they are narrow, and the likelihood bends little there."""
        for few in (3, 90):
            X = np.random.default_rng(3).standard_normal((900, 5))
            X[:few] += 2400.0
            assert any("unequal size" in note for note in eb.fit(X).notes)

    def test_no_note_where_one_gaussian_does(self):
        notes = eb.fit(np.random.default_rng(0).standard_normal((500, 1))).notes
        assert not any("unequal" in note for note in notes)


def stored():
    return pd.read_csv(STORED, comment="#").set_index("set")


@needs_jit
class TestAgainstOthers:
    """tests/data/mclust.csv: 60 starts each of mclust and scikit-learn, by benchmarks.answers."""

    @pytest.mark.parametrize("mixing", ["equal", "free"])
    def test_no_maximum_is_missed(self, mixing):
        table = stored()
        below = {}
        for name, X in sets():
            fit = eb.fit(X, eb.General(mixing=mixing))
            others = table.loc[name, [f"mclust_{mixing}"] + ["sklearn_free"] * (mixing == "free")]
            below[name] = others.max() - fit.log_likelihood
        assert len(below) == len(table) == 103
        assert max(below.values()) < 1e-6, max(below, key=below.get)
