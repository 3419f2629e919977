"""The one pass over the data.

For directions u (k of them) and offsets b, with y_i = x_i.u + b and t_i = tanh(y_i):

    T0 = sum w_i t_i / W,   T1 = sum w_i t_i x_i / W,   LC = sum w_i log cosh(y_i) / W

and for second-order methods, with c_i = 1 - t_i^2 = sech^2(y_i),

    C0 = sum w_i c_i / W,   C1 = sum w_i c_i x_i / W,   C2 = sum w_i c_i x_i x_i^T / W.

A block of a few tiles is summed by one thread; its partial sums go to a row of their own, and rows are
added in a fixed pairwise order. So the result is a function of the data alone: neither the number of
threads nor the choice between the parallel and the serial kernel changes one bit of it.

A row of results is (T0, T1[d], LC, C0, C1[d], C2 by rows of its lower triangle), cut after LC where
the curvature is not asked for.
"""

from __future__ import annotations

import threading
from typing import Any

import numba
import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel, ready
from elubench.kernels.elementwise import FETCH, expm1_into, log_cosh_into, tanh_in_place
from elubench.kernels.lanes import LANES, added, load, store, zeros
from elubench.kernels.tiles import BLOCK_ROWS, Tiles

LOG_COSH, CURVATURE = 1, 2
_BUFFERS = 3  # of a tile's length, that a pass works in
_APART = 24  # numbers between them: a multiple of 4 KiB apart, they would share places in the cache

#: Below this many row-coordinates a parallel region costs more than it brings. Measured with two quiet
#: cores: 1.1 times the serial speed at 25,000 of them, 1.6 to 1.8 at 49,000 (benchmarks/limits.py).
PARALLEL_FROM = 32768

# Some of Numba's threading layers abort the process when two threads enter a parallel region at
# once. Whoever finds the door shut computes alone: same bits, no waiting, no abort.
parallel_region = threading.Lock()


def width(d: int, want: int) -> int:
    """Length of a row of results."""
    return 2 + d + (1 + d + d * (d + 1) // 2 if want & CURVATURE else 0)


def worth_threads(tiles: Tiles) -> bool:
    """Whether a parallel region pays for data of this size with the threads there are."""
    size = tiles.rows * (2 + tiles.data.shape[1])
    return size >= PARALLEL_FROM and tiles.blocks > 1 and numba.get_num_threads() > 1


@kernel("exact", types.float64[:, ::1](types.int64))
def buffers(rows: int) -> Any:
    """Memory for a pass over tiles of so many rows, aligned as vectors like it."""
    return np.empty((_BUFFERS, rows + _APART))


def reduce_tiles(tiles: Tiles, total: float, u: Any, b: Any, want: int) -> Any:
    """One pass: u (k, d), b (k,) to rows of results (k, width)."""
    k, d = u.shape
    partial = np.empty((tiles.blocks, k, width(d, want)))
    out = np.empty((k, width(d, want)))
    scratch = ready(buffers)(tiles.data.shape[2])
    arguments = (tiles.data, tiles.weights, tiles.rows, total, u, b, want, scratch, partial, out)
    if worth_threads(tiles) and parallel_region.acquire(blocking=False):
        try:
            ready(pass_parallel)(*arguments)
        finally:
            parallel_region.release()
    else:
        ready(pass_serial)(*arguments)
    return out


def unpack_symmetric(lower: Any, d: int) -> Any:
    """The symmetric (d, d) matrix from the rows of its lower triangle."""
    matrix = np.empty((d, d))
    matrix[np.tril_indices(d)] = lower
    matrix.T[np.tril_indices(d)] = lower
    return matrix


@kernel("exact")
def _project(x: Any, u: Any, b: float, y: Any, m: int) -> None:
    """y = x.u + b for one tile x (d, rows); four coordinates at a time spare y three trips."""
    d, rows = x.shape
    if d >= 4:
        u0, u1, u2, u3 = u[0], u[1], u[2], u[3]
        for i in range(0, m, LANES):
            z = b + u0 * load(x, i) + u1 * load(x, rows + i)
            store(y, i, z + u2 * load(x, 2 * rows + i) + u3 * load(x, 3 * rows + i))
        j = 4
    else:
        u0 = u[0]
        for i in range(0, m, LANES):
            store(y, i, b + u0 * load(x, i))
        j = 1
    while j + 4 <= d:
        u0, u1, u2, u3 = u[j], u[j + 1], u[j + 2], u[j + 3]
        at = j * rows
        for i in range(0, m, LANES):
            z = load(y, i) + u0 * load(x, at + i) + u1 * load(x, at + rows + i)
            z = z + u2 * load(x, at + 2 * rows + i) + u3 * load(x, at + 3 * rows + i)
            store(y, i, z)
        j += 4
    while j < d:
        u0 = u[j]
        for i in range(0, m, LANES):
            store(y, i, load(y, i) + u0 * load(x, j * rows + i))
        j += 1


@kernel("elementwise")
def _weigh(t: Any, weights: Any, tile: int, valid: int, m: int) -> None:
    """Multiply by the weights; rows that only pad the tile count for nothing."""
    if weights.shape[0] > 0:
        for i in range(m):
            t[i] = t[i] * weights[tile, i]
    for i in range(valid, m):
        t[i] = 0.0


@kernel("elementwise")
def _curvature(t: Any, c: Any, m: int) -> None:
    for i in range(m):
        c[i] = (1.0 - t[i]) * (1.0 + t[i])


@kernel("elementwise")
def _scaled(v: Any, x: Any, j: int, out: Any, m: int) -> None:
    for i in range(m):
        out[i] = v[i] * x[j, i]


@kernel("exact")
def _sum(v: Any, m: int) -> float:
    s = zeros()
    for i in range(0, m, LANES):
        s = s + load(v, i)
    return added(s)


@kernel("exact")
def _add_products(v: Any, x: Any, first: int, last: int, m: int, out: Any, at: int) -> None:
    """out[at + j] += v.x_j for the coordinates j from first to last - 1 of a tile."""
    rows = x.shape[1]
    j = first
    while j + 4 <= last:
        s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
        begin = j * rows
        for i in range(0, m, LANES):
            value = load(v, i)
            s0 = s0 + value * load(x, begin + i)
            s1 = s1 + value * load(x, begin + rows + i)
            s2 = s2 + value * load(x, begin + 2 * rows + i)
            s3 = s3 + value * load(x, begin + 3 * rows + i)
        out[at + j] += added(s0)
        out[at + j + 1] += added(s1)
        out[at + j + 2] += added(s2)
        out[at + j + 3] += added(s3)
        j += 4
    while j < last:
        s0 = zeros()
        for i in range(0, m, LANES):
            s0 = s0 + load(v, i) * load(x, j * rows + i)
        out[at + j] += added(s0)
        j += 1


@kernel("exact")
def _add_moments(v: Any, x: Any, m: int, out: Any, at: int) -> None:
    """out[at] += sum of v, and behind it the products with every coordinate."""
    d, rows = x.shape
    plain, s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros(), zeros()
    if d >= 4:
        for i in range(0, m, LANES):
            value = load(v, i)
            plain = plain + value
            s0 = s0 + value * load(x, i)
            s1 = s1 + value * load(x, rows + i)
            s2 = s2 + value * load(x, 2 * rows + i)
            s3 = s3 + value * load(x, 3 * rows + i)
        out[at + 2] += added(s1)
        out[at + 3] += added(s2)
        out[at + 4] += added(s3)
        first = 4
    else:
        for i in range(0, m, LANES):
            value = load(v, i)
            plain = plain + value
            s0 = s0 + value * load(x, i)
        first = 1
    out[at] += added(plain)
    out[at + 1] += added(s0)
    if first < d:
        _add_products(v, x, first, d, m, out, at + 1)


@kernel("exact")
def _reduce_block(
    data: Any,
    weights: Any,
    n: int,
    block: int,
    u: Any,
    b: Any,
    want: int,
    scratch: Any,
    sums: Any,
) -> None:
    d, rows = data.shape[1], data.shape[2]
    y, spare, product = scratch[0], scratch[1], scratch[2]
    sums[:] = 0.0
    tiles = BLOCK_ROWS // rows
    for tile in range(block * tiles, min((block + 1) * tiles, (n + rows - 1) // rows)):
        x = data[tile]
        following = (tile + 1) * d * rows
        valid = min(rows, n - tile * rows)
        m = min(rows, (valid + LANES - 1) // LANES * LANES)
        for k in range(u.shape[0]):
            out = sums[k]
            _project(x, u[k], b[k], y, m)
            expm1_into(y, spare, product, m, data, following)
            if want & LOG_COSH:
                log_cosh_into(y, spare, product, m)
                _weigh(product, weights, tile, valid, m)
                out[1 + d] += _sum(product, m)
            tanh_in_place(y, spare, m, data, following + FETCH * m)
            if want & CURVATURE:
                _curvature(y, spare, m)
                _weigh(spare, weights, tile, valid, m)
                _add_moments(spare, x, m, out, 2 + d)
                at = 3 + 2 * d
                for j in range(d):
                    _scaled(spare, x, j, product, m)
                    _add_products(product, x, 0, j + 1, m, out, at)
                    at += j + 1
            _weigh(y, weights, tile, valid, m)
            _add_moments(y, x, m, out, 0)


@kernel("exact", types.void(types.float64[:, :, ::1], types.float64, types.float64[:, ::1]))
def combine(partial: Any, total: float, out: Any) -> None:
    """Add the blocks' partial sums pairwise, in a fixed order, and divide by the total weight."""
    count, k, width = partial.shape
    step = 1
    while step < count:
        for block in range(0, count - step, 2 * step):
            for i in range(k):
                for j in range(width):
                    partial[block, i, j] += partial[block + step, i, j]
        step *= 2
    for i in range(k):
        for j in range(width):
            out[i, j] = partial[0, i, j] / total


#: A pass as the loops take it, serial or parallel.
PASS = types.void(
    types.float64[:, :, ::1],
    types.float64[:, ::1],
    types.int64,
    types.float64,
    types.float64[:, ::1],
    types.float64[::1],
    types.int64,
    types.float64[:, ::1],
    types.float64[:, :, ::1],
    types.float64[:, ::1],
)


@kernel("parallel", PASS)
def pass_parallel(
    data: Any,
    weights: Any,
    n: int,
    total: float,
    u: Any,
    b: Any,
    want: int,
    scratch: Any,
    partial: Any,
    out: Any,
) -> None:
    """The pass with a thread to each share of the blocks, which bring scratch of their own."""
    for block in prange(partial.shape[0]):
        own = np.empty(scratch.shape)
        _reduce_block(
            borrow(data), borrow(weights), n, block,
            borrow(u), borrow(b), want, borrow(own), borrow(partial)[block],
        )  # fmt: skip
        own[0, 0] = 0.0  # alive until here
    combine(partial, total, out)


@kernel("exact", PASS)
def pass_serial(
    data: Any,
    weights: Any,
    n: int,
    total: float,
    u: Any,
    b: Any,
    want: int,
    scratch: Any,
    partial: Any,
    out: Any,
) -> None:
    """The same pass in the calling thread."""
    for block in range(partial.shape[0]):
        _reduce_block(
            borrow(data), borrow(weights), n, block,
            borrow(u), borrow(b), want, borrow(scratch), borrow(partial)[block],
        )  # fmt: skip
    combine(partial, total, out)


@kernel("exact")
def _moments_block(data: Any, weights: Any, n: int, block: int, sums: Any) -> None:
    d, rows = data.shape[1], data.shape[2]
    ones = np.empty(rows)
    product = np.empty(rows)
    sums[:] = 0.0
    tiles = BLOCK_ROWS // rows
    for tile in range(block * tiles, min((block + 1) * tiles, (n + rows - 1) // rows)):
        valid = min(rows, n - tile * rows)
        ones[:] = 1.0
        _weigh(ones, weights, tile, valid, rows)
        sums[0] += _sum(ones, rows)
        for j in range(d):
            _scaled(ones, data[tile], j, product, rows)
            sums[1 + j] += _sum(product, rows)
            _scaled(product, data[tile], j, product, rows)
            sums[1 + d + j] += _sum(product, rows)


@kernel(
    "exact",
    types.void(
        types.float64[:, :, ::1], types.float64[:, ::1], types.int64, types.float64[:, :, ::1]
    ),
)
def moments(data: Any, weights: Any, n: int, partial: Any) -> None:
    """Sums of w, w x and w x^2 by block: partial is (blocks, 1, 1 + 2 d)."""
    for block in range(partial.shape[0]):
        _moments_block(data, weights, n, block, partial[block, 0])
