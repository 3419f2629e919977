"""``elubench regressions``."""

from __future__ import annotations

import argparse

SUMMARY = "list what asv's results show as slower, by how much and since which commit"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the results are, what counts, and a file for other tools."""
    parser.add_argument(
        "folder", nargs="?", default=".asv/results", help="asv's results (default .asv/results)"
    )
    parser.add_argument(
        "--threshold",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="smallest relative increase that counts (default 0.05, as on asv's pages)",
    )
    parser.add_argument(
        "--csv",
        metavar="OUT",
        help="also write all results: a row per commit, a column per benchmark",
    )


def run(options: argparse.Namespace) -> int:
    """Print a line per regression; status 1 if there is one."""
    from elubench.peers import regressions
    from elubench.peers.asv import asv_results

    results = asv_results(options.folder)
    if options.csv is not None:
        regressions.by_commit(results).to_csv(options.csv, index=False)
    found = regressions.regressions(results, options.threshold)
    print(regressions.as_text(found))
    return int(len(found) > 0)
