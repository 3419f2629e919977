"""Moments: a formula from 1894 and one read of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from elubench.algorithms.base import DirectAlgorithm, Goal, Look
from elubench.checks import Floats
from elubench.models.base import Model
from elubench.models.flatness import Flatness
from elubench.samples.base import Sample


@dataclass(frozen=True)
class Moments(DirectAlgorithm):
    """The method of moments: the model's closed form, see :mod:`elubench.models.moments`.

    One read, whatever n: fourth moments at d = 1, second moments of all pairs of coordinates beyond. The
    start is not used. On one Gaussian it is as good as the maximum-likelihood fit; where components are
    apart it is an estimate and not that fit, which NewtonAnderson finds from there. Not monotone.

    On the diagonal model the correlations give the first iterate. It has rivals along the axes, and a
    second read finds the one with the smallest loss. Beyond d = 128 the pairs cost more than a few
    reads, which subspace iteration takes instead.
    """

    needs = frozenset({"moment estimate"})
    command = "moments"
    look = Look("#b5004f", "d", (0.0, (1.0, 2.0)), 1.8, place=12)
    typical_passes = 1.0

    def iterates(self, model: Model, sample: Sample) -> Iterator[tuple[Floats, int]]:
        points, reads = model.moment_estimates(sample)
        yield points[0], reads
        if len(points) > 1:
            gaps = model.gaps(sample, points)
            yield points[int(np.argmin(np.where(np.isnan(gaps), np.inf, gaps)))], 1

    def expected_passes(self, goal: Goal) -> float:
        return 2.0 if goal.to_the_end else self.typical_passes

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
        return "power", 0.0
