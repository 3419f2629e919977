"""Files that ``elubench fit`` writes: checked before any work, whole or not at all."""

from __future__ import annotations

import argparse
import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elubench.fits import Fit
    from elubench.fits.intervals import Interval
    from elubench.samples.reading import Table

#: The options, for a message.
OPTIONS = "--plot, --predict and --report"
_SUFFIXES: dict[str, tuple[str, ...]] = {"plot": (), "predict": (".csv",), "report": (".html",)}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The files, and whether they may replace others."""
    parser.add_argument("--plot", metavar="FILE", help="save a figure: .png, .svg or .pdf")
    parser.add_argument(
        "--predict", metavar="OUT.csv", help="save the rows with the probability of each component"
    )
    parser.add_argument(
        "--report", metavar="OUT.html", help="save a page: fit, test, figure, advice"
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def named(options: argparse.Namespace) -> bool:
    """Whether any file was asked for."""
    return any(getattr(options, name) is not None for name in _SUFFIXES)


def check(options: argparse.Namespace) -> None:
    """Raise ValueError for a file that cannot be written, or that exists and is not to be replaced."""
    seen = {Path(one).resolve(): "DATA" for one in options.data}
    for name, suffixes in _SUFFIXES.items():
        given = getattr(options, name)
        if given is None:
            continue
        path = Path(given)
        if name == "plot":
            from elubench.plot.fitted import SUFFIXES as suffixes
        if path.suffix.lower() not in suffixes:
            raise ValueError(f"--{name} must end in one of {', '.join(suffixes)}, got {given}")
        if not path.parent.is_dir():
            raise ValueError(f"--{name} must be in a folder that exists, got {given}")
        if path.resolve() in seen:
            raise ValueError(
                f"--{name} must not be the file of {seen[path.resolve()]}, got {given}"
            )
        if path.exists() and not options.force:
            raise ValueError(f"--{name} must be a new file, got {given}; replace it with --force")
        seen[path.resolve()] = f"--{name}"


def write(options: argparse.Namespace, result: Fit, table: Table, between: Interval | None) -> None:
    """Write every file that was asked for."""
    from elubench.samples import ArraySample, Sample
    from elubench.studies.store import write_whole

    sample: Any = table.values
    if not isinstance(sample, Sample) and (options.plot or options.report):
        sample = ArraySample(sample, table.weights)

    if options.plot is not None:
        from elubench import plot
        from elubench.plot.style import styled

        drawn = io.BytesIO()
        kind = Path(options.plot).suffix.lower()[1:]
        styled(plot.fit)(result, sample, table.names[0]).savefig(drawn, format=kind, dpi=160)
        write_whole(Path(options.plot), drawn.getvalue())
    if options.predict is not None:
        write_whole(Path(options.predict), predictions(result, table).encode())
    if options.report is not None:
        from elubench.report.fit_page import fit_page
        from elubench.samples.converting import shown

        title, command = Path(shown(options.data)).name, shlex.join(["elubench", *sys.argv[1:]])
        page = fit_page(result, sample, title, table.names, command, between)
        write_whole(Path(options.report), page.encode())


def predictions(result: Fit, table: Table) -> str:
    """CSV: number in the file, values, the component (1 or 2) and the probabilities of both."""
    import numpy as np
    import pandas as pd

    shares = result.predict_proba(table.values)
    rows = np.arange(1, len(shares) + 1) if table.rows is None else table.rows
    names = ["row", *table.names, "component", "probability_1", "probability_2"]
    parts = [rows, *np.asarray(table.values).T, 1 + np.argmax(shares, axis=1), *shares.T]
    frame = pd.concat([pd.Series(part) for part in parts], axis=1)
    frame.columns = pd.Index(names)
    return frame.to_csv(index=False)
