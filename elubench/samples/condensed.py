"""Rows of one coordinate, read once and condensed into a few thousand weighted points.

The range is cut into bins. The rows of a bin are replaced by at most eight points, in it or a hundredth
of its width outside, with the same total weight and the same fifteen moments. All weights are positive,
so for a function that a polynomial of degree 15 approximates on a bin to within E, the bin's sum is off
by at most 2 E of its weight. With v = |u| width, a bin is v long in y = x u + b. Polynomials at
Chebyshev's nodes are off by
2 (v / 4)^16 |f^(16)| / 16!, and tanh, log cosh and sech^2 have their nearest poles at a distance of
pi / 2, so this costs

    T0: 2e-3 (v / 4)^16,   LC: 3e-4 (v / 4)^16,   C0: 5e-2 (v / 4)^16

of the weight of the bins in which y is small, and exp(-2 |y|) of that elsewhere. T1, C1 and C2 lose as
much of the sums of absolute values, and terms of degree 15 and 14 times the width. At v = 1/2 all of
this is below 2e-15 of each sum, whatever the data: up to |u| = ``largest_u`` = 1/2 / width a pass reads
the points. Beyond it what the bins lose is added up, and a pass reads the points if it comes to less
than 1e-15 of W, of the mean |x| W or of the mean x^2 W, which is as exact as tanh itself is; else all
rows. In practice the components are then so narrow that few rows lie between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import layout
from elubench.kernels.tiles import LARGEST, empty_tiles
from elubench.samples.array import ArraySample, picks, rows_of
from elubench.samples.base import PASS, PackedSample, Read, Sample
from elubench.samples.bins import REACH, Bins, Points, check_rows, scaled

#: Rows of one column from which on condensing pays, and the share of them that it may leave.
CONDENSED_FROM, DENSE = 50_000, 0.25
_LOST = 1e-15
_FEW_ROWS = 8192  # are all kept: condensing would leave as many points
_LOOKED_AT = 4096  # rows that decide on the range
# The range goes so far beyond these rows, but at most so many interquartile ranges from their median.
_MARGIN, _FAR = 0.15, 24.0
_FINE = 40.0  # bins in the interquartile range, at least: enough for the starts of a fit
_NARROW = 1e-280  # a range that float64 can still cut into bins


class CondensedSample(PackedSample):
    """Rows of one coordinate, condensed into weighted points.

    A pass costs as much as one over a few thousand rows and agrees with one over all rows to rounding.
    Where it would not, which is possible for ``|u| > largest_u``, it reads all rows; X is kept for this,
    and must not be changed. Rows far from the others are not condensed, but kept as they are.

    Parameters
    ----------
    X : (n, 1) array-like of numbers, as for :class:`ArraySample`, or an ArraySample of one coordinate.
    weights : (n,) array-like, optional; None for an ArraySample, which has its own.
    """

    def __init__(self, X: Any, weights: ArrayLike | None = None):
        if not isinstance(X, ArraySample):
            rows = checks.table(X)
            given = checks.weights(weights, len(rows))
            looked = rows_of(rows, rows_to_look_at(len(rows)))

            def pick(count: int) -> Floats:
                if given is None and count == _LOOKED_AT:
                    return looked
                return rows_of(rows, picks(len(rows), given, count))

            points = _condensed(rows, *scaled(given), looked)
            self._set(points, lambda: ArraySample(rows, given), pick)
            return
        if weights is not None:
            raise ValueError("weights must be None for an ArraySample, which has its own")
        if X.d != 1:
            raise ValueError(f"X must have one column to be condensed, got {X.d}")
        packed = X.tiles.data.reshape(-1, 1)[: X.n]
        own = X.tiles.weights.reshape(-1)[: X.n] if X.tiles.weights.size else None
        looked = packed[rows_to_look_at(X.n)]
        self._set(_condensed(packed, own, X.exponent, looked), lambda: X, X.picked)

    @classmethod
    def of(
        cls,
        points: Points,
        source: Callable[[], Sample] | None,
        pick: Callable[[int], Floats | None] | None = None,
    ) -> CondensedSample:
        """The sample of points that bins have made.

        ``source`` gives a sample of all rows, ``pick`` some of them, as :meth:`picked` does.
        """
        made = cls.__new__(cls)
        made._set(points, source, pick)
        return made

    def _set(
        self,
        points: Points,
        source: Callable[[], Sample] | None,
        pick: Callable[[int], Floats | None] | None = None,
    ) -> None:
        self._points = points
        self._source = source
        self._full: Sample | None = None
        self._losses: dict[tuple[float, float], float] = {}  # of directions that were asked for
        self._pick = pick
        self.largest_u = points.largest_u
        rows = np.concatenate([points.base + points.local, points.rows])
        packed = empty_tiles(len(rows), 1, weighted=True)
        packed.data.reshape(-1)[: len(rows)] = rows
        weights = np.concatenate([points.local_weights, points.row_weights])
        packed.weights.reshape(-1)[: len(rows)] = weights
        super().__init__(packed, points.n, points.exponent)
        if math.isclose(self._moments.weight, points.n, rel_tol=1e-12):
            self._moments = self._moments._replace(weight=float(points.n))  # but for rounding

    @property
    def n_weighted(self) -> int:
        return self._points.n_weighted

    @property
    def condensed_to(self) -> int:
        """Number of weighted points that a pass reads."""
        return self.tiles.rows

    def full(self) -> Sample:
        """The sample of all rows."""
        if self._full is None:
            if self._source is None:
                raise ValueError(
                    f"u must be at most {self.largest_u:g} in size for a sample that was condensed by "
                    "parts, without its rows; give its Condenser a larger largest_u"
                )
            self._full = self._source()
        return self._full

    def _lost(self, u: float, b: float) -> float:
        """Bound on what a pass over the points loses, as a share of the sums of 1, |x| and x^2."""
        x, weights = self._points.base + self._points.local, self._points.local_weights
        with np.errstate(all="ignore"):  # NaN where numbers overflow: all rows are read then
            v = REACH * abs(u) / self.largest_u
            nearest = np.maximum(np.abs(u * x + b) - v, 0.0)
            lost = np.minimum(
                math.log(0.1) + 16.0 * np.log(0.25 * v) - 2.0 * nearest, math.log(2.0)
            )
            share = np.maximum(1.0, x**2 / self.moments().m2)
            return float(np.sum(weights * share * np.exp(lost)) / self.total)

    def _far(self, u: Floats, b: Floats) -> NDArray[np.bool_] | None:
        """For which directions (k, 1) the points would not do; None if they do for all."""
        if max(map(abs, u[:, 0].tolist()), default=0.0) <= self.largest_u:
            return None
        far: NDArray[np.bool_] = np.abs(u[:, 0]) > self.largest_u
        for place in np.flatnonzero(far):
            one = float(u[place, 0]), float(b[place])
            if one not in self._losses:
                self._losses[one] = self._lost(*one)
            far[place] = not self._losses[one] <= _LOST
        return far if far.any() else None

    @property
    def share(self) -> float:
        return self.condensed_to / self.n

    def reads_for(self, u: Floats, b: Floats, want: int) -> list[tuple[Read, float]]:
        far = self._far(u, b)
        if far is None:
            return [(Read(PASS, want, len(u)), self.share)]
        of_all = int(np.count_nonzero(far))
        made = [(of_all, 1.0), (len(u) - of_all, self.share)]
        return [(Read(PASS, want, count), share) for count, share in made if count]

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        far = self._far(u, b)
        if far is None:
            return super().sums(u, b, want, even)
        out = np.empty((len(u), layout.width(1, want)))
        out[far] = self.full().sums(u[far], b[far], want, even)
        if not far.all():
            out[~far] = super().sums(u[~far], b[~far], want, even)
        return out

    def about(self, origin: Floats) -> CondensedSample:
        by = float(origin[0])
        old = self._points
        source = None if self._source is None else (lambda: self.full().about(origin))
        points = old._replace(base=old.base - by, rows=old.rows - by)
        moved = CondensedSample.of(points, source)
        moved.near = True
        moved._pick = None if self._pick is None else partial(_moved, self._pick, origin)
        return moved

    def picked(self, count: int) -> Floats | None:
        return None if self._pick is None else self._pick(count)

    def split(self, fraction: float = 0.1, seed: int = 0) -> tuple[Sample, Sample]:
        """Training and validation samples, the rows being those of the full sample's own split."""
        full = None if self._source is None else self.full()
        split = getattr(full, "split", None)
        if split is None:
            raise ValueError(
                "the sample must have its rows to be split, got one condensed by parts or moved"
            )
        train, held = (
            CondensedSample(part) if isinstance(part, ArraySample) else part.compact
            for part in split(fraction, seed)
        )
        return train, held


ArraySample.condense = CondensedSample


class Condenser(Bins):
    """Condenses rows part by part: from files, or on many machines.

    Condensers with the same arguments have the same bins, and can be merged.

    Parameters
    ----------
    low, high : range in which rows are condensed; rows outside are kept one by one.
    largest_u : directions |u| that the sample must serve; by default at least 192 / (high - low).
    """

    def finish(self) -> CondensedSample:
        """The sample of all rows read, without the rows themselves."""
        if self.n_weighted < 2:
            raise ValueError(
                f"at least 2 rows of positive weight must have been added, got {self.n_weighted}"
            )
        return CondensedSample.of(self.points(), None)


def _condensed(X: Any, weights: Floats | None, exponent: int, looked: Floats) -> Points:
    """A table that has been checked, at once; some of its rows decide on the range."""
    n = len(X)
    if n <= _FEW_ROWS and X.shape[1] == 1:
        rows = rows_of(X, slice(0, n)).reshape(-1)
        check_rows(rows, X)
        kept = np.ones(n) if weights is None else weights
        none, some = np.empty(0), kept > 0.0
        count = int(np.count_nonzero(some))
        return Points(0.0, none, none, rows[some], kept[some], exponent, n, count, math.inf)
    bins = Bins(*range_of(looked[:, 0]))
    bins.add_scaled(X, weights, exponent)
    return bins.points()


@lru_cache(4)
def rows_to_look_at(n: int) -> NDArray[np.int64]:
    """Numbers of rows that decide on the range."""
    places: NDArray[np.int64] = picks(n, None, _LOOKED_AT)
    places.flags.writeable = False
    return places


def range_of(rows: Floats) -> tuple[float, float, float]:
    """Where most rows are, judged by some of them, and the directions |u| that bins must serve."""
    rows = rows[np.abs(rows) <= LARGEST]
    if not rows.size:
        return -1.0, 1.0, 1.0
    quarter = len(rows) // 4
    places = [0, quarter, len(rows) // 2, 3 * quarter, len(rows) - 1]
    lowest, lower, middle, upper, highest = np.sort(rows)[places].tolist()
    reach = highest - lowest
    spread = upper - lower or reach
    if reach == 0.0:
        spread = reach = 2.0**-20 * abs(middle)
    spread, reach = max(spread, _NARROW), max(reach, _NARROW)
    most = math.nextafter(LARGEST, 0.0)
    low = max(lowest - _MARGIN * reach, middle - _FAR * spread, -most)
    high = min(highest + _MARGIN * reach, middle + _FAR * spread, most)
    return low, high, REACH * _FINE / min(spread, high - low)


def _moved(pick: Callable[[int], Floats | None], origin: Floats, count: int) -> Floats | None:
    rows = pick(count)
    return None if rows is None else rows - origin
