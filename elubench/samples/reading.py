"""Tables from files: CSV, TSV, NumPy and Parquet, as an array of numbers with column names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

#: File types that can be read.
SUFFIXES = (".csv", ".npy", ".parquet", ".tsv")


class Table(NamedTuple):
    """Values (n, d) and the names of the d columns; "1", "2", ... if the file has none."""

    values: Any
    names: list[str]


def read_table(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> Table:
    """Read the given columns, by default all; they must be numeric and complete."""
    path = Path(path)
    suffix = path.suffix.lower()
    with open(path, "rb") as file:  # raises OSError for a bad path
        empty = not file.read(1)
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise ValueError(f"{path}: must be one of {known}, got {suffix or 'a file without suffix'}")
    if empty:
        raise ValueError(f"{path}: the file is empty")
    try:
        if suffix == ".npy":
            return _chosen_columns(_array(path), columns)
        frame = pd.read_parquet(path) if suffix == ".parquet" else _text(path, suffix)
        frame.columns = pd.Index([str(name) for name in frame.columns])
        return _chosen(frame, columns)
    except ValueError as error:  # pandas and pyarrow raise subclasses of it
        raise ValueError(f"{path}: {error}") from error


def _array(path: Path) -> Any:
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(f"the array must have rows and columns, got shape {values.shape}")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"the array must hold numbers, got dtype {values.dtype}")
    return values


def _chosen_columns(values: Any, columns: Sequence[str] | None) -> Table:
    names = [str(j + 1) for j in range(values.shape[1])]
    if columns is None:
        return Table(values, names)
    _check_names(columns, names)
    return Table(values[:, [names.index(name) for name in columns]], list(columns))


def _text(path: Path, suffix: str) -> pd.DataFrame:
    separator = "\t" if suffix == ".tsv" else ","
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        first = file.readline().strip()
    headless = all(_is_number(field) for field in first.split(separator))
    frame = pd.read_csv(
        path,
        sep=separator,
        header=None if headless else 0,
        skipinitialspace=True,
        encoding="utf-8-sig",
    )
    if headless:
        frame.columns = pd.Index([str(j + 1) for j in range(frame.shape[1])])
    return frame


def _is_number(field: str) -> bool:
    try:
        float(field.strip().strip('"'))
    except ValueError:
        return False
    return True


def _check_names(asked: Sequence[str], names: Sequence[str]) -> None:
    for name in asked:
        if name not in names:
            shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
            raise ValueError(f"there is no column {name!r}; the columns are {shown}")


def _chosen(frame: pd.DataFrame, columns: Sequence[str] | None) -> Table:
    names = [str(name) for name in frame.columns]
    if columns is not None:
        _check_names(columns, names)
        frame, names = frame[list(columns)], list(columns)
    if len(frame) == 0:
        raise ValueError("there are no rows")
    parts = []
    for name in names:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
            raise ValueError(
                f"column {name!r} is not numeric ({_example(column)}); choose the columns to fit "
                "with --columns"
            )
        missing = int(column.isna().sum())
        if missing:
            raise ValueError(f"column {name!r} has {missing} missing value{'s' * (missing > 1)}")
        parts.append(column.to_numpy(dtype=np.float64))
    return Table(np.column_stack(parts), names)


def _example(column: Any) -> str:
    """The first value that is not a number."""
    for row, value in enumerate(column.tolist()):
        if not isinstance(value, str) or not _is_number(value):
            return f"row {row + 1} holds {value!r}"
    return f"it holds {column.dtype}"
