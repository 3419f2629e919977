"""``TwoGaussians``: a fit with scikit-learn's conventions, for pipelines and grid searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from elubench import checks
from elubench.algorithms import NewtonAnderson
from elubench.checks import Floats
from elubench.fits.fitting import fit
from elubench.fits.predicting import log_densities
from elubench.models import General, Model
from elubench.models.known import named


class TwoGaussians(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Two Gaussians with a common covariance, fitted by maximum likelihood.

    Parameters
    ----------
    model : "general" (free locations, covariance s I), "isotropic" or "diagonal" (locations -theta and
        theta), or a Model.
    mixing : "free", "equal" or the two weights, for the model "general". None is "free" for it, and what
        the model has for any other.
    algorithm : "auto", the name of one, or an Algorithm.
    precision : gain in log-likelihood that is not worth another pass, with "auto" up to d = 32.
    n_init : 1 for the starts that are read off the data; each further one is random.
    max_iter : iterations per run; None for the default of :func:`elubench.fit`.
    random_state : of random starts.

    Attributes
    ----------
    means_ : (2, n_features), ordered by the coordinate in which they differ most.
    covariances_ : (n_features, n_features), of both components.
    weights_ : (2,).
    n_iter_, converged_ : of the best run.
    lower_bound_ : mean log-likelihood of the rows, by weight.
    regime_ : whether the data have two components; see :meth:`elubench.Fit.summary`.
    p_value_ : of the test of one component against two; computed when it is asked for.
    fit_ : the :class:`elubench.Fit`.
    """

    def __init__(
        self,
        model: Model | str = "general",
        *,
        mixing: Any = None,
        algorithm: Any = "auto",
        precision: float = 1e-10,
        n_init: int = 1,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.mixing = mixing
        self.algorithm = algorithm
        self.precision = precision
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> TwoGaussians:
        """Fit two Gaussians to the rows of X; a weight of k counts a row k times."""
        if isinstance(self.model, str) and self.model == "general":
            model: Model = General(mixing="free" if self.mixing is None else self.mixing)
        else:
            model = named(self.model)
            if self.mixing is not None:
                raise ValueError(
                    f'mixing must be None unless the model is "general", got '
                    f"{checks.brief(self.mixing)} for {model}"
                )
        precision = checks.real(self.precision, "precision", above=0.0)
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        algorithm = self.algorithm
        if (
            isinstance(algorithm, str)
            and algorithm == "auto"
            and X.shape[1] <= NewtonAnderson.up_to
        ):
            algorithm = NewtonAnderson(precision=precision)
        found = fit(
            X, model, algorithm, weights=sample_weight, starts=self.n_init, max_iter=self.max_iter,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )  # fmt: skip
        self.fit_ = found
        self.means_ = found.locations
        self.covariances_ = np.diag(np.broadcast_to(found.scale, found.d))
        self.weights_ = found.weights
        self.n_iter_ = found.run.n_iter
        self.converged_ = found.status == "converged"
        total = len(X) if sample_weight is None else float(np.sum(sample_weight))
        self.lower_bound_ = found.log_likelihood / total
        self.regime_ = found.regime
        return self

    @property
    def p_value_(self) -> float:
        check_is_fitted(self)
        return self.fit_.p_value()

    def fit_predict(self, X: Any, y: None = None, sample_weight: ArrayLike | None = None) -> Any:
        """Fit, and say which component each row is more likely from."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def _log_densities(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return log_densities(rows, self.means_, self.weights_, self.fit_.scale)

    def predict(self, X: Any) -> Any:
        """0 or 1 for each row: the component that it is more likely from."""
        return np.argmax(self._log_densities(X), axis=1)

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities (n_samples, 2) of the two components for each row."""
        return softmax(self._log_densities(X), axis=1)

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each row."""
        return logsumexp(self._log_densities(X), axis=1)

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> tuple[Floats, Any]:
        """Rows from the fitted mixture, and the component that each is from."""
        check_is_fitted(self)
        n = checks.integer(n_samples, "n_samples", 1)
        rng = check_random_state(self.random_state)
        labels = (rng.uniform(size=n) < self.weights_[1]).astype(np.int64)
        noise = rng.standard_normal((n, self.n_features_in_))
        return self.means_[labels] + np.sqrt(np.diagonal(self.covariances_)) * noise, labels

    def bic(self, X: Any) -> float:
        """Bayesian information criterion on X; lower is better."""
        scores = self.score_samples(X)
        return self._n_parameters() * float(np.log(len(scores))) - 2.0 * float(np.sum(scores))

    def aic(self, X: Any) -> float:
        """Akaike information criterion on X; lower is better."""
        return 2.0 * self._n_parameters() - 2.0 * float(np.sum(self.score_samples(X)))

    def _n_parameters(self) -> int:
        return self.fit_.model.n_free(self.fit_.d)
