"""Replicates side by side: small runs stacked into one parallel region, a thread for each."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from elubench.algorithms.base import ForeignAlgorithm
from elubench.kernels import loops, ready, reduction
from elubench.kernels.loops import Budget, Data, Work
from elubench.kernels.tiles import aligned
from elubench.runs.drivers import Clock, compiled, data_of, make_ready
from elubench.runs.setup import Setup
from elubench.samples.base import PackedSample

_ALL = 2**62  # passes: as many as it takes


def stack_key(setup: Setup) -> Any:
    """Runs with the same key can be stacked; None for one that is better run alone."""
    if isinstance(setup.algorithm, ForeignAlgorithm):
        return None
    if not isinstance(setup.train, PackedSample) or not isinstance(setup.held, PackedSample | None):
        return None
    tiles = setup.train.even_tiles() if setup.model.even else setup.train.tiles
    if tiles.rows * (2 + setup.train.d) >= reduction.PARALLEL_FROM:
        return None
    return setup.train.d, bool(tiles.weights.size), setup.held is None


def drive_together(setups: list[Setup]) -> list[Clock]:
    """Bring runs with the same key to their end; each is charged its share of the time."""
    first = setups[0]
    make_ready(first, compiled)
    ready(loops.loop_many)
    for setup in setups:
        setup.begin()
    functions = first.functions(reduction.pass_serial, reduction.pass_serial)
    budget = Budget(first.algorithm.want, _ALL, first.stop.max_iter)
    train = _stacked([data_of(setup.train, setup) for setup in setups])
    held = _stacked([data_of(setup.held, setup) for setup in setups])
    works = Work(*(np.stack(arrays) for arrays in zip(*(s.work for s in setups), strict=True)))
    with reduction.parallel_region:
        before = time.perf_counter()
        loops.loop_many(functions, train, held, budget, works)
        share = (time.perf_counter() - before) / len(setups)
    for r, setup in enumerate(setups):
        for own, stacked in zip(setup.work, works, strict=True):
            own[...] = stacked[r]
    return [[(0, 0.0), (int(setup.work.counters[loops.PASSES]), share)] for setup in setups]


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
