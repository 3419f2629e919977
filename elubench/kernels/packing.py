"""Rows into tiles: one read that packs them, judges their numbers and sums their moments.

A block is packed by one thread, and its sums are added as those of a pass are: the same bits for any
number of threads. The sum of squares of a coordinate tells whether a number of it is not finite or too
large; only then is the coordinate searched for what to complain of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel
from elubench.kernels.lanes import LANES, LINE, added, fetch, gather, load, rounded, store, zeros
from elubench.kernels.layout import M1, W, m2_at
from elubench.kernels.tiles import BLOCK_ROWS, LARGEST, aligned

FINE, HAS_NAN, HAS_INFINITY, TOO_LARGE = 0, 1, 2, 3


_AHEAD = 2048  # numbers from those that are packed to those that are fetched: 16 KiB
_PARTS = 32  # in which threads share the blocks: none is left with much when another has finished


def room_to_pack(d: int) -> Any:
    """Scratch memory for :func:`pack`: two sums of eight numbers for each coordinate."""
    return aligned(2 * d * LANES)


def rooms_to_pack(blocks: int, d: int) -> Any:
    """Scratch memory for :func:`pack_parallel`, by part."""
    return aligned(min(_PARTS, blocks) * 2 * d * LANES).reshape(-1, 2 * d * LANES)


@kernel("exact", counted=False)
def _worse(one: int, other: int) -> int:
    """The worse of two verdicts: NaN before infinity before size."""
    return other if one == FINE or FINE < other < one else one


@kernel("exact", counted=False)
def _judge(numbers: Any, m: int) -> int:
    """The worst of what is wrong with the first m numbers."""
    worst = FINE
    for i in range(m):
        size = abs(numbers[i])
        verdict = FINE
        if size != size:
            verdict = HAS_NAN
        elif size == np.inf:
            verdict = HAS_INFINITY
        elif size > LARGEST:
            verdict = TOO_LARGE
        worst = _worse(worst, verdict)
    return worst


@kernel("exact", counted=False)
def _add_moments_of(x: Any, weights: Any, tile: int, valid: int, sums: Any) -> int:
    """Add W, m1 and m2 of one tile to a row of sums; a verdict on its numbers."""
    d, rows = x.shape
    m = min(rows, (valid + LANES - 1) // LANES * LANES)
    weighted = weights.shape[0] > 0
    if weighted:
        s = zeros()
        for i in range(0, m, LANES):
            s = s + load(weights, tile * rows + i)
        sums[W] += added(s)
    else:
        sums[W] += valid
    worst = FINE
    for j in range(d):
        s1, s2, plain = zeros(), zeros(), zeros()
        for i in range(0, m, LANES):
            value = load(x, j * rows + i)
            plain = plain + rounded(value, value)
            if weighted:
                product = rounded(load(weights, tile * rows + i), value)
                s1 = s1 + product
                s2 = s2 + rounded(product, value)
            else:
                s1 = s1 + value
        square = added(plain)
        sums[M1 + j] += added(s1)
        sums[m2_at(d) + j] += added(s2) if weighted else square
        if not square <= LARGEST * LARGEST:
            worst = _worse(worst, _judge(x[j], valid))
    return worst


@kernel("exact", counted=False)
def _fill(source: Any, begin: int, by_row: int, by_column: int, valid: int, x: Any) -> None:
    """Rows of the source, the first of which begins at ``begin``, to the coordinates of a tile."""
    d = x.shape[0]
    if by_row == 1:
        for j in range(d):
            for i in range(valid):
                x[j, i] = source[begin + j * by_column + i]
        return
    # by lines of the cache: coordinates of a tile are a multiple of 4 KiB apart, and lines that are
    # written a number at a time would drive each other out of the cache
    whole = valid // LINE * LINE
    for first in range(0, whole, LINE):
        for j in range(d):
            at = begin + first * by_row + j * by_column
            for i in range(LINE):
                x[j, first + i] = source[at + i * by_row]
    for i in range(whole, valid):
        for j in range(d):
            x[j, i] = source[begin + i * by_row + j * by_column]


@kernel("exact", counted=False)
def _fill_and_add(
    source: Any, begin: int, by_row: int, by_column: int, x: Any, room: Any, sums: Any
) -> int:
    """The same bits as _fill and then _add_moments_of for a whole tile of rows that count once each.

    A line of a coordinate is written at a time, while it is added to sums in ``room``. As many lines of
    the source are fetched.
    """
    d, rows = x.shape
    for j in range(0, 2 * d * LANES, LANES):
        store(room, j, zeros())
    for first in range(0, rows, LANES):
        for j in range(d):
            place = begin + first * by_row + j * by_column
            fetch(source, _AHEAD + (place if by_row == 1 else begin + first * by_row + j * LINE))
            value = load(source, place) if by_row == 1 else gather(source, place, by_row)
            store(x, j * rows + first, value)
            at = 2 * j * LANES
            store(room, at, load(room, at) + value)
            store(room, at + LANES, load(room, at + LANES) + rounded(value, value))
    sums[W] += rows
    worst = FINE
    for j in range(d):
        square = added(load(room, (2 * j + 1) * LANES))
        sums[M1 + j] += added(load(room, 2 * j * LANES))
        sums[m2_at(d) + j] += square
        if not square <= LARGEST * LARGEST:
            worst = _worse(worst, _judge(x[j], rows))
    return worst


@kernel(
    "exact",
    types.int64(
        types.float64[::1],
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.int64,
        types.float64[:, :, ::1],
        types.float64[::1],
    ),
    counted=False,
    pointer=False,
)
def pack(
    source: Any,
    by_row: int,
    by_column: int,
    first: int,
    last: int,
    data: Any,
    weights: Any,
    n: int,
    partial: Any,
    room: Any,
) -> int:
    """Pack the blocks from ``first`` up to ``last`` and sum their moments; the worst verdict.

    ``source`` holds the rows from block ``first`` on: number j of row i of these is at
    i * by_row + j * by_column. ``partial`` is (blocks, 1, moments_width(d)).
    """
    rows = data.shape[2]
    tiles = BLOCK_ROWS // rows
    worst = FINE
    for block in range(first, last):
        sums = partial[block, 0]
        for j in range(sums.size):
            sums[j] = 0.0
        for tile in range(block * tiles, min((block + 1) * tiles, data.shape[0])):
            valid = min(rows, n - tile * rows)
            begin = (tile * rows - first * BLOCK_ROWS) * by_row
            if valid == rows and weights.shape[0] == 0:
                verdict = _fill_and_add(source, begin, by_row, by_column, data[tile], room, sums)
            else:
                _fill(source, begin, by_row, by_column, valid, data[tile])
                verdict = _add_moments_of(data[tile], weights, tile, valid, sums)
            worst = _worse(worst, verdict)
    return worst


@kernel(
    "parallel",
    types.int64(
        types.float64[::1],
        types.int64,
        types.int64,
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.int64,
        types.float64[:, :, ::1],
        types.float64[:, ::1],
    ),
    pointer=False,
)
def pack_parallel(
    source: Any,
    by_row: int,
    by_column: int,
    data: Any,
    weights: Any,
    n: int,
    partial: Any,
    rooms: Any,
) -> int:
    """The same for all blocks, shared among threads by part; ``rooms`` has a row for each."""
    blocks, parts = partial.shape[0], rooms.shape[0]
    verdicts = np.empty(parts, dtype=np.int64)
    for part in prange(parts):
        first, last = blocks * part // parts, blocks * (part + 1) // parts
        verdicts[part] = pack(
            borrow(source)[first * BLOCK_ROWS * by_row :], by_row, by_column, first, last,
            borrow(data), borrow(weights), n, borrow(partial), borrow(rooms)[part],
        )  # fmt: skip
    worst = FINE
    for verdict in verdicts:
        worst = _worse(worst, verdict)
    return worst


@kernel(
    "exact",
    types.void(
        types.float64[:, :, ::1], types.float64[:, ::1], types.int64, types.float64[:, :, ::1]
    ),
    counted=False,
    pointer=False,
)
def moments(data: Any, weights: Any, n: int, partial: Any) -> None:
    """Sums of w, w x and w x^2 by block of tiles that are packed: partial is as in :func:`pack`."""
    rows = data.shape[2]
    tiles = BLOCK_ROWS // rows
    for block in range(partial.shape[0]):
        sums = partial[block, 0]
        for j in range(sums.size):
            sums[j] = 0.0
        for tile in range(block * tiles, min((block + 1) * tiles, data.shape[0])):
            _add_moments_of(data[tile], weights, tile, min(rows, n - tile * rows), sums)
