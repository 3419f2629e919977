"""Data by the path of a file, or as a Dask collection."""

from __future__ import annotations

import os
from typing import Any

from elubench.samples.base import Sample
from elubench.samples.chunked import ChunkedSample, Progress
from elubench.samples.converting import Paths, several, shown
from elubench.samples.dask import DaskSample
from elubench.samples.file import FileSample
from elubench.samples.reading import Table, Wanted, read_table

_IN_MEMORY = 1 << 28  # bytes of a file that is read as a whole


def opened(path: Paths, wanted: Wanted | None = None, progress: Progress | None = None) -> Table:
    """What is in a file, a :class:`FileSample` if it is large, or several; the same bits."""
    wanted = wanted or Wanted()
    first, *others = several(path)
    if not others and os.path.isfile(first) and os.path.getsize(first) <= _IN_MEMORY:
        return read_table(first, wanted=wanted)
    check_streamed(path, wanted)
    sample = FileSample(path, wanted.columns, wanted.weights, progress=progress)
    return Table(sample, sample.names)


def check_streamed(path: Any, wanted: Wanted) -> None:
    """Raise ValueError for what only a file that is read as a whole can be asked for."""
    asked = [
        option
        for option, given in (
            ("--decimal", wanted.decimal is not None),
            ("--drop-missing", wanted.drop_missing),
            ("--skip-text", wanted.skip_text),
        )
        if given
    ]
    if asked:
        raise ValueError(
            f"{shown(path)}: {', '.join(asked)} must be left out for data read in parts"
        )


def loaded(X: Any, weights: Any = None) -> Any:
    """A path or a Dask collection as a table or a sample; whatever else was given as it is.

    Of a sample on disk or on a cluster its compact form. ``weights`` go with X.
    """
    if isinstance(X, str | os.PathLike):
        X = opened(X).values if weights is None else FileSample(X, weights=weights)
    elif hasattr(X, "__dask_graph__"):
        X = DaskSample(X, weights)
    elif isinstance(X, Sample) and weights is not None:
        raise ValueError("weights must be None for a Sample, which has its own, got an array")
    return X.compact if isinstance(X, ChunkedSample) else X
