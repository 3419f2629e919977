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
from elubench.kernels.fetching import AHEAD
from elubench.kernels.lanes import (
    LANES,
    LINE,
    added,
    fetch,
    load,
    load_wide,
    rounded,
    store,
    zeros,
)
from elubench.kernels.layout import M1, W, m2_at
from elubench.kernels.sums import plus
from elubench.kernels.tiles import BLOCK_ROWS, LARGEST, ROWS, STRETCH, aligned
from elubench.kernels.transposing import gather, move_eight, move_four

FINE, HAS_NAN, HAS_INFINITY, TOO_LARGE = 0, 1, 2, 3


_PARTS = 32  # in which threads share the blocks: none is left with much when another has finished


def room_to_pack(d: int) -> Any:
    """Scratch memory for :func:`pack`: accumulators of w, and three for each coordinate."""
    return aligned((1 + 3 * d) * LANES)


def rooms_to_pack(blocks: int, d: int) -> Any:
    """Scratch memory for :func:`pack_parallel`, by part."""
    size = (1 + 3 * d) * LANES
    return aligned(min(_PARTS, blocks) * size).reshape(-1, size)


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
def _clear(room: Any) -> None:
    """Begin a stretch of tiles."""
    for j in range(0, room.size, LANES):
        store(room, j, zeros())


@kernel("exact", counted=False)
def _add_tile(data: Any, weights: Any, tile: int, room: Any) -> None:
    """Add w, w x, w x^2 and x^2 of a tile to the accumulators."""
    d = data.shape[1]
    if weights.shape[0] > 0:
        store(room, 0, plus(load(room, 0), load_wide(weights, tile * ROWS)))
    for j in range(d):
        value, at = load_wide(data, (tile * d + j) * ROWS), (1 + 3 * j) * LANES
        square = rounded(value, value)
        store(room, at + 2 * LANES, plus(load(room, at + 2 * LANES), square))
        if weights.shape[0] > 0:
            product = rounded(load_wide(weights, tile * ROWS), value)
            store(room, at, plus(load(room, at), product))
            again = rounded(product, value)
            store(room, at + LANES, plus(load(room, at + LANES), again))
        else:
            store(room, at, plus(load(room, at), value))


@kernel("exact", counted=False)
def _add_up(data: Any, weights: Any, n: int, begin: int, end: int, room: Any, sums: Any) -> int:
    """Add the accumulators of some tiles to a row of sums; a verdict on the numbers of the tiles."""
    d = data.shape[1]
    if weights.shape[0] > 0:
        sums[W] += added(load(room, 0))
    else:
        sums[W] += min(end * ROWS, n) - begin * ROWS
    worst = FINE
    for j in range(d):
        at = (1 + 3 * j) * LANES
        square = added(load(room, at + 2 * LANES))
        sums[M1 + j] += added(load(room, at))
        sums[m2_at(d) + j] += added(load(room, at + LANES)) if weights.shape[0] > 0 else square
        if not square <= LARGEST * LARGEST:
            for tile in range(begin, end):
                worst = _worse(worst, _judge(data[tile, j], min(ROWS, n - tile * ROWS)))
    return worst


@kernel("exact", counted=False)
def _fill(source: Any, begin: int, by_row: int, by_column: int, valid: int, x: Any) -> None:
    """Rows of the source, the first of which begins at ``begin``, to the coordinates of a tile."""
    d, whole = x.shape[0], valid // LANES * LANES
    for first in range(0, whole, LANES):
        row, done = begin + first * by_row, 0
        if by_row == 1:
            for j in range(d):
                fetch(source, row + j * by_column + AHEAD)
                store(x, j * ROWS + first, load(source, row + j * by_column))
            continue
        for j in range(d):
            fetch(source, row + j * LINE + AHEAD)
        if by_column == 1:
            for j in range(0, d - 7, 8):
                move_eight(source, row + j, by_row, x, j * ROWS + first, np.int64(ROWS))
            done = d // 8 * 8
            if d - done >= 4:
                move_four(source, row + done, by_row, x, done * ROWS + first, np.int64(ROWS))
                done += 4
        for j in range(done, d):
            store(x, j * ROWS + first, gather(source, row + j * by_column, by_row))
    for i in range(whole, valid):
        for j in range(d):
            x[j, i] = source[begin + i * by_row + j * by_column]


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
    worst, tiles = FINE, BLOCK_ROWS // ROWS
    for block in range(first, last):
        sums = partial[block, 0]
        for j in range(sums.size):
            sums[j] = 0.0
        end = min((block + 1) * tiles, data.shape[0])
        for begin in range(block * tiles, end, STRETCH):
            stop = min(begin + STRETCH, end)
            _clear(room)
            for tile in range(begin, stop):
                at = (tile * ROWS - first * BLOCK_ROWS) * by_row
                _fill(source, at, by_row, by_column, min(ROWS, n - tile * ROWS), data[tile])
                _add_tile(data, weights, tile, room)
            worst = _worse(worst, _add_up(data, weights, n, begin, stop, room, sums))
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
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.int64,
        types.float64[:, :, ::1],
        types.float64[::1],
    ),
    counted=False,
)
def moments(data: Any, weights: Any, n: int, partial: Any, room: Any) -> None:
    """Sums of w, w x and w x^2 by block of tiles that are packed: partial is as in :func:`pack`."""
    tiles = BLOCK_ROWS // ROWS
    for block in range(partial.shape[0]):
        sums = partial[block, 0]
        for j in range(sums.size):
            sums[j] = 0.0
        end = min((block + 1) * tiles, data.shape[0])
        for begin in range(block * tiles, end, STRETCH):
            stop = min(begin + STRETCH, end)
            _clear(room)
            for tile in range(begin, stop):
                _add_tile(data, weights, tile, room)
            _add_up(data, weights, n, begin, stop, room, sums)
