"""Rows in a ``.npy`` file, by their numbers.

Files are read, not mapped into memory: reading beyond the end of a file that was cut off meanwhile is an
error, but touching such a page of a map ends the process.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from elubench.checks import Floats
from elubench.kernels.tiles import Tiles
from elubench.samples.chunked import Chunk, pack_chunk
from elubench.samples.reading import npy_header, places_of


class ChangedError(OSError):
    """A file that is not what it was when it was opened."""


class UnchangedFile:
    """A file that is open for reading, by any thread, and must stay as it is."""

    def __init__(self, path: Path):
        self.path = path
        self._number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._number)
        self._state = self._now()
        self.size = self._state[0]

    def _now(self) -> tuple[int, int]:
        found = os.fstat(self._number)
        return found.st_size, found.st_mtime_ns

    def check(self) -> None:
        """Raise ChangedError if the file was written to."""
        if self._now() != self._state:
            raise ChangedError(None, "the file was changed while it was read", str(self.path))

    def read_into(self, room: Any, offset: int) -> None:
        """Fill an array with what the file holds from there on."""
        left = memoryview(room).cast("B")
        while len(left):
            if hasattr(os, "preadv"):
                count = os.preadv(self._number, [left], offset)
            else:
                with open(self.path, "rb", buffering=0) as file:
                    file.seek(offset)
                    count = file.readinto(left)
            if not count:
                raise ChangedError(None, "the file was cut off while it was read", str(self.path))
            left, offset = left[count:], offset + count


class StoredRows(Protocol):
    """Rows of a file: n rows of named columns, and perhaps a column of weights."""

    n: int
    names: list[str]
    weighted: bool
    file: UnchangedFile

    def load(self, first: int, stop: int, room: Tiles) -> Chunk:
        """Rows packed into this room; ValueError names the first bad number."""

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats | None]:
        """Rows (m, d) and their weights, as they are, until the thread reads others."""


class NpyRows:
    """Some columns of the array in a ``.npy`` file; one of them may hold weights."""

    def __init__(self, path: Path, columns: Sequence[str] | None, weights: str | None):
        header = npy_header(path)
        self.file = UnchangedFile(path)
        (self.n, self._width), self._dtype = header.shape, header.dtype
        self._offset, self._by_columns = header.offset, header.by_columns
        if self._offset + self.n * self._width * self._dtype.itemsize > self.file.size:
            raise ValueError(f"{path}: the file is cut off: it is shorter than its header says")
        every = [str(j + 1) for j in range(self._width)]
        self.names = chosen(every, columns, weights)
        self.weighted = weights is not None
        self._own = threading.local()
        self._places = places_of([*self.names, *([] if weights is None else [weights])], every)

    def load(self, first: int, stop: int, room: Tiles) -> Chunk:
        return pack_chunk(*self.rows(first, stop), first, self.names, room)

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats | None]:
        numbers, d = self._numbers(start, stop), len(self.names)
        if not self.weighted:
            return numbers, None
        return np.ascontiguousarray(numbers[:, :d]), numbers[:, d].copy()

    def _numbers(self, start: int, stop: int) -> Floats:
        m, size = stop - start, self._dtype.itemsize
        if self._by_columns:
            raw = np.empty((len(self._places), m), dtype=self._dtype)
            for row, place in zip(raw, self._places, strict=True):
                self.file.read_into(row, self._offset + (place * self.n + start) * size)
            return as_numbers(raw.T)
        raw = self._room(m)
        self.file.read_into(raw, self._offset + start * self._width * size)
        every = self._places == list(range(self._width))
        return as_numbers(raw if every else raw[:, self._places])

    def _room(self, m: int) -> Any:
        """Memory for m rows that the thread uses again: that of a new array is cleared first."""
        room = getattr(self._own, "room", None)
        if room is None or len(room) < m:
            room = self._own.room = np.empty((m, self._width), dtype=self._dtype)
        return room[:m]


def as_numbers(raw: Any) -> Floats:
    """Numbers as contiguous float64; what is too large becomes infinite, and is found later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(raw, dtype=np.float64)


def chosen(every: Sequence[str], columns: Sequence[str] | None, weights: str | None) -> list[str]:
    """Names of the columns to fit: those asked for, or all but the weights."""
    asked = list(columns) if columns is not None else [name for name in every if name != weights]
    places_of([*asked, *([] if weights is None else [weights])], every)
    if not asked:
        raise ValueError("columns must name at least one column, got none")
    return asked
