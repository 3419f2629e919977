"""What a model is: O(d) algebra between parameters and the sums of a pass.

All three models fit (1/2) N(theta_1, S) + (1/2) N(theta_2, S). Every stationary point of the
likelihood lies on a curve on which the scale S is a closed form of the locations, so the parameters
are the locations alone, and the loss f is the mean negative log-likelihood *restricted to that
curve*. (It is not the profile likelihood: off a stationary point the closed form is not the
minimiser over the scale.) The scale is sigma squared throughout.

Natural coordinates. The data enter the loss through x.u + b alone. Taken as a function of u = delta / s
instead of the locations, f has the gradient of which EM's step is the negative, theta - T1, and a
Hessian without third-order terms; the scale is positive for *every* u, so the problem has no boundary;
and the factors 1/s^2, which make f steep where a component is narrow, are gone. Newton's method from
the usual starts reaches the radius there in a third of the passes. u is measured in units of the
one-Gaussian fit, so that nothing depends on the units of the data.

To add a model, subclass :class:`Model` and give it six compiled functions with the signatures in
:mod:`elubench.kernels.signatures`, made with :func:`elubench.kernels.kernel`; and, for algorithms that
want them, the same six in natural coordinates with the change of coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import reduction
from elubench.kernels._jit import ready
from elubench.samples.base import Moments, Sample


class Algebra(NamedTuple):
    """A model's compiled functions, in the order in which the loop takes them."""

    scale: Any
    direction: Any
    respond: Any
    gap: Any
    hessian: Any
    error: Any


class Natural(NamedTuple):
    """A model in natural coordinates: the same functions, and the way there and back."""

    algebra: Algebra
    from_locations: Any
    to_locations: Any


class Model(ABC):
    """A two-component Gaussian mixture with equal weights."""

    #: A word for tables and files.
    name: ClassVar[str]
    #: True where the offset b is always 0 and T0 is not used: a sample may then fold x and -x.
    even: ClassVar[bool]
    #: What an algorithm may ask of a model beyond the basics, such as "half sum".
    features: ClassVar[frozenset[str]] = frozenset()
    #: Step size and growth that the paper uses for this model.
    elu_defaults: ClassVar[tuple[float, float]] = (1.0, 0.9)
    algebra: ClassVar[Algebra]
    #: None for a model without natural coordinates.
    natural: ClassVar[Natural | None] = None

    @abstractmethod
    def n_params(self, d: int) -> int:
        """Number of location parameters."""

    @abstractmethod
    def n_scales(self, d: int) -> int:
        """Number of scale parameters."""

    @abstractmethod
    def default_start(self, sample: Sample) -> Floats:
        """A start well away from the one-Gaussian fit, inside the region of positive scale."""

    @abstractmethod
    def truth(self, location: ArrayLike, d: int) -> Floats:
        """The parameters of data from one Gaussian with this location (a number or d numbers)."""

    @abstractmethod
    def one_gaussian_loss(self, fitted: Moments, evaluated: Moments) -> float:
        """Loss of the one Gaussian with the moments ``fitted``, on a sample with ``evaluated``."""

    @abstractmethod
    def is_stationary_start(self, params: Floats) -> bool:
        """Whether the two components coincide: EM and gradient steps cannot leave such a point."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    # What a user asks of one sample and one point. Each call is one pass, or none.

    def scale(self, sample: Sample, params: ArrayLike) -> Floats:
        """The scale on the curve: an array of one number, or of d numbers for a diagonal model."""
        point, m = self._given(sample, params)
        out = np.empty(self.n_scales(sample.d))
        ready(self.algebra.scale)(point, m.m1, m.m2, out)
        return out

    def em_step(self, sample: Sample, params: ArrayLike) -> Floats:
        """The parameters after one step of EM."""
        return self._respond(sample, params)[0]

    def gradient(self, sample: Sample, params: ArrayLike) -> Floats:
        """The gradient (p,) of the restricted loss f."""
        return self._respond(sample, params)[1]

    def gap(self, sample: Sample, params: ArrayLike, fitted: Moments | None = None) -> float:
        """Loss less that of the best single Gaussian, without the digits that this costs.

        With ``fitted`` (moments of a training sample) the scale is taken from there and the loss is
        that of ``sample``, as in validation.
        """
        return float(self.gaps(sample, np.asarray(params, dtype=np.float64)[None, :], fitted)[0])

    def gaps(self, sample: Sample, points: ArrayLike, fitted: Moments | None = None) -> Floats:
        """:meth:`gap` for points (k, p), in one read of the data."""
        m = sample.moments() if fitted is None else fitted
        given = np.array(points, dtype=np.float64, order="C")
        u = np.empty((len(given), sample.d))
        b = np.empty(len(given))
        for k, point in enumerate(given):
            b[k] = ready(self.algebra.direction)(point, m.m1, m.m2, u[k])
        rows = sample.sums(u, b, reduction.LOG_COSH, even=self.even)
        e = sample.moments()
        return np.array(
            [
                ready(self.algebra.gap)(point, m.m1, m.m2, e.m1, e.m2, row[1 + sample.d])
                for point, row in zip(given, rows, strict=True)
            ]
        )

    def loss(self, sample: Sample, params: ArrayLike) -> float:
        """Mean negative log-likelihood at these locations, with the scale on the curve."""
        m = sample.moments()
        return self.one_gaussian_loss(m, m) + self.gap(sample, params)

    def hessian(self, sample: Sample, params: ArrayLike) -> Floats:
        """Second derivatives (p, p) of the restricted loss f."""
        point, m = self._given(sample, params)
        u, b = self._direction(point, m, sample.d)
        row = sample.sums(u, b, reduction.CURVATURE, even=self.even)[0]
        out = np.empty((len(point), len(point)))
        ready(self.algebra.hessian)(point, m.m1, m.m2, row, out)
        return out

    def location_error(self, params: ArrayLike, truth: ArrayLike) -> float:
        """Distance of the locations from the truth (a params array), over the labels' symmetry."""
        point, goal = np.array(params, dtype=np.float64), np.array(truth, dtype=np.float64)
        unused = np.empty(0)  # moments matter to natural coordinates only
        return float(ready(self.algebra.error)(point, unused, unused, goal))

    def scale_error(self, scale: ArrayLike, truth: ArrayLike) -> float:
        """Largest difference of the scales (sigma squared)."""
        return float(np.max(np.abs(np.asarray(scale) - np.asarray(truth))))

    def check_params(self, sample: Sample, params: ArrayLike, name: str) -> Floats:
        """A fresh float64 copy of the parameters, refused unless finite and of positive scale."""
        self.check_sample(sample)
        point = checks.vector(params, name, self.n_params(sample.d))
        if not (self.scale(sample, point) > 0).all():
            raise ValueError(
                f"{name} lies where the scale of the {self.name} model is not positive for this "
                f"sample; choose locations closer to its centre, got {point}"
            )
        return point

    def check_sample(self, sample: Sample) -> None:
        """Refuse a sample to which even one Gaussian of this model cannot be fitted."""
        centre = (
            self.truth(0.0, sample.d) if self.even else self.truth(sample.moments().m1, sample.d)
        )
        if not (self.scale(sample, centre) > 0).all():
            raise ValueError(f"X does not vary: the {self.name} model has no positive scale for it")

    def _given(self, sample: Sample, params: ArrayLike) -> tuple[Floats, Moments]:
        return checks.vector(params, "params", self.n_params(sample.d)), sample.moments()

    def _direction(self, point: Floats, m: Moments, d: int) -> tuple[Floats, Floats]:
        u = np.empty((1, d))
        b = ready(self.algebra.direction)(point, m.m1, m.m2, u[0])
        if np.isnan(b):
            raise ValueError(f"params lie where the scale of the {self.name} model is not positive")
        return u, np.array([b])

    def _respond(self, sample: Sample, params: ArrayLike) -> tuple[Floats, Floats]:
        point, m = self._given(sample, params)
        u, b = self._direction(point, m, sample.d)
        row = sample.sums(u, b, 0, even=self.even)[0]
        em, gradient = np.empty_like(point), np.empty_like(point)
        ready(self.algebra.respond)(point, m.m1, m.m2, row, em, gradient)
        return em, gradient
