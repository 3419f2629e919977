"""Data by the path of a file, or as a Dask collection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elubench.samples.base import Sample
from elubench.samples.chunked import ChunkedSample, Progress
from elubench.samples.dask import DaskSample
from elubench.samples.file import FileSample
from elubench.samples.reading import read_table

_IN_MEMORY = 1 << 28  # bytes of a file that is read as a whole


class Opened(NamedTuple):
    """A table or a sample, the names of its columns, and notes on columns to be left out."""

    data: Any
    names: list[str]
    notes: tuple[str, ...] = ()


def opened(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Opened:
    """What is in a file: a table if it is small, else a :class:`FileSample`; the same bits."""
    if Path(path).is_file() and os.path.getsize(path) <= _IN_MEMORY:
        return Opened(*read_table(path, columns))
    sample = FileSample(path, columns, progress=progress)
    return Opened(sample, sample.names)


def loaded(X: Any, weights: Any = None) -> Any:
    """A path or a Dask collection as a table or a sample; whatever else was given as it is.

    Of a sample on disk or on a cluster its compact form. ``weights`` go with X.
    """
    if isinstance(X, str | os.PathLike):
        X = opened(X).data if weights is None else FileSample(X, weights=weights)
    elif hasattr(X, "__dask_graph__"):
        X = DaskSample(X, weights)
    elif isinstance(X, Sample) and weights is not None:
        raise ValueError("weights must be None for a Sample, which has its own, got an array")
    return X.compact if isinstance(X, ChunkedSample) else X
