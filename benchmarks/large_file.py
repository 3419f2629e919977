"""A fit of a file larger than memory: ``python -m benchmarks.large_file --folder DIR``.

Makes a ``.npy`` file of two Gaussians (4*10^8 x 4 is 12.8 GB), reads it once as fast as the disk can
with nothing of it in the page cache, and fits it in a process of its own. Prints what a pass takes, in
GB/s and as a share of the disk's speed and of the pass over rows in memory, and the process's peak
memory, which must stay below ``--memory``. The file is deleted at the end.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import elubench as eb

_PIECE = 1 << 20  # rows that are written at a time
_ROOM = 1 << 24  # bytes that are read at a time


def write(path, rows, d):
    """Two Gaussians at a distance of 2, piece by piece."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (rows, d)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for seed, start in enumerate(range(0, rows, _PIECE)):
            X = eb.gaussian(min(_PIECE, rows - start), d, seed=seed)
            X[::2, 0] += 2.0
            X.tofile(file)
        file.flush()
        os.fsync(file.fileno())


def forget(path):
    """Drop the file from the page cache, where the system does as it is asked."""
    if hasattr(os, "posix_fadvise"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def disk_seconds(path):
    """To read the file once, from one end to the other."""
    forget(path)
    room = bytearray(_ROOM)
    begun = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(room):
            pass
    return time.perf_counter() - begun


def memory_seconds(d, rows=1 << 22):
    """Of a pass over a row in memory, the shortest of a few."""
    sample = eb.ArraySample(eb.gaussian(rows, d, seed=0))
    u, b = np.full((1, d), 0.3), np.zeros(1)
    times = []
    for _ in range(7):
        begun = time.perf_counter()
        sample.sums(u, b, 0)
        times.append(time.perf_counter() - begun)
    return min(times[1:]) / rows


def fitted(path):
    """In the process of its own: what the fit found, what it took, and the peak of its memory."""
    reads = []

    def note(what, done, rows):
        if done in (0, rows):
            reads.append((what, time.perf_counter()))

    eb.fit(eb.gaussian(50_000, 4, seed=0))  # compiles
    sample = eb.FileSample(path, progress=note)
    begun = time.perf_counter()
    found = eb.fit(sample)
    seconds = time.perf_counter() - begun
    spans = [
        (what, end - start) for (what, start), (_, end) in zip(reads[::2], reads[1::2], strict=True)
    ]
    u, b = np.full((1, sample.d), 0.3), np.zeros(1)
    forget(path)
    begun = time.perf_counter()
    sample.sums(u, b, 0)
    plain = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": seconds, "reads": spans, "plain": plain, "peak": peak, "passes": found.passes,
        "run_passes": float(found.run.passes), "status": found.status,
        "location": found.location.tolist(),
    }  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_file", description=__doc__)
    parser.add_argument("--folder", default=".", help="where the file is made")
    parser.add_argument("--rows", type=float, default=4e8)
    parser.add_argument("--d", type=int, default=4)
    parser.add_argument("--memory", type=float, default=2e9, help="bytes that the fit may use")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.fit:
        print(json.dumps(fitted(options.fit)))
        return 0
    rows = int(options.rows)
    path = Path(options.folder) / "large_file.npy"
    try:
        write(path, rows, options.d)
        size = path.stat().st_size
        disk = disk_seconds(path)
        forget(path)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.large_file", "--fit", str(path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        path.unlink(missing_ok=True)
    found = json.loads(done.stdout.splitlines()[-1])
    memory = memory_seconds(options.d) * rows
    print(f"{rows:,} rows x {options.d}, {size / 1e9:.3g} GB")
    print(f"disk            {size / disk / 1e9:8.2f} GB/s  {disk:8.2f} s")
    print(
        f"pass from disk  {size / found['plain'] / 1e9:8.2f} GB/s  {found['plain']:8.2f} s  "
        f"{disk / found['plain']:.0%} of the disk's speed, "
        f"{found['plain'] / memory:.1f} times a pass over rows in memory"
    )
    total = sum(seconds for _, seconds in found["reads"])
    print(
        f"fit             {found['seconds']:8.2f} s in {found['passes']:.1f} passes "
        f"({found['run_passes']:.0f} of them in runs), {total:.2f} s of it reading; {found['status']}"
    )
    print(f"peak memory     {found['peak'] / 1e9:8.2f} GB of {options.memory / 1e9:g}")
    return 0 if found["peak"] <= options.memory else 1


if __name__ == "__main__":
    sys.exit(main())
