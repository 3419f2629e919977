"""Data packed for the pass: tiles of shape (tile, d, rows), small enough to stay in the cache.

A coordinate of a tile is contiguous, so every inner loop runs over rows with stride one, whatever d
is, and a tile that was read for the projection is still in the cache for the sums. With up to four
coordinates a tile fits the level-1 cache; with more, the pass is bound by memory, for which long runs
are better, and a tile fits the level-2 cache. Numbers some way ahead are fetched meanwhile. Rows that
pad the last tile are zeros and have no weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elubench.kernels.lanes import LINE

_TILE_NUMBERS = 32768  # 256 KiB of float64: half the level-2 cache of common cores
_MOST_ROWS = 512  # so that the pass's own buffers also fit the level-1 cache
_LEAST_ROWS = 64
_FEW_NUMBERS = 1024  # 8 KiB: with up to four coordinates, a quarter of the level-1 cache
BLOCK_ROWS = 4096  # rows that one thread sums at a time
#: Numbers from the beginning of a tile to those that are fetched while it is summed, at least: 64 KiB.
#: The next tile would be too near if tiles are small, as memory takes longer than their sums do.
AHEAD = 8192

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
    """Tiles for n rows of d numbers, of which only the padding has been written."""
    rows = tile_rows(d)
    count = -(-n // rows)
    weights = aligned(count * rows).reshape(count, rows) if weighted else np.empty((0, 0))
    tiles = Tiles(aligned(count * d * rows).reshape(count, d, rows), weights, n)
    tiles.data[-1:, :, n - (count - 1) * rows :] = 0.0
    if weighted:
        weights[-1:, n - (count - 1) * rows :] = 0.0
    return tiles


def aligned(count: int) -> np.ndarray:
    """Memory that begins at a cache line, so that no vector lies across two lines."""
    room = np.empty(count + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + count]
