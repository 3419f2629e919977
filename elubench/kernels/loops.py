"""The compiled iteration: pass, model, update, stop, all without going back to Python.

The Python driver in :mod:`elubench.runs` calls the same functions in the same order, so both give the
same iterates to the last bit. The loop can be left and entered again at any iteration: all of its state
is in the arrays that it is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange, types

from elubench.kernels import reduction, signatures
from elubench.kernels._jit import borrow, kernel
from elubench.kernels.layout import CURVATURE, FINISHED, LOG_COSH, MOVED, STEP, log_cosh_at
from elubench.kernels.pointers import ADDRESS, pointer_to
from elubench.kernels.signatures import Answers, Own
from elubench.kernels.tiles import BLOCK_ROWS, ROWS

# Statuses. RUNNING means that the loop is to be entered again.
RUNNING, REACHED, CONVERGED, MAX_ITER, DIVERGED = 0, 1, 2, 3, 4

# Places in the integer and float arrays that carry a run's progress.
ITERATIONS, PASSES, VALIDATIONS, STATUS, RECORDS, SELECTED, BEYOND = 0, 1, 2, 3, 4, 5, 6
COUNTERS_SIZE = 7
RADIUS, TOLERANCE, BEST = 0, 1, 2
LIMITS_SIZE = 3

# Columns of the record of a run, besides the parameters.
RECORD_T, RECORD_STEP, RECORD_PASSES, RECORD_VALIDATIONS, RECORD_VALIDATION = 0, 1, 2, 3, 4
RECORD_SIZE = 5


class Functions(NamedTuple):
    """Addresses of what a loop calls: passes over both samples, a model's algebra, an update."""

    reduce: Any
    reduce_held: Any
    direction: Any
    respond: Any
    gap: Any
    hessian: Any
    error: Any
    update: Any


class Budget(NamedTuple):
    """``want`` of every pass; how many more passes to make; the iteration at which the run ends."""

    want: Any
    passes: Any
    until: Any


class Data(NamedTuple):
    """A packed sample as the loop takes it: tiles, total weight, moments, and the largest u.

    Beyond the latter the loop makes no pass: it ends, with BEYOND set.
    """

    data: Any
    weights: Any
    rows: Any
    total: Any
    m1: Any
    m2: Any
    largest_u: Any


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


_reduce = pointer_to(reduction.PASS)
_direction = pointer_to(signatures.DIRECTION)
_respond = pointer_to(signatures.RESPOND)
_gap = pointer_to(signatures.GAP)
_hessian = pointer_to(signatures.HESSIAN)
_error = pointer_to(signatures.ERROR)
_update = pointer_to(signatures.UPDATE)

_FUNCTIONS = types.NamedUniTuple(ADDRESS, len(Functions._fields), Functions)
_BUDGET = types.NamedUniTuple(types.int64, len(Budget._fields), Budget)
_DATA = types.NamedTuple(
    (
        types.float64[:, :, ::1],
        types.float64[:, ::1],
        types.int64,
        types.float64,
        types.float64[::1],
        types.float64[::1],
        types.float64,
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
    tiles = BLOCK_ROWS // ROWS
    return (data.shape[0] + tiles - 1) // tiles


# settle and record are inlined: a call would copy all of Work, which costs a fifth of an iteration.
# From Python they are called as they are written, without compiling; they only compare, copy, and sum
# rounded products, so that this gives the same bits.
@kernel("exact", inline=True, plain=True)
def settle(valid: bool, error: float, validation: float, until: int, work: Any) -> int:
    """After an update: count, select, and decide whether the run goes on. Returns the status.

    ``valid`` says that the new iterate has a positive scale, ``error`` is its distance from the
    truth, ``validation`` its held-out gap (NaN where there is none).
    """
    counters, limits, report = work.counters, work.limits, work.report
    iterate, previous = work.iterate, work.previous
    if report[MOVED] != 0.0:
        if not valid:
            for j in range(iterate.size):
                iterate[j] = previous[j]
            counters[STATUS] = DIVERGED
            return DIVERGED
        counters[ITERATIONS] += 1
        if validation < limits[BEST]:
            limits[BEST] = validation
            counters[SELECTED] = counters[ITERATIONS]
            for j in range(iterate.size):
                work.selected[j] = iterate[j]
        square = 0.0
        for j in range(iterate.size):
            step = iterate[j] - previous[j]
            square += step * step
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


@kernel("exact", inline=True, plain=True)
def record(validation: float, work: Any) -> None:
    """Keep the iterate and where the run stands."""
    counters, records = work.counters, work.records
    place = counters[RECORDS]
    for j in range(work.iterate.size):
        work.recorded[place, j] = work.iterate[j]
    records[place, RECORD_T] = counters[ITERATIONS]
    records[place, RECORD_STEP] = work.report[STEP]
    records[place, RECORD_PASSES] = counters[PASSES]
    records[place, RECORD_VALIDATIONS] = counters[VALIDATIONS]
    records[place, RECORD_VALIDATION] = validation
    counters[RECORDS] = place + 1


@kernel("exact", types.void(_FUNCTIONS, _DATA, _DATA, _BUDGET, _WORK))
def loop(functions: Any, train: Any, held: Any, budget: Any, work: Any) -> None:
    """Iterate until a status is set or the budget is spent."""
    train, held, work = borrow(train), borrow(held), borrow(work)
    reduce, reduce_held = _reduce(functions.reduce), _reduce(functions.reduce_held)
    direction, respond = _direction(functions.direction), _respond(functions.respond)
    gap, hessian = _gap(functions.gap), _hessian(functions.hessian)
    error, update = _error(functions.error), _update(functions.update)
    want, counters, report = budget.want, work.counters, work.report
    points, iterate, m1, m2 = work.points, work.iterate, train.m1, train.m2
    u, b, sums, held_sums = work.u, work.b, work.sums, work.validation_sums
    answers = Answers(work.em, work.gradient, work.gap, work.hessian)
    k, d = u.shape
    own_partial = np.empty((blocks(train.data), k, sums.shape[1]))
    own_scratch = reduction.buffer(d)
    own_held = np.empty((blocks(held.data), 1, held_sums.shape[1]))
    own_u, own_b = np.empty((1, d)), np.empty(1)
    partial, scratch, held_partial = borrow(own_partial), borrow(own_scratch), borrow(own_held)
    held_u, held_b = borrow(own_u), borrow(own_b)
    last = counters[PASSES] + budget.passes
    status = counters[STATUS]
    while status == RUNNING and counters[PASSES] < last:
        for i in range(k):
            b[i] = direction(points[i], m1, m2, u[i])
            if abs(u[i, 0]) > train.largest_u:
                counters[BEYOND] = 1
        if counters[BEYOND] != 0:
            break
        reduce(
            train.data, train.weights, train.rows, train.total, u, b, want, scratch, partial, sums
        )
        counters[PASSES] += 1
        for i in range(k):
            respond(points[i], m1, m2, sums[i], answers.em[i], answers.gradient[i])
            if want & LOG_COSH:
                answers.gap[i] = gap(points[i], m1, m2, m1, m2, sums[i, log_cosh_at(d)])
            if want & CURVATURE:
                hessian(points[i], m1, m2, sums[i], answers.hessian[i])
        own = Own(work.options, work.state, counters[ITERATIONS])
        update(own, points, answers, iterate, report)
        valid, distance, validation = True, np.inf, np.nan
        if report[MOVED] != 0.0:
            held_b[0] = direction(iterate, m1, m2, held_u[0])
            valid = not np.isnan(held_b[0])
            distance = error(iterate, m1, m2, work.truth)
            if held.data.shape[0] > 0 and valid:
                reduce_held(
                    held.data, held.weights, held.rows, held.total,
                    held_u, held_b, LOG_COSH, scratch, held_partial, held_sums,
                )  # fmt: skip
                counters[VALIDATIONS] += 1
                log_cosh = held_sums[0, log_cosh_at(d)]
                validation = gap(iterate, m1, m2, held.m1, held.m2, log_cosh)
        status = settle(valid, distance, validation, budget.until, work)
        place = counters[RECORDS]
        if place < work.schedule.size and counters[ITERATIONS] == work.schedule[place]:
            record(validation, work)
    # what was borrowed must stay alive to this line
    own_partial[0, 0, 0] = 0.0
    own_scratch[0] = 0.0
    own_held[:0] = 0.0
    own_u[0, 0] = 0.0
    own_b[0] = 0.0


@kernel("exact")
def _one_of_many(functions: Any, train: Any, held: Any, budget: Any, works: Any, r: int) -> None:
    """Replicate r, in the calling thread."""
    one = Data(
        train.data[r],
        train.weights[r],
        train.rows[r],
        train.total[r],
        train.m1[r],
        train.m2[r],
        train.largest_u[r],
    )
    two = Data(
        held.data[r],
        held.weights[r],
        held.rows[r],
        held.total[r],
        held.m1[r],
        held.m2[r],
        held.largest_u[r],
    )
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
    loop(functions, one, two, budget, work)


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
    types.void(_FUNCTIONS, _stacked(_DATA), _stacked(_DATA), _BUDGET, _stacked(_WORK), _ints),
)
def loop_many(functions: Any, train: Any, held: Any, budget: Any, works: Any, running: Any) -> None:
    """Replicates side by side, each in one thread; every array has a leading axis for them.

    ``running`` has the places of those that are iterated.
    """
    for i in prange(running.size):
        _one_of_many(functions, train, held, budget, works, running[i])
