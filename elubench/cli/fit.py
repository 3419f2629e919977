"""``elubench fit``."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from elubench.cli import outputs
from elubench.cli.machinery import INTERRUPTED, CommandError, engine_options

if TYPE_CHECKING:
    from elubench.fits import Fit
    from elubench.models import Model

SUMMARY = "fit two Gaussians to data and tell which regime they are in"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The file, the method and the form of the output."""
    from elubench.algorithms.known import commands
    from elubench.models.known import known

    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="+",
        help=".csv, .tsv (.gz), .npy or .parquet; several of these, a folder or a pattern",
    )
    parser.add_argument(
        "--model",
        default="general",
        help=f"{', '.join(known())} (default general), or all for a table of all",
    )
    parser.add_argument(
        "--mixing",
        default="equal",
        metavar="WEIGHTS",
        help="equal (default), free, or two weights W1,W2; for the general model",
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
    parser.add_argument(
        "--level",
        type=float,
        default=0.05,
        metavar="P",
        help="how often one Gaussian may be taken for two (default 0.05)",
    )
    parser.add_argument(
        "--p-value",
        type=int,
        metavar="DRAWS",
        help="test one component against two with so many samples from one Gaussian",
    )
    parser.add_argument(
        "--interval",
        type=float,
        metavar="LEVEL",
        help="say what the data do not exclude at this level, such as 0.95",
    )
    parser.add_argument(
        "--weights", metavar="COLUMN", help="a column that says how often rows count"
    )
    parser.add_argument("--decimal", choices=[".", ","], help="by default as the file suggests")
    parser.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with missing values"
    )
    parser.add_argument(
        "--skip-text", action="store_true", help="leave out columns that are not numeric"
    )
    engine_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    outputs.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Check the options, read the file, fit, and print or write the result."""
    from elubench import checks
    from elubench.cli.compiling import compiling_shown
    from elubench.cli.reading import data_of
    from elubench.fits import check_algorithm, compare, fit
    from elubench.samples import Sample
    from elubench.samples.converting import shown
    from elubench.samples.remedies import for_the_shell

    model = None if options.model == "all" else _model(options)
    one = options.p_value or options.interval or options.mixing != "equal"
    if model is None and (one or outputs.named(options)):
        raise CommandError(
            f"--p-value, --interval, --mixing, {outputs.OPTIONS} need one model, got --model all"
        )
    if options.p_value is not None:
        checks.integer(options.p_value, "--p-value", 1)
    if options.interval is not None:
        checks.real(options.interval, "--interval", 0.5, 1.0)
        if model is not None and model.knows_scale:
            raise CommandError(f"--interval needs a model that fits the scale, got {options.model}")
    check_algorithm(options.algorithm)
    outputs.check(options)
    chosen = {
        "algorithm": options.algorithm,
        "validation": options.validation,
        "seed": options.seed,
        "starts": options.starts,
        "max_iter": options.max_iter,
        "level": options.level,
    }
    try:
        with data_of(options) as table:
            with compiling_shown():
                if isinstance(table.values, Sample) and options.predict is not None:
                    raise ValueError("--predict must be left out for data read in parts")
                data = {"X": table.values, "weights": table.weights}
                if model is None:
                    return _show(compare(**data, **chosen), options.json)
                result = fit(**data, model=model, **chosen)
                between = None if options.interval is None else result.interval(options.interval)
                if options.p_value is not None:
                    _test(result, options.p_value, options.seed)
            notes = map(for_the_shell, (*table.notes, *result.notes))
            result = replace(result, notes=tuple(notes))
            if options.json:
                sure = {} if between is None else {"interval": between.as_dict()}
                print(json.dumps({"columns": table.names, **result.as_dict(), **sure}, indent=2))
            else:
                print(result.summary(between))
            outputs.write(options, result, table, between)
    except ValueError as error:
        name = shown(options.data)
        said = str(error).removeprefix(f"{name}: ")
        raise CommandError(f"{name}: {for_the_shell(said)}") from error
    return INTERRUPTED if result.status == "interrupted" else 0


def _show(table: Any, as_json: bool) -> int:
    """Print the comparison of all models."""
    if as_json:
        print(json.dumps(table.to_dict("records"), indent=2))
    else:
        print(table.to_string(index=False, float_format="{:.8g}".format))
    return 0


def _test(result: Fit, draws: int, seed: int) -> None:
    """Compute the p-value, with a bar."""
    from elubench.cli.progress import Bar

    bar = Bar()
    try:
        result.p_value(
            draws, seed, lambda done, all_: bar.show(done / all_, f"{done:,}/{all_:,} draws")
        )
    finally:
        bar.close()


def _model(options: argparse.Namespace) -> Model:
    from elubench.models import General
    from elubench.models.known import named

    model = named(options.model)
    if options.mixing == "equal":
        return model
    if type(model) is not General:
        raise ValueError(f"--mixing needs the general model, got {options.model}")
    try:
        given = [float(part) for part in options.mixing.split(",")]
    except ValueError:
        given = options.mixing
    return General(mixing=given)
