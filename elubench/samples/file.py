"""A sample in a file that may be larger than memory."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.kernels.region import threads
from elubench.kernels.tiles import BLOCK_ROWS, empty_tiles
from elubench.samples.chunked import (
    NO_WEIGHT,
    Chunk,
    ChunkedSample,
    Job,
    Progress,
    chunk_blocks,
)
from elubench.samples.converting import converted, source_files
from elubench.samples.stored import NpyRows, StoredRows

_CHUNK_NUMBERS = 1 << 21  # 16 MB
_AHEAD = 2  # chunks that are read, and packed, while another is summed


class FileSample(ChunkedSample):
    """Rows in a file, or in several, that are read from disk in every pass.

    A ``.npy`` file is read as it is, and packed chunk by chunk. Parquet and text are converted, once, to
    a packed file beside them (``.NAME.*.packed``), of eight bytes a number, which is used again until
    the source changes; a conversion that was interrupted is resumed. Threads read ahead, and a few
    chunks of 16 MB are all that is in memory. Every sum has the bits that :class:`ArraySample` gives.

    Parameters
    ----------
    path : a ``.npy`` file; or a ``.parquet``, ``.csv`` or ``.tsv`` file, a folder of such files, or a
        pattern such as "data/part-*.parquet". Several files are read in the order of their names.
    columns : names of the columns to read, by default all; those of ``.npy`` are "1", "2", ...
    weights : None, the name of a column, or an (n,) array-like.
    progress : called with what is being read, the rows done, and the rows in all.

    The numbers are judged in the first read: an error names the row and the column. A file that is
    written to while the sample is in use is an error.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str] | None = None,
        weights: Any = None,
        progress: Progress | None = None,
    ):
        name = weights if isinstance(weights, str) else None
        files = source_files(path)
        self._progress = progress or (lambda *_: None)
        self._source: StoredRows
        if len(files) == 1 and files[0].suffix.lower() == ".npy":
            self._source = NpyRows(Path(files[0]), columns, name)
        else:
            self._source = converted(path, columns, name, progress)
        self.names = self._source.names
        self.n, self.d = self._source.n, len(self.names)
        if self.n < 2:
            raise ValueError(f"X must have at least 2 rows, got {self.n} in {path}")
        self._rows, self.path = self.n, path
        given = checks.weights(None if name else weights, self.n)
        self._weights = given
        self.weighted = self._source.weighted or given is not None
        self.chunk_rows = BLOCK_ROWS * chunk_blocks(self.d, _CHUNK_NUMBERS)

    def _each(self, job: Job, what: str) -> Iterator[tuple[int, Any]]:
        source, rows = self._source, self._rows
        starts = range(0, rows, self.chunk_rows)
        ahead = min(_AHEAD, threads() + 1, len(starts))
        rooms = [
            empty_tiles(min(self.chunk_rows, rows), self.d, source.weighted)
            for _ in range(ahead + 1)
        ]
        source.file.check()
        self._progress(what, 0, rows)
        with ThreadPoolExecutor(ahead) as pool:
            waiting: deque[tuple[Future[Chunk], Any]] = deque()
            upcoming = iter(starts)

            def read_ahead() -> None:
                for first in upcoming:
                    room, stop = rooms.pop(), min(first + self.chunk_rows, rows)
                    waiting.append((pool.submit(source.load, first, stop, room), room))
                    if not rooms:
                        return

            try:
                read_ahead()
                while waiting:
                    future, room = waiting.popleft()
                    chunk = self._weighed(future.result())
                    # changed while it was read: found before the numbers are used
                    source.file.check()
                    yield chunk.exponent, job(chunk)
                    rooms.append(room)
                    read_ahead()
                    self._progress(what, min(chunk.first + self.chunk_rows, rows), rows)
            except ValueError as error:
                raise ValueError(f"{self.path}: {error}") from error
            finally:
                for future, _ in waiting:
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
