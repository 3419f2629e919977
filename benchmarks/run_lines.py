"""Runs, as lines of the table of limits: what an iteration costs, and how many there are."""

import numba
import numpy as np

from benchmarks.growth import medians
from benchmarks.lines import Line, in_turns, line_of, seconds, with_threads
from benchmarks.radius import start_of
from benchmarks.runs import check_em, iterate, python_overhead
from elubench import (
    ELU,
    EM,
    LatticeSample,
    Moments,
    NewtonAnderson,
    Simultaneous,
    gaussian,
    radius,
    run,
)
from elubench.models.known import named
from elubench.samples import ArraySample


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
    one, two = (
        with_threads(threads, lambda a=each: iterate(sample, "isotropic", a, iterations))
        for each in (algorithm, EM())
    )
    took = in_turns({"one": one, "two": two}, rounds)
    times = (seconds_of / iterations for seconds_of in took.values())
    return line_of(f"{algorithm.name} and EM, d={d}", target, *times)


def driver_cost(rounds):
    numba.set_num_threads(1)
    cost = python_overhead(rounds)
    return Line("Python driver beyond the pass, us", "<= 30", seconds(cost), cost * 1e6)


def growth(d, most, scale):
    """How iterations to the radius 2 (d/n)^(1/4) grow from n = 10^4 on; not a matter of time."""
    replicates = max(2, int((16 if d < 4 else 4) * scale))
    (ln, em), (_, elu) = (
        medians("isotropic", algorithm, d, range(4, most + 1), replicates)
        for algorithm in (EM(), ELU(0.01, 0.8))
    )
    of_em, of_elu = np.polyfit(ln, np.log(em), 1)[0], np.polyfit(ln, elu, 1)[0]
    reach = f"to 10^{most}"
    return [
        Line(f"EM exponent less 0.5, d={d}", "<= 0.02", f"{of_em:.3f}, {reach}", abs(of_em - 0.5)),
        Line(
            f"ELU a ln n less 2.24, d={d}", "<= 0.08", f"{of_elu:.3f}, {reach}", abs(of_elu - 2.24)
        ),
    ]


def by_moments(name, d, most, scale):
    """Reads of Moments to twice the radius, and what is read after the first of them to the MLE.

    Not a matter of time. The worst of all samples. Where the MLE itself lies beyond that radius, reads
    to the radius are not counted. On the diagonal model Moments reads twice, to compare its estimates.
    """
    model, start = named(name), start_of(name, d)
    reads, further = [], []
    for n in [10**k for k in range(4, most + 1, 2)]:
        for seed in range(max(1, int(8 * scale))):
            sample, goal = LatticeSample.gaussian(n, d, seed), radius(name, n, d, constant=2.0)
            found = run(sample, model, Moments(), start, radius=goal, metrics=False)
            ended = run(sample, model, Moments(), start, metrics=False)  # to its own end
            more = ended.passes - 1.0
            if not model.is_stationary_start(ended.params):  # else it is one Gaussian
                ended = run(sample, model, NewtonAnderson(), ended.params, metrics=False)
                more += ended.passes
            further.append(more)
            if model.location_error(ended.params, np.zeros(len(start))) <= goal:
                reads.append(found.passes if found.status == "reached" else np.inf)
    reach = f"to 10^{most}"
    yield Line(f"Moments, reads, {name}, d={d}", "<= 1", reach, max(reads, default=0))
    limit = "<= 4" if name == "diagonal" else ""
    yield Line(f"then to the MLE, {name}, d={d}", limit, reach, max(further, default=0))


def measure_runs(scale, rounds, threads):
    """The lines about runs."""
    yield lattice_runs(scale, rounds)
    yield beside_em(ELU(), 4, "<= 1.1", scale, rounds, threads)
    yield beside_em(Simultaneous(), 16, "<= 1.7", scale, rounds, threads)
    yield driver_cost(max(1, rounds // 3))
    for name, d in (("isotropic", 1), ("isotropic", 2), ("general", 2), ("diagonal", 2)):
        yield from by_moments(name, d, 12 if scale >= 1 else 6, scale)
    for d in (2, 3, 4):
        yield from growth(d, 9 if scale >= 1 else 6, scale)
