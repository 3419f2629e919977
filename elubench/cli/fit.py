"""``elubench fit``."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from elubench.cli.machinery import INTERRUPTED, CommandError, engine_options

SUMMARY = "fit two Gaussians to data and tell which regime they are in"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The file, the method and the form of the output."""
    from elubench.algorithms.known import commands
    from elubench.models.known import known

    parser.add_argument(
        "data",
        metavar="DATA",
        help=".csv, .tsv, .npy or .parquet; or a folder or a pattern of such",
    )
    parser.add_argument(
        "--model", default="general", help=f"{', '.join(known())} (default general)"
    )
    parser.add_argument(
        "--algorithm",
        default="auto",
        metavar="NAME",
        help=f"auto (default), {', '.join(commands())}",
    )
    parser.add_argument(
        "--validation",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="share of the rows to hold out, for algorithms that need it (default 0.1)",
    )
    parser.add_argument(
        "--starts",
        type=int,
        default=1,
        metavar="M",
        help="starts: those read off the data and M - 1 random ones (default 1)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="SEED", help="seed of held-out rows and starts"
    )
    parser.add_argument(
        "--max-iter", type=int, metavar="T", help="iterations of each run (default 10,000)"
    )
    parser.add_argument("--columns", metavar="A,B", help="names of the columns to fit")
    engine_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plot", metavar="FILE", help="save a figure: .png, .svg or .pdf")


def run(options: argparse.Namespace) -> int:
    """Check the options, read the file, fit, and print or draw the result."""
    from elubench.cli.compiling import compiling_shown
    from elubench.cli.reading import data_of
    from elubench.fits import check_algorithm, fit
    from elubench.models.known import named
    from elubench.samples import ArraySample, Sample

    named(options.model)
    check_algorithm(options.algorithm)
    if options.plot is not None:
        from elubench.report.fit_figure import save_fit_figure, suffix_of

        suffix_of(options.plot)
    columns = None if options.columns is None else options.columns.split(",")
    try:
        with data_of(options, columns) as table:
            with compiling_shown():
                sample = table.data if isinstance(table.data, Sample) else ArraySample(table.data)
                result = fit(
                    sample,
                    options.model,
                    options.algorithm,
                    validation=options.validation,
                    seed=options.seed,
                    starts=options.starts,
                    max_iter=options.max_iter,
                )
            result = replace(result, notes=(*table.notes, *result.notes))
            if options.json:
                print(json.dumps({"columns": table.names, **result.as_dict()}, indent=2))
            else:
                print(result.summary())
            if options.plot is not None:
                save_fit_figure(result, sample, options.plot, table.names[0])
    except ValueError as error:
        said = str(error).removeprefix(f"{options.data}: ")
        raise CommandError(f"{options.data}: {said}") from error
    return INTERRUPTED if result.status == "interrupted" else 0
