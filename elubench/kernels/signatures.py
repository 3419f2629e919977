"""Signatures of the compiled functions that are passed around: a model's algebra, an update.

The compiled loop is given their addresses, so it is compiled once, and a new model or algorithm compiles
only itself. Throughout, p is the number of parameters, d that of coordinates, k the number of points in
one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import types

#: Kernels that run as they are written at first do so on arrays of up to so many numbers: updates,
#: which may take the third power of that many steps, and the algebra of models.
FEW, SMALL = 8, 64

_number = types.float64
_vector = types.float64[::1]
_matrix = types.float64[:, ::1]


class Own(NamedTuple):
    """What belongs to an algorithm: its options, its state between calls, the iterations so far."""

    options: Any
    state: Any
    t: Any


class Answers(NamedTuple):
    """What one read of the data says about k points: each array has a leading axis for them.

    ``em`` and ``gradient`` are (k, p), ``gap`` is (k,), ``hessian`` (k, p, p), or (k, 0, 0).
    """

    em: Any
    gradient: Any
    gap: Any
    hessian: Any


#: scale(params, m1, m2, out): the scale on the curve, written to out (1 or d numbers).
SCALE = types.void(_vector, _vector, _vector, _vector)

#: direction(params, m1, m2, u) -> b: writes u (d); b is NaN where the scale is not positive.
DIRECTION = _number(_vector, _vector, _vector, _vector)

#: respond(params, m1, m2, sums, em, gradient): the EM step and the gradient, from a row of sums.
RESPOND = types.void(_vector, _vector, _vector, _vector, _vector, _vector)

#: gap(params, m1, m2, e1, e2, log_cosh): loss on the sample with moments e1, e2, its scale taken from
#: m1, m2, less the loss of the one Gaussian fitted to m1, m2.
GAP = _number(_vector, _vector, _vector, _vector, _vector, _number)

#: hessian(params, m1, m2, sums, out): second derivatives (p, p) from a row of sums with curvature.
HESSIAN = types.void(_vector, _vector, _vector, _vector, _matrix)

#: error(params, m1, m2, truth): distance of the locations from the truth (locations, always).
ERROR = _number(_vector, _vector, _vector, _vector)

#: change(params, m1, m2, out): from locations to natural coordinates, or back.
CHANGE = types.void(_vector, _vector, _vector, _vector)

OWN = types.NamedTuple((_vector, _vector, types.int64), Own)
ANSWERS = types.NamedTuple((_matrix, _matrix, _vector, types.float64[:, :, ::1]), Answers)

#: update(own, points, answers, iterate, report): what the data answered about the k points becomes the
#: next k points, in place; see elubench.algorithms.base.
UPDATE = types.void(OWN, _matrix, ANSWERS, _vector, _vector)
