"""A sample held in memory: the user's rows, packed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import layout, packing, reduction, tiles
from elubench.kernels._jit import ready
from elubench.kernels.interrupts import held
from elubench.kernels.region import parallel_region, threads
from elubench.kernels.tiles import BLOCK_ROWS, Tiles
from elubench.samples.base import PackedSample, Sample, thin_places

_CHUNK_NUMBERS = 1 << 16  # a copy of so many still is in the cache when it is packed
_THREADS_FROM = 8  # chunks, below which starting threads costs more than they save


class ArraySample(PackedSample):
    """Rows of X with optional weights.

    Parameters
    ----------
    X : (n, d) array-like of numbers: NumPy arrays of any layout and real dtype, memory-mapped arrays,
        lists, pandas frames. It is read once, in chunks, into one packed copy, and never changed.
    weights : (n,) array-like, optional. Non-negative; a weight of k counts a row k times. They are kept
        divided by a power of two, so that sums neither overflow nor underflow whatever their unit.
    """

    #: Makes the condensed sample; elubench.samples.condensed, which is built on this module, sets it.
    condense: ClassVar[Callable[[ArraySample], PackedSample]]

    def __init__(self, X: Any, weights: ArrayLike | None = None):
        X = checks.table(X)
        n, d = X.shape
        row_weights = checks.weights(weights, n)
        packed = tiles.empty_tiles(n, d, row_weights is not None)
        exponent = 0
        if row_weights is not None:
            exponent = math.frexp(float(row_weights.max()))[1]
            packed.weights.reshape(-1)[:n] = np.ldexp(row_weights, -exponent)
        super().__init__(packed, n, exponent, _pack(X, packed))
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

    def condensed(self) -> PackedSample:
        """The same rows as a :class:`CondensedSample`, whose passes cost next to nothing; d = 1 only."""
        return type(self).condense(self)

    def thinned(self, rows: int) -> Sample:
        """Whole tiles at equal distances, so that sorted rows are thinned evenly; all if no more."""
        packed = self.tiles
        count, _, size = packed.data.shape
        places = thin_places(count, -(-rows // size))
        if places is None:
            return self
        wanted = len(places)
        data = tiles.aligned(wanted * self.d * size).reshape(wanted, self.d, size)
        np.take(packed.data, places, axis=0, out=data)
        weights = packed.weights[places] if packed.weights.size else packed.weights
        if weights.size and not weights.any():
            return self
        thin = PackedSample(tiles.Tiles(data, weights, wanted * size), wanted * size, self.exponent)
        thin.near = self.near
        return thin

    def picked(self, count: int) -> Floats:
        places = picks(self.n, self.row_weights(), count)
        size = self.tiles.data.shape[2]
        return np.ascontiguousarray(self.tiles.data[places // size, :, places % size])

    def picker(self, count: int) -> Callable[[], Floats | None]:
        return partial(self.picked, count)  # these rows are the sample's own

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


def _pack(X: Any, packed: Tiles) -> Floats:
    """Fill the tiles, by several threads if X is large; the sums of moments of the blocks."""
    n, d = packed.rows, packed.data.shape[1]
    sums = np.empty((packed.blocks, 1, layout.moments_width(d)))
    if _plain(X) and reduction.worth_threads(packed):
        with held(), parallel_region.entered() as inside:
            if inside:
                rooms = packing.rooms_to_pack(packed.blocks, d)
                filled = packed.data, packed.weights, n, sums, rooms
                with np.errstate(all="ignore"):  # uncompiled kernels warn of what is refused below
                    verdict = ready(packing.pack_parallel)(*_source(X, 0, n), *filled)
        if inside:
            check_verdicts([verdict], X)
            return sums
    step = max(1, _CHUNK_NUMBERS // (BLOCK_ROWS * d))
    count = threads() if packed.blocks >= _THREADS_FROM * step and isinstance(X, np.ndarray) else 1
    chunks = range(0, packed.blocks, step)
    pack = ready(packing.pack)

    def pack_chunk(first: int) -> int:
        last = min(first + step, packed.blocks)
        source = _source(X, first * BLOCK_ROWS, min(last * BLOCK_ROWS, n))
        room = packing.room_to_pack(d)
        with np.errstate(all="ignore"):  # uncompiled kernels warn of numbers that are refused below
            return int(pack(*source, first, last, packed.data, packed.weights, n, sums, room))

    if count == 1:
        check_verdicts(map(pack_chunk, chunks), X)
    else:
        with ThreadPoolExecutor(count) as pool:
            check_verdicts(pool.map(pack_chunk, chunks), X)
    return sums


def _plain(X: Any) -> bool:
    """Whether the kernel can read X as it is."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or not X.flags.writeable:
        return False
    return X.flags.c_contiguous or X.flags.f_contiguous


def _source(X: Any, start: int, stop: int) -> tuple[Floats, int, int]:
    """Rows of X as a flat array, and how far rows and columns are apart in it.

    Without a copy if X is contiguous, by rows or by columns, and can be written to, which the kernel
    does not do, but its one signature is of such arrays. Other kinds are copied a chunk at a time.
    """
    if _plain(X) and X.flags.f_contiguous:
        return X.T.reshape(-1)[start:], 1, len(X)
    chunk = rows_of(X, slice(start, stop))
    return chunk.reshape(-1), chunk.shape[1], 1


def picks(n: int, weights: Floats | None, count: int) -> Any:
    """Numbers of at most ``count`` rows, one from each of equal parts, at random if there are more.

    A row of weight k counts k times, and may come more than once.
    """
    if weights is None:
        edges = np.arange(min(count, n) + 1) * n // min(count, n)
        return edges[:-1] + (_random(len(edges) - 1) * np.diff(edges)).astype(np.int64)
    total = float(weights.sum())
    count = max(min(count, round(total)), 1)
    at = np.arange(count) + (_random(count) if count < total else 0.5)
    return np.minimum(np.searchsorted(np.cumsum(weights), at * (total / count), "right"), n - 1)


@lru_cache(4)
def _random(count: int) -> Floats:
    """Numbers between 0 and 1, always the same."""
    numbers = np.random.default_rng(0).random(count)
    numbers.flags.writeable = False
    return numbers


def rows_of(X: Any, places: Any) -> Floats:
    """Rows of a table, by a slice or by their numbers, as contiguous float64."""
    part = X.iloc[places] if hasattr(X, "iloc") else X[places]
    if hasattr(X, "iloc") and any(not isinstance(kind, np.dtype) for kind in X.dtypes):
        part = part.to_numpy(dtype=np.float64, na_value=np.nan)  # pandas' own missing values
    with np.errstate(over="ignore", invalid="ignore"):  # too large, or not finite: found below
        chunk = np.ascontiguousarray(part, dtype=np.float64)
    return chunk if chunk.flags.writeable else chunk.copy()


def check_verdicts(verdicts: Iterable[int], X: Any) -> None:
    """Raise ValueError for the worst of the verdicts on the numbers of X."""
    found = set(verdicts)
    if packing.HAS_NAN in found:
        raise ValueError(f"X must be finite, got NaN {_first(X, np.isnan)}")
    if packing.HAS_INFINITY in found:
        raise ValueError(
            f"X must be finite, got infinity or a value too large for float64 {_first(X, np.isinf)}"
        )
    if packing.TOO_LARGE in found:
        raise ValueError(
            f"X must be at most {tiles.LARGEST:g} in size, got a value too large to square "
            f"{_first(X, lambda rows: np.abs(rows) > tiles.LARGEST)}"
        )


def _first(X: Any, bad: Callable[[Floats], Any]) -> str:
    """Where the first number of a table is that is bad, counted from 1."""
    for start in range(0, len(X), BLOCK_ROWS):
        at = np.argwhere(bad(rows_of(X, slice(start, start + BLOCK_ROWS))))
        if at.size:
            row, column = at[0]
            names = getattr(X, "columns", None)
            shown = column + 1 if names is None else repr(names[column])
            return f"in row {start + row + 1:,}, column {shown}"
    return "in X"
