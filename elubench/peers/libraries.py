"""What a user would pick instead: NumPy, SciPy, scikit-learn and others.

Each adapter gives its library the data in the layout and type that suit it best, converted before the
clock starts, and calls it as its documentation says. Where a library cannot hold the weights equal and
the locations opposite, it fits the nearest model that it has.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.peers.base import BUDGET, LOOK_EVERY, MOST_ITERATIONS, Adapter, Judge, Mixture


class NumPy(Adapter):
    """The constrained model in a few lines of NumPy."""

    exact = True
    distribution = "numpy"

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X, self.start = X, start
        self.second = float(np.mean([column @ column for column in X.T])) / len(X)

    def iterate(self, count: int) -> Mixture:
        X, theta, scale = self.X, self.start.means[1], float(self.start.variances[0])
        n, d = X.shape
        for _ in range(count):
            theta = np.tanh(X @ (theta / scale)) @ X / n
            scale = self.second - float(theta @ theta) / d
        return Mixture.symmetric(theta, scale)

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """The mean loss with the scale on its curve, and its gradient."""
        n, d = self.X.shape
        rho = float(theta @ theta)
        scale = self.second - rho / d
        if scale <= 0.0:
            return math.inf, np.zeros(d)
        y = self.X @ (theta / scale)
        log_cosh = np.mean(np.logaddexp(y, -y)) - math.log(2.0)
        t1 = np.tanh(y) @ self.X / n
        loss = 0.5 * d * math.log(2.0 * math.pi * scale)
        loss += (d * self.second + rho) / (2.0 * scale) - log_cosh
        gradient = theta * (self.second + rho / d) - scale * t1 - 2.0 / d * (theta @ t1) * theta
        return float(loss), gradient / scale**2


class SciPy(NumPy):
    """SciPy's L-BFGS on the NumPy loss."""

    distribution = "scipy"

    def load(self) -> None:
        from scipy.optimize import minimize

        self.minimize: Any = minimize

    def solve(self, label: str, judge: Judge) -> str:
        made, enough = 0, False

        def callback(theta: Floats) -> None:
            nonlocal made, enough
            made += 1
            scale = self.second - float(theta @ theta) / theta.size
            enough = judge.look(made, Mixture.symmetric(theta, scale))
            if enough:
                raise StopIteration

        judge.begin()
        # As tight as it goes; by default L-BFGS-B stops where the loss gains less than 2e-9.
        options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 10_000}
        result = self.minimize(
            self.loss,
            self.start.means[1],
            jac=True,
            method="L-BFGS-B",
            callback=callback,
            options=options,
        )
        return BUDGET if enough else str(result.message).rstrip(".").lower()


class ScikitLearn(Adapter):
    """GaussianMixture with one variance per component."""

    modules = ("sklearn",)
    distribution = "scikit-learn"

    def load(self) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        self.mixture: Any = GaussianMixture
        self.warning: Any = ConvergenceWarning

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X, self.start = X, start

    def iterate(self, count: int) -> Mixture:
        mixture = self._mixture(max_iter=count, tol=0.0)
        self._fit(mixture)
        if mixture.n_iter_ != count:
            raise RuntimeError(f"{mixture.n_iter_} iterations instead of {count}")
        return self._result(mixture)

    def solve(self, label: str, judge: Judge) -> str:
        judge.begin()
        if label == "tol=1e-3":
            mixture = self._mixture()
            self._fit(mixture)
            judge.look(mixture.n_iter_, self._result(mixture))
            return "converged" if mixture.converged_ else "max_iter"
        mixture = self._mixture(tol=0.0, warm_start=True)
        made = 0
        while made < MOST_ITERATIONS:
            mixture.max_iter = max(5, round(LOOK_EVERY * made))
            self._fit(mixture)
            made += mixture.n_iter_
            if judge.look(made, self._result(mixture)):
                break
        return BUDGET

    def _mixture(self, **options: Any) -> Any:
        weights, means, variances = self.start
        return self.mixture(
            2,
            covariance_type="spherical",
            weights_init=weights,
            means_init=means,
            precisions_init=1.0 / variances,
            reg_covar=0.0,
            **options,
        )

    def _fit(self, mixture: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.warning)
            mixture.fit(self.X)

    @staticmethod
    def _result(mixture: Any) -> Mixture:
        return Mixture(mixture.weights_, mixture.means_, mixture.covariances_)


class ScikitLearnMirrored(ScikitLearn):
    """The same on [X; -X], from a symmetric start: every EM iteration keeps the symmetry.

    Weights stay equal, locations opposite and variances the same, up to rounding: the constrained
    model, for twice the rows.
    """

    exact = True

    def prepare(self, X: Floats, start: Mixture) -> None:
        super().prepare(np.concatenate([X, -X]), start)


class StepMix(Adapter):
    """StepMix with one variance per component, started from its k-means."""

    modules = ("stepmix",)
    distribution = "stepmix"

    def load(self) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from stepmix.stepmix import StepMix

        self.mixture: Any = StepMix
        self.warning: Any = ConvergenceWarning

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X = X

    def iterate(self, count: int) -> Mixture:
        mixture = self.mixture(
            n_components=2,
            measurement="gaussian_spherical",
            init_params="kmeans",
            abs_tol=0.0,
            rel_tol=0.0,
            max_iter=count,
            random_state=0,
            progress_bar=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self.warning)
            mixture.fit(self.X)
        if mixture.n_iter_ != count:
            raise RuntimeError(f"{mixture.n_iter_} iterations instead of {count}")
        found = mixture.get_parameters()
        parts = found["measurement"]
        return Mixture(found["weights"], parts["means"], parts["covariances"])


class Mlpack(Adapter):
    """mlpack's gmm_train, started from one k-means iteration."""

    modules = ("mlpack",)
    distribution = "mlpack"

    def load(self) -> None:
        import mlpack

        self.train: Any = mlpack.gmm_train

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X = X

    def iterate(self, count: int) -> Mixture:
        model = self.train(
            input_=self.X,
            gaussians=2,
            diagonal_covariance=True,
            max_iterations=count,
            tolerance=0.0,
            kmeans_max_iterations=1,
            seed=1,
        )["output_model"]
        found = model.get_cpp_params()["GMM"]
        return Mixture(
            np.asarray(found["weights"]).reshape(2),
            np.stack([np.asarray(one["mean"]).reshape(-1) for one in found["dists"]]),
            np.stack([np.diag(one["covariance"]) for one in found["dists"]]),
        )


class Gmmx(Adapter):
    """gmmx, on jax; it takes float32 only."""

    modules = ("gmmx", "jax")
    distribution = "gmmx"
    compiles = True

    def load(self) -> None:
        import gmmx
        import jax

        self.gmmx: Any = gmmx
        self.jax: Any = jax

    def prepare(self, X: Floats, start: Mixture) -> None:
        single, d = np.float32, X.shape[1]
        self.X = self.jax.block_until_ready(self.jax.numpy.asarray(X, dtype=single))
        self.start = self.gmmx.GaussianMixtureModelJax.from_squeezed(
            weights=start.weights.astype(single),
            means=start.means.astype(single),
            covariances=np.repeat(start.variances[:, None], d, axis=1).astype(single),
            covariance_type="diag",
        )

    def iterate(self, count: int) -> Mixture:
        fitter = self.gmmx.EMFitter(max_iter=count, tol=0.0, reg_covar=0.0)
        result = fitter.fit(x=self.X, gmm=self.start)
        found = result.gmm
        values = np.asarray(found.covariances.values, dtype=np.float64)
        if int(result.n_iter) != count:
            raise RuntimeError(f"{int(result.n_iter)} iterations instead of {count}")
        return Mixture(
            np.asarray(found.weights_numpy, dtype=np.float64),
            np.asarray(found.means_numpy, dtype=np.float64),
            values.reshape(2, -1),
        )


class Pomegranate(Adapter):
    """pomegranate, on torch."""

    modules = ("pomegranate", "torch")
    distribution = "pomegranate"

    def load(self) -> None:
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel

        self.torch: Any = torch
        self.normal: Any = Normal
        self.mixture: Any = GeneralMixtureModel

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X, self.start = self.torch.from_numpy(X), start

    def iterate(self, count: int) -> Mixture:
        d = self.X.shape[1]
        tensor = self.torch.from_numpy
        parts = [
            self.normal(tensor(mean.copy()), tensor(np.full(d, variance)), "sphere")
            for mean, variance in zip(self.start.means, self.start.variances, strict=True)
        ]
        priors = tensor(self.start.weights.copy())
        mixture = self.mixture(parts, priors=priors, max_iter=count, tol=-math.inf)
        mixture.fit(self.X)
        return Mixture(
            mixture.priors.double().numpy(),
            np.stack([part.means.double().numpy() for part in parts]),
            np.stack([np.broadcast_to(part.covs.double().numpy(), d) for part in parts]),
        )
