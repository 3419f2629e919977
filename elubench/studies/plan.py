"""A study cut into tasks: batches of groups, computed and stored as one.

A group is the runs on one sample. That sample depends on (seed, model, n, d, replicate, truth) and on
nothing else: not on the algorithm, the block, the order or the worker.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from elubench import checks
from elubench.studies.costs import cell_seconds
from elubench.studies.spec import Cell, Spec

_TASK_SECONDS = 1.0  # least length of a task, so that its bookkeeping does not show


class Group(NamedTuple):
    """The runs on one sample."""

    cell: Cell
    replicate: int


class Task(NamedTuple):
    """A batch of groups with the number of rows that it makes."""

    name: str
    groups: tuple[Group, ...]
    rows: int


class Plan(NamedTuple):
    """A study cut into tasks. ``bounds`` says where, in the order of the groups."""

    bounds: tuple[int, ...]
    tasks: tuple[Task, ...]

    @property
    def expected(self) -> dict[str, int]:
        """Number of rows of every task."""
        return {task.name: task.rows for task in self.tasks}


def groups_of(spec: Spec) -> Iterator[Group]:
    """Every group, replicates innermost."""
    for cell in spec.cells():
        for replicate in range(spec.blocks[cell.block].replicates):
            yield Group(cell, replicate)


def plan(spec: Spec, bounds: tuple[int, ...] | None = None) -> Plan:
    """Cut a study into tasks of about a second or more, or where ``bounds`` says.

    The cut depends on estimates alone, never on the engine or on the machine, so any engine can
    continue what another began.
    """
    groups = list(groups_of(spec))
    if bounds is None:
        bounds = _cut(spec, groups)
    elif (
        not all(type(bound) is int for bound in bounds)
        or list(bounds) != sorted(set(bounds))
        or (bounds[:1], bounds[-1:]) != ((0,), (len(groups),))
    ):
        raise ValueError("the bounds of the tasks do not fit the study")
    identity = spec.hash
    tasks = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        digest = hashlib.sha256(f"{identity} {first} {last}".encode()).hexdigest()[:8]
        batch = tuple(groups[first:last])
        rows = sum(spec.blocks[group.cell.block].runs for group in batch)
        tasks.append(Task(f"{number:06d}-{digest}", batch, rows))
    return Plan(bounds, tuple(tasks))


def _cut(spec: Spec, groups: list[Group]) -> tuple[int, ...]:
    costs, bounds, total = cell_seconds(spec), [0], 0.0
    for place, group in enumerate(groups, 1):
        total += costs[group.cell]
        if total >= _TASK_SECONDS or place == len(groups):
            bounds.append(place)
            total = 0.0
    return tuple(bounds)


def shard_of(tasks: Sequence[Task], shard: str) -> list[Task]:
    """Every N-th task, from the i-th on, for a shard "i/N"."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", shard) if isinstance(shard, str) else None
    if found is None:
        raise ValueError(f"shard must be i/N, such as 1/4, got {checks.brief(shard)}")
    every = checks.integer(int(found[2]), "N in shard i/N", 1)
    return list(tasks[checks.integer(int(found[1]), "i in shard i/N", 1, every) - 1 :: every])


def seed_of(seed: int, model: str, n: int, d: int, replicate: int, purpose: str) -> int:
    """A seed for one purpose on one sample, the same on every machine."""
    text = f"{seed}/{model}/{n}/{d}/{replicate}/{purpose}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
