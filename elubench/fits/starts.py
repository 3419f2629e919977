"""Where a fit starts: after a few steps of EM from the best of the model's candidates."""

from __future__ import annotations

import numpy as np

from elubench.checks import Floats
from elubench.kernels import layout
from elubench.models import Model
from elubench.samples import Sample

_KEPT = (6, 3)  # candidates that are compared again after a step of EM, and after another
_APART = 0.1  # distance of two starts, in standard deviations of a component, that makes them two
_POINTS = 1e-13  # of the scale of one Gaussian: a component that narrow is a point


def starts(model: Model, sample: Sample) -> tuple[list[Floats], int]:
    """The best start, a second one if it is elsewhere, and the number of passes made.

    All candidates are compared in one read of the data. A candidate is only a guess, so the better
    ones are compared again after a step of EM; the step is part of the read. Where components are far
    apart it goes almost all the way.
    """
    points, passes = model.candidates(sample)
    single = model.scale(sample, model.truth(model.centre(sample.moments()), sample.d))
    for count in (*_KEPT, 0):
        answers = model.evaluate(sample, points, layout.LOG_COSH)
        passes += 1
        usable = np.isfinite(answers.gap) & np.isfinite(answers.em).all(axis=1)
        if not usable.any():
            return [points[0]], passes
        order = np.argsort(np.where(usable, answers.gap, np.inf), kind="stable")
        points = answers.em[order[: min(count or len(points), np.count_nonzero(usable))]]
        scales = np.stack([model.scale(sample, point) for point in points])
        if not (scales > _POINTS * single).all():
            raise ValueError(
                "X must have more than two points, got two points, to which both components shrink: "
                "the likelihood is unbounded"
            )
        points = np.ascontiguousarray(points)
    first, unit = points[0], float(np.sqrt(np.min(scales[0])))
    for other in points[1:]:
        if model.location_error(first, other) > _APART * unit:
            return [first, other], passes
    return [first], passes
