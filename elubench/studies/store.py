"""A study's folder. A task is done when its files are there and read back whole.

    study.json         the study in canonical form, its hash, outside code, and the cut into tasks
    study.toml         the study as it was written, for readers
    shards/NAME.parquet    rows of one task
    traces/NAME.parquet    traces of one task, written before its shard
    results.parquet    the rows of all shards seen so far, in one file that loads quickly
    set-aside/         files that are damaged or do not belong here

Every file is written under a temporary name in its own folder, flushed to disk and renamed, so it is
there as a whole or not at all, whenever a process is killed. There are no locks: two processes may work
in one folder; at worst they compute the same rows twice. Nothing is pickled.
"""

from __future__ import annotations

import io
import json
import os
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elubench.studies.whole import TEMPORARY
from elubench.studies.whole import write_whole as write_whole

FORMAT = 2  # of the folder and its columns
_ABANDONED_SECONDS = 600.0  # the writer of an older temporary file is gone
_READERS = 4


class StoreError(ValueError):
    """A folder that does not fit what is asked of it."""


class StoreWarning(UserWarning):
    """Something in a study's folder is damaged, and was left out or set aside."""


def parquet(table: pa.Table, **labels: str) -> bytes:
    """A table as a Parquet file with labels and checksums."""
    known = {f"elubench_{key}": value for key, value in labels.items()}
    texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
    out = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(known),
        out,
        compression="snappy",  # zstd reads three times slower when files are small
        use_dictionary=texts,
        write_statistics=False,
        write_page_checksum=True,
    )
    return out.getvalue()


def _read(path: Path, schema: pa.Schema, **labels: str) -> tuple[pa.Table, dict[str, str]]:
    """A table and its labels from a file that :func:`parquet` wrote; ValueError for any other."""
    try:
        content = path.read_bytes()
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"cannot be read ({_first_line(error)})") from None
    found = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    for key, value in labels.items():
        if found.get(f"elubench_{key}") != value:
            raise ValueError(f"is not of this study ({key} differs)")
    plain = table.replace_schema_metadata(None)
    if not plain.schema.equals(schema):
        raise ValueError("has other columns than this version of elubench writes")
    return plain, found


class Store:
    """A study's folder, opened for a study with the given hash; ``traced`` tasks have traces, too."""

    def __init__(
        self,
        folder: Path,
        hash: str,
        schema: pa.Schema,
        trace_schema: pa.Schema,
        traced: Iterable[str] = (),
    ):
        self.folder = folder
        self.hash = hash
        self._schema = schema
        self._trace_schema = trace_schema
        self._traced = frozenset(traced)
        self._whole: dict[str, list[int]] = {}  # traces that were read: their sizes and times

    # The study itself.

    @staticmethod
    def description(folder: Path) -> dict[str, Any] | None:
        """The content of study.json, or None if there is none."""
        path = folder / "study.json"
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            found = json.loads(content)
            if found["format"] != FORMAT:
                raise StoreError(
                    f"{path} is of format {found['format']}; this version of elubench reads {FORMAT}"
                )
            {key: found[key] for key in ("hash", "spec", "bounds", "name", "elubench")}
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, StoreError):
                raise
            raise StoreError(f"{path} is not the description of a study") from None
        return dict(found)

    @staticmethod
    def create(folder: Path, description: dict[str, Any], text: str | None) -> None:
        """Make the folder and its study.json; if another process was faster, its file stays."""
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"{folder} is a file; a study needs a folder")
        # of another process at the same stage
        ours = {"shards", "traces", "study.toml", "study.json"}
        if folder.is_dir() and any(
            not name.startswith(TEMPORARY) and name not in ours for name in os.listdir(folder)
        ):
            raise StoreError(f"{folder} has files in it but no study; choose an empty folder")
        with _disk(folder):
            for part in ("shards", "traces"):
                (folder / part).mkdir(parents=True, exist_ok=True)
            if text is not None:
                write_whole(folder / "study.toml", text.encode())
            content = json.dumps({"format": FORMAT, **description}, indent=1).encode()
            write_whole(folder / "study.json", content, keep=True)

    # Shards.

    def _path(self, task: str, part: str = "shards") -> Path:
        return self.folder / part / f"{task}.parquet"

    def has(self, task: str) -> bool:
        """Whether the task's files are there."""
        parts = ("shards", "traces") if task in self._traced else ("shards",)
        return all(self._path(task, part).exists() for part in parts)

    def put(self, task: str, rows: bytes, traces: bytes | None) -> None:
        """Write the files of a task."""
        with _disk(self.folder):
            if traces is not None:
                write_whole(self._path(task, "traces"), traces)
            write_whole(self._path(task), rows)

    def contents(self, task: str) -> tuple[bytes, bytes | None]:
        """The contents of a task's files."""
        traced = task in self._traced
        return self._path(task).read_bytes(), (
            self._path(task, "traces").read_bytes() if traced else None
        )

    def check(self, expected: dict[str, int], repair: bool) -> tuple[pa.Table, set[str]]:
        """The tasks that are done, and their rows.

        ``expected`` has the number of rows of every task. A file that cannot be read or is not of this
        study is left out with a warning; with ``repair`` it is set aside and will be computed again.
        So is a task without its traces.
        """
        if repair:
            self._sweep()
        present = self._present("shards", repair)
        missing = self._without_traces(present, repair)
        if missing and repair:
            warnings.warn(
                f"{self.folder / 'traces'} has lost the traces of {len(missing):,} tasks; they are "
                "computed again",
                StoreWarning,
                stacklevel=2,
            )
        for task in missing:
            del present[task]
        return self._rows(present, expected, repair)

    def rows(self, expected: dict[str, int]) -> pa.Table:
        """All rows, also of tasks that have lost their traces."""
        return self._rows(self._present("shards", False), expected, False)[0]

    def _rows(
        self, present: dict[str, list[int]], expected: dict[str, int], repair: bool
    ) -> tuple[pa.Table, set[str]]:
        kept, table = self._consolidated()
        if any(present.get(task) != state for task, state in kept.items()):
            # a shard changed or is gone: read them all
            kept, table = {}, self._schema.empty_table()
        fresh = sorted(task for task in present if task not in kept)
        tables, done = [table], set(kept)
        for task, found in self._tables(fresh, expected, repair):
            if found is not None:
                tables.append(found)
                done.add(task)
        rows = pa.concat_tables(tables)
        if fresh and len(done) > len(kept):
            self._consolidate(rows, {task: present[task] for task in done})
        return rows, done

    def _tables(
        self, tasks: list[str], expected: dict[str, int], repair: bool
    ) -> Iterator[tuple[str, pa.Table | None]]:
        def read(task: str) -> pa.Table | str | None:
            if task not in expected:
                return "is not a task of this study"
            try:
                table, _ = _read(self._path(task), self._schema, study=self.hash, task=task)
            except FileNotFoundError:
                return None
            except ValueError as error:
                return str(error)
            if len(table) != expected[task]:
                return f"has {len(table)} rows, expected {expected[task]}"
            return table

        with ThreadPoolExecutor(_READERS) as pool:
            for task, found in zip(tasks, pool.map(read, tasks), strict=True):
                if isinstance(found, str):
                    self._reject(self._path(task), found, repair)
                    found = None
                yield task, found

    def _without_traces(self, tasks: Iterable[str], repair: bool) -> list[str]:
        """Those that should have traces and do not; with ``repair`` damaged ones are set aside."""
        there = self._present("traces", False)
        missing = []
        for task in sorted(self._traced.intersection(tasks)):
            state = there.get(task)
            if state is not None and repair and self._whole.get(task) != state:
                path = self._path(task, "traces")
                try:
                    _read(path, self._trace_schema, study=self.hash, task=task)
                    self._whole[task] = state
                except FileNotFoundError:
                    state = None
                except ValueError as error:
                    self._reject(path, str(error), repair)
                    state = None
            if state is None:
                missing.append(task)
        return missing

    def _present(self, part: str, repair: bool) -> dict[str, list[int]]:
        """Size and time of every shard, or file of traces, by task."""
        found = {}
        with suppress(FileNotFoundError), os.scandir(self.folder / part) as entries:
            for entry in entries:
                if entry.name.startswith(TEMPORARY):
                    continue
                if not entry.name.endswith(".parquet") or not entry.is_file():
                    if part == "shards":
                        self._reject(Path(entry.path), "is not a shard", repair)
                    continue
                with suppress(FileNotFoundError):
                    state = entry.stat()
                    task = entry.name.removesuffix(".parquet")
                    found[task] = [state.st_size, state.st_mtime_ns]
        return found

    def traces(self) -> pa.Table:
        """The traces of the tasks that are done; a warning for those that are lost."""
        tables = [self._trace_schema.empty_table()]
        for task in sorted(self._traced.intersection(self._present("shards", False))):
            path = self._path(task, "traces")
            try:
                tables.append(_read(path, self._trace_schema, study=self.hash, task=task)[0])
            except FileNotFoundError:
                self._reject(path, "is gone", repair=False)
            except ValueError as error:
                self._reject(path, str(error), repair=False)
        return pa.concat_tables(tables)

    def remove(self, tasks: Iterable[str]) -> None:
        """Remove the shards of these tasks, so that they are computed again."""
        for task in tasks:
            self._path(task).unlink(missing_ok=True)

    # The one file that loads quickly. It is a copy; without it the next load is slower.

    def _consolidated(self) -> tuple[dict[str, list[int]], pa.Table]:
        path = self.folder / "results.parquet"
        try:
            table, labels = _read(path, self._schema, study=self.hash)
            return dict(json.loads(labels["elubench_shards"])), table
        except (ValueError, KeyError, TypeError, OSError):
            return {}, self._schema.empty_table()

    def _consolidate(self, rows: pa.Table, shards: dict[str, list[int]]) -> None:
        content = parquet(rows, study=self.hash, shards=json.dumps(shards))
        with suppress(OSError):
            write_whole(self.folder / "results.parquet", content)

    # Housekeeping.

    def _reject(self, path: Path, why: str, repair: bool) -> None:
        if not repair:
            warnings.warn(
                f"{path} {why}; it is left out until the study is run again",
                StoreWarning,
                stacklevel=2,
            )
            return
        place = self.folder / "set-aside"
        with suppress(FileNotFoundError):  # another process was faster
            place.mkdir(exist_ok=True)
            target = place / f"{path.name}.{uuid.uuid4().hex[:8]}"
            path.rename(target)
            warnings.warn(f"{path} {why}; it was moved to {target}", StoreWarning, stacklevel=2)

    def _sweep(self) -> None:
        """Remove the temporary files of killed processes."""
        for part in (self.folder, self.folder / "shards", self.folder / "traces"):
            with suppress(FileNotFoundError), os.scandir(part) as entries:
                for entry in entries:
                    if entry.name.startswith(TEMPORARY):
                        with suppress(OSError):
                            if time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS:
                                os.unlink(entry.path)


def packed(
    hash: str, task: str, rows: pa.Table, traces: pa.Table | None
) -> tuple[bytes, bytes | None]:
    """A task's tables as the contents of its files."""
    labels = {"study": hash, "task": task}
    return parquet(rows, **labels), None if traces is None else parquet(traces, **labels)


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            error.errno,
            f"cannot write to the study's folder ({reason}). Finished tasks are kept; make room, and "
            "run the study again to resume it",
            str(folder),
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:120]
