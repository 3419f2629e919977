"""Tables of text: the separator, the header and decimal commas are found in the file itself.

Every row must have as many fields as the first. pandas would take the first fields of longer rows for
names of the rows, and fill shorter rows up.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

#: Has pandas before 3.1 read decimals as Python does, and as newer ones do: to the last bit.
EXACT: dict[str, Any] = {"float_precision": "round_trip"} if pd.__version__ < "3.1" else {}
_SEPARATORS = ("\t", ";", ",")  # the comma last: it may be part of a number, or of a name
_NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas"}
_LOOKED_AT = 20  # rows that decide on the separator
_DECIMAL_COMMA = r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*"


class Text(NamedTuple):
    """What a file of text holds, and what was unusual in reading it."""

    frame: pd.DataFrame
    notes: list[str]


def read_text(path: Path, decimal: str | None = None) -> Text:
    """The columns of a file; they are named "1", "2", ... if its first row consists of numbers."""
    separator, headless, _ = first_row(path, decimal)
    _check_widths(path, separator, headless)

    def read(point: str) -> pd.DataFrame:
        return pd.read_csv(
            path,
            sep=separator,
            header=None if headless else 0,
            index_col=False,
            skipinitialspace=True,
            decimal=point,
            encoding=encoding_of(path),
            **EXACT,
        )

    frame, notes = read(decimal or "."), []
    looked_for = decimal is None and separator != ","
    if looked_for and any(has_decimal_commas(frame[name]) for name in frame):
        frame = read(",")
        notes.append(
            f"{_NAMES[separator]} separate the fields, so commas are read as decimal points"
        )
    if headless:
        frame.columns = pd.Index([str(j + 1) for j in range(frame.shape[1])])
    return Text(frame, notes)


def first_row(path: Path, decimal: str | None = None) -> tuple[str, bool, list[str]]:
    """The separator, whether the first row consists of numbers, and its fields."""
    separator = _separator(path, decimal)
    header = next(_rows(path, separator), None)
    if header is None:
        raise ValueError("there are no rows")
    commas = separator != "," if decimal is None else decimal == ","
    # what pandas writes above columns that have no names
    counted = len(header) > 1 and header == [str(j) for j in range(len(header))]
    return separator, all(is_number(field, commas) for field in header) and not counted, header


def encoding_of(path: Path) -> str:
    """UTF-16 if the file begins with its mark, else UTF-8; ValueError for what is no text."""
    with _opened(path)(path, "rb") as file:
        begin = file.read(1 << 12)
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in begin:
        raise ValueError("the file must hold text in UTF-8, got bytes that are 0; save it as UTF-8")
    return "utf-8-sig"


def _opened(path: Path) -> Any:
    return gzip.open if path.suffix.lower() == ".gz" else open


def is_number(field: str, decimal_comma: bool = False) -> bool:
    """Whether a field holds a number, possibly one with a decimal comma."""
    try:
        float(field.strip())
    except ValueError:
        return decimal_comma and re.fullmatch(_DECIMAL_COMMA, field) is not None
    return True


def _rows(path: Path, separator: str) -> Iterator[list[str]]:
    """The fields of each row; blank lines, which pandas leaves out, are no rows."""
    try:
        encoding = encoding_of(path)
        with _opened(path)(path, "rt", encoding=encoding, errors="replace", newline="") as file:
            for fields in csv.reader(file, delimiter=separator, skipinitialspace=True):
                if len(fields) > 1 or "".join(fields).strip():
                    yield fields
    except csv.Error as error:
        raise ValueError(f"the rows cannot be told apart: {error}") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"the file cannot be decompressed: {error}") from error


def _separator(path: Path, decimal: str | None) -> str:
    """The one that cuts the first rows into equally many fields, or else the first row into most.

    A comma that is a decimal point separates nothing, unless numbers with one are quoted.
    """
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    possible: tuple[str, ...] = _SEPARATORS
    if decimal == "," and not any(_quoted_commas(path)):
        possible = _SEPARATORS[:-1]
    widths = {
        separator: [len(fields) for fields in islice(_rows(path, separator), _LOOKED_AT)]
        for separator in possible
    }
    for separator, found in widths.items():
        if len(set(found)) == 1 and found[0] > 1:
            return separator
    return max(reversed(possible), key=lambda separator: widths[separator][:1])


def _quoted_commas(path: Path) -> Iterator[bool]:
    """For each field of the first rows, whether it is a number with a comma that cuts nothing."""
    for fields in islice(_rows(path, ","), _LOOKED_AT):
        yield from (re.fullmatch(_DECIMAL_COMMA, field) is not None for field in fields)


def _check_widths(path: Path, separator: str, headless: bool) -> None:
    first = 0
    for number, fields in enumerate(_rows(path, separator), start=headless):
        first = first or len(fields)
        if len(fields) != first:
            what = "row 1" if headless else "the header"
            fits = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
            raise ValueError(
                f"every row must have as many fields as {what}, {first}, "
                f"got {fits} in row {number} ({_NAMES[separator]} separate the fields)"
            )


def has_decimal_commas(column: pd.Series) -> bool:
    """Whether a column holds text that is a number with a decimal comma."""
    if pd.api.types.is_numeric_dtype(column):
        return False
    return bool(column.astype(str).str.fullmatch(_DECIMAL_COMMA).any())
