"""How often ``fit`` names the right regime: ``python -m benchmarks.regimes``.

A row is a kind of data; a number is how many of the samples were called that. ``ratio`` is the 99 %
point of the likelihood ratio beside the threshold that ``fit`` uses.
"""

import argparse
import time

import numpy as np

import elubench as eb
from elubench.fits import null_quantile

MODELS = ("isotropic", "diagonal", "general")
BETWEEN = (0.3, 0.5, 0.7, 0.9)


def rows(kind, n, d, seed):
    """n rows of one kind of data."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    direction = rng.standard_normal(d)
    direction /= np.linalg.norm(direction)
    if isinstance(kind, float):
        X += kind * rng.choice([-1.0, 1.0], (n, 1)) * direction
    elif kind == "off centre":
        X += 3.0
    elif kind == "out of round":
        X += 2.0 * rng.standard_normal((n, 1)) * direction
    elif kind == "heavy tails":
        X /= np.sqrt(rng.chisquare(5, (n, 1)) / 5)
    elif kind == "uniform":
        X = rng.uniform(-1.0, 1.0, (n, d))
    elif kind == "unequal parts":
        X += 2.0 * np.where(rng.random((n, 1)) < 0.7, 1.0, -1.0) * direction
    return X


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regimes", description=__doc__)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--n", type=int, nargs="+", default=[10_000])
    parser.add_argument("--d", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--kinds", nargs="+")
    options = parser.parse_args(arguments)
    odd = ["off centre", "out of round", "unequal parts", "heavy tails", "uniform"]
    kinds = options.kinds or ["one Gaussian", 2.0, *BETWEEN, *odd]
    kinds = [float(kind) if str(kind).replace(".", "").isdigit() else kind for kind in kinds]
    print("model      d n        data          over sep undec  passes most  ratio (threshold)  EM")
    for model in options.models:
        for d in options.d:
            for n in options.n:
                for kind in kinds:
                    begun = time.perf_counter()
                    fits = [
                        eb.fit(rows(kind, n, d, seed), model) for seed in range(options.samples)
                    ]
                    called = [fit.regime for fit in fits]
                    counts = [
                        called.count(each) for each in ("over-specified", "separated", "undecided")
                    ]
                    passes = [fit.passes for fit in fits]
                    ratio = np.quantile([fit.evidence.likelihood_ratio for fit in fits], 0.99)
                    em = np.median([fit.evidence.contraction for fit in fits])
                    shown = f"half {kind:g}" if isinstance(kind, float) else kind
                    print(
                        f"{model:10s} {d:<2d}{n:<9d}{shown:14s}{counts[0]:4d}{counts[1]:4d}"
                        f"{counts[2]:5d} {np.median(passes):7.0f}{max(passes):6.0f} {ratio:8.2f} "
                        f"({null_quantile(n, d):.2f}) {em:.3f} {time.perf_counter() - begun:.1f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
