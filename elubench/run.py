"""A run: one algorithm on one sample from one start, until it stops, with its trace.

Two drivers give the same iterates: a compiled loop for samples in memory, and a Python loop for any
other :class:`~elubench.samples.Sample`. A run stops for one of these reasons and no other:

``reached``      an accepted iterate is within ``radius`` of the truth
``converged``    a step is no longer than ``tol``, or the algorithm's own criterion holds
``max_iter``     the budget of iterations is spent
``diverged``     the next iterate has a scale that is not positive, or a number that is not finite
``interrupted``  Ctrl-C; what there is is returned

Iterates are recorded in passing; losses and errors are worked out from the record afterwards, so the
clock has only the iteration in it (and the validation, which is part of it).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from elubench.algorithms.base import Algorithm
from elubench.kernels import loops, ready, reduction
from elubench.kernels.loops import Data, Work
from elubench.models import Model, named
from elubench.samples import ArraySample, Sample, check
from elubench.samples.base import Floats, PackedSample

STATUSES = {
    loops.REACHED: "reached",
    loops.CONVERGED: "converged",
    loops.MAX_ITER: "max_iter",
    loops.DIVERGED: "diverged",
}
_CHUNK_SECONDS = 0.05  # Ctrl-C is heard, and the clock read, this often
_DENSE = 128  # iterations that are all recorded; then _PER_DECADE
_PER_DECADE = 64
_TRACE_BYTES = 8e6
_BATCH = 8  # points evaluated in one read when the trace is filled in


class StationaryStartWarning(UserWarning):
    """The start has both components in one place, which EM and gradient steps cannot leave."""


@dataclass(frozen=True)
class Run:
    """What a run did.

    ``params`` and ``scale`` (sigma squared) are those of the selected iterate: the one with the
    smallest held-out loss if there was validation, else the last. ``passes`` counts reads of the data
    handed to the run; with validation an iteration reads the training part once for the step and the
    held-out part once for the loss. ``seconds`` is the iteration alone; ``compile_seconds`` is what
    the first use of a kernel cost.
    """

    status: str
    n_iter: int
    passes: float
    seconds: float
    params: Floats
    scale: Floats
    selected: int
    last: Floats
    trace: pd.DataFrame = field(repr=False)
    model: Model
    algorithm: Algorithm
    compile_seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


def run(
    sample: Sample | ArrayLike,
    model: Model | str,
    algorithm: Algorithm,
    start: ArrayLike | None = None,
    *,
    max_iter: int = 10_000,
    radius: float | None = None,
    tol: float | None = None,
    validation: float | Sample | None = None,
    truth: ArrayLike | None = None,
    true_scale: ArrayLike | None = None,
    seed: int = 0,
    metrics: bool = True,
    driver: str = "auto",
) -> Run:
    """Run an algorithm.

    Parameters
    ----------
    sample : a Sample, or an (n, d) array-like.
    model : a model, or its name.
    algorithm : an algorithm with its options.
    start : parameters to start from; by default ``model.default_start(sample)``.
    max_iter : budget of iterations.
    radius : stop at the first iterate whose location error is at most this.
    tol : stop at the first step of at most this length.
    validation : None, a share in (0, 1) to hold out, or a sample to validate on.
    truth : parameters that errors are measured from; with ``radius`` the default is location 0.
    true_scale : scale that scale errors are measured from.
    seed : of the random split.
    metrics : whether to work out losses and errors of the recorded iterates.
    driver : "auto", "compiled" or "python".
    """
    task = _Task.prepared(
        sample, model, algorithm, start, max_iter, radius, tol, validation, truth, true_scale,
        seed, metrics,
    )  # fmt: skip
    if driver not in ("auto", "compiled", "python"):
        raise ValueError(f"driver must be 'auto', 'compiled' or 'python', got {driver!r}")
    packed = isinstance(task.train, PackedSample) and isinstance(task.held, PackedSample | None)
    if driver == "compiled" and not packed:
        raise ValueError(f"driver 'compiled' needs a sample in memory, got {type(sample).__name__}")
    compiling = time.perf_counter()
    kernels = [*task.model.algebra, task.algorithm.update, loops.settle]
    for each in [*kernels, loops.loop] if packed and driver != "python" else kernels:
        ready(each)
    compiled = time.perf_counter() - compiling
    drive = _drive_compiled if packed and driver != "python" else _drive_python
    clock, interrupted = drive(task)
    return task.result(clock, interrupted, compiled)


def run_many(
    samples: Sequence[Sample | ArrayLike],
    model: Model | str,
    algorithm: Algorithm,
    starts: Any = None,
    *,
    max_iter: int = 10_000,
    radius: float | None = None,
    tol: float | None = None,
    validation: float | None = None,
    truth: ArrayLike | None = None,
    true_scale: ArrayLike | None = None,
    seed: int = 0,
    metrics: bool = False,
) -> list[Run]:
    """Run the same algorithm on many samples, with the same results as one by one.

    Small samples in memory are shared out to threads, a replicate each; large ones run one after the
    other with the threads inside the pass. ``seconds`` of replicates that ran side by side is their
    share of the time for all. ``starts`` is None, one start for all, or one for each sample.
    """
    given = list(samples)
    each: list[Any]
    if starts is None or np.ndim(starts) == 1:
        each = [starts] * len(given)
    else:
        each = list(starts) if isinstance(starts, Sequence | np.ndarray) and np.ndim(starts) else []
        if len(each) != len(given):
            raise ValueError(
                f"starts must be one, or one for each of {len(given)} samples, got {len(each)}"
            )
    tasks = [
        _Task.prepared(
            one, model, algorithm, begin, max_iter, radius, tol, validation, truth, true_scale,
            seed, metrics,
        )
        for one, begin in zip(given, each, strict=True)
    ]  # fmt: skip
    results: list[Run | None] = [None] * len(tasks)
    groups: dict[Any, list[int]] = {}
    for place, task in enumerate(tasks):
        key = _stack_key(task)
        if key is None:
            results[place] = _alone(task)
        else:
            groups.setdefault(key, []).append(place)
    for places in groups.values():
        together = _together([tasks[place] for place in places])
        for place, result in zip(places, together, strict=True):
            results[place] = result
    return [result for result in results if result is not None]


@dataclass
class _Task:
    """A run that is set up: arguments checked, arrays allocated, nothing iterated yet."""

    train: Sample
    held: Sample | None
    share: float
    model: Model
    algorithm: Algorithm
    max_iter: int
    truth: Floats | None
    true_scale: Floats | None
    metrics: bool
    work: Work

    @classmethod
    def prepared(
        cls,
        sample: Any,
        model: Model | str,
        algorithm: Algorithm,
        start: Any,
        max_iter: int,
        radius: float | None,
        tol: float | None,
        validation: Any,
        truth: Any,
        true_scale: Any,
        seed: int,
        metrics: bool,
    ) -> _Task:
        model = named(model)
        if not isinstance(algorithm, Algorithm):
            raise TypeError(f"algorithm must be an Algorithm such as EM(), got {algorithm!r}")
        algorithm = algorithm.resolve(model)
        max_iter = check.integer(max_iter, "max_iter", 0)
        if radius is not None:
            radius = check.real(radius, "radius", above=0.0)
        if tol is not None:
            tol = check.real(tol, "tol", above=0.0, closed="above")
        if not isinstance(sample, Sample):
            sample = ArraySample(sample)
        train, held = _split(sample, validation, check.integer(seed, "seed", 0))
        begin = model.check_params(
            train, model.default_start(train) if start is None else start, "start"
        )
        if model.is_stationary_start(begin):
            warnings.warn(
                "start has both components at the same place; EM and gradient steps cannot leave it",
                StationaryStartWarning,
                stacklevel=3,
            )
        p = len(begin)
        goal = None
        if truth is not None:
            goal = check.vector(truth, "truth", p)
        elif radius is not None:
            goal = model.truth(0.0, train.d)
        scale_goal = None
        if true_scale is not None:
            scales = model.n_scales(train.d)
            given = np.full(scales, true_scale) if np.ndim(true_scale) == 0 else true_scale
            scale_goal = check.vector(given, "true_scale", scales)
        total = train.n + (0 if held is None else held.n)
        work = _work(model, algorithm, begin, goal, train.d, max_iter, radius, tol)
        return cls(
            train,
            held,
            train.n / total,
            model,
            algorithm,
            max_iter,
            goal,
            scale_goal,
            metrics,
            work,
        )

    def begin(self) -> None:
        """Judge and record the start itself."""
        work = self.work
        validation = math.nan
        if self.held is not None:
            validation = self.model.gap(self.held, work.iterate, self.train.moments())
            work.counters[loops.VALIDATIONS] = 1
            work.limits[loops.BEST] = validation
        if self.truth is not None and not np.isnan(work.limits[loops.RADIUS]):
            distance = self.model.location_error(work.iterate, self.truth)
            if distance <= work.limits[loops.RADIUS]:
                work.counters[loops.STATUS] = loops.REACHED
        if work.counters[loops.STATUS] == loops.RUNNING and self.max_iter == 0:
            work.counters[loops.STATUS] = loops.MAX_ITER
        work.report[loops.STEP] = math.nan
        ready(loops.record)(validation, work)

    def passes(self, training: Any, validations: Any) -> Any:
        """Reads of the data handed to the run."""
        return training * self.share + validations * (1.0 - self.share)

    def result(self, clock: list[tuple[int, float]], interrupted: bool, compiled: float) -> Run:
        work, counters = self.work, self.work.counters
        n_iter = int(counters[loops.ITERATIONS])
        if work.records[counters[loops.RECORDS] - 1, loops.RECORD_T] != n_iter:
            ready(loops.record)(math.nan, work)
        params = work.iterate.copy() if self.held is None else work.selected.copy()
        describe = getattr(self.algorithm, "describe", None)
        return Run(
            status="interrupted" if interrupted else STATUSES[int(counters[loops.STATUS])],
            n_iter=n_iter,
            passes=float(self.passes(counters[loops.PASSES], counters[loops.VALIDATIONS])),
            seconds=clock[-1][1],
            params=params,
            scale=self.model.scale(self.train, params),
            selected=n_iter if self.held is None else int(counters[loops.SELECTED]),
            last=work.iterate.copy(),
            trace=_trace(self, clock),
            model=self.model,
            algorithm=self.algorithm,
            compile_seconds=compiled,
            details=describe(work.state) if describe is not None else {},
        )


def _split(sample: Sample, validation: Any, seed: int) -> tuple[Sample, Sample | None]:
    if validation is None:
        return sample, None
    if isinstance(validation, Sample):
        if validation.d != sample.d:
            raise ValueError(f"validation has d={validation.d} coordinates, the sample {sample.d}")
        return sample, validation
    share = check.real(validation, "validation", 0.0, 1.0)
    split = getattr(sample, "split", None)
    if split is None:
        raise ValueError(f"validation must be a sample: {type(sample).__name__} cannot be split")
    train, held = split(share, seed=seed)
    return train, held


def _work(
    model: Model,
    algorithm: Algorithm,
    start: Floats,
    truth: Floats | None,
    d: int,
    max_iter: int,
    radius: float | None,
    tol: float | None,
) -> Work:
    p, k = len(start), algorithm.points
    schedule = _schedule(max_iter, p)
    curved = p if algorithm.want & reduction.CURVATURE else 0
    width = reduction.width(d, algorithm.want)
    limits = np.array(
        [math.nan if radius is None else radius, math.nan if tol is None else tol, math.inf]
    )
    return Work(
        counters=np.zeros(loops.COUNTERS_SIZE, dtype=np.int64),
        limits=limits,
        options=algorithm.options(),
        state=np.zeros(algorithm.state_size(p)),
        report=np.zeros(loops.REPORT_SIZE),
        truth=np.zeros(p) if truth is None else truth.copy(),
        iterate=start.copy(),
        previous=start.copy(),
        selected=start.copy(),
        points=np.tile(start, (k, 1)),
        em=np.empty((k, p)),
        gradient=np.empty((k, p)),
        gap=np.full(k, math.nan),
        hessian=np.empty((k, curved, curved)),
        u=np.empty((k, d)),
        b=np.empty(k),
        sums=np.empty((k, width)),
        validation_sums=np.empty((1, reduction.width(d, reduction.LOG_COSH))),
        schedule=schedule,
        recorded=np.empty((len(schedule) + 1, p)),
        records=np.empty((len(schedule) + 1, loops.RECORD_SIZE)),
    )


def _schedule(max_iter: int, p: int) -> NDArray[np.int64]:
    """Iterations to record: 0, every early one, then logarithmically spaced, within a few MB."""
    most = max(16.0, _TRACE_BYTES / (8.0 * (p + 16)))
    thin = min(1.0, most / (_DENSE + 8 * _PER_DECADE))
    dense = max(8, int(_DENSE * thin))
    early = np.arange(min(dense, max_iter) + 1)
    if max_iter <= dense:
        return early
    decades = math.log10(max_iter / dense)
    late = np.geomspace(dense, max_iter, 2 + int(decades * max(2.0, _PER_DECADE * thin)))
    return np.unique(np.concatenate([early, np.rint(late).astype(np.int64)]))


def _data(sample: Sample | None, model: Model, d: int) -> Data:
    if sample is None:
        none = np.empty((0, 0))
        return Data(np.empty((0, d, 1)), none, 0, 1.0, np.zeros(d), np.zeros(d))
    assert isinstance(sample, PackedSample)
    tiles = sample.even_tiles() if model.even else sample.tiles
    moments = sample.moments()
    return Data(tiles.data, tiles.weights, tiles.rows, moments.weight, moments.m1, moments.m2)


def _drive_compiled(task: _Task) -> tuple[list[tuple[int, float]], bool]:
    """The compiled loop, left now and then to read the clock and to hear Ctrl-C."""
    task.begin()
    algebra, work = task.model.algebra, task.work
    train, held = (
        _data(task.train, task.model, task.train.d),
        _data(task.held, task.model, task.train.d),
    )
    tiles = task.train.even_tiles() if task.model.even else task.train.tiles  # type: ignore[attr-defined]
    alone = reduction.worth_threads(tiles) and reduction.parallel_region.acquire(blocking=False)
    seconds, chunk = 0.0, 8
    clock = [(0, 0.0)]
    try:
        while work.counters[loops.STATUS] == loops.RUNNING:
            before = time.perf_counter()
            loops.loop(
                algebra.direction, algebra.respond, algebra.gap, algebra.hessian, algebra.error,
                task.algorithm.update, train, held, task.algorithm.want, alone, chunk,
                task.max_iter, work,
            )  # fmt: skip
            spent = time.perf_counter() - before
            seconds += spent
            clock.append((int(work.counters[loops.PASSES]), seconds))
            chunk = max(1, min(16 * chunk, int(chunk * _CHUNK_SECONDS / max(spent, 1e-6))))
    except KeyboardInterrupt:
        work.iterate[:] = work.previous
        return clock, True
    finally:
        if alone:
            reduction.parallel_region.release()
    return clock, False


def _drive_python(task: _Task) -> tuple[list[tuple[int, float]], bool]:
    """The same iteration, with the pass left to the sample."""
    task.begin()
    algebra, work, want, d = task.model.algebra, task.work, task.algorithm.want, task.train.d
    counters, report = work.counters, work.report
    m1, m2 = task.train.moments()[1:]
    moments = None if task.held is None else task.held.moments()
    held_u, held_b = np.empty((1, d)), np.empty(1)
    clock = [(0, 0.0)]
    begun = time.perf_counter()
    try:
        while counters[loops.STATUS] == loops.RUNNING:
            for i, point in enumerate(work.points):
                work.b[i] = algebra.direction(point, m1, m2, work.u[i])
            work.sums[:] = task.train.sums(work.u, work.b, want, even=task.model.even)
            counters[loops.PASSES] += 1
            for i, point in enumerate(work.points):
                algebra.respond(point, m1, m2, work.sums[i], work.em[i], work.gradient[i])
                if want & reduction.LOG_COSH:
                    work.gap[i] = algebra.gap(point, m1, m2, m1, m2, work.sums[i, 1 + d])
                if want & reduction.CURVATURE:
                    algebra.hessian(point, m1, m2, work.sums[i], work.hessian[i])
            task.algorithm.update(
                work.options, work.state, counters[loops.ITERATIONS], work.points, work.em,
                work.gradient, work.gap, work.hessian, work.iterate, report,
            )  # fmt: skip
            valid, distance, validation = True, math.inf, math.nan
            if report[loops.MOVED]:
                held_b[0] = algebra.direction(work.iterate, m1, m2, held_u[0])
                valid = not math.isnan(held_b[0])
                distance = algebra.error(work.iterate, work.truth)
                if task.held is not None and moments is not None and valid:
                    row = task.held.sums(held_u, held_b, reduction.LOG_COSH, even=task.model.even)
                    counters[loops.VALIDATIONS] += 1
                    validation = algebra.gap(
                        work.iterate, m1, m2, moments.m1, moments.m2, row[0, 1 + d]
                    )
            loops.settle(
                valid, distance, validation, task.max_iter, counters, work.limits, report,
                work.iterate, work.previous, work.selected,
            )  # fmt: skip
            place = counters[loops.RECORDS]
            if place < len(work.schedule) and counters[loops.ITERATIONS] == work.schedule[place]:
                loops.record(validation, work)
            clock.append((int(counters[loops.PASSES]), time.perf_counter() - begun))
    except KeyboardInterrupt:
        work.iterate[:] = work.previous
        return clock, True
    return clock, False


def _alone(task: _Task) -> Run:
    for each in (*task.model.algebra, task.algorithm.update, loops.settle, loops.loop):
        ready(each)
    packed = isinstance(task.train, PackedSample) and isinstance(task.held, PackedSample | None)
    clock, interrupted = (_drive_compiled if packed else _drive_python)(task)
    return task.result(clock, interrupted, 0.0)


def _stack_key(task: _Task) -> Any:
    """Tasks with the same key can be stacked; None for one that is better run alone."""
    if not isinstance(task.train, PackedSample) or not isinstance(task.held, PackedSample | None):
        return None
    tiles = task.train.even_tiles() if task.model.even else task.train.tiles
    if tiles.rows * (2 + task.train.d) >= reduction.PARALLEL_FROM:
        return None
    return task.train.d, bool(tiles.weights.size), task.held is None


def _together(tasks: list[_Task]) -> list[Run]:
    """Replicates in one parallel region."""
    first = tasks[0]
    algebra = first.model.algebra
    for each in (*algebra, first.algorithm.update, loops.settle, loops.loop, loops.loop_many):
        ready(each)
    for task in tasks:
        task.begin()
    train = _stacked([_data(task.train, first.model, first.train.d) for task in tasks])
    held = _stacked([_data(task.held, first.model, first.train.d) for task in tasks])
    works = Work(*(np.stack(arrays) for arrays in zip(*(task.work for task in tasks), strict=True)))
    with reduction.parallel_region:
        before = time.perf_counter()
        loops.loop_many(
            algebra.direction, algebra.respond, algebra.gap, algebra.hessian, algebra.error,
            first.algorithm.update, train, held, first.algorithm.want, first.max_iter, works,
        )  # fmt: skip
        seconds = time.perf_counter() - before
    results = []
    for r, task in enumerate(tasks):
        for own, stacked in zip(task.work, works, strict=True):
            own[...] = stacked[r]
        share = seconds / len(tasks)
        clock = [(0, 0.0), (int(task.work.counters[loops.PASSES]), share)]
        results.append(task.result(clock, False, 0.0))
    return results


def _stacked(parts: list[Data]) -> Data:
    """Samples of different length side by side; padding is never read."""
    tiles = max(part.data.shape[0] for part in parts)
    data = np.zeros((len(parts), tiles, *parts[0].data.shape[1:]))
    weighted = parts[0].weights.size > 0
    weights = np.zeros((len(parts), tiles, data.shape[3]) if weighted else (len(parts), 0, 0))
    for r, part in enumerate(parts):
        data[r, : part.data.shape[0]] = part.data
        if weighted:
            weights[r, : part.data.shape[0]] = part.weights
    return Data(
        data,
        weights,
        np.array([part.rows for part in parts], dtype=np.int64),
        np.array([part.total for part in parts]),
        np.stack([part.m1 for part in parts]),
        np.stack([part.m2 for part in parts]),
    )


def _trace(task: _Task, clock: list[tuple[int, float]]) -> pd.DataFrame:
    work, model = task.work, task.model
    count = int(work.counters[loops.RECORDS])
    points, records = work.recorded[:count], work.records[:count]
    passes, seconds = np.array(clock).T
    table = {
        "t": records[:, loops.RECORD_T].astype(np.int64),
        "step": records[:, loops.RECORD_STEP],
        "passes": task.passes(
            records[:, loops.RECORD_PASSES], records[:, loops.RECORD_VALIDATIONS]
        ),
        # the clock is read between chunks of iterations that all cost the same
        "seconds": np.interp(records[:, loops.RECORD_PASSES], passes, seconds),
    }
    if task.truth is not None:
        table["location_error"] = [model.location_error(point, task.truth) for point in points]
    if task.true_scale is not None:
        table["scale_error"] = [
            model.scale_error(model.scale(task.train, point), task.true_scale) for point in points
        ]
    if task.metrics:
        batches = [points[at : at + _BATCH] for at in range(0, count, _BATCH)]
        table["gap"] = np.concatenate([model.gaps(task.train, batch) for batch in batches])
        moments = task.train.moments()
        table["loss"] = table["gap"] + model.one_gaussian_loss(moments, moments)
    if task.held is not None:
        base = model.one_gaussian_loss(task.train.moments(), task.held.moments())
        table["validation_loss"] = records[:, loops.RECORD_VALIDATION] + base
    names = [f"param_{j}" for j in range(points.shape[1])]
    if points.shape[1] <= 16:
        table.update(zip(names, points.T.copy(), strict=True))
    return pd.DataFrame(table)
