"""The command line, ``elubench COMMAND``: one module per command. May import every other room.

A command is a module with ``SUMMARY`` (its line in ``elubench --help``), ``add_options(parser)`` and
``run(options)``, which returns the exit status. Both functions import what they need when called, so
that ``elubench --help`` does not wait for a compiler to load.
"""

from collections.abc import Sequence

from elubench.cli import (
    completion,
    fit,
    info,
    machinery,
    paper,
    papers,
    peers,
    power,
    regressions,
    report,
    study,
    verify,
    warmup,
)

COMMANDS: dict[str, machinery.Command] = {
    "fit": fit,
    "power": power,
    "study": study,
    "verify": verify,
    "report": report,
    "paper": paper,
    "papers": papers,
    "peers": peers,
    "regressions": regressions,
    "warmup": warmup,
    "info": info,
    "completion": completion,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``elubench`` with ``arguments`` (by default the process's own); return the exit status."""
    return machinery.main(COMMANDS, arguments)
