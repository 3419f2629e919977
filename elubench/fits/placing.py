"""How a fit reads its data: condensed if they are many, moved if they are far from 0.

At r standard deviations from 0, m2 - m1^2 has lost 2 log10(r) of 16 digits. A model that follows its
data is fitted to their differences from the mean instead, which float64 holds exactly; for one that is
symmetric about 0 there is no such way, and a note says what is left.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.models import Model
from elubench.samples import ArraySample, CondensedSample, Sample
from elubench.samples.condensed import CONDENSED_FROM, DENSE
from elubench.samples.opening import loaded

_FEW, _NONE = 1e4, 1e7  # standard deviations from 0 where 8 and 2 digits of a variance are left


def read(X: Any, weights: Any) -> Sample:
    """X as a sample: condensed if it has one column and so many rows that it pays."""
    X = loaded(X, weights)
    if isinstance(X, Sample):
        return X
    table = checks.table(X)
    if table.shape[1] > 1 or len(table) < CONDENSED_FROM:
        return ArraySample(table, weights)
    sample = CondensedSample(table, weights)
    return sample if sample.condensed_to <= DENSE * sample.n else sample.full()


def placed(sample: Sample, model: Model) -> tuple[Sample, Floats]:
    """The sample to fit, and the point (d,) that was subtracted from its rows, usually 0."""
    origin = sample.origin()
    near = sample.about(origin) if origin.any() else sample
    m = near.moments()
    variance = m.m2 - m.m1**2
    if not (variance > 1e-14 * m.m2).any():
        raise ValueError("X must vary, got rows that are all the same")
    if model.translates:
        return near, origin
    distance = _distance(m.m1 + origin, variance)
    if distance > _NONE:
        raise ValueError(
            f"X must lie within {_NONE:g} standard deviations of 0, about which the {model.name} model "
            f"is symmetric, got {distance:.2g}; subtract a centre, or use the general model"
        )
    return sample, np.zeros(sample.d)


def digits(model: Model, sample: Sample, origin: Floats) -> list[str]:
    """A note where few digits are left: of the rows themselves, or of the scale."""
    m = sample.moments()
    distance = _distance(m.m1 + origin, m.m2 - m.m1**2)
    if distance <= (_NONE if model.translates else _FEW):
        return []
    where = f"the mean of X is {distance:.2g} standard deviations away from 0"
    lost = math.log10(distance)
    if model.translates:
        return [f"{where}, so about {_left(lost)} of the differences between rows are known"]
    return [f"{where}, so about {_left(2.0 * lost)} of the scale are known"]


def _distance(mean: Floats, variance: Floats) -> float:
    """How far the mean is from 0, in standard deviations of all coordinates together."""
    spread = math.sqrt(max(float(variance.mean()), sys.float_info.min))
    return max(map(abs, mean.tolist())) / spread


def _left(lost: float) -> str:
    return f"{max(16.0 - lost, 1.0):.0f} digits"
