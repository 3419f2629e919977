"""What every model must satisfy: structural truths, each held to what rounding allows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from elubench.algorithms import EM
from elubench.checks import Floats
from elubench.kernels import layout
from elubench.models import Model
from elubench.models.known import named
from elubench.samples import ArraySample, Sample
from elubench.testing import derivatives
from elubench.testing.algorithms import pair_checks
from elubench.testing.data import (
    SAMPLES,
    Check,
    Elsewhere,
    clusters,
    expect,
    one_gaussian,
    points_of,
    rounding,
    run_all,
    start_for,
)

_EVERYTHING = layout.LOG_COSH | layout.CURVATURE


def check_model(model: Model | type[Model]) -> None:
    """Run all checks of a model; raise AssertionError if one fails."""
    run_all(type(named(model)).__name__, model_checks(model))


def model_checks(model: Model | type[Model]) -> Iterator[Check]:
    """All checks of a model as pairs of a name and a function without arguments.

    The last ones are those of ``algorithm_checks`` for EM on this model.
    """
    made = named(model)
    applicable = list(_AT_EACH_D)
    if made.balanced:
        applicable += [coinciding_components_are_stationary, labels_do_not_matter]
    if made.even:
        applicable.append(even_models_ignore_t0)
    if made.natural is not None:
        applicable += derivatives.NATURAL
    for alone in (is_named, flatness_is_finite):
        yield alone.__name__, partial(alone, made)
    for kind in SAMPLES:
        yield f"starts_are_inside[{kind}]", partial(starts_are_inside, made, kind)
    for d in (1, 2, 3):
        for check in applicable:
            yield f"{check.__name__}[d={d}]", partial(check, made, d)
    for name, pair in pair_checks(EM, made):
        yield f"em_{name}", pair


# Of the model alone


def is_named(model: Model) -> None:
    """It has a name, and two of its kind are equal."""
    expect(isinstance(model.name, str) and model.name, f"its name is {model.name!r}")
    other = copy.deepcopy(model)
    expect(model == other and hash(model) == hash(other), "two of its kind are not equal")


def flatness_is_finite(model: Model) -> None:
    """``flatness(d)`` is finite, with a positive coefficient and no negative homogeneity."""
    for d in range(1, 9):
        flatness = model.flatness(d)
        expect(all(map(math.isfinite, flatness)), f"flatness({d}) is {flatness}")
        expect(flatness.alpha >= 0 and flatness.kappa > 0, f"flatness({d}) is {flatness}")


def starts_are_inside(model: Model, kind: str) -> None:
    """Every start has a positive scale, and the two components differ there."""
    sample = SAMPLES[kind]()
    shape = (model.n_params(sample.d),)
    several = model.mle_starts(sample)
    expected = model.n_mle_starts(sample.d)
    expect(len(several) == expected, f"{len(several)} mle_starts, n_mle_starts is {expected}")
    starts = {
        "default_start": [model.default_start(sample)],
        "mle_starts": several,
        "random_start": [model.random_start(sample, np.random.default_rng(k)) for k in range(5)],
    }
    for name, found in starts.items():
        for start in found:
            expect(start.shape == shape, f"{name} has shape {start.shape}, not {shape}")
            scale = model.scale(sample, start)
            expect(scale.shape == (model.n_scales(sample.d),), f"the scale has shape {scale.shape}")
            inside = np.isfinite(start).all() and (scale > 0).all()
            expect(inside, f"{name} is {start}, where the scale is {scale}")
            expect(not model.is_stationary_start(start), f"the components coincide at {start}")


# EM


def em_never_raises_the_loss(model: Model, d: int) -> None:
    """From several starts, no EM step raises the loss."""
    for seed in range(3):
        X = clusters(model, d, seed)
        sample = ArraySample(X)
        params = start_for(model, sample)
        before = model.gap(sample, params)
        for t in range(1, 21):
            params = model.em_step(sample, params)
            gap, scale = model.gap(sample, params), model.scale(sample, params)
            rise, bound = gap - before, rounding(X, params, scale, 0)
            expect(rise <= bound, f"EM step {t} raises the loss by {rise:.2g}")
            before = gap


def em_ends_where_the_gradient_is_zero(model: Model, d: int) -> None:
    """Fixed points of EM are stationary points of the loss."""
    X = clusters(model, d) + 3.0 * np.sign(clusters(model, d)[:, :1] - (0.0 if model.even else 1.0))
    sample = ArraySample(X)  # far apart, so that EM converges quickly
    params, steps = model.default_start(sample), [math.inf]
    for _ in range(1000):
        moved = model.em_step(sample, params)
        steps.append(float(np.linalg.norm(moved - params)))
        params = moved
        scale = model.scale(sample, params)
        smallest = rounding(X, params, scale, 0) * math.sqrt(scale.min())
        if steps[-1] <= smallest:
            break
    else:
        raise AssertionError(f"EM does not converge: its last step is {steps[-1]:.2g}")
    # with steps that shrink by this factor, the fixed point is step / (1 - factor) away
    factor = min(0.99, steps[-2] / steps[-3] if len(steps) > 3 else 0.0)
    away = max(steps[-1], smallest) / (1.0 - factor)
    bend = float(np.linalg.norm(model.hessian(sample, params), 2))
    error = float(np.linalg.norm(model.gradient(sample, params)))
    allowed = bend * away + math.sqrt(params.size) * rounding(X, params, scale, 1)
    expect(
        error <= allowed, f"the gradient is {error:.2g} there, at most {allowed:.2g} by rounding"
    )


# One Gaussian


def coinciding_components_are_stationary(model: Model, d: int) -> None:
    """At the one-Gaussian fit EM stays where it is and the gradient is zero."""
    X = clusters(model, d)
    sample = ArraySample(X)
    middle = one_gaussian(model, sample)
    expect(model.is_stationary_start(middle), f"is_stationary_start is False at {middle}")
    scale = model.scale(sample, middle)
    expect((scale > 0).all(), f"the scale is {scale} at the one-Gaussian fit")
    moved = np.max(np.abs(model.em_step(sample, middle) - middle))
    allowed = rounding(X, middle, scale, 0) * math.sqrt(scale.max())
    expect(moved <= allowed, f"an EM step moves by {moved:.2g}")
    slope = np.max(np.abs(model.gradient(sample, middle)))
    expect(slope <= rounding(X, middle, scale, 1), f"the gradient is {slope:.2g}")


def coinciding_components_are_one_gaussian(model: Model, d: int) -> None:
    """At the one-Gaussian fit the gap is zero and the loss is ``one_gaussian_loss``."""
    X = clusters(model, d)
    sample = ArraySample(X)
    middle, moments = one_gaussian(model, sample), sample.moments()
    allowed = rounding(X, middle, model.scale(sample, middle), 0)
    gap = model.gap(sample, middle)
    expect(abs(gap) <= allowed, f"the gap is {gap}")
    loss, one = model.loss(sample, middle), model.one_gaussian_loss(moments, moments)
    expect(abs(loss - one) <= allowed, f"the loss is {loss}, one_gaussian_loss {one}")


# Symmetries


def labels_do_not_matter(model: Model, d: int) -> None:
    """``location_error`` is zero at the truth; it and the loss ignore which component is which."""
    X = clusters(model, d)
    sample = ArraySample(X)
    truth = one_gaussian(model, sample)
    params = start_for(model, sample)
    for point in (truth, params):
        expect(model.location_error(point, point) == 0.0, "location_error(x, x) is not 0")
    expect(model.location_error(params, truth) > 0.0, "location_error is 0 away from the truth")
    other = model.swapped(params)
    expect((model.swapped(other) == params).all(), "swapped twice is not the same")
    expect((model.ordered(other) == model.ordered(params)).all(), "ordered depends on the labels")
    allowed = rounding(X, params, model.scale(sample, params), 0)
    for goal in (truth, 0.5 * params):
        one, two = model.location_error(params, goal), model.location_error(other, goal)
        said = f"location_error is {one}, with the labels exchanged {two}"
        expect(abs(one - two) <= allowed * math.hypot(*params), said)
    one, two = model.gap(sample, params), model.gap(sample, other)
    expect(abs(one - two) <= allowed, f"the gap is {one}, with the labels exchanged {two}")


def weights_are_repeated_rows(model: Model, d: int) -> None:
    """A weight of 3 is a row written three times."""
    X = clusters(model, d)
    weights = np.random.default_rng(d).integers(1, 4, len(X))
    repeated = np.repeat(X, weights, axis=0)
    _same_answers(model, repeated, ArraySample(X, weights), ArraySample(repeated))


def order_of_rows_does_not_matter(model: Model, d: int) -> None:
    """Shuffled rows give the same answers, up to rounding."""
    X = clusters(model, d)
    shuffled = np.random.default_rng(d).permutation(X)
    _same_answers(model, X, ArraySample(X), ArraySample(shuffled))


def _same_answers(model: Model, X: Floats, one: Sample, two: Sample) -> None:
    for params in points_of(model, one):
        scale = model.scale(one, params)
        first, second = (model.evaluate(s, params[None, :], _EVERYTHING) for s in (one, two))
        unit = math.sqrt(scale.max())
        for name, order, factor in (
            ("em", 0, unit),
            ("gradient", 1, 1.0),
            ("gap", 0, 1.0),
            ("hessian", 2, 1.0),
        ):
            apart = np.max(np.abs(getattr(first, name) - getattr(second, name)))
            allowed = factor * rounding(X, params, scale, order)
            expect(apart <= allowed, f"{name} differs by {apart:.2g}, at most {allowed:.2g}")


# The interface


def points_are_independent(model: Model, d: int) -> None:
    """Several points in one read get the answers that each gets alone, to the last bit."""
    sample = ArraySample(clusters(model, d))
    asked = np.array(points_of(model, sample))
    together = model.evaluate(sample, asked, _EVERYTHING)
    for k, point in enumerate(asked):
        alone = model.evaluate(sample, point[None, :], _EVERYTHING)
        same = all(
            one[k].tobytes() == two[0].tobytes() for one, two in zip(together, alone, strict=True)
        )
        expect(same, f"point {k} of {len(asked)} gets other answers than alone")


def even_models_ignore_t0(model: Model, d: int) -> None:
    """A model with ``even`` has no offset and does not use T0."""
    sample = _WithoutT0(ArraySample(clusters(model, d)))
    for params in points_of(model, sample.inner):
        asked = params[None, :]
        one, two = (model.evaluate(s, asked, _EVERYTHING) for s in (sample, sample.inner))
        same = all(a.tobytes() == b.tobytes() for a, b in zip(one, two, strict=True))
        expect(same and not sample.offset, "it depends on T0, or b is not 0: set even = False")


class _WithoutT0(Elsewhere):
    """Keeps T0 to itself, and notes whether there was an offset."""

    offset = False

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        self.offset = self.offset or bool(b.any())
        found = self.inner.sums(u, b, want)
        found[:, layout.T0] = math.nan
        return found


def points_outside_are_nan(model: Model, d: int) -> None:
    """Where the scale is not positive, everything is NaN; elsewhere everything is finite."""
    sample = ArraySample(clusters(model, d))
    middle = one_gaussian(model, sample)
    for factor in (1.0, 100.0):
        point = middle + factor * (model.default_start(sample) - middle)
        scale = model.scale(sample, point)
        inside = bool((scale > 0).all())
        found = model.evaluate(sample, point[None, :], layout.LOG_COSH)
        for name in ("em", "gradient", "gap"):
            values = getattr(found, name)
            right = np.isfinite(values).all() if inside else np.isnan(values).all()
            expect(right, f"{name} is {values} where the scale is {scale}")


_AT_EACH_D = (
    *derivatives.LOCATIONS,
    em_never_raises_the_loss,
    em_ends_where_the_gradient_is_zero,
    coinciding_components_are_one_gaussian,
    weights_are_repeated_rows,
    order_of_rows_does_not_matter,
    points_are_independent,
    points_outside_are_nan,
)
