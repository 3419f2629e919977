"""What iterates: loops that bring a run to its end.

The compiled loop serves samples in memory, a Python loop any other sample; these two give the same
iterates to the last bit. A run that may be short can begin with the one and go on with the other. Two
more serve algorithms that have a loop of their own, or none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from elubench.algorithms.base import DirectAlgorithm, Evaluation, ForeignAlgorithm
from elubench.checks import Floats
from elubench.kernels import (
    compile_seconds,
    compiled_now,
    interrupts,
    is_ready,
    layout,
    loops,
    ready,
    reduction,
)
from elubench.kernels.loops import Budget, Data, Functions
from elubench.kernels.pointers import address
from elubench.kernels.region import parallel_region
from elubench.kernels.signatures import Answers, Own
from elubench.kernels.tiles import Tiles
from elubench.runs.contest import CERTAIN, Contest
from elubench.runs.setup import Setup
from elubench.samples import Sample
from elubench.samples.base import PackedSample
from elubench.samples.metered import Metered

_CHUNK_SECONDS = 0.05  # how often Ctrl-C is handled and the clock read
# passes: fewer take less time in Python than it takes to load the compiled loop
_SHORT = 100

#: Passes made and seconds spent, at the moments when the clock was read.
Clock = list[tuple[int, float]]
Driver = Callable[[Setup, Clock], None]


class Pace:
    """How many passes to make before the clock is read again."""

    def __init__(self, every: float, cost: float):
        self._every = every
        self.chunk = max(1, int(every / cost))
        self.seconds = 0.0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure a chunk, and choose the next by what it took."""
        before = time.perf_counter()
        yield
        spent = time.perf_counter() - before
        self.seconds += spent
        fitting = int(self.chunk * self._every / max(spent, 1e-6))
        self.chunk = max(1, min(16 * self.chunk, fitting))

    @contextmanager
    def interrupted(self, chunk: int) -> Iterator[None]:
        """Measure something else after a chunk that ended early, and keep its length."""
        before = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - before
        self.chunk = chunk


def driver_for(setup: Setup, asked: str) -> Driver:
    """The algorithm's own way if it has one, else the compiled loop where it can read the data."""
    if isinstance(setup.algorithm, ForeignAlgorithm):
        return foreign
    if isinstance(setup.algorithm, DirectAlgorithm):
        return direct
    packed = [isinstance(part, PackedSample | None) for part in (setup.train, setup.held)]
    if asked == "compiled" and not all(packed):
        kind = type(setup.held if packed[0] else setup.train).__name__
        raise ValueError(f"driver 'compiled' needs a sample in memory, got {kind}")
    if isinstance(setup.held, PackedSample) and setup.held.largest_u < math.inf:
        # the loop cannot end between an update and its validation
        if asked == "compiled":
            kind = type(setup.held).__name__
            raise ValueError(f"driver 'compiled' cannot validate on a {kind} of binned rows")
        return python
    if asked == "python" or not all(packed):
        return python
    if asked == "short":
        return python_first
    return compiled


def make_ready(setup: Setup, driver: Driver) -> None:
    """Compile, or load from the cache, what this driver will call and nothing else."""
    for each in _called(setup, driver):  # the loop takes pointers to machine code
        compiled_now(each) if driver is compiled else ready(each)


def _called(setup: Setup, driver: Driver) -> list[Any]:
    """The kernels that a driver calls."""
    if driver is compiled:
        read = _read(setup)
        kernels = [loops.loop, *setup.functions(*map(_pass, read.threads))]
        if any(read.threads) and read.size < CERTAIN:
            kernels.append(_pass(False))
    else:
        algebra, want = setup.algebra, setup.algorithm.want
        kernels = [algebra.direction, algebra.respond]
        if want & layout.LOG_COSH or setup.held is not None:
            kernels.append(algebra.gap)
        if want & layout.CURVATURE:
            kernels.append(algebra.hessian)
        if setup.stop.radius is not None:
            kernels.append(algebra.error)
    if driver in (python, python_first):
        kernels.append(setup.algorithm.update)
    return kernels


def drive(setup: Setup, driver: Driver) -> tuple[Clock, bool]:
    """Iterate to the end; the clock, and whether Ctrl-C was pressed."""
    clock = [(0, 0.0)]
    try:
        setup.begin()
        driver(setup, clock)
    except KeyboardInterrupt:
        setup.begin()
        setup.work.iterate[:] = setup.work.previous
        return clock, True
    return clock, False


def compiled(setup: Setup, clock: Clock) -> None:
    """The compiled loop, left now and then to read the clock and to handle Ctrl-C.

    It ends before a pass that the tiles may not serve, which is then left to the sample.
    """
    work, counters, want = setup.work, setup.work.counters, setup.algorithm.want
    train, held_out, wanted, size = _read(setup)

    def functions(threads: bool) -> Any:
        return addresses(setup.functions(*(ready(_pass(threads and each)) for each in wanted)))

    with interrupts.held() as presses, parallel_region.entered(any(wanted)) as inside:
        contest = Contest(inside, size)
        # a guess at the seconds per iteration; afterwards they are measured
        pace = Pace(_CHUNK_SECONDS, 3e-7 + 1e-9 * size)
        pace.seconds = clock[-1][1]
        while counters[loops.STATUS] == loops.RUNNING:
            before = int(counters[loops.PASSES]), pace.seconds
            pace.chunk = contest.passes(pace.chunk)
            budget = Budget(want, pace.chunk, setup.stop.max_iter)
            chosen = functions(contest.threads)
            with pace.measured():
                loops.loop(chosen, train, held_out, budget, work)
            contest.judge(int(counters[loops.PASSES]) - before[0], pace.seconds - before[1])
            if counters[loops.BEYOND]:
                counters[loops.BEYOND] = 0
                with pace.interrupted(budget.passes):
                    _iterate(setup)
            clock.append((int(counters[loops.PASSES]), pace.seconds))
            presses.release()


def python_first(setup: Setup, clock: Clock) -> None:
    """The compiled loop; if it is not compiled yet, only after a number of passes from Python."""
    if not all(map(is_ready, _called(setup, compiled))):
        python(setup, clock, _SHORT)
        if setup.work.counters[loops.STATUS] != loops.RUNNING:
            return
        make_ready(setup, compiled)
    compiled(setup, clock)


def python(setup: Setup, clock: Clock, most: float = math.inf) -> None:
    """The same iteration, with the pass left to the sample; at most so many passes."""
    counters, begun = setup.work.counters, _working()
    while counters[loops.STATUS] == loops.RUNNING and counters[loops.PASSES] < most:
        _iterate(setup)
        clock.append((int(counters[loops.PASSES]), _working() - begun))


def _iterate(setup: Setup) -> None:
    """A pass by the sample, and the update."""
    work = setup.work
    answers = _answers(setup, work.points)
    own = Own(work.options, work.state, work.counters[loops.ITERATIONS])
    setup.algorithm.update(own, work.points, answers, work.iterate, work.report)
    _settle(setup)


def _working() -> float:
    """A clock that stands still while kernels are compiled or loaded."""
    return time.perf_counter() - compile_seconds()


def foreign(setup: Setup, clock: Clock) -> None:
    """An algorithm with its own loop: it asks about points and says which it accepts."""
    work, algorithm = setup.work, setup.algorithm
    assert isinstance(algorithm, ForeignAlgorithm)
    begun = _working()

    def evaluate(point: Floats) -> Evaluation:
        answers = _answers(setup, np.array(point[None, :], order="C"))
        clock.append((int(work.counters[loops.PASSES]), _working() - begun))
        return Evaluation(float(answers.gap[0]), answers.gradient[0], answers.hessian[0])

    def accept(point: Floats) -> bool:
        if (point == work.iterate).all():  # a trial was rejected
            return True
        work.iterate[:] = point
        layout.accept(work.report, math.nan)
        _settle(setup)
        return bool(work.counters[loops.STATUS] == loops.RUNNING)

    if work.counters[loops.STATUS] == loops.RUNNING:
        with _blas().limit(limits=1, user_api="blas"):
            algorithm.minimise(evaluate, accept, work.iterate.copy())
    if work.counters[loops.STATUS] == loops.RUNNING:
        work.counters[loops.STATUS] = loops.CONVERGED


def direct(setup: Setup, clock: Clock) -> None:
    """An algorithm that reads its iterates off the data."""
    work, counters, algorithm = setup.work, setup.work.counters, setup.algorithm
    assert isinstance(algorithm, DirectAlgorithm)
    begun = _working()
    data = Metered(setup.train)
    found = algorithm.iterates(setup.model, data)
    with _blas().limit(limits=1, user_api="blas"):
        while counters[loops.STATUS] == loops.RUNNING:
            point, reads = next(found, (None, 0))
            setup.note(reads, data.reads)
            data.reads.clear()
            clock.append((int(counters[loops.PASSES]), _working() - begun))
            if point is None:
                counters[loops.STATUS] = loops.CONVERGED
            elif (point != work.iterate).any():
                work.iterate[:] = point
                layout.accept(work.report, math.nan)
                _settle(setup)


@cache
def _blas() -> ThreadpoolController:
    """Finds the BLAS libraries once. Their threads only wait for each other on matrices this small."""
    return ThreadpoolController()


def _answers(setup: Setup, points: Floats) -> Answers:
    """One pass over the training sample, counted."""
    want, natural = setup.algorithm.want, setup.algorithm.natural
    data = Metered(setup.train)
    answers = setup.model.evaluate(data, points, want, natural=natural)
    setup.work.u[:], setup.work.b[:], setup.work.sums[:] = data.last
    setup.note(1, data.reads)
    return answers


def addresses(kernels: Functions) -> Functions:
    """What the loop is given for these kernels."""
    return Functions(*map(address, kernels))


def _settle(setup: Setup) -> None:
    """What follows an update: judge and validate a new iterate, count, stop, record."""
    work, algebra, natural = setup.work, setup.algebra, setup.algorithm.natural
    valid, distance, validation = True, math.inf, math.nan
    if work.report[layout.MOVED]:
        fitted = setup.train.moments()
        m1, m2 = setup.model.inputs(fitted)
        valid = not math.isnan(algebra.direction(work.iterate, m1, m2, np.empty(setup.train.d)))
        if setup.stop.radius is not None:
            distance = algebra.error(work.iterate, m1, m2, work.truth)
        if setup.held is not None and valid:
            point = work.iterate[None, :]
            held = setup.model.evaluate(
                setup.held, point, layout.LOG_COSH, fitted=fitted, natural=natural
            )
            work.counters[loops.VALIDATIONS] += 1
            validation = held.gap[0]
    with np.errstate(all="ignore"):
        loops.settle(valid, distance, validation, setup.stop.max_iter, work)
    place = work.counters[loops.RECORDS]
    if place < len(work.schedule) and work.counters[loops.ITERATIONS] == work.schedule[place]:
        setup.record(validation)


def data_of(sample: Sample | None, setup: Setup) -> Data:
    """A sample in memory as the compiled loop takes it; no sample is one without rows."""
    if sample is None:
        d, none = setup.train.d, np.empty((0, 0))
        return Data(np.empty((0, d, 1)), none, 0, 1.0, np.zeros(d), np.zeros(d), math.inf)
    assert isinstance(sample, PackedSample)
    tiles = sample.even_tiles() if setup.model.even else sample.tiles
    return Data(
        tiles.data,
        tiles.weights,
        tiles.rows,
        sample.total,
        *setup.model.inputs(sample.moments()),
        sample.largest_u,
    )


class _Read(NamedTuple):
    """What the compiled loop reads: both samples, whether passes over them are worth threads.

    ``size`` counts the row-coordinates of a pass, and what else it does with a row.
    """

    train: Data
    held: Data
    threads: tuple[bool, bool]
    size: int


def _read(setup: Setup) -> _Read:
    """What the loop reads; without held-out rows both passes are the same kernel."""
    if setup.read is None:
        train, held = data_of(setup.train, setup), data_of(setup.held, setup)
        one, two = (
            reduction.worth_threads(Tiles(data.data, data.weights, data.rows))
            for data in (train, held)
        )
        size = int(train.rows) * (2 + train.data.shape[1])
        setup.read = _Read(train, held, (one, two or (one and held.rows == 0)), size)
    read: _Read = setup.read
    return read


def _pass(threads: bool) -> Any:
    return reduction.pass_parallel if threads else reduction.pass_serial
