"""A sample on a Dask cluster: rows stay on the workers, and a pass is one round of small messages."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elubench import __version__
from elubench.checks import Floats
from elubench.kernels.region import one_thread
from elubench.kernels.tiles import BLOCK_ROWS, Tiles, aligned
from elubench.samples import cluster
from elubench.samples.chunked import (
    Chunk,
    ChunkedSample,
    Job,
    Progress,
    chunk_blocks,
    pack_chunk,
)
from elubench.samples.cluster import EngineError
from elubench.samples.converting import source_files
from elubench.samples.delimited import EXACT, first_row
from elubench.samples.reading import npy_header
from elubench.samples.stored import NpyRows, as_numbers, chosen

_MOST_NUMBERS = 1 << 27  # in a chunk: 1 GB
_PER_THREAD = 2  # chunks at least, so that threads have about the same work
_MANY_PER_THREAD = 32
_BUNDLE_NUMBERS = 1 << 30  # in the chunks of a task, at most: about a second of work
_THEN = "the data are still where they were: run it again"


class RepartitionWarning(UserWarning):
    """Partitions that are not whole chunks: rows move between workers, once."""


class DaskSample(ChunkedSample):
    """Rows of a Dask collection, or of files that the workers of a cluster can read.

    Each chunk of rows is packed on a worker and stays there, as the result of a task that the client
    holds on to. In a pass every thread of a worker sums its chunks; directions go there, sums come back.
    Dask's actors would save the scheduler's part of a round, a few milliseconds, but an actor is lost
    with its worker. Results of tasks are not: Dask computes them again, on another worker, from the
    collection. So a worker that dies costs time and changes nothing. Every sum has the bits that
    :class:`ArraySample` gives, for any number of workers and any partitions.

    Parameters
    ----------
    collection : a Dask array (n, d) or DataFrame; or the path of files, as for :class:`FileSample`, or
        a list of such paths. A DataFrame, Parquet and text are read twice, first to count the rows.
    weights : None, the name of a column, or a Dask array (n,).
    columns : names of the columns to read, by default all; those of arrays are "1", "2", ...
    client : of the cluster. By default Dask's current one, or else threads of this process.
    progress : called with what is being done, the rows done, and the rows in all.

    Partitions that are not made up of whole blocks of 4096 rows are repartitioned, with a
    :class:`RepartitionWarning`.
    """

    def __init__(
        self,
        collection: Any,
        weights: Any = None,
        columns: Sequence[str] | None = None,
        client: Any = None,
        progress: Progress | None = None,
    ):
        self._client = cluster.client_here() if client is None else client
        scheduler = self._client.scheduler
        self._where = str(scheduler.address) if scheduler else "its address"
        self._progress = progress or (lambda *_: None)
        with self._connected(), self._client.as_current():
            threads = self._threads()
            array, row_weights, self.names = _arrays(collection, columns, weights, threads)
            self.n, self.d = (int(size) for size in array.shape)
            if self.n < 2:
                raise ValueError(f"X must have at least 2 rows, got {self.n}")
            self._rows, self.weighted = self.n, row_weights is not None
            self.chunk_rows = self._choose_rows(array.chunks[0], threads)
            self._groups, self._bundles = self._bundled(self._packed(array, row_weights))

    def close(self) -> None:
        """Release the rows."""
        self._bundles = []

    def __enter__(self) -> DaskSample:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connected(self) -> Any:
        return cluster.connected(self._client, self._where, _THEN)

    def _threads(self) -> int:
        """Threads of all workers, once there are any."""
        try:
            self._client.wait_for_workers(1, timeout=cluster.PATIENCE)
        except TimeoutError:
            raise EngineError(f"there is no Dask worker at {self._where}") from None
        return max(1, sum(self._client.nthreads().values()))

    def _choose_rows(self, partitions: tuple[int, ...], threads: int) -> int:
        """Rows of a chunk: such that no rows move, if this gives neither few chunks nor many."""
        wanted = _wanted_rows(self.n, self.d, threads)
        rows, least = wanted, BLOCK_ROWS * chunk_blocks(self.d, 0)
        while rows >= least:
            still = all(size % rows == 0 for size in partitions[:-1])
            if still and self.n <= rows * _MANY_PER_THREAD * threads:
                return rows
            rows //= 2
        whole = all(end % wanted == 0 for end in np.cumsum(partitions)[:-1])
        if not whole:
            warnings.warn(
                f"the partitions are not chunks of {wanted:,} rows; rows are moved between workers, "
                "once",
                RepartitionWarning,
                stacklevel=4,
            )
        return wanted

    def _packed(self, array: Any, weights: Any) -> list[Any]:
        """Futures of the chunks, once all of them are there."""
        delayed: Any = import_module("dask").delayed
        rows = self.chunk_rows
        parts = array.rechunk({0: rows, 1: -1}, method="tasks").to_delayed().ravel()
        own = [None] * len(parts)
        if weights is not None:
            own = weights.rechunk({0: rows}, method="tasks").to_delayed().ravel()
        pack = delayed(_pack, pure=False)
        made = [
            pack(part, weight, rows * place, self.names, __version__)
            for place, (part, weight) in enumerate(zip(parts, own, strict=True))
        ]
        futures = self._client.compute(made, optimize_graph=True)
        self._wait(futures, "packing")
        for future in futures:
            if future.status == "error":
                self._results([future])
        return list(futures)

    def _bundled(self, chunks: list[Any]) -> tuple[list[list[int]], list[Any]]:
        """Chunks that a task of a round takes together: their numbers, and the futures of all of them.

        A task costs milliseconds, which a chunk may take less than. So every thread has one bundle of
        the chunks that its worker has packed, or a few. Who has packed more than a fair share gives
        some away.
        """
        threads = self._client.nthreads()
        held = self._client.who_has(chunks)
        own: dict[str, list[int]] = {worker: [] for worker in threads}
        for number, future in enumerate(chunks):
            own.setdefault(next(iter(held.get(future.key, ())), ""), []).append(number)
        fair = -(-len(chunks) // max(1, sum(threads.values())))
        for needy in threads:
            for rich in own:
                while (
                    len(own[rich]) > fair * threads.get(rich, 0)
                    and len(own[needy]) < fair * threads[needy]
                ):
                    own[needy].append(own[rich].pop())
        groups, bundles = [], []
        for worker, numbers in own.items():
            least = -(-len(numbers) * self.chunk_rows * self.d // _BUNDLE_NUMBERS)
            count = max(least, threads.get(worker, 1))
            for group in (numbers[first::count] for first in range(min(count, len(numbers)))):
                some = [chunks[k] for k in group]
                place = {"workers": [worker], "allow_other_workers": True} if worker else {}
                bundles.append(self._client.submit(_bundle, some, pure=False, **place))
                groups.append(group)
        self._wait(bundles, "packing")
        return groups, bundles

    def _watch(self) -> cluster.Watch:
        return cluster.Watch(self._client, self._where, _THEN)

    def _wait(self, futures: list[Any], what: str) -> None:

        def report(done: int) -> None:
            self._progress(what, self._rows * done // len(futures), self._rows)

        cluster.wait_for(self._client, futures, self._watch(), report)

    def _results(self, futures: list[Any]) -> list[Any]:
        distributed = cluster.distributed()
        try:
            return cluster.gathered(self._client, futures, self._watch())
        except distributed.KilledWorker:
            raise EngineError(
                "Dask workers died repeatedly: too little memory? Use more workers, or a FileSample"
            ) from None

    def _each(self, job: Job, what: str) -> Iterator[tuple[int, Any]]:
        yield from self._round(dict.fromkeys(chain(*self._groups), job), what)

    def _round(self, jobs: dict[int, Job], what: str) -> list[tuple[int, Any]]:
        """What each job makes of the chunk of its number, with the chunk's exponent; by number."""
        if not self._bundles:
            raise ValueError("the sample is closed")
        with self._connected():
            asked = [[jobs.get(number) for number in group] for group in self._groups]
            futures = self._client.map(_apply, asked, self._bundles, pure=False)
            self._wait(futures, what)
            found = self._results(futures)
        made = dict(zip(chain(*self._groups), chain(*found), strict=True))
        return [made[number] for number in sorted(jobs)]

    def _pieces(self, starts: Any, length: int) -> tuple[Floats, Floats | None]:
        numbers = starts // self.chunk_rows
        jobs: dict[int, Job] = {
            k: partial(_take, starts=starts[numbers == k] - k * self.chunk_rows, length=length)
            for k in np.unique(numbers).tolist()
        }
        found = self._round(jobs, "looking")
        rows = np.concatenate([rows for _, (rows, _) in found])
        if not self.weighted:
            return rows, None
        return rows, np.concatenate([weights for _, (_, weights) in found])


def _wanted_rows(n: int, d: int, threads: int) -> int:
    """Rows of a chunk that gives every thread a few, none too large."""
    numbers = min(_MOST_NUMBERS, n * d // (_PER_THREAD * threads))
    return BLOCK_ROWS * chunk_blocks(d, numbers)


def _arrays(
    collection: Any, columns: Sequence[str] | None, weights: Any, threads: int
) -> tuple[Any, Any, list[str]]:
    """A Dask array (n, d) with known chunks, one of weights or None, and the names of the columns."""
    if isinstance(collection, str | os.PathLike | list | tuple):
        collection = _from_files(collection, threads)
    name = weights if isinstance(weights, str) else None
    if hasattr(collection, "dtypes"):
        every = [str(column) for column in collection.columns]
        collection = collection.rename(columns=dict(zip(collection.columns, every, strict=True)))
        names = chosen(every, columns, name)
        for one in [*names, *([] if name is None else [name])]:
            if getattr(collection.dtypes[one], "kind", "O") not in "fiub":
                raise ValueError(f"column {one!r} is not numeric ({collection.dtypes[one]})")
        # not lengths=True: Dask may count other partitions than those that it then reads
        array = collection[[*names, *([] if name is None else [name])]].to_dask_array()
        array.compute_chunk_sizes()
        own = None if name is None else array[:, -1]
        array = array[:, : len(names)]
    elif hasattr(collection, "chunks"):
        array = collection if collection.ndim == 2 else collection[:, None]
        if array.ndim != 2:
            raise ValueError(f"X must be a 2D array, got {array.ndim} dimensions")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"X must be an array of numbers, got dtype {array.dtype}")
        if np.isnan(array.shape[0]):
            array.compute_chunk_sizes()
        every = [str(j + 1) for j in range(array.shape[1])]
        names = chosen(every, columns, name)
        own = None if name is None else array[:, every.index(name)]
        if names != every:
            array = array[:, [every.index(one) for one in names]]
    else:
        kind = type(collection).__name__
        raise TypeError(f"collection must be a Dask array or DataFrame, or paths, got {kind}")
    if own is None and weights is not None:
        own = weights
        if getattr(own, "shape", None) != (array.shape[0],) or not hasattr(own, "rechunk"):
            raise ValueError(f"weights must be a column or a Dask array ({array.shape[0]},)")
    return array, own, names


def _from_files(paths: Any, threads: int) -> Any:
    """A collection of what is in the files."""
    files, kind = source_files(paths)
    if kind == ".npy":
        return _from_npy(files, threads)
    import dask.dataframe as frames

    named = [str(file) for file in files]
    if kind == ".parquet":
        return frames.read_parquet(named)
    separator, headless, fields = first_row(files[0])
    names: dict[str, Any] = {"header": 0}
    if headless:
        names = {"header": None, "names": [str(j + 1) for j in range(len(fields))]}
    return frames.read_csv(named, sep=separator, skipinitialspace=True, **EXACT, **names)


def _from_npy(files: list[Path], threads: int) -> Any:
    """An array whose partitions are chunks, each read from one file, or from several."""
    arrays: Any = import_module("dask.array")
    delayed: Any = import_module("dask").delayed
    shapes = [npy_header(file).shape for file in files]
    widths = {width for _, width in shapes}
    if len(widths) > 1:
        raise ValueError(f"files must have as many columns each, got {sorted(widths)}")
    ends = np.cumsum([n for n, _ in shapes]).tolist()
    n, width = ends[-1], shapes[0][1]
    step = _wanted_rows(n, width, threads)
    parts = []
    for start in range(0, n, step):
        stop = min(start + step, n)
        within = [
            (file, max(start - (end - rows), 0), min(stop - (end - rows), rows))
            for file, end, (rows, _) in zip(files, ends, shapes, strict=True)
            if start < end and end - rows < stop
        ]
        rows = delayed(_npy_rows)(within)
        parts.append(arrays.from_delayed(rows, (stop - start, width), np.float64))
    return arrays.concatenate(parts)


# On workers


def _npy_rows(within: list[tuple[Path, int, int]]) -> Floats:
    parts = [NpyRows(file, None, None).rows(start, stop)[0] for file, start, stop in within]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _pack(part: Any, weights: Any, first: int, names: list[str], version: str) -> Chunk:
    if version != __version__:
        raise EngineError(
            f"the worker has elubench {__version__}, this process {version}; they must be the same"
        )
    rows = _writable(as_numbers(part))
    return pack_chunk(rows, None if weights is None else as_numbers(weights), first, names)


def _bundle(chunks: list[Chunk]) -> list[Chunk]:
    """Chunks as kernels can read them."""
    return [chunk._replace(tiles=_writable_tiles(chunk.tiles)) for chunk in chunks]


def _apply(jobs: list[Job | None], chunks: list[Chunk]) -> list[tuple[int, Any] | None]:
    with one_thread():  # a worker runs as many tasks at a time as it has threads
        return [
            None if job is None else (chunk.exponent, job(chunk))
            for job, chunk in zip(jobs, _bundle(chunks), strict=True)
        ]


def _writable_tiles(tiles: Tiles) -> Tiles:
    return Tiles(_writable(tiles.data), _writable(tiles.weights), tiles.rows)


def _writable(array: Floats) -> Floats:
    """The array, or a copy of one that has come over the network: kernels take no other."""
    if array.flags.writeable:
        return array
    copy = aligned(array.size).reshape(array.shape)
    copy[:] = array
    return copy


def _take(chunk: Chunk, starts: Any, length: int) -> tuple[Floats, Floats | None]:
    """Rows from each of these numbers on, and their weights."""
    data, weights, _ = chunk.tiles
    at = (starts[:, None] + np.arange(length)).reshape(-1)
    rows = data[at // data.shape[2], :, at % data.shape[2]]
    return rows, np.ldexp(weights.reshape(-1)[at], chunk.exponent) if weights.size else None
