"""What a first use costs, as lines of the table of limits: everything in new processes."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

import numpy as np

from benchmarks.lines import Line, seconds
from benchmarks.startup import WARMUP, child, environment
from elubench import gaussian

FIRST_RESULT = """
import json, time
start = time.perf_counter()
import elubench
sample = elubench.ArraySample(elubench.gaussian(n=100_000, d=4, seed=0))
sample.tanh_moments([0.1, 0.1, 0.1, 0.1], log_cosh=True)
print(json.dumps(time.perf_counter() - start))
"""


def start_up(rounds):
    """First use with an empty kernel cache, and later starts with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        run = partial(child, folder=folder)
        run("import elubench.runs, elubench.info; print(0)")  # byte code, once for all starts
        cold = run(WARMUP)
        later = statistics.median(run(FIRST_RESULT) for _ in range(max(3, rounds // 3)))
    return [
        Line("all kernels, cold cache", "<= 40 s", seconds(cold), cold),
        Line("import to first result, later", "<= 2.5 s", seconds(later), later),
    ]


def first_fit():
    """CPU seconds of ``elubench fit`` of a small file with an empty kernel cache; wall time, too.

    The second of two is taken, each with a cache of its own: the first may compile Python to byte code,
    which pip does when it installs, unless it is told not to.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "rows.csv")
        np.savetxt(data, gaussian(1000, 2, seed=1), delimiter=",", header="a,b", comments="")
        command = [sys.executable, "-m", "elubench", "fit", data]
        for name in ("byte code", "cache"):
            own = environment(os.path.join(folder, name))
            before, begun = os.times(), time.perf_counter()
            subprocess.run(command, env=own, check=True, capture_output=True)
            spent, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Line("first elubench fit, CPU seconds", "<= 10 s", f"{seconds(spent)} in all", cpu)
