"""The limits that the kernels are held to, measured in one run: ``python -m benchmarks.limits``.

What is compared is timed in turns, so that a disturbance of the machine meets both sides, and the
medians are compared. Nothing fails here: the table says what was reached.
"""

import argparse
import sys
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from benchmarks.first_use import first_fit, start_up
from benchmarks.kernels import add_up, check_pass, direction, library_tanh
from benchmarks.lines import (
    HEADINGS,
    Line,
    columns,
    compared,
    in_turns,
    line_of,
    seconds,
    with_threads,
)
from benchmarks.run_lines import measure_runs
from benchmarks.runs import iterate
from elubench import EM, CondensedSample, fit, info, run, warmup
from elubench.kernels import layout, reduction
from elubench.kernels.hardware import tanh_in_cache
from elubench.samples import ArraySample, gaussian


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
    times = beside_scikit_learn(one_pass, X, rounds, threads)
    return line_of(f"pass, d={d}, and scikit-learn's EM step", ">= 120", *times)


def against_limit(d, scale, rounds, threads):
    """A pass, and what it cannot be faster than: only summing the data, or only computing tanh."""
    n = int(16_000_000 * scale) // d
    sample, one_pass, X = prepared(n, d)
    flat = sample.tiles.data.reshape(-1)
    np.testing.assert_allclose(add_up(flat), X.sum(), rtol=0, atol=1e-9 * X.size)
    took = in_turns(
        {
            "pass": with_threads(threads, one_pass),
            "reading": with_threads(threads, lambda: add_up(flat)),
            "tanh": with_threads(threads, lambda: tanh_in_cache(n)),
        },
        rounds,
    )
    larger = max("reading", "tanh", key=took.get)
    return line_of(f"pass and only {larger}, d={d}", "<= 1.3", took["pass"], took[larger])


def against_math_tanh(scale, rounds, threads):
    _, one_pass, X = prepared(int(1_000_000 * scale), 1)
    x = X[:, 0].copy()
    what = "pass, d=1, and a loop of math.tanh"
    return compared(what, ">= 6", one_pass, lambda: library_tanh(x, 0.3, 0.0), rounds, threads)


def two_directions(scale, rounds, threads):
    sample, one_pass, _ = prepared(int(1_000_000 * scale), 16)
    two, offsets = np.concatenate([direction(16), -0.5 * direction(16)]), np.zeros(2)
    what = "two directions and one, d=16"
    return compared(what, "<= 1.7", lambda: sample.sums(two, offsets, 0), one_pass, rounds, threads)


def two_threads(d, scale, rounds):
    _, one_pass, _ = prepared(int(1_000_000 * scale), d)
    took = in_turns({count: with_threads(count, one_pass) for count in (2, 1)}, rounds)
    return line_of(f"two threads and one, d={d}, n=10^6", ">= 1.7", *took.values())


def two_readers(scale, rounds):
    """How much faster two threads only read: cores that share one way to memory gain little."""
    numbers = gaussian(int(16_000_000 * scale), 1, seed=1).reshape(-1)
    cases = {count: with_threads(count, lambda: add_up(numbers)) for count in (2, 1)}
    took = in_turns(cases, rounds)
    return Line(
        "two threads and one, only reading",
        "",
        f"{seconds(took[2])}, {seconds(took[1])}",
        took[1] / took[2],
    )


def everything(d, of_sums, scale, rounds, threads):
    """What the loss and the second-order sums add to a pass; and all of it beside NumPy's X.sum()."""
    sample, one_pass, X = prepared(int(1_000_000 * scale), d)
    u, b, want = direction(d), np.zeros(1), layout.LOG_COSH | layout.CURVATURE
    took = in_turns(
        {
            "full pass": with_threads(threads, lambda: sample.sums(u, b, want)),
            "a plain pass": with_threads(threads, one_pass),
            "X.sum()": X.sum,
        },
        rounds,
    )
    for unit, limit in (("a plain pass", "<= 1.5"), ("X.sum()", of_sums)):
        yield line_of(f"full pass and {unit}, d={d}", limit, took["full pass"], took[unit])


def packing(d, target, scale, rounds, threads):
    """Packing and a copy of X by as many threads: both read it and write as much to new memory."""
    X = gaussian(int(4_000_000 * scale) // d, d, seed=1)
    what = f"packing and copying X, d={d}"
    return compared(
        what, target, lambda: ArraySample(X), lambda: copied(X, threads), rounds, threads
    )


def copied(X, threads):
    """A copy of X by this many threads, each of which writes its part first."""
    made = np.empty(X.shape)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(np.copyto, np.array_split(made, threads), np.array_split(X, threads)))
    return made


def whole_fit(d, of_passes, of_sums, scale, rounds, threads):
    """fit(X), from an array to the answer, beside a plain pass and X.sum(); kernels are compiled.

    Packing or condensing, starts, the run, its likelihood and EM's contraction are included. What is
    computed when it is asked for is not; the last line has the regime, too. A faster pass makes the same
    fit more passes; X.sum() does not depend on our code.
    """
    warmup()
    _, one_pass, X = prepared(int(1_000_000 * scale), d)
    took = in_turns(
        {
            "fit(X)": with_threads(threads, lambda: fit(X)),
            "fit(X).regime": with_threads(threads, lambda: fit(X).regime),
            "a plain pass": with_threads(threads, one_pass),
            "X.sum()": X.sum,
        },
        max(3, rounds // 3),
    )
    for case, unit, limit in (
        ("fit(X)", "a plain pass", of_passes),
        ("fit(X)", "X.sum()", of_sums),
        ("fit(X).regime", "X.sum()", ""),
    ):
        yield line_of(f"{case} and {unit}, d={d}", limit, took[case], took[unit])


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
    yield line_of(f"condensing and a pass, d=1, {of}", "<= 5", took["read"], took["pass"])
    yield Line(
        f"7000 EM steps and condensed, {of}",
        ">= 300",
        f"{seconds(em)}, {seconds(took['EM'])}",
        em / took["EM"],
    )


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


def by_scikit_learn(scale, rounds, threads):
    """The lines about scikit-learn, if it is there."""
    try:
        for d in (1, 4):
            yield against_scikit_learn(d, scale, rounds, threads)
            yield fit_against_scikit_learn(d, scale, rounds, threads)
    except ImportError:
        print("scikit-learn is not installed: no comparison with it", file=sys.stderr)


def by_passes(scale, rounds, threads):
    """The lines about a pass."""
    for d in (1, 4, 16, 64):
        yield against_limit(d, scale, rounds, threads)
    yield against_math_tanh(scale, rounds, threads)
    for d, of_sums in ((1, "<= 5"), (4, "<= 1.5")):
        yield from everything(d, of_sums, scale, rounds, threads)
    yield two_directions(scale, rounds, threads)
    if threads > 1:
        yield two_readers(scale, rounds)
        yield two_threads(1, scale, rounds)
        yield two_threads(4, scale, rounds)


def by_fits(scale, rounds, threads):
    """The lines about packing and a whole fit."""
    for d in (1, 4, 16):
        yield packing(d, "<= 2", scale, rounds, threads)
    for d, of_passes, of_sums in ((1, 6, 20), (4, 12, 10), (16, 12, 10)):
        yield from whole_fit(d, f"<= {of_passes}", f"<= {of_sums}", scale, rounds, threads)


def at_first(scale, rounds, threads):
    """The lines about a first use, and memory."""
    yield first_fit()
    yield from start_up(rounds)
    yield memory(scale)


PARTS = {
    "pass": by_passes,
    "fit": by_fits,
    "condensing": condensing,
    "runs": measure_runs,
    "scikit-learn": by_scikit_learn,
    "first": at_first,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="repetitions of each case")
    parser.add_argument(
        "--only", default="", help="parts to measure, such as fit,pass; default all"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all sizes")
    options = parser.parse_args(arguments)
    threads = min(2, numba.config.NUMBA_NUM_THREADS)
    print(f"{info.collect()['system']['processor']}, {numba.config.CPU_NAME or 'native'} code")
    print(f"{threads} threads, n = 10^6 or n d = 1.6 10^7, times {options.scale:g}; medians\n")
    print(columns(*HEADINGS))
    wanted = options.only.split(",") if options.only else list(PARTS)
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        parser.error(f"--only must be some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    for part in wanted:
        for line in PARTS[part](options.scale, options.rounds, threads):
            print(line, flush=True)
    if threads > 1 and not options.only:
        print(f"\n{parallel_from(options.rounds)}")


if __name__ == "__main__":
    main()
