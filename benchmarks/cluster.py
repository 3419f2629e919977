"""Passes on Dask workers of this machine: ``python -m benchmarks.cluster``.

Compares a pass on one and on two workers with one over rows in memory (the bits must be equal), measures
what a round costs apart from the rows, and fits

    seconds of a round = a + b chunks + c rows / workers

by least squares with coefficients that are not negative. The last lines are a prediction, not a
measurement: 10^12 rows on 1,000 workers of one thread each, with a latency of ``--latency`` in place of
this machine's. ``--kills K`` kills a worker at a random moment of each of K fits and counts the fits
with the right answer.
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
from elubench.kernels.tiles import BLOCK_ROWS
from elubench.samples import dask
from elubench.samples.cluster import client_at


def rows_of(n, d):
    X = eb.gaussian(n, d, seed=0)
    X[::2, 0] += 2.0
    return X


def pass_seconds(sample, turns):
    """Of one plain pass: all turns, after one that loads the kernel."""
    u, b = np.full((1, sample.d), 0.3), np.zeros(1)
    sample.sums(u, b, 0)
    times = []
    for _ in range(turns):
        begun = time.perf_counter()
        found = sample.sums(u, b, 0)
        times.append(time.perf_counter() - begun)
    return np.array(times), found


def measured(options, folder):
    """A row for every number of workers, rows and chunks: those, and the median seconds of a pass."""
    table, d, path = [], options.d, Path(folder) / "rows.npy"
    for workers in (1, 2):
        with client_at(None, workers) as client:
            for n in (2 * BLOCK_ROWS, int(options.rows) // 4, int(options.rows)):
                X = rows_of(n, d)
                np.save(path, X)
                memory, expected = pass_seconds(eb.ArraySample(X), options.turns)
                for chunks in (1, 4, 16):
                    dask._PER_THREAD = chunks
                    with eb.DaskSample(path, client=client) as sample:
                        seconds, found = pass_seconds(sample, options.turns)
                        number = len(sample._chunks)
                    same = bool((found == expected).all())
                    middle = float(np.median(seconds))
                    table.append((workers, n, number, middle))
                    print(
                        f"{workers} worker{'s' * (workers > 1)}  {n:>11,} rows  {number:>3} chunks  "
                        f"{1e3 * middle:8.2f} ms  {middle / np.median(memory):8.2f} times in memory  "
                        f"{'same bits' if same else 'OTHER BITS'}",
                        flush=True,
                    )
                    if not same:
                        raise SystemExit("a pass on workers differs from one in memory")
    return table


def predict(table, options):
    workers, n, chunks, seconds = np.array(table).T
    columns = np.column_stack([np.ones(len(n)), chunks, n / workers])
    (a, b, c), _ = nnls(columns / seconds[:, None], np.ones(len(n)))  # relative errors
    off = np.abs(columns @ [a, b, c] / seconds - 1.0)
    print(
        f"seconds of a round = {1e3 * a:.2f} ms + {1e3 * b:.3f} ms chunks + {1e9 * c:.2f} ns rows / "
        f"workers; off by {np.median(off):.0%} (median), {off.max():.0%} (largest)"
    )
    rows, many = 10**12, 1000
    of_chunk = BLOCK_ROWS
    while 2 * of_chunk * options.d <= min(dask._MOST_NUMBERS, rows * options.d // (2 * many)):
        of_chunk *= 2
    count = -(-rows // of_chunk)
    latency = 2e-3 * options.latency  # there and back, in milliseconds
    total = a + latency + b * count + c * rows / many
    print(
        f"prediction, not measured: 10^12 rows on {many:,} workers, {count:,} chunks: {total:.1f} s a "
        f"round, of which {b * count:.1f} s the scheduler and {c * rows / many:.1f} s the rows; "
        f"{15 * total / 60:.1f} min for a fit of 15 rounds"
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
            client.wait_for_workers(2, timeout=60)
            victim = draw.choice(sorted(client.run(os.getpid).values()))
            killer = threading.Timer(draw.uniform(0.0, usual), os.kill, (victim, signal.SIGKILL))
            with eb.DaskSample(collection, client=client) as sample:
                killer.start()
                found = eb.fit(sample).as_dict()
                killer.join()
            right += found | {"seconds": 0} == expected
            print(
                f"\r{right} of {number + 1} fits with a killed worker are right", end="", flush=True
            )
    print()
    return right == options.kills


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--d", type=int, default=4)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--latency", type=float, default=0.2, help="ms, of a network one way")
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        table = measured(options, folder)
    predict(table, options)
    return 0 if options.kills == 0 or kills(options) else 1


if __name__ == "__main__":
    sys.exit(main())
