"""Which algorithm ``fit`` should choose: ``python -m benchmarks.auto``.

Every algorithm starts where ``fit`` starts it. ``lost`` is the log-likelihood that it ends below the
best of all, largest over the samples; ``failed`` counts samples on which that is above 0.05; ``cpu``
is the processor time of the run in units of a plain pass over the data, with one thread.
"""

import argparse
import time

import numba
import numpy as np

import elubench as eb
from benchmarks.calibration import MODELS, rows, shown
from elubench.fits.choosing import tolerance, tuned
from elubench.fits.starts import starts as starts_of
from elubench.models.known import named

KINDS = ("one Gaussian", 0.5, 2.0)


def measure(model, kind, n, d, samples, names, budget):
    found = {name: [] for name in names}
    lost = {name: [] for name in names}
    model = named(model)
    for seed in range(samples):
        sample = eb.ArraySample(rows(kind, n, d, seed))
        start = starts_of(model, sample).points[0]
        u, b = np.full((1, d), 0.1 / d), np.zeros(1)
        sample.sums(u, b, 0)
        before = time.thread_time()
        for _ in range(5):
            sample.sums(u, b, 0)
        unit = (time.thread_time() - before) / 5
        gaps = {}
        for name in names:
            algorithm = tuned(name, sample)
            tol = tolerance(algorithm, sample)
            options = {"max_iter": budget, "tol": tol, "metrics": False}
            if seed == 0:
                eb.run(sample, model, algorithm, start, **{**options, "max_iter": 3})
            before = time.thread_time()
            run = eb.run(sample, model, algorithm, start, **options)
            cost = (time.thread_time() - before) / unit
            gaps[name] = n * model.gap(sample, run.params)
            found[name].append((run.passes, cost))
        best = min(gaps.values())
        for name in names:
            lost[name].append(gaps[name] - best)
    return found, lost


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=__doc__)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--numbers", type=int, default=200_000, help="n is this over d")
    parser.add_argument("--budget", type=int, default=1000, help="iterations of each run")
    parser.add_argument("--d", type=int, nargs="+", default=[1, 4, 16, 32, 64])
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument(
        "--algorithms",
        nargs="+",
        default=["moments", "newton-anderson", "lbfgs", "newton", "squarem", "em"],
    )
    options = parser.parse_args(arguments)
    numba.set_num_threads(1)
    print("model      d   data          algorithm        passes  most     cpu      lost  failed")
    for model in options.models:
        for d in options.d:
            for kind in KINDS:
                n = options.numbers // d
                found, lost = measure(
                    model, kind, n, d, options.samples, options.algorithms, options.budget
                )
                for name, values in found.items():
                    passes, cost = np.array(values).T
                    gap = np.array(lost[name])
                    print(
                        f"{model:10s} {d:<4d}{shown(kind):14s}{name:16s}{np.median(passes):7.0f}"
                        f"{max(passes):6.0f}{np.median(cost):8.0f}{max(gap):10.2g}"
                        f"{sum(gap > 0.05):5d}/{len(gap)}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
