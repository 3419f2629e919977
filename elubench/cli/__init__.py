"""The command line: ``elubench COMMAND``.

A command is one function here. It adds its options to a parser and returns what runs them, and it
imports what it needs only then, so that ``elubench --help`` does not wait for a compiler to load.

Exit status: what the command returns (0 is success, 1 is an answer that differs from what was
expected), 2 for an error, 130 when interrupted, 141 when the reader of the output went away.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from elubench import __version__

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from elubench.papers.verifying import Verification

ERROR = 2
INTERRUPTED = 128 + 2  # as a shell reports a process that SIGINT ended
BROKEN_PIPE = 128 + 13  # the same for SIGPIPE

Runner = Callable[[argparse.Namespace], int]
Command = Callable[[argparse.ArgumentParser], Runner]

_COMMANDS: dict[str, tuple[str, Command]] = {}


class CommandError(Exception):
    """What the user asked for cannot be done; the message says why, in one line."""


def command(name: str, summary: str) -> Callable[[Command], Command]:
    """Make a function the command ``name``; ``summary`` is its line in ``elubench --help``."""

    def register(function: Command) -> Command:
        _COMMANDS[name] = (summary, function)
        return function

    return register


@command("info", "show versions, processor, threads and kernel cache")
def _info(parser: argparse.ArgumentParser) -> Runner:
    parser.add_argument("--json", action="store_true", help="print JSON")

    def run(options: argparse.Namespace) -> int:
        from elubench import info

        facts = info.collect()
        print(info.as_json(facts) if options.json else info.as_text(facts))
        return 0

    return run


def _engine_options(parser: argparse.ArgumentParser) -> None:
    """Where a study runs."""
    parser.add_argument("--engine", choices=("local", "dask"), default="local")
    parser.add_argument("--workers", metavar="N", type=int, help="processes of the engine dask")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler that is running")


@command("study", "show, run or resume a grid of runs")
def _study(parser: argparse.ArgumentParser) -> Runner:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", dest="action", required=True)
    show = actions.add_parser("show", help="print a study, its size and what it will cost")
    show.add_argument("spec", metavar="PRESET|SPEC", help="a preset's name or a TOML file")
    start = actions.add_parser(
        "run", help="run a study, or what is left of it", description="Run or resume a study."
    )
    start.add_argument("spec", metavar="PRESET|SPEC", help="a preset's name or a TOML file")
    start.add_argument("--out", metavar="DIR", required=True, help="the study's folder")
    _engine_options(start)
    start.add_argument("--retry-failed", action="store_true", help="run failed tasks again")
    status = actions.add_parser("status", help="count what is done, failed and left")
    status.add_argument("out", metavar="DIR", help="the study's folder")

    def run(options: argparse.Namespace) -> int:
        from elubench import studies
        from elubench.cli import console

        if options.action == "show":
            print(console.described(options.spec), end="")
            return 0
        if options.action == "status":
            with console.plain_warnings():
                print(console.summary(studies.study_progress(options.out)))
            return 0
        bar = console.Bar()
        try:
            with console.plain_warnings(bar):
                ended = studies.run_study(
                    options.spec,
                    options.out,
                    options.engine,
                    workers=options.workers,
                    scheduler=options.scheduler,
                    retry_failed=options.retry_failed,
                    progress=bar,
                )
        except KeyboardInterrupt:
            bar.close()
            print(
                "elubench: interrupted; what was finished is kept, "
                "and the same command goes on from there",
                file=sys.stderr,
            )
            return INTERRUPTED
        finally:
            bar.close()
        print(console.summary(ended))
        return 1 if ended.failed else 0

    return run


@command("verify", "hold every claim of the paper against measurements")
def _verify(parser: argparse.ArgumentParser) -> Runner:
    parser.add_argument(
        "--level",
        choices=("quick", "paper", "asymptotic"),
        default="quick",
        help="quick (default, minutes), paper, or asymptotic (n up to 10^12)",
    )
    parser.add_argument(
        "--out", metavar="DIR", default="verification", help="folder (default: verification)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="SEED", help="of the samples")
    _engine_options(parser)

    def run(options: argparse.Namespace) -> int:
        from elubench.cli import console
        from elubench.papers import verifying as verification

        bar = console.Bar()

        def say(line: str) -> None:
            bar.close()
            print(f"elubench: {line}", file=sys.stderr, flush=True)

        try:
            with console.plain_warnings(bar):
                done = verification.verify(
                    options.level,
                    options.out,
                    options.engine,
                    workers=options.workers,
                    scheduler=options.scheduler,
                    seed=options.seed,
                    say=say,
                    progress=bar,
                )
        except KeyboardInterrupt:
            say("interrupted; what was finished is kept, and the same command goes on from there")
            return INTERRUPTED
        finally:
            bar.close()
        return _verdicts(done)

    return run


@command("report", "write the report of a verification from what is in its folder")
def _report(parser: argparse.ArgumentParser) -> Runner:
    parser.add_argument("out", metavar="DIR", help="the verification's folder")

    def run(options: argparse.Namespace) -> int:
        from elubench.cli import console
        from elubench.papers import verifying as verification

        with console.plain_warnings():
            return _verdicts(verification.report(options.out))

    return run


def _verdicts(done: Verification) -> int:
    """Print the table of claims, and what is not as expected; 1 if there is such a claim."""
    from elubench.report.summary import console_table

    print(console_table(done.findings))
    for key, (expected, found) in done.surprises.items():
        print(f"not as expected: {key} is {found}, expected {expected}")
    print(f"report: {done.report}")
    return 1 if done.surprises else 0


@command("fit", "fit two Gaussians to data and say in which regime they are")
def _fit(parser: argparse.ArgumentParser) -> Runner:
    parser.add_argument("data", metavar="DATA", help=".csv, .tsv, .npy or .parquet")
    parser.add_argument(
        "--model", default="isotropic", help="isotropic (default), diagonal or general"
    )
    parser.add_argument(
        "--algorithm",
        default="auto",
        metavar="NAME",
        help="auto (default), newton-anderson, lbfgs, newton, squarem, anderson, em, elu, "
        "centred-elu, simultaneous, gradient-descent, normalized-gd or polyak",
    )
    parser.add_argument(
        "--validation",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="rows held out by elu, centred-elu and simultaneous (default 0.1)",
    )
    parser.add_argument(
        "--starts", type=int, default=1, metavar="M", help="the data's own and M - 1 random ones"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="SEED", help="of rows and starts")
    parser.add_argument(
        "--max-iter", type=int, metavar="T", help="iterations of each run (default 10,000)"
    )
    parser.add_argument("--columns", metavar="A,B", help="names of the columns to fit")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plot", metavar="FILE", help="save a figure: .png, .svg or .pdf")

    def run(options: argparse.Namespace) -> int:
        import json

        from elubench.fits import check_algorithm, fit
        from elubench.models.known import named
        from elubench.samples import ArraySample
        from elubench.samples.reading import read_table

        named(options.model)
        check_algorithm(options.algorithm)
        if options.plot is not None:
            from elubench.report.fit_figure import save_fit_figure, suffix_of

            suffix_of(options.plot)
        columns = None if options.columns is None else options.columns.split(",")
        table = read_table(options.data, columns)
        try:
            sample = ArraySample(table.values)
            result = fit(
                sample,
                options.model,
                options.algorithm,
                validation=options.validation,
                seed=options.seed,
                starts=options.starts,
                max_iter=options.max_iter,
            )
        except ValueError as error:
            raise CommandError(f"{options.data}: {error}") from error
        if options.json:
            print(json.dumps({"columns": table.names, **result.as_dict()}, indent=2))
        else:
            print(result.summary())
        if options.plot is not None:
            save_fit_figure(result, sample, options.plot, table.names[0])
        return 0

    return run


@command("peers", "compare speed with other libraries and with the limits of the hardware")
def _peers(parser: argparse.ArgumentParser) -> Runner:
    parser.add_argument("--n", metavar="N,...", help="rows, such as 1e5,1e6 (default 1e4 to 1e7)")
    parser.add_argument("--d", metavar="D,...", help="coordinates (default 1,4,16)")
    parser.add_argument(
        "--only",
        metavar="NAME,...",
        help="of numpy, scipy, scikit-learn, mlpack, gmmx and pomegranate; elubench and the limits "
        "always take part, and alone with --only elubench",
    )
    parser.add_argument(
        "--part",
        choices=("all", "iteration", "answer"),
        default="all",
        help="an EM iteration, the time to the answer, or both (default)",
    )
    parser.add_argument("--quick", action="store_true", help="small samples, in about a minute")
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="of a fit (default 60, 10 with --quick)"
    )
    parser.add_argument("--out", metavar="DIR", help="for peers.csv, peers.png and machine.json")
    parser.add_argument("--json", action="store_true", help="print JSON")

    def run(options: argparse.Namespace) -> int:
        import json

        from elubench import info, peers
        from elubench.cli import console

        what = peers.plan(
            _sizes(options.n, "--n"),
            _sizes(options.d, "--d"),
            options.only.split(",") if options.only else (),
            options.part,
            options.quick,
            options.budget,
        )
        bar = console.Bar()

        def show(progress: peers.Progress) -> None:
            left = console.duration(progress.seconds_left)
            bar.show(progress.share, f"{progress.share:4.0%}  {progress.doing}  {left} left")

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
            from elubench.report.peers_figure import save_peers_figure

            save_peers_figure(found.rows, os.path.join(options.out, "peers.png"))
        if found.interrupted:
            print("elubench: interrupted; what was measured is kept", file=sys.stderr)
            return INTERRUPTED
        return 0

    return run


def _sizes(text: str | None, option: str) -> tuple[int, ...]:
    """Whole numbers from "1000,1e6"."""
    sizes = []
    for word in text.split(",") if text else ():
        try:
            value = float(word)
        except ValueError:
            value = 0.5
        if not value.is_integer():
            raise CommandError(f"{option} takes whole numbers such as 1000,1e6; got {word!r}")
        sizes.append(int(value))
    return tuple(sizes)


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line, under one name."""

    def error(self, message: str) -> NoReturn:
        self.exit(ERROR, f"elubench: error: {_one_line(message)} (see {self.prog} --help)\n")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        # argparse's own hides that the output could not be written.
        stream = file or sys.stderr
        if message and stream is not None:
            stream.write(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="elubench",
        description="Evidence for convergence rates of EM, ELU and their rivals.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"elubench {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", dest="command")
    for name, (summary, define) in _COMMANDS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        # allow_abbrev: an option added later must not change what a user's script means.
        subparser = commands.add_parser(
            name, help=summary, description=description, allow_abbrev=False
        )
        subparser.set_defaults(run=define(subparser))
    return parser


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        named = error.filename is not None
        return f"{error.filename}: {error.strerror}" if named else error.strerror
    return _one_line(str(error)) or type(error).__name__


def _run(arguments: Sequence[str] | None) -> int:
    debug = os.environ.get("ELUBENCH_DEBUG", "") not in ("", "0")
    try:
        parser = _parser()
        options = parser.parse_args(arguments)
        if options.command is None:
            parser.print_help(sys.stderr)
            return ERROR
        status: int = options.run(options)
        return status
    except SystemExit as stop:  # argparse has said what there was to say
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
        print("elubench: error: a fault in elubench itself, traced above", file=sys.stderr)
        return ERROR


def _flush(status: int) -> int:
    """Write what stdout still holds; where that fails, so does the command."""
    if sys.stdout is None:
        return status
    try:
        sys.stdout.flush()
        return status
    except OSError as error:
        # The interpreter flushes once more as it ends: that must go nowhere rather than fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        print(f"elubench: error: cannot write the output: {_message(error)}", file=sys.stderr)
        return ERROR


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``elubench`` with ``arguments`` (by default the process's own); return the exit status.

    What a user can get wrong (a value, a file, a missing extra) is one line on stderr. Any other
    exception is a fault of elubench and keeps its traceback. ``ELUBENCH_DEBUG=1`` shows both.
    """
    return _flush(_run(arguments))
