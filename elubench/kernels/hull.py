"""The lower hull of points in the plane, from left to right."""

from __future__ import annotations

from typing import Any

from numba import types

from elubench.kernels._jit import kernel

_VECTOR = types.float64[::1]


@kernel("exact", types.int64(_VECTOR, _VECTOR, types.int64[::1]), pointer=False)
def lower_hull(x: Any, y: Any, kept: Any) -> int:
    """Write the places of the greatest convex minorant's corners to ``kept``; their number."""
    count = 0
    for k in range(x.size):
        while count > 1:
            i, j = kept[count - 2], kept[count - 1]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):
                break
            count -= 1
        kept[count] = k
        count += 1
    return count
