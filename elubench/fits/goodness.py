"""Whether the fitted mixture describes the data: Anderson-Darling and dip along the fitted axis.

The rows are projected on S^(-1) (theta_2 - theta_1), the direction that tells the components apart
best; along it the fitted mixture is one-dimensional. What happens across this axis is not tested. A few
thousand rows are enough to find a shape that matters, so of a larger sample one row is taken at random
from each of ``ROWS`` equal parts, and the components are fitted anew to these, along the axis.

The law of the Anderson-Darling statistic under the fitted model hardly depends on n and d. It depends on
the distance of the components, because parts of equal weight leave the difference of their sizes to
chance; ``_LIMITS`` are its measured 99 % points. For locations -theta and theta the centre is not
fitted, and the law is that of known parameters. Where the weights are free, the limits are lower.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from elubench.algorithms import NewtonAnderson
from elubench.checks import Floats
from elubench.fits.dip import dip, dip_limit
from elubench.models import Model
from elubench.runs import run
from elubench.samples import ArraySample, Sample

#: Rows that are looked at.
ROWS = 4096
#: 99 % points of the statistic by half the distance between the means, in standard deviations.
_HALF = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
_LIMITS = (1.06, 1.08, 1.38, 2.06, 2.5, 2.75)
_LIMIT_KNOWN = 3.86
_LIMITS_FREE = (0.85, 1.3)  # at d = 1, and beyond, where the axis is fitted, too
_FEWEST = 8  # rows
_TOGETHER = 1e-3  # standard deviations: a run would not leave such components
_PRECISION = 1e-3  # gain in log-likelihood at which it stops
_SMALLEST = 1e-300


class Shape(NamedTuple):
    """Statistics along the fitted axis with their limits; NaN where there are no rows to look at.

    The dip is looked at only where the fitted mixture has two modes.
    """

    misfit: float
    misfit_limit: float
    dip: float
    dip_limit: float


UNKNOWN = Shape(math.nan, math.nan, math.nan, math.nan)


def shape(
    model: Model, sample: Sample, locations: Floats, weights: Floats, scale: Floats, modes: bool
) -> Shape:
    """The shape of the data along the axis of the locations (2, d), with the dip if ``modes``."""
    rows = sample.picked(ROWS)
    if rows is None or len(rows) < _FEWEST:
        return UNKNOWN
    direction, centres, sigma = axis(locations, scale)
    values = spread_ties(np.sort(rows @ direction))
    if len(values) < sample.n and not model.even:  # else the law of known parameters holds
        centres, weights, sigma = _refitted(model, values, centres, weights, sigma)
    half = 0.5 * abs(centres[1] - centres[0]) / sigma
    limit = _LIMIT_KNOWN if model.even else float(np.interp(half, _HALF, _LIMITS))
    if model.extra:
        limit = min(limit, _LIMITS_FREE[sample.d > 1])
    statistic = anderson_darling(distribution(values, centres, weights, sigma))
    if not modes:
        return Shape(statistic, limit, math.nan, math.nan)
    return Shape(statistic, limit, dip(values), dip_limit(len(values)))


def _refitted(
    model: Model, values: Floats, centres: Floats, weights: Floats, sigma: float
) -> tuple[Floats, Floats, float]:
    """Centres, weights and standard deviation of components fitted to values, from those given."""
    if not centres[1] - centres[0] > _TOGETHER * sigma:
        return np.full(2, np.mean(values)), weights, float(np.std(values))
    start = np.append(centres, model.extra * [0.5 * math.log(weights[1] / weights[0])])
    algorithm, sample = NewtonAnderson(precision=_PRECISION), ArraySample(values[:, None])
    found = run(sample, model, algorithm, start, max_iter=50, metrics=False, driver="short")
    centres, sigma = model.ordered(found.params)[:, 0], math.sqrt(float(found.scale[0]))
    return centres, model.weights(found.params), sigma


def pair(location: Floats) -> Floats:
    """Both locations (2, d) of a model with two, or with minus and plus one."""
    return location.copy() if location.ndim == 2 else np.stack([-location, location])


def axis(locations: Floats, scale: Floats) -> tuple[Floats, Floats, float]:
    """The fitted direction (d,), and centres (2,) and standard deviation of the components along it.

    It is the first coordinate where the components coincide.
    """
    d = locations.shape[1]
    u = (locations[1] - locations[0]) / scale
    length = float(np.linalg.norm(u))
    u = u / length if length > 0.0 else np.eye(d)[0]
    return u, locations @ u, math.sqrt(float(np.sum(u**2 * scale)))


def distribution(values: Floats, centres: Floats, weights: Floats, sigma: float) -> Floats:
    """The distribution function of the mixture along the axis."""
    one, two = (ndtr((values - centre) / sigma) for centre in centres)
    total: Floats = weights[0] * one + weights[1] * two
    return total


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
