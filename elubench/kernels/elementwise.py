"""tanh and log cosh of a buffer, from one exponential.

Numba's wheels contain no vector maths library, and ``math.tanh`` is one call per number. Here both
functions are computed without branches, table look-ups or integer conversions:

    k = round(2a / ln 2),  r = 2a - k ln 2,  |r| <= ln(2)/2            with a = min(|z|, 20)
    expm1(r) = r + r^2 Q(r),  e = expm1(2a) = 2^k expm1(r) + (2^k - 1)
    tanh(a) = a + a^3 T(a^2)                                  for a <  0.26
            = e / (e + 2)                                     for a >= 0.26

    log cosh(a) = a^2 (1/2 + a^2 P(a^2))                      for a <  3/4
                = (a - ln 2) + log1p(1 / (1 + e))             for a >= 3/4

k is rounded by adding 1.5 * 2^52, whose low bits then hold k, and 2^k is made from those bits. The
polynomials are minimax in the relative error (Remez exchange with 50 digits), which is at most 5e-17.
Below 0.26 the quotient, whose numerator, denominator and value are each rounded, would be off by up to
2.6 units in the last place; with T it is 0.6, and this is where iterates end. The largest errors seen
are 1.5 units in the last place for tanh and 2.1 for log cosh; the tests allow 2 and 4.

Each function is several short loops over buffers instead of one long one. The arithmetic for one number
is a chain of some thirty dependent steps. In a long loop a core can look ahead by a number or two only;
in a short one by enough of them to fill the waiting time. The last loop waits for the division whatever
else it does, so the pass can take its sums there: :func:`tanh_at` is its body.

A sum of log cosh over rows of weight 1 needs no logarithm per row: :func:`tanh_with_loss` multiplies
1 - tanh^2 and 1 + tanh over the rows instead, and :func:`loss_of` takes one logarithm of the product.
"""

from __future__ import annotations

import math
from typing import Any

from elubench.kernels._jit import kernel
from elubench.kernels.lanes import (
    LANES,
    LINE,
    absolute,
    added,
    at_most,
    either,
    fetch,
    load,
    lowest,
    multiplied,
    power_of_two,
    rounded,
    signed,
    store,
    where_below,
    zeros,
)

_ROUNDER = 6755399441055744.0  # 1.5 * 2^52
_SATURATION = 20.0  # tanh rounds to 1 from 19.06 on
_TWO_LOG2_E = float.fromhex("0x1.71547652b82fep+1")
_LN2_HIGH = float.fromhex("0x1.62e42fefa2000p-1")  # 41 bits: k times it is exact
_LN2_LOW = float.fromhex("0x1.9ef35793c7673p-41")
_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_LN2_REST = float.fromhex("0x1.abc9e3b39803fp-56")

_Q0, _Q1, _Q2, _Q3, _Q4 = (
    0.5000000000000006,
    0.16666666666666685,
    0.04166666666657381,
    0.008333333333314524,
    0.0013888888932359282,
)
_Q5, _Q6, _Q7, _Q8, _Q9 = (
    0.00019841269903199957,
    2.480150443764007e-05,
    2.7557227789124328e-06,
    2.7626338955818844e-07,
    2.5114528666083276e-08,
)
_T0, _T1, _T2, _T3, _T4, _T5, _T6 = (
    -0.3333333333333242,
    0.13333333332987832,
    -0.05396825352598863,
    0.021869461659976136,
    -0.008862360092853653,
    0.0035763881173074444,
    -0.0013075712277613005,
)
_P0, _P1, _P2, _P3, _P4, _P5 = (
    -0.08333333333332613,
    0.02222222222146669,
    -0.006746031718482896,
    0.0021869483516073814,
    -0.000738597627775488,
    0.0002565447590228379,
)
_P6, _P7, _P8, _P9, _P10 = (
    -9.08307446450479e-05,
    3.2303829162344435e-05,
    -1.0995011776294604e-05,
    3.1113841924170064e-06,
    -5.133054562418635e-07,
)
_L0, _L1, _L2, _L3, _L4, _L5 = (
    -0.4999999999999645,
    0.3333333333239532,
    -0.2499999991380628,
    0.1999999604200627,
    -0.16666560717506906,
    0.14283921648944306,
)
_L6, _L7, _L8, _L9, _L10 = (
    -0.12479965137400766,
    0.10960150936417203,
    -0.0923174820620691,
    0.06491740608561528,
    -0.026740085821347976,
)

#: How many numbers :func:`expm1_into` fetches from memory per number of a buffer, and :func:`tanh_at`
#: again. The loops below are written for two, with the fetches spread evenly in time.
FETCH = 2


@kernel("exact")
def _reduce(y: Any, r: Any, power: Any, m: int, data: Any, at: int) -> None:
    for i in range(0, m, LANES):
        fetch(data, at + i)
        a = at_most(absolute(load(y, i)), _SATURATION)
        shifted = a * _TWO_LOG2_E + _ROUNDER
        k = shifted - _ROUNDER
        store(r, i, (2.0 * a - k * _LN2_HIGH) - k * _LN2_LOW)
        store(power, i, power_of_two(shifted))


@kernel("exact")
def expm1_into(y: Any, e: Any, power: Any, m: int, data: Any, at: int) -> None:
    """Write exp(2|y|) - 1, cut off where tanh is 1, to e; ``power`` is scratch memory.

    m is a multiple of LANES. Meanwhile ``FETCH * m`` numbers of data from ``at`` on are fetched.
    """
    _reduce(y, e, power, m, data, at)
    for i in range(0, m, LANES):
        fetch(data, at + m + i)
        r, scale = load(e, i), load(power, i)
        high = _Q4 + r * (_Q5 + r * (_Q6 + r * (_Q7 + r * (_Q8 + r * _Q9))))
        q = _Q0 + r * (_Q1 + r * (_Q2 + r * (_Q3 + r * high)))
        store(e, i, scale * (r + r * r * q) + (scale - 1.0))


@kernel("exact")
def tanh_of(z: Any, e: Any) -> Any:
    """The lanes of tanh z for z >= 0, given e = expm1(2z)."""
    a = at_most(z, _SATURATION)
    s = a * a
    p = _T0 + s * (_T1 + s * (_T2 + s * (_T3 + s * (_T4 + s * (_T5 + s * _T6)))))
    return where_below(a, 0.26, a + a * s * p, e / (e + 2.0))


@kernel("exact")
def tanh_at(y: Any, e: Any, i: int, data: Any, at: int) -> Any:
    """The lanes of tanh y from position i on, given e = expm1(2|y|): the body of a loop.

    Whatever else the loop does is nearly free, because the slow quotient leaves the units for sums
    and products idle. Per number it fetches ``FETCH`` numbers of data.
    """
    fetch(data, at + FETCH * i)
    fetch(data, at + FETCH * i + LINE)
    z = load(y, i)
    return signed(tanh_of(absolute(z), load(e, i)), z)


@kernel("exact")
def tanh_in_place(y: Any, e: Any, m: int, data: Any, at: int) -> None:
    """Replace y by its tanh, given e = expm1(2|y|)."""
    for i in range(0, m, LANES):
        store(y, i, tanh_at(y, e, i, data, at))


@kernel("exact")
def tanh_with_loss(y: Any, e: Any, m: int, data: Any, at: int) -> float:
    """Replace y by t = tanh y and e = expm1(2|y|) by 1 - t^2; return the sum of log cosh y."""
    gone, grown, far = zeros(), 1.0 + zeros(), zeros()
    for i in range(0, m, LANES):
        fetch(data, at + FETCH * i)
        fetch(data, at + FETCH * i + LINE)
        value = load(y, i)
        z = absolute(value)
        t = tanh_of(z, load(e, i))
        square = rounded(t, t)
        store(y, i, signed(t, value))
        store(e, i, 1.0 - square)
        gone = gone + square * (1.0 - gone)
        grown = grown + grown * t
        far = far + z
    return loss_of(gone, grown, far)


@kernel("exact")
def loss_of(gone: Any, grown: Any, far: Any) -> float:
    """The sum of log cosh y from three numbers per lane, each made of up to 64 rows.

    With t = tanh |y|, log cosh y = -log(1 - t^2) / 2 = |y| - log(1 + t). ``gone`` is one minus the
    product of 1 - t^2, ``grown`` the product of 1 + t, at most 2^64, and ``far`` the sum of |y|. The
    first keeps every digit near 0, where the difference of the others would cancel; far from 0 it is
    the other way round.
    """
    left = 1.0 - gone
    product = multiplied(left)
    if product > 0.5:
        return -0.5 * math.log1p(-either(gone))
    if lowest(left) > 0.25:
        return -0.5 * math.log(product)
    return added(far) - math.log(multiplied(grown))


@kernel("exact")
def log_cosh_into(y: Any, e: Any, out: Any, m: int) -> None:
    """Write log cosh of y to another buffer, given e = expm1(2|y|)."""
    for i in range(0, m, LANES):
        z = absolute(load(y, i))
        a = at_most(z, _SATURATION)
        s = a * a
        high = _P5 + s * (_P6 + s * (_P7 + s * (_P8 + s * (_P9 + s * _P10))))
        p = _P0 + s * (_P1 + s * (_P2 + s * (_P3 + s * (_P4 + s * high))))
        q = 1.0 / (1.0 + load(e, i))
        high = _L5 + q * (_L6 + q * (_L7 + q * (_L8 + q * (_L9 + q * _L10))))
        tail = _L0 + q * (_L1 + q * (_L2 + q * (_L3 + q * (_L4 + q * high))))
        far = (z - _LN2) + ((q + q * q * tail) - _LN2_REST)
        store(out, i, where_below(z, 0.75, s * (0.5 + s * p), far))
