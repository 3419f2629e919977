"""The hardware's limits: only reading the data, and only computing tanh.

A pass does both, so it takes at least the longer of the two. These kernels have no signature: only
comparisons call them, so ``warmup`` does not compile them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from elubench.kernels._jit import kernel
from elubench.kernels.elementwise import tanh
from elubench.kernels.lanes import LINE, WIDE, align_stack, load_wide, store

SHARE = 16384  # numbers that a thread takes at a time
IN_CACHE = 512  # numbers, which fit the level-1 cache with room to spare


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


@kernel("exact")
def _tanh_of(y: Any, count: int) -> None:
    """tanh of tanh and so on. What does not fit the registers is in whole cache lines, as in a pass."""
    align_stack()
    for i in range(0, count, WIDE):
        at = i % IN_CACHE
        store(y, at, tanh(load_wide(y, at)))


@kernel("parallel")
def tanh_in_cache(count: int) -> float:
    """``count`` evaluations of tanh on numbers that never leave the level-1 cache."""
    shares = (count + SHARE - 1) // SHARE
    partial = np.zeros(shares)
    for share in prange(shares):
        room = np.full(IN_CACHE + LINE, 3.0)
        begin = -room.ctypes.data % (8 * LINE) // 8
        y = room[begin : begin + IN_CACHE]
        _tanh_of(y, min(SHARE, count - share * SHARE))
        partial[share] = _sum(y)
    return partial.sum()
