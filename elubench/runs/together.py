"""Replicates side by side: small runs stacked into one parallel region, a thread for each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elubench.algorithms.base import DirectAlgorithm, ForeignAlgorithm
from elubench.kernels import interrupts, loops, ready, reduction
from elubench.kernels.interrupts import Presses
from elubench.kernels.loops import Budget, Data, Work
from elubench.kernels.region import parallel_region
from elubench.kernels.tiles import aligned
from elubench.runs.drivers import (
    Pace,
    addresses,
    compiled,
    data_of,
    drive,
    driver_for,
    make_ready,
)
from elubench.runs.setup import Setup
from elubench.runs.trace import Ended
from elubench.samples.base import PackedSample

_CHUNK_SECONDS = 0.2  # how often Ctrl-C is handled


def stack_key(setup: Setup) -> Any:
    """Runs with the same key can be stacked; None for one that is better run alone."""
    if isinstance(setup.algorithm, ForeignAlgorithm | DirectAlgorithm):
        return None
    if not isinstance(setup.train, PackedSample) or not isinstance(setup.held, PackedSample | None):
        return None
    if setup.train.largest_u < math.inf or (setup.held and setup.held.largest_u < math.inf):
        return None  # the loop may have to go on with another sample
    tiles = setup.train.even_tiles() if setup.model.even else setup.train.tiles
    if tiles.rows * (2 + setup.train.d) >= reduction.PARALLEL_FROM:
        return None
    return setup.train.d, bool(tiles.weights.size), setup.held is None


def drive_all(setups: list[Setup]) -> list[Ended]:
    """Bring runs to their end, side by side where they can be; after Ctrl-C the rest stays as it is."""
    groups: dict[Any, list[int]] = {}
    for place, setup in enumerate(setups):
        groups.setdefault(stack_key(setup), []).append(place)
    ended: list[Ended | None] = [None] * len(setups)
    stopped = False
    for key, places in groups.items():
        several = [setups[place] for place in places]
        if stopped:
            found = [_not_begun(setup) for setup in several]
        elif key is None:
            found = _one_by_one(several)
        else:
            found = _side_by_side(several)
        stopped = stopped or any(one.interrupted for one in found)
        for place, one in zip(places, found, strict=True):
            ended[place] = one
    return [one for one in ended if one is not None]


def _not_begun(setup: Setup) -> Ended:
    setup.begin()
    return Ended(setup, [(0, 0.0)], True)


def _one_by_one(setups: list[Setup]) -> list[Ended]:
    ended: list[Ended] = []
    for setup in setups:
        if ended and ended[-1].interrupted:
            ended.append(_not_begun(setup))
            continue
        try:
            chosen = driver_for(setup, "auto")
            make_ready(setup, chosen)
            ended.append(Ended(setup, *drive(setup, chosen)))
        except KeyboardInterrupt:  # before its first iteration
            ended.append(_not_begun(setup))
    return ended


def _side_by_side(setups: list[Setup]) -> list[Ended]:
    """Runs with the same key; each is charged its share of the time."""
    ended: list[Ended] = []
    try:
        make_ready(setups[0], compiled)
        ready(loops.loop_many)
        with interrupts.held() as presses, parallel_region.entered() as inside:
            if inside:
                ended = _stacked_loop(setups, presses)
    except KeyboardInterrupt:  # before the first iteration, or after the last
        if ended:
            return [*ended[:-1], ended[-1]._replace(interrupted=True)]
        return [_not_begun(setup) for setup in setups]
    return ended or _one_by_one(setups)


def _stacked_loop(setups: list[Setup], presses: Presses) -> list[Ended]:
    first = setups[0]
    one_pass = ready(reduction.pass_serial)
    functions = addresses(first.functions(one_pass, one_pass))
    train = _stacked([data_of(setup.train, setup) for setup in setups])
    held = _stacked([data_of(setup.held, setup) for setup in setups])
    for setup in setups:
        setup.begin()
    parts = zip(*(setup.work for setup in setups), strict=True)
    works = Work(*(np.stack(arrays) for arrays in parts))
    # a guess at the seconds per pass over all of them; afterwards they are measured
    rows = int(train.rows.sum())
    pace = Pace(_CHUNK_SECONDS, 1e-6 * len(setups) + 1e-9 * rows * (2 + first.train.d))
    interrupted = np.zeros(len(setups), dtype=bool)
    while (running := _running(works)).size:
        budget = Budget(first.algorithm.want, pace.chunk, first.stop.max_iter)
        with pace.measured():
            loops.loop_many(functions, train, held, budget, works, running)
        if presses.stopped():
            interrupted[running] = True
            break
    for r, setup in enumerate(setups):
        for own, stacked in zip(setup.work, works, strict=True):
            own[...] = stacked[r]
    share = pace.seconds / len(setups)
    return [
        Ended(setup, [(0, 0.0), (int(setup.work.counters[loops.PASSES]), share)], bool(stopped))
        for setup, stopped in zip(setups, interrupted, strict=True)
    ]


def _running(works: Work) -> NDArray[np.int64]:
    return np.flatnonzero(works.counters[:, loops.STATUS] == loops.RUNNING)


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
        np.array([part.largest_u for part in parts]),
    )
