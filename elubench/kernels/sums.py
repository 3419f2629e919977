"""The sums over one tile: projections, and products of what was computed of them with the rows.

A sum has eight accumulators, one per lane, whose order is written here: a loop that takes several sums
at once has the same bits as several loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elubench.kernels._jit import kernel
from elubench.kernels.elementwise import FETCH, loss_of, tanh_at, tanh_of
from elubench.kernels.lanes import (
    LANES,
    LINE,
    absolute,
    added,
    fetch,
    load,
    rounded,
    signed,
    store,
    zeros,
)
from elubench.kernels.layout import (
    CURVATURE,
    T0,
    T1,
    c0_at,
    c1_at,
    c2_at,
    log_cosh_at,
)

_STRIP_NUMBERS = 2048  # 16 KiB: half the level-1 cache

# Numbers that are written out in a call are np.int64(0) and the like: Numba takes each plain one to be
# a type of its own, for which the function is compiled again.


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
def project(x: Any, u: Any, b: float, y: Any, m: int, data: Any, ahead: int) -> None:
    """y = x.u + b for one tile x (d, rows), four coordinates at a time: y is read and written less.

    From the fifth coordinate on, half of the same places ``ahead`` are fetched, and the other half by
    :func:`add_moments`: memory has work all the time.
    """
    d, rows = x.shape
    u0, u1, u2, u3 = _factors(u, np.int64(0))
    if d == 1:
        for i in range(0, m, LANES):
            store(y, i, b + u0 * load(x, i))
        return
    at0, at1, at2, at3 = _four(np.int64(0), d, rows)
    for i in range(0, m, LANES):
        z = b + u0 * load(x, at0 + i) + u1 * load(x, at1 + i)
        store(y, i, z + u2 * load(x, at2 + i) + u3 * load(x, at3 + i))
    for j in range(4, d, 4):
        u0, u1, u2, u3 = _factors(u, j)
        at0, at1, at2, at3 = _four(j, d, rows)
        for i in range(0, m, LANES):
            fetch(data, ahead + at0 + i)
            fetch(data, ahead + at1 + i)
            z = load(y, i) + u0 * load(x, at0 + i) + u1 * load(x, at1 + i)
            store(y, i, z + u2 * load(x, at2 + i) + u3 * load(x, at3 + i))


@kernel("elementwise")
def weigh(t: Any, weights: Any, tile: int, valid: int, m: int) -> None:
    """Multiply by the weights; rows that only pad the tile get weight 0."""
    if weights.shape[0] > 0:
        for i in range(m):
            t[i] = t[i] * weights[tile, i]
    for i in range(valid, m):
        t[i] = 0.0


@kernel("exact")
def total_of(v: Any, m: int) -> float:
    """The sum of a buffer."""
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
def add_moments(v: Any, x: Any, m: int, out: Any, at: int, data: Any, ahead: int) -> None:
    """out[at] += sum of v, followed by the products with every coordinate, four at a time.

    From the fifth coordinate on, half of the same places ``ahead`` are fetched.
    """
    d, rows = x.shape
    at0, at1, at2, at3 = _four(np.int64(0), d, rows)
    plain, s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros(), zeros()
    for i in range(0, m, LANES):
        value = load(v, i)
        plain = plain + value
        s0 = s0 + value * load(x, at0 + i)
        s1 = s1 + value * load(x, at1 + i)
        s2 = s2 + value * load(x, at2 + i)
        s3 = s3 + value * load(x, at3 + i)
    out[at] += added(plain)
    _add_four(s0, s1, s2, s3, np.int64(0), d, out, at + 1)
    for j in range(4, d, 4):
        at0, at1, at2, at3 = _four(j, d, rows)
        s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
        for i in range(0, m, LANES):
            fetch(data, ahead + at2 + i)
            fetch(data, ahead + at3 + i)
            value = load(v, i)
            s0 = s0 + value * load(x, at0 + i)
            s1 = s1 + value * load(x, at1 + i)
            s2 = s2 + value * load(x, at2 + i)
            s3 = s3 + value * load(x, at3 + i)
        _add_four(s0, s1, s2, s3, j, d, out, at + 1)


@kernel("exact", plain=True)
def strip_rows(d: int) -> int:
    """Rows of which all coordinates stay in the level-1 cache."""
    return max(_STRIP_NUMBERS // d // LANES, 8) * LANES


@kernel("exact", counted=False)
def add_pairs(
    c: Any, x: Any, m: int, out: Any, single: int, at: int, data: Any, ahead: int, last: int
) -> None:
    """out[at:] += sum c x_i x_j for i >= j, row by row: two coordinates and four at a time.

    The sums of c x_i are added to out[single:] on the way, if that is not negative; else c may have no
    numbers, which stands for ones. Every coordinate is read many times, so rows are taken in strips that
    stay in the level-1 cache. Meanwhile the numbers of data from ``ahead`` to ``last`` are fetched.
    """
    d, rows = x.shape
    strip = strip_rows(d)
    for begin in range(0, m, strip):
        end = min(begin + strip, m)
        for i in range(0, d, 2):
            next_one = min(i + 1, d - 1)
            one, two, place = i * rows, next_one * rows, at + i * (i + 1) // 2
            for j in range(0, next_one + 1, 4):
                at0, at1, at2, at3 = _four(j, next_one + 1, rows)
                s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
                r0, r1, r2, r3 = zeros(), zeros(), zeros(), zeros()
                if j == 0 and single >= 0:
                    s, r = zeros(), zeros()
                    for k in range(begin, end, LANES):
                        value = load(c, k)
                        p, q = rounded(value, load(x, one + k)), rounded(value, load(x, two + k))
                        s, r = s + p, r + q
                        x0, x1, x2, x3 = _loaded(x, at0 + k, at1 + k, at2 + k, at3 + k)
                        s0, s1, s2, s3 = s0 + p * x0, s1 + p * x1, s2 + p * x2, s3 + p * x3
                        r0, r1, r2, r3 = r0 + q * x0, r1 + q * x1, r2 + q * x2, r3 + q * x3
                    out[single + i] += added(s)
                    if next_one > i:
                        out[single + next_one] += added(r)
                else:
                    for k in range(begin, end, LANES):
                        fetch(data, ahead)
                        ahead = min(ahead + LINE, last)
                        p, q = load(x, one + k), load(x, two + k)
                        if c.size > 0:
                            value = load(c, k)
                            p, q = rounded(value, p), rounded(value, q)
                        x0, x1, x2, x3 = _loaded(x, at0 + k, at1 + k, at2 + k, at3 + k)
                        s0, s1, s2, s3 = s0 + p * x0, s1 + p * x1, s2 + p * x2, s3 + p * x3
                        r0, r1, r2, r3 = r0 + q * x0, r1 + q * x1, r2 + q * x2, r3 + q * x3
                _add_four(s0, s1, s2, s3, j, i + 1, out, place)
                if next_one > i:
                    _add_four(r0, r1, r2, r3, j, i + 2, out, place + i + 1)


@kernel("exact")
def _loaded(x: Any, at0: int, at1: int, at2: int, at3: int) -> tuple[Any, Any, Any, Any]:
    return load(x, at0), load(x, at1), load(x, at2), load(x, at3)


@kernel("exact", inline=True, counted=False)
def add_tanh_moments(y: Any, e: Any, x: Any, m: int, data: Any, at: int, out: Any) -> None:
    """The same bits as tanh_in_place and then add_moments, in one loop, for d <= 4 and weights 1.

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
    at0, at1, at2, at3 = _four(np.int64(0), d, rows)
    for i in range(0, m, LANES):
        t = tanh_at(y, e, i, data, at)
        plain = plain + t
        s0 = s0 + t * load(x, at0 + i)
        s1 = s1 + t * load(x, at1 + i)
        s2 = s2 + t * load(x, at2 + i)
        s3 = s3 + t * load(x, at3 + i)
    out[T0] += added(plain)
    _add_four(s0, s1, s2, s3, np.int64(0), d, out, np.int64(T1))


@kernel("exact", inline=True, counted=False)
def add_everything(y: Any, e: Any, x: Any, m: int, data: Any, at: int, want: int, out: Any) -> None:
    """The same bits as tanh_with_loss and the sums one by one, in one loop, for d = 1 and weights 1."""
    d = x.shape[0]
    gone, grown, far = zeros(), 1.0 + zeros(), zeros()
    t0, t1, c0, c1, c2 = zeros(), zeros(), zeros(), zeros(), zeros()
    for i in range(0, m, LANES):
        fetch(data, at + FETCH * i)
        fetch(data, at + FETCH * i + LINE)
        value, row = load(y, i), load(x, i)
        z = absolute(value)
        t = tanh_of(z, load(e, i))
        square = rounded(t, t)
        gone = gone + square * (1.0 - gone)
        grown = grown + grown * t
        far = far + z
        t = signed(t, value)
        t0 = t0 + t
        t1 = t1 + t * row
        c = 1.0 - square
        product = rounded(c, row)
        c0 = c0 + c
        c1 = c1 + product
        c2 = c2 + product * row
    out[T0] += added(t0)
    out[T1] += added(t1)
    out[log_cosh_at(d)] += loss_of(gone, grown, far)
    if want & CURVATURE:
        out[c0_at(d)] += added(c0)
        out[c1_at(d)] += added(c1)
        out[c2_at(d)] += added(c2)


@kernel("exact", inline=True, counted=False)
def add_loss_moments(
    y: Any, e: Any, x: Any, m: int, data: Any, at: int, want: int, out: Any
) -> None:
    """The same bits as tanh_with_loss and the sums of t, t x and c, in one loop, for 2 <= d <= 4.

    Weights are 1. e becomes c = 1 - t^2, of which :func:`add_curvature` takes the other sums: there are
    two loops because all sums together need more registers than there are.
    """
    d, rows = x.shape
    at0, at1, at2, at3 = _four(np.int64(0), d, rows)
    gone, grown, far = zeros(), 1.0 + zeros(), zeros()
    plain, s0, s1, s2, s3, curved = zeros(), zeros(), zeros(), zeros(), zeros(), zeros()
    for i in range(0, m, LANES):
        fetch(data, at + FETCH * i)
        fetch(data, at + FETCH * i + LINE)
        value = load(y, i)
        z = absolute(value)
        t = tanh_of(z, load(e, i))
        square = rounded(t, t)
        gone = gone + square * (1.0 - gone)
        grown = grown + grown * t
        far = far + z
        c = 1.0 - square
        store(e, i, c)
        curved = curved + c
        t = signed(t, value)
        plain = plain + t
        s0 = s0 + t * load(x, at0 + i)
        s1 = s1 + t * load(x, at1 + i)
        s2 = s2 + t * load(x, at2 + i)
        s3 = s3 + t * load(x, at3 + i)
    out[T0] += added(plain)
    _add_four(s0, s1, s2, s3, np.int64(0), d, out, np.int64(T1))
    out[log_cosh_at(d)] += loss_of(gone, grown, far)
    if want & CURVATURE:
        out[c0_at(d)] += added(curved)


@kernel("exact", counted=False)
def add_curvature(c: Any, x: Any, m: int, out: Any) -> None:
    """Add the sums of c x and c x x^T for 2 to 4 coordinates, in one loop.

    The last coordinate stands in for any beyond it.
    """
    d, rows = x.shape
    at0, at1, at2, at3 = _four(np.int64(0), d, rows)
    s0, s1, s2, s3 = zeros(), zeros(), zeros(), zeros()
    s00, s10, s11, s20, s21 = zeros(), zeros(), zeros(), zeros(), zeros()
    s22, s30, s31, s32, s33 = zeros(), zeros(), zeros(), zeros(), zeros()
    for i in range(0, m, LANES):
        value = load(c, i)
        x0, x1, x2, x3 = _loaded(x, at0 + i, at1 + i, at2 + i, at3 + i)
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
    _add_four(s0, s1, s2, s3, np.int64(0), d, out, c1_at(d))
    at = c2_at(d)
    out[at] += added(s00)
    _add_four(s10, s11, s20, s21, np.int64(0), np.int64(2 if d == 2 else 4), out, at + 1)
    if d > 2:
        out[at + 5] += added(s22)
    if d > 3:
        _add_four(s30, s31, s32, s33, np.int64(0), d, out, at + 6)
