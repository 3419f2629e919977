"""What a study will cost, roughly: on one core, from passes x rows x nanoseconds."""

from __future__ import annotations

from typing import NamedTuple

from elubench.algorithms.base import Goal
from elubench.kernels import layout
from elubench.models.known import radius
from elubench.samples import LatticeSample
from elubench.studies import mle
from elubench.studies.spec import Block, Cell, Contestant, Spec

# Measured on one core of an AMD Zen 4 with much else to do, rows in the cache.
_FOREIGN_SECONDS = 1e-4  # per iteration in Python
_RUN_SECONDS = 2e-3  # per run: set-up, trace and errors
_MLE_PASSES = 25.0  # per start


class Cost(NamedTuple):
    """An estimate: reads of the data, and seconds on one core."""

    passes: float
    seconds: float


def cell_seconds(spec: Spec) -> dict[Cell, float]:
    """Seconds for one sample of every cell."""
    return {cell: group_cost(spec.blocks[cell.block], cell).seconds for cell in spec.cells()}


def group_cost(block: Block, cell: Cell) -> Cost:
    """All runs on one sample, with its draw and its MLE."""
    model = block.model(cell.model)
    if block.samples == "lattice":
        rows = held = LatticeSample.expected_rows(cell.n, cell.d, model.even)
        seconds = rows * 1e-6
    else:
        rows, held = float(cell.n), (block.validation or 0.0) * cell.n
        seconds = 14e-9 * cell.n * cell.d
    passes = 0.0
    if block.mle:
        starts, want = model.n_mle_starts(cell.d), mle.method(model, cell.d).want
        passes += _MLE_PASSES * starts
        seconds += starts * (_RUN_SECONDS + _MLE_PASSES * _pass_seconds(rows, cell.d, want))
    for start in block.starts:
        for one in block.contestants:
            needed = _passes(block, cell, one, start)
            passes += needed
            each = _pass_seconds(rows, cell.d, one.algorithm.want)
            if block.validation is not None:
                each += _pass_seconds(held, cell.d, layout.LOG_COSH)
            if not hasattr(type(one.algorithm), "update"):
                each += _FOREIGN_SECONDS
            seconds += _RUN_SECONDS + needed * each
    return Cost(passes, seconds)


def _passes(block: Block, cell: Cell, one: Contestant, start: str) -> float:
    model = block.model(cell.model)
    target = radius(model, cell.n, cell.d, constant=block.radius_constant)
    if block.truth is not None:  # what takes time is the way to theta*; the rest is geometric
        target = max(target, block.truth.half_distance(cell.n))
    flatness = model.flatness(cell.d, generic=start == "generic")
    goal = Goal(flatness, target, block.start_norm, one.max_iter, block.stop == "end")
    return one.algorithm.resolve(model).expected_passes(goal)


def _pass_seconds(rows: float, d: int, want: int) -> float:
    each = 1.3 + 0.3 * d
    if want & layout.LOG_COSH:
        each += 1.0  # 0.3, and 1.4 for rows with weights
    if want & layout.CURVATURE:
        each += 0.5 + 0.035 * d * (d + 1)
    return 2e-7 + 1e-9 * each * rows
