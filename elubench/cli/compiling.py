"""A line on stderr while kernels are compiled, which happens once per machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from elubench.cli.progress import Bar
from elubench.kernels._jit import listening
from elubench.text import duration

_PATIENCE = 0.5  # seconds of compiling before anything is said

MESSAGE = "elubench: compiling kernels, once per machine"


class Line:
    """What has been compiled: a line that is rewritten on a terminal, and one line elsewhere."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self.kernels, self.seconds = 0, 0.0
        self._shown = False

    def __call__(self, seconds: float) -> None:
        """One more kernel was compiled."""
        self.kernels += 1
        self.seconds += seconds
        if self.seconds > _PATIENCE:
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
        if self._terminal and self._shown:
            print(f", {duration(self.seconds)}", file=self._stream, flush=True)


@contextmanager
def compiling_said(bar: Bar) -> Iterator[None]:
    """Within the block, say once that compiling takes a while, on a line clear of the bar."""
    spent = 0.0

    def heard(seconds: float) -> None:
        nonlocal spent
        before, spent = spent, spent + seconds
        if before <= _PATIENCE < spent:
            bar.close()
            print(MESSAGE, file=sys.stderr, flush=True)

    with listening(heard):
        yield


@contextmanager
def compiling_shown() -> Iterator[Line]:
    """Within the block, say so when compiling takes a while."""
    line = Line()
    try:
        with listening(line):
            yield line
    finally:
        line.close()
