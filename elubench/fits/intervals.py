"""How sure a fit is: standard errors from the information, and the profile of the separation.

The log-likelihood of locations, scale and weights (a scale off the curve of stationary points, too) is a
closed form of the parameters less the mean log cosh(x.u + b). Its second derivatives need one pass with
curvature: with T and C the first and second derivatives of the mean log cosh by (b, u), and J that of
(b, u) by the parameters, the information is Hess(A - T.(b, u)) - J^T C J, where A and (b, u) are algebra
whose differences cost nothing.

Where components nearly coincide the information is singular and standard errors mean nothing, but the
likelihood still says which separations it can exclude: for each half distance r the others are fitted
anew, and r is in the interval while the likelihood ratio stays below a point of chi^2 with one degree of
freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import ndtri

from elubench.checks import Floats
from elubench.kernels import layout, reduction
from elubench.models import Model
from elubench.samples import Sample

_STEP = 1e-4  # of a unit, in differences of the algebra
_FURTHEST = 1e3  # half distance up to which an upper bound is looked for
_PRECISE = 1e-3  # of a bound
_SLOPE = 0.01  # in standard errors: what is left to gain is its square


class StandardErrors(NamedTuple):
    """Of the locations and of the scale, in the shapes that a fit has; NaN where there are none."""

    location: Floats
    scale: Floats


class Interval(NamedTuple):
    """What the data do not exclude at a level: (low, high) each.

    ``half_distance`` is half the distance between the means in standard deviations; if the regime is
    over-specified, low is 0 and high an upper bound at this level. ``location`` and ``scale`` are None
    where standard errors mean nothing.
    """

    level: float
    half_distance: tuple[float, float]
    location: tuple[Floats, Floats] | None
    scale: tuple[Floats, Floats] | None

    def as_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        low, high = self.half_distance
        return {
            "level": self.level,
            "half_distance": [low, high if math.isfinite(high) else None],
            **{
                name: None if pair is None else [one.tolist() for one in pair]
                for name, pair in (("location", self.location), ("scale", self.scale))
            },
        }


class Mixture(NamedTuple):
    """The middle and half difference (d,) of the locations, scales (d,), half the log odds."""

    middle: Floats
    half: Floats
    scale: Floats
    odds: float


class Likelihood:
    """Mean negative log-likelihood of a sample, by middle, half difference, scales and odds."""

    def __init__(self, model: Model, sample: Sample):
        self.model, self.sample = model, sample
        self._moments = sample.moments()

    def argument(self, at: Mixture) -> Floats:
        """b, then u."""
        u = at.half / at.scale
        return np.concatenate([[at.odds - float(at.middle @ u)], u])

    def free(self, at: Mixture) -> float:
        """The part without log cosh(x.u + b)."""
        _, m1, m2 = self._moments
        about = m2 - 2.0 * at.middle * m1 + at.middle**2 + at.half**2
        total = float(np.sum(np.log(2.0 * math.pi * at.scale) + about / at.scale))
        return 0.5 * total + math.log(math.cosh(at.odds))

    def row(self, at: Mixture, want: int) -> Floats:
        """The sums of one pass."""
        place = self.argument(at)
        return self.sample.sums(place[None, 1:], place[:1], want, even=self.model.even)[0]

    def slopes(self, row: Floats) -> Floats:
        """Derivatives of the mean log cosh by b and u; b is fixed if the model is even."""
        d = self.sample.d
        first = 0.0 if self.model.even else row[layout.T0]
        return np.concatenate([[first], row[layout.T1 : layout.T1 + d]])

    def value(self, at: Mixture, row: Floats) -> float:
        return self.free(at) - float(row[layout.log_cosh_at(self.sample.d)])


def information(
    likelihood: Likelihood, params: Floats, units: Floats, place: Callable[[Floats], Mixture]
) -> Floats:
    """Second derivatives (p, p) of the mean negative log-likelihood by parameters."""
    d = likelihood.sample.d
    row = likelihood.row(place(params), layout.LOG_COSH | layout.CURVATURE)
    slopes = likelihood.slopes(row)
    curved = np.zeros((d + 1, d + 1))
    curved[1:, 1:] = reduction.unpack_symmetric(row[layout.c2_at(d) :], d)
    if not likelihood.model.even:
        curved[0, 0] = row[layout.c0_at(d)]
        curved[0, 1:] = curved[1:, 0] = row[layout.c1_at(d) : layout.c2_at(d)]
    moves = _STEP * np.diag(units)

    def known(point: Floats) -> float:
        at = place(point)
        return likelihood.free(at) - float(slopes @ likelihood.argument(at))

    def inner(point: Floats) -> Floats:
        return likelihood.argument(place(point))

    p = len(params)
    hessian, steps = np.empty((p, p)), _STEP * units
    for i in range(p):
        for j in range(i + 1):
            one, two = moves[i], moves[j]
            total = known(params + one + two) - known(params + one - two)
            total += known(params - one - two) - known(params - one + two)
            hessian[i, j] = hessian[j, i] = total / (4.0 * steps[i] * steps[j])
    sides = [inner(params + move) - inner(params - move) for move in moves]
    jacobian = np.stack(sides, axis=1) / (2.0 * steps)
    return hessian - jacobian.T @ curved @ jacobian


def standard_errors(
    model: Model, sample: Sample, location: Floats, scale: Floats, odds: float = 0.0
) -> StandardErrors:
    """From the observed information at a maximum; NaN where it is not positive definite."""
    d, count = sample.d, location.size
    free = model.n_free(d) > count + len(scale)  # the weights are fitted
    params = np.concatenate([location.ravel(), scale, [odds] if free else []])
    sigma = np.sqrt(np.broadcast_to(scale, d))
    units = np.concatenate([np.resize(sigma, count), scale, [1.0] if free else []])

    def place(point: Floats) -> Mixture:
        scales = np.broadcast_to(point[count : count + len(scale)], d)
        one, two = point[:d], point[d:count]
        if two.size == 0:
            return Mixture(np.zeros(d), one, scales, odds)
        own = float(point[-1]) if free else odds
        return Mixture(0.5 * (one + two), 0.5 * (two - one), scales, own)

    found = information(Likelihood(model, sample), params, units, place)
    in_units = found * np.outer(units, units)
    errors = np.full(len(params), math.nan)
    if np.isfinite(in_units).all() and np.linalg.eigvalsh(in_units)[0] > 0.0:
        variances = np.diagonal(np.linalg.inv(in_units)) / sample.moments().weight
        errors = units * np.sqrt(variances)
    return StandardErrors(
        errors[:count].reshape(location.shape), errors[count : count + len(scale)]
    )


class Profile:
    """The likelihood ratio of the best mixture to the best one with components r apart."""

    def __init__(
        self, model: Model, sample: Sample, location: Floats, scale: Floats, odds: float = 0.0
    ):
        self._likelihood = Likelihood(model, sample)
        d, two = sample.d, location.ndim == 2
        self._two, self._scales, self._odds = two, len(scale), odds
        self._free = model.n_free(d) > location.size + len(scale)
        half = 0.5 * (location[1] - location[0]) if two else location
        self._centre = 0.5 * (location[0] + location[1]) if two else np.zeros(d)
        self._unit = np.sqrt(scale)
        axis = half / np.sqrt(scale)
        length = float(np.linalg.norm(axis))
        direction = axis / length if length > 0.0 else np.eye(d)[0]
        extra = [odds] if self._free else []
        self.fitted = length
        start = np.concatenate([np.zeros(d if two else 0), direction, np.zeros(len(scale)), extra])
        self._start = start
        self._best = self._value(start, length)[0] if length > 0.0 else self._minimised(0.0)

    def __call__(self, r: float) -> float:
        """The likelihood ratio at the half distance r."""
        excess = self._minimised(r) - self._best
        return 2.0 * self._likelihood.sample.moments().weight * excess

    def _minimised(self, r: float) -> float:
        start = self._start.copy()
        d = self._likelihood.sample.d
        at = (d if self._two else 0) + d
        direction = start[at - d : at]
        # the variance along the axis stays as it is: s (1 + r^2)
        shares = direction**2
        start[at : at + self._scales] += np.log(
            (1.0 + self.fitted**2 * (shares if self._scales == d else 1.0 / d))
            / (1.0 + r * r * (shares if self._scales == d else 1.0 / d))
        )
        options = {"gtol": _SLOPE * self._likelihood.sample.moments().weight ** -0.5}
        found = minimize(self._value, start, args=(r,), jac=True, method="BFGS", options=options)
        return float(found.fun)

    def _place(self, q: Floats, r: float) -> Mixture:
        d = self._likelihood.sample.d
        middle, at = self._centre, 0
        if self._two:
            middle, at = middle + self._unit * q[:d], d
        direction = q[at : at + d]
        with np.errstate(over="ignore"):  # a trial step too long: its value is infinite
            scale = self._unit**2 * np.exp(q[at + d : at + d + self._scales])
        sides = np.sqrt(scale) * direction * (r / float(np.linalg.norm(direction)))
        odds = float(q[-1]) if self._free else self._odds
        return Mixture(middle, sides, np.broadcast_to(scale, d), odds)

    def _value(self, q: Floats, r: float) -> tuple[float, Floats]:
        likelihood = self._likelihood
        at = self._place(q, r)
        with np.errstate(all="ignore"):
            row = likelihood.row(at, layout.LOG_COSH)
            value, slopes = likelihood.value(at, row), likelihood.slopes(row)
        if not math.isfinite(value):
            return math.inf, np.zeros(len(q))
        sides = []
        for move in _STEP * np.eye(len(q)):
            ahead, behind = self._place(q + move, r), self._place(q - move, r)
            change = likelihood.argument(ahead) - likelihood.argument(behind)
            sides.append(likelihood.free(ahead) - likelihood.free(behind) - float(slopes @ change))
        return value, np.array(sides) / (2.0 * _STEP)


def separation(profile: Profile, level: float, *, one_sided: bool) -> tuple[float, float]:
    """Half distances that the likelihood ratio does not exclude; from 0 if ``one_sided``."""
    limit = float(ndtri(level if one_sided else 0.5 * (1.0 + level))) ** 2

    def over(r: float) -> float:
        return profile(r) - limit

    low, high = profile.fitted, max(2.0 * profile.fitted, 0.5)
    begin = low
    while over(high) <= 0.0:
        begin, high = high, 2.0 * high
        if high > _FURTHEST:
            return 0.0, math.inf
    upper = float(brentq(over, begin, high, rtol=_PRECISE))
    if one_sided or low == 0.0 or over(0.0) <= 0.0:
        return 0.0, upper
    return float(brentq(over, 0.0, low, rtol=_PRECISE)), upper
