"""Where a fit starts: close to the best of the model's candidates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from elubench.algorithms import Moments, NewtonAnderson
from elubench.checks import Floats
from elubench.fits.choosing import FEW_NUMBERS
from elubench.kernels import layout
from elubench.models import Model
from elubench.runs import run
from elubench.samples import Sample

# candidates that are left after a step of EM
_KEPT, _KEPT_OF_FEW_ROWS, _FEW_ROWS = 3, 5, 10_000
# for few numbers: random candidates, more steps of EM and more runs
_RANDOM, _SWEEPS, _RUNS = 16, 8, 4
_THIN = 1 << 14  # rows among which candidates are looked for
_ALIKE = 0.1  # what mean and variance of these may be off, in units of all rows'
_FARTHER = 2.0  # squared distance of their farthest row that may be missing, in units of theirs
_TAKEN = 2  # candidates from there, if all rows compare them
# gain in log-likelihood that data from one Gaussian leave: 99 % of samples stay below, by d
_NOISE = (4.0, 1.1)
_CLEAR = 10.0  # times as much is no coincidence
_ENOUGH, _STEPS = 0.1, 20  # gain in log-likelihood to which a part is fitted, in so many steps
_RIVAL = 0.2  # share of the best gain over one Gaussian that is worth a run of its own
_APART = 0.1  # distance of two starts, in standard deviations of a component, that makes them two
_CLOSE = 0.1  # of the radius n^(-1/8): components that data from one Gaussian cannot tell apart
_POINTS = 1e-13  # of the scale of one Gaussian: a component that narrow is a point


class TwoPoints(ValueError):
    """Both components shrink to a point each."""


class Begins(NamedTuple):
    """The best start and others, or one from the moments of rows that show no more than one Gaussian."""

    points: list[Floats]
    flat: bool = False


def starts(model: Model, sample: Sample, stopped: Callable[[], bool] = lambda: False) -> Begins:
    """The best start, and others that may belong to other maxima: one, or three for few rows.

    A candidate is only a guess, so all of them make a step of EM before they are compared; the step is
    part of a read, which serves all candidates. Where components are far apart, a step goes almost all
    the way, also from a guess whose own likelihood is low: the sizes of the parts are not known yet.
    ``stopped`` is asked after a read that compares candidates whether to leave it at that.

    Of many rows a part is enough for that. If it shows no more than data from one Gaussian would, the
    start is the estimate from the moments of all rows, which is as good there. If it shows clearly
    more, its own maximum is the start. In between, all rows decide.
    """
    part = _part(model, sample)
    if part is not sample:
        try:
            found = _found(model, sample, part, stopped)
        except TwoPoints:
            found = Begins([])  # these rows only
        # a part may also show components that are too far out for all rows
        points = found.points
        if points and all((model.scale(sample, one) > 0.0).all() for one in points):
            return found
    # components may have met where rounding cannot tell them apart any more
    points, flat = _found(model, sample, sample, stopped)
    return Begins([_apart(model, sample, one) for one in points], flat)


def _found(model: Model, sample: Sample, part: Sample, stopped: Callable[[], bool]) -> Begins:
    """The starts that a part of the rows, or all of them, show."""
    estimates = np.empty((0, model.n_params(sample.d)))
    if Moments.needs <= model.features:
        found, _ = model.moment_estimates(sample)
        estimates = np.stack([_apart(model, sample, one) for one in found])
    points, _ = model.candidates(part)
    kept = _KEPT_OF_FEW_ROWS if part.n <= _FEW_ROWS else _KEPT
    narrow = _narrow(model, part)
    if part is sample:
        points = np.vstack([points, estimates])
    for want, count in (
        (0, len(points)),
        (layout.LOG_COSH, kept),
        (layout.LOG_COSH, kept),
    ):
        ranked = _ranked(model, part, points, count, narrow, want)
        if ranked is None:
            return Begins([points[0]])
        before, gaps, points = ranked
        if want and stopped():
            return Begins([points[0]])
    shown = -gaps[0] * part.n / (_NOISE[0] + _NOISE[1] * sample.d)
    # points that stand for many rows of one coordinate are as good as a part of them
    enough = part is not sample or (sample.d == 1 and sample.n > _THIN)
    if enough and shown < 1.0 and len(estimates) == 1:
        return Begins([estimates[0]], flat=True)
    if part is sample:
        if 1 < sample.d <= FEW_NUMBERS / sample.n and shown < _CLEAR:
            return Begins(_several(model, sample, points, narrow, stopped))
        return Begins(_two(model, sample, before, gaps, points, np.inf))
    data = part if shown > _CLEAR else sample
    if data is sample:
        points = points[:_TAKEN]
    points = estimates if shown < 1.0 and len(estimates) else np.vstack([estimates, points])
    ranked = _ranked(model, data, points, len(points), narrow)
    if ranked is None:
        return Begins([points[0]])
    before, gaps, points = ranked
    if stopped():
        return Begins([points[0]])
    found = _two(model, data, before, gaps, points, min(_RIVAL * gaps[0], 0.0))
    if data is not part:
        return Begins(found)
    found = [_refined(model, part, one) for one in found]
    if len(estimates):
        # an estimate from all rows is closer to their maximum, if it is one of this maximum
        gaps = part.n * model.gaps(part, np.vstack([found[:1], estimates]))
        near = np.flatnonzero(gaps[1:] - gaps[0] < 2.0 + estimates.shape[1])
        if near.size:
            found[0] = estimates[near[0]]
    return Begins(found)


def _several(
    model: Model, sample: Sample, points: Floats, narrow: Floats, stopped: Callable[[], bool]
) -> list[Floats]:
    """After more steps of EM from these points and random ones, the best that are apart."""
    rng = np.random.default_rng(0)
    points = np.vstack([points, *(model.random_start(sample, rng) for _ in range(_RANDOM))])
    for _ in range(_SWEEPS):
        ranked = None if stopped() else _ranked(model, sample, points, len(points), narrow)
        if ranked is None:
            return [points[0]]
        points = ranked[-1]
    apart = _APART * float(np.sqrt(np.min(model.scale(sample, points[0]))))
    found = [points[0]]
    for point in points[1:]:
        if len(found) < _RUNS and all(model.location_error(point, one) > apart for one in found):
            found.append(point)
    return found


def _two(
    model: Model, sample: Sample, before: Floats, gaps: Floats, points: Floats, enough: float
) -> list[Floats]:
    """The first point, and one of another maximum if its gap is no more than ``enough``."""
    apart = _APART * float(np.sqrt(np.min(model.scale(sample, points[0]))))
    others = [
        k
        for k in range(1, len(points))
        if gaps[k] <= enough and model.location_error(*points[[0, k]]) > apart
    ]
    if not others:
        return [points[0]]
    # another maximum has a higher loss on the way to it
    labels = [_nearer(model, before[0], before[k]) for k in others]
    middles = model.gaps(sample, 0.5 * (before[0] + np.stack(labels)))
    beyond = [points[k] for k, gap in zip(others, middles, strict=True) if gap > gaps[k]]
    return [points[0], *beyond[:1]]


def _refined(model: Model, part: Sample, point: Floats) -> Floats:
    """The maximum of a part of the rows, close to this point."""
    if part.d > NewtonAnderson.up_to or model.natural is None:
        return point
    algorithm = NewtonAnderson(precision=_ENOUGH)
    return run(part, model, algorithm, point, max_iter=_STEPS, metrics=False).params


def _apart(model: Model, sample: Sample, params: Floats) -> Floats:
    """The same, or components close together if they coincide: a run could not leave that point."""
    if not model.is_stationary_start(params):
        return params
    moments, d = sample.moments(), sample.d
    close = float(sample.n_weighted) ** -0.125 / np.sqrt(d)
    return model.placed(moments, _CLOSE * close * model.spread(moments))


def _part(model: Model, sample: Sample) -> Sample:
    """Enough of the rows to find maxima in, unless a few of the others make up much of the spread.

    Where weights need not be equal, a single row may be a component: one that is far out must not be
    missing, as far as samples look for it.
    """
    part = sample.thinned(_THIN)
    if part is sample:
        return sample
    some, all_ = part.moments(), sample.moments()
    variance = np.maximum(all_.m2 - all_.m1**2, 0.0)
    off = np.abs(some.m1 - all_.m1) > _ALIKE * np.sqrt(variance)
    off |= np.abs(some.m2 - some.m1**2 - variance) > _ALIKE * variance
    if model.extra:
        among_all, among_some = (
            np.sum((rows.farthest(1) - all_.m1) ** 2) for rows in (sample, part)
        )
        off |= among_all > _FARTHER * among_some
    return sample if off.any() else part


def _narrow(model: Model, sample: Sample) -> Floats:
    """The scale at which a component is a point."""
    return _POINTS * model.scale(sample, model.truth(model.centre(sample.moments()), sample.d))


def _ranked(
    model: Model,
    sample: Sample,
    points: Floats,
    count: int,
    narrow: Floats,
    want: int = layout.LOG_COSH,
) -> tuple[Floats, Floats, Floats] | None:
    """The best points, their gaps and where a step of EM leads from them; None if none is usable.

    Gaps that are not wanted are NaN, and the points in the order given.
    """
    with np.errstate(all="ignore"):  # a part of a single row: uncompiled kernels warn of 0 / 0
        answers = model.evaluate(sample, points, want)
        sizes = answers.em.sum(axis=1) + (answers.gap if want else 0.0)
    order = [place for place, size in enumerate(sizes.tolist()) if math.isfinite(size)]
    if not order:
        return None
    if want:
        order.sort(key=answers.gap.tolist().__getitem__)
    del order[count:]
    after = answers.em[order]
    if not (model.scales(sample.moments(), after) > narrow).all():
        raise TwoPoints(
            "X must have more than two points, got two points, to which both components shrink: "
            "the likelihood is unbounded"
        )
    return points[order], answers.gap[order], after


def _nearer(model: Model, one: Floats, other: Floats) -> Floats:
    """The other, its labels exchanged if that brings it closer."""
    swapped = model.swapped(other)
    return min(other, swapped, key=lambda point: float(np.sum((point - one) ** 2)))
