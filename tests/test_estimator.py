"""TwoGaussians: scikit-learn's own checks, its GaussianMixture, and its tools around an estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import JIT, needs_jit, python

import elubench as eb

pytest.importorskip("sklearn", "1.6")
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

# as in the contract suite
pytestmark = [] if JIT else [pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]


@pytest.fixture(scope="module")
def X():
    return load_iris().data[:, 2:]


@pytest.fixture(scope="module")
def fitted(X):
    return eb.TwoGaussians().fit(X)


@needs_jit
@parametrize_with_checks([eb.TwoGaussians(), eb.TwoGaussians("diagonal")])
def test_scikit_learn(estimator, check):
    check(estimator)


class TestAgainstGaussianMixture:
    """At d = 1 a tied covariance is this model."""

    def test_same_answers(self, X):
        x = X[:, :1]
        other = GaussianMixture(2, covariance_type="tied", n_init=5, tol=1e-12, reg_covar=0.0)
        other.set_params(max_iter=2000, random_state=0).fit(x)
        own = eb.TwoGaussians().fit(x)
        order = np.argsort(other.means_[:, 0])
        np.testing.assert_allclose(own.means_, other.means_[order], rtol=1e-5)
        np.testing.assert_allclose(own.covariances_, other.covariances_, rtol=1e-5)
        np.testing.assert_allclose(own.weights_, other.weights_[order], rtol=1e-5)
        grid = np.linspace(0.0, 8.0, 50)[:, None]
        np.testing.assert_allclose(
            own.predict_proba(grid), other.predict_proba(grid)[:, order], atol=1e-5
        )
        np.testing.assert_allclose(own.score_samples(grid), other.score_samples(grid), rtol=1e-5)
        for name in ("score", "bic", "aic"):
            assert getattr(own, name)(x) == pytest.approx(getattr(other, name)(x), rel=1e-7)
        assert own.lower_bound_ == pytest.approx(other.lower_bound_, rel=1e-7)


class TestAttributes:
    def test_after_fitting(self, fitted, X):
        assert fitted.converged_
        assert fitted.n_iter_ >= 1
        assert fitted.n_features_in_ == 2
        assert fitted.means_.shape == fitted.covariances_.shape == (2, 2)
        assert fitted.weights_.sum() == pytest.approx(1.0, abs=1e-15)
        assert fitted.lower_bound_ == pytest.approx(fitted.score(X), rel=1e-12)
        assert fitted.regime_ == fitted.fit_.regime

    def test_proba_is_that_of_the_fit(self, fitted, X):
        shares = fitted.predict_proba(X)
        np.testing.assert_array_equal(shares, fitted.fit_.predict_proba(X))
        np.testing.assert_array_equal(fitted.predict(X), shares.argmax(axis=1))
        np.testing.assert_array_equal(fitted.predict(X), eb.TwoGaussians().fit_predict(X))
        np.testing.assert_allclose(shares.mean(axis=0), fitted.weights_, rtol=1e-6)  # as after EM

    def test_every_model(self, X):
        Z = X - X.mean(axis=0)
        for model in ("isotropic", "diagonal"):
            found = eb.TwoGaussians(model).fit(Z)
            np.testing.assert_array_equal(found.means_[0], -found.means_[1])
            assert found.score(Z) * len(Z) == pytest.approx(found.fit_.log_likelihood, rel=1e-12)

    def test_weights_of_rows(self, X):
        weights = np.random.default_rng(0).integers(0, 4, len(X))
        one = eb.TwoGaussians().fit(X, sample_weight=weights)
        two = eb.TwoGaussians().fit(np.repeat(X, weights, axis=0))
        np.testing.assert_allclose(one.means_, two.means_, rtol=1e-6)
        assert one.lower_bound_ == pytest.approx(two.lower_bound_, rel=1e-10)

    def test_sample(self, X):
        found = eb.TwoGaussians(random_state=1).fit(X)
        rows, labels = found.sample(4000)
        share, sd = found.weights_[1], np.sqrt(found.covariances_[0, 0])
        assert labels.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4000))
        for k in (0, 1):
            part = rows[labels == k]
            error = 4 * sd / np.sqrt(len(part))
            np.testing.assert_allclose(part.mean(axis=0), found.means_[k], atol=error)
            np.testing.assert_allclose(part.std(axis=0), sd, atol=error)
        np.testing.assert_array_equal(found.sample(4000)[0], rows)

    def test_p_value_of_an_unfitted_one(self):
        with pytest.raises(NotFittedError):
            _ = eb.TwoGaussians().p_value_

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"mixing": "none"}, "mixing"),
            ({"model": "isotropic", "mixing": "free"}, "mixing must be None unless"),
            ({"model": eb.General(), "mixing": "free"}, "mixing must be None unless"),
            ({"model": "spherical"}, "model"),
            ({"algorithm": "fast"}, "algorithm"),
            ({"precision": 0.0}, "precision"),
            ({"n_init": 0}, "starts"),
            ({"max_iter": 0}, "max_iter"),
        ],
    )
    def test_refused(self, options, named, X):
        with pytest.raises(ValueError, match=named):
            eb.TwoGaussians(**options).fit(X)


class TestTools:
    def test_names_of_features(self):
        frame = load_iris(as_frame=True).data
        found = eb.TwoGaussians().fit(frame)
        assert list(found.feature_names_in_) == list(frame.columns)
        with pytest.raises(ValueError, match="feature names"):
            found.predict(frame.rename(columns=str.upper))

    def test_pipeline(self, X):
        scaled = make_pipeline(StandardScaler(), eb.TwoGaussians()).set_output(transform="pandas")
        frame = pd.DataFrame(X, columns=["length", "width"])
        labels = scaled.fit(frame).predict(frame)
        setosa = load_iris().target == 0
        assert (labels[setosa] == labels[0]).all()
        assert (labels[~setosa] != labels[0]).all()
        assert list(scaled[-1].feature_names_in_) == ["length", "width"]
        assert scaled.predict_proba(frame).shape == (150, 2)
        assert "TwoGaussians" in scaled._repr_html_()

    def test_grid_search(self, X):
        grid = {"mixing": ["equal", "free", (0.3, 0.7)], "model": ["general"]}
        search = GridSearchCV(eb.TwoGaussians(), grid, cv=3, error_score="raise").fit(X)
        assert search.best_params_["mixing"] in grid["mixing"]
        assert cross_val_score(eb.TwoGaussians(), X, cv=3).shape == (3,)

    def test_clone_and_pickle(self, X, fitted):
        copy = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
        assert clone(fitted).get_params() == fitted.get_params()


def test_without_scikit_learn():
    """The package works; only TwoGaussians says what is missing."""
    said = python(
        "import json, sys\n"
        "sys.modules['sklearn'] = None\n"
        "import elubench as eb\n"
        "assert eb.fit is not None\n"
        "try:\n"
        "    eb.TwoGaussians\n"
        "except ImportError as error:\n"
        "    print(json.dumps(str(error)))\n"
    )
    assert said == "TwoGaussians needs scikit-learn: pip install 'elubench[sklearn]'"
