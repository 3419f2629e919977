"""Where tasks run: ``local``, in this process, or ``dask``, on the workers of a cluster.

An engine is given tasks and yields each with the contents of its files, in any order. Rows differ
between engines in the columns of time and provenance only.

``local`` runs one task after the other with Numba's threads inside the pass, so a run has the machine
to itself. ``dask`` runs tasks side by side, one Numba thread each: their times are not comparable.
Workers on another kind of processor may round differently; on equal ones every bit is the same.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any, NamedTuple

import numba

from elubench import __version__, checks
from elubench.studies.performing import perform
from elubench.studies.plan import Task
from elubench.studies.spec import Spec
from elubench.studies.store import packed

ENGINES = ("local", "dask")
_RETRIES = 3
_PATIENCE = 30.0  # seconds to wait for a scheduler
_QUEUED_PER_WORKER = 8


class EngineError(ValueError):
    """An engine that cannot do what is asked of it."""


class WorkerLostError(EngineError):
    """Tasks on which workers died repeatedly."""


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
                raise ValueError(f"{option} must be None unless engine is 'dask', got {given!r}")
        if self.workers is not None:
            checks.integer(self.workers, "workers", 1)
            if self.scheduler is not None:
                raise ValueError(f"workers must be None with a scheduler, got {self.workers}")

    def results(self, spec: Spec, tasks: Iterable[Task], done: Done) -> Generator[Made, None, None]:
        """Each task with what it made, except those that another process has made."""
        return local(spec, tasks, done) if self.name == "local" else dask(self, spec, tasks, done)


def local(spec: Spec, tasks: Iterable[Task], done: Done) -> Generator[Made, None, None]:
    """One task after the other."""
    for task in tasks:
        if not done(task):
            yield Made(task, *_make(spec, task, "local", True))


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
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        return _make(spec, task, "dask", False)
    finally:
        numba.set_num_threads(before)


def dask(
    engine: Engine, spec: Spec, tasks: Iterable[Task], done: Done
) -> Generator[Made, None, None]:
    """Tasks on the cluster at the scheduler's address, or on processes of this machine.

    A worker that dies has its tasks run again elsewhere. The queue is kept short, so that what another
    process has made in the meantime is not computed again.
    """
    distributed = _distributed()
    lost: list[str] = []
    with _client(distributed, engine) as client:
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
        for future in running:
            task = asked.pop(future.key)
            try:
                rows, traces = future.result()
            except distributed.KilledWorker:
                lost.append(task.name)
            else:
                yield Made(task, rows, traces)
            ask()
    if lost:
        raise WorkerLostError(
            f"workers died repeatedly (too little memory?); {len(lost)} tasks are left, the first "
            f"being {lost[0]}; run the study again to retry them"
        )


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise EngineError(
            "the engine 'dask' needs Dask; install it with: pip install 'elubench[dask]'"
        ) from None
    return distributed


@contextmanager
def _client(distributed: Any, engine: Engine) -> Iterator[Any]:
    if engine.scheduler is not None:
        try:
            client = distributed.Client(engine.scheduler, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(f"no Dask scheduler answers at {engine.scheduler}: {error}") from None
        with client:
            yield client
        return
    one = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with ExitStack() as opened:
        with _ignored_by_children():
            cluster = opened.enter_context(
                distributed.LocalCluster(
                    n_workers=engine.workers or _cores(),
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                    env=one,
                )
            )
        yield opened.enter_context(distributed.Client(cluster, set_as_default=False))


@contextmanager
def _ignored_by_children() -> Iterator[None]:
    """Let threads and processes that start in here ignore Ctrl-C, which this one gets at the end.

    A terminal sends it to all of them, and a worker would print a traceback. Python's resource tracker
    unblocks the signal in the thread that starts it, so it is started first.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
