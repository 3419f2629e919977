"""``elubench paper``: begin a paper of one's own."""

from __future__ import annotations

import argparse
import shlex

SUMMARY = "begin a paper of your own: a folder that runs as it is"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The action and the name."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", dest="action", required=True)
    new = actions.add_parser(
        "new",
        help="write the folder of a new paper",
        description="Write the folder of a new paper: a study, an algorithm, two claims, a figure.",
    )
    new.add_argument("name", metavar="NAME", help="the folder, whose name Python can import")


def run(options: argparse.Namespace) -> int:
    """Write the folder, and say what is in it and what comes next."""
    from elubench.papers.starting import new_paper

    folder = new_paper(options.name)
    print(f"{folder}: {', '.join(sorted(file.name for file in folder.iterdir()))}")
    path = folder if folder.is_absolute() else f"./{folder}"
    print(f"next: elubench verify {shlex.quote(str(path))}")
    return 0
