"""Small operations on vectors, as loops: NumPy's assignments take seconds to compile."""

from __future__ import annotations

import math
from typing import Any

from elubench.kernels._jit import kernel


@kernel("exact", plain=True)
def copy(source: Any, target: Any) -> None:
    """Copy a vector."""
    for j in range(target.size):
        target[j] = source[j]


@kernel("exact", plain=True)
def norm(v: Any) -> float:
    """Euclidean length."""
    total = 0.0
    for value in v:
        total += value * value
    return math.sqrt(total)
