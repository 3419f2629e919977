"""The layout of arrays that kernels share: a row of sums, and what an update reports.

A row of sums for d coordinates is

    T0   T1[d]   LC   C0   C1[d]   C2 (d (d + 1) / 2: its lower triangle, row by row)

cut after LC where the curvature is not asked for; a row of moments is W, m1[d], m2[d]. The functions
here work in kernels and in Python.
"""

from __future__ import annotations

from typing import Any

from elubench.kernels._jit import kernel

# What a pass brings beyond T0 and T1; these add up, and the curvature brings LC along.
LOG_COSH, CURVATURE = 1, 2

T0, T1 = 0, 1

# What an update reports: a step size, whether the iterate is new, whether the algorithm is done.
STEP, MOVED, FINISHED = 0, 1, 2
REPORT_SIZE = 3

W, M1 = 0, 1


@kernel("exact", plain=True)
def log_cosh_at(d: int) -> int:
    """The place of LC, the mean log cosh."""
    return 1 + d


@kernel("exact", plain=True)
def c0_at(d: int) -> int:
    """The place of C0."""
    return 2 + d


@kernel("exact", plain=True)
def c1_at(d: int) -> int:
    """The first place of C1."""
    return 3 + d


@kernel("exact", plain=True)
def c2_at(d: int) -> int:
    """The first place of C2."""
    return 3 + 2 * d


def width(d: int, want: int) -> int:
    """The length of a row of sums; for Python alone."""
    return 3 + 2 * d + d * (d + 1) // 2 if want & CURVATURE else 2 + d


@kernel("exact", plain=True)
def m2_at(d: int) -> int:
    """The first place of m2."""
    return 1 + d


def moments_width(d: int) -> int:
    """The length of a row of moments; for Python alone."""
    return 1 + 2 * d


@kernel("exact", plain=True)
def accept(report: Any, step: float) -> None:
    """Report that the update wrote a new iterate, by a step of this size."""
    report[STEP], report[MOVED], report[FINISHED] = step, 1.0, 0.0


@kernel("exact", plain=True)
def stay(report: Any, step: float) -> None:
    """Report that the iterate is the same; the points are trials, by a step of this size."""
    report[STEP], report[MOVED], report[FINISHED] = step, 0.0, 0.0


@kernel("exact", plain=True)
def finish(report: Any) -> None:
    """Report, after accept or stay, that the algorithm is done."""
    report[FINISHED] = 1.0
