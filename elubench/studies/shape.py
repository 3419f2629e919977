"""How far the moments of a sample are from a Gaussian's: what most of a run's outcome depends on.

In the over-specified regime these alone decide, to leading order, where a sample's MLE is and
how long EM takes: at d = 1 the excess kurtosis, at d >= 2 the gap of the largest eigenvalue of the
second moments, and for the scale their trace. All are about the model's centre and of order n^(-1/2).
"""

from __future__ import annotations

import numpy as np

from elubench.models.base import Model
from elubench.samples import Sample
from elubench.samples.base import PackedSample


def shapes_of(model: Model, train: Sample, held: Sample | None) -> dict[str, float]:
    """The columns of a study's rows about its training sample and, if there is one, the held-out one."""
    found = {f"sample_{name}": value for name, value in shape_of(model, train).items()}
    if held is not None:
        found |= {f"held_{name}": value for name, value in shape_of(model, held).items()}
    return found


def shape_of(model: Model, sample: Sample) -> dict[str, float]:
    """The `kurtosis` (d = 1), or the `gap` and the `trace` (d >= 2), of a sample.

    With moments about the model's centre: `m4 / m2^2 - 3`; the largest eigenvalue of the second
    moments less the mean of the others; and the mean eigenvalue less 1, the scale of the truth.
    None of them for a sample that is not in memory.
    """
    if not isinstance(sample, PackedSample):
        return {}
    shape = sample.shape_about(model.centre(sample.moments()), np.ones(sample.d))
    if sample.d == 1:
        return {"kurtosis": float(shape.fourth[0] / shape.second[0, 0] ** 2 - 3.0)}
    values = np.linalg.eigvalsh(shape.second)
    return {"gap": float(values[-1] - np.mean(values[:-1])), "trace": float(np.mean(values) - 1.0)}
