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
_LEADING = 3  # directions along which parts of unequal size are looked for
# sqrt(larger / smaller part) to try: 1 is 50/50, 1.6 is 72/28, 2.5 is 86/14, 4 is 94/6
_UNEQUAL = (1.0, 1.6, 2.5, 4.0, 8.0)
_SHORT = 0.1  # largest x.u + b at which tanh is a cubic polynomial, to a per cent of its bend
_MANY = 1e8  # rows: a direction that is shorter yet would leave no digits
_TAILS = 2.0  # times the root of the kurtosis: x up to which parts may be
_NEAR, _FAR = 0.6, 0.95  # share of the spread that lies between the parts, square root


def steps(
    sample: Sample, centre: Floats, units: Floats, own: bool = False
) -> tuple[list[Floats], int]:
    """Half differences of the locations worth a try, and the passes made.

    Every coordinate is divided by its unit (d,) first. They are all the same, unless each is its
    coordinate's ``own`` spread about the centre.
    """
    d = sample.d
    square = np.maximum(sample.moments().m2 - centre**2, 0.0)
    if d == 1:
        return [radius * np.sqrt(square) for radius in _RADII], 0
    lengths, vectors, passes = leading(sample, centre, units, 1)
    length, direction = float(lengths[0]), vectors[0]
    total = float(d) if own else float(np.sum(square / units / units))
    most = 1.0 if own else math.sqrt(max(length, 0.0))
    rest = (total - length) / (d - 1)
    # covariance = rest I + delta delta^T holds for delta of the first length
    halves = [math.sqrt(max(length - rest, 0.0)), *(radius * most for radius in _RADII[-2:])]
    return [each * units * direction for each in halves], passes


def splits(sample: Sample, centre: Floats, units: Floats) -> tuple[Floats, Floats, int]:
    """Half differences and half sums (about the centre) of parts of unequal size; passes made.

    Parts with the shares x^2 / (1 + x^2) and 1 / (1 + x^2) of the rows lie 1 / x and x standard
    deviations on either side of the mean if nothing but their distance spreads the data. Their kurtosis
    is x^2 + 1 / x^2 - 1 then, so no larger x is worth a try than the data's kurtosis allows, or than
    makes a part of a single row.
    """
    lengths, vectors, passes = leading(sample, centre, units, _LEADING)
    axes = np.sqrt(np.maximum(lengths, 0.0))[:, None] * vectors * units
    with np.errstate(invalid="ignore"):
        tails = _TAILS * np.sqrt(kurtosis(sample, centre, units, axes))
    single = math.sqrt(max(sample.n - 1.0, 1.0))
    steps, asides = [], []
    for place, along in enumerate(axes):
        most = min(single, float(tails[place])) if tails[place] > 0.0 else single
        grid = _GRID_OF_OTHERS
        if place == 0:
            grid, small = list(_GRID), 2.0 * _UNEQUAL[-1]
            while small < most:
                grid += _parts(_FAR, small)
                small *= 2.0
            grid += _parts(_FAR, single)
        sizes = np.array([pair for x, *pair in grid if x <= most or x <= _UNEQUAL[1]])
        steps.append(sizes[:, :1] * along)
        asides.append(sizes[:, 1:] * along)
    return np.concatenate(steps), np.concatenate(asides), passes + 1


def _parts(share: float, x: float) -> list[tuple[float, float, float]]:
    """x, half the distance of the parts and their middle, in standard deviations: both ways round."""
    step, aside = 0.5 * share * (x + 1.0 / x), 0.5 * share * (x - 1.0 / x)
    return [(x, step, aside), (x, step, -aside)] if x > 1.0 else [(x, step, aside)]


# along the first direction, and along the others
_GRID = [
    *(part for x in _UNEQUAL for part in _parts(_FAR, x)),
    *(part for x in _UNEQUAL[:3] for part in _parts(_NEAR, x)),
]
_GRID_OF_OTHERS = [part for x in _UNEQUAL[::2] for part in _parts(_FAR, x)]


def kurtosis(sample: Sample, centre: Floats, units: Floats, axes: Floats) -> Floats:
    """The kurtosis (k,) of the rows along axes (k, d), each as long as their standard deviation.

    With y = (x - centre) . axis / |axis|^2, of variance 1, tanh(e y) = e y - (e y)^3 / 3 + ..., and no y
    is beyond the root of n: one pass along directions that short gives the mean of y^4.
    """
    if sample.d == 1:
        return sample.shape_about(centre, units).excess_kurtosis + 3.0
    square = np.maximum(np.sum(axes**2, axis=1), np.finfo(np.float64).tiny)
    e = _SHORT / math.sqrt(min(sample.n, _MANY))
    u = e * axes / square[:, None]
    t0, t1, _ = sample.tanh_moments(u, -(u @ centre))
    bent = np.sum(u * (t1 - t0[:, None] * centre), axis=1)
    found: Floats = 3.0 * (1.0 - bent / e**2) / e**2
    return found


def leading(
    sample: Sample, centre: Floats, units: Floats, count: int
) -> tuple[Floats, Floats, int]:
    """Largest eigenvalues (k,) of the second moments about a centre, eigenvectors (k, d), passes.

    Subspace iteration needs only the product of the moments with a few vectors: T1 for directions
    so short that tanh is the identity.
    """
    d = sample.d
    count = min(count, d)
    if d <= PAIRS_UP_TO:
        if d == 1:
            return (sample.moments().m2 - centre**2) / units**2, np.ones((1, 1)), 0
        second = sample.shape_about(centre, units).second
        # LAPACK rescales numbers beyond 1e146 or so, not by a power of two: the bits would differ
        size = math.ldexp(1.0, math.frexp(float(np.max(np.abs(second))))[1])
        values, vectors = np.linalg.eigh(second / size)
        return size * values[: -count - 1 : -1], vectors[:, : -count - 1 : -1].T, 1
    basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((d, BLOCK)))
    moments = sample.moments()
    for _ in range(REFINEMENTS):
        u = np.ascontiguousarray((basis / units[:, None]).T)
        short = 2.0**-30 / np.sqrt(u**2 @ moments.m2)
        times = sample.tanh_moments(u * short[:, None]).t1 / short[:, None]
        times -= np.outer(u @ centre, centre)
        image = (times / units).T
        values, mixing = np.linalg.eigh(0.5 * (basis.T @ image + image.T @ basis))
        directions = (basis @ mixing[:, : -count - 1 : -1]).T
        basis, _ = np.linalg.qr(image)
    return values[: -count - 1 : -1], directions, REFINEMENTS
