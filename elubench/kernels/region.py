"""The parallel region: one thread of a process at a time, and none in a fork of it.

Some of Numba's threading layers abort the process when two threads enter a parallel region at once.
Whoever finds the door shut computes alone: same bits, no waiting, no abort.

A forked process has none of the threads of its parent, and GNU's OpenMP ends a process that asks for
them. So where Numba had started its threads before the fork, the child computes alone, too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba
from numba.np.ufunc import parallel


class Region:
    """A door that one thread at a time goes through, if there are threads behind it at all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.usable = True

    def locked(self) -> bool:
        """Whether a thread is inside."""
        return self._lock.locked()

    @contextmanager
    def entered(self, wanted: bool = True) -> Iterator[bool]:
        """Whether the block may run in parallel: if it wants to, and nobody is inside.

        The caller holds Ctrl-C back, which must not come between the lock and its release.
        """
        lock = self._lock
        inside = wanted and self.usable and lock.acquire(blocking=False)
        try:
            yield inside
        finally:
            if inside:
                lock.release()

    def forked(self) -> None:
        """In a child: a thread of the parent may hold the lock, and is not here to release it."""
        self._lock = threading.Lock()
        self.usable = self.usable and not getattr(parallel, "_is_initialized", True)


def threads() -> int:
    """How many threads to use, without starting Numba's."""
    if getattr(parallel, "_is_initialized", True):
        return int(numba.get_num_threads())
    return int(numba.config.NUMBA_NUM_THREADS)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let kernels that are called in here, by the calling thread, use no other."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


parallel_region = Region()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=parallel_region.forked)
