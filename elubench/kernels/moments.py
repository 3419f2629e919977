"""Second and fourth moments about a centre, in one read of the data.

For z = (x - centre) / unit, coordinate by coordinate, a row of results is

    mean w z_i z_j (d (d + 1) / 2: the lower triangle, row by row), mean w z_j^4 (d)

Subtracting first keeps the digits that differences of raw moments lose, and a unit close to the data's
own keeps fourth powers from overflowing. Blocks and the order of their sums are those of
:mod:`elubench.kernels.reduction`: the same bits for any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel, ready
from elubench.kernels.interrupts import held
from elubench.kernels.lanes import LANES, LINE, added, fetch, load, store, zeros
from elubench.kernels.reduction import combine, worth_threads
from elubench.kernels.region import parallel_region
from elubench.kernels.sums import add_pairs, strip_rows
from elubench.kernels.tiles import AHEAD, BLOCK_ROWS, Tiles, aligned


def pairs(d: int) -> int:
    """Number of pairs i >= j of coordinates."""
    return d * (d + 1) // 2


def reduce_shape(tiles: Tiles, total: float, centre: Any, units: Any) -> Any:
    """One read: a row of results, see above."""
    d = tiles.data.shape[1]
    partial = np.empty((tiles.blocks, 1, pairs(d) + d))
    out = np.empty((1, pairs(d) + d))
    scratch = aligned((d + 1) * strip_rows(d)).reshape(d + 1, -1)
    factors = 1.0 / units
    arguments = (
        tiles.data, tiles.weights, tiles.rows, total, centre, factors, scratch, partial, out
    )  # fmt: skip
    if not worth_threads(tiles):
        with np.errstate(all="ignore"):  # uncompiled kernels warn of fourth powers that overflow
            ready(shape_serial)(*arguments)
        return out[0]
    with held(), parallel_region.entered() as inside:
        ready(shape_parallel if inside else shape_serial)(*arguments)
    return out[0]


@kernel("exact")
def _room(d: int) -> Any:
    """Some rows about the centre, and their weights, from a cache line on."""
    strip = strip_rows(d)
    room = np.empty((d + 1) * strip + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + (d + 1) * strip].reshape(d + 1, strip)


def _block(
    data: Any, weights: Any, n: int, block: int, centre: Any, factors: Any, z: Any, sums: Any
) -> None:
    """The sums of one block."""
    d, rows = data.shape[1], data.shape[2]
    fourth = d * (d + 1) // 2
    sums[:] = 0.0
    tiles, strip, own = BLOCK_ROWS // rows, z.shape[1], z[d]
    for tile in range(block * tiles, min((block + 1) * tiles, (n + rows - 1) // rows)):
        x, valid = data[tile], min(rows, n - tile * rows)
        ahead = tile * d * rows + max(AHEAD, d * rows)
        for begin in range(0, valid, strip):
            m = min(strip, rows - begin)
            ones = weights.shape[0] == 0 and begin + m <= valid
            for i in range(0 if ones else m):  # rows that only pad the tile have no weight
                own[i] = 1.0 if begin + i < valid else 0.0
                if weights.shape[0] > 0:
                    own[i] = weights[tile, begin + i]
            for j in range(d):
                s = zeros()
                for i in range(0, m, LANES):
                    if d <= 4:  # with more, there is time while pairs are summed
                        fetch(data, ahead + j * m + i)
                    value = (load(x, j * rows + begin + i) - centre[j]) * factors[j]
                    store(z, j * strip + i, value)
                    square = value * value
                    s = s + (square if ones else load(own, i) * square) * square
                sums[fourth + j] += added(s)
            last = ahead + d * m if d > 4 else ahead
            c, none, all_ = own[:0] if ones else own, np.int64(-1), np.int64(0)
            add_pairs(c, z[:d], m, sums, none, all_, data, ahead, last)
            ahead += d * m


_block_alone = kernel("exact", counted=False)(_block)
_block_merged = kernel("exact", merged=True, counted=False)(_block)

_PASS = types.void(
    types.float64[:, :, ::1],
    types.float64[:, ::1],
    types.int64,
    types.float64,
    types.float64[::1],
    types.float64[::1],
    types.float64[:, ::1],
    types.float64[:, :, ::1],
    types.float64[:, ::1],
)


@kernel("parallel", _PASS, pointer=False)
def shape_parallel(
    data: Any,
    weights: Any,
    n: int,
    total: float,
    centre: Any,
    factors: Any,
    scratch: Any,
    partial: Any,
    out: Any,
) -> None:
    """The read with the blocks shared among threads."""
    for block in prange(partial.shape[0]):
        own = _room(data.shape[1])
        _block_alone(
            borrow(data), borrow(weights), n, block,
            borrow(centre), borrow(factors), borrow(own), borrow(partial)[block, 0],
        )  # fmt: skip
        own[0, 0] = 0.0  # keeps it alive until here
    combine(partial, total, out)


@kernel("exact", _PASS, counted=False, pointer=False)
def shape_serial(
    data: Any,
    weights: Any,
    n: int,
    total: float,
    centre: Any,
    factors: Any,
    scratch: Any,
    partial: Any,
    out: Any,
) -> None:
    """The same in the calling thread."""
    for block in range(partial.shape[0]):
        _block_merged(data, weights, n, block, centre, factors, scratch, partial[block, 0])
    combine(partial, total, out)
