"""What models with the locations -theta and theta have in common."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import kernel, signatures
from elubench.models.base import Model
from elubench.samples.base import RawMoments


@kernel("exact", signatures.ERROR, plain=signatures.SMALL)
def symmetric_error(theta: Any, m1: Any, m2: Any, truth: Any) -> float:
    """min(|theta - truth|, |theta + truth|): theta and -theta are the same mixture."""
    minus, plus = 0.0, 0.0
    for j in range(theta.size):
        minus += (theta[j] - truth[j]) ** 2
        plus += (theta[j] + truth[j]) ** 2
    return math.sqrt(min(minus, plus))


class SymmetricModel(Model):
    """A model with the locations -theta and theta; its parameters are theta, d numbers."""

    even = True

    def n_params(self, d: int) -> int:
        return d

    def truth(self, location: ArrayLike, d: int) -> Floats:
        return checks.coordinates(location, "location", d)

    def placed(self, moments: RawMoments, step: Floats, aside: Floats | None = None) -> Floats:
        return step.copy()

    def swapped(self, params: Floats) -> Floats:
        return -params

    def ordered(self, params: Floats) -> Floats:
        """theta (d,) with its largest coordinate positive; -0 becomes 0."""
        largest = params[np.argmax(np.abs(params))]
        return (self.swapped(params) if largest < 0.0 else params) + 0.0

    def centre(self, moments: RawMoments) -> Floats:
        return np.zeros(moments.m1.size)
