"""What a model is: O(d) algebra between parameters and the sums of a pass.

All models fit (1/2) N(theta_1, S) + (1/2) N(theta_2, S). Every stationary point of the likelihood
lies on a curve on which the scale S is a closed form of the locations. The parameters are therefore
the locations alone, and the loss f is the mean negative log-likelihood *restricted to that curve*. (It
is not the profile likelihood: away from a stationary point the closed form does not minimise over the
scale.) The scale is sigma squared throughout. A model whose scale or weights are known has no curve,
and its f is the likelihood itself.

Natural coordinates. The data enter the loss through x.u + b alone. As a function of u = delta / s
instead of the locations, f has the gradient theta - T1, the negative of EM's step, and a Hessian
without third-order terms. The scale is positive for *every* u, so the problem has no boundary, and the
factors 1/s^2, which make f steep where a component is narrow, are gone. Newton's method from the usual
starts needs a third of the passes to the radius. u is measured in units of the one-Gaussian fit, so
that nothing depends on the units of the data.

To add a model, subclass :class:`Model` and give it six functions with the signatures in
:mod:`elubench.kernels.signatures`, compiled with :func:`elubench.kernels.kernel`. For algorithms that
need natural coordinates, add the same six there and the two changes of coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import layout, many
from elubench.kernels._jit import ready
from elubench.kernels.many import at_points
from elubench.kernels.signatures import Answers
from elubench.models import directions
from elubench.models import moments as closed_forms
from elubench.models.flatness import Flatness, location_scale
from elubench.samples.base import RawMoments, Sample


class Algebra(NamedTuple):
    """A model's compiled functions, in the order of the loop's arguments."""

    scale: Any
    direction: Any
    respond: Any
    gap: Any
    hessian: Any
    error: Any


class Natural(NamedTuple):
    """A model in natural coordinates: the same functions, and the changes of coordinates."""

    algebra: Algebra
    from_locations: Any
    to_locations: Any


class Model(ABC):
    """A two-component Gaussian mixture, with equal weights unless a model says otherwise.

    Parameters are theta_1 followed by theta_2, 2d numbers. Models with the locations -theta and theta
    derive from :class:`~elubench.models.symmetric.SymmetricModel`.
    """

    #: A word for tables and files.
    name: str
    #: The density, for summaries.
    formula: str = "two components"
    #: True where the offset b is always 0 and T0 is not used: a sample may then fold x and -x.
    even: bool
    #: False where the weights differ: labels then matter, and one Gaussian need not be stationary.
    balanced: bool = True
    #: True where the scale is given, not fitted.
    knows_scale: ClassVar[bool] = False
    #: True where moving all rows moves the locations along and changes nothing else. Data far from 0
    #: are then fitted about a point close to them, where no digits are lost.
    translates: ClassVar[bool] = False
    #: What an algorithm may need or use beyond the basics: "half sum", "moment estimate", "scale per
    #: coordinate".
    features: frozenset[str] = frozenset()
    #: Step size and growth that the paper uses for this model.
    elu_defaults: ClassVar[tuple[float, float]] = (1.0, 0.9)
    algebra: Algebra
    #: None for a model without natural coordinates.
    natural: Natural | None = None
    #: Parameters after the locations: 1 for weights that need not be equal.
    extra: int = 0

    @abstractmethod
    def n_scales(self, d: int) -> int:
        """Number of scale parameters."""

    @abstractmethod
    def default_start(self, sample: Sample) -> Floats:
        """A start well away from the one-Gaussian fit, inside the region of positive scale."""

    @abstractmethod
    def one_gaussian_loss(self, fitted: RawMoments, evaluated: RawMoments) -> float:
        """Loss of the one Gaussian with the moments ``fitted``, on a sample with ``evaluated``."""

    def n_params(self, d: int) -> int:
        """Number of parameters."""
        return 2 * d + self.extra

    def n_free(self, d: int) -> int:
        """Numbers that a fit chooses: parameters and scales, but no weights that are given."""
        return self.n_params(d) + self.n_scales(d)

    def flatness(self, d: int, generic: bool = False) -> Flatness:
        """How flat the loss is when the data are from one Gaussian; sets the statistical radius.

        With ``generic``, along the path from a start in a random direction.
        """
        return location_scale(d)

    def inputs(self, moments: RawMoments) -> tuple[Floats, Floats]:
        """m1 and m2 as the algebra is given them; a model may append constants of its own."""
        return moments.m1, moments.m2

    def standard(self) -> Model:
        """The model in units in which one Gaussian has scale 1; itself unless the scale is known."""
        return self

    # Locations and labels.

    def truth(self, location: ArrayLike, d: int) -> Floats:
        """The parameters of data from one Gaussian with this location (a number or d numbers)."""
        one = checks.coordinates(location, "location", d)
        return np.concatenate([one, one])

    def placed(self, moments: RawMoments, step: Floats, aside: Floats | None = None) -> Floats:
        """Parameters with the half difference ``step`` (..., d) about the centre.

        ``aside`` (..., d) moves the half sum off the centre, where the model has a half sum.
        """
        middle = self.centre(moments)
        if aside is not None:
            middle = middle + aside
        return np.concatenate([middle - step, middle + step], axis=-1)

    def swapped(self, params: Floats) -> Floats:
        """The same mixture with the labels of its components exchanged."""
        half = params.size // 2
        return np.concatenate([params[half:], params[:half]])

    def ordered(self, params: Floats) -> Floats:
        """Locations (2, d), ordered by the coordinate in which they differ most; -0 becomes 0."""
        both = params[: params.size - self.extra].reshape(2, -1)
        at = int(np.argmax(np.abs(both[1] - both[0])))
        return (both if both[0, at] <= both[1, at] else both[::-1]) + 0.0

    def weights(self, params: Floats) -> Floats:
        """Weights (2,) of the components, in the order of :meth:`ordered`."""
        return np.full(2, 0.5)

    def middle(self, params: Floats, moments: RawMoments) -> Floats:
        """Where a single Gaussian in place of these two is centred (d,)."""
        both: Floats = 0.5 * (params + self.swapped(params))[: moments.m1.size]
        return both

    def is_stationary_start(self, params: Floats) -> bool:
        """Whether the two components coincide: EM and gradient steps cannot leave such a point."""
        return bool((params == self.swapped(params)).all())

    # The one-Gaussian fit.

    def centre(self, moments: RawMoments) -> Floats:
        """Location (d,) of the one Gaussian: the middle of the starts."""
        return moments.m1

    def variance(self, moments: RawMoments) -> Floats:
        """Variance (d,) of each coordinate under the one Gaussian."""
        d = moments.m1.size
        return np.full(d, (moments.m2 - self.centre(moments) ** 2).sum() / d)

    def spread(self, moments: RawMoments) -> Floats:
        """Standard deviation (d,) of each coordinate under the one Gaussian: the unit of starts."""
        spread: Floats = np.sqrt(self.variance(moments))
        return spread

    # From moments alone.

    def moment_estimates(self, sample: Sample) -> tuple[list[Floats], int]:
        """Parameters from moments of second and fourth order, usual first, and the reads made.

        For a model with one free scale; one without says so by not having the feature "moment
        estimate". Where there are several, the likelihood decides.
        """
        m = sample.moments()
        centre, units = self.centre(m), self.spread(m)
        if sample.d <= directions.PAIRS_UP_TO:
            shape = sample.shape_about(centre, units, even=self.even)
            return [self.placed(m, units * closed_forms.one_scale(shape))], 1
        lengths, vectors, reads = directions.leading(sample, centre, units, 1)
        total = float(np.sum((m.m2 - centre**2) / units**2))
        step = closed_forms.along_leading(float(lengths[0]), vectors[0], total)
        return [self.placed(m, units * step)], reads

    # Starts.

    def steps(self, sample: Sample) -> tuple[list[Floats], int]:
        """Half differences that the data suggest, and the passes made; by default none."""
        return [], 0

    def candidates(self, sample: Sample) -> tuple[Floats, int]:
        """Points (k, p) from which the best one is the start of a fit, and the passes made."""
        moments = sample.moments()
        steps, passes = self.steps(sample)
        points = [self.placed(moments, step) for step in steps if step.any()]
        return np.stack(points or [self.default_start(sample)]), passes

    def random_start(self, sample: Sample, rng: np.random.Generator) -> Floats:
        """A random direction in the units of the one-Gaussian fit, cut until the scale is positive."""
        moments = sample.moments()
        direction = rng.standard_normal(sample.d)
        step = self.spread(moments) * direction / np.linalg.norm(direction) * rng.uniform(0.3, 1.2)
        while not (self.scale(sample, self.placed(moments, step)) > 0).all():
            step *= 0.7
        return self.placed(moments, step)

    def mle_starts(self, sample: Sample) -> list[Floats]:
        """Starts from which the sample's maximum-likelihood fit is found."""
        return [self.default_start(sample)]

    def n_mle_starts(self, d: int) -> int:
        """Number of :meth:`mle_starts`."""
        return 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    # At a point, for a user. Each call makes one pass or none.

    def scale(self, sample: Sample, params: ArrayLike) -> Floats:
        """The scale on the curve: an array of one number, or of d numbers for a diagonal model."""
        point = checks.vector(params, "params", self.n_params(sample.d))
        out = np.empty(self.n_scales(sample.d))
        ready(self.algebra.scale)(point, *self.inputs(sample.moments()), out)
        return out

    def evaluate(
        self,
        sample: Sample,
        points: Floats,
        want: int = 0,
        *,
        fitted: RawMoments | None = None,
        natural: bool = False,
    ) -> Answers:
        """Evaluate the model at points (k, p) in one read of the data.

        ``want`` is a sum of ``layout.LOG_COSH``, for gaps, and ``layout.CURVATURE``, for Hessians.
        Gaps that are not wanted are NaN, as is everything at a point where the scale is not positive.
        With ``fitted`` (moments of a training sample) the scale is taken from there and gaps are those
        of ``sample``, as in validation; EM steps, gradients and Hessians then have no meaning. With
        ``natural``, points, EM steps and derivatives are in natural coordinates.
        """
        algebra = self.algebra
        if natural:
            assert self.natural is not None
            algebra = self.natural.algebra
        e = self.inputs(sample.moments())
        m = e if fitted is None else self.inputs(fitted)
        count, p = points.shape
        u, b = np.empty((count, sample.d)), np.empty(count)
        points = np.ascontiguousarray(points)
        at_points(many.directions, algebra.direction, points, *m, u, b)
        rows = np.ascontiguousarray(sample.sums(u, b, want, even=self.even))
        sides = p if want & layout.CURVATURE else 0
        em, gradient = np.empty((2, count, p))
        gaps, hessian = np.full(count, np.nan), np.empty((count, sides, sides))
        at_points(many.responses, algebra.respond, points, *m, rows, em, gradient)
        if want & layout.LOG_COSH:
            losses = rows[:, layout.log_cosh_at(sample.d)].copy()
            at_points(many.gaps, algebra.gap, points, *m, *e, losses, gaps)
        if want & layout.CURVATURE:
            at_points(many.hessians, algebra.hessian, points, *m, rows, hessian)
        return Answers(em, gradient, gaps, hessian)

    def scales(self, moments: RawMoments, points: Floats) -> Floats:
        """:meth:`scale` at points (k, p) that have been checked: (k, 1) or (k, d)."""
        out = np.empty((len(points), self.n_scales(moments.m1.size)))
        at_points(many.each, self.algebra.scale, points, *self.inputs(moments), out)
        return out

    def em_step(self, sample: Sample, params: ArrayLike) -> Floats:
        """The parameters after one step of EM."""
        return self._at(sample, params).em[0]

    def gradient(self, sample: Sample, params: ArrayLike) -> Floats:
        """The gradient (p,) of the restricted loss f."""
        return self._at(sample, params).gradient[0]

    def gap(self, sample: Sample, params: ArrayLike, fitted: RawMoments | None = None) -> float:
        """Loss minus that of the best single Gaussian, without cancellation.

        With ``fitted`` (moments of a training sample) the scale is taken from there and the loss is
        that of ``sample``, as in validation.
        """
        return float(self.gaps(sample, np.asarray(params, dtype=np.float64)[None, :], fitted)[0])

    def gaps(self, sample: Sample, points: ArrayLike, fitted: RawMoments | None = None) -> Floats:
        """:meth:`gap` for points (k, p), in one read of the data."""
        given = np.array(points, dtype=np.float64, order="C")
        return self.evaluate(sample, given, layout.LOG_COSH, fitted=fitted).gap

    def loss(self, sample: Sample, params: ArrayLike) -> float:
        """Mean negative log-likelihood at these locations, with the scale on the curve."""
        m = sample.moments()
        return self.one_gaussian_loss(m, m) + self.gap(sample, params)

    def hessian(self, sample: Sample, params: ArrayLike) -> Floats:
        """Second derivatives (p, p) of the restricted loss f."""
        return self._at(sample, params, layout.CURVATURE).hessian[0]

    def location_error(self, params: ArrayLike, truth: ArrayLike) -> float:
        """Distance of the locations from the truth (parameters), for the better choice of labels."""
        return float(self.location_errors(np.array(params, dtype=np.float64)[None, :], truth)[0])

    def location_errors(self, points: Floats, truth: ArrayLike) -> Floats:
        """:meth:`location_error` for points (k, p)."""
        error, goal = ready(self.algebra.error), np.array(truth, dtype=np.float64)
        none = RawMoments(0.0, np.empty(0), np.empty(0))  # they matter to natural coordinates only
        inputs = self.inputs(none)
        return np.array([error(point, *inputs, goal) for point in points])

    def scale_error(self, scale: ArrayLike, truth: ArrayLike) -> float:
        """Largest difference between the scales (sigma squared)."""
        return float(np.max(np.abs(np.asarray(scale) - np.asarray(truth))))

    def check_params(self, sample: Sample, params: ArrayLike, name: str) -> Floats:
        """A new float64 copy of the parameters, which are finite and have a positive scale.

        The sample is checked first: far from rows that are all the same, the scale is positive, too.
        """
        point = checks.vector(params, name, self.n_params(sample.d))
        self.check_sample(sample)
        if not (self.scale(sample, point) > 0).all():
            raise ValueError(
                f"{name} must be closer to the centre of the sample, as the scale of the {self.name} "
                f"model is not positive there, got {point}"
            )
        return point

    def check_sample(self, sample: Sample) -> None:
        """Raise ValueError for a sample to which one Gaussian of this model cannot be fitted."""
        centre = self.truth(self.centre(sample.moments()), sample.d)
        positive = self.scale(sample, centre) > 0
        if not positive.all():
            flat = ", ".join(str(column + 1) for column in np.flatnonzero(~positive))
            where = f" in column {flat}" if positive.size > 1 else ""
            raise ValueError(f"X must vary, got no positive scale for the {self.name} model{where}")

    def collapsing(self, sample: Sample) -> list[int]:
        """Columns on which the likelihood is unbounded; by default none."""
        return []

    def _at(self, sample: Sample, params: ArrayLike, want: int = 0) -> Answers:
        point = checks.vector(params, "params", self.n_params(sample.d))
        if not (self.scale(sample, point) > 0).all():
            raise ValueError(
                f"params must be where the scale of the {self.name} model is positive, got {point}"
            )
        return self.evaluate(sample, point[None, :], want)
