"""Where tasks run: ``local``, in this process, or ``dask``, on the workers of a cluster.

An engine is given tasks and yields each with the contents of its files, in any order. Rows differ
between engines in the columns of time and provenance only.

``local`` runs one task after the other with Numba's threads inside the pass, so a run has the machine
to itself. ``dask`` runs tasks side by side, one Numba thread each: their times are not comparable.
Workers on another kind of processor may round differently; on equal ones every bit is the same.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from elubench import __version__, checks
from elubench.kernels.region import one_thread
from elubench.samples import cluster
from elubench.samples.cluster import EngineError, client_at
from elubench.studies.performing import MachineError, perform
from elubench.studies.plan import Task
from elubench.studies.spec import Spec
from elubench.studies.store import packed

ENGINES = ("local", "dask")
_RETRIES = 3
_GLANCE = 0.01  # seconds between looks whether a task is done
_QUEUED_PER_WORKER = 8
_THEN = "finished tasks are kept. Run the study again to resume it"


class TasksLeftError(EngineError):
    """Tasks that failed for a reason outside of them; all others are done."""


class Made(NamedTuple):
    """A task and the contents of its files."""

    task: Task
    rows: bytes
    traces: bytes | None


#: Whether another process has made a task in the meantime.
Done = Callable[[Task], bool]


@dataclass(frozen=True)
class Engine:
    """An engine by name and, for "dask", a number of processes or the address of a scheduler."""

    name: str = "local"
    workers: int | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        checks.choice(self.name, "engine", ENGINES)
        for option in ("workers", "scheduler"):
            given = getattr(self, option)
            if given is not None and self.name != "dask":
                raise ValueError(
                    f"{option} must be None unless engine is 'dask', got {checks.brief(given)}"
                )
        if self.workers is not None:
            checks.integer(self.workers, "workers", 1)
            if self.scheduler is not None:
                raise ValueError(f"workers must be None with a scheduler, got {self.workers}")

    @property
    def where(self) -> str:
        """Where Dask's scheduler is."""
        return self.scheduler or "this machine"

    def results(self, spec: Spec, tasks: Iterable[Task], done: Done) -> Generator[Made, None, None]:
        """Each task with what it made, except those that another process has made."""
        return local(spec, tasks, done) if self.name == "local" else dask(self, spec, tasks, done)


def local(spec: Spec, tasks: Iterable[Task], done: Done) -> Generator[Made, None, None]:
    """One task after the other."""
    left: dict[str, str] = {}
    for task in tasks:
        if not done(task):
            try:
                made = Made(task, *_make(spec, task, "local", True))
            except MachineError as error:
                left[task.name] = str(error)
            else:
                yield made
    _refuse_to_end(left)


def _refuse_to_end(left: dict[str, str]) -> None:
    """Raise if there are tasks left, each with the reason."""
    if left:
        first, reason = next(iter(left.items()))
        count = f"{len(left):,} task{'s are' if len(left) > 1 else ' is'} left"
        raise TasksLeftError(
            f"{count}, the first being {first} ({reason}); run the study again to retry"
        )


def _make(spec: Spec, task: Task, engine: str, comparable: bool) -> tuple[bytes, bytes | None]:
    return packed(spec.hash, task.name, *perform(spec, task.groups, engine, comparable))


def _make_on_worker(spec: Spec, task: Task, version: str) -> tuple[bytes, bytes | None]:
    if version != __version__:
        raise EngineError(
            f"the worker has elubench {__version__}, this process {version}; they must be the same"
        )
    try:
        spec.import_outside()
    except ValueError as error:
        raise EngineError(f"a worker cannot import what the study names: {error}") from None
    with one_thread():
        return _make(spec, task, "dask", False)


def dask(
    engine: Engine, spec: Spec, tasks: Iterable[Task], done: Done
) -> Generator[Made, None, None]:
    """Tasks on the cluster at the scheduler's address, or on processes of this machine.

    A worker that dies has its tasks run again elsewhere. The queue is kept short, so that what another
    process has made in the meantime is not computed again.
    """
    distributed = cluster.distributed()
    left: dict[str, str] = {}
    with (
        distributed.utils.silence_logging_cmgr(logging.CRITICAL),
        client_at(engine.scheduler, engine.workers) as client,
        cluster.connected(client, engine.where, _THEN),
    ):
        waiting = iter(tasks)
        running = distributed.as_completed(loop=client.loop)
        asked: dict[str, Task] = {}

        def ask() -> bool:
            for task in waiting:
                if not done(task):
                    future = client.submit(
                        _make_on_worker, spec, task, __version__,
                        key=f"elubench-{spec.hash}-{task.name}", pure=False, retries=_RETRIES,
                    )  # fmt: skip
                    asked[future.key] = task
                    running.add(future)
                    return True
            return False

        cores = max(1, sum(client.nthreads().values()))
        for _ in range(_QUEUED_PER_WORKER * cores):
            if not ask():
                break
        watch = cluster.Watch(client, engine.where, _THEN)
        for future in _completed(running, watch):
            task = asked.pop(future.key)
            try:
                ((rows, traces),) = cluster.gathered(client, [future], watch)
            except distributed.KilledWorker:
                left[task.name] = "workers died repeatedly: too little memory?"
            except MachineError as error:
                left[task.name] = str(error)
            else:
                yield Made(task, rows, traces)
            ask()
    _refuse_to_end(left)


def _completed(running: Any, watch: cluster.Watch) -> Iterator[Any]:
    """Futures as they are done; EngineError where none will be, as there are no workers."""
    while not running.is_empty():
        if running.has_ready():
            yield next(running)
            watch.reset()
        else:
            time.sleep(_GLANCE)
            watch.look()
