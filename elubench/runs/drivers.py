"""What iterates: a run set up as arrays, and the loops that work on them.

A :class:`Task` is a run with its arguments checked and its arrays allocated. Three drivers bring it to
its end: the compiled loop for samples in memory, a Python loop for any other sample, and one for
algorithms that have a loop of their own. The first two give the same iterates to the last bit.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from elubench import checks
from elubench.algorithms.base import Algorithm, Evaluation, ForeignAlgorithm
from elubench.checks import Floats
from elubench.kernels import layout, loops, ready, reduction
from elubench.kernels.loops import Budget, Data, Functions, Work
from elubench.kernels.signatures import Answers, Own
from elubench.kernels.tiles import Tiles, aligned
from elubench.models.base import Algebra, Model
from elubench.models.known import named
from elubench.samples import ArraySample, Sample
from elubench.samples.base import PackedSample

_CHUNK_SECONDS = 0.05  # Ctrl-C is heard, and the clock read, this often
_DENSE = 128  # iterations that are all recorded; then _PER_DECADE
_PER_DECADE = 64
_TRACE_BYTES = 8e6

#: Passes made and seconds spent, at the moments when the clock was read.
Clock = list[tuple[int, float]]


class StationaryStartWarning(UserWarning):
    """The start has both components in one place, which EM and gradient steps cannot leave."""


@dataclass
class Task:
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
    start: Floats
    work: Work

    @property
    def algebra(self) -> Algebra:
        """The model's functions in the coordinates that the algorithm moves in."""
        if self.algorithm.natural:
            assert self.model.natural is not None
            return self.model.natural.algebra
        return self.model.algebra

    def functions(self, reduce: Any, reduce_held: Any) -> Functions:
        """What the compiled loop calls, with these passes over the two samples."""
        _, direction, respond, gap, hessian, error = self.algebra
        update = self.algorithm.update
        return Functions(reduce, reduce_held, direction, respond, gap, hessian, error, update)

    def locations(self, points: Floats) -> Floats:
        """Parameters (..., p) from points in the algorithm's coordinates."""
        if not self.algorithm.natural:
            return points.copy()
        assert self.model.natural is not None
        return _changed(self.model.natural.to_locations, points, self.train)

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
    ) -> Task:
        model = named(model)
        if not isinstance(algorithm, Algorithm):
            raise TypeError(f"algorithm must be an Algorithm such as EM(), got {algorithm!r}")
        algorithm = algorithm.resolve(model)
        max_iter = checks.integer(max_iter, "max_iter", 0)
        if radius is not None:
            radius = checks.real(radius, "radius", above=0.0)
        if tol is not None:
            tol = checks.real(tol, "tol", above=0.0, closed="above")
        if not isinstance(sample, Sample):
            sample = ArraySample(sample)
        train, held = _split(sample, validation, checks.integer(seed, "seed", 0))
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
            goal = checks.vector(truth, "truth", p)
        elif radius is not None:
            goal = model.truth(0.0, train.d)
        scale_goal = None
        if true_scale is not None:
            scales = model.n_scales(train.d)
            given = np.full(scales, true_scale) if np.ndim(true_scale) == 0 else true_scale
            scale_goal = checks.vector(given, "true_scale", scales)
        total = train.n + (0 if held is None else held.n)
        place = begin
        if algorithm.natural:
            if model.natural is None:
                raise ValueError(
                    f"{algorithm.name} needs a model with natural coordinates; "
                    f"{type(model).__name__} has none"
                )
            place = _changed(model.natural.from_locations, begin, train)
        work = _work(algorithm, place, goal, train, max_iter, radius, tol)
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
            begin,
            work,
        )

    def begin(self) -> None:
        """Judge and record the start itself."""
        work = self.work
        validation = math.nan
        if self.held is not None:
            validation = self.model.gap(self.held, self.start, self.train.moments())
            work.counters[loops.VALIDATIONS] = 1
            work.limits[loops.BEST] = validation
        if self.truth is not None and not np.isnan(work.limits[loops.RADIUS]):
            distance = self.model.location_error(self.start, self.truth)
            if distance <= work.limits[loops.RADIUS]:
                work.counters[loops.STATUS] = loops.REACHED
        if work.counters[loops.STATUS] == loops.RUNNING and self.max_iter == 0:
            work.counters[loops.STATUS] = loops.MAX_ITER
        work.report[layout.STEP] = math.nan
        self.record(validation)

    def record(self, validation: float) -> None:
        """Keep the iterate for the trace."""
        ready(loops.record)(validation, self.work)

    def passes(self, training: Any, validations: Any) -> Any:
        """Reads of the data handed to the run."""
        return training * self.share + validations * (1.0 - self.share)


def driver_for(task: Task, asked: str) -> Callable[[Task], tuple[Clock, bool]]:
    """What iterates: SciPy for its own methods, else the compiled loop where it can read the data."""
    if isinstance(task.algorithm, ForeignAlgorithm):
        return drive_foreign
    packed = isinstance(task.train, PackedSample) and isinstance(task.held, PackedSample | None)
    if asked == "compiled" and not packed:
        kind = type(task.held if isinstance(task.train, PackedSample) else task.train).__name__
        raise ValueError(f"driver 'compiled' needs a sample in memory, got {kind}")
    return drive_compiled if packed and asked != "python" else drive_python


def make_ready(task: Task, drive: Any) -> None:
    """Compile, or load from the cache, what this driver will call."""
    kernels = [*task.algebra, *task.model.algebra, loops.settle, loops.record]
    if drive is not drive_foreign:
        kernels.append(task.algorithm.update)
    if drive is drive_compiled:
        kernels += [loops.loop, reduction.pass_serial, reduction.pass_parallel]
    for each in kernels:
        ready(each)


@cache
def _blas() -> ThreadpoolController:
    """Finds the BLAS libraries once. Their threads only wait for each other on matrices this small."""
    return ThreadpoolController()


def drive_foreign(task: Task) -> tuple[Clock, bool]:
    """An algorithm that brings its own loop: it asks about points and says which it accepts."""
    task.begin()
    work, algorithm = task.work, task.algorithm
    assert isinstance(algorithm, ForeignAlgorithm)
    clock = [(0, 0.0)]
    begun = time.perf_counter()

    def evaluate(point: Floats) -> Evaluation:
        work.points[0] = point
        _answer(task)
        clock.append((int(work.counters[loops.PASSES]), time.perf_counter() - begun))
        gap = float(work.gap[0])
        return Evaluation(gap, work.gradient[0].copy(), work.hessian[0].copy())

    def accept(point: Floats) -> bool:
        if (point == work.iterate).all():  # a trial was refused
            return True
        work.iterate[:] = point
        layout.accept(work.report, math.nan)
        _settle(task)
        return bool(work.counters[loops.STATUS] == loops.RUNNING)

    try:
        if work.counters[loops.STATUS] == loops.RUNNING:
            with _blas().limit(limits=1, user_api="blas"):
                algorithm.minimise(evaluate, accept, work.iterate.copy())
        if work.counters[loops.STATUS] == loops.RUNNING:
            work.counters[loops.STATUS] = loops.CONVERGED
    except KeyboardInterrupt:
        work.iterate[:] = work.previous
        return clock, True
    return clock, False


def drive_compiled(task: Task) -> tuple[Clock, bool]:
    """The compiled loop, left now and then to read the clock and to hear Ctrl-C."""
    task.begin()
    work = task.work
    train, held = _data(task.train, task), _data(task.held, task)
    door = (_wants_threads(train) or _wants_threads(held)) and (
        reduction.parallel_region.acquire(blocking=False)
    )
    passes = [
        reduction.pass_parallel if door and _wants_threads(data) else reduction.pass_serial
        for data in (train, held)
    ]
    functions, want = task.functions(*passes), task.algorithm.want
    # a guess at the cost of an iteration, in seconds; afterwards it is measured
    cost = 3e-7 + 1e-9 * train.rows * (2 + task.train.d)
    seconds, chunk = 0.0, max(1, int(_CHUNK_SECONDS / cost))
    clock = [(0, 0.0)]
    try:
        while work.counters[loops.STATUS] == loops.RUNNING:
            before = time.perf_counter()
            loops.loop(functions, train, held, Budget(want, chunk, task.max_iter), work)
            spent = time.perf_counter() - before
            seconds += spent
            clock.append((int(work.counters[loops.PASSES]), seconds))
            chunk = max(1, min(16 * chunk, int(chunk * _CHUNK_SECONDS / max(spent, 1e-6))))
    except KeyboardInterrupt:
        work.iterate[:] = work.previous
        return clock, True
    finally:
        if door:
            reduction.parallel_region.release()
    return clock, False


def drive_python(task: Task) -> tuple[Clock, bool]:
    """The same iteration, with the pass left to the sample."""
    task.begin()
    work, counters = task.work, task.work.counters
    answers = Answers(work.em, work.gradient, work.gap, work.hessian)
    clock = [(0, 0.0)]
    begun = time.perf_counter()
    try:
        while counters[loops.STATUS] == loops.RUNNING:
            _answer(task)
            own = Own(work.options, work.state, counters[loops.ITERATIONS])
            task.algorithm.update(own, work.points, answers, work.iterate, work.report)
            _settle(task)
            clock.append((int(counters[loops.PASSES]), time.perf_counter() - begun))
    except KeyboardInterrupt:
        work.iterate[:] = work.previous
        return clock, True
    return clock, False


def _answer(task: Task) -> None:
    """One pass about the points: the EM steps, gradients and whatever else the algorithm wants."""
    algebra, work, want, d = task.algebra, task.work, task.algorithm.want, task.train.d
    _, m1, m2 = task.train.moments()
    for i, point in enumerate(work.points):
        work.b[i] = algebra.direction(point, m1, m2, work.u[i])
    work.sums[:] = task.train.sums(work.u, work.b, want, even=task.model.even)
    work.counters[loops.PASSES] += 1
    for i, point in enumerate(work.points):
        algebra.respond(point, m1, m2, work.sums[i], work.em[i], work.gradient[i])
        if want & layout.LOG_COSH:
            work.gap[i] = algebra.gap(point, m1, m2, m1, m2, work.sums[i, layout.log_cosh_at(d)])
        if want & layout.CURVATURE:
            algebra.hessian(point, m1, m2, work.sums[i], work.hessian[i])


def _settle(task: Task) -> None:
    """What follows an update: judge and validate a new iterate, count, stop, record."""
    algebra, work = task.algebra, task.work
    _, m1, m2 = task.train.moments()
    valid, distance, validation = True, math.inf, math.nan
    if work.report[layout.MOVED]:
        u = np.empty((1, task.train.d))
        b = np.array([algebra.direction(work.iterate, m1, m2, u[0])])
        valid = not math.isnan(b[0])
        distance = algebra.error(work.iterate, m1, m2, work.truth)
        if task.held is not None and valid:
            row = task.held.sums(u, b, layout.LOG_COSH, even=task.model.even)
            _, e1, e2 = task.held.moments()
            work.counters[loops.VALIDATIONS] += 1
            validation = algebra.gap(
                work.iterate, m1, m2, e1, e2, row[0, layout.log_cosh_at(task.train.d)]
            )
    loops.settle(valid, distance, validation, task.max_iter, work)
    place = work.counters[loops.RECORDS]
    if place < len(work.schedule) and work.counters[loops.ITERATIONS] == work.schedule[place]:
        task.record(validation)


def stack_key(task: Task) -> Any:
    """Tasks with the same key can be stacked; None for one that is better run alone."""
    if isinstance(task.algorithm, ForeignAlgorithm):
        return None
    if not isinstance(task.train, PackedSample) or not isinstance(task.held, PackedSample | None):
        return None
    tiles = task.train.even_tiles() if task.model.even else task.train.tiles
    if tiles.rows * (2 + task.train.d) >= reduction.PARALLEL_FROM:
        return None
    return task.train.d, bool(tiles.weights.size), task.held is None


def drive_together(tasks: list[Task]) -> list[Clock]:
    """Replicates in one parallel region; each is charged its share of the time."""
    first = tasks[0]
    functions = first.functions(reduction.pass_serial, reduction.pass_serial)
    want = first.algorithm.want
    make_ready(first, drive_compiled)
    ready(loops.loop_many)
    for task in tasks:
        task.begin()
    train = _stacked([_data(task.train, task) for task in tasks])
    held = _stacked([_data(task.held, task) for task in tasks])
    works = Work(*(np.stack(arrays) for arrays in zip(*(task.work for task in tasks), strict=True)))
    with reduction.parallel_region:
        before = time.perf_counter()
        loops.loop_many(functions, train, held, Budget(want, 2**62, first.max_iter), works)
        seconds = time.perf_counter() - before
    clocks = []
    for r, task in enumerate(tasks):
        for own, stacked in zip(task.work, works, strict=True):
            own[...] = stacked[r]
        share = seconds / len(tasks)
        clocks.append([(0, 0.0), (int(task.work.counters[loops.PASSES]), share)])
    return clocks


def _stacked(parts: list[Data]) -> Data:
    """Samples of different length side by side; padding is never read."""
    tiles = max(part.data.shape[0] for part in parts)
    count, (d, rows) = len(parts), parts[0].data.shape[1:]
    data = aligned(count * tiles * d * rows).reshape(count, tiles, d, rows)
    weighted = parts[0].weights.size > 0
    shape = (count, tiles, rows) if weighted else (count, 0, 0)
    weights = aligned(math.prod(shape)).reshape(shape)
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


def _data(sample: Sample | None, task: Task) -> Data:
    """A sample in memory as the compiled loop takes it; no sample is one without rows."""
    if sample is None:
        d, none = task.train.d, np.empty((0, 0))
        return Data(np.empty((0, d, 1)), none, 0, 1.0, np.zeros(d), np.zeros(d))
    assert isinstance(sample, PackedSample)
    tiles = sample.even_tiles() if task.model.even else sample.tiles
    moments = sample.moments()
    return Data(tiles.data, tiles.weights, tiles.rows, moments.weight, moments.m1, moments.m2)


def _wants_threads(data: Data) -> bool:
    return reduction.worth_threads(Tiles(data.data, data.weights, data.rows))


def _split(sample: Sample, validation: Any, seed: int) -> tuple[Sample, Sample | None]:
    if validation is None:
        return sample, None
    if isinstance(validation, Sample):
        if validation.d != sample.d:
            raise ValueError(f"validation has d={validation.d} coordinates, the sample {sample.d}")
        return sample, validation
    share = checks.real(validation, "validation", 0.0, 1.0)
    split = getattr(sample, "split", None)
    if split is None:
        raise ValueError(f"validation must be a sample: {type(sample).__name__} cannot be split")
    train, held = split(share, seed=seed)
    return train, held


def _changed(change: Any, points: Floats, sample: Sample) -> Floats:
    """Points (..., p) in other coordinates."""
    _, m1, m2 = sample.moments()
    out = np.empty(points.shape)
    flat = (-1, points.shape[-1])
    for given, made in zip(points.reshape(flat), out.reshape(flat), strict=True):
        ready(change)(given, m1, m2, made)
    return out


def _work(
    algorithm: Algorithm,
    start: Floats,
    truth: Floats | None,
    sample: Sample,
    max_iter: int,
    radius: float | None,
    tol: float | None,
) -> Work:
    p, k, d = len(start), algorithm.points, sample.d
    schedule = _schedule(max_iter, p)
    curved = p if algorithm.want & layout.CURVATURE else 0
    width = layout.width(d, algorithm.want)
    limits = np.array(
        [math.nan if radius is None else radius, math.nan if tol is None else tol, math.inf]
    )
    return Work(
        counters=np.zeros(loops.COUNTERS_SIZE, dtype=np.int64),
        limits=limits,
        options=algorithm.options(sample.moments().weight),
        state=np.zeros(algorithm.state_size(p)),
        report=np.zeros(layout.REPORT_SIZE),
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
        validation_sums=np.empty((1, layout.width(d, layout.LOG_COSH))),
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
