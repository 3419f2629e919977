"""From arguments to an exit status: the parser, errors as one line, output that cannot be written.

Exit status: what the command returns (0 is success, 1 is an answer that differs from what was
expected), 2 for an error, 130 when interrupted, 141 when the reader of the output went away.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from elubench import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

ERROR = 2
INTERRUPTED = 128 + 2  # as a shell reports a process that SIGINT ended
BROKEN_PIPE = 128 + 13  # the same for SIGPIPE


_EXAMPLES = """examples:
  elubench fit data.csv --plot fit.png       two Gaussians, the regime, a figure
  elubench fit data.csv --model all          a table of all models
  elubench study run quick --out results     a grid of runs; run it again to resume
  elubench verify                            verification/report.html, in minutes
  elubench paper new mine                    a paper of your own
  elubench COMMAND --help                    the options of a command
"""


class CommandError(Exception):
    """The command cannot do what the user asked for; the message says why, in one line."""


class Command(Protocol):
    """What a module must have to be a command."""

    SUMMARY: str

    @property
    def add_options(self) -> Callable[[argparse.ArgumentParser], None]:
        """Adds the command's options to its parser."""

    @property
    def run(self) -> Callable[[argparse.Namespace], int]:
        """Runs the command and returns the exit status."""


def main(commands: Mapping[str, Command], arguments: Sequence[str] | None = None) -> int:
    """Run one of ``commands`` and return the exit status.

    What a user can get wrong (a value, a file, a missing extra) is one line on stderr. Any other
    exception is a bug in elubench and keeps its traceback. ``ELUBENCH_DEBUG=1`` shows both.
    """
    for stream in (sys.stdout, sys.stderr):  # the name of a file need not be text
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    return _flush(_run(commands, arguments))


def engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where studies run; :func:`engine` reads them."""
    parser.add_argument("--engine", metavar="NAME", default="local", help="local (default) or dask")
    parser.add_argument("--workers", metavar="N", type=int, help="processes of the dask engine")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a running Dask scheduler")


def engine(options: argparse.Namespace) -> dict[str, Any]:
    """The options of :func:`engine_options`, as keyword arguments."""
    return {name: getattr(options, name) for name in ("engine", "workers", "scheduler")}


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, under one name.

    With ``fill`` it gets its options when it is first used, as they may take a while to import.
    """

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        filled(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(ERROR, f"elubench: error: {_one_line(message)} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own method hides that the output could not be written.
        stream = file or sys.stderr
        if message and stream is not None:
            stream.write(message)


def filled(parser: argparse.ArgumentParser) -> None:
    """Give the parser the options that it would get when it is first used."""
    if isinstance(parser, _Parser) and parser.fill is not None:
        fill, parser.fill = parser.fill, None
        fill(parser)


def parser_of(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of ``elubench`` with these commands."""
    parser = _Parser(
        prog="elubench",
        description="Evidence for convergence rates of EM, ELU and their rivals.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"elubench {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    for name, command in commands.items():
        description = f"{command.SUMMARY[0].upper()}{command.SUMMARY[1:]}."
        # allow_abbrev: an option added later must not change what a user's script means.
        subparser = subparsers.add_parser(
            name, help=command.SUMMARY, description=description, allow_abbrev=False
        )
        subparser.fill = command.add_options
        subparser.set_defaults(run=command.run, parser=parser)
    return parser


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        named = error.filename is not None
        return f"{error.filename}: {error.strerror}" if named else error.strerror
    return _one_line(str(error)) or type(error).__name__


def _run(commands: Mapping[str, Command], arguments: Sequence[str] | None) -> int:
    debug = os.environ.get("ELUBENCH_DEBUG", "") not in ("", "0")
    try:
        parser = parser_of(commands)
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help(sys.stderr)
            return ERROR
        status: int = options.run(options)
        return status
    except SystemExit as stop:  # argparse has already printed its message
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("elubench: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (CommandError, ModuleNotFoundError, OSError, ValueError) as error:
        if debug:
            traceback.print_exc()
        print(f"elubench: error: {_message(error)}", file=sys.stderr)
        return ERROR
    except Exception:
        traceback.print_exc()
        print("elubench: error: a bug in elubench; the traceback is above", file=sys.stderr)
        return ERROR


def _flush(status: int) -> int:
    """Write what stdout still holds; where that fails, so does the command."""
    if sys.stdout is None:
        return status
    try:
        sys.stdout.flush()
        return status
    except OSError as error:
        # The interpreter flushes once more as it ends: send that nowhere, or it fails again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        print(f"elubench: error: cannot write the output: {_message(error)}", file=sys.stderr)
        return ERROR
