"""The hardware's limits: only reading the data, and only computing tanh.

A pass does both, so it takes at least the longer of the two. These kernels have no signature: only
comparisons call them, so ``warmup`` does not compile them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from elubench.kernels._jit import kernel
from elubench.kernels.elementwise import expm1_into, tanh_in_place
from elubench.kernels.lanes import LANES
from elubench.kernels.reduction import buffers

SHARE = 16384  # numbers that a thread takes at a time
IN_CACHE = 512  # numbers per buffer, of which three fit the level-1 cache with room to spare


@kernel("reduction")
def _sum(numbers: Any) -> float:
    total = 0.0
    for i in range(numbers.size):
        total += numbers[i]
    return total


@kernel("parallel")
def add_up(numbers: Any) -> float:
    """The sum of an array: what it costs only to read the data."""
    shares = (numbers.size + SHARE - 1) // SHARE
    partial = np.zeros(shares)
    for share in prange(shares):
        partial[share] = _sum(numbers[share * SHARE : (share + 1) * SHARE])
    return partial.sum()


@kernel("parallel")
def tanh_in_cache(count: int) -> float:
    """``count`` evaluations of tanh on numbers that never leave the level-1 cache."""
    shares = (count + SHARE - 1) // SHARE
    partial = np.zeros(shares)
    for share in prange(shares):
        own = buffers(IN_CACHE)
        y, e, power = own[0], own[1], own[2]
        y[:] = 3.0
        left = min(SHARE, count - share * SHARE)
        while left > 0:
            m = min(IN_CACHE, (left + LANES - 1) // LANES * LANES)
            expm1_into(y, e, power, m, y, 0)
            tanh_in_place(y, e, m, y, 0)
            left -= m
        partial[share] = _sum(y[:IN_CACHE])
    return partial.sum()
