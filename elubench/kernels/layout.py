"""Where things are in the arrays that kernels share: a row of sums, and what an update reports.

A row of sums for d coordinates is

    T0   T1[d]   LC   C0   C1[d]   C2 (d (d + 1) / 2: its lower triangle, row by row)

cut after LC where the curvature is not asked for. The functions here work in kernels and in Python.
"""

from __future__ import annotations

from numba.extending import register_jitable

# What a pass brings beyond T0 and T1; these add up.
LOG_COSH, CURVATURE = 1, 2

T0, T1 = 0, 1

# What an update reports.
STEP, MOVED, FINISHED = 0, 1, 2
REPORT_SIZE = 3


@register_jitable
def log_cosh_at(d: int) -> int:
    """The place of LC, the mean log cosh."""
    return 1 + d


@register_jitable
def c0_at(d: int) -> int:
    """The place of C0."""
    return 2 + d


@register_jitable
def c1_at(d: int) -> int:
    """The first place of C1."""
    return 3 + d


@register_jitable
def c2_at(d: int) -> int:
    """The first place of C2."""
    return 3 + 2 * d


@register_jitable
def width(d: int, want: int) -> int:
    """The length of a row of sums."""
    return c2_at(d) + d * (d + 1) // 2 if want & CURVATURE else c0_at(d)
