"""Evidence at a fit: its likelihood against single Gaussians, and how fast EM contracts there."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from elubench.algorithms import NewtonAnderson
from elubench.checks import Floats
from elubench.fits import nulls
from elubench.fits.goodness import Shape
from elubench.fits.regimes import (
    ABOUT_THE_MEAN,
    CONTRACTION,
    DECISIVE,
    ONE_GAUSSIAN,
    STRETCHED,
    TWO_MODES,
    Signs,
)
from elubench.kernels import layout, ready
from elubench.kernels.em_derivative import em_derivative
from elubench.kernels.pointers import calling
from elubench.models import Model
from elubench.models.directions import BLOCK, REFINEMENTS
from elubench.samples import Sample

_SINGULAR = 1e-13  # distance of an eigenvalue from 1 within which the series cannot be summed


class Likelihood(NamedTuple):
    """Mean negative log-likelihoods: of the fit, of the model's one Gaussian, of the best rival."""

    loss: float
    one_gaussian: float
    best_gaussian: float
    rival: str
    half_distance: float


def likelihood(model: Model, sample: Sample, train: Sample, params: Floats) -> Likelihood:
    """Losses on all rows, in one pass; the scale is that of the rows fitted."""
    fitted, m = train.moments(), sample.moments()
    d = sample.d
    directions = 2 if d > 1 else 1
    u, b = np.empty((directions, d)), np.empty(directions)
    inputs = model.inputs(fitted)
    b[0] = ready(model.algebra.direction)(params, *inputs, u[0])
    if d > 1:
        # tanh is the identity on small numbers: this direction gives the second moment along u
        shrunk = 2.0**-30 / max(1.0, _length(u[0] * np.sqrt(m.m2)))
        middle = model.middle(params, m)
        offset = -float(middle @ u[0])
        u[1], b[1] = shrunk * u[0], shrunk * offset
    rows = sample.sums(u, b, layout.LOG_COSH)
    log_cosh = rows[0, layout.log_cosh_at(d)]
    gap = ready(model.algebra.gap)(params, *inputs, *model.inputs(m), log_cosh)
    own = model.one_gaussian_loss(m, m)
    loss = float(gap) + (own if fitted is m else model.one_gaussian_loss(fitted, m))
    rivals = {ONE_GAUSSIAN: own}
    scale = model.scale(train, params)
    between = float(np.sum((u[0] * np.sqrt(scale)) ** 2))  # half the distance, squared
    if model.even:
        rivals[ABOUT_THE_MEAN] = _about_the_mean(m.m2 - m.m1**2, model.n_scales(d))
    if d > 1:
        t1 = rows[1, layout.T1 : layout.T1 + d]
        along = float(t1 @ u[0]) + offset * rows[1, layout.T0]
        about = m.m2 - 2.0 * middle * m.m1 + middle**2
        total = float(np.sum(np.log(2.0 * math.pi * scale) + about / scale))
        stretch = float(along / (shrunk * between)) if between > 0.0 else 1.0
        if stretch > 1.0:
            total += math.log(stretch) - stretch + 1.0
        rivals[STRETCHED] = 0.5 * total
    rival = min(rivals, key=lambda name: rivals[name])
    return Likelihood(loss, own, rivals[rival], rival, math.sqrt(between))


def _length(v: Floats) -> float:
    """The norm; squares would overflow where a known scale is far below the spread of the data."""
    _, exponent = math.frexp(float(np.max(np.abs(v))))
    return math.ldexp(math.sqrt(float(np.sum(np.ldexp(v, -exponent) ** 2))), exponent)


def _about_the_mean(variance: Floats, scales: int) -> float:
    """Loss of one Gaussian about the mean, with one scale or one for each coordinate."""
    d = len(variance)
    if scales == d:
        total = float(np.sum(np.log(variance))) if (variance > 0).all() else math.inf
    else:
        total = d * math.log(float(np.mean(variance)))
    return 0.5 * (total + d * math.log(2.0 * math.pi) + d)


def contraction(model: Model, sample: Sample, params: Floats) -> tuple[float, float, int]:
    """EM's contraction factor, the log-likelihood that EM would still gain, and the passes made.

    The factor is the largest eigenvalue of the derivative of EM's step. A step gains half the slope
    times its length, and the steps after it form a geometric series. It is at most what it would be if
    all of the step shrank as slowly as the factor says; where the derivative is known, its powers are
    summed. Where the factor is 1 as far as differences can tell, the series has no end, but its sum is
    at most the slope times the way to the maximum, about as far as the components are apart or as the
    radius n^(-1/8). Rows count once each for this, whatever their weights, as they do for the tolerance
    of a run.
    """
    p, d = len(params), sample.d
    units, spread = np.ones(p), np.sqrt(model.scale(sample, params))
    units[: p - model.extra].reshape(-1, len(spread))[:] = spread
    apart = 0.5 * (params - model.swapped(params)) / units
    # on the curve the scale falls as components move apart: stay well within one scale. Where EM crawls
    # 1 - factor is as small as n^(-3/4): h must not hide it
    h = 1e-6 / (1.0 + float(np.abs(apart).max()) * math.sqrt(d))
    by = _by_curvature if d <= NewtonAnderson.up_to else _by_subspace
    with np.errstate(all="ignore"):  # NaN where the gradient overflows
        largest, derivative, (em, gradient), passes = by(model, sample, params, units, h)
        step, slopes = (params - em) / units, gradient * units
        first, slope = 0.5 * float(slopes @ step), math.sqrt(float(slopes @ slopes))
    if math.isnan(largest):
        return math.nan, math.nan, passes
    factor = min(largest, 1.0)
    gain = first / max(1.0 - factor, sys.float_info.epsilon)
    if derivative is not None and largest < 1.0 - _SINGULAR:
        series = 0.5 * float(slopes @ np.linalg.solve(np.eye(p) - derivative, step))
        gain = min(gain, series) if series > 0.0 else gain
    if largest < 1.0 + h:  # else this is a saddle
        reach = max(math.sqrt(float(apart @ apart)), float(sample.n_weighted) ** -0.125)
        gain = min(gain, slope * reach)
    return factor, float(sample.n_weighted * gain), passes


#: The spectral radius, the derivative of EM's step (if known, and in units of the scale), where the
#: step leads and the gradient, and the passes made.
_Derivative = tuple[float, Floats | None, tuple[Floats, Floats], int]


def _by_curvature(
    model: Model, sample: Sample, params: Floats, units: Floats, h: float
) -> _Derivative:
    """From one pass with curvature."""
    algebra, inputs, p = model.algebra, model.inputs(sample.moments()), len(params)
    u, b = np.empty((1, sample.d)), np.empty(1)
    b[0] = ready(algebra.direction)(params, *inputs, u[0])
    row = sample.sums(u, b, layout.LOG_COSH | layout.CURVATURE, even=model.even)[0]
    derivative, here = np.empty((p, p)), np.empty((2, p))
    functions = algebra.direction, algebra.respond
    calling(em_derivative, *functions)(params, *inputs, units, h, row, derivative, *here)
    if not np.isfinite(derivative).all():
        return math.nan, None, (here[0], here[1]), 1
    return _spectral_radius(derivative), derivative, (here[0], here[1]), 1


def _spectral_radius(matrix: Floats) -> float:
    """The largest absolute value of the eigenvalues."""
    if len(matrix) > 2:
        return float(np.abs(np.linalg.eigvals(matrix)).max())
    if len(matrix) == 1:
        return abs(float(matrix[0, 0]))
    (a, b), (c, d) = matrix.tolist()
    middle, half = 0.5 * (a + d), 0.5 * (a - d)
    square = half * half + b * c
    if square < 0.0:  # a conjugate pair
        return math.hypot(middle, math.sqrt(-square))
    return abs(middle) + math.sqrt(square)


def _by_subspace(
    model: Model, sample: Sample, params: Floats, units: Floats, h: float
) -> _Derivative:
    """By differences of EM's step along a block of directions, refined; for many parameters."""
    wanted = np.random.default_rng(0).standard_normal((len(params), BLOCK))
    wanted[:, 0] = 0.5 * (params - model.swapped(params)) / units
    basis, _ = np.linalg.qr(wanted)
    values = np.ones(1)
    for _ in range(REFINEMENTS):
        points = np.ascontiguousarray(np.vstack([params, params + h * units * basis.T]))
        answers = model.evaluate(sample, points)
        here, em = (answers.em[0], answers.gradient[0]), answers.em
        moved = ((em[1:] - em[0]) / (h * units)).T
        if not np.isfinite(moved).all():
            return math.nan, None, here, REFINEMENTS
        values = np.linalg.eigvals(basis.T @ moved)
        basis, _ = np.linalg.qr(moved)
    return float(np.max(np.abs(values))), None, here, REFINEMENTS


def signs(
    found: Likelihood, contraction: float, null: nulls.Critical, weight: float, shape: Shape
) -> Signs:
    """The numbers that decide on the regime; ``weight`` is the total weight of the sample."""
    return Signs(
        2.0 * weight * (found.one_gaussian - found.loss),
        null.ratio,
        2.0 * weight * (found.best_gaussian - found.loss),
        found.rival,
        DECISIVE,
        found.half_distance,
        TWO_MODES,
        contraction,
        CONTRACTION,
        null.level,
        null.law,
        *shape,
    )
