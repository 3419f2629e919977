"""Rows of one coordinate, summed into bins and turned into weighted points.

The width of a bin is a power of two and bins begin at its multiples, so that the local coordinates of
whole numbers, and of rows close to 0, are exact.

Chunks of rows are summed one by one, and their sums added pairwise, in a fixed order: whoever adds the
same chunks, or merges bins that hold 2^k of them each, gets the same bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import condensing, quadrature
from elubench.kernels._jit import ready
from elubench.kernels.interrupts import held
from elubench.kernels.packing import HAS_INFINITY, HAS_NAN, TOO_LARGE
from elubench.kernels.region import parallel_region
from elubench.kernels.tiles import LARGEST, aligned
from elubench.samples.array import check_verdicts, rows_of

#: Largest |u| times the width of a bin; :mod:`elubench.samples.condensed` says why.
REACH = 0.5
_LEAST_BINS = (
    384  # across the range, if no more is known; at most twice as many: widths are powers of 2
)
_FEWEST_BINS = 32  # whatever is known: with fewer, rounding in a bin is that of the whole range
_MOST_BINS = 1 << 16
#: Rows that are summed at a time.
CHUNK_ROWS = 16 * condensing.PART_ROWS
_LEAST = -2000  # below the exponent of any weight


class Points(NamedTuple):
    """What is left of n rows: points at base + local, and some rows as they were.

    Weights have been divided by 2^exponent.
    """

    base: float
    local: Floats
    local_weights: Floats
    rows: Floats
    row_weights: Floats
    exponent: int
    n: int
    n_weighted: int
    largest_u: float


class Bins:
    """Sums of powers in the bins of a range; rows outside are kept one by one."""

    def __init__(self, low: float, high: float, largest_u: float | None = None):
        low = checks.real(low, "low", -LARGEST, LARGEST)
        high = checks.real(high, "high", low, LARGEST)
        widest = (high - low) / _LEAST_BINS
        if largest_u is not None:
            served = REACH / checks.real(largest_u, "largest_u", above=0.0)
            widest = min((high - low) / _FEWEST_BINS, served)
        exponent = math.frexp(widest)[1] - 1
        if exponent <= -1000 or (high - low) / 2.0**exponent > _MOST_BINS:
            raise ValueError(
                f"high - low and largest_u must need at most {_MOST_BINS} bins, none narrower than "
                f"1e-301, got {high - low:g} and {largest_u}"
            )
        self.width = 2.0**exponent
        middle = 0.0 if low <= 0.0 <= high else 0.5 * (low + high)
        self._base = round(middle / self.width) * self.width
        self._first = math.floor((low - self._base) / self.width)
        self._count = math.ceil((high - self._base) / self.width) - self._first
        self._sums: list[tuple[int, Floats]] = []  # of so many chunks each
        self._outside = [(np.empty(0), np.empty(0))]  # rows and weights
        self._exponent = _LEAST
        self.n = 0
        self.n_weighted = 0

    def add(self, X: Any, weights: ArrayLike | None = None) -> None:
        """Read rows (m, 1), with weights (m,) if not every row counts once."""
        rows = checks.table(X, least=1)
        self.add_scaled(rows, *scaled(checks.weights(weights, len(rows), least=0)))

    def add_scaled(self, X: Any, weights: Floats | None, exponent: int) -> None:
        """The same for a table that has been checked and weights divided by 2^exponent."""
        if X.shape[1] != 1:
            raise ValueError(f"X must have one column to be condensed, got {X.shape[1]}")
        shift = self._make_room(exponent)
        parts = -(-min(CHUNK_ROWS, len(X)) // condensing.PART_ROWS)
        room = _room(parts, self._count)
        outside = np.empty((parts, condensing.PART_ROWS), dtype=np.int64)
        first = float(self._first)
        place = (self._base, 1.0 / self.width, first, first + self._count)
        for start in range(0, len(X), CHUNK_ROWS):
            rows = rows_of(X, slice(start, start + CHUNK_ROWS)).reshape(-1)
            own = np.empty(0) if weights is None else weights[start : start + len(rows)]
            found = np.zeros(-(-len(rows) // condensing.PART_ROWS), dtype=np.int64)
            with held(), parallel_region.entered(len(found) > 1) as inside:
                adding = condensing.add_parallel if inside else condensing.add_serial
                with np.errstate(all="ignore"):  # uncompiled kernels warn of what is refused below
                    ready(adding)(rows, own, place, room, outside, found)
            sums = room.total[0].reshape(-1, quadrature.POWERS)[:-1]
            self._push(1, np.ldexp(sums, shift) if shift else sums.copy())
            if found.any():
                where = np.concatenate(
                    [at[:count] for at, count in zip(outside, found, strict=False)]
                )
                check_rows(rows[where], X)
                kept = np.ones(len(where)) if weights is None else own[where]
                self._outside.append((rows[where][kept > 0.0], np.ldexp(kept[kept > 0.0], shift)))
            self.n_weighted += int(len(rows) if weights is None else np.count_nonzero(own))
        self.n += len(X)

    def merge(self, other: Bins) -> None:
        """Add what others of the same range have read."""
        if other._bounds() != self._bounds():
            raise ValueError(
                f"other must have the same bins (low, high, width) {self._bounds()}, "
                f"got {other._bounds()}"
            )
        shift = self._make_room(other._exponent)
        for chunks, sums in other._sums:
            self._push(chunks, np.ldexp(sums, shift))
        self._outside += [(rows, np.ldexp(weights, shift)) for rows, weights in other._outside]
        self.n += other.n
        self.n_weighted += other.n_weighted

    def points(self) -> Points:
        """The points of all bins in their order, and the rows outside in theirs."""
        total = np.zeros((self._count, quadrature.POWERS))
        for _, sums in reversed(self._sums):
            total = sums + total
        used = np.flatnonzero(total[:, 0] > 0.0)
        t, weights = np.empty((2, len(used), quadrature.POINTS))
        counts = np.zeros(len(used), dtype=np.int64)
        scratch = np.empty((len(used), quadrature.SCRATCH, quadrature.POWERS))
        with held(), parallel_region.entered(len(used) > 1) as inside:
            making = quadrature.points_parallel if inside else quadrature.points_serial
            ready(making)(total[used], scratch, t, weights, counts)
        filled = np.arange(quadrature.POINTS) < counts[:, None]
        centres = np.repeat(self._first + used + 0.5, counts)
        rows, row_weights = (np.concatenate(each) for each in zip(*self._outside, strict=True))
        return Points(
            self._base,
            self.width * (centres + t[filled]),
            weights[filled],
            rows,
            row_weights,
            self._exponent,
            self.n,
            self.n_weighted,
            REACH / self.width if len(used) else math.inf,
        )

    def _push(self, chunks: int, sums: Floats) -> None:
        """Add the sums of the chunks that follow, to those of as many if these come just before."""
        while self._sums and self._sums[-1][0] == chunks:
            _, before = self._sums.pop()
            chunks, sums = 2 * chunks, before + sums
        self._sums.append((chunks, sums))

    def _bounds(self) -> tuple[float, float, float]:
        low = self._base + self._first * self.width
        return low, low + self._count * self.width, self.width

    def _make_room(self, exponent: int) -> int:
        """Raise the common exponent to at least this one; what weights over 2^exponent change by."""
        if exponent > self._exponent:
            shift = max(self._exponent - exponent, _LEAST)
            self._sums = [(chunks, np.ldexp(sums, shift)) for chunks, sums in self._sums]
            self._outside = [(rows, np.ldexp(weights, shift)) for rows, weights in self._outside]
            self._exponent = exponent
        return exponent - self._exponent


def scaled(weights: Floats | None) -> tuple[Floats | None, int]:
    """Weights divided by a power of two so that none is above 1, and its exponent."""
    if weights is None:
        return None, 0
    exponent = math.frexp(float(weights.max()))[1]
    return np.ldexp(weights, -exponent), exponent


def check_rows(rows: Floats, X: Any) -> None:
    """Raise ValueError for numbers that no sample can hold; they are from the table X."""
    bad = rows[~(np.abs(rows) <= LARGEST)]
    if bad.size:
        kinds = np.where(np.isinf(bad), HAS_INFINITY, TOO_LARGE)
        check_verdicts(np.where(np.isnan(bad), HAS_NAN, kinds), X)


def _room(parts: int, bins: int) -> condensing.Room:
    """Memory to sum in; all of it begins at cache lines."""
    total, recent = aligned(2 * parts * (bins + 1) * quadrature.POWERS).reshape(2, parts, -1)
    local = aligned(parts * condensing.STRIP).reshape(parts, -1)
    strips = aligned(parts * condensing.STRIP).view(np.int64).reshape(parts, -1)
    return condensing.Room(total, recent, local, strips)
