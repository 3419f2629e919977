"""Whether the fitted mixture describes the data, and whether these have two modes themselves.

The rows are projected on S^(-1) (theta_2 - theta_1), the direction that tells the components apart
best; along it the fitted mixture is one-dimensional. What happens across this axis is not tested. A few
thousand rows are enough to find a shape that matters, so of a larger sample one row is taken at random
from each of ``ROWS`` equal parts. The model is fitted anew to these, so that the test does not depend on
how many other rows there are.

Anderson-Darling. Its law under the fitted model hardly depends on n and d. It depends on the distance of
the components, because parts of equal weight leave the difference of their sizes to chance; ``_LIMITS``
are its measured 99 % points. Where the weights are free, they are lower. For locations -theta and theta
the centre is not fitted: the law is that of known parameters, and chance in the centre hides a wrong
shape. So the absolute values are tested as well, both at 0.5 %, and the worse of the two is reported.

Valley. Smoothed by a Gaussian, a density with one mode still has one mode, so at a point between two
others it is at least as high as at the lower one of them. The points are the two centres and the lowest
point between them in the fitted mixture; the statistic is the number of standard errors by which the
smoothed density of the data is lower at the third than at either centre. Data with one mode exceed
``VALLEY`` in 10 % of samples at most, if they are flat between the centres, and hardly ever if they are
not. Unlike Hartigan's dip, which looks for modes anywhere, this sees a
fifth of the rows at a distance of four standard deviations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from elubench.algorithms import EM
from elubench.checks import Floats
from elubench.fits.choosing import tuned
from elubench.models import Model
from elubench.runs import run
from elubench.samples import ArraySample

#: Rows that are looked at.
ROWS = 4096
#: The 90 % point of a standard normal.
VALLEY = 1.2816
#: 99 % points of Anderson-Darling by half the distance between the means, in standard deviations.
_HALF = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
_LIMITS = (1.06, 1.08, 1.38, 2.06, 2.5, 2.75)
# 99.5 % points for a centre that is known: of the values, and of their absolute values at d = 1 and
# beyond, where the scale along the axis is hardly fitted
_LIMIT_CENTRED = 4.5
_LIMITS_ABSOLUTE = (2.4, 2.2, 1.33, 1.12, 1.1, 1.15), (2.4, 2.4, 2.0, 1.7, 1.7, 1.7)
_LIMITS_FREE = (0.85, 1.3)  # at d = 1, and beyond, where the axis is fitted, too
_FEWEST = 8  # rows
_TOGETHER = 1e-3  # standard deviations: a run would not leave such components
_MAX_ITER = 50
_SMOOTHED = 0.3  # standard deviations of the components
_POINTS = 65  # between the centres
_SMALLEST = 1e-300
_HALVINGS = 60  # after which nothing is left


class Shape(NamedTuple):
    """Statistics along the fitted axis with their limits; NaN where there are no rows to look at.

    The valley is looked at only where the fitted mixture has two modes.
    """

    misfit: float
    misfit_limit: float
    valley: float
    valley_limit: float


UNKNOWN = Shape(math.nan, math.nan, math.nan, math.nan)


def shape(
    model: Model, rows: Floats | None, n: int, params: Floats, scale: Floats, modes: bool
) -> Shape:
    """The shape of the data along the axis of a fit, with the valley if there are two ``modes``.

    ``rows`` are those of the n that are looked at, at most ``ROWS``; None if rows are not kept.
    """
    if rows is None or len(rows) < _FEWEST:
        return UNKNOWN
    if len(rows) < n:
        params, scale = _refitted(model, rows, params, scale)
    direction, centres, sigma = axis(pair(model.ordered(params)), scale)
    weights, values = model.weights(params), spread_ties(np.sort(rows @ direction))
    half = 0.5 * abs(centres[1] - centres[0]) / sigma
    shares = distribution(values, centres, weights, sigma)
    statistic, limit = anderson_darling(shares), float(np.interp(half, _HALF, _LIMITS))
    if model.extra:
        limit = min(limit, _LIMITS_FREE[rows.shape[1] > 1])
    if model.even:
        limit = _LIMIT_CENTRED
        absolute = anderson_darling(np.sort(np.abs(2.0 * shares - 1.0)))
        other = float(np.interp(half, _HALF, _LIMITS_ABSOLUTE[rows.shape[1] > 1]))
        if not model.knows_scale and absolute / other > statistic / limit:
            statistic, limit = absolute, other
    if not modes:
        return Shape(statistic, limit, math.nan, math.nan)
    return Shape(statistic, limit, valley(values, centres, weights, sigma), VALLEY)


def _refitted(model: Model, rows: Floats, params: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Parameters and scale for these rows alone, from those of all; the same if these do not vary."""
    sample = ArraySample(rows)
    if not np.ptp(rows, axis=0).any() or model.collapsing(sample):
        return params, scale
    one, two = pair(model.ordered(params)) / np.sqrt(scale)
    if not np.linalg.norm(two - one) > _TOGETHER:
        params = model.truth(model.centre(sample.moments()), sample.d)
        return params, model.scale(sample, params)
    centre = model.truth(model.centre(sample.moments()), sample.d)
    for _ in range(_HALVINGS):
        if (model.scale(sample, params) > 0.0).all():
            break
        params = 0.5 * (params + centre)  # too far out for these rows
    algorithm = EM() if model.natural is None else tuned("auto", sample)
    with np.errstate(all="ignore"):
        found = run(
            sample, model, algorithm, params, max_iter=_MAX_ITER, metrics=False, driver="short"
        )
    return found.params, found.scale


def pair(location: Floats) -> Floats:
    """Both locations (2, d) of a model with two, or with minus and plus one."""
    return location.copy() if location.ndim == 2 else np.stack([-location, location])


def axis(locations: Floats, scale: Floats) -> tuple[Floats, Floats, float]:
    """The fitted direction (d,), and centres (2,) and standard deviation of the components along it.

    It is the first coordinate where the components coincide.
    """
    d = locations.shape[1]
    u = (locations[1] - locations[0]) / scale
    longest = float(np.max(np.abs(u)))  # divided by, so that squares neither overflow nor underflow
    u = u / longest / np.linalg.norm(u / longest) if longest > 0.0 else np.eye(d)[0]
    return u, locations @ u, math.sqrt(float(np.sum(u**2 * scale)))


def distribution(values: Floats, centres: Floats, weights: Floats, sigma: float) -> Floats:
    """The distribution function of the mixture along the axis."""
    one, two = (ndtr((values - centre) / sigma) for centre in centres)
    total: Floats = weights[0] * one + weights[1] * two
    return total


def valley(values: Floats, centres: Floats, weights: Floats, sigma: float) -> float:
    """Standard errors by which the density of values is lower between the centres than at either."""
    between = np.linspace(centres[0], centres[1], _POINTS)
    heights = weights @ np.exp(-0.5 * ((between - centres[:, None]) / sigma) ** 2)
    points = np.array([between[np.argmin(heights)], *centres])
    near = np.exp(-0.5 * ((values - points[:, None]) / (_SMOOTHED * sigma)) ** 2)
    higher = near[1:] - near[0]
    errors = np.maximum(np.std(higher, axis=1), _SMALLEST) / math.sqrt(len(values))
    return float(np.min(np.mean(higher, axis=1) / errors))


def anderson_darling(shares: Floats) -> float:
    """The statistic of sorted values in (0, 1) against the uniform distribution."""
    n = len(shares)
    within = np.clip(shares, _SMALLEST, 1.0 - 0.5 * np.finfo(np.float64).eps)
    odd = np.arange(1.0, 2.0 * n, 2.0)
    return float(-n - odd @ (np.log(within) + np.log1p(-within[::-1])) / n)


def spread_ties(values: Floats) -> Floats:
    """Sorted values with equal ones spread evenly over their cell, half way to their neighbours.

    Data recorded on a grid, such as whole minutes, would otherwise be told from any smooth curve.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) == len(values) or len(distinct) == 1:
        return values
    gaps = np.diff(distinct)
    edges = np.concatenate(
        [distinct[:1] - 0.5 * gaps[0], distinct[:-1] + 0.5 * gaps, distinct[-1:] + 0.5 * gaps[-1]]
    )
    begins = np.cumsum(counts) - counts
    shares = (np.arange(len(values)) - np.repeat(begins, counts) + 0.5) / np.repeat(counts, counts)
    low, high = np.repeat(edges[:-1], counts), np.repeat(edges[1:], counts)
    spread: Floats = np.where(np.repeat(counts, counts) > 1, low + shares * (high - low), values)
    return spread
