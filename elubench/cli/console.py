"""What a study says on a terminal: what it will cost, how far it is, what came out."""

from __future__ import annotations

import math
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from elubench.studies import Progress, reading
from elubench.studies.costs import group_cost
from elubench.studies.plan import plan
from elubench.studies.spec import Cell, Spec
from elubench.studies.store import StoreWarning

_QUIET_SECONDS = 30.0  # between lines where there is no terminal
_FRAME_SECONDS = 0.2  # between updates of the bar


def described(spec: str | Path) -> str:
    """A study as it is written, followed by what it will take, as comments: still valid TOML."""
    text, title, folder = reading.source(spec)
    study = reading.parse(text, title, folder)
    return f"{text.rstrip()}\n\n" + "\n".join(f"# {line}" for line in estimate(study)) + "\n"


def estimate(study: Spec) -> list[str]:
    """Runs, samples, passes and time of every block and of the whole, roughly, on one core."""
    rows: list[tuple[str, ...]] = [("block", "runs", "samples", "passes", "time", "largest sample")]
    totals = [0, 0, 0.0, 0.0]
    for number, block in enumerate(study.blocks):
        cells = [cell for cell in study.cells() if cell.block == number]
        costs = [group_cost(block, cell) for cell in cells]
        samples = len(cells) * block.replicates
        counts = [
            samples * len(block.starts) * len(block.contestants),
            samples,
            block.replicates * sum(cost.passes for cost in costs),
            block.replicates * sum(cost.seconds for cost in costs),
        ]
        totals = [one + two for one, two in zip(totals, counts, strict=True)]
        rows.append((block.name, *_counts(counts), _memory(block.samples, cells)))
    rows.append(("all", *_counts(totals), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    table[-1] = table[-1].rstrip()
    count = len(plan(study).tasks)
    return [
        *table,
        f"{count} task{'s' if count > 1 else ''}; times are estimates for one core, good to a "
        "factor of two or three.",
    ]


def _counts(counts: list[Any]) -> list[str]:
    runs, samples, passes, seconds = counts
    return [f"{runs:,}", f"{samples:,}", f"{passes:.2g}", duration(seconds)]


def _memory(samples: str, cells: list[Cell]) -> str:
    if samples == "lattice":
        return "lattice"
    size = 8.0 * max(cell.n * cell.d for cell in cells)
    power = min(int(math.log10(size) / 3.0), 5)
    return f"{size / 1000.0**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"


def duration(seconds: float) -> str:
    """Seconds in the unit that a reader would choose."""
    if math.isnan(seconds):
        return "unknown time"
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    minutes = seconds / 60.0
    if minutes < 60.0:
        return f"{int(minutes)} min {int(seconds) % 60:02d} s"
    return f"{int(minutes / 60.0)} h {int(minutes) % 60:02d} min"


def summary(progress: Progress) -> str:
    """Where a study stands, for a reader."""
    left = progress.tasks - progress.tasks_done
    waiting = progress.runs - progress.runs_done
    lines = [
        f"study {progress.name}: {progress.runs_done:,} of {progress.runs:,} runs done"
        + (f", {waiting:,} left in {left:,} task{'s' if left > 1 else ''}" if left else ""),
        f"  reached the radius   {progress.reached:,}",
        f"  censored             {progress.censored:,}",
        f"  failed               {progress.failed:,}",
    ]
    return "\n".join(lines)


class Bar:
    """Progress on stderr: a bar on a terminal, elsewhere a line now and then."""

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
                self._line(f"resuming: {progress.runs_done:,} of {progress.runs:,} runs are there")
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
        """Draw a share and what there is to say about it, unless that was done just now."""
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
        """Leave the bar's line."""
        if self._terminal and self._wide:
            self._put("\n")
            self._wide = 0

    def _line(self, text: str) -> None:
        self._put(f"elubench: {text}\n")

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


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
