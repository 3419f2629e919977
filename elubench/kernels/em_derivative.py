"""The derivative of EM's step, from one pass with curvature.

The data enter the step through T0 and T1, and these through b and u, with the derivatives C0, C1 and C2.
The rest is a model's algebra, and differences of it cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from elubench.kernels import signatures
from elubench.kernels._jit import kernel
from elubench.kernels.layout import T0, c0_at, c1_at, c2_at
from elubench.kernels.pointers import ADDRESS, pointer_to
from elubench.kernels.vectors import copy

_SMALL = 1e-4  # of a unit, by which T0 and T1 are moved: EM's step is close to linear in them

_direction = pointer_to(signatures.DIRECTION)
_respond = pointer_to(signatures.RESPOND)
_vector, _matrix = types.float64[::1], types.float64[:, ::1]


@kernel(
    "exact",
    types.void(
        ADDRESS, ADDRESS, _vector, _vector, _vector, _vector, types.float64, _vector, _matrix,
        _vector, _vector,
    ),
    plain=signatures.SMALL,
)  # fmt: skip
def em_derivative(
    direction_of: Any,
    respond_of: Any,
    params: Any,
    m1: Any,
    m2: Any,
    units: Any,
    h: float,
    row: Any,
    derivative: Any,
    em: Any,
    gradient: Any,
) -> None:
    """The derivative (p, p) in units (p,) of the parameters, the step and the gradient (p,).

    ``row`` are the sums at the parameters, and h is by how much of a unit each of these is moved.
    """
    direction, respond = _direction(direction_of), _respond(respond_of)
    p = params.size
    d = 0
    while c2_at(d) + d * (d + 1) // 2 < row.size:
        d += 1
    curved = np.empty((d + 1, d + 1))
    curved[0, 0] = row[c0_at(d)]
    at = c2_at(d)
    for i in range(d):
        curved[0, i + 1] = curved[i + 1, 0] = row[c1_at(d) + i]
        for j in range(i + 1):
            curved[i + 1, j + 1] = curved[j + 1, i + 1] = row[at]
            at += 1
    by_sums, moved, other = np.empty((p, d + 1)), np.empty(row.size), np.empty(p)
    copy(row, moved)
    for j in range(d + 1):
        size = _SMALL * (1.0 - abs(row[T0]) if j == 0 else units[j - 1])
        moved[j] = row[j] + size
        respond(params, m1, m2, moved, em, gradient)
        moved[j] = row[j] - size
        respond(params, m1, m2, moved, other, gradient)
        moved[j] = row[j]
        for i in range(p):
            by_sums[i, j] = (em[i] - other[i]) / (2.0 * size)
    ahead, behind, point = np.empty(d), np.empty(d), np.empty(p)
    change = np.empty(d + 1)
    copy(params, point)
    for k in range(p):
        point[k] = params[k] + h * units[k]
        above = direction(point, m1, m2, ahead)
        point[k] = params[k] - h * units[k]
        below = direction(point, m1, m2, behind)
        point[k] = params[k]
        for j in range(d + 1):
            change[j] = curved[j, 0] * (above - below)
            for i in range(d):
                change[j] += curved[j, i + 1] * (ahead[i] - behind[i])
        for i in range(p):
            total = 0.0
            for j in range(d + 1):
                total += by_sums[i, j] * change[j]
            derivative[i, k] = total / (2.0 * h) / units[i]
    respond(params, m1, m2, row, em, gradient)
