"""Tables in Parquet and text, read piece by piece into a packed file beside them."""

from __future__ import annotations

import csv
import errno
import glob
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.samples import remedies
from elubench.samples.chunked import Progress
from elubench.samples.delimited import EXACT, encoding_of, first_row, has_decimal_commas
from elubench.samples.packed import PackedRows, Position, pack_file
from elubench.samples.reading import check_regular, npy_header, undamaged
from elubench.samples.stored import ChangedError, NpyRows, as_numbers, chosen

#: Types of files that are read in parts.
SUFFIXES = (".npy", ".parquet", ".csv", ".tsv")
_BATCH_ROWS = 1 << 17
_PIECE_BYTES = 1 << 24

#: Rows with weights in their last column; the position after them, or None where nobody can begin; and
#: the share of the source that is read.
_Pieces = Iterator[tuple[Floats, Position | None, float]]


#: A path of a file or a folder, a pattern, or several of these.
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def several(path: Paths) -> list[str | os.PathLike[str]]:
    """The paths that were given."""
    given: list[Any] = (
        [path]
        if isinstance(path, str | os.PathLike)
        else checks.items(path, "path", "paths, or one path")
    )
    for one in given:
        if not isinstance(one, str | os.PathLike):
            raise TypeError(f"path must be a list of paths, or one path, got {checks.brief(one)}")
        if "\0" in str(one):
            raise ValueError(f"path must not contain null characters, got {str(one)!r}")
    return given


def shown(path: Paths) -> str:
    """Paths in a message."""
    first, *others = several(path)
    return f"{first} and {len(others)} more" if others else str(first)


def source_files(path: Paths) -> tuple[list[Path], str]:
    """The files that paths stand for, those of a folder or a pattern by name; and their one suffix."""
    given = several(path)
    if not given:
        raise ValueError("path must name at least one file, got none")
    files = [file for one in given for file in _files(one)]
    kinds = {file.suffix.lower() for file in files}
    if len(kinds) > 1 or not kinds <= set(SUFFIXES):
        raise ValueError(
            f"{shown(path)}: files must all be of one type out of {', '.join(SUFFIXES)}, "
            f"got {', '.join(sorted(kinds))}"
        )
    return files, kinds.pop()


def _files(path: str | os.PathLike[str]) -> list[Path]:
    given = Path(path)
    if given.is_dir():
        found = [one for one in given.iterdir() if one.suffix.lower() in SUFFIXES]
    elif glob.has_magic(str(path)) and not given.exists():
        found = [Path(one) for one in glob.glob(str(path))]
    else:
        check_regular(given)
        return [given]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no .npy, .parquet, .csv or .tsv files", str(path))
    return sorted(found)


def converted(
    path: Paths,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    progress: Progress | None = None,
) -> PackedRows:
    """The rows of a table in several files, from a packed file that is made where there is none.

    It is used again as long as the source's files have the same sizes and times of change.
    """
    files, kind = source_files(path)
    states = _states(files)
    readers: dict[str, Any] = {".parquet": _Parquet, ".npy": _Npy}
    try:
        reader = readers.get(kind, _Text)(files, columns, weights)
    except ValueError as error:
        raise ValueError(f"{shown(path)}: {error}") from error
    source = {
        "files": states,
        "columns": reader.names,
        "weights": weights,
    }
    place = files[0].parent
    asked = [str(one) for one in several(path)], reader.names, weights
    digest = hashlib.sha256(repr(asked).encode()).hexdigest()[:8]
    stem = files[0].name if len(files) == 1 else f"{len(files)}-files"
    target = place / f".{stem}.{digest}.packed"

    def report(rows: int, share: float) -> None:
        if progress is not None:
            progress("converting", rows, max(rows, round(rows / max(share, 1e-9))))

    try:
        pack_file(target, source, reader.names, weights is not None, reader.pieces, report)
    except ValueError as error:
        raise ValueError(f"{shown(path)}: {error}") from error
    if _states(files) != states:
        target.unlink(missing_ok=True)
        raise ChangedError(None, "the file was changed while it was converted", shown(path))
    return PackedRows(target)


def _states(files: list[Path]) -> list[Any]:
    """Name, size and time of change of each, as JSON has them."""
    found = [(file, os.stat(file)) for file in files]
    return [[file.name, about.st_size, about.st_mtime_ns] for file, about in found]


class _Npy:
    """Arrays one after the other; a position is a file and a row of it."""

    def __init__(self, files: list[Path], columns: Sequence[str] | None, weights: str | None):
        self._files, self._options = files, (columns, weights)
        headers = [npy_header(file) for file in files]
        for file, header in zip(files, headers, strict=True):
            if header.shape[1] != headers[0].shape[1]:
                raise ValueError(f"{file.name} must have the columns of the first file")
        self._before = [0, *accumulate(header.shape[0] for header in headers)]
        self.names = NpyRows(files[0], columns, weights).names

    def pieces(self, position: Position | None) -> _Pieces:
        begin, row = position or [0, 0]
        for number in range(begin, len(self._files)):
            part = NpyRows(self._files[number], *self._options)
            for start in range(row, part.n, _BATCH_ROWS):
                stop = min(start + _BATCH_ROWS, part.n)
                rows, weights = part.rows(start, stop)
                if weights is not None:
                    rows = np.column_stack([rows, weights])
                yield rows, [number, stop], (self._before[number] + stop) / self._before[-1]
            row = 0


class _Parquet:
    """Row groups one after the other; a position is a file and a row group of it."""

    def __init__(self, files: list[Path], columns: Sequence[str] | None, weights: str | None):
        self._files = files
        self.names = chosen(_parquet(files[0]).schema_arrow.names, columns, weights)
        self._columns = [*self.names, *([] if weights is None else [weights])]
        counts = []
        for file in files:
            about = _parquet(file)
            for name in self._columns:
                _check_type(about.schema_arrow, name, file)
            counts.append(about.metadata.num_rows)
        self._before = [0, *accumulate(counts)]
        if not self._before[-1]:
            raise ValueError("there are no rows")

    def pieces(self, position: Position | None) -> _Pieces:
        begin, group = position or [0, 0]
        for number in range(begin, len(self._files)):
            file = _parquet(self._files[number])
            groups = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
            done = self._before[number] + sum(groups[:group])
            for k in range(group, len(groups)):
                end = done + groups[k]
                batches = file.iter_batches(_BATCH_ROWS, row_groups=[k], columns=self._columns)
                for batch in _each(batches):
                    rows = self._numbers(batch, done)
                    done += len(batch)
                    at = [number, k + 1] if done == end else None
                    yield rows, at, done / self._before[-1]
            group = 0

    def _numbers(self, batch: Any, first: int) -> Floats:
        parts = []
        for name in self._columns:
            column = batch.column(batch.schema.get_field_index(name))
            if column.null_count:
                row = first + int(
                    np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]
                )
                raise ValueError(f"column {name!r} has a missing value in row {row + 1:,}")
            parts.append(as_numbers(column.to_numpy(zero_copy_only=False)))
        return np.column_stack(parts)


def _parquet(file: Path) -> Any:
    import pyarrow.parquet as pq

    return undamaged(lambda: pq.ParquetFile(file))


def _each(batches: Iterator[Any]) -> Iterator[Any]:
    """Batches; a file that is damaged is a ValueError."""
    while (batch := undamaged(lambda: next(batches, None))) is not None:
        yield batch


def _check_type(schema: Any, name: str, file: Path) -> None:
    if name not in schema.names:
        raise ValueError(f"there is no column {name!r} in {file.name}")
    import pyarrow as pa

    kind = schema.field(name).type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise ValueError(f"column {name!r} is not numeric ({kind}); {remedies.COLUMNS}")


class _Text:
    """Lines one after the other; a position is a file, a byte of it, and the rows before it."""

    def __init__(self, files: list[Path], columns: Sequence[str] | None, weights: str | None):
        self._files = files
        for file in files:
            if encoding_of(file) != "utf-8-sig":
                raise ValueError(f"{file.name} must be in UTF-8 to be read in parts, got UTF-16")
        self._separator, self._headless, fields = first_row(files[0])
        every = [str(j + 1) for j in range(len(fields))] if self._headless else fields
        self._every, self.names = every, chosen(every, columns, weights)
        self._columns = [*self.names, *([] if weights is None else [weights])]
        self._sizes = [0, *accumulate(os.path.getsize(file) for file in files)]

    def pieces(self, position: Position | None) -> _Pieces:
        begin, at, rows_before = position or [0, 0, 0]
        for number in range(begin, len(self._files)):
            with open(self._files[number], "rb") as file:
                if at == 0:
                    self._check_header(number)
                    head = file.read(3)
                    file.seek(3 if head == b"\xef\xbb\xbf" else 0)
                    if not self._headless:
                        while not file.readline().strip():
                            pass
                else:
                    file.seek(at)
                while lines := file.read(_PIECE_BYTES):
                    lines += file.readline()
                    values = self._numbers(lines, rows_before)
                    rows_before += len(values)
                    at = file.tell()
                    share = (self._sizes[number] + at) / self._sizes[-1]
                    yield values, [number, at, rows_before], share
            at = 0

    def _check_header(self, number: int) -> None:
        separator, headless, fields = first_row(self._files[number])
        same = len(fields) == len(self._every) if headless else fields == self._every
        if (separator, headless) != (self._separator, self._headless) or not same:
            raise ValueError(f"{self._files[number].name} must have the columns of the first file")

    def _numbers(self, lines: bytes, first: int) -> Floats:
        def read(decimal: str) -> pd.DataFrame:
            return pd.read_csv(
                io.BytesIO(lines),
                sep=self._separator,
                header=None,
                names=self._every,
                index_col=False,
                skipinitialspace=True,
                decimal=decimal,
                encoding="utf-8",
                **EXACT,
            )

        if not lines.strip():
            return np.empty((0, len(self._columns)))
        self._check_fields(lines, first)
        frame = undamaged(lambda: read("."))
        if self._separator != "," and any(has_decimal_commas(frame[name]) for name in frame):
            frame = undamaged(lambda: read(","))
        parts = []
        for name in self._columns:
            column = frame[name]
            if not pd.api.types.is_numeric_dtype(column):
                numbers = pd.to_numeric(column, errors="coerce")
                row = int(np.argmax(numbers.isna() & column.notna()))
                raise ValueError(
                    f"column {name!r} is not numeric (row {first + row + 1:,} holds "
                    f"{column.iloc[row]!r}); {remedies.COLUMNS}"
                )
            if column.isna().any():
                row = first + int(np.flatnonzero(column.isna())[0])
                raise ValueError(f"column {name!r} has a missing value in row {row + 1:,}")
            parts.append(column.to_numpy(dtype=np.float64))
        return np.column_stack(parts)

    def _check_fields(self, lines: bytes, first: int) -> None:
        """Rows with too many fields, whose last ones pandas would drop; too few are missing values."""
        separator, wanted = self._separator.encode(), len(self._every)
        rows = [line for line in lines.splitlines() if line.strip()]
        quoted = b'"' in lines
        if not quoted and lines.count(separator) == len(rows) * (wanted - 1):
            return
        for number, line in enumerate(rows):
            fields = line.count(separator) + 1
            if quoted:
                text = line.decode(errors="replace")
                fields = len(next(csv.reader([text], delimiter=self._separator)))
            if fields != wanted:
                raise ValueError(
                    f"every row must have as many fields as the first, {wanted}, got {fields} in "
                    f"row {first + number + 1:,}"
                )
