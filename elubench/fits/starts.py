"""Where a fit starts: one step of EM from the best of the model's candidates."""

from __future__ import annotations

import numpy as np

from elubench.checks import Floats
from elubench.kernels import layout
from elubench.models import Model
from elubench.samples import Sample

_POINTS = 1e-12  # of the scale of one Gaussian: a component that narrow is a point
_NARROW = 0.1  # of that scale: the means are more than three standard deviations from the middle


def start(model: Model, sample: Sample) -> tuple[Floats, int]:
    """The start and the number of passes made.

    The step is free, being part of the read that compares the candidates, and it goes almost all the
    way if the components are far apart.
    """
    candidates, passes = model.candidates(sample)
    answers = model.evaluate(sample, candidates, layout.LOG_COSH)
    passes += 1
    if np.isnan(answers.gap).all():
        return candidates[0], passes
    begin = answers.em[int(np.nanargmin(answers.gap))]
    single = model.scale(sample, model.truth(model.centre(sample.moments()), sample.d))
    for _ in range(2):  # between narrow components the loss is steep, but EM arrives in a step
        if not _POINTS < float(np.min(model.scale(sample, begin) / single)) < _NARROW:
            break
        begin, passes = model.em_step(sample, begin), passes + 1
    if not (model.scale(sample, begin) > _POINTS * single).all():
        raise ValueError(
            "X must have more than two points, got two points, to which both components shrink: the "
            "likelihood is unbounded"
        )
    return begin, passes
