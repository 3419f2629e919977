"""A model's compiled functions at many points, in one call from Python.

:func:`at_points` calls a kernel of this module with one of a model's functions: as plain Python, point
by point, until both are compiled.
"""

from __future__ import annotations

from typing import Any

from numba import types

from elubench.kernels import signatures
from elubench.kernels._jit import kernel
from elubench.kernels.pointers import ADDRESS, calling, pointer_to

_vector, _matrix = types.float64[::1], types.float64[:, ::1]
_change = pointer_to(signatures.CHANGE)
_direction = pointer_to(signatures.DIRECTION)
_respond = pointer_to(signatures.RESPOND)
_gap = pointer_to(signatures.GAP)
_hessian = pointer_to(signatures.HESSIAN)


_ANY = 1 << 62  # numbers on which these kernels may run as they are written


def _for_points(*others: Any) -> Any:
    """A kernel that takes a function, points (k, p), m1 and m2, and others.

    It only goes from point to point; the function says how much is too much for it uncompiled.
    """
    signature = types.void(ADDRESS, _matrix, _vector, _vector, *others)
    return kernel("exact", signature, plain=_ANY)


@_for_points(_matrix)
def each(function: Any, points: Any, m1: Any, m2: Any, out: Any) -> None:
    """A scale, or a change of coordinates: out (k, ...)."""
    change = _change(function)
    for k in range(points.shape[0]):
        change(points[k], m1, m2, out[k])


@_for_points(_matrix, _vector)
def directions(function: Any, points: Any, m1: Any, m2: Any, u: Any, b: Any) -> None:
    """u (k, d) and b (k,)."""
    direction = _direction(function)
    for k in range(points.shape[0]):
        b[k] = direction(points[k], m1, m2, u[k])


@_for_points(_matrix, _matrix, _matrix)
def responses(
    function: Any, points: Any, m1: Any, m2: Any, rows: Any, em: Any, gradient: Any
) -> None:
    """EM steps and gradients (k, p) from rows of sums (k, width)."""
    respond = _respond(function)
    for k in range(points.shape[0]):
        respond(points[k], m1, m2, rows[k], em[k], gradient[k])


@_for_points(_vector, _vector, _vector, _vector)
def gaps(
    function: Any, points: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: Any, out: Any
) -> None:
    """Gaps (k,) from means of log cosh (k,)."""
    gap = _gap(function)
    for k in range(points.shape[0]):
        out[k] = gap(points[k], m1, m2, e1, e2, log_cosh[k])


@_for_points(_matrix, types.float64[:, :, ::1])
def hessians(function: Any, points: Any, m1: Any, m2: Any, rows: Any, out: Any) -> None:
    """Second derivatives (k, p, p) from rows of sums (k, width)."""
    hessian = _hessian(function)
    for k in range(points.shape[0]):
        hessian(points[k], m1, m2, rows[k], out[k])


def at_points(caller: Any, function: Any, points: Any, *given: Any) -> None:
    """Call a kernel of this module with a function of a model's, points, and the rest."""
    calling(caller, function)(points, *given)
