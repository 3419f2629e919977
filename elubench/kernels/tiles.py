"""Data packed for the pass: tiles of shape (tile, d, rows), each a run of memory.

A tile has as many rows as a chain of steps takes at a time, so a coordinate of a tile is contiguous and
stays in registers. A pass goes through memory from beginning to end, which the processor notices: it
fetches by itself what comes next, and nothing of the data is read from memory twice. Rows that pad the
last tile are zeros and have no weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elubench.kernels.lanes import WIDE

ROWS = WIDE  # of a tile
#: Tiles whose sums have the same accumulators: a product of 1 + tanh over 64 rows per lane is finite.
STRETCH = 16
BLOCK_ROWS = 4096  # rows that one thread sums at a time

PAGE = 512  # numbers in a page of memory

LARGEST = 1e150  # its square, summed over 10^8 rows, is still finite


class Tiles(NamedTuple):
    """Packed rows. ``weights`` is (tiles, rows), or (0, 0) where every row counts once."""

    data: np.ndarray
    weights: np.ndarray
    rows: int

    @property
    def blocks(self) -> int:
        return -(-self.data.shape[0] // (BLOCK_ROWS // ROWS))


def empty_tiles(n: int, d: int, weighted: bool) -> Tiles:
    """Tiles for n rows of d numbers, of which only the padding has been written."""
    count = -(-n // ROWS)
    weights = aligned(count * ROWS).reshape(count, ROWS) if weighted else np.empty((0, 0))
    tiles = Tiles(aligned(count * d * ROWS).reshape(count, d, ROWS), weights, n)
    tiles.data[-1:, :, n - (count - 1) * ROWS :] = 0.0
    if weighted:
        weights[-1:, n - (count - 1) * ROWS :] = 0.0
    return tiles


def aligned(count: int) -> np.ndarray:
    """Memory that begins with a page, so that no vector lies across two lines of the cache.

    The processor's own fetching ends at pages: tiles across two of them are read more slowly.
    """
    room = np.empty(count + PAGE)
    begin = -room.ctypes.data % (8 * PAGE) // 8
    return room[begin : begin + count]
