"""What a study does: groups of runs on one sample each, batched into tasks, made into rows.

A task is a pure function of its description. The sample of a group depends on (seed, model, n, d,
replicate) and on nothing else: not on the algorithm, the block, the order or the worker. So all
algorithms see the same samples and starts, and a task computed again gives the same rows, but for the
columns of time and provenance.
"""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from elubench import info
from elubench.algorithms import LBFGS, Algorithm, NewtonAnderson
from elubench.algorithms.base import Goal
from elubench.checks import Floats
from elubench.kernels import layout
from elubench.models.base import Model
from elubench.models.known import named, radius
from elubench.runs import Run, run
from elubench.samples import ArraySample, LatticeSample, Sample, gaussian
from elubench.studies.specs import Block, Cell, Contestant, Spec, as_json

_text, _int, _float, _truth = pa.string(), pa.int64(), pa.float64(), pa.bool_()

#: Which run a row is about.
IDENTITY = {
    "block": _text,
    "model": _text,
    "n": _int,
    "d": _int,
    "replicate": _int,
    "samples": _text,
    "start": _text,
    "start_norm": _float,
    "algorithm": _text,
    "options": _text,
    "max_iter": _int,
    "stop": _text,
    "validation": _float,
    "radius_constant": _float,
    "radius": _float,
    "seed": _int,
}
#: What it found. Errors are of the location (distance) and of the scale (sigma squared, largest
#: difference); gaps are mean losses less that of the best single Gaussian; excesses less the MLE's.
OUTCOME = {
    "status": _text,
    "message": _text,
    "reached": _truth,
    "iterations_to_radius": _int,
    "passes_to_radius": _float,
    "iterations": _int,
    "passes": _float,
    "selected": _int,
    "start_error": _float,
    "location_error": _float,
    "scale_error": _float,
    "mle_distance": _float,
    "gap": _float,
    "excess": _float,
    "last_location_error": _float,
    "last_scale_error": _float,
    "last_mle_distance": _float,
    "last_gap": _float,
    "last_excess": _float,
    "mle_location_error": _float,
    "mle_gap": _float,
    "mle_converged": _truth,
}
#: Wall clock. ``comparable`` where the run had the machine to itself, as far as elubench knows.
TIME = {
    "seconds": _float,
    "seconds_to_radius": _float,
    "compile_seconds": _float,
    "comparable": _truth,
}
#: What made it. ``load`` is the system's load average before the run's task, where there is one.
PROVENANCE = {
    "engine": _text,
    "elubench": _text,
    "commit": _text,
    "python": _text,
    "numpy": _text,
    "numba": _text,
    "scipy": _text,
    "cpu": _text,
    "threads": _int,
    "load": _float,
}
SCHEMA = pa.schema({**IDENTITY, **OUTCOME, **TIME, **PROVENANCE})
TRACE_SCHEMA = pa.schema(
    {
        **IDENTITY,
        "t": _int,
        "step": _float,
        "passes": _float,
        "seconds": _float,
        "location_error": _float,
        "scale_error": _float,
        "gap": _float,
        "validation_loss": _float,
    }
)

_TASK_SECONDS = 1.0  # what a task should last at least, so that its bookkeeping does not show
_MLE_ITERATIONS = 500
_MLE_AXES = 8
_SECOND_ORDER_D = 16  # beyond, second-order passes cost more than they save


class Group(NamedTuple):
    """The runs on one sample."""

    cell: Cell
    replicate: int


class Task(NamedTuple):
    """A batch of groups, computed and stored as one; ``cost`` is an estimate in seconds."""

    number: int
    name: str
    groups: tuple[Group, ...]
    rows: int
    cost: float


class Plan(NamedTuple):
    """A study cut into tasks. ``bounds`` says where, in the order of the groups."""

    bounds: tuple[int, ...]
    tasks: tuple[Task, ...]


class Reference(NamedTuple):
    """The sample's own maximum-likelihood fit."""

    params: Floats
    location_error: float
    gap: float
    converged: bool


def groups_of(spec: Spec) -> Iterator[Group]:
    """Every group, replicates innermost."""
    for cell in spec.cells():
        for replicate in range(spec.blocks[cell.block].replicates):
            yield Group(cell, replicate)


def plan(spec: Spec, bounds: tuple[int, ...] | None = None) -> Plan:
    """Cut a study into tasks of about a second or more, or where ``bounds`` says.

    The cut depends on estimates alone, never on the engine or on the machine, so any engine can go on
    with what another began.
    """
    costs = {cell: group_cost(spec.blocks[cell.block], cell).seconds for cell in spec.cells()}
    groups = list(groups_of(spec))
    if bounds is None:
        made, total = [0], 0.0
        for place, group in enumerate(groups):
            total += costs[group.cell]
            if total >= _TASK_SECONDS:
                made.append(place + 1)
                total = 0.0
        if made[-1] != len(groups):
            made.append(len(groups))
        bounds = tuple(made)
    elif bounds[0] != 0 or bounds[-1] != len(groups) or list(bounds) != sorted(set(bounds)):
        raise ValueError("the bounds of the tasks do not fit the study")
    tasks = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        batch = tuple(groups[first:last])
        tasks.append(
            Task(
                number,
                _name(spec, number, first, last),
                batch,
                sum(_rows(spec.blocks[group.cell.block]) for group in batch),
                sum(costs[group.cell] for group in batch),
            )
        )
    return Plan(bounds, tuple(tasks))


def _rows(block: Block) -> int:
    return len(block.starts) * len(block.contestants)


def _name(spec: Spec, number: int, first: int, last: int) -> str:
    digest = hashlib.sha256(f"{spec.hash} {first} {last}".encode()).hexdigest()[:8]
    return f"{number:06d}-{digest}"


def seed_of(seed: int, model: str, n: int, d: int, replicate: int, purpose: str) -> int:
    """A seed for one purpose on one sample, the same on every machine."""
    text = f"{seed}/{model}/{n}/{d}/{replicate}/{purpose}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


# Doing it.


def perform(
    spec: Spec, groups: tuple[Group, ...], engine: str, comparable: bool
) -> tuple[pa.Table, pa.Table | None]:
    """The rows of these groups and, where their blocks ask for traces, those too."""
    facts = {**_facts(), "engine": engine, "comparable": comparable, "load": _load()}
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
    model = named(cell.model)
    target = radius(model, cell.n, cell.d, constant=block.radius_constant)
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
        "radius": target,
        "seed": spec.seed,
    }
    failure = ""
    try:
        train, held = _sample(spec, block, group)
        reference = _mle(model, train) if block.mle else None
    except Exception as error:
        failure = f"sample: {_said(error)}"
    for kind in block.starts:
        for contestant in block.contestants:
            identity = {
                **for_all,
                "start": kind,
                "algorithm": contestant.algorithm.name,
                "options": as_json(_resolved(contestant.algorithm, model)),
                "max_iter": contestant.max_iter,
            }
            if failure:
                yield {**identity, **_failed(failure)}, None
                continue
            try:
                start = start_at(kind, block.start_norm, model, train, spec.seed, group)
                outcome, trace = _one(
                    block, contestant, model, train, held, start, target, reference
                )
            except Exception as error:
                yield {**identity, **_failed(_said(error))}, None
                continue
            yield {**identity, **outcome}, _thinned(trace, identity, block, model, train)


def _failed(message: str) -> dict[str, Any]:
    return {"status": "failed", "message": message, "reached": False}


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]


def _resolved(algorithm: Algorithm, model: Model) -> dict[str, Any]:
    """Options as used on this model, without the name."""
    used = Contestant(algorithm.resolve(model), 0).options
    return {key: value for key, value in used.items() if key != "name"}


def _sample(spec: Spec, block: Block, group: Group) -> tuple[Sample, Sample | None]:
    cell, replicate = group
    model, n, d = cell.model, cell.n, cell.d
    seed = seed_of(spec.seed, model, n, d, replicate, "sample")
    sample: ArraySample | LatticeSample
    if block.samples == "lattice":
        sample = LatticeSample.gaussian(n, d, seed)
    else:
        sample = ArraySample(gaussian(n, d, seed))
    if block.validation is None:
        return sample, None
    return sample.split(
        block.validation, seed=seed_of(spec.seed, model, n, d, replicate, "validation")
    )


def start_at(
    kind: str, norm: float, model: Model, sample: Sample, seed: int, group: Group
) -> Floats:
    """A start of the given norm in units of the sample's spread.

    ``equal`` has equal coordinates; at norm 0.9 it is the model's default start. ``generic`` has a
    random direction, and for general locations a half sum that is off the centre, too.
    """
    d = sample.d
    direction, aside = np.full(d, 1.0 / math.sqrt(d)), np.zeros(d)
    if kind == "generic":
        cell = group.cell
        own = seed_of(seed, cell.model, cell.n, cell.d, group.replicate, "start")
        draws = np.random.Generator(np.random.PCG64DXSM(own)).standard_normal((2, d))
        direction, aside = draws / np.linalg.norm(draws, axis=1)[:, None]
        aside = 0.5 * aside
    m1, m2 = sample.moments()[1:]
    if model.name == "general":
        spread = math.sqrt(float(np.mean(m2 - m1**2)))
        half_sum = m1 + spread * norm * aside
        delta = spread * norm * direction
        return np.concatenate([half_sum - delta, half_sum + delta])
    spreads = np.sqrt(m2) if model.name == "diagonal" else math.sqrt(float(np.mean(m2)))
    start: Floats = norm * spreads * direction
    return start


def _mle(model: Model, train: Sample) -> Reference:
    """The best of Newton-Anderson's ends and the single Gaussian.

    The diagonal model has a local minimum near every axis, so each is a start. With 1e-8 in place of
    the usual 0.01, what is left of the location at a minimum as flat as theta^8 is 0.14 n^(-1/8).
    """
    algorithm: Algorithm = NewtonAnderson(precision=1e-8)
    if train.d > _SECOND_ORDER_D:
        algorithm = LBFGS(coordinates="natural")
    truth = model.truth(0.0, train.d)
    centre = truth if model.even else model.truth(train.moments().m1, train.d)
    starts = [model.default_start(train)]
    if model.name == "diagonal" and train.d > 1:
        for j in range(min(train.d, _MLE_AXES)):
            axis = 0.05 * starts[0]
            axis[j] = 0.7 * math.sqrt(float(train.moments().m2[j]))
            starts.append(axis)
    best, least, converged = centre, 0.0, True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in starts:
            ended = run(train, model, algorithm, start, max_iter=_MLE_ITERATIONS, metrics=False)
            _heed(ended)
            gap = model.gap(train, ended.params)
            converged = converged and ended.status == "converged"
            if gap < least:
                best, least = ended.params, gap
    return Reference(best, model.location_error(best, truth), least, converged)


def _heed(ended: Run) -> None:
    if ended.status == "interrupted":  # a run returns what it has; a study stops
        raise KeyboardInterrupt


def _one(
    block: Block,
    contestant: Contestant,
    model: Model,
    train: Sample,
    held: Sample | None,
    start: Floats,
    radius: float,
    reference: Reference | None,
) -> tuple[dict[str, Any], Any]:
    """One run as the outcome and time columns of its row, and its trace."""
    truth, true_scale = model.truth(0.0, train.d), np.ones(model.n_scales(train.d))

    def go(stop: float | None) -> Run:
        ended = run(
            train, model, contestant.algorithm, start, max_iter=contestant.max_iter, radius=stop,
            validation=held, truth=truth, true_scale=true_scale if block.traces else None,
            metrics=False,
        )  # fmt: skip
        _heed(ended)
        return ended

    def arrival(ended: Run) -> tuple[int, float, float] | None:
        return _at(ended.trace, -1) if ended.status == "reached" else None

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ended = go(radius if block.stop == "radius" else None)
        if block.stop == "radius":
            hit = arrival(ended)
        else:
            try:
                hit = _hit(ended.trace, radius)
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
        "selected": ended.selected,
        "start_error": model.location_error(start, truth),
        "seconds": ended.seconds,
        "compile_seconds": ended.compile_seconds,
    }
    if hit is not None:
        iterations, passes, seconds = hit
        outcome.update(
            iterations_to_radius=iterations, passes_to_radius=passes, seconds_to_radius=seconds
        )
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
    return outcome, ended.trace


def _hit(trace: Any, radius: float) -> tuple[int, float, float] | None:
    """Iteration, passes and seconds of the first iterate within the radius, None if there is none.

    Raises LookupError where iterates that were not recorded leave it open.
    """
    t = trace["t"].to_numpy()
    inside = np.flatnonzero(trace["location_error"].to_numpy() <= radius)
    last = int(inside[0]) if len(inside) else len(t) - 1
    if t[last] != last:
        raise LookupError
    return _at(trace, last) if len(inside) else None


def _at(trace: Any, place: int) -> tuple[int, float, float]:
    found = trace.iloc[place]
    return int(found["t"]), float(found["passes"]), float(found["seconds"])


def _thinned(
    trace: Any, identity: dict[str, Any], block: Block, model: Model, train: Sample
) -> pa.Table | None:
    """At most ``block.traces`` rows of the trace, spread evenly, first and last among them."""
    if not block.traces:
        return None
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


@cache
def _facts() -> dict[str, Any]:
    known = info.collect()
    versions = known["versions"]
    return {
        "elubench": versions["elubench"],
        "commit": commit(),
        "python": versions["python"],
        "numpy": versions["numpy"],
        "numba": versions["numba"],
        "scipy": versions["scipy"],
        "cpu": known["system"]["processor"],
    }


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


@cache
def commit() -> str | None:
    """The commit of elubench's own checkout, with a plus sign if files were changed since.

    None for an installed copy.
    """
    package = Path(__file__).resolve().parent
    if not (package.parent / ".git").exists():
        return None
    try:
        made = _git(package, "rev-parse", "--short=12", "HEAD")
        return made + ("+" if _git(package, "status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    asked = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


# What it will cost, roughly: on one core, from passes x rows x nanoseconds.


class Cost(NamedTuple):
    """An estimate: reads of the data, and seconds on one core."""

    passes: float
    seconds: float


_FOREIGN_SECONDS = 3e-4  # an iteration in Python
_RUN_SECONDS = 3e-3  # set-up, trace and errors of a run


def group_cost(block: Block, cell: Cell) -> Cost:
    """Of all runs on one sample, with the draw and the sample's MLE."""
    model = named(cell.model)
    rows = _distinct_rows(block.samples, cell.n, cell.d, model.even)
    passes = 0.0
    seconds = rows * 1e-6 if block.samples == "lattice" else 30e-9 * cell.n * cell.d
    if block.mle:
        starts = 1 + min(cell.d, _MLE_AXES) if model.name == "diagonal" and cell.d > 1 else 1
        want = layout.LOG_COSH | (layout.CURVATURE if cell.d <= _SECOND_ORDER_D else 0)
        passes += 25.0 * starts
        seconds += starts * (_RUN_SECONDS + 25.0 * _pass_seconds(rows, cell.d, want))
    for start in block.starts:
        for one in block.contestants:
            needed = _passes(block, cell, one, start)
            passes += needed
            each = _pass_seconds(rows, cell.d, one.algorithm.want)
            if block.validation is not None:
                held = rows if block.samples == "lattice" else block.validation * rows
                each += _pass_seconds(held, cell.d, layout.LOG_COSH)
            if not hasattr(type(one.algorithm), "update"):
                each += _FOREIGN_SECONDS
            seconds += _RUN_SECONDS + needed * each
    return Cost(passes, seconds)


def _passes(block: Block, cell: Cell, one: Contestant, start: str) -> float:
    model = named(cell.model)
    target = radius(model, cell.n, cell.d, constant=block.radius_constant)
    # on the diagonal model a generic start leads along an axis, where it is as flat as at d = 1
    d = 1 if cell.model == "diagonal" and start == "generic" else cell.d
    goal = Goal(model.flatness(d), target, block.start_norm, one.max_iter, block.stop == "end")
    return one.algorithm.resolve(model).expected_passes(goal)


def _pass_seconds(rows: float, d: int, want: int) -> float:
    each = 2.4 + 0.8 * d
    if want & layout.LOG_COSH:
        each += 2.0
    if want & layout.CURVATURE:
        each += 2.0 + 0.25 * d * (d + 1)
    return 2e-7 + 1e-9 * each * rows


def _distinct_rows(samples: str, n: int, d: int, even: bool) -> float:
    """Rows that a pass reads: n, or the nodes of the lattice that n draws hit, x and -x as one."""
    if samples == "direct":
        return float(n)
    spacing = {1: 0.125, 2: 0.25, 3: 0.4, 4: 0.5}[d]
    mode = n * (spacing / math.sqrt(2.0 * math.pi)) ** d  # expected count at the centre
    reach = math.sqrt(2.0 * math.log(max(mode, 1.0)) + 1.0) / spacing
    ball = math.pi ** (d / 2.0) / math.gamma(d / 2.0 + 1.0) * reach**d
    nodes = min(float(n), ball)
    return 0.5 * nodes if even else nodes
