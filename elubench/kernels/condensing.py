"""Rows of one coordinate summed into bins.

A row x falls into bin k at the local coordinate t in [-1/2, 1/2) if (x - base) / width = k + 1/2 + t.
A bin keeps the sums of w t^j, j = 0 to 15: two cache lines. :mod:`elubench.kernels.quadrature` makes a
few weighted points of them.

Rows are summed in parts of equal size, but for the last; parts are added in a fixed order, and bins do
not know of each other: the number of threads changes no bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel
from elubench.kernels.binning import add_powers, floor, reaches, store_bins
from elubench.kernels.fetching import AHEAD
from elubench.kernels.lanes import LANES, fetch, load, store, zeros
from elubench.kernels.quadrature import POWERS

PART_ROWS = 262144  # that one thread sums at a time, at most
STRIP = 256  # rows that are located before they are added: the first is vector code, the second not


@kernel("exact", counted=False)
def _locate(rows: Any, begin: int, count: int, place: Any, local: Any, bins: Any) -> bool:
    """Local coordinates and bins of the rows of a strip; whether there are any outside.

    These, NaN included, are put into one more bin after the last, whose sums nobody reads.
    """
    base, inverse, first, beyond = place
    last = np.int64(beyond - first)
    most = zeros()
    whole = count // LANES * LANES
    for i in range(0, whole, LANES):
        fetch(rows, begin + i + AHEAD)
        z = (load(rows, begin + i) - base) * inverse
        below = floor(z)
        store(local, i, z - below - 0.5)
        most = store_bins(bins, i, below - first, last, most)
    outside = reaches(most, last)
    for i in range(whole, count):
        z = (rows[begin + i] - base) * inverse
        inside = (z >= first) & (z < beyond)
        z = z if inside else beyond
        below = np.floor(z)
        local[i] = z - below - 0.5
        bins[i] = np.int64(below - first)
        outside = outside or not inside
    return outside


@kernel("exact", counted=False)
def _add_strip(t: Any, bins: Any, weights: Any, begin: int, count: int, sums: Any) -> None:
    """Add w t^j to the sums of each row's bin."""
    if weights.size > 0:
        for i in range(count):
            add_powers(sums, bins[i] * POWERS, t[i], weights[begin + i])
    else:
        for i in range(count):
            add_powers(sums, bins[i] * POWERS, t[i], 1.0)


class Room(NamedTuple):
    """Memory to sum in, by part: sums of a part and those not added to them yet; a strip."""

    total: Any  # (parts, (bins + 1) * POWERS)
    recent: Any  # the same
    t: Any  # (parts, STRIP): local coordinates
    bins: Any  # int64 (parts, STRIP)


@kernel("exact", counted=False)
def _settle(total: Any, recent: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        total[i] += recent[i]
        recent[i] = 0.0


@kernel("exact", counted=False)
def _add_part(
    rows: Any, weights: Any, part: int, place: Any, room: Any, outside: Any, found: Any
) -> None:
    """One part, strip by strip; there are found.size of them, of equal size but for the last.

    Adding up equal numbers is off the same way every time. So after each strip the bin of its last row
    is settled: that of a value which many rows share, before it has been added a few hundred times.
    """
    total, recent, t, bins = room.total[part], room.recent[part], room.t[part], room.bins[part]
    total[:] = 0.0
    recent[:] = 0.0
    last = np.int64(place[3] - place[2])
    count = 0
    strips = -(-rows.size // STRIP)
    each = STRIP * (-(-strips // found.size))
    end = min(rows.size, (part + 1) * each)
    for strip in range(part * each, end, STRIP):
        size = min(STRIP, end - strip)
        missed = _locate(rows, strip, size, place, t, bins)
        _add_strip(t, bins, weights, strip, size, recent)
        at = bins[size - 1] * POWERS
        _settle(total, recent, at, at + POWERS)
        if missed:
            for i in range(size):
                if bins[i] == last:
                    outside[part, count] = strip + i
                    count += 1
    _settle(total, recent, 0, total.size)
    found[part] = count


@kernel("exact", counted=False)
def _add_up(total: Any, parts: int, at: int) -> None:
    """The sums of a bin over all parts, into those of the first part."""
    for part in range(1, parts):
        for i in range(at, at + POWERS):
            total[0, i] += total[part, i]


_vector, _matrix, _ints = types.float64[::1], types.float64[:, ::1], types.int64[:, ::1]
_PLACE = types.UniTuple(types.float64, 4)
_ROOM = types.NamedTuple((_matrix, _matrix, _matrix, _ints), Room)
_ADD = types.void(_vector, _vector, _PLACE, _ROOM, _ints, types.int64[::1])


@kernel("parallel", _ADD)
def add_parallel(rows: Any, weights: Any, place: Any, room: Any, outside: Any, found: Any) -> None:
    """Sums of powers, into room.total[0].

    ``place`` is base, 1 / width, and the numbers of the first bin and of the one after the last. The
    first found[p] numbers of outside[p] are the rows of part p that are in no bin.
    """
    for part in prange(found.size):
        _add_part(
            borrow(rows), borrow(weights), part, place,
            borrow(room), borrow(outside), borrow(found),
        )  # fmt: skip
    for k in prange(room.total.shape[1] // POWERS):
        _add_up(borrow(room.total), found.size, k * POWERS)


@kernel("exact", _ADD)
def add_serial(rows: Any, weights: Any, place: Any, room: Any, outside: Any, found: Any) -> None:
    """The same in the calling thread."""
    for part in range(found.size):
        _add_part(rows, weights, part, place, room, outside, found)
    for k in range(room.total.shape[1] // POWERS):
        _add_up(room.total, found.size, k * POWERS)
