"""``elubench verify``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from elubench.cli.machinery import INTERRUPTED, engine, engine_options
from elubench.cli.report import show

SUMMARY = "check every claim of a paper against measurements"

_OUT = "verification"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The paper, the level, the folder, the seed and the engine."""
    from elubench.papers.verifying import DEFAULT, shipped

    parser.add_argument(
        "paper",
        nargs="?",
        default=DEFAULT,
        metavar="PAPER",
        help=f"one that ships ({', '.join(shipped())}), or the path of your own folder or Python "
        f"file (default {DEFAULT})",
    )
    parser.add_argument(
        "--level",
        default="quick",
        metavar="NAME",
        help="one of the paper's levels: for beyond-em quick (default, minutes), paper, or "
        "asymptotic (n up to 10^12)",
    )
    parser.add_argument(
        "--out", metavar="DIR", help=f"folder (default: {_OUT}, for other papers {_OUT}-NAME)"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, default=0, metavar="SEED", help="seed of the samples")
    which.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="verify with N seeds and count how often each verdict changes; resumes "
        "(default folder: the same with -seeds)",
    )
    parser.add_argument(
        "--first-seed", type=int, default=1, metavar="SEED", help="of --seeds (default 1)"
    )
    engine_options(parser)


def folder_of(options: argparse.Namespace) -> str:
    """The folder that was given, or one named after the paper's name or path."""
    from elubench.papers.verifying import DEFAULT

    if options.out is not None:
        return str(options.out)
    name = Path(options.paper).resolve().name.removesuffix(".py")
    paper = "" if options.paper == DEFAULT else f"-{name}"
    return f"{_OUT}{paper}{'' if options.seeds is None else '-seeds'}"


def run(options: argparse.Namespace) -> int:
    """Verify, showing progress, and print the verdicts."""
    from elubench.cli.compiling import compiling_said
    from elubench.cli.progress import Bar, plain_warnings
    from elubench.papers.reseeding import verify_seeds
    from elubench.papers.verifying import verify

    bar, out = Bar(), folder_of(options)

    def say(line: str) -> None:
        bar.close()
        print(f"elubench: {line}", file=sys.stderr, flush=True)

    try:
        with plain_warnings(bar), compiling_said(bar):
            given = {"level": options.level, "say": say, "progress": bar, **engine(options)}
            if options.seeds is not None:
                seeds = {"seeds": options.seeds, "first": options.first_seed}
                table = verify_seeds(options.paper, out=out, **seeds, **given)
            else:
                done = verify(options.paper, out=out, seed=options.seed, **given)
    except KeyboardInterrupt:
        say("interrupted; finished work is kept, and the same command resumes from there")
        return INTERRUPTED
    finally:
        bar.close()
    if options.seeds is None:
        return show(done)
    print(table[["claim", "usual", "flips", "seeds", "most"]].to_string(index=False))
    print(f"\n{Path(out) / 'flips.csv'}")
    return 0
