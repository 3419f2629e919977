"""How far a study has got."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from elubench.kernels import compile_seconds
from elubench.studies.plan import Plan, Task
from elubench.studies.spec import Cell, Spec

_LEAST_TASKS, _LEAST_SECONDS = 3, 3.0  # before anything is said about the time left
_DOUBT_SECONDS = 10.0  # of work that what was measured must outweigh


@dataclass(frozen=True)
class Progress:
    """Where a study stands. ``seconds_left`` is NaN while nothing is known about the speed.

    ``censored`` counts runs that ended without reaching the radius, ``failed`` those that raised.
    """

    name: str
    tasks: int
    tasks_done: int
    runs: int
    runs_done: int
    reached: int
    censored: int
    failed: int
    seconds: float = 0.0
    seconds_left: float = float("nan")

    @property
    def finished(self) -> bool:
        """Whether every run has its row."""
        return self.tasks_done == self.tasks


class Tally:
    """Counts what is done and estimates from its pace how long the rest will take.

    ``costs`` are seconds per group; without them nothing is said about the time left, which is that of
    the tasks ``left``, by default all that are not done. They are rough,
    and a few tasks are a poor sample of the pace: so nothing is said at first either, and then what
    was measured outweighs the costs only by and by. Compiling is left out, since it is done once.
    """

    def __init__(
        self,
        study: Spec,
        plan: Plan,
        rows: pa.Table,
        done: set[str],
        costs: Mapping[Cell, float] | None = None,
        left: Sequence[Task] | None = None,
    ):
        self._study = study
        self._plan = plan
        self._done = set(done)
        self._rows = self._reached = self._failed = 0
        self._count(rows)
        self._begun = time.perf_counter()
        self._costs = costs or {}
        if left is None:
            left = [task for task in plan.tasks if task.name not in done]
        self._left = sum(map(self._cost, left))
        self._made, self._tasks_made = 0.0, 0
        self._compiled = compile_seconds()

    def _count(self, rows: pa.Table) -> None:
        self._rows += len(rows)
        self._reached += pc.sum(rows["reached"]).as_py() or 0
        self._failed += pc.sum(pc.equal(rows["status"], "failed")).as_py() or 0

    def _cost(self, task: Task) -> float:
        return sum(self._costs.get(group.cell, 0.0) for group in task.groups)

    def add(self, task: Task, content: bytes) -> None:
        """Count a task that was made here."""
        self._made += self._cost(task)
        self._tasks_made += 1
        self._count(pq.read_table(pa.BufferReader(content), columns=["reached", "status"]))
        self.skip(task)

    def skip(self, task: Task) -> None:
        """Count a task that another process made."""
        self._left -= self._cost(task)
        self._done.add(task.name)

    def progress(self, seconds: float | None = None) -> Progress:
        """Where it stands now."""
        spent = time.perf_counter() - self._begun if seconds is None else seconds
        return Progress(
            name=self._study.name,
            tasks=len(self._plan.tasks),
            tasks_done=len(self._done),
            runs=self._study.runs,
            runs_done=self._rows,
            reached=self._reached,
            censored=self._rows - self._reached - self._failed,
            failed=self._failed,
            seconds=spent,
            seconds_left=self._seconds_left(spent),
        )

    def _seconds_left(self, spent: float) -> float:
        if self._made and len(self._done) == len(self._plan.tasks):
            return 0.0
        working = spent - (compile_seconds() - self._compiled)
        if not self._made or self._tasks_made < _LEAST_TASKS or working < _LEAST_SECONDS:
            return float("nan")
        pace = (working + _DOUBT_SECONDS) / (self._made + _DOUBT_SECONDS)
        return max(0.0, self._left) * pace
