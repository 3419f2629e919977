"""How far the moments of a sample are from a Gaussian's: what most of a run's outcome depends on.

In the over-specified regime these alone decide, to leading order, where a sample's MLE is and
how long EM takes: at d = 1 the excess kurtosis, at d >= 2 the gap of the largest eigenvalue of the
second moments. Both are about the model's centre and of order n^(-1/2).
"""

from __future__ import annotations

import numpy as np

from elubench.checks import Floats
from elubench.models.base import Model
from elubench.samples import Sample
from elubench.samples.base import PackedSample

_CHUNK_NUMBERS = 1 << 21  # read at a time


def shapes_of(model: Model, train: Sample, held: Sample | None) -> dict[str, float]:
    """The columns of a study's rows about its training sample and, if there is one, the held-out one."""
    found = {f"sample_{name}": value for name, value in shape_of(model, train).items()}
    if held is not None:
        found |= {f"held_{name}": value for name, value in shape_of(model, held).items()}
    return found


def shape_of(model: Model, sample: Sample) -> dict[str, float]:
    """The `kurtosis` (d = 1) or the `gap` (d >= 2) of a sample.

    With moments about the model's centre: `m4 / m2^2 - 3`, and the largest eigenvalue of the second
    moments less the mean of the others. Neither for a sample that is not in memory.
    """
    if not isinstance(sample, PackedSample):
        return {}
    centre = model.centre(sample.moments())
    if sample.d == 1:
        m2, m4 = _products(sample, centre, (1, 2))[:, 0, 0] / sample.total
        return {"kurtosis": float(m4 / m2**2 - 3.0)}
    values = np.linalg.eigvalsh(_products(sample, centre, (1,))[0] / sample.total)
    return {"gap": float(values[-1] - np.mean(values[:-1]))}


def _products(sample: PackedSample, centre: Floats, powers: tuple[int, ...]) -> Floats:
    """For each power p the weighted sum over rows of x^p (x^p)^T, each coordinate raised: (p, d, d).

    One product per tile, summed in the order of the tiles.
    """
    data, weights, rows = sample.tiles
    count, d, width = data.shape
    parts = np.empty((len(powers), count, d, d))
    step = max(1, _CHUNK_NUMBERS // (d * width))
    for start in range(0, count, step):
        here = slice(start, start + step)
        x = data[here] - centre[:, None]
        if len(weights):
            w = weights[here]
        else:
            place = np.arange(start * width, (start + len(x)) * width)
            w = (place < rows).astype(float).reshape(len(x), width)
        for out, power in zip(parts, powers, strict=True):
            raised = x**power
            out[here] = (raised * w[:, None, :]) @ raised.transpose(0, 2, 1)
    return np.asarray(np.sum(parts, axis=1))
