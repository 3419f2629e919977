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


@kernel("exact", signatures.ERROR)
def symmetric_error(theta: Any, m1: Any, m2: Any, truth: Any) -> float:
    """min(|theta - truth|, |theta + truth|): theta and -theta are the same mixture."""
    minus, plus = 0.0, 0.0
    for j in range(theta.size):
        minus += (theta[j] - truth[j]) ** 2
        plus += (theta[j] + truth[j]) ** 2
    return math.sqrt(min(minus, plus))


class SymmetricModel(Model):
    """What models with locations -theta and theta have in common."""

    even = True

    def n_params(self, d: int) -> int:
        return d

    def truth(self, location: ArrayLike, d: int) -> Floats:
        given = np.asarray(location)
        return checks.vector(np.broadcast_to(given, d) if given.ndim == 0 else given, "location", d)

    def is_stationary_start(self, params: Floats) -> bool:
        return not params.any()
