"""``elubench report``, and how ``elubench verify`` shows its verdicts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elubench.papers.verifying import Verification

SUMMARY = "write a verification's report again from its folder"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The folder."""
    parser.add_argument("out", metavar="DIR", help="the verification's folder")


def run(options: argparse.Namespace) -> int:
    """Write the report and print the verdicts."""
    from elubench.cli.progress import plain_warnings
    from elubench.papers import verifying

    with plain_warnings():
        return show(verifying.report(options.out))


def show(done: Verification) -> int:
    """Print the table of claims, and those that are not as expected; 1 if there are any."""
    from elubench.report.summary import console_table

    print(console_table(done.findings))
    for key, (expected, found) in done.surprises.items():
        print(f"not as expected: {key} is {found}, expected {expected}")
    print(f"report: {done.report}")
    return 1 if done.surprises else 0
