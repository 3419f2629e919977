"""Progress and warnings on stderr, clear of each other."""

from __future__ import annotations

import math
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from elubench.studies import Progress
from elubench.studies.store import StoreWarning
from elubench.text import duration, number

_QUIET_SECONDS = 30.0  # between lines where there is no terminal
_FRAME_SECONDS = 0.2  # between updates of the bar
_MOMENT = 1.0  # seconds for which no bar is needed


class Bar:
    """A bar on a terminal, an occasional line elsewhere."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream is not None and self._stream.isatty()
        self._shown = -math.inf
        self._begun: int | None = None
        self._wide = 0

    def __call__(self, progress: Progress) -> None:
        if self._stream is None:
            return
        if self._begun is None:
            self._begun = progress.tasks_done
            if self._begun and not progress.finished:
                self._line(f"resuming: {progress.runs_done:,} of {progress.runs:,} runs are done")
            if not self._terminal:
                self._shown = time.monotonic()
                return
        share = progress.runs_done / progress.runs
        text = (
            f"{share:4.0%}  {progress.runs_done:,}/{progress.runs:,} runs  "
            f"{progress.censored:,} censored  {progress.failed:,} failed  "
            f"{duration(progress.seconds_left)} left"
        )
        self.show(share, text, progress.finished)

    def show(self, share: float, text: str, finished: bool = False) -> None:
        """Draw a share and a text about it, unless that was done just now."""
        every = _FRAME_SECONDS if self._terminal else _QUIET_SECONDS
        if self._stream is None or (time.monotonic() - self._shown < every and not finished):
            return
        self._shown = time.monotonic()
        if self._terminal:
            room = shutil.get_terminal_size().columns - len(text) - 4
            if room >= 10:
                filled = int(share * min(room, 40))
                text = f"[{'#' * filled}{' ' * (min(room, 40) - filled)}] {text}"
            self._put("\r" + text.ljust(self._wide))
            self._wide = len(text)
        else:
            self._line(text)

    def close(self) -> None:
        """End the bar's line."""
        if self._terminal and self._wide:
            self._put("\n")
            self._wide = 0

    def _line(self, text: str) -> None:
        self._put(f"elubench: {text}\n")

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class RowsBar:
    """A bar for each read of the rows that takes longer than a moment."""

    def __init__(self, stream: TextIO | None = None):
        self._bar = Bar(stream)
        self._what, self._begun, self._before = "", 0.0, 0

    def __call__(self, what: str, done: int, rows: int) -> None:
        """Rows ``done`` of all ``rows`` in the read ``what``."""
        now = time.monotonic()
        if what != self._what or done <= self._before:
            self._what, self._begun, self._before = what, now, done
        spent = now - self._begun
        if spent < _MOMENT or done == self._before:
            return
        speed = (done - self._before) / spent
        left = duration((rows - done) / speed)
        text = f"{what}: {done / rows:4.0%}  {number(speed, 3)} rows/s  {left} left"
        self._bar.show(done / rows, text, done >= rows)

    def close(self) -> None:
        """End the bar's line."""
        self._bar.close()


@contextmanager
def plain_warnings(bar: Bar | None = None) -> Iterator[None]:
    """Show warnings as one line each, clear of the bar."""

    def show(message: Any, *_: Any, **__: Any) -> None:
        if bar is not None:
            bar.close()
        print(f"elubench: warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", StoreWarning)
        warnings.showwarning = show
        yield
