"""What a run did: its end, and its recorded iterates as a table.

Iterates are recorded during the run; losses and errors are computed from the record afterwards, so
that the clock measures the iteration alone (and the validation, which is part of it). Ctrl-C ends
this, too: losses that are not computed by then are NaN, and the run counts as interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from elubench.algorithms.base import Algorithm
from elubench.checks import Floats
from elubench.kernels import interrupts, loops, ready
from elubench.kernels.interrupts import Presses
from elubench.models import Model
from elubench.runs.drivers import Clock
from elubench.runs.setup import Setup
from elubench.samples import CondensedSample
from elubench.samples.base import Sums
from elubench.samples.prices import Bill

STATUSES = {
    loops.REACHED: "reached",
    loops.CONVERGED: "converged",
    loops.MAX_ITER: "max_iter",
    loops.DIVERGED: "diverged",
}
_BATCH = 8  # points evaluated in one read when the trace is filled in
_MOST_PARAMS = 16  # that the trace has columns for


@dataclass(frozen=True)
class Run:
    """What a run did.

    ``params`` and ``scale`` (sigma squared) are those of the selected iterate: the one with the
    smallest held-out loss if there was validation, else the last. ``passes`` counts reads of the data
    given to the run; with validation an iteration reads the training part once for the step and the
    held-out part once for the loss. ``bill`` says what they read, and :attr:`cost` what that costs.
    ``seconds`` is the time of the iteration alone; ``compile_seconds`` that of compiling kernels or
    loading them from the cache. ``final`` are the sums of the last pass if it was at ``params``.
    ``columns`` are those of :attr:`trace`.
    """

    status: str
    n_iter: int
    passes: float
    seconds: float
    params: Floats
    scale: Floats
    selected: int
    last: Floats
    columns: dict[str, Any] = field(repr=False)
    model: Model
    algorithm: Algorithm
    bill: Bill = field(repr=False)
    compile_seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)
    final: Sums | None = field(default=None, repr=False)

    @cached_property
    def trace(self) -> pd.DataFrame:
        """The recorded iterates, one per row; ``cost`` is what :attr:`cost` was by then.

        So the first trace may wait until prices are measured, and costs depend on the machine.
        """
        table = pd.DataFrame(self.columns)
        table.insert(1 + list(self.columns).index("passes"), "cost", self._costs())
        return table

    @property
    def cost(self) -> float:
        """What the passes cost, in plain passes: T0 and T1 for one direction over all rows.

        The first to ask for a kind of pass waits some milliseconds until its price is measured. Making
        the sample (packing or condensing rows) is not part of the cost.
        """
        return float(self.bill.cost()[-1])

    def cost_at(self, place: int) -> float:
        """The cost up to a row of the trace."""
        return float(self._costs()[place])

    def _costs(self) -> Floats:
        found: Floats = self.bill.cost()[:-1]
        return found


class Ended(NamedTuple):
    """A run that has ended: its arrays, its clock, whether Ctrl-C ended it, seconds of compiling."""

    setup: Setup
    clock: Clock
    interrupted: bool
    compiling: float = 0.0


def results(several: Iterable[Ended], metrics: bool) -> list[Run]:
    """The outcomes of runs that have ended; ``metrics`` adds losses to their traces.

    After Ctrl-C no more losses are computed; after a second one KeyboardInterrupt is raised.
    """
    made: list[Run] = []
    with interrupts.held() as presses:
        for ended in several:
            if presses.stopped():
                presses.release()  # a second one
            made.append(_result(ended, metrics, presses))
        if made and presses.stopped():  # too late for the losses, but not to be lost
            made[-1] = replace(made[-1], status="interrupted")
    return made


def _result(ended: Ended, metrics: bool, presses: Presses) -> Run:
    setup, work, counters = ended.setup, ended.setup.work, ended.setup.work.counters
    n_iter = int(counters[loops.ITERATIONS])
    last = setup.locations(work.iterate)
    if work.records[counters[loops.RECORDS] - 1, loops.RECORD_T] != n_iter:
        validation = math.nan
        if setup.held is not None:
            validation = setup.model.gap(setup.held, last, setup.train.moments())
        setup.record(validation)
    params = last.copy() if setup.held is None else setup.locations(work.selected)
    describe = getattr(setup.algorithm, "describe", None)
    columns = _columns(setup, ended.clock, metrics, presses)
    records = work.records[: counters[loops.RECORDS]]
    made = np.empty((2, len(records) + 1))
    made[:, :-1] = records[:, [loops.RECORD_PASSES, loops.RECORD_VALIDATIONS]].T
    made[:, -1] = counters[loops.PASSES], counters[loops.VALIDATIONS]
    interrupted = ended.interrupted or presses.stopped()
    run = Run(
        status="interrupted" if interrupted else STATUSES[int(counters[loops.STATUS])],
        n_iter=n_iter,
        passes=float(setup.passes(counters[loops.PASSES], counters[loops.VALIDATIONS])),
        seconds=ended.clock[-1][1],
        params=params,
        scale=setup.model.scale(setup.train, params),
        selected=n_iter if setup.held is None else int(counters[loops.SELECTED]),
        last=last,
        columns=columns,
        model=setup.model,
        algorithm=setup.algorithm,
        bill=setup.bill(*made),
        compile_seconds=ended.compiling,
        details={**(describe(work.state) if describe is not None else {}), **_reading(setup)},
        final=None if interrupted else _final(setup),
    )
    return moved(run, setup.origin)


def _final(setup: Setup) -> Sums | None:
    """The sums of the last pass if it was at the last iterate, and that is the result."""
    work, moments = setup.work, setup.train.moments()
    if setup.held is not None or len(work.b) > 1 or math.isnan(work.b[0]):
        return None
    u = np.empty(setup.train.d)
    b = ready(setup.algebra.direction)(work.iterate, *setup.model.inputs(moments), u)
    if b != work.b[0] or (u != work.u[0]).any():
        return None
    return Sums(u, b, setup.algorithm.want, work.sums[0].copy())


def _reading(setup: Setup) -> dict[str, Any]:
    """Of a condensed sample, how many points a pass reads instead of n rows."""
    sample = setup.train
    return {"condensed_to": sample.condensed_to} if isinstance(sample, CondensedSample) else {}


def moved(run: Run, by: Floats) -> Run:
    """The same run with all its locations moved by (d,)."""
    if not by.any():
        return run
    extra = run.model.extra
    shift = np.append(np.resize(by, run.params.size - extra), np.zeros(extra))
    places = {f"param_{j}": amount for j, amount in enumerate(shift)}
    columns = {name: column + places.get(name, 0) for name, column in run.columns.items()}
    return replace(
        run, params=run.params + shift, last=run.last + shift, columns=columns, final=None
    )


def _columns(
    setup: Setup, clock: Clock, metrics: bool, presses: Presses
) -> dict[str, NDArray[Any]]:
    work, model, truth = setup.work, setup.model, setup.truth
    count = int(work.counters[loops.RECORDS])
    points, records = setup.locations(work.recorded[:count]), work.records[:count]
    passes, seconds = np.array(clock).T
    read, validated = records[:, loops.RECORD_PASSES], records[:, loops.RECORD_VALIDATIONS]
    table = {
        "t": records[:, loops.RECORD_T].astype(np.int64),
        "step": records[:, loops.RECORD_STEP],
        "passes": setup.passes(read, validated),
        # the clock is read between chunks of iterations that all cost the same
        "seconds": np.interp(read, passes, seconds),
    }
    if truth.params is not None:
        table["location_error"] = model.location_errors(points, truth.params)
    if truth.scale is not None:
        scales = [model.scale(setup.train, point) for point in points]
        table["scale_error"] = np.array([model.scale_error(one, truth.scale) for one in scales])
    if metrics:
        gaps = np.full(count, math.nan)
        for at in range(0, count, _BATCH):
            if presses.stopped():
                break
            gaps[at : at + _BATCH] = model.gaps(setup.train, points[at : at + _BATCH])
        table["gap"] = gaps
        moments = setup.train.moments()
        table["loss"] = table["gap"] + model.one_gaussian_loss(moments, moments)
    if setup.held is not None:
        base = model.one_gaussian_loss(setup.train.moments(), setup.held.moments())
        table["validation_loss"] = records[:, loops.RECORD_VALIDATION] + base
    if points.shape[1] <= _MOST_PARAMS:
        table.update({f"param_{j}": column.copy() for j, column in enumerate(points.T)})
    return table
