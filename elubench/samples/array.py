"""A sample held in memory: the user's rows, packed once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import tiles
from elubench.kernels._jit import ready
from elubench.samples.base import PackedSample, Sample

_CHUNK_NUMBERS = 1 << 21


class ArraySample(PackedSample):
    """Rows of X with optional weights.

    Parameters
    ----------
    X : (n, d) array-like of numbers: NumPy arrays of any layout and real dtype, memory-mapped arrays,
        lists, pandas frames. It is read once, in chunks, into one packed copy, and never changed.
    weights : (n,) array-like, optional. Non-negative; a weight of k counts a row k times. They are kept
        divided by a power of two, so that sums neither overflow nor underflow whatever their unit.
    """

    def __init__(self, X: Any, weights: ArrayLike | None = None):
        X = checks.table(X)
        n, d = X.shape
        row_weights = checks.weights(weights, n)
        packed = tiles.empty_tiles(n, d, row_weights is not None)
        verdicts = np.zeros(len(packed.data), dtype=np.int64)
        step = max(1, _CHUNK_NUMBERS // d)
        for start in range(0, n, step):
            ready(tiles.pack)(rows_of(X, slice(start, start + step)), start, packed.data, verdicts)
            check_verdicts(verdicts)
        exponent = 0
        if row_weights is not None:
            exponent = math.frexp(float(row_weights.max()))[1]
            packed.weights.reshape(-1)[:n] = np.ldexp(row_weights, -exponent)
        super().__init__(packed, n, exponent)
        if not np.isfinite(self.moments().m2).all():
            raise ValueError("X must have finite second moments, got values too large to square")

    def split(self, fraction: float = 0.1, seed: int = 0) -> tuple[ArraySample, ArraySample]:
        """Training and validation samples; round(fraction n) rows chosen at random are held out.

        Both parts have at least two rows.
        """
        fraction = checks.real(fraction, "fraction", 0.0, 1.0)
        seed = checks.integer(seed, "seed", 0)
        held = min(max(round(fraction * self.n), 2), self.n - 2)
        if held < 2:
            raise ValueError(f"the sample must have at least 4 rows to be split, got n={self.n}")
        out = np.zeros(self.n, dtype=bool)
        out[np.random.default_rng(seed).permutation(self.n)[:held]] = True
        return self._take(~out), self._take(out)

    def thinned(self, rows: int) -> Sample:
        """Whole tiles at equal distances, so that sorted rows are thinned evenly; all if no more."""
        packed = self.tiles
        count, _, size = packed.data.shape
        wanted = -(-rows // size)
        if wanted >= count:
            return self
        # in the middle of equal parts; the last tile may be padded, and is left out
        places = ((np.arange(wanted) + 0.5) * (count - 1) / wanted).astype(np.int64)
        data = tiles.aligned(wanted * self.d * size).reshape(wanted, self.d, size)
        np.take(packed.data, places, axis=0, out=data)
        weights = packed.weights[places] if packed.weights.size else packed.weights
        if weights.size and not weights.any():
            return self
        thin = PackedSample(tiles.Tiles(data, weights, wanted * size), wanted * size, self.exponent)
        thin.near = self.near
        return thin

    def rows(self, start: int = 0, stop: int | None = None) -> Floats:
        """Rows start to stop as an (m, d) array, unpacked from the tiles."""
        stop = self.n if stop is None else min(stop, self.n)
        size = self.tiles.data.shape[2]
        first, last = start // size, -(-stop // size)
        flat = self.tiles.data[first:last].transpose(0, 2, 1).reshape(-1, self.d)
        return np.ascontiguousarray(flat[start - first * size : stop - first * size])

    def row_weights(self) -> Floats | None:
        """The weights (n,), or None if every row counts once."""
        if not self.tiles.weights.size:
            return None
        given: Floats = np.ldexp(self.tiles.weights.reshape(-1)[: self.n], self.exponent)
        return given

    @property
    def n_weighted(self) -> int:
        return int(np.count_nonzero(self.tiles.weights)) if self.tiles.weights.size else self.n

    def _take(self, mask: Any) -> ArraySample:
        weights = self.row_weights()
        return ArraySample(self.rows()[mask], None if weights is None else weights[mask])


def rows_of(X: Any, places: Any) -> Floats:
    """Rows of a table, by a slice or by their numbers, as contiguous float64."""
    part = X.iloc[places].to_numpy() if hasattr(X, "iloc") else X[places]
    with np.errstate(over="ignore"):  # a wider float that becomes infinite is found below
        chunk = np.ascontiguousarray(part, dtype=np.float64)
    return chunk if chunk.flags.writeable else chunk.copy()


def check_verdicts(verdicts: Any) -> None:
    """Raise ValueError for the worst of the verdicts on the numbers of X."""
    found = set(verdicts.tolist())
    if tiles.HAS_NAN in found:
        raise ValueError("X must be finite, got NaN")
    if tiles.HAS_INFINITY in found:
        raise ValueError("X must be finite, got infinity or a value too large for float64")
    if tiles.TOO_LARGE in found:
        raise ValueError(
            f"X must be at most {tiles.LARGEST:g} in size, got a value too large to square"
        )
