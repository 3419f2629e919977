"""Before the first result, for asv: importing, compiling, loading from the cache; and peak memory.

Everything here happens in new processes.
"""

import json
import os
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path

from benchmarks.profiles import Suite, by_profile, grid

WARMUP = """
import json, time
begun = time.perf_counter()
import elubench
elubench.warmup()
print(json.dumps(time.perf_counter() - begun))
"""
FIRST_RUN = """
import json, time
begun = time.perf_counter()
import elubench as eb
sample = eb.ArraySample(eb.gaussian(n=10_000, d=2, seed=0))
radius = eb.radius("isotropic", n=10_000, d=2, constant=2.0)
ended = eb.run(sample, "isotropic", eb.EM(), [0.5, 0.5], radius=radius)
took = time.perf_counter() - begun
assert ended.status == "reached", ended
print(json.dumps(took))
"""
FIRST = {"first run": FIRST_RUN, "all kernels": WARMUP}
FIT = """
import json, sys

def memory(line):
    with open("/proc/self/status") as file:
        lines = dict(each.split(":", 1) for each in file)
    return 1024 * int(lines[line].split()[0])

n, d = int(sys.argv[1]), int(sys.argv[2])
import elubench as eb
eb.fit(eb.gaussian(n=1000, d=d, seed=1), "isotropic")  # the kernels
X = eb.gaussian(n=n, d=d, seed=0)
try:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak of the draws
except OSError:
    pass
before = memory("VmRSS")
fit = eb.fit(X, "isotropic")
after = memory("VmHWM")
assert fit.regime == "over-specified", fit.summary()
print(json.dumps([before, after, X.nbytes]))
"""
MEBI = 2**20
BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": ""}  # or every import compiles Python, too


def environment(folder=None):
    """Ours, with byte code written and, if asked for, a kernel cache of its own."""
    variables = {**os.environ, **BYTE_CODE}
    if folder is not None:
        variables["ELUBENCH_CACHE_DIR"] = str(folder)
    return variables


def child(code, *arguments, folder=None):
    """What the code prints, run by a new interpreter."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, env=environment(folder), check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


class Compiling(Suite):
    """Seconds from the first import to a first run's end, and to all kernels compiled or loaded."""

    params = (grid("first run", "all kernels"),)
    param_names = ("what",)
    version = "1"  # to be raised with what is run: asv looks at the code of the methods alone

    def setup_cache(self):
        child("import elubench.runs; print(0)")  # byte code, once for all starts
        folders = {what: Path.cwd() / what for what in self.params[0]}
        return {
            what: (folder, child(FIRST[what], folder=folder)) for what, folder in folders.items()
        }

    setup_cache.timeout = 1200

    def track_cold(self, made, what):
        return made[what][1]

    track_cold.unit = "s"

    def track_from_cache(self, made, what):
        return statistics.median(child(FIRST[what], folder=made[what][0]) for _ in range(3))

    track_from_cache.unit = "s"


class Importing(Suite):
    """Seconds of an import in a new process; ``import elubench`` itself loads next to nothing."""

    params = (grid("elubench", "elubench.cli", "elubench.runs", "elubench.fits"),)
    param_names = ("module",)
    number = 1
    repeat = by_profile((3, 5, 5.0), (5, 10, 10.0), (5, 20, 20.0))

    def timeraw_import(self, module):
        return f"import {module}"

    timeraw_import.env = BYTE_CODE


class Memory(Suite):
    """Peak memory of a process that fits two Gaussians to n rows; Linux alone tells."""

    params = (grid(10_000_000), grid(1, large=(4,)))
    param_names = ("n", "d")
    version = "1"  # to be raised with what is run: asv looks at the code of the methods alone
    timeout = 600

    def setup_cache(self):
        if not Path("/proc/self/status").exists():
            return {}
        return {sizes: child(FIT, *sizes) for sizes in product(*self.params)}

    setup_cache.timeout = 1200

    def setup(self, found, n, d):
        if not found:
            raise NotImplementedError("this system does not tell peak memory")

    def track_peak(self, found, n, d):
        return found[n, d][1] / MEBI

    track_peak.unit = "MiB"

    def track_beyond_data(self, found, n, d):
        """Less what the process had before the fit, the data among it."""
        before, after, data = found[n, d]
        return (after - before) / data

    track_beyond_data.unit = "copies of the data"
