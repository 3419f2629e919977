"""Data packed for the pass: tiles of shape (tile, d, rows), small enough to stay in the cache.

A coordinate of a tile is contiguous, so every inner loop runs over rows with stride one, whatever d
is, and a tile that was read for the projection is still in the cache for the sums. With up to four
coordinates a tile fits the level-1 cache together with the next one, which is fetched meanwhile; with
more, the pass is bound by memory, for which long runs are better, and a tile fits the level-2 cache.
Rows that pad the last tile are zeros and have no weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from elubench.kernels._jit import kernel
from elubench.kernels.lanes import LINE

_TILE_NUMBERS = 32768  # 256 KiB of float64: half the level-2 cache of common cores
_MOST_ROWS = 512  # so that the pass's own buffers also fit the level-1 cache
_LEAST_ROWS = 64
_FEW_NUMBERS = 1024  # 8 KiB: with up to four coordinates, a quarter of the level-1 cache
BLOCK_ROWS = 4096  # rows that one thread sums at a time

FINE, HAS_NAN, HAS_INFINITY, TOO_LARGE = 0, 1, 2, 3
LARGEST = 1e150  # its square, summed over 10^8 rows, is still finite


class Tiles(NamedTuple):
    """Packed rows. ``weights`` is (tiles, rows), or (0, 0) where every row counts once."""

    data: np.ndarray
    weights: np.ndarray
    rows: int

    @property
    def blocks(self) -> int:
        return -(-self.data.shape[0] // (BLOCK_ROWS // self.data.shape[2]))


def tile_rows(d: int) -> int:
    """Rows in a tile: a power of two, a function of d alone."""
    rows, most = _MOST_ROWS, _FEW_NUMBERS if d <= 4 else _TILE_NUMBERS
    while rows > _LEAST_ROWS and rows * d > most:
        rows //= 2
    return rows


def empty_tiles(n: int, d: int, weighted: bool) -> Tiles:
    """Zeroed tiles for n rows of d numbers."""
    rows = tile_rows(d)
    count = -(-n // rows)
    weights = aligned(count * rows).reshape(count, rows) if weighted else np.zeros((0, 0))
    return Tiles(aligned(count * d * rows).reshape(count, d, rows), weights, n)


def aligned(count: int) -> np.ndarray:
    """Zeros that begin at a cache line, so that no vector lies across two lines."""
    room = np.zeros(count + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + count]


@kernel("exact")
def _judge(value: float) -> int:
    if value != value:
        return HAS_NAN
    size = abs(value)
    if size <= LARGEST:
        return FINE
    return HAS_INFINITY if size == np.inf else TOO_LARGE


@kernel("exact")
def _pack_tile(chunk: Any, start: int, tile: int, data: Any) -> int:
    d, rows = data.shape[1], data.shape[2]
    first = max(tile * rows, start)
    last = min((tile + 1) * rows, start + chunk.shape[0])
    worst = 0
    for i in range(first, last):
        for j in range(d):
            value = chunk[i - start, j]
            verdict = _judge(value)
            if verdict != 0 and (worst == 0 or verdict < worst):
                worst = verdict
            data[tile, j, i - tile * rows] = value
    return worst


@kernel(
    "exact",
    types.void(types.float64[:, ::1], types.int64, types.float64[:, :, ::1], types.int64[::1]),
)
def pack(chunk: Any, start: int, data: Any, verdicts: Any) -> None:
    """Copy rows start, start + 1, ... into the tiles, with a verdict on the numbers of each tile."""
    rows = data.shape[2]
    first = start // rows
    count = (start + chunk.shape[0] - 1) // rows + 1 - first
    for k in range(count):
        verdicts[first + k] = max(verdicts[first + k], _pack_tile(chunk, start, first + k, data))
