"""The sums over tiles: projections, and products of what was computed of them with the rows.

A sum has eight accumulators, one per lane, whose order is written here. They are kept in memory while
tiles are read one after another, and added up after a stretch of tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elubench.kernels._jit import kernel
from elubench.kernels.elementwise import log_cosh, loss_of, more_gone, more_grown, tanh
from elubench.kernels.lanes import (
    LANES,
    LINE,
    absolute,
    added,
    align_stack,
    fetch,
    leading,
    load,
    load_wide,
    part,
    rounded,
    store,
    zeros,
    zeros_wide,
)
from elubench.kernels.layout import CURVATURE, T0, T1, c0_at, c1_at, c2_at, log_cosh_at
from elubench.kernels.tiles import AHEAD, PAGE, ROWS

#: Tiles whose sums have the same accumulators: a product of 1 + tanh over 64 rows per lane is finite.
STRETCH = 16

_FEW = 4  # coordinates, up to which arithmetic takes longer than reading
# While pairs are summed, what comes next is fetched from so many coordinates on: with fewer, the
# processor does that better by itself.
_FETCHING = 7
_STRIP_NUMBERS = 2048  # 16 KiB: half the level-1 cache

# Numbers that are written out in a call are np.int64(0) and the like: Numba takes each plain one to be
# a type of its own, for which the function is compiled again.


@kernel("exact", inline=True)
def plus(s: Any, value: Any) -> Any:
    """Accumulators, and the parts of a value added to them one after another."""
    return s + part(value, 0) + part(value, 1) + part(value, 2) + part(value, 3)


@kernel("exact", inline=True)
def plus_products(s: Any, one: Any, other: Any) -> Any:
    """The same for the products of two values."""
    s = s + part(one, 0) * part(other, 0)
    s = s + part(one, 1) * part(other, 1)
    s = s + part(one, 2) * part(other, 2)
    return s + part(one, 3) * part(other, 3)


@kernel("exact", inline=True, counted=False)
def _project(data: Any, at: int, d: int, u: Any, b: float) -> Any:
    """y = x.u + b for the tile at this place."""
    y = b + zeros_wide()
    for j in range(d):
        if d <= _FEW:
            for line in range(0, ROWS, LINE):
                fetch(data, at + AHEAD + j * ROWS + line)
        y = y + u[j] * load_wide(data, at + j * ROWS)
    return y


@kernel("exact", inline=True, counted=False)
def _add_moments(t: Any, data: Any, at: int, d: int, s: Any) -> None:
    """Add t, and its products with every coordinate, to the accumulators s.

    Every other line of the next tile is fetched, which sets the processor's own fetching going before
    the next projection begins.
    """
    store(s, 0, plus(load(s, 0), t))
    ahead = at + d * ROWS
    for j in range(d):
        if d > _FEW:
            for line in range(0, ROWS, 2 * LINE):
                fetch(data, ahead + j * ROWS + line)
        place = (1 + j) * LANES
        store(s, place, plus_products(load(s, place), t, load_wide(data, at + j * ROWS)))


@kernel("exact", inline=True, counted=False)
def weighed(value: Any, weights: Any, tile: int, n: int) -> Any:
    """The value times the weights of the rows of a tile; 0 for rows that only pad it."""
    if weights.shape[0] > 0:
        value = value * load_wide(weights, tile * ROWS)
    if n - tile * ROWS < ROWS:
        value = leading(value, n - tile * ROWS)
    return value


@kernel("exact", plain=True)
def accumulators(d: int) -> int:
    """Numbers for the accumulators of t and t x, wherever in a page they have to be."""
    return (1 + d) * LANES + PAGE


@kernel("exact", inline=True, counted=False)
def _away(s: Any, stack: int) -> int:
    """A place in s that is half a page away from the stack, but for whole pages.

    Reading waits for a number that was written to the same place of another page, as if it were the
    same number: if accumulators and stack met like that, some processes would be a fifth slower.
    """
    return (stack + 4 * PAGE - s.ctypes.data) % (8 * PAGE) // (8 * LINE) * LINE


@kernel("exact", counted=False)
def _clear(s: Any, d: int) -> None:
    """Begin a stretch of tiles."""
    for j in range(0, (1 + d) * LANES, LANES):
        store(s, j, zeros())


@kernel("exact", counted=False)
def _add_up(s: Any, d: int, out: Any) -> None:
    """Add the accumulators of t and t x over a stretch of tiles to T0 and T1."""
    out[T0] += added(load(s, 0))
    for j in range(d):
        out[T1 + j] += added(load(s, (1 + j) * LANES))


@kernel("exact", inline=True, counted=False)
def _add_tiles(
    data: Any,
    weights: Any,
    n: int,
    begin: int,
    end: int,
    d: int,
    u: Any,
    b: float,
    s: Any,
    out: Any,
) -> None:
    """:func:`add_plain`, inlined where d is known."""
    _clear(s, d)
    for tile in range(begin, end):
        at = tile * d * ROWS
        t = weighed(tanh(_project(data, at, d, u, b)), weights, tile, n)
        _add_moments(t, data, at, d, s)
        if tile % STRETCH == STRETCH - 1:
            _add_up(s, d, out)
            _clear(s, d)
    _add_up(s, d, out)


@kernel("exact", counted=False)
def add_plain(
    data: Any, weights: Any, n: int, begin: int, end: int, u: Any, b: float, s: Any, out: Any
) -> None:
    """Add T0 and T1 of the tiles from begin to end; begin is where a stretch begins."""
    s = s[_away(s, align_stack()) :]
    if u.size == 1:  # loops of a known length are 4 to 7 % faster
        _add_tiles(data, weights, n, begin, end, np.int64(1), u, b, s, out)
    elif u.size == 4:
        _add_tiles(data, weights, n, begin, end, np.int64(4), u, b, s, out)
    else:
        _add_tiles(data, weights, n, begin, end, u.size, u, b, s, out)


@kernel("exact", counted=False)
def _four(j: int, count: int) -> tuple[int, int, int, int]:
    """Where the coordinates j to j + 3 of a tile begin; the last one replaces any beyond it."""
    most = count - 1
    return j * ROWS, min(j + 1, most) * ROWS, min(j + 2, most) * ROWS, min(j + 3, most) * ROWS


@kernel("exact", counted=False)
def _add_four(s0: Any, s1: Any, s2: Any, s3: Any, j: int, count: int, out: Any, at: int) -> None:
    """out[at + j] += s0 and so on, up to the last coordinate."""
    out[at + j] += added(s0)
    if j + 1 < count:
        out[at + j + 1] += added(s1)
    if j + 2 < count:
        out[at + j + 2] += added(s2)
    if j + 3 < count:
        out[at + j + 3] += added(s3)


@kernel("exact", plain=True)
def strip_tiles(d: int) -> int:
    """Tiles of which all coordinates stay in the level-1 cache, but at least two."""
    return min(max(_STRIP_NUMBERS // (d * ROWS), 2), STRETCH)


@kernel("exact", inline=True)
def _loaded(x: Any, at0: int, at1: int, at2: int, at3: int) -> tuple[Any, Any, Any, Any]:
    return load(x, at0), load(x, at1), load(x, at2), load(x, at3)


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
    """out[at:] += sum c x_i x_j for i >= j, row by row: two coordinates and four at a time.

    x has these tiles from number ``first`` on, c the rows of them all. The sums of c x_i are added to
    out[single:] on the way, if that is not negative; else c may have no numbers, which stands for ones.
    Every coordinate is read many times, so tiles should be few enough for the level-1 cache. Meanwhile
    as many numbers of data are fetched, from place ``following`` on.
    """
    begin, rows, beside = first * d * ROWS, tiles * ROWS, (d - 1) * ROWS
    ahead, last = following, following + (d * rows if d >= _FETCHING else 0)
    for i in range(0, d, 2):
        next_one = min(i + 1, d - 1)
        one, two, place = i * ROWS, next_one * ROWS, at + i * (i + 1) // 2
        for j in range(0, next_one + 1, 4):
            at0, at1, at2, at3 = _four(j, next_one + 1)
            s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
            r0, r1, r2, r3 = zeros(), zeros(), zeros(), zeros()
            if j == 0 and single >= 0:
                s, r = zeros(), zeros()
                for row in range(0, rows, LANES):
                    fetch(data, ahead)
                    fetch(data, ahead + LINE)
                    ahead = min(ahead + 2 * LINE, last)
                    k, value = begin + row + row // ROWS * beside, load(c, row)
                    p, q = rounded(value, load(x, one + k)), rounded(value, load(x, two + k))
                    s, r = s + p, r + q
                    x0, x1, x2, x3 = _loaded(x, at0 + k, at1 + k, at2 + k, at3 + k)
                    s0, s1, s2, s3 = s0 + p * x0, s1 + p * x1, s2 + p * x2, s3 + p * x3
                    r0, r1, r2, r3 = r0 + q * x0, r1 + q * x1, r2 + q * x2, r3 + q * x3
                out[single + i] += added(s)
                if next_one > i:
                    out[single + next_one] += added(r)
            else:
                for row in range(0, rows, LANES):
                    fetch(data, ahead)
                    fetch(data, ahead + LINE)
                    ahead = min(ahead + 2 * LINE, last)
                    k = begin + row + row // ROWS * beside
                    p, q = load(x, one + k), load(x, two + k)
                    if c.size > 0:
                        value = load(c, row)
                        p, q = rounded(value, p), rounded(value, q)
                    x0, x1, x2, x3 = _loaded(x, at0 + k, at1 + k, at2 + k, at3 + k)
                    s0, s1, s2, s3 = s0 + p * x0, s1 + p * x1, s2 + p * x2, s3 + p * x3
                    r0, r1, r2, r3 = r0 + q * x0, r1 + q * x1, r2 + q * x2, r3 + q * x3
            _add_four(s0, s1, s2, s3, j, i + 1, out, place)
            if next_one > i:
                _add_four(r0, r1, r2, r3, j, i + 2, out, place + i + 1)


@kernel("exact", counted=False)
def add_curvature(c: Any, data: Any, begin: int, end: int, d: int, out: Any) -> None:
    """Add the sums of c, c x and c x x^T of the tiles from begin to end, for up to 4 coordinates.

    The last coordinate stands in for any beyond it.
    """
    if d == 1:
        curved, s, r = zeros(), zeros(), zeros()
        for i in range(0, (end - begin) * ROWS, ROWS):
            value, x = load_wide(c, i), load_wide(data, begin * ROWS + i)
            p = rounded(value, x)
            curved, s, r = plus(curved, value), plus(s, p), plus_products(r, p, x)
        out[c0_at(d)] += added(curved)
        out[c1_at(d)] += added(s)
        out[c2_at(d)] += added(r)
        return
    at0, at1, at2, at3 = _four(np.int64(0), d)
    curved, s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros(), zeros()
    s00, s10, s11, s20, s21 = zeros(), zeros(), zeros(), zeros(), zeros()
    s22, s30, s31, s32, s33 = zeros(), zeros(), zeros(), zeros(), zeros()
    for tile in range(begin, end):
        for i in range(0, ROWS, LANES):
            value, k = load(c, (tile - begin) * ROWS + i), tile * d * ROWS + i
            x0, x1, x2, x3 = _loaded(data, at0 + k, at1 + k, at2 + k, at3 + k)
            curved = curved + value
            p = rounded(value, x0)
            s0 = s0 + p
            s00 = s00 + p * x0
            p = rounded(value, x1)
            s1 = s1 + p
            s10 = s10 + p * x0
            s11 = s11 + p * x1
            p = rounded(value, x2)
            s2 = s2 + p
            s20 = s20 + p * x0
            s21 = s21 + p * x1
            s22 = s22 + p * x2
            p = rounded(value, x3)
            s3 = s3 + p
            s30 = s30 + p * x0
            s31 = s31 + p * x1
            s32 = s32 + p * x2
            s33 = s33 + p * x3
    out[c0_at(d)] += added(curved)
    _add_four(s0, s1, s2, s3, np.int64(0), d, out, c1_at(d))
    at = c2_at(d)
    out[at] += added(s00)
    _add_four(s10, s11, s20, s21, np.int64(0), np.int64(2 if d == 2 else 4), out, at + 1)
    if d > 2:
        out[at + 5] += added(s22)
    if d > 3:
        _add_four(s30, s31, s32, s33, np.int64(0), d, out, at + 6)


@kernel("exact", counted=False)
def add_with_loss(
    data: Any,
    weights: Any,
    n: int,
    begin: int,
    end: int,
    u: Any,
    b: float,
    s: Any,
    c: Any,
    want: int,
    out: Any,
) -> None:
    """The same, with LC and what else is wanted; c is room for the rows of a stretch.

    Accumulators of the loss stay in registers, since they belong to one stretch.
    """
    d = u.size
    s = s[_away(s, align_stack()) :]
    strip = strip_tiles(d) if want & CURVATURE else np.int64(STRETCH)
    for stretch in range(begin, end, STRETCH):
        _clear(s, d)
        last = min(stretch + STRETCH, end)
        gone, grown, far = zeros(), 1.0 + zeros(), zeros()
        single = zeros()
        for first in range(stretch, last, strip):
            stop = min(first + strip, last)
            for tile in range(first, stop):
                at = tile * d * ROWS
                y = _project(data, at, d, u, b)
                t = tanh(y)
                square = rounded(t, t)
                left = 1.0 - square
                if weights.shape[0] == 0 and n - tile * ROWS >= ROWS:
                    gone = more_gone(gone, square, left)
                    grown = more_grown(grown, absolute(t))
                    far = plus(far, absolute(y))
                else:
                    single = plus(single, weighed(log_cosh(y), weights, tile, n))
                store(c, (tile - first) * ROWS, weighed(left, weights, tile, n))
                _add_moments(weighed(t, weights, tile, n), data, at, d, s)
            if want & CURVATURE and d <= 4:
                add_curvature(c, data, first, stop, d, out)
            elif want & CURVATURE:
                curved = zeros()
                for i in range(0, (stop - first) * ROWS, ROWS):
                    curved = plus(curved, load_wide(c, i))
                out[c0_at(d)] += added(curved)
                c1, c2, following = c1_at(d), c2_at(d), stop * d * ROWS
                add_pairs(c, data, first, stop - first, d, out, c1, c2, data, following)
        _add_up(s, d, out)
        out[log_cosh_at(d)] += added(single)
        if weights.shape[0] == 0:
            out[log_cosh_at(d)] += loss_of(gone, grown, far)
