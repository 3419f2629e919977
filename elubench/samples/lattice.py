"""Samples whose cost does not grow with n: draws on a lattice, kept as counts.

A standard normal rounded onto the lattice h Z^d, with node probabilities proportional to the
density, has the Gaussian's moments to rounding error: by the trapezoidal rule, aliasing enters as
exp(-2 pi^2 / h^2), which is 5e-35 at h = 1/2. The poles of tanh(x.u) and log cosh(x.u) at distance
pi / (2 |u_j|) from the real axis bring a relative error of about

    13 |u_j|^(-5/2) exp(-pi^2 / (h |u_j|) + pi^2 / (8 u_j^2))

to T1, and less to the mean log cosh. It is below rounding for |u_j| up to 2, 0.9, 0.5, 0.4 at
d = 1, 2, 3, 4; on the coarsest lattice, d = 4, it is 8e-14 at |u_j| = 1/2 and 1.2e-7 at 1, which
iterates reach only far from the radius. n independent draws are one multinomial draw of the counts,
coordinate by coordinate, so n = 10^12 costs as much as n = 10^3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elubench import checks
from elubench.checks import Floats
from elubench.kernels.tiles import LARGEST, Tiles, empty_tiles
from elubench.samples.base import PackedSample
from elubench.samples.draws import affine

#: Distance of neighbouring nodes by d, for a standard normal.
SPACING = {1: 0.125, 2: 0.25, 3: 0.4, 4: 0.5}
_REACH = 9.5  # P(|X| > 9.5) = 2e-21: no draw of 10^16 would fall outside
_FARTHEST = 1_000_000  # standard deviations that a component may be from 0: nodes are exact there
#: Largest d and n of a sample; counts up to 2^53 are exact as float64.
MOST_D, MOST_N = max(SPACING), 2**53
_BOX = 64  # cells per row up to which a table of all cells is smaller work than sorting


class LatticeSample(PackedSample):
    """Rows at the nodes of a lattice, each with a count.

    Parameters
    ----------
    nodes : (k, d) array of distinct rows.
    counts : (k,) array of non-negative integers, at most 2^53 in all.
    """

    def __init__(self, nodes: ArrayLike, counts: ArrayLike):
        rows = np.array(checks.table(nodes, "nodes"), dtype=np.float64, order="C")
        if not (np.abs(rows) <= LARGEST).all():
            raise ValueError(
                "nodes must be finite, got NaN, infinity or values too large to square"
            )
        weights = checks.weights(counts, len(rows), "counts")
        if weights is None or (weights != np.floor(weights)).any():
            raise ValueError(f"counts must be whole numbers, got {checks.brief(counts)}")
        if weights.sum() > MOST_N:
            raise ValueError(f"counts must add up to at most 2**53, got {weights.sum():g}")
        kept = weights > 0
        self.nodes: Floats = rows[kept]
        self.counts: Floats = weights[kept]
        super().__init__(_tiles(self.nodes, self.counts), int(self.counts.sum()))
        self._even: Tiles | None = None

    @classmethod
    def gaussian(
        cls, n: int, d: int, seed: int, location: ArrayLike = 0.0, scale: ArrayLike = 1.0
    ) -> LatticeSample:
        """n draws from N(location, diag(scale)), d <= 4, n from 2 to 2^53.

        The sample depends on (n, d, seed); samples of different n are independent of each other.
        """
        n = checks.integer(n, "n", 2, MOST_N)
        d = checks.integer(d, "d", 1, MOST_D)
        seed = checks.integer(seed, "seed", 0)
        shift, spread = affine(location, scale, d)
        if (np.abs(shift) + 2.0 * _REACH * spread > LARGEST).any():
            raise ValueError(
                "location and scale must be small enough for squares of the draws, got "
                f"{checks.brief(location)} and {checks.brief(scale)}"
            )
        steps, counts = _draw(_generator(seed, d, n), n, [_coordinate(0.0, SPACING[d])] * d)
        return cls(shift + spread * (steps * SPACING[d]), counts)

    @classmethod
    def mixture(
        cls,
        n: int,
        d: int,
        locations: ArrayLike,
        scale: ArrayLike = 1.0,
        weights: ArrayLike | None = None,
        seed: int = 0,
    ) -> LatticeSample:
        """n draws from Gaussians at these locations, (k, d), with the same scale; d <= 4.

        Each draw is from component j with probability ``weights[j]``, 1/k unless given. All components
        live on the same lattice, about 0: a location moves probabilities, not nodes. Where components
        are apart, u is large, and the error that this module states for d = 3 and 4 applies.
        """
        n = checks.integer(n, "n", 2, MOST_N)
        d = checks.integer(d, "d", 1, MOST_D)
        seed = checks.integer(seed, "seed", 0)
        centres = np.asarray(checks.table(locations, "locations", least=1), dtype=np.float64)
        if centres.shape[1] != d or not np.isfinite(centres).all():
            raise ValueError(
                f"locations must be finite, k rows of {d} numbers, got {checks.brief(locations)}"
            )
        shares = checks.weights(weights, len(centres), least=1)
        shares = np.ones(len(centres)) if shares is None else shares
        _, spread = affine(0.0, scale, d)
        if (2.0 * _REACH * spread > LARGEST).any():
            raise ValueError(
                f"scale must be small enough for squares of the draws, got {checks.brief(scale)}"
            )
        if (np.abs(centres) > _FARTHEST * spread).any():
            raise ValueError(
                f"locations must be within {_FARTHEST:,} standard deviations of 0, "
                f"got {checks.brief(locations)}"
            )
        rng = _generator(seed, d, n, len(centres))
        parts = [
            _draw(rng, int(count), [_coordinate(float(one), SPACING[d]) for one in centre / spread])
            for count, centre in zip(
                rng.multinomial(n, shares / shares.sum()), centres, strict=True
            )
        ]
        steps, counts = _merged(
            np.concatenate([steps for steps, _ in parts]),
            np.concatenate([counts for _, counts in parts]).astype(np.float64),
        )
        return cls(spread * (steps * SPACING[d]), counts)

    @staticmethod
    def expected_rows(n: int, d: int, even: bool) -> float:
        """About how many nodes n draws hit: rows of a pass, x and -x as one if ``even``."""
        spacing = SPACING[d]
        mode = n * (spacing / math.sqrt(2.0 * math.pi)) ** d  # expected count at the centre
        reach = math.sqrt(2.0 * math.log(max(mode, 1.0)) + 1.0) / spacing
        ball = math.pi ** (d / 2.0) / math.gamma(d / 2.0 + 1.0) * reach**d
        nodes = min(float(n), ball)
        return 0.5 * nodes if even else nodes

    def split(self, fraction: float = 0.1, seed: int = 0) -> tuple[LatticeSample, LatticeSample]:
        """Training and validation samples: each of the n draws is held out with this probability.

        For independent draws this amounts to choosing rows at random; the number held out is binomial
        with mean fraction n.
        """
        fraction = checks.real(fraction, "fraction", 0.0, 1.0)
        seed = checks.integer(seed, "seed", 0)
        rng = np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence([seed, self.n])))
        held = rng.binomial(self.counts.astype(np.int64), fraction).astype(np.float64)
        if min(np.count_nonzero(held), np.count_nonzero(self.counts - held)) < 2:
            raise ValueError(
                f"the sample must have more draws to be split at fraction={fraction}, got n={self.n}"
            )
        return LatticeSample(self.nodes, self.counts - held), LatticeSample(self.nodes, held)

    def about(self, origin: Floats) -> LatticeSample:
        moved = LatticeSample(self.nodes - origin, self.counts)
        moved.near = True
        return moved

    def even_tiles(self) -> Tiles:
        """Nodes x and -x merged, for sums of even functions."""
        if self._even is None:
            self._even = _tiles(*_folded(self.nodes, self.counts))
        return self._even


#: Nodes of a coordinate, in steps of the lattice from 0, and their probabilities.
_Coordinate = tuple[NDArray[np.int64], Floats]


def _generator(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(key)))


def _coordinate(location: float, spacing: float) -> _Coordinate:
    """A Gaussian of unit variance on the lattice.

    The multinomial draw subtracts probabilities from 1 as it goes, and the last node gets the rest
    with its rounding errors: the heaviest nodes come last, where these do not matter.
    """
    reach, middle = round(_REACH / spacing), round(location / spacing)
    order = sorted(
        range(middle - reach, middle + reach + 1),
        key=lambda step: abs(step * spacing - location),
        reverse=True,
    )
    steps = np.array(order)
    probabilities = np.exp(-0.5 * (steps * spacing - location) ** 2)
    return steps, probabilities / probabilities.sum()


def _draw(
    rng: np.random.Generator, n: int, coordinates: Sequence[_Coordinate]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Steps (k, d) and counts (k,) of the nodes that n draws of independent coordinates hit."""
    found = np.zeros((1, 0), dtype=np.int64)
    counts = np.array([n], dtype=np.int64)
    for steps, probabilities in coordinates:
        drawn = rng.multinomial(counts, probabilities)
        parent, node = np.nonzero(drawn)
        found = np.column_stack([found[parent], steps[node]])
        counts = drawn[parent, node]
    return found, counts


def _folded(nodes: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Each node and its mirror image merged into one row."""
    first = np.take_along_axis(nodes, np.argmax(nodes != 0, axis=1)[:, None], axis=1)
    return _merged(np.where(first < 0, -nodes, nodes) + 0.0, counts)  # + 0.0 turns -0 into 0


def _merged(rows: NDArray[Any], counts: Floats) -> tuple[NDArray[Any], Floats]:
    """Distinct rows in lexicographic order, with the counts of equal ones added.

    Columns have few distinct values, so looking ranks up is much cheaper than sorting all rows. Where
    the box of all combinations is not much larger than the sample, its cells are counted directly.
    """
    values = [np.unique(column) for column in rows.T]
    shape = tuple(len(one) for one in values)
    ranks = [np.searchsorted(one, column) for one, column in zip(values, rows.T, strict=True)]
    if math.prod(shape) <= _BOX * len(rows):
        cells = np.ravel_multi_index(ranks, shape)
        hit = np.flatnonzero(np.bincount(cells))
        together: Floats = np.bincount(cells, weights=counts)[hit].astype(np.float64)
        places = np.unravel_index(hit, shape)
        return np.stack([v[at] for v, at in zip(values, places, strict=True)], axis=1), together
    code = ranks[0]
    for rank, length in zip(ranks[1:], shape[1:], strict=True):
        _, code = np.unique(code, return_inverse=True)  # so that a code never exceeds rows x values
        code = code * length + rank
    _, kept, where = np.unique(code, return_index=True, return_inverse=True)
    return rows[kept], np.bincount(where, weights=counts).astype(np.float64)


def _tiles(nodes: Floats, counts: Floats) -> Tiles:
    packed = empty_tiles(len(nodes), nodes.shape[1], weighted=True)
    count, d, rows = packed.data.shape
    padded = np.zeros((count * rows, d))
    padded[: len(nodes)] = nodes
    packed.data[:] = padded.reshape(count, rows, d).transpose(0, 2, 1)
    packed.weights.reshape(-1)[: len(nodes)] = counts
    return packed
