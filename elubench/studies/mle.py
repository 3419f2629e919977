"""The maximum-likelihood fit of a study's sample, which its runs are compared with."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

from elubench.algorithms import LBFGS, Algorithm, NewtonAnderson
from elubench.checks import Floats
from elubench.fits.fitting import SECOND_ORDER_UP_TO
from elubench.models.base import Model
from elubench.runs import run
from elubench.samples import Sample

_ITERATIONS = 500
_AXES = 8


class Reference(NamedTuple):
    """The sample's own maximum-likelihood fit."""

    params: Floats
    location_error: float
    gap: float
    converged: bool


def method(model: Model, d: int) -> Algorithm:
    """What finds it.

    With a precision of 1e-8 in place of the usual 0.01, what is left of the location at a minimum as
    flat as theta^8 is 0.14 n^(-1/8).
    """
    if d <= SECOND_ORDER_UP_TO:
        return NewtonAnderson(precision=1e-8)
    return LBFGS(coordinates="natural")


def starts(model: Model, d: int) -> int:
    """From how many points."""
    return 1 + min(d, _AXES) if model.name == "diagonal" and d > 1 else 1


def maximum_likelihood(model: Model, train: Sample) -> Reference:
    """The best of the ends of several runs and the single Gaussian.

    The diagonal model has a local minimum near every axis, so each is a start.
    """
    truth = model.truth(0.0, train.d)
    centre = truth if model.even else model.truth(train.moments().m1, train.d)
    points = [model.default_start(train)]
    for j in range(starts(model, train.d) - 1):
        axis = 0.05 * points[0]
        axis[j] = 0.7 * math.sqrt(float(train.moments().m2[j]))
        points.append(axis)
    algorithm = method(model, train.d)
    best, least, converged = centre, 0.0, True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in points:
            ended = run(train, model, algorithm, start, max_iter=_ITERATIONS, metrics=False)
            if ended.status == "interrupted":  # a run returns what it has; a study stops
                raise KeyboardInterrupt
            gap = model.gap(train, ended.params)
            converged = converged and ended.status == "converged"
            if gap < least:
                best, least = ended.params, gap
    return Reference(best, model.location_error(best, truth), least, converged)
