"""``elubench study``: a grid of runs: show its cost, run or resume it, merge folders, count."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elubench.cli.machinery import INTERRUPTED, engine, engine_options
from elubench.text import duration

if TYPE_CHECKING:
    from elubench.studies import Progress
    from elubench.studies.spec import Cell, Spec

SUMMARY = "show, run or resume a grid of runs"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The actions and their options."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", dest="action", required=True)
    show = actions.add_parser("show", help="print a study, its size and what it will cost")
    show.add_argument("spec", metavar="PRESET|SPEC", help="name of a preset, or a TOML file")
    start = actions.add_parser(
        "run", help="run a study, or what is left of it", description="Run or resume a study."
    )
    start.add_argument("spec", metavar="PRESET|SPEC", help="name of a preset, or a TOML file")
    start.add_argument("--out", metavar="DIR", required=True, help="the study's folder")
    engine_options(start)
    start.add_argument("--retry-failed", action="store_true", help="run failed tasks again")
    start.add_argument(
        "--shard",
        metavar="I/N",
        default="1/1",
        help="every N-th task from the I-th on (default 1/1)",
    )
    merge = actions.add_parser("merge", help="put folders of one study together")
    merge.add_argument("folders", metavar="DIR", nargs="+", help="folders of the study")
    merge.add_argument("--out", metavar="DIR", required=True, help="the folder to put them into")
    status = actions.add_parser("status", help="count the runs done, failed and left")
    status.add_argument("out", metavar="DIR", help="the study's folder")


def run(options: argparse.Namespace) -> int:
    """Do what the action says."""
    from elubench import studies
    from elubench.cli.compiling import compiling_said
    from elubench.cli.progress import Bar, plain_warnings

    if options.action == "show":
        print(described(options.spec), end="")
        return 0
    if options.action == "status":
        with plain_warnings():
            print(summary(studies.study_progress(options.out)))
        return 0
    if options.action == "merge":
        with plain_warnings():
            print(summary(studies.merge_studies(options.folders, options.out)))
        return 0
    bar = Bar()
    try:
        with plain_warnings(bar), compiling_said(bar):
            ended = studies.run_study(
                options.spec,
                options.out,
                retry_failed=options.retry_failed,
                shard=options.shard,
                progress=bar,
                **engine(options),
            )
    except KeyboardInterrupt:
        bar.close()
        print(
            "elubench: interrupted; finished work is kept, and the same command resumes from there",
            file=sys.stderr,
        )
        return INTERRUPTED
    finally:
        bar.close()
    print(summary(ended))
    return 1 if ended.failed else 0


def summary(progress: Progress) -> str:
    """The state of a study, for a reader."""
    left = progress.tasks - progress.tasks_done
    waiting = progress.runs - progress.runs_done
    lines = [
        f"study {progress.name}: {progress.runs_done:,} of {progress.runs:,} runs done"
        + (f", {waiting:,} left in {left:,} task{'s' if left > 1 else ''}" if left else ""),
        f"  reached the radius   {progress.reached:,}",
        f"  censored             {progress.censored:,}",
        f"  failed               {progress.failed:,}",
    ]
    return "\n".join(lines)


def described(spec: str | Path) -> str:
    """A study as it is written, followed by its cost, as comments: still valid TOML."""
    from elubench.studies import reading

    text, title, folder = reading.source(spec)
    study = reading.parse(text, title, folder)
    return f"{text.rstrip()}\n\n" + "\n".join(f"# {line}" for line in estimate(study)) + "\n"


def estimate(study: Spec) -> list[str]:
    """Runs, samples, passes and time of every block and of the whole, roughly, on one core."""
    from elubench.studies.costs import group_cost
    from elubench.studies.plan import plan

    rows: list[tuple[str, ...]] = [("block", "runs", "samples", "passes", "time", "largest sample")]
    totals = [0, 0, 0.0, 0.0]
    for number, block in enumerate(study.blocks):
        cells = [cell for cell in study.cells() if cell.block == number]
        costs = [group_cost(block, cell) for cell in cells]
        samples = len(cells) * block.replicates
        counts = [
            samples * len(block.starts) * len(block.contestants),
            samples,
            block.replicates * sum(cost.passes for cost in costs),
            block.replicates * sum(cost.seconds for cost in costs),
        ]
        totals = [one + two for one, two in zip(totals, counts, strict=True)]
        rows.append((block.name, *_counts(counts), _memory(block.samples, cells)))
    rows.append(("all", *_counts(totals), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    table[-1] = table[-1].rstrip()
    count = len(plan(study).tasks)
    return [
        *table,
        f"{count} task{'s' if count > 1 else ''}; times are estimates for one core, good to a "
        "factor of two or three.",
    ]


def _counts(counts: list[Any]) -> list[str]:
    runs, samples, passes, seconds = counts
    return [f"{runs:,}", f"{samples:,}", f"{passes:.2g}", duration(seconds)]


def _memory(samples: str, cells: list[Cell]) -> str:
    if samples == "lattice":
        return "lattice"
    size = 8.0 * max(cell.n * cell.d for cell in cells)
    power = min(int(math.log10(size) / 3.0), 5)
    return f"{size / 1000.0**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"
