"""The compiled iteration: pass, model, update, stop, all without going back to Python.

The Python driver in :mod:`elubench.runs` calls the same functions in the same order, so both give the
same iterates to the last bit. A loop can be left and entered again at any iteration: everything it
knows is in the arrays it is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange, types

from elubench.kernels import reduction, signatures
from elubench.kernels._jit import borrow, kernel
from elubench.kernels.layout import CURVATURE, FINISHED, LOG_COSH, MOVED, STEP, log_cosh_at
from elubench.kernels.tiles import BLOCK_ROWS

# Statuses. RUNNING means that the loop was left to be entered again.
RUNNING, REACHED, CONVERGED, MAX_ITER, DIVERGED = 0, 1, 2, 3, 4

# Places in the integer and float arrays that carry a run's progress.
ITERATIONS, PASSES, VALIDATIONS, STATUS, RECORDS, SELECTED = 0, 1, 2, 3, 4, 5
COUNTERS_SIZE = 6
RADIUS, TOLERANCE, BEST = 0, 1, 2
LIMITS_SIZE = 3

# Columns of the record of a run, beside the parameters.
RECORD_T, RECORD_STEP, RECORD_PASSES, RECORD_VALIDATIONS, RECORD_VALIDATION = 0, 1, 2, 3, 4
RECORD_SIZE = 5


class Data(NamedTuple):
    """A packed sample as the loop takes it: tiles, total weight, moments."""

    data: Any
    weights: Any
    rows: Any
    total: Any
    m1: Any
    m2: Any


class Work(NamedTuple):
    """Everything that changes during a run; see the constants of this module."""

    counters: Any  # int64 (COUNTERS_SIZE,)
    limits: Any  # (LIMITS_SIZE,): radius (NaN: none), tolerance (NaN: none), best validation gap
    options: Any  # the algorithm's
    state: Any  # the algorithm's
    report: Any  # (layout.REPORT_SIZE,)
    truth: Any  # (p,)
    iterate: Any  # (p,), the last accepted
    previous: Any  # (p,), the one before
    selected: Any  # (p,), by validation
    points: Any  # (k, p), to be evaluated
    em: Any  # (k, p)
    gradient: Any  # (k, p)
    gap: Any  # (k,)
    hessian: Any  # (k, p, p), or (k, 0, 0)
    u: Any  # (k, d)
    b: Any  # (k,)
    sums: Any  # (k, width)
    validation_sums: Any  # (1, width)
    schedule: Any  # int64, the iterations to record, ascending
    recorded: Any  # (records, p)
    records: Any  # (records, RECORD_SIZE)


_DATA = types.NamedTuple(
    (
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.int64,
        types.float64,
        types.float64[::1],
        types.float64[::1],
    ),
    Data,
)
_vector, _matrix = types.float64[::1], types.float64[:, ::1]
_ints = types.int64[::1]
_WORK = types.NamedTuple(
    (_ints,)
    + (_vector,) * 8
    + (_matrix,) * 3
    + (_vector, types.float64[:, :, ::1], _matrix, _vector, _matrix, _matrix, _ints)
    + (_matrix,) * 2,
    Work,
)


@kernel("exact")
def blocks(data: Any) -> int:
    """Number of blocks whose partial sums a pass writes."""
    tiles = BLOCK_ROWS // data.shape[2]
    return (data.shape[0] + tiles - 1) // tiles


@kernel(
    "exact",
    types.int64(
        types.boolean,
        types.float64,
        types.float64,
        types.int64,
        _ints,
        _vector,
        _vector,
        _vector,
        _vector,
        _vector,
    ),
)
def settle(
    valid: bool,
    error: float,
    validation: float,
    until: int,
    counters: Any,
    limits: Any,
    report: Any,
    iterate: Any,
    previous: Any,
    selected: Any,
) -> int:
    """After an update: count, select, and decide whether the run goes on. Returns the status.

    ``valid`` says that the new iterate has a positive scale, ``error`` is its distance from the
    truth, ``validation`` its held-out gap (NaN where there is none).
    """
    p = iterate.size
    if report[MOVED] != 0.0:
        if not valid:
            for j in range(p):
                iterate[j] = previous[j]
            counters[STATUS] = DIVERGED
            return DIVERGED
        counters[ITERATIONS] += 1
        if validation < limits[BEST]:
            limits[BEST] = validation
            counters[SELECTED] = counters[ITERATIONS]
            for j in range(p):
                selected[j] = iterate[j]
        square = 0.0
        for j in range(p):
            square += (iterate[j] - previous[j]) ** 2
            previous[j] = iterate[j]
        if error <= limits[RADIUS]:
            counters[STATUS] = REACHED
        elif np.sqrt(square) <= limits[TOLERANCE]:
            counters[STATUS] = CONVERGED
    if counters[STATUS] == RUNNING:
        if report[FINISHED] != 0.0:
            counters[STATUS] = CONVERGED
        elif counters[ITERATIONS] >= until:
            counters[STATUS] = MAX_ITER
    return counters[STATUS]


@kernel("exact", types.void(types.float64, _ints, _vector, _vector, _matrix, _matrix))
def record(
    validation: float, counters: Any, report: Any, iterate: Any, recorded: Any, records: Any
) -> None:
    """Keep the iterate and where the run stands."""
    place = counters[RECORDS]
    for j in range(iterate.size):
        recorded[place, j] = iterate[j]
    records[place, RECORD_T] = counters[ITERATIONS]
    records[place, RECORD_STEP] = report[STEP]
    records[place, RECORD_PASSES] = counters[PASSES]
    records[place, RECORD_VALIDATIONS] = counters[VALIDATIONS]
    records[place, RECORD_VALIDATION] = validation
    counters[RECORDS] = place + 1


_LOOP_ARGUMENTS = (
    types.FunctionType(reduction.PASS),
    types.FunctionType(reduction.PASS),
    types.FunctionType(signatures.DIRECTION),
    types.FunctionType(signatures.RESPOND),
    types.FunctionType(signatures.GAP),
    types.FunctionType(signatures.HESSIAN),
    types.FunctionType(signatures.ERROR),
    types.FunctionType(signatures.UPDATE),
    _DATA,
    _DATA,
    types.int64,
    types.int64,
    types.int64,
    _WORK,
)


@kernel("exact", types.void(*_LOOP_ARGUMENTS))
def loop(
    reduce: Any,
    reduce_held: Any,
    direction: Any,
    respond: Any,
    gap: Any,
    hessian: Any,
    error: Any,
    update: Any,
    train: Any,
    held: Any,
    want: int,
    passes: int,
    until: int,
    work: Any,
) -> None:
    """Iterate until a status is set, iteration ``until``, or ``passes`` more passes are made.

    ``reduce`` and ``reduce_held`` make the pass over either sample, with threads or without.
    """
    counters, limits, report = borrow(work.counters), borrow(work.limits), borrow(work.report)
    options, state, truth = borrow(work.options), borrow(work.state), borrow(work.truth)
    iterate, previous = borrow(work.iterate), borrow(work.previous)
    selected, schedule = borrow(work.selected), borrow(work.schedule)
    points, em, gradient = borrow(work.points), borrow(work.em), borrow(work.gradient)
    gaps, hessians = borrow(work.gap), borrow(work.hessian)
    u, b, sums = borrow(work.u), borrow(work.b), borrow(work.sums)
    recorded, records = borrow(work.recorded), borrow(work.records)
    data, weights, rows, total = borrow(train.data), borrow(train.weights), train.rows, train.total
    m1, m2 = borrow(train.m1), borrow(train.m2)
    held_data, held_weights = borrow(held.data), borrow(held.weights)
    held_sums, e1, e2 = borrow(work.validation_sums), borrow(held.m1), borrow(held.m2)
    k, d = u.shape
    own_partial = np.empty((blocks(data), k, sums.shape[1]))
    own_scratch = reduction.buffers(max(data.shape[2], held.data.shape[2]))
    own_held = np.empty((blocks(held.data), 1, held_sums.shape[1]))
    own_u, own_b = np.empty((1, d)), np.empty(1)
    partial, scratch, held_partial = borrow(own_partial), borrow(own_scratch), borrow(own_held)
    held_u, held_b = borrow(own_u), borrow(own_b)
    last = counters[PASSES] + passes
    status = counters[STATUS]
    while status == RUNNING and counters[PASSES] < last:
        for i in range(k):
            b[i] = direction(points[i], m1, m2, u[i])
        reduce(data, weights, rows, total, u, b, want, scratch, partial, sums)
        counters[PASSES] += 1
        for i in range(k):
            respond(points[i], m1, m2, sums[i], em[i], gradient[i])
            if want & LOG_COSH:
                gaps[i] = gap(points[i], m1, m2, m1, m2, sums[i, log_cosh_at(d)])
            if want & CURVATURE:
                hessian(points[i], m1, m2, sums[i], hessians[i])
        t = counters[ITERATIONS]
        update(options, state, t, points, em, gradient, gaps, hessians, iterate, report)
        valid, distance, validation = True, np.inf, np.nan
        if report[MOVED] != 0.0:
            held_b[0] = direction(iterate, m1, m2, held_u[0])
            valid = not np.isnan(held_b[0])
            distance = error(iterate, m1, m2, truth)
            if held.data.shape[0] > 0 and valid:
                reduce_held(
                    held_data, held_weights, held.rows, held.total,
                    held_u, held_b, LOG_COSH, scratch, held_partial, held_sums,
                )  # fmt: skip
                counters[VALIDATIONS] += 1
                validation = gap(iterate, m1, m2, e1, e2, held_sums[0, log_cosh_at(d)])
        status = settle(
            valid,
            distance,
            validation,
            until,
            counters,
            limits,
            report,
            iterate,
            previous,
            selected,
        )
        place = counters[RECORDS]
        if place < schedule.size and counters[ITERATIONS] == schedule[place]:
            record(validation, counters, report, iterate, recorded, records)
    # what was borrowed must live to this line
    own_partial[0, 0, 0] = 0.0
    own_scratch[0, 0] = 0.0
    own_held[:0] = 0.0
    own_u[0, 0] = 0.0
    own_b[0] = 0.0


@kernel("exact")
def _one_of_many(
    reduce: Any,
    direction: Any,
    respond: Any,
    gap: Any,
    hessian: Any,
    error: Any,
    update: Any,
    train: Any,
    held: Any,
    want: int,
    until: int,
    works: Any,
    r: int,
) -> None:
    """Replicate r, in the calling thread, to its end."""
    one = Data(
        train.data[r], train.weights[r], train.rows[r], train.total[r], train.m1[r], train.m2[r]
    )
    two = Data(held.data[r], held.weights[r], held.rows[r], held.total[r], held.m1[r], held.m2[r])
    work = Work(
        works.counters[r],
        works.limits[r],
        works.options[r],
        works.state[r],
        works.report[r],
        works.truth[r],
        works.iterate[r],
        works.previous[r],
        works.selected[r],
        works.points[r],
        works.em[r],
        works.gradient[r],
        works.gap[r],
        works.hessian[r],
        works.u[r],
        works.b[r],
        works.sums[r],
        works.validation_sums[r],
        works.schedule[r],
        works.recorded[r],
        works.records[r],
    )
    loop(
        reduce, reduce, direction, respond, gap, hessian, error, update, one, two, want,
        np.int64(2**62), until, work,
    )  # fmt: skip


def _stacked(signature: Any) -> Any:
    """The type of a stack: every array has one more axis, every number becomes an array."""
    members = []
    for member in signature.types:
        if isinstance(member, types.Array):
            members.append(types.Array(member.dtype, member.ndim + 1, "C"))
        else:
            members.append(types.Array(member, 1, "C"))
    return types.NamedTuple(tuple(members), signature.instance_class)


@kernel(
    "parallel",
    types.void(
        *_LOOP_ARGUMENTS[1:8],
        _stacked(_DATA),
        _stacked(_DATA),
        types.int64,
        types.int64,
        _stacked(_WORK),
    ),
)
def loop_many(
    reduce: Any,
    direction: Any,
    respond: Any,
    gap: Any,
    hessian: Any,
    error: Any,
    update: Any,
    train: Any,
    held: Any,
    want: int,
    until: int,
    works: Any,
) -> None:
    """Replicates side by side, each in one thread; every array has a leading axis for them."""
    for r in prange(works.counters.shape[0]):
        _one_of_many(
            reduce,
            direction,
            respond,
            gap,
            hessian,
            error,
            update,
            train,
            held,
            want,
            until,
            works,
            r,
        )
