"""``elubench info``."""

from __future__ import annotations

import argparse

SUMMARY = "show versions, processor, threads and kernel cache"


def add_options(parser: argparse.ArgumentParser) -> None:
    """``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the facts."""
    from elubench import info

    facts = info.collect()
    print(info.as_json(facts) if options.json else info.as_text(facts))
    return 0
