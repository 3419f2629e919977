"""Two Gaussians at +-theta: how fast EM converges there, and what the paper's practical procedure does.

The isotropic model fitted to infinitely many draws from it, at true scale 1, has EM's step

    theta -> E[X tanh(X.theta/s)],   s = 1 + (|theta*|^2 - |theta|^2)/d

with the scale on its curve. Its derivative at theta* = theta has one eigenvalue along theta and d - 1
across it, means over a standard normal V:

    along   (1 + 2 |theta|^2/d) exp(-|theta|^2/2) E[V^2 sech(|theta| V)]
    across  exp(-|theta|^2/2) E[sech(|theta| V)]

The largest is EM's contraction rho. For small theta 1 - rho is (8/3) theta^6 at d = 1, and theta^2 at
d >= 2: EM is geometric at every theta > 0, but visibly so only after some 1/(1 - rho) iterations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from elubench import checks
from elubench.algorithms import ELU, EM, NewtonAnderson, Simultaneous
from elubench.checks import Floats
from elubench.runs import run_many
from elubench.runs.trace import Run
from elubench.samples import LatticeSample

# standard deviations, and in the smaller of the units of V and theta V
_REACH, _STEP = 12.0, 1.0 / 16.0


def contraction(theta: float, d: int) -> float:
    """EM's contraction rho at two Gaussians of scale 1 at +-theta, at infinite n; 1 at theta = 0."""
    d = checks.integer(d, "d", 1)
    theta = checks.real(theta, "theta", above=0.0, closed="above")
    step = _STEP / max(1.0, theta)
    v = np.arange(-math.ceil(_REACH / step), math.ceil(_REACH / step) + 1) * step
    weights = np.exp(-0.5 * (v**2 + theta**2)) * step / math.sqrt(2.0 * math.pi)
    sech = 1.0 / np.cosh(theta * v)
    along = (1.0 + 2.0 * theta**2 / d) * float((weights * v**2) @ sech)
    return along if d == 1 else max(along, float(weights @ sech))


def visible_from(budget: int, d: int, evidence: float = 5.0) -> float:
    """The theta from which on EM is seen to be geometric within a budget of iterations.

    By the criterion of :class:`Simultaneous`, t (1 - rho) > evidence.
    """
    budget = checks.integer(budget, "budget", 1)
    if budget <= evidence:
        raise ValueError(f"budget must exceed evidence = {evidence:g}, got {budget}")
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        slow = budget * (1.0 - contraction(middle, d)) <= evidence
        low, high = (middle, high) if slow else (low, middle)
    return high


def two_gaussians(n: int, d: int, theta: float, seed: int) -> LatticeSample:
    """n draws from N(theta u, I) and N(-theta u, I), even odds, u = (1, ..., 1)/sqrt(d), on lattices."""
    locations = theta / math.sqrt(d) * np.outer([-1.0, 1.0], np.ones(d))
    return LatticeSample.mixture(n, d, locations, seed=seed)


#: Half the distance between the two true locations, in standard deviations.
HALF_DISTANCES = (0.0, 0.25, 0.5, 0.6, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
_START = 0.8  # times the root mean square coordinate: inside the region of positive scale


def crossover(
    seed: int,
    replicates: int = 20,
    sizes: Sequence[int] = (10**3, 10**4, 10**5, 10**6, 10**8),
    half_distances: Sequence[float] = HALF_DISTANCES,
    budgets: Sequence[tuple[int, int]] = ((1, 100), (1, 1_000), (2, 100)),
) -> pd.DataFrame:
    """The practical procedure from one Gaussian to two that are far apart; one row per sample.

    ``budgets`` are pairs of d and the number of iterations after which the user decides. Columns:
    ``geometric``, whether EM was then found to converge geometrically; ``em_error``, that of EM's
    location after as many iterations; ``elu_error``, of the iterate that a tenth of the data, held out,
    selects from ELU's; ``location_error``, of the one of these two that the procedure follows;
    ``mle_error``, of the sample's own optimum; ``rho``, EM's contraction at infinite n.
    """
    rows = []
    for d, theta, n in itertools.product(sorted({d for d, _ in budgets}), half_distances, sizes):
        truth, rho = np.full(d, theta / math.sqrt(d)), contraction(theta, d)
        start = np.full(d, _START * math.sqrt((1.0 + theta**2 / d) / d))
        # Of one Gaussian twice as many: a share close to 1 has to be told from 0.9.
        count = replicates if theta else 2 * replicates
        samples = [two_gaussians(n, d, theta, 1_000_000 * seed + k) for k in range(count)]
        best = run_many(samples, "isotropic", NewtonAnderson(precision=1e-6), start)
        for budget in [most for dimension, most in budgets if dimension == d]:
            runs = partial(run_many, samples, "isotropic", starts=start, max_iter=budget, seed=seed)
            each = zip(
                runs(Simultaneous()), runs(EM()), runs(ELU(), validation=0.1), best, strict=True
            )
            for k, (signs, *ended) in enumerate(each):
                geometric = bool(signs.details["geometric"])
                errors = [_distance(one, truth) for one in ended]
                followed = errors[0] if geometric else errors[1]
                rows.append((d, budget, theta, n, k, rho, geometric, *errors, followed))
    columns = ["d", "budget", "half_distance", "n", "replicate", "rho", "geometric"]
    columns += ["em_error", "elu_error", "mle_error", "location_error"]
    return pd.DataFrame(rows, columns=columns).assign(seed=seed)


def _distance(found: Run, truth: Floats) -> float:
    """To the truth, which is known up to its sign."""
    theta = found.params
    return float(min(np.linalg.norm(theta - truth), np.linalg.norm(theta + truth)))


def verdicts(table: pd.DataFrame) -> pd.DataFrame:
    """`crossover` by d, budget, half distance and n.

    ``right`` is the share of samples on which EM's speed gave the right sign (geometric where there are
    two Gaussians, not geometric where there is one). ``location_ratio`` is the root mean square error of
    what the procedure returns over that of the sample's optimum; ``em_ratio`` and ``elu_ratio`` are
    those of always following EM or ELU.
    """
    keys = ["d", "budget", "half_distance", "n"]
    two = table["half_distance"] > 0.0
    squares = table[["location_error", "em_error", "elu_error", "mle_error"]] ** 2
    joined = table[[*keys, "rho"]].assign(right=table["geometric"] == two, **squares)
    mean = joined.groupby(keys, as_index=False).mean()
    for name in ("location", "em", "elu"):
        mean[f"{name}_ratio"] = np.sqrt(mean[f"{name}_error"] / mean["mle_error"])
    mean["samples"] = joined.groupby(keys).size().to_numpy()
    return mean[[*keys, "rho", "samples", "right", "location_ratio", "em_ratio", "elu_ratio"]]


def separated(
    seed: int,
    sizes: Sequence[int] = (10**4, 10**5, 10**6, 10**7, 10**8, 10**9, 10**10, 10**11, 10**12),
    replicates: int = 60,
    theta: float = 1.0,
    dimensions: Sequence[int] = (1, 2),
    constant: float = 3.0,
) -> pd.DataFrame:
    """EM where the Gaussians are well apart, half the distance being ``theta`` (Section 2.1).

    One row per sample: ``iterations`` until the location is within ``constant (d/n)^(1/2)`` of the truth
    (nan if it never is), and ``location_error`` and ``scale_error``, of the squared scale, at its end.
    """
    rows = []
    for d in dimensions:
        truth = np.full(d, theta / math.sqrt(d))
        start = _START * math.sqrt(1.0 + theta**2 / d) * np.eye(d)[0]  # not along the truth
        for n in sizes:
            samples = [two_gaussians(n, d, theta, 1_000_000 * seed + k) for k in range(replicates)]
            radius = constant * math.sqrt(d / n)
            near = run_many(
                samples, "isotropic", EM(), start, max_iter=2_000, radius=radius, truth=truth
            )
            ended = run_many(samples, "isotropic", EM(), start, max_iter=2_000, tol=1e-13)
            for k, (first, last) in enumerate(zip(near, ended, strict=True)):
                count = first.n_iter if first.status == "reached" else math.nan
                error = abs(float(np.mean(last.scale)) - 1.0)
                rows.append((d, n, k, count, _distance(last, truth), error))
    columns = ["d", "n", "replicate", "iterations", "location_error", "scale_error"]
    about = {"half_distance": theta, "constant": constant, "seed": seed}
    return pd.DataFrame(rows, columns=columns).assign(**about)
