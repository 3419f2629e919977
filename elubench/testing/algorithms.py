"""What every algorithm must satisfy, on every model and kind of sample."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numba
import numpy as np

from elubench.algorithms import Algorithm
from elubench.checks import Floats
from elubench.models import Model
from elubench.models.known import known, named
from elubench.runs import Run, run, run_many
from elubench.runs.trace import STATUSES
from elubench.samples import ArraySample, LatticeSample, Sample
from elubench.testing.data import (
    JIT,
    ROWS,
    SAMPLES,
    Check,
    Elsewhere,
    expect,
    rounding,
    rows,
    run_all,
    start_for,
)

_STATUSES = {*STATUSES.values(), "interrupted"}

Kind = type[Algorithm]
AnyModel = Model | type[Model] | str


def check_algorithm(algorithm: Kind, models: Iterable[AnyModel] | None = None) -> None:
    """Run all checks of an algorithm; raise AssertionError if one fails.

    Parameters
    ----------
    algorithm : a class whose options all have defaults.
    models : models to run it on; by default those of the package.
    """
    run_all(algorithm.__name__, algorithm_checks(algorithm, models))


def algorithm_checks(algorithm: Kind, models: Iterable[AnyModel] | None = None) -> Iterator[Check]:
    """All checks of an algorithm as pairs of a name and a function without arguments.

    A model that the algorithm does not fit has one check: that the error names both.
    """
    for check in (is_a_value, is_documented, bad_options_are_named):
        yield check.__name__, partial(check, algorithm)
    for given in known().values() if models is None else models:
        model = named(given)
        if _fits(algorithm, model):
            yield from pair_checks(algorithm, model)
        else:
            name = f"unfit_models_are_named[{type(model).__name__}]"
            yield name, partial(unfit_models_are_named, algorithm, model)


def pair_checks(algorithm: Kind, model: Model) -> Iterator[Check]:
    """The checks of an algorithm on one model that it fits."""
    name = type(model).__name__
    for check in _ON_EACH_MODEL + (_COMPILED if JIT else ()):
        yield f"{check.__name__}[{name}]", partial(check, algorithm, model)
    for sampled in _ON_EACH_SAMPLE:
        for kind in SAMPLES:
            check_name = f"{sampled.__name__}[{name}-{kind}]"
            yield check_name, partial(sampled, algorithm, model, kind)


def _fits(algorithm: Kind, model: Model) -> bool:
    try:
        algorithm().resolve(model)
    except ValueError:
        return False
    return True


# Of the class alone


def is_a_value(algorithm: Kind) -> None:
    """Two algorithms with the same options are equal, and options cannot be changed."""
    one, two = algorithm(), algorithm()
    expect(one == two and hash(one) == hash(two), "two with the same options are not equal")
    expect(one.name == algorithm.__name__, f"its name is {one.name!r}")
    expect(repr(one).startswith(algorithm.__qualname__ + "("), f"its repr is {one!r}")
    for option in dataclasses.fields(algorithm):
        try:
            setattr(one, option.name, 1.0)
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"option {option.name} can be changed: make it a frozen dataclass")


def is_documented(algorithm: Kind) -> None:
    """It has a docstring of its own, and every option is mentioned in one."""
    doc = inspect.getdoc(algorithm)
    expect(doc != inspect.getdoc(algorithm.__bases__[0]), "it has no docstring of its own")
    inherited = "\n".join(inspect.getdoc(base) or "" for base in algorithm.__mro__[:-1])
    for option in dataclasses.fields(algorithm):
        expect(option.name in inherited, f"option {option.name} is not documented")


def bad_options_are_named(algorithm: Kind) -> None:
    """An impossible option is an error that names it and what was given."""
    for option in dataclasses.fields(algorithm):
        for value in ("much", math.nan, -math.inf, True, [1.0]):
            try:
                algorithm(**{option.name: value})
            except (TypeError, ValueError) as error:
                said = str(error)
            else:
                raise AssertionError(f"{option.name}={value!r} is accepted")
            expect(
                (option.name in said or algorithm.__name__ in said)
                and (repr(value) in said or type(value).__name__ in said),
                f"{option.name}={value!r} gives a message that does not say so: {said}",
            )


def unfit_models_are_named(algorithm: Kind, model: Model) -> None:
    """A model that lacks a feature is an error that names both."""
    name = type(model).__name__
    sentence = f"{algorithm.__name__} needs a model with .*; {name} has none"
    for call in (run, lambda sample, *rest: run_many([sample], *rest)):
        try:
            call(rows(), model, algorithm())
        except ValueError as error:
            expect(re.search(sentence, str(error)), f"the message is {error}")
        else:
            raise AssertionError(f"it runs on {name}, which it says it does not fit")


# On one model


def trials_come_to_an_end(algorithm: Kind, model: Model) -> None:
    """Where the loss is flat to rounding, no trial is better: a run must still continue or stop.

    Rejected trials are passes without an iteration, so no budget of iterations would end them.
    """
    for seed in range(3):
        sample = ArraySample(rows(seed=seed))
        counted = Elsewhere(sample, limit=60 * 30)
        run(counted, model, algorithm(), start_for(model, sample), max_iter=60, metrics=False)


def descends_or_says_that_it_need_not(algorithm: Kind, model: Model) -> None:
    """The loss never rises, unless the docstring says "Not monotone"."""
    if "not monotone" in " ".join((inspect.getdoc(algorithm) or "").lower().split()):
        return
    for seed in range(4):
        X = rows(seed=seed) + (seed % 2) * 4 * np.sign(rows(seed=9)[:, :1])
        sample = ArraySample(X)
        capped = Elsewhere(sample, limit=3000)
        result = run(capped, model, algorithm(), start_for(model, sample), max_iter=40)
        gaps, points = result.trace["gap"].to_numpy(), _parameters(result)
        for t in range(1, len(gaps)):
            bound = rounding(X, points[t], model.scale(sample, points[t]), 0)
            rise = gaps[t] - gaps[t - 1]
            said = (
                f"iteration {t} raises the loss by {rise:.2g}: say 'Not monotone' in its docstring"
            )
            expect(rise <= bound, said)


def many_are_as_one_by_one(algorithm: Kind, model: Model) -> None:
    """``run_many`` gives the same results as ``run``, to the last bit."""
    samples: list[Sample] = [ArraySample(rows(ROWS + 5 * k, seed=k)) for k in range(3)]
    samples.append(LatticeSample.gaussian(1000, 2, seed=3))
    samples.append(Elsewhere(samples[0]))
    starts = [start_for(model, sample) for sample in samples]
    options: dict[str, Any] = {"max_iter": 12, "radius": 0.3}
    together = run_many(samples, model, algorithm(), starts, metrics=True, **options)
    for sample, start, result in zip(samples, starts, together, strict=True):
        expect_same(result, run(sample, model, algorithm(), start, **options))


def validation_selects_an_iterate(algorithm: Kind, model: Model) -> None:
    """The result is the recorded iterate with the smallest held-out loss."""
    sample = ArraySample(rows())
    train, held = sample.split(0.25, seed=2)
    result = run(sample, model, algorithm(), validation=0.25, max_iter=20, seed=2)
    expect_sound(result, model, train, 20)
    losses = result.trace["validation_loss"]
    chosen = result.trace["t"].tolist().index(result.selected)
    least = losses.min()
    expect(losses[chosen] == least, f"loss {losses[chosen]} was selected, the least is {least}")
    at = _parameters(result)[chosen]
    expect(result.params.tolist() == at.tolist(), "params are not the selected iterate")
    moments = train.moments()
    gap = model.gap(held, result.params, moments)
    best = gap + model.one_gaussian_loss(moments, held.moments())
    # an algorithm may move in other coordinates, in which the same point is rounded anew
    bound = rounding(sample.rows(), result.params, result.scale, 0)
    expect(abs(best - least) <= bound, f"the held-out loss is {best}, the trace says {least}")


def the_radius_stops_at_the_first_iterate_inside(algorithm: Kind, model: Model) -> None:
    """With ``radius`` a run ends as "reached" at the first iterate within it."""
    sample = ArraySample(rows())
    start, truth = start_for(model, sample), model.truth(0.0, 2)
    options: dict[str, Any] = {"max_iter": 60 if JIT else 20, "metrics": False}
    free = run(Elsewhere(sample, limit=2000), model, algorithm(), start, truth=truth, **options)
    errors = free.trace["location_error"].to_numpy()
    inside = errors[1:].min(initial=math.inf) * (1 + 1e-9)
    if not inside < errors[0]:  # never closer to the truth than at the start
        return
    first = int(np.argmax(errors <= inside))
    result = run(sample, model, algorithm(), start, radius=inside, **options)
    ended = (result.status, result.n_iter)
    expect(ended == ("reached", first), f"it ends as {ended}, not at iteration {first}")
    expect(result.params.tolist() == _parameters(free)[first].tolist(), "params differ there")


def threads_agree(algorithm: Kind, model: Model) -> None:
    """One thread and two give the same result, to the last bit."""
    sample = ArraySample(rows(12_000))  # three blocks, enough for threads to be used
    start = start_for(model, sample)
    usual = numba.get_num_threads()
    results = []
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            options: dict[str, Any] = {"max_iter": 15, "validation": 0.4, "metrics": False}
            results.append(run(sample, model, algorithm(), start, **options))
    finally:
        numba.set_num_threads(usual)
    expect_same(*results)


def no_data_make_it_raise(algorithm: Kind, model: Model) -> None:
    """Nearly degenerate, heavy-tailed, enormous or tiny data: a run ends with a status, silently."""
    rng = np.random.default_rng(4)
    signs = rng.choice([-1.0, 1.0], (50, 2))
    hard = {
        "two points": signs[:, :1] * [1.0, 2.0] + 1e-9 * rng.standard_normal((50, 2)),
        "four points": signs,
        "three rows": rng.standard_normal((3, 2)),
        "heavy tails": rng.standard_cauchy((200, 2)) ** 3,
        "one far row": np.vstack([rng.standard_normal((99, 2)), [[1e6, -1e6]]]),
        "large": 1e50 * rng.standard_normal((50, 2)),
        "small": 1e-50 * rng.standard_normal((50, 2)),
        "far away": 1e5 + rng.standard_normal((50, 2)),
        "correlated": rng.standard_normal((50, 1)) * [1.0, 1.0 + 1e-7],
    }
    for name, X in hard.items():
        sample = Elsewhere(ArraySample(X), limit=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            result = run(sample, model, algorithm(), max_iter=60)
        expect(result.status in _STATUSES, f"{name}: its status is {result.status!r}")
        expect((result.scale > 0).all(), f"{name}: the scale is {result.scale}")
        expect(np.isfinite(result.params).all(), f"{name}: params are {result.params}")


def a_lattice_is_its_rows(algorithm: Kind, model: Model) -> None:
    """A lattice and its rows written out are the same data, up to the order of summation."""
    sample = LatticeSample.gaussian(2000, 1, seed=2)
    written = ArraySample(np.repeat(sample.nodes, sample.counts.astype(int), axis=0))
    start = start_for(model, sample)
    options: dict[str, Any] = {"max_iter": 4, "metrics": False}
    one, two = (run(data, model, algorithm(), start, **options) for data in (sample, written))
    expect(one.n_iter == two.n_iter, f"{one.n_iter} and {two.n_iter} iterations")
    apart = np.max(np.abs(one.params - two.params))
    # a few steps of size 1: rounding has no time to grow
    expect(apart <= 1e-9, f"params differ by {apart}")


_ON_EACH_MODEL = (
    trials_come_to_an_end,  # first, as the compiled loop would not end either
    descends_or_says_that_it_need_not,
    many_are_as_one_by_one,
    validation_selects_an_iterate,
    the_radius_stops_at_the_first_iterate_inside,
)
#: About compiled code, or too slow as plain Python.
_COMPILED = (threads_agree, no_data_make_it_raise, a_lattice_is_its_rows)


# On one model and one kind of sample


def runs_end_with_a_known_status(algorithm: Kind, model: Model, kind: str) -> None:
    """Whatever the budget, the result is sound."""
    sample = SAMPLES[kind]()
    start = start_for(model, sample)
    for max_iter in (0, 1, 25):
        result = run(sample, model, algorithm(), start, max_iter=max_iter)
        expect_sound(result, model, sample, max_iter)
        # a step may leave the region at once; a start that was accepted is a result
        moved = result.n_iter > 0 or max_iter == 0
        ended = result.status in ("diverged", "converged")
        expect(moved or ended, f"no iteration of {max_iter}, and its status is {result.status!r}")


def passes_are_counted(algorithm: Kind, model: Model, kind: str) -> None:
    """``passes`` is the number of reads of the data."""
    inner = SAMPLES[kind]()
    counted = Elsewhere(inner)
    start = start_for(model, inner)
    result = run(counted, model, algorithm(), start, max_iter=15, metrics=False)
    expect(result.passes == counted.reads, f"{result.passes} passes, but {counted.reads} reads")
    last = result.trace["passes"].iloc[-1]
    expect(last <= result.passes, f"{last} passes in the trace, {result.passes} in all")
    billed = sum(float(amounts[-1]) for amounts in result.bill.reads.values())
    expect(billed == result.passes, f"{result.passes} passes, but {billed} reads on the bill")


def drivers_agree(algorithm: Kind, model: Model, kind: str) -> None:
    """The compiled loop and the Python loop give the same result, to the last bit."""
    sample = SAMPLES[kind]()
    start = start_for(model, sample)
    options: dict[str, Any] = {"max_iter": 20, "radius": 0.2, "tol": 1e-9}
    usual = run(sample, model, algorithm(), start, **options)
    expect_same(usual, run(sample, model, algorithm(), start, driver="python", **options))
    expect_same(usual, run(Elsewhere(sample), model, algorithm(), start, **options))


_ON_EACH_SAMPLE = (runs_end_with_a_known_status, passes_are_counted, drivers_agree)


# Results


def expect_same(one: Run, two: Run) -> None:
    """Everything but the clock, to the last bit."""
    columns = [name for name in one.trace.columns if name != "seconds"]
    for what, first, second in (
        ("statuses", one.status, two.status),
        ("iterations", one.n_iter, two.n_iter),
        ("passes", one.passes, two.passes),
        ("params", one.params.tobytes(), two.params.tobytes()),
        ("scales", one.scale.tobytes(), two.scale.tobytes()),
        (
            "traces",
            one.trace[columns].to_numpy().tobytes(),
            two.trace[columns].to_numpy().tobytes(),
        ),
    ):
        shown = "" if isinstance(first, bytes) else f": {first!r} and {second!r}"
        expect(first == second, f"{what} differ{shown}")


def expect_sound(result: Run, model: Model, sample: Sample, max_iter: int) -> None:
    """A result that can be used: finite, of positive scale, with a trace in order."""
    expect(result.status in _STATUSES, f"its status is {result.status!r}")
    shape = (model.n_params(sample.d),)
    expect(result.params.shape == shape, f"params have shape {result.params.shape}, not {shape}")
    expect(np.isfinite(result.params).all(), f"params are {result.params}")
    expect(np.isfinite(result.scale).all(), f"the scale is {result.scale}")
    expect((result.scale > 0).all(), f"the scale is {result.scale}")
    expect(0 <= result.n_iter <= max_iter, f"{result.n_iter} iterations of {max_iter}")
    least = result.n_iter * (result.status != "diverged")
    expect(result.passes >= least, f"{result.passes} passes in {result.n_iter} iterations")
    t = result.trace["t"].to_numpy()
    expect((t[0], t[-1]) == (0, result.n_iter), f"the trace goes from t = {t[0]} to {t[-1]}")
    expect((np.diff(t) > 0).all(), "t does not increase in the trace")
    for column in ("passes", "cost", "seconds"):
        expect((np.diff(result.trace[column]) >= 0).all(), f"{column} decrease in the trace")


def _parameters(result: Run) -> Floats:
    found: Floats = result.trace.filter(like="param_").to_numpy()
    return found
