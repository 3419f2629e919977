"""Lines of a table of limits, and how what they compare is timed."""

import statistics
import time
from typing import NamedTuple

import numba

from elubench.peers.printed import seconds

HEADINGS = ("what", "target", "measured", "ratio", "")
WIDTHS = (37, 8, 20, 7, 4)


class Line(NamedTuple):
    """One row: ``ratio`` is what the target is about; ``target`` is such as ">= 120", or "" for none."""

    what: str
    target: str
    measured: str
    ratio: float

    @property
    def reached(self):
        sign, limit = self.target.split()[:2]
        limit = float(limit)
        return self.ratio >= limit if sign == ">=" else self.ratio <= limit

    def __str__(self):
        verdict = ("yes" if self.reached else "NO") if self.target else ""
        return columns(self.what, self.target, self.measured, f"{self.ratio:.3g}", verdict)


def columns(*cells):
    what, target, measured, ratio, verdict = cells
    sized = zip((what, target, measured), WIDTHS, strict=False)
    left = " ".join(cell.ljust(width) for cell, width in sized)
    return f"{left} {ratio.rjust(WIDTHS[3])} {verdict}".rstrip()


def line_of(what, target, one, two):
    """A line on two times: the first over the second, or the other way round for a target ">= ..."."""
    ratio = two / one if target.startswith(">=") else one / two
    return Line(what, target, f"{seconds(one)}, {seconds(two)}", ratio)


def compared(what, target, one, two, rounds, threads):
    """A line on two cases, timed in turns."""
    cases = {"one": with_threads(threads, one), "two": with_threads(threads, two)}
    return line_of(what, target, *in_turns(cases, rounds).values())


def in_turns(cases, rounds, at_least=0.02, rest=0.02):
    """Median seconds of a call of each case; a round calls every case for ``at_least`` seconds.

    Before that it waits for threads of the case before, which spin for a while: ``rest`` seconds. Then
    the case runs untimed for as long as it is timed: after a rest the processor takes some ten
    milliseconds until it is as fast again, in which a long case has a few calls and a short one many.
    """
    calls = {}
    for name, case in cases.items():
        case()
        quickest = min(_seconds(case, 1) for _ in range(3))  # the first have memory to get
        calls[name] = max(1, round(at_least / max(quickest, 1e-7)))
    taken = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            time.sleep(rest)
            for _ in range(calls[name]):
                case()
            taken[name].append(_seconds(case, calls[name]))
    return {name: statistics.median(times) for name, times in taken.items()}


def _seconds(case, calls):
    start = time.perf_counter()
    for _ in range(calls):
        case()
    return (time.perf_counter() - start) / calls


def with_threads(threads, case):
    """The case, always with this number of threads."""

    def run():
        numba.set_num_threads(threads)
        return case()

    return run
