"""Passes on Dask workers of this machine: ``python -m benchmarks.cluster``.

Compares a pass on one and on two workers with one over rows in memory (the bits must be equal), measures
what a round costs apart from the rows, and fits

    seconds of a round = a + b tasks + c rows / workers

by least squares of relative errors, with coefficients that are not negative. On two workers, a round of
few rows must take less than 20 ms, and one of all rows at most 1.15 times as long as in memory. The last
lines are a prediction, not a measurement: 10^12 rows on 1,000 workers of one thread each, with a latency
of ``--latency`` added to this machine's. ``--kills K`` does none of this: it kills a worker at a random
moment of each of K fits and counts the fits with the right answer.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

import elubench as eb
from benchmarks.large_file import write
from elubench.kernels.tiles import BLOCK_ROWS
from elubench.samples import dask
from elubench.samples.cluster import client_at


def rows_of(n, d):
    X = eb.gaussian(n, d, seed=0)
    X[::2, 0] += 2.0
    return X


def pass_seconds(sample, memory, turns):
    """Median seconds of one plain pass, and of one over rows in memory, in turns; if bits are equal."""
    u, b = np.full((1, sample.d), 0.3), np.zeros(1)
    times = []
    for _ in range(turns + 1):  # the first loads the kernel
        begun = time.perf_counter()
        expected = memory.sums(u, b, 0)
        between = time.perf_counter()
        found = sample.sums(u, b, 0)
        times.append((time.perf_counter() - between, between - begun))
    return *np.median(times[1:], axis=0).tolist(), bool((found == expected).all())


def measured(options, folder):
    """A row for every number of workers, rows and tasks: those, and the seconds of a pass."""
    table, kept, few = [], True, 2 * BLOCK_ROWS
    with client_at(None, 1) as one, client_at(None, 2) as two:
        for n in (few, int(options.rows) // 4, int(options.rows)):
            path = Path(folder) / "rows.npy"
            write(path, n, options.d)
            memory = eb.ArraySample(np.load(path, mmap_mode="r"))
            for workers, client in ((1, one), (2, two)):
                for whole in (True, False):  # a task per worker, or many
                    dask._BUNDLE_NUMBERS = 1 << 30 if whole else n * options.d // (8 * workers)
                    with eb.DaskSample(path, client=client) as sample:
                        seconds, alone, same = pass_seconds(sample, memory, options.turns)
                        tasks = len(sample._bundles)
                    table.append((workers, n, tasks, seconds))
                    print(
                        f"{workers} worker{'s' * (workers > 1)}  {n:>11,} rows  {tasks:>3} tasks  "
                        f"{1e3 * seconds:8.2f} ms  {seconds / alone:8.2f} times in memory  "
                        f"{'same bits' if same else 'OTHER BITS'}",
                        flush=True,
                    )
                    if workers == 2 and whole and n == few:
                        kept = kept and seconds < 0.020
                    if workers == 2 and whole and n == int(options.rows):
                        kept = kept and seconds <= 1.15 * alone
                    kept = kept and same
    print("within the limits" if kept else "NOT within the limits")
    return table, kept


def predict(table, options):
    workers, n, tasks, seconds = np.array(table).T
    columns = np.column_stack([np.ones(len(n)), tasks, n / workers])
    (a, b, c), _ = nnls(columns / seconds[:, None], np.ones(len(n)))  # relative errors
    off = np.abs(columns @ [a, b, c] / seconds - 1.0)
    print(
        f"seconds of a round = {1e3 * a:.2f} ms + {1e3 * b:.3f} ms tasks + {1e9 * c:.2f} ns rows / "
        f"workers; off by {np.median(off):.0%} (median), {off.max():.0%} (largest)"
    )
    rows, many = 10**12, 1000
    count = many * -(-rows * options.d // (many * (1 << 30)))
    latency = 2e-3 * options.latency  # there and back, in milliseconds
    total = a + latency + b * count + c * rows / many
    print(
        f"prediction, not measured: 10^12 rows x {options.d} on {many:,} workers, {count:,} tasks: "
        f"{total:.1f} s a round, of which {b * count:.1f} s the scheduler and {c * rows / many:.1f} s "
        f"the rows; {10 * total:.0f} s for a fit of 10 rounds"
    )


def kills(options):
    """Fits during each of which a worker is killed; how many had the right answer."""
    import dask.array as da

    X = rows_of(max(int(options.rows) // 20, 4 * BLOCK_ROWS), options.d)
    expected, right = eb.fit(X).as_dict() | {"seconds": 0}, 0
    with client_at(None, 2) as client:
        collection = da.from_array(X, chunks=(BLOCK_ROWS * 4, options.d))
        with eb.DaskSample(collection, client=client) as sample:
            eb.fit(sample)
            begun = time.perf_counter()
            eb.fit(sample)
            usual = time.perf_counter() - begun
        for number in range(options.kills):
            draw = random.Random(number)
            client.wait_for_workers(2, timeout=600)  # a new process, on a busy machine
            address, victim = draw.choice(sorted(client.run(os.getpid).items()))
            killer = threading.Timer(draw.uniform(0.0, usual), os.kill, (victim, signal.SIGKILL))
            same = True
            with eb.DaskSample(collection, client=client) as sample:
                killer.start()
                while (
                    not killer.finished.is_set()
                ):  # the worker dies during a fit, the first or a later
                    same &= eb.fit(sample).as_dict() | {"seconds": 0} == expected
            while address in client.nthreads():  # until the scheduler has seen it
                time.sleep(0.1)
            right += same
            print(
                f"\r{right} of {number + 1} fits with a killed worker are right", end="", flush=True
            )
    print()
    return right == options.kills


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--folder", help="where a file of the rows is made, for a while")
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--d", type=int, default=4)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--latency", type=float, default=0.2, help="ms, of a network one way")
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.kills:
        return 0 if kills(options) else 1
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        table, kept = measured(options, folder)
    predict(table, options)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
