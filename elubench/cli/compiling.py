"""A line on stderr while kernels are compiled, which happens once per machine."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TextIO

from elubench.cli.progress import Bar
from elubench.kernels._jit import Listener, listening
from elubench.text import duration

_PATIENCE = 0.5  # seconds of compiling before anything is said; infinite for never

MESSAGE = "elubench: compiling kernels, once per machine"


class Wait(Listener):
    """Counts what is compiled, and calls ``say`` once that has taken a while: also within a kernel."""

    def __init__(self, say: Callable[[], None]):
        self.kernels, self.seconds = 0, 0.0
        self._say, self._said = say, False
        self._timer: Timer | None = None

    def begins(self) -> None:
        self.stop()
        if self._said or math.isinf(_PATIENCE):
            return
        timer = Timer(max(_PATIENCE - self.seconds, 0.0), self._over)
        timer.daemon = True
        with suppress(RuntimeError):  # there is no room for a thread, and no need of one
            timer.start()
            self._timer = timer

    def compiled(self, seconds: float) -> None:
        self.stop()
        self.kernels += 1
        self.seconds += seconds

    def stop(self) -> None:
        """Say nothing of the kernel that is being compiled, if nothing was said yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None

    def _over(self) -> None:
        self._said = True
        self._say()


class Line(Wait):
    """What has been compiled: a line that is rewritten on a terminal, and one line elsewhere.

    It counts kernels by itself, unless its owner shows another count.
    """

    def __init__(self, stream: TextIO | None = None, counting: bool = True):
        super().__init__(lambda: self.show(f"{self.kernels} done"))
        self._counting = counting
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._shown = False

    def compiled(self, seconds: float) -> None:
        super().compiled(seconds)
        if self._counting and self.seconds > _PATIENCE:
            self.show(f"{self.kernels} done")

    def show(self, state: str) -> None:
        """Say how far it is."""
        if self._terminal:
            print(f"\r{MESSAGE}: {state}", end="", file=self._stream, flush=True)
        elif not self._shown:
            print(MESSAGE, file=self._stream, flush=True)
        self._shown = True

    def close(self) -> None:
        """End the line, if there is one."""
        self.stop()
        if self._terminal and self._shown:
            print(f", {duration(self.seconds)}", file=self._stream, flush=True)


@contextmanager
def compiling_said(bar: Bar) -> Iterator[None]:
    """Within the block, say once that compiling takes a while, on a line clear of the bar."""

    def say() -> None:
        bar.close()
        print(MESSAGE, file=sys.stderr, flush=True)

    wait = Wait(say)
    try:
        with listening(wait):
            yield
    finally:
        wait.stop()


@contextmanager
def compiling_shown() -> Iterator[Line]:
    """Within the block, say so when compiling takes a while."""
    line = Line()
    try:
        with listening(line):
            yield line
    finally:
        line.close()
