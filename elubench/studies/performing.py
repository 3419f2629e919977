"""What a task does: for each group a sample, its MLE, a run per start and algorithm, a row per run.

A task is a pure function of its description. All algorithms see the same samples and starts, and a task
computed again gives the same rows, except in the columns of time and provenance.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from elubench.algorithms.known import options_of
from elubench.checks import Floats
from elubench.models.base import Model
from elubench.models.known import radius
from elubench.runs import Run, run
from elubench.samples import ArraySample, LatticeSample, Sample, gaussian
from elubench.studies import provenance
from elubench.studies.mle import Reference, maximum_likelihood
from elubench.studies.plan import Group, seed_of
from elubench.studies.rows import SCHEMA, TRACE_SCHEMA
from elubench.studies.shape import shapes_of
from elubench.studies.spec import Block, Cell, Contestant, Spec, as_json

T = TypeVar("T")


class MachineError(RuntimeError):
    """A task that failed for a reason outside of it, and makes no rows."""


def perform(
    spec: Spec, groups: tuple[Group, ...], engine: str, comparable: bool
) -> tuple[pa.Table, pa.Table | None]:
    """The rows of these groups and, where their blocks ask for traces, those too."""
    facts = {
        **provenance.facts(),
        "engine": engine,
        "comparable": comparable,
        "load": provenance.load(),
    }
    rows: list[dict[str, Any]] = []
    traces: list[pa.Table] = []
    # SciPy's methods have matrices so small that BLAS threads only get in each other's way, and a
    # result must not depend on how many there are.
    with threadpool_limits(1, "blas"):
        for group in groups:
            for row, trace in _group(spec, spec.blocks[group.cell.block], group):
                rows.append({**row, **facts, "threads": numba.get_num_threads()})
                if trace is not None:
                    traces.append(trace)
    wanted = any(spec.blocks[group.cell.block].traces for group in groups)
    return (
        pa.Table.from_pylist(rows, schema=SCHEMA),
        pa.concat_tables([TRACE_SCHEMA.empty_table(), *traces]) if wanted else None,
    )


def _group(spec: Spec, block: Block, group: Group) -> Iterator[tuple[dict[str, Any], Any]]:
    cell, replicate = group
    model = block.model(cell.model)
    goal = _goal(model, block, cell)
    for_all = {
        "block": block.name,
        "model": cell.model,
        "n": cell.n,
        "d": cell.d,
        "replicate": replicate,
        "samples": block.samples,
        "start_norm": block.start_norm,
        "stop": block.stop,
        "validation": block.validation,
        "radius_constant": block.radius_constant,
        "radius": goal.radius,
        "seed": spec.seed,
        **({} if block.truth is None else block.truth.columns(cell.n)),
    }

    def sampled() -> tuple[Sample, Sample | None, Reference | None, dict[str, float]]:
        train, held = _sample(spec, block, group)
        reference = maximum_likelihood(model, train, goal.truth) if block.mle else None
        return train, held, reference, shapes_of(model, train, held)

    found, failure = _tried(sampled)
    if found is not None:
        train, held, reference, shapes = found
    for kind in block.starts:
        for contestant in block.contestants:
            identity = {
                **for_all,
                "start": kind,
                "algorithm": contestant.name,
                "options": as_json(options_of(contestant.algorithm.resolve(model))),
                "max_iter": contestant.max_iter,
            }
            if found is None:
                yield {**identity, **_failed(f"sample: {failure}")}, None
                continue

            def ran(
                kind: str = kind, contestant: Contestant = contestant
            ) -> tuple[dict[str, Any], Run]:
                start = start_at(kind, block.start_norm, model, train, spec.seed, group)
                return _one(block, contestant, model, train, held, start, goal, reference)

            ended, message = _tried(ran)
            if ended is None:
                yield {**identity, **_failed(message)}, None
                continue
            outcome, done = ended
            kept = _thinned(done.trace, identity, block, model, train) if block.traces else None
            yield {**identity, **outcome, **shapes}, kept


def _tried(work: Callable[[], T]) -> tuple[T | None, str]:
    """What the work returns or, where it fails by its own fault, None and how.

    Rows are kept for ever, and a task is a pure function of its description: what fails by its own
    fault fails again in the same way. What does not had another cause, and the second attempt counts.
    A machine without memory, files or disk is never the work's fault.
    """
    failures: list[type[Exception]] = []
    while True:
        try:
            return work(), ""
        except (MemoryError, OSError) as error:
            raise MachineError(_said(error)) from error
        except Exception as error:
            if type(error) in failures:
                return None, _said(error)
            failures.append(type(error))


def _failed(message: str) -> dict[str, Any]:
    return {"status": "failed", "message": message, "reached": False}


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]


class _Goal(NamedTuple):
    """What runs are measured from: the parameters of the truth, and the radius about it."""

    radius: float
    truth: Floats


def _goal(model: Model, block: Block, cell: Cell) -> _Goal:
    n, d, constant = cell.n, cell.d, block.radius_constant
    if block.truth is None:
        return _Goal(radius(model, n, d, constant=constant), model.truth(0.0, d))
    at = model.flatness(d).radius_at(n, d, block.truth.half_distance(n), constant)
    return _Goal(at, block.truth.params(model, n, d))


def _sample(spec: Spec, block: Block, group: Group) -> tuple[Sample, Sample | None]:
    cell, replicate = group
    model, n, d = cell.model, cell.n, cell.d
    mixed = "" if block.truth is None else as_json(block.truth.canonical())
    seed = seed_of(spec.seed, model, n, d, replicate, f"sample{mixed}")
    sample: ArraySample | LatticeSample
    if block.truth is not None:
        sample = block.truth.sample(block.samples, n, d, seed)
    elif block.samples == "lattice":
        sample = LatticeSample.gaussian(n, d, seed)
    else:
        sample = ArraySample(gaussian(n, d, seed))
    if block.validation is None:
        return sample, None
    return sample.split(
        block.validation, seed=seed_of(spec.seed, model, n, d, replicate, f"validation{mixed}")
    )


def start_at(
    kind: str, norm: float, model: Model, sample: Sample, seed: int, group: Group
) -> Floats:
    """A start of the given norm in units of the sample's spread.

    ``equal`` has equal coordinates; at norm 0.9 it is the model's default start. ``generic`` has a
    random direction and, where the model has a half sum, one that is off the centre.
    """
    d = sample.d
    direction, aside = np.full(d, 1.0 / math.sqrt(d)), np.zeros(d)
    if kind == "generic":
        cell = group.cell
        own = seed_of(seed, cell.model, cell.n, cell.d, group.replicate, "start")
        draws = np.random.Generator(np.random.PCG64DXSM(own)).standard_normal((2, d))
        direction, aside = draws / np.linalg.norm(draws, axis=1)[:, None]
        aside = 0.5 * aside
    moments = sample.moments()
    unit = norm * model.spread(moments)
    return model.placed(moments, unit * direction, unit * aside)


def _one(
    block: Block,
    contestant: Contestant,
    model: Model,
    train: Sample,
    held: Sample | None,
    start: Floats,
    goal: _Goal,
    reference: Reference | None,
) -> tuple[dict[str, Any], Run]:
    """One run, and the outcome and time columns of its row."""
    (radius, truth), true_scale = goal, np.ones(model.n_scales(train.d))

    def go(stop: float | None) -> Run:
        ended = run(
            train, model, contestant.algorithm, start, max_iter=contestant.max_iter, radius=stop,
            validation=held, truth=truth, true_scale=true_scale if block.traces else None,
            metrics=False,
        )  # fmt: skip
        if ended.status == "interrupted":  # a run returns what it has; a study stops
            raise KeyboardInterrupt
        return ended

    def arrival(ended: Run) -> dict[str, float] | None:
        return _at(ended, -1) if ended.status == "reached" else None

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ended = go(radius if block.stop == "radius" else None)
        if block.stop == "radius":
            hit = arrival(ended)
        else:
            try:
                hit = _hit(ended, radius)
            except LookupError:
                hit = arrival(go(radius))
    points = np.stack([ended.params, ended.last])
    gaps = model.gaps(train, points)
    outcome: dict[str, Any] = {
        "status": ended.status,
        "message": "; ".join(dict.fromkeys(str(one.message) for one in heard))[:500],
        "reached": hit is not None,
        "iterations": ended.n_iter,
        "passes": ended.passes,
        "cost": ended.cost,
        "selected": ended.selected,
        "start_error": model.location_error(start, truth),
        "seconds": ended.seconds,
        "compile_seconds": ended.compile_seconds,
    }
    outcome |= {f"{name}_to_radius": value for name, value in (hit or {}).items()}
    for prefix, point, gap in zip(("", "last_"), points, gaps, strict=True):
        scale = model.scale(train, point)
        outcome[f"{prefix}location_error"] = model.location_error(point, truth)
        outcome[f"{prefix}scale_error"] = model.scale_error(scale, true_scale)
        outcome[f"{prefix}gap"] = float(gap)
        if reference is not None:
            outcome[f"{prefix}mle_distance"] = model.location_error(point, reference.params)
            outcome[f"{prefix}excess"] = float(gap) - reference.gap
    if reference is not None:
        outcome["mle_location_error"] = reference.location_error
        outcome["mle_gap"] = reference.gap
        outcome["mle_converged"] = reference.converged
    return outcome, ended


def _hit(ended: Run, radius: float) -> dict[str, float] | None:
    """What it took to the first iterate within the radius, None if there is none.

    Raises LookupError where iterates that were not recorded leave it open.
    """
    t = ended.columns["t"]
    inside = np.flatnonzero(ended.columns["location_error"] <= radius)
    last = int(inside[0]) if len(inside) else len(t) - 1
    if t[last] != last:
        raise LookupError
    return _at(ended, last) if len(inside) else None


def _at(ended: Run, place: int) -> dict[str, float]:
    return {
        "iterations": int(ended.columns["t"][place]),
        "passes": float(ended.columns["passes"][place]),
        "cost": ended.cost_at(place),
        "seconds": float(ended.columns["seconds"][place]),
    }


def _thinned(
    trace: Any, identity: dict[str, Any], block: Block, model: Model, train: Sample
) -> pa.Table:
    """At most ``block.traces`` rows of the trace, spread evenly, first and last among them."""
    count = min(block.traces, len(trace))
    kept = trace.iloc[np.unique(np.linspace(0, len(trace) - 1, count).round().astype(int))]
    made: dict[str, Any] = {}
    for field in TRACE_SCHEMA:
        if field.name in identity:
            made[field.name] = pa.array([identity[field.name]] * len(kept), field.type)
        elif field.name in kept:
            made[field.name] = pa.array(kept[field.name], field.type, from_pandas=True)
        else:
            made[field.name] = pa.nulls(len(kept), field.type)
    params = [name for name in kept.columns if name.startswith("param_")]
    if params:
        points = np.ascontiguousarray(kept[params].to_numpy())
        gaps = [model.gaps(train, points[at : at + 8]) for at in range(0, len(points), 8)]
        made["gap"] = pa.array(np.concatenate(gaps))
    return pa.table(made, schema=TRACE_SCHEMA)
