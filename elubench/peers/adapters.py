"""The peers themselves: elubench, what a user would pick instead, and what the hardware allows.

Each adapter gives its library the data as it likes them best (its own layout and type, converted
before the clock starts) and calls it as its documentation says. None of the others can hold the
weights equal and the locations opposite, so each is given the nearest model that it has.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.peers.base import BUDGET, Adapter, Judge, Mixture, Peer

#: Iterations between two looks at a fit that is underway, as a share of those made.
_LOOK_EVERY = 0.04
_MOST_ITERATIONS = 10_000_000


class Elubench(Adapter):
    """The package itself."""

    compiles = True

    def load(self) -> None:
        import elubench

        self.eb: Any = elubench

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.sample, self.start = self.eb.ArraySample(X), start.means[1]

    def iterate(self, count: int) -> Mixture:
        eb = self.eb
        run = eb.run(self.sample, "isotropic", eb.EM(), self.start, max_iter=count, metrics=False)
        if run.n_iter != count:
            raise RuntimeError(f"EM ended after {run.n_iter} of {count} iterations: {run.status}")
        return Mixture.symmetric(run.params, run.scale[0])

    def solve(self, label: str, judge: Judge) -> str:
        """From the array to the answer: packing counts, compiling does not."""
        eb, X = self.eb, judge.X
        if label == "fit(auto)":
            eb.fit(X, max_iter=1)  # compiles
            judge.begin()
            fit = eb.fit(X)
            # its start is an EM step already
            judge.look(1 + fit.run.n_iter, Mixture.symmetric(fit.location, fit.scale[0]))
            return str(fit.status)
        algorithm = self._algorithm(label, len(X))
        begun = time.perf_counter()
        sample = eb.ArraySample(X)
        packing = time.perf_counter() - begun
        judge.begin()
        looked, most = 0, 100
        while True:  # again and longer, so that EM does not use up the budget once it is there
            run = eb.run(sample, "isotropic", algorithm, self.start, max_iter=most, metrics=False)
            points = run.trace[[f"param_{j}" for j in range(sample.d)]].to_numpy()
            for t, seconds, point in zip(run.trace["t"], run.trace["seconds"], points, strict=True):
                if t > looked:
                    looked = max(t, int(t * (1.0 + _LOOK_EVERY)) - 1)
                    scale = run.model.scale(sample, point)[0]
                    if judge.look(t, Mixture.symmetric(point, scale), packing + seconds):
                        return BUDGET
            if run.status != "max_iter":
                return str(run.status)
            left = judge.budget / max(run.seconds, 1e-6)
            if left < 1.0 or most == _MOST_ITERATIONS:
                return BUDGET
            most = min(math.ceil(most * min(4.0, left + 0.1)), _MOST_ITERATIONS)

    def _algorithm(self, label: str, n: int) -> Any:
        if label == "NewtonAnderson":  # its own stop is a gain that no statistician would notice
            return self.eb.NewtonAnderson(precision=1e-11 * n)
        return getattr(self.eb, label)()


class NumPy(Adapter):
    """The constrained model in a few lines of NumPy."""

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
        # As tight as it takes; with its defaults L-BFGS-B stops where the loss gains less than 2e-9.
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
    """GaussianMixture with one variance for each component."""

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
        while made < _MOST_ITERATIONS:
            mixture.max_iter = max(5, round(_LOOK_EVERY * made))
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


class Mlpack(Adapter):
    """mlpack's gmm_train; one k-means iteration is where it starts."""

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


class Reading(Adapter):
    """The data read once by all threads, and nothing done with them."""

    compiles = True

    def load(self) -> None:
        from elubench.kernels import hardware

        self.hardware: Any = hardware

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X = X.reshape(-1)

    def iterate(self, count: int) -> None:
        for _ in range(count):
            self.hardware.add_up(self.X)


class Tanh(Reading):
    """A tanh for every row, by all threads, on numbers that are in the cache."""

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.rows = len(X)

    def iterate(self, count: int) -> None:
        for _ in range(count):
            self.hardware.tanh_in_cache(self.rows)


def _here(name: str) -> str:
    return f"{__name__}:{name}"


ELUBENCH = Peer(
    "elubench",
    _here("Elubench"),
    solvers=("fit(auto)", "NewtonAnderson", "LBFGS", "Newton", "SQUAREM", "Anderson", "ELU", "EM"),
    nanoseconds=(1.5, 0.3),
)
READING = Peer("reading", _here("Reading"), "limit", nanoseconds=(0.0, 0.5))
TANH = Peer("tanh", _here("Tanh"), "limit", nanoseconds=(1.2, 0.0))
LIMITS = (READING, TANH)

#: Everyone who takes part, in the order of the tables; elubench and the limits always do.
PEERS = (
    ELUBENCH,
    READING,
    TANH,
    Peer("numpy", _here("NumPy"), nanoseconds=(10.0, 3.0)),
    Peer("scipy", _here("SciPy"), iterates=False, solvers=("L-BFGS",)),
    Peer(
        "scikit-learn",
        _here("ScikitLearn"),
        "wider",
        "scikit-learn cannot hold the weights equal or the locations opposite. 'spherical' has free "
        "weights, two means and two variances.",
        "pip install 'elubench[peers]'",
        solvers=("tol=0", "tol=1e-3"),
        nanoseconds=(230.0, 10.0),
    ),
    Peer(
        "mlpack",
        _here("Mlpack"),
        "wider",
        "mlpack's nearest model is diagonal: free weights, two means, a variance for each component "
        "and coordinate. It starts from k-means.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(150.0, 40.0),
    ),
    Peer(
        "gmmx",
        _here("Gmmx"),
        "wider, f32",
        "gmmx's nearest model is diagonal: free weights, two means, a variance for each component and "
        "coordinate. It computes in float32 only.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(150.0, 50.0),
    ),
    Peer(
        "pomegranate",
        _here("Pomegranate"),
        "wider",
        "pomegranate's nearest model is a sphere: free weights, two means and two variances. It sums "
        "the weights in float32.",
        "pip install 'elubench[peers-all]'",
        nanoseconds=(500.0, 100.0),
    ),
)
