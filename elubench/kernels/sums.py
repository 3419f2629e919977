"""The sums over tiles: projections, and products of their tanh with the rows.

A sum has eight accumulators, one per lane, whose order is written here. They are kept in memory while
tiles are read one after another, and added up after a stretch of tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elubench.kernels._jit import kernel
from elubench.kernels.elementwise import log_cosh, loss_of, more_gone, more_grown, tanh
from elubench.kernels.fetching import fetch_projecting, fetch_summing
from elubench.kernels.lanes import (
    LANES,
    LINE,
    absolute,
    added,
    align_stack,
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
from elubench.kernels.pairs import add_curvature, add_pairs, strip_tiles
from elubench.kernels.tiles import PAGE, ROWS, STRETCH

# Numbers that are written out in a call are np.int64(0) and the like: Numba takes each plain one to be
# a type of its own, for which the function is compiled again.


@kernel("exact", inline=True, counted=False)
def plus(s: Any, value: Any) -> Any:
    """Accumulators, and the parts of a value added to them one after another."""
    return s + part(value, 0) + part(value, 1) + part(value, 2) + part(value, 3)


@kernel("exact", inline=True, counted=False)
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
        fetch_projecting(data, at, d, j)
        y = y + u[j] * load_wide(data, at + j * ROWS)
    return y


@kernel("exact", inline=True, counted=False)
def _add_moments(t: Any, data: Any, at: int, d: int, s: Any) -> None:
    """Add t, and its products with every coordinate, to the accumulators s."""
    store(s, 0, plus(load(s, 0), t))
    for j in range(d):
        fetch_summing(data, at, d, j)
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


@kernel("exact", counted=False)
def add_plain(
    data: Any, weights: Any, n: int, begin: int, end: int, u: Any, b: float, s: Any, out: Any
) -> None:
    """Add T0 and T1 of the tiles from begin to end; begin is where a stretch begins."""
    d = u.size
    s = s[_away(s, align_stack()) :]
    for stretch in range(begin, end, STRETCH):
        _clear(s, d)
        for tile in range(stretch, min(stretch + STRETCH, end)):
            at = tile * d * ROWS
            t = weighed(tanh(_project(data, at, d, u, b)), weights, tile, n)
            _add_moments(t, data, at, d, s)
        _add_up(s, d, out)


@kernel("exact", counted=False)
def _add_line(c: Any, data: Any, begin: int, end: int, out: Any) -> None:
    """Add the sums of c, c x and c x^2 of the tiles from begin to end, for a single coordinate."""
    d, curved, s, r = np.int64(1), zeros(), zeros(), zeros()
    for i in range(0, (end - begin) * ROWS, ROWS):
        value, x = load_wide(c, i), load_wide(data, begin * ROWS + i)
        p = rounded(value, x)
        curved, s, r = plus(curved, value), plus(s, p), plus_products(r, p, x)
    out[c0_at(d)] += added(curved)
    out[c1_at(d)] += added(s)
    out[c2_at(d)] += added(r)


@kernel("exact", inline=True, counted=False)
def _lost(c: Any, rows: int, gone: Any, grown: Any) -> Any:
    """Take rows of tanh in c to the products for the loss; c becomes 1 - tanh^2."""
    for i in range(0, rows, ROWS):
        t = load_wide(c, i)
        square = rounded(t, t)
        left = 1.0 - square
        gone, grown = more_gone(gone, square, left), more_grown(grown, absolute(t))
        store(c, i, left)
    return gone, grown


@kernel("exact", inline=True, counted=False)
def _add_losing(
    data: Any,
    weights: Any,
    n: int,
    first: int,
    stop: int,
    d: int,
    u: Any,
    b: float,
    s: Any,
    c: Any,
    ones: int,
    far: Any,
    single: Any,
) -> Any:
    """Add t and t x of a strip to the accumulators, and what the loss needs of each tile.

    c becomes tanh where rows count once, else 1 - tanh^2 times the weight.
    """
    for tile in range(first, stop):
        at = tile * d * ROWS
        y, here = _project(data, at, d, u, b), (tile - first) * ROWS
        t = tanh(y)
        if tile < ones:
            store(c, here, t)
            far = plus(far, absolute(y))
        else:
            single = plus(single, weighed(log_cosh(y), weights, tile, n))
            store(c, here, weighed(1.0 - rounded(t, t), weights, tile, n))
            t = weighed(t, weights, tile, n)
        _add_moments(t, data, at, d, s)
    return far, single


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
    """The same, with LC and what else is wanted; c is room for a number per row of a stretch.

    Rows that count once are taken to the loss after they are summed: tanh needs all registers.
    """
    d = u.size
    s = s[_away(s, align_stack()) :]
    strip = strip_tiles(d) if want & CURVATURE else np.int64(STRETCH)
    ones = n // ROWS if weights.shape[0] == 0 else np.int64(0)  # tiles of rows that count once
    for stretch in range(begin, end, STRETCH):
        _clear(s, d)
        last = min(stretch + STRETCH, end)
        gone, grown, far = zeros(), 1.0 + zeros(), zeros()
        single = zeros()
        for first in range(stretch, last, strip):
            stop = min(first + strip, last)
            if d == 4:
                far, single = _add_losing(
                    data, weights, n, first, stop, np.int64(4), u, b, s, c, ones, far, single
                )
            else:
                far, single = _add_losing(
                    data, weights, n, first, stop, d, u, b, s, c, ones, far, single
                )
            gone, grown = _lost(c, (min(stop, ones) - first) * ROWS, gone, grown)
            if want & CURVATURE and d == 1:
                _add_line(c, data, first, stop, out)
            elif want & CURVATURE and d <= 4:
                add_curvature(c, data, first, stop, d, out)
            elif want & CURVATURE:
                curved = zeros()
                for i in range(0, (stop - first) * ROWS, ROWS):
                    curved = plus(curved, load_wide(c, i))
                out[c0_at(d)] += added(curved)
                c1, c2, following = c1_at(d), c2_at(d), stop * d * ROWS
                rows = data.reshape(-1)
                add_pairs(c, rows, first, stop - first, d, out, c1, c2, rows, following)
        _add_up(s, d, out)
        out[log_cosh_at(d)] += added(single)
        if weights.shape[0] == 0:
            out[log_cosh_at(d)] += loss_of(gone, grown, far)
