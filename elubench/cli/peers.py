"""``elubench peers``."""

from __future__ import annotations

import argparse
import json
import os
import sys

from elubench.cli.machinery import INTERRUPTED, CommandError
from elubench.text import duration

SUMMARY = "compare speed with other libraries and with the limits of the hardware"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Sizes, peers, parts and files."""
    from elubench.peers.heats import PARTS
    from elubench.peers.known import ALWAYS, PEERS

    optional = ", ".join(peer.name for peer in PEERS if peer not in ALWAYS)
    parser.add_argument("--n", metavar="N,...", help="rows, such as 1e5,1e6 (default 1e4 to 1e7)")
    parser.add_argument("--d", metavar="D,...", help="coordinates (default 1,4,16)")
    parser.add_argument(
        "--only",
        metavar="NAME,...",
        help=f"some of {optional}; elubench and the limits always take part, and alone with "
        "--only elubench",
    )
    parser.add_argument(
        "--part",
        choices=("all", *PARTS),
        default="all",
        help="time per EM iteration, time to the answer, or both (default)",
    )
    parser.add_argument("--quick", action="store_true", help="small samples, in about a minute")
    parser.add_argument(
        "--budget",
        type=float,
        metavar="SECONDS",
        help="for each fit (default 60, or 10 with --quick)",
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder for peers.csv, peers.png and machine.json"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Measure, showing progress, then print the tables and write the files."""
    from elubench import info, peers
    from elubench.cli.progress import Bar

    what = peers.lineup(
        _sizes(options.n, "--n"),
        _sizes(options.d, "--d"),
        options.only.split(",") if options.only else (),
        options.part,
        options.quick,
        options.budget,
    )
    bar = Bar()

    def show(now: peers.Headway) -> None:
        left = duration(now.seconds_left)
        bar.show(now.share, f"{now.share:4.0%}  {now.doing}  {left} left")

    try:
        found = peers.compare(what, options.out, show)
    finally:
        bar.close()
    facts = info.collect()
    if options.out is not None:
        with open(os.path.join(options.out, "machine.json"), "w", encoding="utf-8") as file:
            file.write(info.as_json(facts) + "\n")
    if options.json:
        rows = json.loads(found.rows.to_json(orient="records", double_precision=15))
        print(json.dumps({**facts, "missing": found.missing, "rows": rows}, indent=2))
    else:
        print(peers.as_text(found.rows))
    for line in found.missing:
        print(f"elubench: {line}", file=sys.stderr)
    if options.out is not None and (found.rows["status"] == "ok").any():
        from elubench.peers.figure import save_peers_figure

        save_peers_figure(found.rows, os.path.join(options.out, "peers.png"))
    if found.interrupted:
        print("elubench: interrupted; what was measured is kept", file=sys.stderr)
        return INTERRUPTED
    return 0


def _sizes(text: str | None, option: str) -> tuple[int, ...]:
    """Whole numbers from "1000,1e6"."""
    sizes = []
    for word in text.split(",") if text else ():
        try:
            value = float(word)
        except ValueError:
            value = 0.5
        if not value.is_integer():
            raise CommandError(f"{option} must be whole numbers such as 1000,1e6, got {word!r}")
        sizes.append(int(value))
    return tuple(sizes)
