"""Whether parts of unequal size would suit data better that were fitted with equal weights.

Rao's score test for half the log odds h at the fit, where h = 0: with the gradient -T0 and the curvature
that is left of 1 - C0 when the locations follow, n T0^2 / curvature is chi^2 with one degree of freedom
for parts of equal size. It takes no further fit, only the sums that a second-order pass brings.
"""

from __future__ import annotations

import math

import numpy as np

from elubench.algorithms import NewtonAnderson
from elubench.checks import Floats
from elubench.kernels import layout, ready
from elubench.models import General, Model
from elubench.samples import Sample, remedies

#: The 99.9 % point of chi^2 with one degree of freedom: equal parts are told otherwise once in 1000.
LIMIT = 10.83
_FLAT = 1e-8  # curvature that is as good as none
_FEW = 2.5  # rows that make no part


def statistic(model: Model, sample: Sample, params: Floats) -> float:
    """The test's statistic, NaN where the likelihood is not held by its curvature; one pass."""
    moments, d = sample.moments(), sample.d
    inputs = model.inputs(moments)
    u, point = np.empty((1, d)), np.empty(len(params))
    b = ready(model.algebra.direction)(params, *inputs, u[0])
    row = sample.sums(u, np.array([b]), layout.LOG_COSH | layout.CURVATURE)[0]
    assert model.natural is not None
    ready(model.natural.from_locations)(params, *inputs, point)
    bend = np.empty((2 * d, 2 * d))
    ready(model.natural.algebra.hessian)(point, *inputs, row, bend)
    c0, c1 = row[layout.c0_at(d)], row[layout.c1_at(d) : layout.c2_at(d)]
    spread = model.spread(moments)
    middle = moments.m1 + spread * point[:d]
    across = np.concatenate([c0 * point[d:], (c0 * middle - c1) / spread])
    units = np.sqrt(np.maximum(np.diagonal(bend), 0.0))
    if not (units > 0.0).all():
        return math.nan
    across, bend = across / units, bend / np.outer(units, units)
    values, vectors = np.linalg.eigh(bend)
    if not values[0] > _FLAT:
        return math.nan
    left = 1.0 - c0 - float(np.sum((vectors.T @ across) ** 2 / values))
    return float(moments.weight * row[layout.T0] ** 2 / left) if left > _FLAT else math.nan


def notes(model: Model, sample: Sample, params: Floats, two: bool) -> list[str]:
    """Sentences about the sizes of the parts.

    With equal weights, asked only where there are clearly ``two`` parts.
    """
    if not two:
        return []
    held = sample.n_weighted * float(np.min(model.weights(params)))
    if held < _FEW:
        return [f"one component holds {held:.2g} rows: an outlier rather than a part"]
    if model != General() or sample.d > NewtonAnderson.up_to:
        return []
    found = statistic(model, sample, params)
    if not found > LIMIT:
        return []
    said = f"score test {found:.3g}; equal parts stay below {LIMIT:.3g} (99.9 %)"
    return [f"the parts are of unequal size ({said}): {remedies.FREE_WEIGHTS}"]
