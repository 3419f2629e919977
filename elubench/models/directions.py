"""Where two components may lie: along the direction in which the data spread most."""

from __future__ import annotations

import math

import numpy as np

from elubench.checks import Floats
from elubench.samples.base import Sample

#: Coordinates up to which the second moments of all pairs are read; beyond, subspace iteration.
PAIRS_UP_TO = 128
#: Directions per read in subspace iteration, and the number of reads.
BLOCK, REFINEMENTS = 8, 3

_RADII = (0.1, 0.35, 0.7, 0.9)  # half distances to try, in units of the data's spread along them


def steps(sample: Sample, centre: Floats, units: Floats | None = None) -> tuple[list[Floats], int]:
    """Half differences of the locations worth a try, and the passes made.

    With ``units`` (d,), the spreads of the coordinates about the centre, every coordinate is
    divided by its own first.
    """
    d = sample.d
    square = np.maximum(sample.moments().m2 - centre**2, 0.0)
    if d == 1:
        return [radius * np.sqrt(square) for radius in _RADII], 0
    scales = np.ones(d) if units is None else units
    length, direction, passes = longest(sample, centre, scales)
    total, most = (float(np.sum(square)), math.sqrt(length)) if units is None else (float(d), 1.0)
    rest = (total - length) / (d - 1)
    # covariance = rest I + delta delta^T holds for delta of the first length
    lengths = [math.sqrt(max(length - rest, 0.0)), *(radius * most for radius in _RADII[-2:])]
    return [each * scales * direction for each in lengths], passes


def longest(sample: Sample, centre: Floats, units: Floats) -> tuple[float, Floats, int]:
    """Largest eigenvalue of the second moments about a centre, its eigenvector, and passes made.

    Subspace iteration needs only the product of the moments with a few vectors: T1 for directions
    so short that tanh is the identity.
    """
    d = sample.d
    if d <= PAIRS_UP_TO:
        second = sample.curvature_moments(np.zeros(d)).c2 - np.outer(centre, centre)
        values, vectors = np.linalg.eigh(second / np.outer(units, units))
        return float(values[-1]), vectors[:, -1], 1
    basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((d, BLOCK)))
    moments = sample.moments()
    for _ in range(REFINEMENTS):
        u = np.ascontiguousarray((basis / units[:, None]).T)
        short = 2.0**-30 / np.sqrt(u**2 @ moments.m2)
        times = sample.tanh_moments(u * short[:, None]).t1 / short[:, None]
        times -= np.outer(u @ centre, centre)
        image = (times / units).T
        values, mixing = np.linalg.eigh(0.5 * (basis.T @ image + image.T @ basis))
        direction = basis @ mixing[:, -1]
        basis, _ = np.linalg.qr(image)
    return float(values[-1]), direction, REFINEMENTS
