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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from elubench.algorithms.base import Algorithm
from elubench.checks import Floats
from elubench.kernels import loops
from elubench.models import Model
from elubench.runs.drivers import Clock, Task, drive_together, driver_for, make_ready, stack_key
from elubench.samples import Sample

STATUSES = {
    loops.REACHED: "reached",
    loops.CONVERGED: "converged",
    loops.MAX_ITER: "max_iter",
    loops.DIVERGED: "diverged",
}
_BATCH = 8  # points evaluated in one read when the trace is filled in


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
    tol : stop at the first step of at most this length, in the coordinates in which the algorithm
        works: natural ones for ``NewtonAnderson`` and those told to, locations for the others.
    validation : None, a share in (0, 1) to hold out, or a sample to validate on.
    truth : parameters that errors are measured from; with ``radius`` the default is location 0.
    true_scale : scale that scale errors are measured from.
    seed : of the random split.
    metrics : whether to work out losses and errors of the recorded iterates.
    driver : "auto", "compiled" or "python".
    """
    task = Task.prepared(
        sample, model, algorithm, start, max_iter, radius, tol, validation, truth, true_scale,
        seed, metrics,
    )  # fmt: skip
    if driver not in ("auto", "compiled", "python"):
        raise ValueError(f"driver must be 'auto', 'compiled' or 'python', got {driver!r}")
    compiling = time.perf_counter()
    drive = driver_for(task, driver)
    make_ready(task, drive)
    compiled = time.perf_counter() - compiling
    clock, interrupted = drive(task)
    return _result(task, clock, interrupted, compiled)


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
        Task.prepared(
            one, model, algorithm, begin, max_iter, radius, tol, validation, truth, true_scale,
            seed, metrics,
        )
        for one, begin in zip(given, each, strict=True)
    ]  # fmt: skip
    results: list[Run | None] = [None] * len(tasks)
    groups: dict[Any, list[int]] = {}
    for place, task in enumerate(tasks):
        key = stack_key(task)
        if key is None:
            drive = driver_for(task, "auto")
            make_ready(task, drive)
            results[place] = _result(task, *drive(task))
        else:
            groups.setdefault(key, []).append(place)
    for places in groups.values():
        clocks = drive_together([tasks[place] for place in places])
        for place, clock in zip(places, clocks, strict=True):
            results[place] = _result(tasks[place], clock)
    return [result for result in results if result is not None]


def _result(task: Task, clock: Clock, interrupted: bool = False, compiled: float = 0.0) -> Run:
    work, counters = task.work, task.work.counters
    n_iter = int(counters[loops.ITERATIONS])
    if work.records[counters[loops.RECORDS] - 1, loops.RECORD_T] != n_iter:
        validation = math.nan
        if task.held is not None:
            last = task.locations(work.iterate)
            validation = task.model.gap(task.held, last, task.train.moments())
        task.record(validation)
    params = task.locations(work.iterate if task.held is None else work.selected)
    describe = getattr(task.algorithm, "describe", None)
    return Run(
        status="interrupted" if interrupted else STATUSES[int(counters[loops.STATUS])],
        n_iter=n_iter,
        passes=float(task.passes(counters[loops.PASSES], counters[loops.VALIDATIONS])),
        seconds=clock[-1][1],
        params=params,
        scale=task.model.scale(task.train, params),
        selected=n_iter if task.held is None else int(counters[loops.SELECTED]),
        last=task.locations(work.iterate),
        trace=_trace(task, clock),
        model=task.model,
        algorithm=task.algorithm,
        compile_seconds=compiled,
        details=describe(work.state) if describe is not None else {},
    )


def _trace(task: Task, clock: Clock) -> pd.DataFrame:
    work, model = task.work, task.model
    count = int(work.counters[loops.RECORDS])
    points, records = task.locations(work.recorded[:count]), work.records[:count]
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
