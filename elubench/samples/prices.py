"""What a read of the data costs, in plain passes: T0 and T1 for one direction over all n rows.

A pass with the loss and the curvature does more work than a plain one, and how much more depends on d
and on the machine. So a price is measured where it is asked for, once per process: rows in memory are
read by one thread, the two kinds of read take turns, and of each the turn with the least processor time
counts, since whatever disturbs a turn makes it longer. In twelve processes on a machine with seven times
as much to do as it has cores, prices of passes had standard deviations of 1 to 11 %, of moments and of
condensing 6 to 21 %. The rows fit into a large cache; where a plain pass has to wait for memory, work
on the rows costs less: at d = 16 the curvature 1.5 to 2.4 plain passes instead of 3. A sample on a
lattice stands for n rows and has their prices.

k directions in one pass take a time that is affine in k, so 1 and 4 of them are measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from elubench.kernels._jit import JIT
from elubench.kernels.interrupts import held
from elubench.kernels.region import parallel_region
from elubench.samples.array import ArraySample
from elubench.samples.base import CONDENSING, PASS, SHAPE, Read
from elubench.samples.condensed import CondensedSample
from elubench.samples.draws import gaussian

_NUMBERS = 1 << 19 if JIT else 64  # n d: about a millisecond, and more than the inner caches hold
_LEAST_ROWS = 256 if JIT else 16
_SEVERAL = 4  # directions
_CONDENSED = (1 << 16, 1 << 20)  # rows; the points are made in a time that does not grow with n
_TURNS, _LEAST_TURNS, _SECONDS = 15, 5, 0.05  # at most, at least, and when to stop
# processor time leaves out what other processes take, but is coarse on some systems
_FINE = time.get_clock_info("thread_time").resolution <= 1e-6
_clock = time.thread_time if _FINE else time.perf_counter


class Bill(NamedTuple):
    """Reads of a sample of n rows of d numbers, by their kind.

    ``reads`` has a number for each kind, or arrays of one shape; a read of all n rows counts 1, one of
    a part of them its share.
    """

    n: int
    d: int
    reads: dict[Read, Any]

    def cost(self) -> Any:
        """What they cost in all, in plain passes over the n rows."""
        return sum(amount * price(read, self.n, self.d) for read, amount in self.reads.items())


def price(read: Read, n: int, d: int) -> float:
    """The cost of a read of n rows of d numbers, in plain passes over them; 1 for a plain pass."""
    if read.what == CONDENSING:
        once, each = _condensing()
        return once / n + each
    if read.what == SHAPE:
        return _ratio(read, d)
    one = 1.0 if read.want == 0 else _ratio(read._replace(points=1), d)
    if read.points == 1:
        return one
    several = _ratio(read._replace(points=_SEVERAL), d)
    return one + (read.points - 1) * (several - one) / (_SEVERAL - 1)


@cache
def _ratio(read: Read, d: int) -> float:
    """Seconds of a read over those of a plain pass."""
    sample = _sample(max(_NUMBERS // d, _LEAST_ROWS), d)
    other, plain = _seconds(partial(_do, read, sample), partial(_do, Read(PASS), sample))
    return other / plain


@cache
def _condensing() -> tuple[float, float]:
    """Condensing n rows takes the first, plus n times the second, in plain passes over one row."""
    times = []
    for n in _CONDENSED:
        sample = _sample(n, 1)
        X = sample.rows()
        condense, plain = _seconds(partial(CondensedSample, X), partial(_do, Read(PASS), sample))
        times.append(n * condense / plain)
    small, large = _CONDENSED
    each = (times[1] - times[0]) / (large - small)
    return max(times[0] - each * small, 0.0), each


def _sample(n: int, d: int) -> ArraySample:
    return ArraySample(gaussian(n, d, seed=0))


def _do(read: Read, sample: ArraySample) -> None:
    """Read the sample in this way."""
    d = sample.d
    if read.what == SHAPE:
        sample.shape_about(np.zeros(d), np.ones(d))
        return
    u = np.linspace(0.5, 1.0, read.points * d).reshape(read.points, d) / np.sqrt(d)
    sample.sums(u, np.zeros(read.points), read.want)


def _seconds(*several: Callable[[], Any]) -> tuple[float, ...]:
    """The shortest of a few turns of each, in the calling thread alone."""
    # whoever finds the parallel region entered computes alone
    with held(), parallel_region.entered():
        for each in several:
            each()  # compiles what it needs
        shortest = np.full(len(several), np.inf)
        begun = _clock()
        for turn in range(_TURNS):
            if turn >= _LEAST_TURNS and _clock() - begun > _SECONDS:
                break
            for place, each in enumerate(several):
                before = _clock()
                each()
                shortest[place] = min(shortest[place], _clock() - before)
    return tuple(float(each) for each in shortest)
