"""``elubench report``, and how ``elubench verify`` shows its verdicts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from elubench.cli.machinery import CommandError

if TYPE_CHECKING:
    from elubench.papers.verifying import Verification

SUMMARY = "write the page of a verification or a study from its folder, or an index of several"

_INDEX = "index.html"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The folders, and where the index goes."""
    parser.add_argument(
        "folders",
        nargs="+",
        metavar="DIR",
        help="folder of a verification or a study; its page is report.html in it",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help=f"page that links all of them (default with several folders: {_INDEX})",
    )


def run(options: argparse.Namespace) -> int:
    """Write the pages, print the verdicts, and write the index if there is to be one."""
    from elubench import studies
    from elubench.cli.progress import plain_warnings
    from elubench.papers import verifying
    from elubench.papers.indexing import write_index
    from elubench.report.study_page import write_study_report
    from elubench.verification.gathering import recorded

    for folder in map(Path, options.folders):
        if not folder.exists():
            raise CommandError(f"{folder} does not exist")
        if not folder.is_dir():
            raise CommandError(
                f"{folder} is a file; report takes the folder of a verification or a study"
            )
    verified, studied, status = [], [], 0
    with plain_warnings():
        for folder in options.folders:
            if recorded(folder) is not None:
                verified.append(verifying.report(folder))
                status = max(status, show(verified[-1]))
            elif Path(folder, "study.json").exists():
                page = write_study_report(folder)
                studied.append((studies.study_progress(folder), page))
                print(f"report: {page}")
            else:
                raise CommandError(f"{folder} is neither a verification folder nor one of a study")
        if options.out is not None or len(options.folders) > 1:
            print(f"index: {write_index(verified, studied, options.out or _INDEX)}")
    return status


def show(done: Verification) -> int:
    """Print the table of claims, and those that are not as expected; 1 if there are any."""
    from elubench.report.summary import console_table

    print(console_table(done.findings))
    for key, (expected, found) in done.surprises.items():
        print(f"not as expected: {key} is {found}, expected {expected}")
    print(f"report: {done.report}")
    return 1 if done.surprises else 0
