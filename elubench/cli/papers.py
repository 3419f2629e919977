"""``elubench papers``."""

from __future__ import annotations

import argparse

SUMMARY = "list the papers that can be verified"

_INDENT = 10


def add_options(parser: argparse.ArgumentParser) -> None:
    """Further papers."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="papers of your own to list, too")


def run(options: argparse.Namespace) -> int:
    """Print what each paper is, how many claims and which levels it has, and where it is."""
    from elubench.papers.verifying import named, place_of, shipped
    from elubench.text import row

    for given in (*shipped(), *options.paths):
        paper = named(given)
        print(paper.name)
        for name, value in {
            "title": f"{paper.title} ({paper.authors}; {paper.place})",
            "claims": str(len(paper.claims)),
            "levels": ", ".join(paper.levels),
            "where": str(paper.source or place_of(paper.name)),
        }.items():
            print(row(f"  {name}", value, _INDENT))
    return 0
