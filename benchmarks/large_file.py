"""A fit of a file larger than memory: ``python -m benchmarks.large_file --folder DIR``.

Makes a ``.npy`` file of two Gaussians (4*10^8 x 4 is 12.8 GB) unless it is there, and fits it in a
process of its own, whose private memory the system limits to ``--memory`` (RLIMIT_DATA: heap and
anonymous maps, not the page cache). Before every read the file is dropped from the page cache. Before
and after the fit, the file is read from one end to the other and nothing else is done; the faster of
the two is the disk's own speed. The fit must read at 70 % or more of that speed, or of a pass over rows
in memory, whichever is slower, and its peak memory must stay below the limit. The file is deleted at the
end, unless it is to be kept. For Linux: elsewhere the limit and the peak are other quantities.
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


def fitted(path, limit):
    """In the process of its own: what the fit found, the seconds of every read, and its peak memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        np.ones(limit // 8)
    except MemoryError:
        pass
    else:
        raise SystemExit("this system does not limit a process's memory")
    reads = []

    def note(what, done, rows):
        if done == 0:
            forget(path)
            reads.append([what, time.perf_counter()])
        elif done == rows:
            reads[-1][1] = time.perf_counter() - reads[-1][1]

    eb.fit(eb.gaussian(50_000, 4, seed=0))  # compiles
    begun = time.perf_counter()
    found = eb.fit(eb.FileSample(path, progress=note))
    return {
        "seconds": time.perf_counter() - begun, "reads": reads, "passes": found.passes,
        "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "status": found.status,
    }  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_file", description=__doc__)
    parser.add_argument("--folder", default=".", help="where the file is made")
    parser.add_argument("--rows", type=float, default=4e8)
    parser.add_argument("--d", type=int, default=4)
    parser.add_argument("--memory", type=float, default=2e9, help="bytes that the fit may use")
    parser.add_argument("--keep", action="store_true", help="keep the file for another time")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    rows, limit = int(options.rows), int(options.memory)
    if options.fit:
        print(json.dumps(fitted(options.fit, limit)))
        return 0
    path = Path(options.folder) / "large_file.npy"
    try:
        if not path.exists():
            write(path, rows, options.d)
        size = path.stat().st_size
        disk = [disk_seconds(path)]
        command = [sys.executable, "-m", "benchmarks.large_file", "--memory", str(limit)]
        done = subprocess.run(
            [*command, "--fit", str(path)], stdout=subprocess.PIPE, text=True, check=True
        )
        disk.append(disk_seconds(path))
    finally:
        if not options.keep:
            path.unlink(missing_ok=True)
    found = json.loads(done.stdout.splitlines()[-1])
    memory = memory_seconds(options.d) * rows
    print(f"{rows:,} rows x {options.d}, {size / 1e9:.3g} GB")
    print(f"memory         {memory:7.2f} s a pass, {size / memory / 1e9:.2f} GB/s")
    for name, seconds in (("disk before", disk[0]), *found["reads"], ("disk after", disk[1])):
        print(f"{name:<14} {seconds:7.2f} s, {size / seconds / 1e9:.2f} GB/s")
    reads = [seconds for _, seconds in found["reads"]]
    share = max(min(disk), memory) / np.mean(reads)
    print(f"fit            {found['seconds']:7.2f} s in {len(reads)} reads; {found['status']}")
    print(f"speed          {share:7.0%} of the slower of disk and memory; at least 70 %")
    print(f"peak memory    {found['peak'] / 1e9:7.2f} GB of {limit / 1e9:g}")
    return 0 if found["peak"] <= limit and share >= 0.7 else 1


if __name__ == "__main__":
    sys.exit(main())
