"""Rows in a ``.npy`` file, by their numbers.

Files are read, not mapped into memory: reading beyond the end of a file that was cut off meanwhile is an
error, but touching such a page of a map ends the process.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from elubench.checks import Floats
from elubench.kernels.tiles import Tiles, empty_tiles
from elubench.samples.chunked import Chunk, pack_chunk
from elubench.samples.reading import npy_header, places_of


class ChangedError(OSError):
    """A file that is not what it was when it was opened."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"  # no system call failed, so there is no errno


class UnchangedFile:
    """A file that is open for reading, by any thread, and must stay as it is."""

    def __init__(self, path: Path):
        self.path = path
        self._number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._number)
        self._state = self._now()
        self.size = self._state[0]

    def __reduce__(self) -> Any:
        return _opened_again, (self.path, self._state)

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


def _opened_again(path: Path, state: tuple[int, int]) -> UnchangedFile:
    """The file in another process; ChangedError if it is not what it was in the first."""
    file = UnchangedFile(path)
    file._state = state
    file.check()
    return file


class StoredRows(Protocol):
    """Rows of a file: n rows of named columns, and perhaps a column of weights."""

    n: int
    names: list[str]
    weighted: bool
    file: UnchangedFile

    def room(self, rows: int) -> Any:
        """Memory to load so many rows into, again and again: that of a new array is cleared first."""

    def load(self, first: int, stop: int, room: Any) -> Chunk:
        """Rows packed into a room; ValueError names the first bad number."""

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats | None]:
        """Rows (m, d) and their weights, as they are."""


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
        self._places = places_of([*self.names, *([] if weights is None else [weights])], every)

    def room(self, rows: int) -> tuple[Any, Tiles]:
        raw = self._raw(0 if self._by_columns else rows)
        return raw, empty_tiles(rows, len(self.names), self.weighted)

    def load(self, first: int, stop: int, room: tuple[Any, Tiles]) -> Chunk:
        raw, tiles = room
        return pack_chunk(*self._split(first, stop, raw), first, self.names, tiles)

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats | None]:
        return self._split(start, stop, self._raw(0 if self._by_columns else stop - start))

    def _raw(self, rows: int) -> Any:
        return np.empty((rows, self._width), dtype=self._dtype)

    def _split(self, start: int, stop: int, raw: Any) -> tuple[Floats, Floats | None]:
        numbers, d = self._numbers(start, stop, raw), len(self.names)
        if not self.weighted:
            return numbers, None
        return np.ascontiguousarray(numbers[:, :d]), numbers[:, d].copy()

    def _numbers(self, start: int, stop: int, raw: Any) -> Floats:
        m, size = stop - start, self._dtype.itemsize
        if self._by_columns:
            columns = np.empty((len(self._places), m), dtype=self._dtype)
            for row, place in zip(columns, self._places, strict=True):
                self.file.read_into(row, self._offset + (place * self.n + start) * size)
            return as_numbers(columns.T)
        self.file.read_into(raw[:m], self._offset + start * self._width * size)
        every = self._places == list(range(self._width))
        return as_numbers(raw[:m] if every else raw[:m, self._places])


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
