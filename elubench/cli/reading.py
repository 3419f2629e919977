"""The data of a command, where its options say."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from elubench.cli.machinery import engine
from elubench.cli.progress import RowsBar, plain_warnings
from elubench.samples import DaskSample
from elubench.samples.cluster import client_at
from elubench.samples.opening import Opened, opened
from elubench.studies.engines import Engine


@contextmanager
def data_of(options: argparse.Namespace, columns: Sequence[str] | None) -> Iterator[Opened]:
    """What is in the file, in this process or on the workers of a cluster, with a bar for long reads."""
    given = engine(options)
    where = Engine(given.pop("engine"), **given)
    bar = RowsBar()
    try:
        if where.name == "local":
            yield opened(options.data, columns, bar)
            return
        with (
            plain_warnings(),
            client_at(where.scheduler, where.workers) as client,
            DaskSample(options.data, None, columns, client, bar) as sample,
        ):
            yield Opened(sample, sample.names)
    finally:
        bar.close()
