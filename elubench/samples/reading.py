"""Tables from files: CSV, TSV, NumPy and Parquet, as an array of numbers with column names."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elubench.samples import remedies
from elubench.samples.delimited import is_number, read_text

#: File types that can be read.
SUFFIXES = (".csv", ".csv.gz", ".npy", ".parquet", ".tsv", ".tsv.gz")
_SHOWN = 5  # rows named in a message
_LEAST_INDEX = 3  # rows from which on 1, 2, ... looks like an index rather than like data


class Table(NamedTuple):
    """Values (n, d) and the names of the d columns; "1", "2", ... if the file has none.

    ``notes`` are sentences about columns that one would hardly want to fit, and about what was left
    out; ``weights`` (n,) come from a column of their own, and ``rows`` (n,) are numbers in the file.
    """

    values: Any
    names: list[str]
    notes: tuple[str, ...] = ()
    weights: Any = None
    rows: Any = None


class Wanted(NamedTuple):
    """What to read of a file: columns by name, by default all but that of the weights.

    Rows with missing values and columns of text are errors unless they are to be left out. ``decimal``
    is "." or ","; None finds it in the file.
    """

    columns: Sequence[str] | None = None
    weights: str | None = None
    decimal: str | None = None
    drop_missing: bool = False
    skip_text: bool = False


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    wanted: Wanted | None = None,
) -> Table:
    """Read the given columns, by default all; they must be numeric and complete."""
    path = Path(path)
    wanted = wanted or Wanted(columns)
    suffix = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else [path.suffix]).lower()
    check_regular(path)
    with open(path, "rb") as file:
        empty = not file.read(1)
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise ValueError(f"{path}: must be one of {known}, got {suffix or 'a file without suffix'}")
    if empty:
        raise ValueError(f"{path}: the file is empty")
    try:
        values, names, notes = _read(path, suffix, wanted)
        table = _complete(values, names, wanted)
        values = table.values
        return table._replace(notes=(*notes, *table.notes, *_suspicious(values, table.names)))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def check_regular(path: Path) -> None:
    """Raise OSError for a path that leads nowhere, ValueError for a pipe, which might never end."""
    kind = os.stat(path).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise ValueError(f"{path}: must be a regular file, got a pipe, socket or device")


def _read(path: Path, suffix: str, wanted: Wanted) -> tuple[Any, list[str], list[str]]:
    columns = wanted.columns
    if columns is not None:
        if len(set(columns)) < len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise ValueError(f"columns must be different, got {twice!r} more than once")
        if wanted.weights in columns:
            raise ValueError(f"column {wanted.weights!r} cannot be both fitted and the weights")
        columns = [*columns, *([] if wanted.weights is None else [wanted.weights])]
    if suffix == ".npy":
        return *_chosen_columns(_array(path), columns), []
    notes: list[str] = []
    if suffix == ".parquet":
        frame = undamaged(lambda: pd.read_parquet(path))
    else:
        frame, notes = read_text(path, wanted.decimal)
    frame.columns = pd.Index([str(name) for name in frame.columns])
    values, names, skipped = _chosen(frame, columns, wanted.skip_text)
    return values, names, notes + skipped


def _complete(values: Any, names: list[str], wanted: Wanted) -> Table:
    """The table with its weights apart; rows that lack a value are left out, or an error."""
    rows, notes = None, []
    if values.dtype.kind == "f":
        lacking = np.isnan(values)
        at = np.flatnonzero(lacking.any(axis=1))
        if at.size and not wanted.drop_missing:
            j = int(np.argmax(lacking.any(axis=0)))
            count = int(lacking[:, j].sum())
            shown = _numbered(np.flatnonzero(lacking[:, j]))
            raise ValueError(
                f"column {names[j]!r} has {count} missing value{'s' * (count > 1)} ({shown}); "
                f"{remedies.MISSING}"
            )
        if at.size:
            kept = np.delete(np.arange(len(values)), at)
            if not kept.size:
                raise ValueError("every row has a missing value")
            notes.append(
                f"{at.size:,} of {len(values):,} rows lack a value and were left out "
                f"({_numbered(at)})"
            )
            values, rows = values[kept], kept + 1
        if np.isinf(values).any():
            i, j = np.argwhere(np.isinf(values))[0]
            row = i + 1 if rows is None else rows[i]
            raise ValueError(f"column {names[j]!r} must be finite, got infinity in row {row:,}")
    if wanted.weights is None:
        return Table(values, names, tuple(notes), None, rows)
    (j,) = places_of([wanted.weights], names)
    others = [k for k in range(len(names)) if k != j]
    if not others:
        raise ValueError(f"there must be a column beside the weights, got {names[j]!r} alone")
    weights = np.asarray(values[:, j], dtype=np.float64)
    return Table(values[:, others], [names[k] for k in others], tuple(notes), weights, rows)


def _numbered(at: Any) -> str:
    """Rows counted from 1, the first few of them."""
    shown = ", ".join(str(row + 1) for row in at[:_SHOWN])
    return f"row{'s' * (len(at) > 1)} {shown}{', ...' * (len(at) > _SHOWN)}"


def undamaged(read: Callable[[], Any]) -> Any:
    """What a library reads from a file; whatever a damaged one makes it raise is a ValueError."""
    try:
        return read()
    except ImportError:  # the library itself is missing
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or "the library that reads it gives no reason"
        raise ValueError(f"the file cannot be read ({type(error).__name__}: {why})") from error


class NpyHeader(NamedTuple):
    """What a ``.npy`` file says of its array, which has two dimensions, and where that begins."""

    shape: tuple[int, int]
    dtype: Any
    by_columns: bool
    offset: int


def npy_header(path: Path) -> NpyHeader:
    """The header of a file, judged as :func:`read_table` does."""
    try:
        array = _array(path, mapped=True)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    return NpyHeader(array.shape, array.dtype, by_columns, array.offset)


def _array(path: Path, mapped: bool = False) -> Any:
    """The array in a file. A map is for its header: it kills to touch one of a file that was cut off."""
    values = undamaged(lambda: np.load(path, mmap_mode="r", allow_pickle=False))
    if not isinstance(values, np.ndarray):
        values.close()
        raise ValueError("the file must hold one array, got an .npz archive; save the array alone")
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(f"the array must have rows and columns, got shape {values.shape}")
    if len(values) == 0:
        raise ValueError("there are no rows")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"the array must hold numbers, got dtype {values.dtype}")
    return values if mapped else undamaged(lambda: np.load(path).reshape(values.shape))


def _chosen_columns(values: Any, columns: Sequence[str] | None) -> tuple[Any, list[str]]:
    names = [str(j + 1) for j in range(values.shape[1])]
    if columns is None:
        return values, names
    return values[:, places_of(columns, names)], list(columns)


def _suspicious(values: Any, names: Sequence[str]) -> list[str]:
    """A sentence for each column that counts the rows or never changes."""
    notes = []
    for column, name in zip(values.T, names, strict=True):
        n, first, last = len(column), float(column[0]), float(column[-1])
        if first == last and (column == first).all():
            notes.append(f"column {name!r} is constant: every value is {first:g}")
        numbered = n >= _LEAST_INDEX and first in (0.0, 1.0) and last == first + n - 1
        if numbered and (column == np.arange(first, first + n)).all():
            notes.append(
                f"column {name!r} numbers the rows from {first:.0f} to {last:.0f}, like an index; "
                f"{remedies.COLUMNS}"
            )
    return notes


def places_of(asked: Sequence[str], names: Sequence[str]) -> list[int]:
    """Where the columns asked for are; ValueError for one that is not there, or asked for twice."""
    if len(set(asked)) < len(asked):
        twice = next(name for name in asked if asked.count(name) > 1)
        raise ValueError(f"columns must be different, got {twice!r} more than once")
    for name in asked:
        if name not in names:
            shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise ValueError(f"there is no column {name!r}; the columns are {shown}")
    return [names.index(name) for name in asked]


def _chosen(
    frame: pd.DataFrame, columns: Sequence[str] | None, skip_text: bool
) -> tuple[Any, list[str], list[str]]:
    names = [str(name) for name in frame.columns]
    if columns is not None:
        places_of(columns, names)
        frame, names = frame[list(columns)], list(columns)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"the columns must have different names, got {twice!r} more than once")
    if len(frame) == 0:
        raise ValueError("there are no rows")
    parts, kept, skipped = [], [], []
    for name in names:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
            if not skip_text:
                raise ValueError(
                    f"column {name!r} is not numeric ({_example(column)}); {remedies.NUMERIC}"
                )
            skipped.append(f"column {name!r} is not numeric ({_example(column)}) and was left out")
            continue
        parts.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        kept.append(name)
    if not parts:
        raise ValueError("there are no columns of numbers")
    return np.column_stack(parts), kept, skipped


def _example(column: Any) -> str:
    """The first value that is not a number."""
    for row, value in enumerate(column.tolist()):
        if not isinstance(value, str) or not is_number(value):
            return f"row {row + 1} holds {value!r}"
    return f"row 1 holds the text {column.iloc[0]!r}"
