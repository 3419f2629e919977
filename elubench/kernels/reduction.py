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

import threading
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel, ready
from elubench.kernels.interrupts import held
from elubench.kernels.lanes import LINE
from elubench.kernels.layout import width
from elubench.kernels.region import parallel_region
from elubench.kernels.sums import accumulators, add_plain, add_with_loss
from elubench.kernels.tiles import BLOCK_ROWS, ROWS, STRETCH, Tiles, aligned

#: Below this many row-coordinates a parallel region may cost more than it saves. With two idle cores to
#: itself, it pays from 25,000 on. On two virtual cores it did at 400,000 (1.1 to 1.6 times the serial
#: speed), but took up to twice as long as one thread at 200,000, and more where others are at work.
PARALLEL_FROM = 1 << 18
# Blocks, at most, that are summed in the same scratch memory, which takes a while to get; and the least
# number of such groups, so that all threads have as much to do. (A kernel that asks Numba how many
# threads there are cannot be cached.)
_GROUP, _GROUPS = 4, 64


def worth_threads(tiles: Tiles, directions: int = 1) -> bool:
    """Whether a parallel region pays off for data of this size and the available threads."""
    size = tiles.rows * (2 + tiles.data.shape[1]) * directions
    large = size >= PARALLEL_FROM and tiles.blocks > 1
    return large and parallel_region.usable and numba.get_num_threads() > 1


@kernel("exact", plain=True)
def _room(d: int) -> int:
    """Numbers in which a pass works: accumulators, and one number per row of a stretch."""
    return accumulators(d) + STRETCH * ROWS


class _Rooms(threading.local):
    """Scratch memory for serial passes by d, which a thread keeps for its next ones.

    It is not there while a pass uses it: a signal's handler may make a pass, too.
    """

    def __init__(self) -> None:
        self._of: dict[int, Any] = {}

    def taken(self, d: int) -> Any:
        room = self._of.pop(d, None)
        return aligned(_room(d)) if room is None else room

    def returned(self, d: int, room: Any) -> None:
        self._of[d] = room


_rooms = _Rooms()


@kernel("exact")
def buffer(d: int) -> Any:
    """Scratch memory for a pass over rows of d numbers, from a cache line on.

    Otherwise every other access touches two lines, and a pass takes up to 1.3 times as long.
    """
    room = np.empty(_room(d) + LINE)
    begin = -room.ctypes.data % (8 * LINE) // 8
    return room[begin : begin + _room(d)]


def reduce_tiles(tiles: Tiles, total: float, u: Any, b: Any, want: int) -> Any:
    """One pass: u (k, d), b (k,) to rows of results (k, width)."""
    k, d = u.shape
    partial = np.empty((tiles.blocks, k, width(d, want)))
    out = np.empty((k, width(d, want)))
    scratch = _rooms.taken(d)
    arguments = (tiles.data, tiles.weights, tiles.rows, total, u, b, want, scratch, partial, out)
    if worth_threads(tiles, k):
        with held(), parallel_region.entered() as inside:
            ready(pass_parallel if inside else pass_serial)(*arguments)
    else:
        ready(pass_serial)(*arguments)
    _rooms.returned(d, scratch)
    return out


def unpack_symmetric(lower: Any, d: int) -> Any:
    """The symmetric (d, d) matrix from the rows of its lower triangle."""
    matrix = np.empty((d, d))
    matrix[lower_places(d)] = lower
    matrix.T[lower_places(d)] = lower
    return matrix


@cache
def lower_places(d: int) -> Any:
    """Rows and columns of the lower triangle, row by row."""
    return np.tril_indices(d)


def _block(
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
    """The sums of one block."""
    d, tiles = data.shape[1], BLOCK_ROWS // ROWS
    s, c = scratch[: accumulators(d)], scratch[accumulators(d) :]
    sums[:] = 0.0
    last = min((block + 1) * tiles, (n + ROWS - 1) // ROWS)
    # with several directions, tiles that are still in the cache for the next one
    step = tiles if u.shape[0] == 1 else np.int64(STRETCH)
    for begin in range(block * tiles, last, step):
        end = min(begin + step, last)
        for k in range(u.shape[0]):
            if want == 0:
                add_plain(data, weights, n, begin, end, u[k], b[k], s, sums[k])
            else:
                add_with_loss(data, weights, n, begin, end, u[k], b[k], s, c, want, sums[k])


_block_alone = kernel("exact", counted=False)(_block)
_block_merged = kernel("exact", merged=True, counted=False)(_block)


@kernel(
    "exact",
    types.void(types.float64[:, :, ::1], types.float64, types.float64[:, ::1]),
)
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
    types.float64[::1],
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
    """The pass with the blocks shared among threads; a few blocks have the same scratch memory."""
    blocks = partial.shape[0]
    each = max(1, min(_GROUP, blocks // _GROUPS))
    for group in prange((blocks + each - 1) // each):
        own = buffer(data.shape[1])
        for block in range(group * each, min((group + 1) * each, blocks)):
            _block_alone(
                borrow(data), borrow(weights), n, block,
                borrow(u), borrow(b), want, borrow(own), borrow(partial)[block],
            )  # fmt: skip
        own[0] = 0.0  # keeps it alive until here
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
        _block_merged(data, weights, n, block, u, b, want, scratch, partial[block])
    combine(partial, total, out)
