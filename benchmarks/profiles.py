"""What the suites share: the profile, its values of a parameter, and how asv samples.

``ELUBENCH_BENCH_PROFILE`` is ``fast`` (the default), ``regular`` or ``large``. A larger profile has more
values of the parameters, never other ones, and the same parameters mean the same work in each: so
results of different profiles lie side by side and can be compared point by point. ``smallest`` has the
first value of each parameter alone, to see that every benchmark runs.
"""

import functools
import inspect
import os
import time
import timeit

VARIABLE = "ELUBENCH_BENCH_PROFILE"
PROFILES = ("smallest", "fast", "regular", "large")


def profile():
    """The profile that was asked for."""
    asked = os.environ.get(VARIABLE) or "fast"
    if asked not in PROFILES:
        raise ValueError(f"{VARIABLE}: expected one of {', '.join(PROFILES)}; got {asked!r}")
    return asked


def grid(*fast, regular=(), large=()):
    """Values of a parameter; a larger profile adds its own to those of the smaller ones."""
    count = {"smallest": 1, "fast": len(fast), "regular": len(fast) + len(regular)}
    values = [*fast, *regular, *large][: count.get(profile())]
    return values if isinstance(values[0], str) else sorted(values)


def by_profile(fast, regular, large):
    """A setting that changes how long is measured, and not what."""
    return {"regular": regular, "large": large}.get(profile(), fast)


def once(setup):
    """A ``setup`` that works on its first call and is called again at no cost.

    asv calls it before every sample. Only for benchmarks that leave what they use as they found it.
    """

    @functools.wraps(setup)
    def prepared(self, *params):
        if vars(self).get("_prepared") != params:
            setup(self, *params)
            self._prepared = params

    prepared.__signature__ = inspect.signature(setup)  # what `asv check` looks at
    return prepared


def clock(threads):
    """How a benchmark is timed: by the wall clock, or what it would show without neighbours.

    The time of the one thread leaves out what it waits for a core. On two cores with a load of four,
    medians of a run of 16 ms lay within a factor of 1.14, and those of the wall clock within 2.3.
    """
    return time.thread_time if threads == 1 else timeit.default_timer


class Suite:
    """How asv samples: calls one by one, since there is a ``setup``; so there are many samples."""

    timeout = by_profile(120, 600, 3600)  # seconds for one combination of parameters
    rounds = by_profile(1, 2, 2)  # processes that samples are taken from
    repeat = by_profile((3, 300, 0.2), (5, 500, 1.5), (5, 500, 5.0))  # at least, at most, seconds
    warmup_time = 0.05
