"""tanh and log cosh of many numbers at a time, from one exponential.

Numba's wheels contain no vector maths library, and ``math.tanh`` is one call per number. Here both
functions are computed without branches, table look-ups or integer conversions:

    k = round(2a / ln 2 - 1/4),  r = 2a - k ln 2,  -ln(2)/4 <= r <= 3 ln(2)/4     with a = min(|z|, 20)
    p = expm1(r) = r + r^2 Q(r),  e = expm1(2a) = 2^k p + (2^k - 1)

    tanh(a) = a + a (2 r Q(r) - p) / (p + 2)                  for k = 0, that is a < 0.26
            = e / (e + 2)                                     for k > 0

    log cosh(a) = a^2 (1/2 + a^2 P(a^2))                      for a <  3/4
                = (a - ln 2) + log1p(1 / (1 + e))             for a >= 3/4

Both forms of tanh are the quotient of expm1(2a) and expm1(2a) + 2. Numerator, denominator and value are
each rounded, which for small a makes an error of up to 2.6 units in the last place. The first form is a
plus a small correction, so that little more than the rounding of the sum counts, and this is where
iterates end. k is rounded by adding 1.5 * 2^52, whose low bits then hold k, and 2^k is made from those
bits; the quarter lets k = 0 reach as far as the second form needs. The polynomials are minimax in the
relative error (Remez exchange with 50 digits), which is at most 5e-17. The largest errors seen are 1.6
units in the last place for tanh (1.2 where k = 0) and 2.4 for log cosh; the tests allow 2 and 4.

The division is what takes longest, and multiplications come second: products by 2 are sums.

A sum of log cosh over rows of weight 1 needs no logarithm per row: products of 1 - tanh^2 and 1 + tanh
over the rows are taken instead (:func:`more_gone`, :func:`more_grown`), and :func:`loss_of` takes one
logarithm of the product.
"""

from __future__ import annotations

import math
from typing import Any

from elubench.kernels._jit import kernel
from elubench.kernels.lanes import (
    absolute,
    added,
    at_most,
    either,
    lowest,
    multiplied,
    part,
    power_of_two,
    signed,
    where_below,
)
from elubench.kernels.registers import in_step

_ROUNDER = 6755399441055744.0  # 1.5 * 2^52
_SATURATION = 20.0  # tanh rounds to 1 from 19.06 on
_TWO_LOG2_E = float.fromhex("0x1.71547652b82fep+1")
_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_LN2_REST = float.fromhex("0x1.abc9e3b39803fp-56")

_Q0, _Q1, _Q2, _Q3, _Q4 = (
    0.5000000000000006,
    0.1666666666666609,
    0.04166666666654125,
    0.008333333334359995,
    0.001388888894123906,
)
_Q5, _Q6, _Q7, _Q8, _Q9 = (
    0.00019841264175865495,
    2.480162586817746e-05,
    2.7565753522454227e-06,
    2.7242962630514794e-07,
    2.9432959236082505e-08,
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


@kernel("exact", inline=True, counted=False)
def _exponential(a: Any) -> tuple[Any, Any, Any]:
    """p, r Q(r) and 2^k, see above, for 0 <= a <= 20."""
    shifted = (a * _TWO_LOG2_E - 0.25) + _ROUNDER
    k = shifted - _ROUNDER
    r = (a + a) - k * _LN2
    high = _Q4 + r * (_Q5 + r * (_Q6 + r * (_Q7 + r * (_Q8 + r * _Q9))))
    half = in_step(r * (_Q0 + r * (_Q1 + r * (_Q2 + r * (_Q3 + r * high)))))
    return r + r * half, half, power_of_two(shifted)


@kernel("exact", inline=True, counted=False)
def tanh(y: Any) -> Any:
    """tanh of each lane."""
    a = at_most(absolute(y), _SATURATION)
    p, half, scale = _exponential(a)
    near, far = (half + half) - p, scale * p + (scale - 1.0)
    quotient = where_below(scale, 1.5, near, far) / (far + 2.0)
    return signed(where_below(scale, 1.5, a + a * quotient, quotient), y)


@kernel("exact", inline=True, counted=False)
def log_cosh(y: Any) -> Any:
    """log cosh of each lane; beside tanh, the compiler computes the exponential once."""
    z = absolute(y)
    a = at_most(z, _SATURATION)
    p, _, scale = _exponential(a)
    s = a * a
    high = _P5 + s * (_P6 + s * (_P7 + s * (_P8 + s * (_P9 + s * _P10))))
    near = s * (0.5 + s * (_P0 + s * (_P1 + s * (_P2 + s * (_P3 + s * (_P4 + s * high))))))
    q = 1.0 / (1.0 + (scale * p + (scale - 1.0)))
    high = _L5 + q * (_L6 + q * (_L7 + q * (_L8 + q * (_L9 + q * _L10))))
    tail = _L0 + q * (_L1 + q * (_L2 + q * (_L3 + q * (_L4 + q * high))))
    far = (z - _LN2) + ((q + q * q * tail) - _LN2_REST)
    return where_below(z, 0.75, near, far)


@kernel("exact", inline=True, counted=False)
def more_gone(gone: Any, square: Any, left: Any) -> Any:
    """One minus a product of 1 - t^2, for further rows with these t^2 and 1 - t^2, t = tanh y.

    Rows p and q have p + q (1 - p) together.
    """
    one = part(square, 0) + part(square, 1) * part(left, 0)
    two = part(square, 2) + part(square, 3) * part(left, 2)
    one = one + two * (1.0 - one)
    return gone + one * (1.0 - gone)


@kernel("exact", inline=True, counted=False)
def more_grown(grown: Any, t: Any) -> Any:
    """A product of 1 + t, for further rows; t is tanh |y|."""
    one, two = 1.0 + part(t, 0), 1.0 + part(t, 1)
    one, two = one + one * part(t, 2), two + two * part(t, 3)
    return grown * (one * two)


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
