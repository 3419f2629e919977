"""The one pass over the data.

For directions u (k of them) and offsets b, with y_i = x_i.u + b and t_i = tanh(y_i):

    T0 = sum w_i t_i / W,   T1 = sum w_i t_i x_i / W,   LC = sum w_i log cosh(y_i) / W

and for second-order methods, with c_i = 1 - t_i^2 = sech^2(y_i),

    C0 = sum w_i c_i / W,   C1 = sum w_i c_i x_i / W,   C2 = sum w_i c_i x_i x_i^T / W.

A block of a few tiles is summed by one thread into its own row of partial sums, and rows are added in a
fixed pairwise order. So the result depends on the data alone: neither the number of threads nor the
choice between the parallel and the serial kernel changes a single bit.

Rows of results are laid out as in :mod:`elubench.kernels.layout`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel, ready
from elubench.kernels.elementwise import FETCH, expm1_into, log_cosh_into, tanh_at, tanh_in_place
from elubench.kernels.interrupts import held
from elubench.kernels.lanes import LANES, LINE, added, load, store, zeros
from elubench.kernels.layout import (
    CURVATURE,
    LOG_COSH,
    M1,
    T0,
    T1,
    W,
    c0_at,
    c2_at,
    log_cosh_at,
    m2_at,
    width,
)
from elubench.kernels.region import parallel_region
from elubench.kernels.tiles import BLOCK_ROWS, Tiles

_BUFFERS = 3  # in which a pass works, each as long as a tile
_APART = 24  # numbers between them: a multiple of 4 KiB apart, they would compete for cache sets

#: Below this many row-coordinates a parallel region costs more than it saves. Measured on two idle
#: cores, d = 1: 1.2 times the serial speed at 25,000 of them, 1.3 at 49,000, 1.6 at 150,000.
PARALLEL_FROM = 32768


def worth_threads(tiles: Tiles) -> bool:
    """Whether a parallel region pays off for data of this size and the available threads."""
    size = tiles.rows * (2 + tiles.data.shape[1])
    large = size >= PARALLEL_FROM and tiles.blocks > 1
    return large and parallel_region.usable and numba.get_num_threads() > 1


@kernel("exact", types.float64[:, ::1](types.int64))
def buffers(rows: int) -> Any:
    """Scratch memory for a pass over tiles of this many rows, aligned with cache lines.

    Otherwise every other access touches two lines, and a pass takes up to 1.3 times as long.
    """
    stride = rows + _APART
    room = np.empty(_BUFFERS * stride + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + _BUFFERS * stride].reshape(_BUFFERS, stride)


def reduce_tiles(tiles: Tiles, total: float, u: Any, b: Any, want: int) -> Any:
    """One pass: u (k, d), b (k,) to rows of results (k, width)."""
    k, d = u.shape
    partial = np.empty((tiles.blocks, k, width(d, want)))
    out = np.empty((k, width(d, want)))
    scratch = ready(buffers)(tiles.data.shape[2])
    arguments = (tiles.data, tiles.weights, tiles.rows, total, u, b, want, scratch, partial, out)
    if not worth_threads(tiles):
        ready(pass_serial)(*arguments)
        return out
    with held(), parallel_region.entered() as inside:
        ready(pass_parallel if inside else pass_serial)(*arguments)
    return out


def unpack_symmetric(lower: Any, d: int) -> Any:
    """The symmetric (d, d) matrix from the rows of its lower triangle."""
    matrix = np.empty((d, d))
    matrix[np.tril_indices(d)] = lower
    matrix.T[np.tril_indices(d)] = lower
    return matrix


@kernel("exact")
def _four(j: int, count: int, rows: int) -> tuple[int, int, int, int]:
    """Where the coordinates j to j + 3 of a tile begin; the last one replaces any beyond it."""
    most = count - 1
    return j * rows, min(j + 1, most) * rows, min(j + 2, most) * rows, min(j + 3, most) * rows


@kernel("exact")
def _factors(u: Any, j: int) -> tuple[float, float, float, float]:
    """u_j to u_(j+3), 0 for coordinates beyond the last."""
    d = u.size
    return (
        u[j],
        u[j + 1] if j + 1 < d else 0.0,
        u[j + 2] if j + 2 < d else 0.0,
        u[j + 3] if j + 3 < d else 0.0,
    )


@kernel("exact", inline=True, counted=False)
def _project(x: Any, u: Any, b: float, y: Any, m: int) -> None:
    """y = x.u + b for one tile x (d, rows), four coordinates at a time: y is read and written less."""
    d, rows = x.shape
    u0, u1, u2, u3 = _factors(u, 0)
    if d == 1:
        for i in range(0, m, LANES):
            store(y, i, b + u0 * load(x, i))
        return
    at0, at1, at2, at3 = _four(0, d, rows)
    for i in range(0, m, LANES):
        z = b + u0 * load(x, at0 + i) + u1 * load(x, at1 + i)
        store(y, i, z + u2 * load(x, at2 + i) + u3 * load(x, at3 + i))
    for j in range(4, d, 4):
        u0, u1, u2, u3 = _factors(u, j)
        at0, at1, at2, at3 = _four(j, d, rows)
        for i in range(0, m, LANES):
            z = load(y, i) + u0 * load(x, at0 + i) + u1 * load(x, at1 + i)
            store(y, i, z + u2 * load(x, at2 + i) + u3 * load(x, at3 + i))


@kernel("elementwise")
def _weigh(t: Any, weights: Any, tile: int, valid: int, m: int) -> None:
    """Multiply by the weights; rows that only pad the tile get weight 0."""
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
def _add_four(s0: Any, s1: Any, s2: Any, s3: Any, j: int, count: int, out: Any, at: int) -> None:
    """out[at + j] += s0 and so on, up to the last coordinate."""
    out[at + j] += added(s0)
    if j + 1 < count:
        out[at + j + 1] += added(s1)
    if j + 2 < count:
        out[at + j + 2] += added(s2)
    if j + 3 < count:
        out[at + j + 3] += added(s3)


@kernel("exact")
def _add_products(v: Any, x: Any, count: int, m: int, out: Any, at: int) -> None:
    """out[at + j] += v.x_j for the first ``count`` coordinates of a tile."""
    rows = x.shape[1]
    for j in range(0, count, 4):
        at0, at1, at2, at3 = _four(j, count, rows)
        s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
        for i in range(0, m, LANES):
            value = load(v, i)
            s0 = s0 + value * load(x, at0 + i)
            s1 = s1 + value * load(x, at1 + i)
            s2 = s2 + value * load(x, at2 + i)
            s3 = s3 + value * load(x, at3 + i)
        _add_four(s0, s1, s2, s3, j, count, out, at)


@kernel("exact")
def _add_moments(v: Any, x: Any, m: int, out: Any, at: int) -> None:
    """out[at] += sum of v, followed by the products with every coordinate."""
    if x.shape[0] == 1:
        plain, s0 = zeros(), zeros()
        for i in range(0, m, LANES):
            value = load(v, i)
            plain = plain + value
            s0 = s0 + value * load(x, i)
        out[at] += added(plain)
        out[at + 1] += added(s0)
    else:
        out[at] += _sum(v, m)
        _add_products(v, x, x.shape[0], m, out, at + 1)


@kernel("exact", inline=True, counted=False)
def _add_tanh_moments(y: Any, e: Any, x: Any, m: int, data: Any, at: int, out: Any) -> None:
    """The same bits as tanh_in_place and then _add_moments, in one loop, for d <= 4 and weights 1.

    The sums are nearly free while the processor waits for the quotient. With more coordinates, reading
    them is what takes long.
    """
    d, rows = x.shape
    plain, s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros(), zeros()
    if d == 1:
        for i in range(0, m, LANES):
            t = tanh_at(y, e, i, data, at)
            plain = plain + t
            s0 = s0 + t * load(x, i)
        out[T0] += added(plain)
        out[T1] += added(s0)
        return
    at0, at1, at2, at3 = _four(0, d, rows)
    for i in range(0, m, LANES):
        t = tanh_at(y, e, i, data, at)
        plain = plain + t
        s0 = s0 + t * load(x, at0 + i)
        s1 = s1 + t * load(x, at1 + i)
        s2 = s2 + t * load(x, at2 + i)
        s3 = s3 + t * load(x, at3 + i)
    out[T0] += added(plain)
    _add_four(s0, s1, s2, s3, 0, d, out, T1)


@kernel("exact", counted=False)
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
                out[log_cosh_at(d)] += _sum(product, m)
            rest = following + FETCH * m
            if d <= 4 and valid == m and weights.shape[0] == 0 and not want & CURVATURE:
                _add_tanh_moments(y, spare, x, m, data, rest, out)
                continue
            tanh_in_place(y, spare, m, data, rest)
            if want & CURVATURE:
                _curvature(y, spare, m)
                _weigh(spare, weights, tile, valid, m)
                _add_moments(spare, x, m, out, c0_at(d))
                at = c2_at(d)
                for j in range(d):
                    _scaled(spare, x, j, product, m)
                    _add_products(product, x, j + 1, m, out, at)
                    at += j + 1
            _weigh(y, weights, tile, valid, m)
            _add_moments(y, x, m, out, T0)


@kernel("exact", types.void(types.float64[:, :, ::1], types.float64, types.float64[:, ::1]))
def combine(partial: Any, total: float, out: Any) -> None:
    """Add the blocks' partial sums pairwise, in a fixed order, and divide by the total weight."""
    count, k, numbers = partial.shape
    step = 1
    while step < count:
        for block in range(0, count - step, 2 * step):
            for i in range(k):
                for j in range(numbers):
                    partial[block, i, j] += partial[block + step, i, j]
        step *= 2
    for i in range(k):
        for j in range(numbers):
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
    """The pass with the blocks shared among threads, each block with its own scratch memory."""
    for block in prange(partial.shape[0]):
        own = buffers(data.shape[2])
        _reduce_block(
            borrow(data), borrow(weights), n, block,
            borrow(u), borrow(b), want, borrow(own), borrow(partial)[block],
        )  # fmt: skip
        own[0, 0] = 0.0  # keeps it alive until here
    combine(partial, total, out)


@kernel("exact", PASS, counted=False)
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
        _reduce_block(data, weights, n, block, u, b, want, scratch, partial[block])
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
        sums[W] += _sum(ones, rows)
        for j in range(d):
            _scaled(ones, data[tile], j, product, rows)
            sums[M1 + j] += _sum(product, rows)
            _scaled(product, data[tile], j, product, rows)
            sums[m2_at(d) + j] += _sum(product, rows)


@kernel(
    "exact",
    types.void(
        types.float64[:, :, ::1], types.float64[:, ::1], types.int64, types.float64[:, :, ::1]
    ),
)
def moments(data: Any, weights: Any, n: int, partial: Any) -> None:
    """Sums of w, w x and w x^2 by block: partial is (blocks, 1, moments_width(d))."""
    for block in range(partial.shape[0]):
        _moments_block(data, weights, n, block, partial[block, 0])
