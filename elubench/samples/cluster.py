"""A Dask cluster: one that runs already, or processes of this machine; and accidents said in a sentence.

Nobody waits for what will not come: without workers, or without the scheduler, there is an
:class:`EngineError` within :data:`PATIENCE` seconds.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from typing import Any

PATIENCE = 30.0  # seconds to wait for a scheduler, and for workers
_LOOK = 1.0  # seconds between looks whether there are workers
# Dask closes a local worker for good if it is not back 15 s after it died. On a busy machine it is not.
_KEEP_LOST = {"distributed.deploy.lost-worker-timeout": 1e6}
_here: Any = None  # the client of client_here


class EngineError(ValueError):
    """An engine that cannot do what is asked of it."""


def distributed() -> Any:
    """The module of this name; EngineError says how to install it."""
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
def client_at(scheduler: str | None, workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at this address, or of so many new processes of this machine."""
    dask = distributed()
    if scheduler is not None:
        try:
            client = dask.Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        with client:
            yield client
        return
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(
            1
        )  # a worker that runs the script it imports; the one who started it says so
    with ExitStack() as opened:
        opened.enter_context(import_module("dask.config").set(_KEEP_LOST))
        with _ignored_by_children():
            try:
                cluster = opened.enter_context(_local(dask, workers or _cores(), 1))
            except (RuntimeError, OSError) as error:
                reason = " ".join(str(error.__cause__ or error).split())
                raise EngineError(
                    f"the Dask workers did not start ({reason}); a script must start them under "
                    "if __name__ == '__main__', and each needs memory of its own"
                ) from None
        yield opened.enter_context(dask.Client(cluster, set_as_default=False))


def client_here() -> Any:
    """The current client, or one of a worker in this process, with as many threads as there are cores.

    Kernels release the interpreter's lock, so threads are as fast as processes; a script needs no guard,
    and rows are not copied. The worker is started once, and ends with the process.
    """
    global _here
    dask = distributed()
    try:
        return dask.get_client()
    except ValueError:
        pass
    if _here is None or _here.status != "running":
        opened = ExitStack()
        cluster = opened.enter_context(_local(dask, 1, _cores(), processes=False))
        _here = opened.enter_context(dask.Client(cluster, set_as_default=False))
        atexit.register(opened.close)
    return _here


@contextmanager
def connected(client: Any, where: str, then: str) -> Iterator[None]:
    """Say in a sentence that the scheduler is gone, for which Dask has several exceptions."""
    dask = distributed()
    gone = (dask.CancelledError, dask.comm.CommClosedError)
    try:
        yield
    except Exception as error:
        if isinstance(error, EngineError) or not (
            isinstance(error, gone) or client.status != "running"
        ):
            raise
        raise EngineError(
            f"the connection to the Dask scheduler at {where} was lost; {then}"
        ) from error


class Watch:
    """Looks now and then whether there are still workers to wait for."""

    def __init__(self, client: Any, where: str, then: str):
        self._client, self._where, self._then = client, where, then
        self._seen = self._looked = time.monotonic()

    def reset(self) -> None:
        """Something has come."""
        self._seen = self._looked = time.monotonic()

    def look(self) -> None:
        """Raise EngineError if there have been no workers for long."""
        now = time.monotonic()
        if now - self._looked <= _LOOK:
            return
        self._looked = now
        if self._client.nthreads():
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise EngineError(
                f"there has been no Dask worker at {self._where} for {PATIENCE:.0f} s; {self._then}"
            )


def wait_for(
    client: Any, futures: Sequence[Any], watch: Watch, report: Callable[[int], None]
) -> None:
    """Wait for all of the futures; ``report`` is told every second how many are done."""
    dask = distributed()
    while True:
        try:
            with client.as_current():
                dask.wait(futures, timeout=_LOOK)
        except (TimeoutError, dask.TimeoutError):
            if client.status != "running":
                raise dask.comm.CommClosedError("the client is closed") from None
            report(sum(future.done() for future in futures))
            watch.look()
        else:
            return


def gathered(client: Any, futures: Sequence[Any], watch: Watch) -> list[Any]:
    """What the futures, which are done, have made.

    If all workers die before it has been fetched, it is gone, and Dask would wait for new ones for ever.
    """
    fetching = client.gather(list(futures), asynchronous=True)
    made = asyncio.run_coroutine_threadsafe(fetching, client.loop.asyncio_loop)
    try:
        while True:
            try:
                found: list[Any] = made.result(timeout=_LOOK)
                return found
            except TimeoutError:
                if made.done():
                    raise
                watch.look()
    finally:
        made.cancel()


def _local(dask: Any, workers: int, threads: int, processes: bool = True) -> Any:
    """Workers on this machine that are processes, or threads of this one.

    Numba's threads are limited in every task. NUMBA_NUM_THREADS would not do: Dask sets it either too
    late, when a worker has imported the user's script and Numba with it, or in this process as well, and
    Numba refuses to compile where it has changed.
    """
    return dask.LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=processes,
        host="127.0.0.1" if processes else None,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


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
