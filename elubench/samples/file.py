"""A sample in a file that may be larger than memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.kernels.region import one_thread, threads
from elubench.kernels.tiles import BLOCK_ROWS
from elubench.samples.chunked import (
    NO_WEIGHT,
    Chunk,
    ChunkedSample,
    Job,
    Progress,
    chunk_blocks,
)
from elubench.samples.converting import Paths, converted, shown, source_files
from elubench.samples.stored import NpyRows, StoredRows

_CHUNK_NUMBERS = 1 << 18  # 2 MB: rows are still in the cache when they are packed, and summed
_READERS = 1  # threads beyond those that compute, so that one can wait for the disk


class FileSample(ChunkedSample):
    """Rows in a file, or in several, that are read from disk in every pass.

    One column of 50,000 rows or more is condensed by ``fit`` and ``run``, which then read it once.

    A ``.npy`` file is read as it is. Parquet, text and several files are converted, once, to a packed
    file beside them (``.NAME.*.packed``), of eight bytes a number, which is used again until the source
    changes; a conversion that was interrupted is resumed. Each of a few threads reads, packs and sums a
    chunk of 2 MB at a time, and no more is in memory. Every sum has the bits that :class:`ArraySample`
    gives. The sample can be pickled; it opens the same files again.

    Parameters
    ----------
    path : a ``.npy``, ``.parquet``, ``.csv`` or ``.tsv`` file; a folder of such files; a pattern such as
        "data/part-*.parquet"; or a list of these. Files of a folder or a pattern are read in the order
        of their names.
    columns : names of the columns to read, by default all; those of ``.npy`` are "1", "2", ...
    weights : None, the name of a column, or an (n,) array-like.
    progress : called with what is being read, the rows done, and the rows in all.

    The numbers are judged in the first read: an error names the row and the column. A file that is
    written to while the sample is in use is an error.
    """

    def __init__(
        self,
        path: Paths,
        columns: Sequence[str] | None = None,
        weights: Any = None,
        progress: Progress | None = None,
    ):
        name = weights if isinstance(weights, str) else None
        if columns is not None:
            columns = [
                checks.text(one, "columns") for one in checks.items(columns, "columns", "names")
            ]
        files, kind = source_files(path)
        self._progress = progress
        self._source: StoredRows
        if len(files) == 1 and kind == ".npy":
            self._source = NpyRows(files[0], columns, name)
        else:
            self._source = converted(path, columns, name, progress)
        self.names = self._source.names
        self.n, self.d = self._source.n, len(self.names)
        if self.n < 2:
            raise ValueError(f"X must have at least 2 rows, got {self.n} in {shown(path)}")
        self._rows, self.path = self.n, path
        given = checks.weights(None if name else weights, self.n)
        self._weights = given
        self.weighted = self._source.weighted or given is not None
        self.chunk_rows = BLOCK_ROWS * chunk_blocks(self.d, _CHUNK_NUMBERS)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_progress": None}  # of this process

    def _each(self, job: Job, what: str) -> Iterator[tuple[int, Any]]:
        source, rows = self._source, self._rows
        starts = range(0, rows, self.chunk_rows)
        count = min(threads() + _READERS, len(starts))
        rooms = [source.room(min(self.chunk_rows, rows)) for _ in range(count)]

        def made(first: int) -> tuple[int, Any]:
            room = rooms.pop()
            try:
                chunk = source.load(first, min(first + self.chunk_rows, rows), room)
                source.file.check()  # changed while it was read: found before numbers are used
                chunk = self._weighed(chunk)
                with one_thread():
                    return chunk.exponent, job(chunk)
            finally:
                rooms.append(room)

        def report(done: int) -> None:
            if self._progress is not None:
                self._progress(what, done, rows)

        source.file.check()
        report(0)
        waiting: deque[Future[tuple[int, Any]]] = deque()
        with ThreadPoolExecutor(count) as pool:
            try:
                for number, first in enumerate(starts):
                    waiting.append(pool.submit(made, first))
                    if len(waiting) > 2 * count:
                        yield waiting.popleft().result()
                        report((number + 1 - len(waiting)) * self.chunk_rows)
                while waiting:
                    yield waiting.popleft().result()
                report(rows)
            except ValueError as error:
                raise ValueError(f"{shown(self.path)}: {error}") from error
            finally:
                for future in waiting:
                    future.cancel()

    def _weighed(self, chunk: Chunk) -> Chunk:
        """The chunk with weights that were given as an array."""
        if self._weights is None:
            return chunk
        tiles = chunk.tiles
        given = self._weights[chunk.first : chunk.first + tiles.rows]
        largest = float(given.max())
        exponent = math.frexp(largest)[1] if largest else NO_WEIGHT
        weights = np.zeros((len(tiles.data), tiles.data.shape[2]))
        weights.reshape(-1)[: tiles.rows] = np.ldexp(given, -exponent)
        return chunk._replace(tiles=tiles._replace(weights=weights), exponent=exponent)

    def _pieces(self, starts: Any, length: int) -> tuple[Floats, Floats | None]:
        rows = np.empty((len(starts), length, self.d))
        weights = np.empty((len(starts), length)) if self.weighted else None
        for place, start in enumerate(starts.tolist()):
            rows[place], own = self._source.rows(start, start + length)
            if weights is not None:
                given = self._weights
                weights[place] = own if given is None else given[start : start + length]
        self._source.file.check()
        return rows.reshape(-1, self.d), None if weights is None else weights.reshape(-1)
