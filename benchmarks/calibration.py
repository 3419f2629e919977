"""Whether tests and regimes keep what they promise: ``python -m benchmarks.calibration``.

``size``     how often ``fit`` takes data from one Gaussian for two, at ``--level``, and the quantile of
             their likelihood ratios over that of the law in ``elubench.fits.nulls``
``exact``    how often ``Fit.p_value`` is at most the level, with 99 draws
``shapes``   regimes of data of other shapes, n rows
``power``    regimes as n grows, for shapes that are close to a Gaussian
``apart``    regimes of two Gaussians by half their distance
``parts``    regimes of two Gaussians four standard deviations apart, of unequal size, free weights
``goodness`` how often one or two Gaussians are called a misfit, whose level is 0.01

A number is a share of the samples: of ``--samples`` for ``size`` and ``goodness``, of a tenth of them
for the others. ``size`` takes five minutes of one core, most of it for n = 10^5, d = 16.
"""

import argparse

import numpy as np

import elubench as eb
from elubench.fits import nulls

MODELS = ("isotropic", "diagonal", "general")
FREE = 'general(mixing="free")'
REGIMES = ("over-specified", "separated", "undecided", "misfit")
STRANGE = ("uniform", "t3", "Laplace", "lognormal", "exponential", "three clusters")
CLOSE = ("Beta(2,2)", "semicircle", "t5")
ODD = ("off centre", "out of round", "unequal parts", "heavy tails")
PRECISE = 20_000  # draws of a limit law
SHARES = (0.5, 0.4, 0.3, 0.2, 0.1)


def rows(kind, n, d, seed):
    """n rows of one kind of data.

    A number is half the distance of two Gaussians, a pair that and the share of one of them.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    direction = rng.standard_normal(d)
    direction /= np.linalg.norm(direction)
    if isinstance(kind, float):
        X += kind * rng.choice([-1.0, 1.0], (n, 1)) * direction
    elif isinstance(kind, tuple):
        half, share = kind
        X += half * np.where(rng.random((n, 1)) < share, 1.0, -1.0) * direction
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
    elif kind == "three clusters":
        X += 4.0 * rng.choice([-1.0, 0.0, 1.0], (n, 1)) * direction
    elif kind in ("t3", "t5"):
        X = rng.standard_t(int(kind[1]), (n, d))
    elif kind == "Laplace":
        X = rng.laplace(size=(n, d))
    elif kind == "lognormal":
        X = np.exp(X)
    elif kind == "exponential":
        X = rng.exponential(size=(n, d))
    elif kind == "Beta(2,2)":
        X = rng.beta(2.0, 2.0, (n, d)) - 0.5
    elif kind == "semicircle":
        X = rng.beta(1.5, 1.5, (n, d)) - 0.5
    elif kind != "one Gaussian":
        raise ValueError(f"kind must be a number or a known shape, got {kind!r}")
    return X


def size(options):
    """Ratios of samples from one Gaussian against the critical value of ``fit``."""
    level, samples = options.level, options.samples
    print(f"model      d  n       size at {level:g}       quantile over the law's")
    error = np.sqrt(level * (1 - level) / samples)
    for model in map(eb.models.known.named, options.models):
        for d in options.d:
            for n in options.n:
                seed = np.random.SeedSequence([options.seed, n, d]).generate_state(1, np.uint64)[0]
                ratios = nulls.drawn(model, n, d, samples, int(seed))
                share = np.mean(ratios > nulls.critical(model, n, d, level).ratio)
                law = np.quantile(nulls.limit(model, n, d, PRECISE), 1 - level)
                at, low, high = np.quantile(ratios, 1 - level + error * np.array([0, -1, 1])) / law
                print(
                    f"{model.name:10s} {d:<2d} {n:<7d} {share:.4f} +- {error:.4f}  "
                    f"{at:.3f} +- {(high - low) / 2:.3f}",
                    flush=True,
                )


def exact(options):
    """The p-value itself, on fits of data from one Gaussian."""
    print(f"model      d  n       p-value <= {options.level:g}")
    samples = max(options.samples // 10, 20)
    for model in options.models:
        for d, n in ((1, 100), (2, 100), (4, 100)):
            fits = [eb.fit(rows("one Gaussian", n, d, seed), model) for seed in range(samples)]
            p = np.array([fit.p_value(99, seed) for seed, fit in enumerate(fits)])
            print(f"{model:10s} {d:<2d} {n:<7d} {np.mean(p <= options.level):.4f}", flush=True)


def shown(kind):
    """The name of a kind of data in a table."""
    if isinstance(kind, tuple):
        return f"half {kind[0]:g}, {kind[1]:g}"
    return f"half {kind:g}" if isinstance(kind, float) else kind


def regimes(kinds, options, models, ds, ns):
    """Shares of the regimes for every kind of data."""
    print(f"{'model':22s} d  n       data            " + " ".join(f"{one:>14s}" for one in REGIMES))
    samples = max(options.samples // 10, 20)
    for model in models:
        for d in ds:
            for kind in kinds:
                for n in ns:
                    fits = (eb.fit(rows(kind, n, d, seed), model) for seed in range(samples))
                    called = [fit.regime for fit in fits]
                    shares = " ".join(f"{called.count(one) / samples:14.2f}" for one in REGIMES)
                    print(f"{model:22s} {d:<2d} {n:<7d} {shown(kind):15s} {shares}", flush=True)


def goodness(options):
    """Anderson-Darling where the model holds, also where a part of the rows is looked at."""
    print(f"{'model':22s} d  n       data            misfit")
    for model in (*options.models, FREE):
        for d in options.d:
            for kind in (0.0, 1.0, 2.0, *([(2.0, 0.2)] if model == FREE else [])):
                for n in (300, 3000, 20_000):
                    count = 0
                    for seed in range(options.samples):
                        found = eb.fit(rows(kind, n, d, seed), model).evidence
                        count += found.misfit > found.misfit_limit
                    share = count / options.samples
                    print(f"{model:22s} {d:<2d} {n:<7d} {shown(kind):15s} {share:.3f}", flush=True)


PARTS = {
    "size": size,
    "exact": exact,
    "shapes": lambda o: regimes((*STRANGE, *CLOSE, *ODD), o, (*o.models, FREE), o.d, (3000,)),
    "power": lambda o: regimes(
        CLOSE, o, ("general", FREE), (1,), (300, 1000, 3000, 10_000, 30_000)
    ),
    "apart": lambda o: regimes(
        (0.0, 0.5, 1.0, 1.5, 2.0, 3.0), o, o.models, (1, 4), (1000, 100_000)
    ),
    "parts": lambda o: regimes(
        [(2.0, share) for share in SHARES], o, (FREE,), (1, 2, 4), (300, 1000, 3000)
    ),
    "goodness": goodness,
}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--n", type=int, nargs="+", default=[30, 100, 1000, 100_000])
    parser.add_argument("--d", type=int, nargs="+", default=[1, 2, 4, 16])
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--seed", type=int, default=0, help="of size")
    parser.add_argument("--level", type=float, default=0.05)
    options = parser.parse_args(arguments)
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"PART must be one of {', '.join(PARTS)}, got {part}")
        print(f"\n{part}")
        PARTS[part](options)


if __name__ == "__main__":
    main()
