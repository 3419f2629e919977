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
from elubench.kernels.fetching import fetch_projecting
from elubench.kernels.interrupts import held
from elubench.kernels.lanes import (
    LANES,
    LINE,
    added,
    load,
    load_wide,
    store,
    zeros,
    zeros_wide,
)
from elubench.kernels.pairs import add_pairs, add_some, add_triangle, nothing, strip_tiles
from elubench.kernels.processor import REGISTER
from elubench.kernels.reduction import combine, worth_threads
from elubench.kernels.region import parallel_region
from elubench.kernels.registers import load_register, square, zeros_register
from elubench.kernels.sums import plus_products, weighed
from elubench.kernels.tiles import BLOCK_ROWS, ROWS, Tiles, aligned


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


@kernel("exact", inline=True, counted=False)
def _few_lanes(
    data: Any, begin: int, end: int, d: int, centre: Any, factors: Any, lane: int
) -> Any:
    """Sums of z_i z_j and of z_j^4 for two to four coordinates, from this lane on.

    The last coordinate stands in for those that there are not.
    """
    j2, j3 = d - 1 - (d > 3), d - 1
    c0, c1, c2, c3 = centre[0], centre[1], centre[j2], centre[j3]
    f0, f1, f2, f3 = factors[0], factors[1], factors[j2], factors[j3]
    s00, s10, s11, s20 = nothing()
    s21, s22, s30, s31 = nothing()
    s32, s33 = zeros_register(), zeros_register()
    q0, q1, q2, q3 = nothing()
    for tile in range(begin, end):
        at = tile * d * ROWS
        for j in range(d):
            fetch_projecting(data, at, d, j)
        for i in range(at + lane, at + ROWS, LANES):
            z0 = (load_register(data, i) - c0) * f0
            z1 = (load_register(data, i + ROWS) - c1) * f1
            z2 = (load_register(data, i + j2 * ROWS) - c2) * f2
            z3 = (load_register(data, i + j3 * ROWS) - c3) * f3
            s00, s10, s11 = s00 + z0 * z0, s10 + z1 * z0, s11 + z1 * z1
            s20, s21, s22 = s20 + z2 * z0, s21 + z2 * z1, s22 + z2 * z2
            s30, s31, s32, s33 = s30 + z3 * z0, s31 + z3 * z1, s32 + z3 * z2, s33 + z3 * z3
            t0, t1, t2, t3 = square(z0), square(z1), square(z2), square(z3)
            q0, q1, q2, q3 = q0 + t0 * t0, q1 + t1 * t1, q2 + t2 * t2, q3 + t3 * t3
    return s00, s10, s11, s20, s21, s22, s30, s31, s32, s33, q0, q1, q2, q3


@kernel("exact", counted=False)
def _add_few(data: Any, begin: int, end: int, d: int, centre: Any, factors: Any, sums: Any) -> None:
    """Add the sums of a strip of two to four coordinates, all rows of which count once."""
    s00, s10, s11, s20, s21, s22, s30, s31, s32, s33, q0, q1, q2, q3 = _few_lanes(
        data, begin, end, d, centre, factors, np.int64(0)
    )
    if REGISTER < LANES:
        more = _few_lanes(data, begin, end, d, centre, factors, np.int64(REGISTER))
        s00, s10, s11, s20 = s00 + more[0], s10 + more[1], s11 + more[2], s20 + more[3]
        s21, s22, s30, s31 = s21 + more[4], s22 + more[5], s30 + more[6], s31 + more[7]
        s32, s33, q0, q1 = s32 + more[8], s33 + more[9], q0 + more[10], q1 + more[11]
        q2, q3 = q2 + more[12], q3 + more[13]
    add_triangle(s00, s10, s11, s20, s21, s22, s30, s31, s32, s33, d, sums, np.int64(0))
    add_some(q0, q1, q2, q3, np.int64(0), d, sums, d * (d + 1) // 2)


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
        if ones and 1 < d <= 4:
            _add_few(data, begin, end, d, centre, factors, sums)
            continue
        for j in range(0, d * LANES, LANES):
            store(s, j, zeros())
        for tile in range(begin, end):
            here, at = (tile - begin) * d * ROWS, tile * d * ROWS
            weight = weighed(1.0 + zeros_wide(), weights, tile, n)
            store(own, (tile - begin) * ROWS, weight)
            for j in range(d):
                fetch_projecting(data, at, d, j)
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
