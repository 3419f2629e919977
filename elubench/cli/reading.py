"""The data of a command, where its options say."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from elubench.cli.machinery import engine
from elubench.cli.progress import RowsBar, plain_warnings
from elubench.samples import DaskSample
from elubench.samples.cluster import client_at
from elubench.samples.opening import check_streamed, opened
from elubench.samples.reading import Table, Wanted
from elubench.studies.engines import Engine


@contextmanager
def data_of(options: argparse.Namespace) -> Iterator[Table]:
    """What is in the file, in this process or on the workers of a cluster, with a bar for long reads."""
    given = engine(options)
    where = Engine(given.pop("engine"), **given)
    columns = None if options.columns is None else options.columns.split(",")
    wanted = Wanted(
        columns, options.weights, options.decimal, options.drop_missing, options.skip_text
    )
    bar = RowsBar()
    try:
        if where.name == "local":
            yield opened(options.data, wanted, bar)
            return
        check_streamed(options.data, wanted)
        with (
            plain_warnings(),
            client_at(where.scheduler, where.workers) as client,
            DaskSample(options.data, wanted.weights, columns, client, bar) as sample,
        ):
            yield Table(sample, sample.names)
    finally:
        bar.close()
