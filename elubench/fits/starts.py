"""Where a fit starts: after a few steps of EM from the best of the model's candidates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elubench.checks import Floats
from elubench.kernels import layout
from elubench.models import Model
from elubench.samples import Sample

# candidates that are compared again after a step of EM, and after another; small samples have more
# maxima, and cost nothing
_KEPT, _KEPT_OF_FEW_ROWS, _FEW_ROWS = (6, 3), (10, 5), 10_000
_APART = 0.1  # distance of two starts, in standard deviations of a component, that makes them two
_POINTS = 1e-13  # of the scale of one Gaussian: a component that narrow is a point


def starts(
    model: Model, sample: Sample, stopped: Callable[[], bool] = lambda: False
) -> tuple[list[Floats], int]:
    """The best start, a second one if it belongs to another maximum, and the number of passes made.

    All candidates are compared in one read of the data. A candidate is only a guess, so the better
    ones are compared again after a step of EM; the step is part of the read. Where components are far
    apart it goes almost all the way. ``stopped`` is asked after a read whether to leave it at that.
    """
    points, passes = model.candidates(sample)
    single = model.scale(sample, model.truth(model.centre(sample.moments()), sample.d))
    kept = _KEPT_OF_FEW_ROWS if sample.n <= _FEW_ROWS else _KEPT
    for count in (*kept, len(points)):
        answers = model.evaluate(sample, points, layout.LOG_COSH)
        passes += 1
        usable = np.isfinite(answers.gap) & np.isfinite(answers.em).all(axis=1)
        if not usable.any():
            return [points[0]], passes
        order = np.argsort(np.where(usable, answers.gap, np.inf), kind="stable")
        order = order[: min(count, np.count_nonzero(usable))]
        before, gaps, points = points[order], answers.gap[order], answers.em[order]
        scales = np.stack([model.scale(sample, point) for point in points])
        if not (scales > _POINTS * single).all():
            raise ValueError(
                "X must have more than two points, got two points, to which both components shrink: "
                "the likelihood is unbounded"
            )
        if stopped():
            return [points[0]], passes
    apart = _APART * float(np.sqrt(np.min(scales[0])))
    others = [k for k in range(1, len(points)) if model.location_error(*points[[0, k]]) > apart]
    if not others:
        return [points[0]], passes
    # another maximum has a higher loss on the way to it
    labels = [_nearer(model, before[0], before[k]) for k in others]
    middles = model.gaps(sample, 0.5 * (before[0] + np.stack(labels)))
    beyond = [points[k] for k, gap in zip(others, middles, strict=True) if gap > gaps[k]]
    return [points[0], *beyond[:1]], passes + 1


def _nearer(model: Model, one: Floats, other: Floats) -> Floats:
    """The other, its labels exchanged if that brings it closer."""
    swapped = model.swapped(other)
    return min(other, swapped, key=lambda point: float(np.sum((point - one) ** 2)))
