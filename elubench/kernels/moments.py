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
from elubench.kernels.lanes import (
    LANES,
    LINE,
    added,
    fetch,
    load,
    load_wide,
    store,
    zeros,
    zeros_wide,
)
from elubench.kernels.pairs import add_pairs, strip_tiles
from elubench.kernels.reduction import combine, worth_threads
from elubench.kernels.region import parallel_region
from elubench.kernels.sums import FEW, plus_products, weighed
from elubench.kernels.tiles import AHEAD, BLOCK_ROWS, ROWS, Tiles, aligned


def pairs(d: int) -> int:
    """Number of pairs i >= j of coordinates."""
    return d * (d + 1) // 2


def reduce_shape(tiles: Tiles, total: float, centre: Any, units: Any) -> Any:
    """One read: a row of results, see above."""
    d = tiles.data.shape[1]
    partial = np.empty((tiles.blocks, 1, pairs(d) + d))
    out = np.empty((1, pairs(d) + d))
    scratch = aligned(_numbers(d))
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


@kernel("exact", plain=True)
def _numbers(d: int) -> int:
    """How many numbers a block works in: accumulators, a strip of tiles about the centre, weights."""
    return d * LANES + strip_tiles(d) * (d + 1) * ROWS


@kernel("exact")
def _room(d: int) -> Any:
    """Memory for them, from a cache line on."""
    room = np.empty(_numbers(d) + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + _numbers(d)]


def _block(
    data: Any, weights: Any, n: int, block: int, centre: Any, factors: Any, scratch: Any, sums: Any
) -> None:
    """The sums of one block."""
    d, tiles, strip = data.shape[1], BLOCK_ROWS // ROWS, strip_tiles(data.shape[1])
    fourth, s = d * (d + 1) // 2, scratch[: d * LANES]
    z, own = scratch[d * LANES : -strip * ROWS], scratch[scratch.size - strip * ROWS :]
    sums[:] = 0.0
    last = min((block + 1) * tiles, (n + ROWS - 1) // ROWS)
    for begin in range(block * tiles, last, strip):
        end = min(begin + strip, last)
        ones = weights.shape[0] == 0 and end * ROWS <= n
        for j in range(0, d * LANES, LANES):
            store(s, j, zeros())
        for tile in range(begin, end):
            here, at = (tile - begin) * d * ROWS, tile * d * ROWS
            weight = weighed(1.0 + zeros_wide(), weights, tile, n)
            store(own, (tile - begin) * ROWS, weight)
            for j in range(d):
                if d <= FEW:
                    for line in range(0, ROWS, LINE):
                        fetch(data, at + AHEAD + j * ROWS + line)
                value = (load_wide(data, at + j * ROWS) - centre[j]) * factors[j]
                store(z, here + j * ROWS, value)
                square = value * value
                other = square if ones else weight * square
                store(s, j * LANES, plus_products(load(s, j * LANES), other, square))
        for j in range(d):
            sums[fourth + j] += added(load(s, j * LANES))
        c, none, all_ = own[:0] if ones else own, np.int64(-1), np.int64(0)
        following = end * d * ROWS
        add_pairs(c, z, all_, end - begin, d, sums, none, all_, data.reshape(-1), following)


_block_alone = kernel("exact", counted=False)(_block)
_block_merged = kernel("exact", merged=True, counted=False)(_block)

_PASS = types.void(
    types.float64[:, :, ::1],
    types.float64[:, ::1],
    types.int64,
    types.float64,
    types.float64[::1],
    types.float64[::1],
    types.float64[::1],
    types.float64[:, :, ::1],
    types.float64[:, ::1],
)


@kernel("parallel", _PASS)
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
        own[0] = 0.0  # keeps it alive until here
    combine(partial, total, out)


@kernel("exact", _PASS, counted=False)
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
