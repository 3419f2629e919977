"""With threads or alone, whichever is quicker at the moment.

On a busy machine a pass in parallel waits for threads that have no core, for milliseconds; a pass over
a small sample alone takes some microseconds. Both give the same bits, so a run tries both on a few
passes and goes on with the quicker one, which the next runs begin with.
"""

from __future__ import annotations

import math
import time

#: Row-coordinates from which on a pass is long enough for threads to pay off in any case.
CERTAIN = 4_000_000

_AGAIN = 1.0  # seconds until both are tried again
_TRIALS = ((True, 2), (True, 8), (False, 8))  # with threads? how many passes? the first wakes them
_BETTER = 1.5  # how many times quicker one must be alone

_alone_until = -math.inf  # what the last run found


class Contest:
    """Decides for a run whether its next passes use threads."""

    def __init__(self, possible: bool, size: int) -> None:
        self._open = possible and size < CERTAIN
        self._seconds = {True: 0.0, False: 0.0}
        self._trial = 0
        self._until = _alone_until
        self.threads = possible
        if self._open and time.monotonic() < self._until:
            self._settle(threads=False)

    def passes(self, wanted: int) -> int:
        """How many passes to make before :meth:`judge`, at most ``wanted``."""
        if not self._open or self._trial == len(_TRIALS):
            return wanted
        return min(wanted, _TRIALS[self._trial][1])

    def judge(self, passes: int, seconds: float) -> None:
        """Take note of passes that were made, and decide on the next."""
        global _alone_until
        if not self._open:
            return
        if self._trial == len(_TRIALS):
            if time.monotonic() >= self._until:
                self._trial, self.threads = 0, True
            return
        self._seconds[self.threads] = seconds / max(passes, 1)
        self._trial += 1
        if self._trial < len(_TRIALS):
            self.threads = _TRIALS[self._trial][0]
            return
        self._until = time.monotonic() + _AGAIN
        alone = _BETTER * self._seconds[False] < self._seconds[True]
        _alone_until = self._until if alone else -math.inf
        self._settle(threads=not alone)

    def _settle(self, threads: bool) -> None:
        self._trial, self.threads = len(_TRIALS), threads
