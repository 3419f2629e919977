"""The limits that the kernels are held to, measured in one run: ``python -m benchmarks.limits``.

What is compared is timed in turns, so that a disturbance of the machine meets both sides, and the
medians are compared. Nothing fails here: the table says what was reached.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np

from benchmarks.kernels import add_up, check_pass, direction, library_tanh
from benchmarks.runs import check_em, iterate, python_overhead
from elubench import ELU, EM, CondensedSample, LatticeSample, Simultaneous, fit, run, run_many
from elubench.kernels import layout, reduction
from elubench.samples import ArraySample, gaussian

HEADINGS = ("what", "target", "measured", "ratio", "")
WIDTHS = (37, 8, 20, 7, 4)


class Line(NamedTuple):
    """One row: ``ratio`` is what the target is about; ``target`` is such as ">= 120"."""

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
        verdict = "yes" if self.reached else "NO"
        return columns(self.what, self.target, self.measured, f"{self.ratio:.3g}", verdict)


def columns(*cells):
    what, target, measured, ratio, verdict = cells
    sized = zip((what, target, measured), WIDTHS, strict=False)
    left = " ".join(cell.ljust(width) for cell, width in sized)
    return f"{left} {ratio.rjust(WIDTHS[3])} {verdict}".rstrip()


def seconds(value):
    """A time in three digits with its unit."""
    if value >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} us"


def in_turns(cases, rounds, at_least=0.02, rest=0.02):
    """Median seconds of a call of each case; a round calls every case for ``at_least`` seconds.

    Before that it waits for threads of the case before, which spin for a while: ``rest`` seconds.
    """
    calls = {}
    for name, case in cases.items():
        case()
        start = time.perf_counter()
        case()
        calls[name] = max(1, round(at_least / max(time.perf_counter() - start, 1e-7)))
    taken = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            time.sleep(rest)
            case()
            start = time.perf_counter()
            for _ in range(calls[name]):
                case()
            taken[name].append((time.perf_counter() - start) / calls[name])
    return {name: statistics.median(times) for name, times in taken.items()}


def with_threads(threads, case):
    """The case, always with this number of threads."""

    def run():
        numba.set_num_threads(threads)
        return case()

    return run


def prepared(n, d):
    """A checked sample, its pass for one direction, and the rows."""
    X = gaussian(n, d, seed=1)
    sample, u, b = ArraySample(X), direction(d), np.zeros(1)
    check_pass(sample, X, u)
    return sample, lambda: sample.sums(u, b, 0), X


def beside_scikit_learn(case, X, rounds, threads):
    """Seconds of a case and of an EM iteration: the difference of two fits, one three longer."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    def fit(iterations):
        options = {"tol": 0.0, "init_params": "random_from_data", "random_state": 0}
        mixture = GaussianMixture(2, covariance_type="spherical", max_iter=iterations, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(X)
        assert mixture.n_iter_ == iterations

    took = in_turns(
        {
            "case": with_threads(threads, case),
            "short": lambda: fit(1),
            "long": lambda: fit(4),
        },
        max(3, rounds // 3),
        rest=0.15,  # BLAS's threads keep a core busy for 0.12 s after their work
    )
    return took["case"], (took["long"] - took["short"]) / 3


def against_scikit_learn(d, scale, rounds, threads):
    _, one_pass, X = prepared(int(1_000_000 * scale), d)
    took, iteration = beside_scikit_learn(one_pass, X, rounds, threads)
    return Line(
        f"pass, d={d}, and scikit-learn's EM step",
        ">= 120",
        f"{seconds(took)}, {seconds(iteration)}",
        iteration / took,
    )


def against_reading(d, scale, rounds, threads):
    sample, one_pass, X = prepared(int(16_000_000 * scale) // d, d)
    flat = sample.tiles.data.reshape(-1)
    np.testing.assert_allclose(add_up(flat), X.sum(), rtol=0, atol=1e-9 * X.size)
    took = in_turns(
        {
            "pass": with_threads(threads, one_pass),
            "read": with_threads(threads, lambda: add_up(flat)),
        },
        rounds,
    )
    return Line(
        f"pass, d={d}, and only summing the data",
        "<= 1.5",
        f"{seconds(took['pass'])}, {seconds(took['read'])}",
        took["pass"] / took["read"],
    )


def against_math_tanh(scale, rounds, threads):
    _, one_pass, X = prepared(int(1_000_000 * scale), 1)
    x = X[:, 0].copy()
    took = in_turns(
        {
            "pass": with_threads(threads, one_pass),
            "loop": with_threads(threads, lambda: library_tanh(x, 0.3, 0.0)),
        },
        rounds,
    )
    return Line(
        "pass, d=1, and a loop of math.tanh",
        ">= 6",
        f"{seconds(took['pass'])}, {seconds(took['loop'])}",
        took["loop"] / took["pass"],
    )


def two_directions(scale, rounds, threads):
    sample, one_pass, _ = prepared(int(1_000_000 * scale), 16)
    two, offsets = np.concatenate([direction(16), -0.5 * direction(16)]), np.zeros(2)
    took = in_turns(
        {
            "one": with_threads(threads, one_pass),
            "two": with_threads(threads, lambda: sample.sums(two, offsets, 0)),
        },
        rounds,
    )
    return Line(
        "two directions and one, d=16",
        "<= 1.7",
        f"{seconds(took['two'])}, {seconds(took['one'])}",
        took["two"] / took["one"],
    )


def two_threads(d, scale, rounds):
    _, one_pass, _ = prepared(int(1_000_000 * scale), d)
    took = in_turns(
        {"one": with_threads(1, one_pass), "two": with_threads(2, one_pass)},
        rounds,
    )
    return Line(
        f"two threads and one, d={d}, n=10^6",
        ">= 1.7",
        f"{seconds(took['two'])}, {seconds(took['one'])}",
        took["one"] / took["two"],
    )


def everything(d, scale, rounds, threads):
    """What the loss and the second-order sums add to a pass."""
    sample, one_pass, _ = prepared(int(1_000_000 * scale), d)
    u, b, want = direction(d), np.zeros(1), layout.LOG_COSH | layout.CURVATURE
    took = in_turns(
        {
            "all": with_threads(threads, lambda: sample.sums(u, b, want)),
            "plain": with_threads(threads, one_pass),
        },
        rounds,
    )
    return Line(
        f"full pass and plain pass, d={d}",
        "<= 1.5",
        f"{seconds(took['all'])}, {seconds(took['plain'])}",
        took["all"] / took["plain"],
    )


def packing(d, target, scale, rounds, threads):
    """Packing and a copy of X by as many threads: both read it and write as much to new memory."""
    X = gaussian(int(4_000_000 * scale) // d, d, seed=1)
    took = in_turns(
        {
            "pack": with_threads(threads, lambda: ArraySample(X)),
            "copy": lambda: copied(X, threads),
        },
        rounds,
    )
    return Line(
        f"packing and copying X, d={d}",
        target,
        f"{seconds(took['pack'])}, {seconds(took['copy'])}",
        took["pack"] / took["copy"],
    )


def copied(X, threads):
    """A copy of X by this many threads, each of which writes its part first."""
    made = np.empty(X.shape)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(np.copyto, np.array_split(made, threads), np.array_split(X, threads)))
    return made


def whole_fit(d, target, scale, rounds, threads):
    """fit(X), from an array to the answer, and a plain pass."""
    _, one_pass, X = prepared(int(1_000_000 * scale), d)
    took = in_turns(
        {
            "fit": with_threads(threads, lambda: fit(X)),
            "pass": with_threads(threads, one_pass),
        },
        max(3, rounds // 3),
    )
    return Line(
        f"fit(X) and a plain pass, d={d}",
        target,
        f"{seconds(took['fit'])}, {seconds(took['pass'])}",
        took["fit"] / took["pass"],
    )


def fit_against_scikit_learn(d, scale, rounds, threads, most=5000):
    """fit(X), and scikit-learn's EM to a log-likelihood at most 0.01 lower: an estimate.

    scikit-learn's iterations are EM's, so ours are counted, at most so many, and multiplied by what one
    of scikit-learn's takes: running them would take up to an hour. Their number is in the line.
    """
    X = gaussian(int(1_000_000 * scale), d, seed=1)
    sample = ArraySample(X)
    wanted = fit(sample, "isotropic").gain - 0.01
    ended = run(sample, "isotropic", EM(), np.full(d, 0.8 / np.sqrt(d)), max_iter=most)
    found = np.flatnonzero(-len(X) * ended.trace["gap"].to_numpy() >= wanted)
    iterations = int(ended.trace["t"].iloc[found[0]]) if found.size else most
    took, iteration = beside_scikit_learn(lambda: fit(X, "isotropic"), X, rounds, threads)
    theirs = iterations * iteration
    return Line(
        f"scikit-learn ({iterations}) and fit(X), d={d}",
        ">= 5000",
        f"{'' if found.size else '> '}{seconds(theirs)}, {seconds(took)}",
        theirs / took,
    )


FIRST_RESULT = """
import json, time
start = time.perf_counter()
import elubench
sample = elubench.ArraySample(elubench.gaussian(n=100_000, d=4, seed=0))
sample.tanh_moments([0.1, 0.1, 0.1, 0.1], log_cosh=True)
print(json.dumps(time.perf_counter() - start))
"""
WARMUP = """
import json, time
start = time.perf_counter()
import elubench
elubench.warmup()
print(json.dumps(time.perf_counter() - start))
"""


def start_up(rounds):
    """First use with an empty kernel cache, and later starts with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ELUBENCH_CACHE_DIR": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or every import compiles Python, too

        def run(code):
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, env=environment, check=True, capture_output=True)
            return json.loads(done.stdout)

        run("import elubench.runs, elubench.info; print(0)")  # byte code, once for all starts
        cold = run(WARMUP)
        later = statistics.median(run(FIRST_RESULT) for _ in range(max(3, rounds // 3)))
    return [
        Line("all kernels, cold cache", "<= 40 s", seconds(cold), cold),
        Line("import to first result, later", "<= 2.5 s", seconds(later), later),
    ]


def condensing(scale, rounds, threads):
    """Reading d = 1 data once, what EM costs then, and a whole fit, in plain passes."""
    n = int(10_000_000 * scale)
    full, one_pass, X = prepared(n, 1)
    condensed = CondensedSample(X)
    u, b = direction(1), np.zeros(1)
    np.testing.assert_allclose(condensed.sums(u, b, 3), full.sums(u, b, 3), rtol=1e-13, atol=1e-15)
    short = 10  # iterations over all rows are timed, and scaled to the same number
    took = in_turns(
        {
            "pass": with_threads(threads, one_pass),
            "read": with_threads(threads, lambda: CondensedSample(X)),
            "EM": with_threads(threads, lambda: iterate(condensed, "isotropic", EM(), 7000)),
            "full": with_threads(threads, lambda: iterate(full, "isotropic", EM(), short)),
        },
        rounds,
    )
    em = 7000 / short * took["full"]
    of = f"n=10^{np.log10(n):.3g}"
    yield Line(
        f"condensing and a pass, d=1, {of}",
        "<= 5",
        f"{seconds(took['read'])}, {seconds(took['pass'])}",
        took["read"] / took["pass"],
    )
    yield Line(
        f"7000 EM steps and condensed, {of}",
        ">= 300",
        f"{seconds(em)}, {seconds(took['EM'])}",
        em / took["EM"],
    )


def first_fit():
    """CPU seconds of ``elubench fit`` of a small file with an empty kernel cache; wall time, too."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "rows.csv")
        np.savetxt(data, gaussian(1000, 2, seed=1), delimiter=",", header="a,b", comments="")
        environment = {**os.environ, "ELUBENCH_CACHE_DIR": os.path.join(folder, "cache")}
        command = [sys.executable, "-m", "elubench", "fit", data]
        before, begun = os.times(), time.perf_counter()
        subprocess.run(command, env=environment, check=True, capture_output=True)
        spent, after = time.perf_counter() - begun, os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Line("first elubench fit, CPU seconds", "<= 10 s", f"{seconds(spent)} in all", cpu)


def memory(scale):
    X = gaussian(int(4_000_000 * scale), 4, seed=1)
    tracemalloc.start()
    ArraySample(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    megabytes = f"{peak / 2**20:.0f} MiB, {X.nbytes / 2**20:.0f} MiB"
    return Line("largest memory of ArraySample and X", "<= 1.3", megabytes, peak / X.nbytes)


def parallel_from(rounds):
    """Where a parallel region begins to pay, for the constant in the kernels."""
    sizes = [512 * 2**k for k in range(4, 10)]
    usual, found = reduction.PARALLEL_FROM, []
    try:
        for n in sizes:
            _, one_pass, _ = prepared(n, 1)
            reduction.PARALLEL_FROM = 0
            took = in_turns({t: with_threads(t, one_pass) for t in (1, 2)}, rounds, 0.005)
            found.append(f"{n}: {took[1] / took[2]:.2f}")
    finally:
        reduction.PARALLEL_FROM = usual
    return "speed-up by two threads by n, d=1:\n  " + ", ".join(found)


def lattice_runs(scale, rounds):
    """EM on a lattice: iterations a second of the compiled loop, one thread, best of the rounds."""
    numba.set_num_threads(1)
    sample = LatticeSample.gaussian(10**10, 1, seed=1)
    check_em(sample, "isotropic")
    count = max(1000, int(1_000_000 * scale))
    took = min(iterate(sample, "isotropic", EM(), count).seconds for _ in range(rounds)) / count
    return Line("EM iterations a second, d=1, n=10^10", ">= 2e6", seconds(took), 1 / took)


def beside_em(algorithm, d, target, scale, rounds, threads, iterations=10):
    """An iteration of another algorithm and one of EM, n = 10^6."""
    sample = ArraySample(gaussian(int(1_000_000 * scale), d, seed=1))
    check_em(sample, "isotropic")
    cases = {"other": algorithm, "EM": EM()}
    took = in_turns(
        {
            name: with_threads(threads, lambda a=each: iterate(sample, "isotropic", a, iterations))
            for name, each in cases.items()
        },
        rounds,
    )
    return Line(
        f"{algorithm.name} and EM, d={d}",
        target,
        f"{seconds(took['other'] / iterations)}, {seconds(took['EM'] / iterations)}",
        took["other"] / took["EM"],
    )


def driver_cost(rounds):
    numba.set_num_threads(1)
    cost = python_overhead(rounds)
    return Line("Python driver beyond the pass, us", "<= 30", seconds(cost), cost * 1e6)


def growth(d, most, scale):
    """How iterations to the radius 2 (d/n)^(1/4) grow from n = 10^4 on; not a matter of time."""
    replicates = max(2, int((16 if d < 4 else 4) * scale))
    sizes = [10**k for k in range(4, most + 1)]
    start, em, elu = np.full(d, 0.8 / np.sqrt(d)), [], []
    for n in sizes:
        samples = [LatticeSample.gaussian(n, d, seed) for seed in range(replicates)]
        options = {"radius": 2 * (d / n) ** 0.25, "max_iter": 100_000}
        for algorithm, out in ((EM(), em), (ELU(0.01, 0.8), elu)):
            results = run_many(samples, "isotropic", algorithm, start, **options)
            out.append(statistics.median(result.n_iter for result in results))
    ln = np.log(sizes)
    of_em, of_elu = np.polyfit(ln, np.log(em), 1)[0], np.polyfit(ln, elu, 1)[0]
    reach = f"to 10^{most}"
    return [
        Line(f"EM exponent less 0.5, d={d}", "<= 0.02", f"{of_em:.3f}, {reach}", abs(of_em - 0.5)),
        Line(
            f"ELU a ln n less 2.24, d={d}", "<= 0.08", f"{of_elu:.3f}, {reach}", abs(of_elu - 2.24)
        ),
    ]


def measure_runs(scale, rounds, threads):
    """The lines about runs."""
    yield lattice_runs(scale, rounds)
    yield beside_em(ELU(), 4, "<= 1.1", scale, rounds, threads)
    yield beside_em(Simultaneous(), 16, "<= 1.7", scale, rounds, threads)
    yield driver_cost(max(1, rounds // 3))
    for d in (2, 3, 4):
        yield from growth(d, 9 if scale >= 1 else 6, scale)


def measure(scale, rounds, threads):
    """Every line of the table, one at a time."""
    try:
        yield against_scikit_learn(1, scale, rounds, threads)
        yield against_scikit_learn(4, scale, rounds, threads)
        yield fit_against_scikit_learn(1, scale, rounds, threads)
        yield fit_against_scikit_learn(4, scale, rounds, threads)
    except ImportError:
        print("scikit-learn is not installed: no comparison with it", file=sys.stderr)
    yield against_reading(16, scale, rounds, threads)
    yield against_reading(64, scale, rounds, threads)
    yield against_math_tanh(scale, rounds, threads)
    for d in (1, 4):
        yield everything(d, scale, rounds, threads)
    for d in (1, 4, 16):
        yield packing(d, "<= 2", scale, rounds, threads)
    for d, target in ((1, "<= 6"), (4, "<= 12"), (16, "<= 12")):
        yield whole_fit(d, target, scale, rounds, threads)
    yield two_directions(scale, rounds, threads)
    if threads > 1:
        yield two_threads(1, scale, rounds)
        yield two_threads(4, scale, rounds)
    yield from measure_runs(scale, rounds, threads)
    yield from condensing(scale, rounds, threads)
    yield first_fit()
    yield from start_up(rounds)
    yield memory(scale)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="repetitions of each case")
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all sizes")
    options = parser.parse_args(arguments)
    threads = min(2, numba.config.NUMBA_NUM_THREADS)
    print(f"{platform.processor() or platform.machine()}, {numba.config.CPU_NAME or 'native'} code")
    print(f"{threads} threads, n = 10^6 or n d = 1.6 10^7, times {options.scale:g}; medians\n")
    print(columns(*HEADINGS))
    for line in measure(options.scale, options.rounds, threads):
        print(line, flush=True)
    if threads > 1:
        print(f"\n{parallel_from(options.rounds)}")


if __name__ == "__main__":
    main()
