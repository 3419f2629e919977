"""The test of one component against two beside mclust's bootstrap: ``python -m benchmarks.power``.

Both have the same samples, the same model (free weights, one scale: "E" at d = 1 and "EII" beyond) and
the level 0.05. The third column is the share of samples in which the test with equal weights, the
default, sees two. Needs Rscript with mclust, which refits every sample ``--boot`` times.
"""

import argparse
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import elubench as eb
from elubench.fits import nulls

# half the distance between the means, in standard deviations, and the weight of the second component
KINDS = ((0.0, 0.5), (1.0, 0.5), (1.25, 0.5), (1.5, 0.2))
LEVEL, DRAWS = 0.05, 999
MCLUST = """
suppressMessages(library(mclust))
given <- commandArgs(trailingOnly = TRUE)
for (file in sort(list.files(given[1], full.names = TRUE))) {
  X <- as.matrix(read.csv(file, header = FALSE))
  set.seed(0)
  kind <- if (ncol(X) == 1) "E" else "EII"
  test <- tryCatch(
    mclustBootstrapLRT(X, modelName = kind, maxG = 1, nboot = as.integer(given[2]), verbose = FALSE),
    error = function(e) list(p.value = NA))
  cat(test$p.value[1], "\n")
}
"""


def rows(half, weight, n, d, seed):
    rng = np.random.default_rng([seed, n, d, int(100 * weight), int(100 * half)])
    X = rng.standard_normal((n, d))
    X[:, 0] += half * np.where(rng.random(n) < weight, 1.0, -1.0)
    return X


@cache
def law(model, n, d):
    return nulls.drawn(model, n, d, DRAWS, seed=0)


def ours(model, samples):
    """How often ``Fit.p_value`` is at most the level; its law is the same for all samples."""
    ratios = np.array([eb.fit(X, model).evidence.likelihood_ratio for X in samples])
    p = (1 + np.sum(law(model, *samples[0].shape) >= ratios[:, None], axis=1)) / (1 + DRAWS)
    return np.mean(p <= LEVEL)


def theirs(samples, boot):
    with tempfile.TemporaryDirectory() as folder:
        for k, X in enumerate(samples):
            np.savetxt(Path(folder) / f"{k:06d}.csv", X, delimiter=",")
        done = subprocess.run(
            ["Rscript", "-e", MCLUST, folder, str(boot)], capture_output=True, text=True, check=True
        )
    p = np.array([float(one.replace("NA", "nan")) for one in done.stdout.split()])
    return np.mean(p <= LEVEL), np.count_nonzero(np.isnan(p))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power", description=__doc__)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--boot", type=int, default=99)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--d", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    print(f"n = {options.n}, {options.samples} samples, {options.boot} refits by mclust\n")
    print("d  half  weight  elubench  mclust  equal weights  (mclust failed)")
    for d in options.d:
        for half, weight in KINDS:
            samples = [rows(half, weight, options.n, d, seed) for seed in range(options.samples)]
            free, equal = ours(eb.General(mixing="free"), samples), ours(eb.General(), samples)
            other, failed = theirs(samples, options.boot)
            print(
                f"{d:<2d} {half:<5g} {weight:<7g} {free:<9.2f} {other:<7.2f} {equal:<14.2f} {failed}",
                flush=True,
            )


if __name__ == "__main__":
    main()
