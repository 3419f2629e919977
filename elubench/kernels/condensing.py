"""Rows of one coordinate summed into bins, and each bin turned into a few weighted points.

A row x falls into bin k at the local coordinate t in [-1/2, 1/2) if (x - base) / width = k + 1/2 + t.
A bin keeps the sums of w t^j, j = 0 to 15: two cache lines. Eight points with positive weights have the
same sixteen sums (Gauss quadrature). Chebyshev's algorithm finds their Jacobi matrix, whose eigenvalues
are the points; the first components of the eigenvectors are the roots of their weights (Golub, Welsch).
A bin with fewer distinct rows has as few points.

Rows are summed in parts of fixed size, parts are added in a fixed order, and bins do not know of each
other: the number of threads changes no bit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import prange, types

from elubench.kernels._jit import borrow, kernel
from elubench.kernels.lanes import (
    LANES,
    added,
    floor,
    load,
    store,
    store_whole,
    where_below,
    zeros,
)

POINTS = 8  # of a bin
POWERS = 2 * POINTS  # 0 to 15
PART_ROWS = 131072  # that one thread sums at a time
STRIP = 256  # rows that are located before they are added: the first is vector code, the second not
_NEXT = STRIP + LANES  # from a power to the next: 4 KiB apart, they would be taken for each other
#: Numbers that hold the powers of a strip.
POWERS_OF_STRIP = 4 * _NEXT

_BITS = np.array([[float(j >> bit & 1) for j in range(LANES)] for bit in range(3)])
_NOTHING = 1e-15  # of a bin's weight: what is left after subtraction below this is rounding
_TURNS = 60  # of the QL iteration; two for each eigenvalue are usual


@kernel("exact", counted=False)
def _locate(rows: Any, begin: int, count: int, place: Any, powers: Any, bins: Any) -> int:
    """Powers 1, 2, 4 and 8 of the local coordinates of a strip, and bins; the number of rows outside.

    These, NaN included, are put into one more bin after the last.
    """
    base, inverse, first, beyond = place
    nothing, far, missed = zeros(), zeros() + beyond, zeros()
    whole = count // LANES * LANES
    for i in range(0, whole, LANES):
        z = (load(rows, begin + i) - base) * inverse
        below = floor(z)
        t = where_below(z, beyond, z - below - 0.5, nothing)
        t = where_below(z, first, nothing, t)
        below = where_below(z, first, far, where_below(z, beyond, below, far))
        missed = missed + where_below(below, beyond, nothing, nothing + 1.0)
        store_whole(bins, i, below - first)
        t2 = t * t
        t4 = t2 * t2
        store(powers, i, t)
        store(powers, _NEXT + i, t2)
        store(powers, 2 * _NEXT + i, t4)
        store(powers, 3 * _NEXT + i, t4 * t4)
    outside = int(added(missed))
    for i in range(whole, count):
        z = (rows[begin + i] - base) * inverse
        inside = (z >= first) & (z < beyond)
        down = np.floor(z)
        t1 = z - down - 0.5 if inside else 0.0
        bins[i] = np.int64((down if inside else beyond) - first)
        outside += 0 if inside else 1
        for j in range(4):
            powers[j * _NEXT + i] = t1
            t1 = t1 * t1
    return outside


@kernel("exact", counted=False)
def _add_strip(t: Any, bins: Any, weights: Any, begin: int, count: int, sums: Any) -> None:
    """Add w t^j to the sums of each row's bin."""
    ones = zeros() + 1.0
    bit0, bit1, bit2 = load(_BITS, 0), load(_BITS, LANES), load(_BITS, 2 * LANES)
    weighted = weights.size > 0
    for i in range(count):
        powers = where_below(bit0, 0.5, ones, ones * t[i])
        powers = where_below(bit1, 0.5, powers, powers * t[_NEXT + i])
        powers = where_below(bit2, 0.5, powers, powers * t[2 * _NEXT + i])
        if weighted:
            powers = powers * weights[begin + i]
        at = bins[i] * POWERS
        store(sums, at, load(sums, at) + powers)
        store(sums, at + LANES, load(sums, at + LANES) + powers * t[3 * _NEXT + i])


class Room(NamedTuple):
    """Memory to sum in, by part: sums of a part and those not added to them yet; a strip."""

    total: Any  # (parts, (bins + 1) * POWERS)
    recent: Any  # the same
    t: Any  # (parts, POWERS_OF_STRIP): of local coordinates
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
    """A part strip by strip.

    Adding up equal numbers is off the same way every time. So after each strip the bin of its last row
    is settled: that of a value which many rows share, before it has been added a few hundred times.
    """
    total, recent, t, bins = room.total[part], room.recent[part], room.t[part], room.bins[part]
    total[:] = 0.0
    recent[:] = 0.0
    last = np.int64(place[3] - place[2])
    count = 0
    end = min(rows.size, (part + 1) * PART_ROWS)
    for strip in range(part * PART_ROWS, end, STRIP):
        size = min(STRIP, end - strip)
        missed = _locate(rows, strip, size, place, t, bins)
        _add_strip(t, bins, weights, strip, size, recent)
        at = bins[size - 1] * POWERS
        _settle(total, recent, at, at + POWERS)
        if missed > 0:
            for i in range(size):
                if bins[i] == last:
                    outside[part, count] = strip + i
                    count += 1
    _settle(total, recent, 0, total.size)
    found[part] = count


_vector, _matrix, _ints = types.float64[::1], types.float64[:, ::1], types.int64[:, ::1]
_PLACE = types.UniTuple(types.float64, 4)
_ROOM = types.NamedTuple((_matrix, _matrix, _matrix, _ints), Room)
_ADD = types.void(_vector, _vector, _PLACE, _ROOM, _ints, types.int64[::1])


@kernel("parallel", _ADD)
def add_parallel(rows: Any, weights: Any, place: Any, room: Any, outside: Any, found: Any) -> None:
    """Sums of powers by part, into room.total.

    ``place`` is base, 1 / width, and the numbers of the first bin and of the one after the last. The
    first found[p] numbers of outside[p] are the rows of part p that are in no bin.
    """
    for part in prange(found.size):
        _add_part(
            borrow(rows), borrow(weights), part, place,
            borrow(room), borrow(outside), borrow(found),
        )  # fmt: skip


@kernel("exact", _ADD)
def add_serial(rows: Any, weights: Any, place: Any, room: Any, outside: Any, found: Any) -> None:
    """The same in the calling thread."""
    for part in range(found.size):
        _add_part(rows, weights, part, place, room, outside, found)


@kernel("exact", counted=False)
def _jacobi(sums: Any, old: Any, new: Any, diagonal: Any, beside: Any) -> int:
    """Chebyshev's algorithm: the Jacobi matrix of a measure from its sums of powers; its order.

    It ends early at a measure of fewer points, where what is left is rounding.
    """
    weight = sums[0]
    for j in range(POWERS):
        old[j] = 0.0
        new[j] = sums[j] / weight
    diagonal[0] = new[1]
    beside[0] = 0.0
    ratio, norm, beta = new[1], 1.0, 0.0
    for k in range(1, POINTS):
        for j in range(k, POWERS - k):
            old[j] = new[j + 1] - diagonal[k - 1] * new[j] - beta * old[j]
        old, new = new, old
        left = new[k]
        if not left > _NOTHING:
            return k
        beta = left / norm
        centre = new[k + 1] / left - ratio
        if beta > 0.25 or abs(centre) > 0.5:
            return k
        diagonal[k] = centre
        beside[k] = math.sqrt(beta)
        ratio, norm = new[k + 1] / left, left
    return POINTS


@kernel("exact", counted=False)
def _eigen(count: int, d: Any, e: Any, first: Any) -> bool:
    """Eigenvalues d and first components of the eigenvectors of a Jacobi matrix, by implicit QL.

    e[1:] is beside the diagonal and is overwritten. False if the iteration does not end.
    """
    for i in range(count):
        first[i] = 0.0
    first[0] = 1.0
    for i in range(1, count):
        e[i - 1] = e[i]
    e[count - 1] = 0.0
    for low in range(count):
        for turn in range(_TURNS + 1):
            high = low
            while high < count - 1:
                near = abs(d[high]) + abs(d[high + 1])
                if abs(e[high]) <= 1e-17 or abs(e[high]) <= 1.1e-16 * near:
                    break
                high += 1
            if high == low:
                break
            if turn == _TURNS:
                return False
            g = (d[low + 1] - d[low]) / (2.0 * e[low])
            r = math.sqrt(g * g + 1.0)
            g = d[high] - d[low] + e[low] / (g + math.copysign(r, g))
            sine, cosine, p = 1.0, 1.0, 0.0
            ended = False
            for i in range(high - 1, low - 1, -1):
                f, b = sine * e[i], cosine * e[i]
                r = math.sqrt(f * f + g * g)
                e[i + 1] = r
                if r == 0.0:
                    d[i + 1] -= p
                    e[high] = 0.0
                    ended = True
                    break
                sine, cosine = f / r, g / r
                g = d[i + 1] - p
                r = (d[i] - g) * sine + 2.0 * cosine * b
                p = sine * r
                d[i + 1] = g + p
                g = cosine * r - b
                f = first[i + 1]
                first[i + 1] = sine * first[i] + cosine * f
                first[i] = cosine * first[i] - sine * f
            if not ended:
                d[low] -= p
                e[low] = g
                e[high] = 0.0
    return True


@kernel("exact", counted=False)
def _points_of(sums: Any, room: Any, points: Any, weights: Any) -> int:
    """Points t and weights of one bin; how many there are. ``room`` is scratch memory (4, POWERS)."""
    if not sums[0] > 0.0:
        return 0
    count = _jacobi(sums, room[0], room[1], points, room[2])
    if not _eigen(count, points, room[2], room[3]):
        count = 1
        points[0] = sums[1] / sums[0]
        room[3, 0] = 1.0
    for i in range(count):
        points[i] = min(max(points[i], -0.5), 0.5)
        weights[i] = sums[0] * room[3, i] * room[3, i]
    return count


_POINTS = types.void(_matrix, types.float64[:, :, ::1], _matrix, _matrix, types.int64[::1])


@kernel("parallel", _POINTS)
def points_parallel(sums: Any, room: Any, points: Any, weights: Any, counts: Any) -> None:
    """Sums (bins, POWERS) to points and weights (bins, POINTS), of which the first counts[k] hold.

    ``room`` is (bins, 4, POWERS).
    """
    for k in prange(counts.size):
        counts[k] = _points_of(
            borrow(sums)[k], borrow(room)[k], borrow(points)[k], borrow(weights)[k]
        )


@kernel("exact", _POINTS)
def points_serial(sums: Any, room: Any, points: Any, weights: Any, counts: Any) -> None:
    """The same in the calling thread."""
    for k in range(counts.size):
        counts[k] = _points_of(sums[k], room[k], points[k], weights[k])
