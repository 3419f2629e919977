"""Checks of a model's derivatives, in locations and in natural coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from elubench.checks import Floats
from elubench.kernels import layout, ready
from elubench.kernels.signatures import Answers
from elubench.models import Model
from elubench.samples import ArraySample, Sample
from elubench.testing.data import EPS, clusters, expect, points_of, rounding


def gradient_is_the_slope_of_the_loss(model: Model, d: int) -> None:
    """The gradient agrees with central differences of the gap."""
    _slopes(model, d, natural=False)


def hessian_is_the_slope_of_the_gradient(model: Model, d: int) -> None:
    """The Hessian is symmetric and agrees with central differences of the gradient."""
    _bends(model, d, natural=False)


def natural_gradient_is_the_slope_of_the_loss(model: Model, d: int) -> None:
    """The same in natural coordinates."""
    _slopes(model, d, natural=True)


def natural_hessian_is_the_slope_of_the_gradient(model: Model, d: int) -> None:
    """The same in natural coordinates."""
    _bends(model, d, natural=True)


def _slopes(model: Model, d: int, natural: bool) -> None:
    X = clusters(model, d)
    sample = ArraySample(X)
    for params in points_of(model, sample):
        at, length, scale = _unit(model, sample, params, natural)
        bound = rounding(X, params, scale, 0)

        def gap(point: Floats) -> Floats:
            return _ask(model, sample, point, layout.LOG_COSH, natural).gap

        gradient = _ask(model, sample, at, 0, natural).gradient[0]
        _agree("gradient", gradient[:, None], gap, at, length, bound)


def _bends(model: Model, d: int, natural: bool) -> None:
    X = clusters(model, d)
    sample = ArraySample(X)
    for params in points_of(model, sample):
        at, length, scale = _unit(model, sample, params, natural)
        # natural coordinates have no unit
        bound = rounding(X, params, scale, 1) * (math.sqrt(scale.min()) if natural else 1.0)

        def gradient(point: Floats) -> Floats:
            return _ask(model, sample, point, 0, natural).gradient[0]

        hessian = _ask(model, sample, at, layout.CURVATURE, natural).hessian[0]
        expect((hessian == hessian.T).all(), "the Hessian is not symmetric")
        _agree("Hessian", hessian, gradient, at, length, bound)


def _unit(
    model: Model, sample: Sample, params: Floats, natural: bool
) -> tuple[Floats, float, Floats]:
    """The point in the coordinates asked for, the length over which the loss bends, the scale."""
    scale = model.scale(sample, params)
    at = _natural(model, sample, params) if natural else params
    return at, 1.0 if natural else math.sqrt(scale.min()), scale


def _agree(
    what: str,
    derivative: Floats,
    function: Callable[[Floats], Floats],
    at: Floats,
    length: float,
    bound: float,
) -> None:
    """Compare with central differences whose error is a sum of two parts.

    Truncation is c h^2, so that differences over 2h and h are apart by three times that of the
    latter; rounding is at most ``bound / h``. The step makes the two alike.
    """
    h = length * (bound * (length if what == "Hessian" else 1.0)) ** (1.0 / 3.0)
    for j, unit in enumerate(np.eye(at.size)):
        near, far = (
            (function(at + step * unit) - function(at - step * unit)) / (2.0 * step)
            for step in (h, 2.0 * h)
        )
        error = np.max(np.abs(derivative[j] - near))
        allowed = np.max(np.abs(far - near)) + 2.0 * bound / h
        said = f"{what}[{j}] is {derivative[j]}, but differences give {near}"
        expect(error <= allowed, f"{said} (apart by {error:.2g}, at most {allowed:.2g})")


# Natural coordinates


def natural_coordinates_lead_back(model: Model, d: int) -> None:
    """There and back again is the same point."""
    sample = ArraySample(clusters(model, d))
    moments = sample.moments()
    assert model.natural is not None
    for params in points_of(model, sample):
        back = np.empty_like(params)
        there = _natural(model, sample, params)
        ready(model.natural.to_locations)(there, *model.inputs(moments), back)
        scale = model.scale(sample, params)
        # the way there divides by the scale, a difference that lost a factor m2 / s
        lost = (float(moments.m2.max() / scale.min())) ** 2
        error, allowed = np.max(np.abs(back - params)), 64 * EPS * lost * math.hypot(*params)
        expect(error <= allowed, f"{params} comes back as {back}")


def natural_coordinates_have_the_same_loss(model: Model, d: int) -> None:
    """The gap and the EM step are the same in both."""
    X = clusters(model, d)
    sample = ArraySample(X)
    moments = sample.moments()
    for params in points_of(model, sample):
        scale = model.scale(sample, params)
        found = _ask(model, sample, _natural(model, sample, params), layout.LOG_COSH, True)
        lost = (float(moments.m2.max() / scale.min())) ** 2
        allowed = rounding(X, params, scale, 0) * lost
        gap, other = model.gap(sample, params), float(found.gap[0])
        expect(abs(gap - other) <= allowed, f"the gap is {gap}, in natural coordinates {other}")
        step = _natural(model, sample, model.em_step(sample, params))
        apart = np.max(np.abs(found.em[0] - step))
        expect(apart <= allowed * (1.0 + np.abs(step).max()), f"EM steps differ by {apart:.2g}")


def _natural(model: Model, sample: Sample, params: Floats) -> Floats:
    moments, out = sample.moments(), np.empty_like(params)
    assert model.natural is not None
    ready(model.natural.from_locations)(params, *model.inputs(moments), out)
    return out


def _ask(model: Model, sample: Sample, point: Floats, want: int, natural: bool) -> Answers:
    return model.evaluate(sample, point[None, :], want, natural=natural)


LOCATIONS = (gradient_is_the_slope_of_the_loss, hessian_is_the_slope_of_the_gradient)
NATURAL = (
    natural_coordinates_lead_back,
    natural_coordinates_have_the_same_loss,
    natural_gradient_is_the_slope_of_the_loss,
    natural_hessian_is_the_slope_of_the_gradient,
)
