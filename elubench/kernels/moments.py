"""Second, third and fourth moments about a centre, in one read of the data.

For z = (x - centre) / unit, coordinate by coordinate, a row of results is

    mean w z_i z_j (d (d + 1) / 2: the lower triangle, row by row), mean w z_j^3 (d), mean w z_j^4 (d)

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
from elubench.kernels.lanes import LANES, LINE, added, load, store, zeros
from elubench.kernels.reduction import combine, worth_threads
from elubench.kernels.region import parallel_region
from elubench.kernels.tiles import BLOCK_ROWS, Tiles


def pairs(d: int) -> int:
    """Number of pairs i >= j of coordinates."""
    return d * (d + 1) // 2


def reduce_shape(tiles: Tiles, total: float, centre: Any, units: Any) -> Any:
    """One read: a row of results, see above."""
    d = tiles.data.shape[1]
    partial = np.empty((tiles.blocks, 1, pairs(d) + 2 * d))
    out = np.empty((1, pairs(d) + 2 * d))
    arguments = (tiles.data, tiles.weights, tiles.rows, total, centre, 1.0 / units, partial, out)
    if not worth_threads(tiles):
        ready(shape_serial)(*arguments)
        return out[0]
    with held(), parallel_region.entered() as inside:
        ready(shape_parallel if inside else shape_serial)(*arguments)
    return out[0]


@kernel("exact")
def _room(d: int, rows: int) -> Any:
    """A tile about the centre, and one weighted coordinate of it, from a cache line on."""
    count = (d + 1) * rows
    room = np.empty(count + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + count]


@kernel("exact", counted=False)
def _shape_block(
    data: Any, weights: Any, n: int, block: int, centre: Any, factors: Any, z: Any, sums: Any
) -> None:
    d, rows = data.shape[1], data.shape[2]
    weighted = weights.shape[0] > 0
    third = d * (d + 1) // 2
    sums[:] = 0.0
    tiles = BLOCK_ROWS // rows
    for tile in range(block * tiles, min((block + 1) * tiles, (n + rows - 1) // rows)):
        x = data[tile]
        valid = min(rows, n - tile * rows)
        m = min(rows, (valid + LANES - 1) // LANES * LANES)
        for j in range(d):
            at = j * rows
            c, factor = centre[j], factors[j]
            for i in range(0, m, LANES):
                store(z, at + i, (load(x, at + i) - c) * factor)
            for i in range(valid, m):
                z[at + i] = 0.0  # rows that only pad the tile
        place = 0
        for j in range(d):
            at, own = j * rows, j * rows
            if weighted:
                own = d * rows
                for i in range(0, m, LANES):
                    store(z, own + i, load(weights, tile * rows + i) * load(z, at + i))
            s2, s3, s4 = zeros(), zeros(), zeros()
            for i in range(0, m, LANES):
                value = load(z, at + i)
                power = load(z, own + i) * value
                s2 = s2 + power
                power = power * value
                s3 = s3 + power
                s4 = s4 + power * value
            whole = j // 4 * 4
            for k in range(0, whole, 4):
                p0, p1, p2, p3 = zeros(), zeros(), zeros(), zeros()
                for i in range(0, m, LANES):
                    value = load(z, own + i)
                    p0 = p0 + value * load(z, k * rows + i)
                    p1 = p1 + value * load(z, (k + 1) * rows + i)
                    p2 = p2 + value * load(z, (k + 2) * rows + i)
                    p3 = p3 + value * load(z, (k + 3) * rows + i)
                sums[place + k] += added(p0)
                sums[place + k + 1] += added(p1)
                sums[place + k + 2] += added(p2)
                sums[place + k + 3] += added(p3)
            for k in range(whole, j):
                p0 = zeros()
                for i in range(0, m, LANES):
                    p0 = p0 + load(z, own + i) * load(z, k * rows + i)
                sums[place + k] += added(p0)
            place += j
            sums[place] += added(s2)
            place += 1
            sums[third + j] += added(s3)
            sums[third + d + j] += added(s4)


_PASS = types.void(
    types.float64[:, :, ::1],
    types.float64[:, ::1],
    types.int64,
    types.float64,
    types.float64[::1],
    types.float64[::1],
    types.float64[:, :, ::1],
    types.float64[:, ::1],
)


@kernel("parallel", _PASS, pointer=False)
def shape_parallel(
    data: Any, weights: Any, n: int, total: float, centre: Any, factors: Any, partial: Any, out: Any
) -> None:
    """The read with the blocks shared among threads."""
    for block in prange(partial.shape[0]):
        own = _room(data.shape[1], data.shape[2])
        _shape_block(
            borrow(data), borrow(weights), n, block,
            borrow(centre), borrow(factors), borrow(own), borrow(partial)[block, 0],
        )  # fmt: skip
        own[0] = 0.0  # keeps it alive until here
    combine(partial, total, out)


@kernel("exact", _PASS, pointer=False)
def shape_serial(
    data: Any, weights: Any, n: int, total: float, centre: Any, factors: Any, partial: Any, out: Any
) -> None:
    """The same in the calling thread."""
    own = _room(data.shape[1], data.shape[2])
    for block in range(partial.shape[0]):
        _shape_block(data, weights, n, block, centre, factors, own, partial[block, 0])
    combine(partial, total, out)
