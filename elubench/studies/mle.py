"""The maximum-likelihood fit of a study's sample, which its runs are compared with."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from elubench.algorithms import LBFGS, Algorithm, NewtonAnderson
from elubench.checks import Floats
from elubench.models.base import Model
from elubench.runs import run
from elubench.samples import Sample

_ITERATIONS = 500


class Reference(NamedTuple):
    """The sample's own maximum-likelihood fit."""

    params: Floats
    location_error: float
    gap: float
    converged: bool


def method(model: Model, d: int) -> Algorithm:
    """The algorithm that finds it.

    With a precision of 1e-8 in place of the usual 0.01, what is left of the location at a minimum as
    flat as theta^8 is 0.14 n^(-1/8).
    """
    if model.natural is None:
        return LBFGS()
    return (
        NewtonAnderson(precision=1e-8)
        if d <= NewtonAnderson.up_to
        else LBFGS(coordinates="natural")
    )


def maximum_likelihood(model: Model, train: Sample, truth: Floats | None = None) -> Reference:
    """The best of the ends of several runs and the single Gaussian; the truth is at 0 unless given."""
    truth = model.truth(0.0, train.d) if truth is None else truth
    best, least, converged = model.truth(model.centre(train.moments()), train.d), 0.0, True
    algorithm = method(model, train.d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in model.mle_starts(train):
            ended = run(train, model, algorithm, start, max_iter=_ITERATIONS, metrics=False)
            if ended.status == "interrupted":  # a run returns what it has; a study stops
                raise KeyboardInterrupt
            gap = model.gap(train, ended.params)
            converged = converged and ended.status == "converged"
            if gap < least:
                best, least = ended.params, gap
    return Reference(best, model.location_error(best, truth), least, converged)
