"""Sums over tiles of c x x^T: a product for each pair of coordinates.

Many sums are taken at a time, so each has only ``REGISTER`` of its eight accumulators in a register, and
the rows are gone through again for the others. A sum stays the same to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elubench.kernels._jit import kernel
from elubench.kernels.lanes import LANES, LINE, added, fetch, rounded
from elubench.kernels.layout import c0_at, c1_at, c2_at
from elubench.kernels.processor import REGISTER
from elubench.kernels.registers import add_four, load_register, zeros_register
from elubench.kernels.tiles import ROWS, STRETCH

# While pairs are summed, what comes next is fetched from so many coordinates on: with fewer, the
# processor does that better by itself.
_FETCHING = 7
_STRIP_NUMBERS = 2048  # 16 KiB: half of a level-1 cache, or a third


@kernel("exact", counted=False)
def _four(j: int, count: int) -> tuple[int, int, int, int]:
    """Where the coordinates j to j + 3 of a tile begin; the last one replaces any beyond it."""
    most = count - 1
    return j * ROWS, min(j + 1, most) * ROWS, min(j + 2, most) * ROWS, min(j + 3, most) * ROWS


@kernel("exact", inline=True, counted=False)
def add_some(s0: Any, s1: Any, s2: Any, s3: Any, j: int, count: int, out: Any, at: int) -> None:
    """out[at + j] += s0 and so on, up to the last coordinate."""
    if j + 3 < count:
        add_four(out, at + j, s0, s1, s2, s3)
        return
    out[at + j] += added(s0)
    if j + 1 < count:
        out[at + j + 1] += added(s1)
    if j + 2 < count:
        out[at + j + 2] += added(s2)


@kernel("exact", inline=True, counted=False)
def add_triangle(
    s00: Any, s10: Any, s11: Any, s20: Any, s21: Any, s22: Any, s30: Any, s31: Any, s32: Any, s33: Any,
    d: int, out: Any, at: int,
) -> None:  # fmt: skip
    """The same for the pairs of two to four coordinates: the first d rows of a triangle."""
    if d == 2:
        out[at] += added(s00)
        out[at + 1] += added(s10)
        out[at + 2] += added(s11)
        return
    add_four(out, at, s00, s10, s11, s20)
    out[at + 4] += added(s21)
    out[at + 5] += added(s22)
    if d > 3:
        add_four(out, at + 6, s30, s31, s32, s33)


@kernel("exact", plain=True)
def strip_tiles(d: int) -> int:
    """Tiles of which all coordinates stay in the level-1 cache, but at least two."""
    return min(max(_STRIP_NUMBERS // (d * ROWS), 2), STRETCH)


@kernel("exact", inline=True, counted=False)
def _loaded(x: Any, at0: int, at1: int, at2: int, at3: int) -> tuple[Any, Any, Any, Any]:
    return (
        load_register(x, at0),
        load_register(x, at1),
        load_register(x, at2),
        load_register(x, at3),
    )


@kernel("exact", inline=True, counted=False)
def _fetch_more(data: Any, ahead: int, last: int) -> int:
    """Fetch the next few lines, from ``ahead`` on; where the next ones are."""
    for line in range(0, REGISTER * LINE, LINE):
        fetch(data, ahead + line)
    return min(ahead + REGISTER * LINE, last)


@kernel("exact", inline=True, counted=False)
def nothing() -> tuple[Any, Any, Any, Any]:
    """Four empty sums."""
    return zeros_register(), zeros_register(), zeros_register(), zeros_register()


@kernel("exact", inline=True, counted=False)
def _some_lanes(
    c: Any, x: Any, lane: int, begin: int, tiles: int, d: int, places: Any, alone: bool, more: Any
) -> Any:
    """:func:`_products`, but only a register of each sum, from this lane on."""
    data, ahead, last = more
    one, two, at0, at1, at2, at3 = places
    s0, s1, s2, s3 = nothing()
    r0, r1, r2, r3 = nothing()
    s, r = zeros_register(), zeros_register()
    for tile in range(tiles):
        ahead = _fetch_more(data, ahead, last)
        for row in range(lane, ROWS, LANES):
            k = begin + tile * d * ROWS + row
            p, q = load_register(x, one + k), load_register(x, two + k)
            if c.size > 0:
                value = load_register(c, tile * ROWS + row)
                p, q = rounded(value, p), rounded(value, q)
            if alone:
                s, r = s + p, r + q
            x0, x1, x2, x3 = _loaded(x, at0 + k, at1 + k, at2 + k, at3 + k)
            s0, s1, s2, s3 = s0 + p * x0, s1 + p * x1, s2 + p * x2, s3 + p * x3
            r0, r1, r2, r3 = r0 + q * x0, r1 + q * x1, r2 + q * x2, r3 + q * x3
    return s0, s1, s2, s3, r0, r1, r2, r3, s, r


@kernel("exact", inline=True, counted=False)
def _products(
    c: Any, x: Any, begin: int, tiles: int, d: int, places: Any, alone: bool, more: Any
) -> Any:
    """The sums of c x_i x_j over tiles from ``begin`` on, for two i and four j; of c x_i, if ``alone``.

    ``places`` are those of the coordinates in a tile, and ``more`` says what to fetch meanwhile.
    """
    first = _some_lanes(c, x, np.int64(0), begin, tiles, d, places, alone, more)
    if REGISTER == LANES:
        return first
    data, ahead, last = more
    more = (data, min(ahead + tiles * REGISTER * LINE, last), last)
    s0, s1, s2, s3, r0, r1, r2, r3, s, r = first
    a0, a1, a2, a3, b0, b1, b2, b3, a, b = _some_lanes(
        c, x, np.int64(REGISTER), begin, tiles, d, places, alone, more
    )
    return s0 + a0, s1 + a1, s2 + a2, s3 + a3, r0 + b0, r1 + b1, r2 + b2, r3 + b3, s + a, r + b


@kernel("exact", counted=False)
def add_pairs(
    c: Any,
    x: Any,
    first: int,
    tiles: int,
    d: int,
    out: Any,
    single: int,
    at: int,
    data: Any,
    following: int,
) -> None:
    """Add the sums of c x x^T to out, from place ``at`` on: the lower triangle, row by row.

    The sums of c x are added from ``single`` on, if that is not negative. ``first`` is the first of the
    tiles; c has a number per row from its first place on, or none where every row counts once, too.
    Every coordinate is read many times, so tiles should be few enough for the level-1 cache. Meanwhile
    as many numbers of data are fetched, from place ``following`` on.
    """
    begin, ahead = first * d * ROWS, following
    last = following + (d * tiles * ROWS if d >= _FETCHING else 0)
    for i in range(0, d, 2):
        next_one = min(i + 1, d - 1)
        place = at + i * (i + 1) // 2
        for j in range(0, next_one + 1, 4):
            places = (i * ROWS, next_one * ROWS, *_four(j, next_one + 1))
            more = (data, ahead, last)
            ahead = min(ahead + tiles * LANES * LINE, last)
            alone = j == 0 and single >= 0
            s0, s1, s2, s3, r0, r1, r2, r3, s, r = _products(
                c, x, begin, tiles, d, places, alone, more
            )
            if alone:
                out[single + i] += added(s)
                if next_one > i:
                    out[single + next_one] += added(r)
            add_some(s0, s1, s2, s3, j, i + 1, out, place)
            if next_one > i:
                add_some(r0, r1, r2, r3, j, i + 2, out, place + i + 1)


@kernel("exact", inline=True, counted=False)
def _curved_two(c: Any, data: Any, begin: int, end: int, d: int, lane: int) -> Any:
    """Sums of c, c x and c x x^T for two coordinates, from this lane on."""
    w, s0, s1 = zeros_register(), zeros_register(), zeros_register()
    s00, s10, s11 = zeros_register(), zeros_register(), zeros_register()
    for tile in range(begin, end):
        for i in range(lane, ROWS, LANES):
            value, k = load_register(c, (tile - begin) * ROWS + i), tile * d * ROWS + i
            x0, x1 = load_register(data, k), load_register(data, k + ROWS)
            p, q = rounded(value, x0), rounded(value, x1)
            w, s0, s1 = w + value, s0 + p, s1 + q
            s00, s10, s11 = s00 + p * x0, s10 + q * x0, s11 + q * x1
    return w, s0, s1, s00, s10, s11


@kernel("exact", inline=True, counted=False)
def _curved_four(c: Any, data: Any, begin: int, end: int, d: int, lane: int) -> Any:
    """The same for three or four; the third stands in for the fourth where there is none."""
    w = zeros_register()
    s0, s1, s2, s3 = nothing()
    s00, s10, s11, s20 = nothing()
    s21, s22, s30, s31 = nothing()
    s32, s33, beyond = zeros_register(), zeros_register(), (d - 1) * ROWS
    for tile in range(begin, end):
        for i in range(lane, ROWS, LANES):
            value, k = load_register(c, (tile - begin) * ROWS + i), tile * d * ROWS + i
            x0, x1, x2, x3 = _loaded(data, k, k + ROWS, k + 2 * ROWS, k + beyond)
            p, q = rounded(value, x0), rounded(value, x1)
            w, s0, s1 = w + value, s0 + p, s1 + q
            s00, s10, s11 = s00 + p * x0, s10 + q * x0, s11 + q * x1
            p, q = rounded(value, x2), rounded(value, x3)
            s2, s20, s21, s22 = s2 + p, s20 + p * x0, s21 + p * x1, s22 + p * x2
            s3, s30, s31 = s3 + q, s30 + q * x0, s31 + q * x1
            s32, s33 = s32 + q * x2, s33 + q * x3
    return w, s0, s1, s2, s3, s00, s10, s11, s20, s21, s22, s30, s31, s32, s33


@kernel("exact", counted=False)
def add_curvature(c: Any, data: Any, begin: int, end: int, d: int, out: Any) -> None:
    """Add the sums of c, c x and c x x^T of the tiles from begin to end, for 2 to 4 coordinates."""
    at, single = c2_at(d), c1_at(d)
    if d == 2:
        w, s0, s1, s00, s10, s11 = _curved_two(c, data, begin, end, d, np.int64(0))
        if REGISTER < LANES:
            more = _curved_two(c, data, begin, end, d, np.int64(REGISTER))
            w, s0, s1 = w + more[0], s0 + more[1], s1 + more[2]
            s00, s10, s11 = s00 + more[3], s10 + more[4], s11 + more[5]
        out[c0_at(d)] += added(w)
        out[single] += added(s0)
        out[single + 1] += added(s1)
        out[at] += added(s00)
        out[at + 1] += added(s10)
        out[at + 2] += added(s11)
        return
    w, s0, s1, s2, s3, s00, s10, s11, s20, s21, s22, s30, s31, s32, s33 = _curved_four(
        c, data, begin, end, d, np.int64(0)
    )
    if REGISTER < LANES:
        more = _curved_four(c, data, begin, end, d, np.int64(REGISTER))
        w, s0, s1, s2, s3 = w + more[0], s0 + more[1], s1 + more[2], s2 + more[3], s3 + more[4]
        s00, s10, s11, s20 = s00 + more[5], s10 + more[6], s11 + more[7], s20 + more[8]
        s21, s22, s30, s31 = s21 + more[9], s22 + more[10], s30 + more[11], s31 + more[12]
        s32, s33 = s32 + more[13], s33 + more[14]
    out[c0_at(d)] += added(w)
    add_some(s0, s1, s2, s3, np.int64(0), d, out, single)
    add_triangle(s00, s10, s11, s20, s21, s22, s30, s31, s32, s33, d, out, at)
