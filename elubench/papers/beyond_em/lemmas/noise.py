"""Lemma 2: stability, the noise of the gradient on a sample of the isotropic model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from elubench import checks, rates
from elubench.checks import Floats
from elubench.models import Isotropic
from elubench.papers.beyond_em import population, theory
from elubench.papers.beyond_em.lemmas.estimates import (
    Estimate,
    Summary,
    axis,
    dimensions,
    half_width,
    mean,
    slope,
)
from elubench.samples import ArraySample, LatticeSample, Sample, gaussian

_CLIMBS = 4  # steps uphill

#: A multiple of r (d/n)^(1/2) that noise at d >= 2 hardly ever exceeds.
MULTIPLE = 3.0


def stability(
    d: int,
    n_values: Sequence[int],
    radii: ArrayLike,
    replicates: int = 5,
    kind: str = "lattice",
    seed: int = 0,
    extra_directions: int = 6,
) -> pd.DataFrame:
    """Lemma 2: the supremum over the ball of |grad f_n - grad f|, isotropic model.

    One row per n, replicate and radius r, with the columns kind, d, n, replicate, r, noise (the largest
    difference found at that radius), sup (the largest up to it) and norm (that of the linear part of
    the noise, times r). At d = 1 noise and sup are exact on the grid of radii. At d >= 2 the sphere is
    searched in the singular directions of the noise and in random ones, and uphill from the best. For
    small r the noise is linear up to a relative error of order r^2, so that `norm` is the supremum over
    all directions, and shows that the search has found it. Lattice samples go up to d = 4, direct ones
    (`kind="direct"`) to any d.
    """
    d = checks.integer(d, "d", 1)
    replicates = checks.integer(replicates, "replicates", 1)
    kind = checks.choice(kind, "kind", ("lattice", "direct"))
    r = np.sort(np.atleast_1d(np.asarray(radii, dtype=float)))
    if r.size == 0 or r[0] <= 0.0 or r[-1] >= 0.9 * math.sqrt(d):
        raise ValueError(f"radii must be in (0, 0.9 sqrt(d)), got {checks.brief(radii)}")
    model = Isotropic()
    norm = population.gradient("isotropic", axis(r, d))[:, 0]
    frames = []
    for place, n in enumerate(n_values):
        for replicate in range(replicates):
            own = seed + place * replicates + replicate  # draws of one seed begin alike at every n
            sample, second = _draw(kind, int(n), d, own)
            directions = _directions(sample, float(r[0]), extra_directions, own)
            noise = [
                _largest(sample, model, x, g, directions) for x, g in zip(r, norm, strict=True)
            ]
            about = {"kind": kind, "d": d, "n": int(n), "replicate": replicate, "r": r}
            sup, linear = np.maximum.accumulate(noise), r * _linear_norm(second)
            frames.append(pd.DataFrame({**about, "noise": noise, "sup": sup, "norm": linear}))
    return pd.concat(frames, ignore_index=True)


def stability_univariate(
    n_values: Sequence[int] = (10**6, 10**8, 10**10, 10**12),
    replicates: int = 20,
    seed: int = 0,
    kind: str = "lattice",
) -> pd.DataFrame:
    """Lemma 2(a): gamma at d = 1 in both phases, where they meet, and the exponent of n.

    Phase 1 is r from n^(-1/16) to 1/2, phase 2 below, down to a hundredth of it; n must exceed 2^16
    for the first to exist. gamma = 1 in phase 1 is an upper bound in the paper; a larger slope says
    that the bound is not tight. Indeed, on its curve f_n has no term of order theta^2 at d = 1: near 0
    the noise is r^3 times a third of the sample's excess kurtosis, whatever n is. `meeting radius` is
    where the local slope of the root mean square noise falls below 2, half way between 3 and 1, in
    units of n^(-1/16), if it does.
    """
    if not n_values or min(n_values) <= 2**16:
        raise ValueError(f"n_values must be above 2^16 = 65536, got {checks.brief(n_values)}")
    frames = []
    for k, n in enumerate(n_values):
        edge = theory.phase_radius(n)
        radii = np.concatenate([np.geomspace(edge / 100, edge, 13), np.geomspace(edge, 0.5, 8)[1:]])
        frames.append(stability(1, [n], radii, replicates, kind, seed + k * replicates))
    frame = pd.concat(frames, ignore_index=True)
    edges = np.array([theory.phase_radius(n) for n in frame["n"]])
    upper = np.asarray(frame["r"] >= edges * (1 - 1e-9))
    table, place = Summary("isotropic"), "2(a)"
    for phase, inside in ((1, upper), (2, ~upper)):
        gamma = theory.stability("isotropic", 1, phase).value
        table.add(place, 1, f"gamma, phase {phase}", _replicate_slopes(frame, inside), gamma)
    meeting, note = _meeting(frame)
    table.add(place, 1, "meeting radius n^(1/16)", meeting, note=note)

    fixed = frame[np.isclose(frame["r"], edges / 100)]
    cubic = fixed.assign(square=(fixed["noise"] / fixed["r"] ** 3) ** 2)
    by_n = cubic.groupby("n", as_index=False)["square"].mean()
    found = _slope_of_mean(by_n["n"], by_n["square"], replicates)
    table.add(place, 1, "exponent of n", found, -0.5, "at noise/r^3")
    # Near 0 the noise is r^3 times a third of the excess kurtosis, of variance 24/n.
    scaled = float(np.sqrt((cubic["square"] * cubic["n"]).mean()))
    found = Estimate(scaled, half_width(scaled / math.sqrt(2 * len(cubic))), "samples")
    table.add(place, 1, "noise n^(1/2)/r^3", found, math.sqrt(24.0) / 3.0)
    return table.frame()


def _meeting(frame: pd.DataFrame) -> tuple[Estimate, str]:
    """Where the slope of the root mean square noise falls below 2, over `phase_radius`."""
    square = frame.groupby(["n", "r"], as_index=False).agg(noise=("noise", lambda x: (x**2).mean()))
    meetings = []
    for n in frame["n"].unique():
        part = square[square["n"] == n]
        slopes = np.diff(0.5 * np.log(part["noise"])) / np.diff(np.log(part["r"]))
        low = np.flatnonzero(slopes < 2.0)
        if low.size:
            meetings.append(float(part["r"].iloc[low[0]]) / theory.phase_radius(int(n)))
    if not meetings:
        return (
            Estimate(math.nan, math.nan),
            "the slope stays above 2: no phase with gamma = 1 is seen",
        )
    return mean(meetings), ""


def stability_multivariate(
    d_values: Sequence[int] = (2, 4, 8, 16, 32),
    n_values: Sequence[int] = (1_000, 6_000, 36_000),
    replicates: int = 6,
    seed: int = 0,
) -> pd.DataFrame:
    """Lemma 2(b), direct samples: gamma, and the exponents of n and of d in the noise, d >= 2.

    gamma is the slope over radii from 0.003 to 0.1. The exponents are fitted to the mean square
    of sup/r at the smallest radius. To leading order the noise is theta times the traceless part of
    the sample covariance less I, whose norm tends to 2 (d/n)^(1/2) for large d, n/d; at small d it
    still grows faster than the power 1/2.

    The lemma is an upper bound that holds with high probability. A sample's multiple is the largest of
    `sup (n/d)^(1/2) / r` over the radii: rows have its mean at each d, and the share of samples where it
    is at most 3. A search from below cannot show a bound by itself; `sup over its operator norm` at the
    smallest radius, the least over samples, says that there the search has found all of it.
    """
    values = dimensions(d_values, least=2)
    radii = np.geomspace(0.003, 0.1, 3)
    frame = pd.concat(
        [stability(d, n_values, radii, replicates, "direct", seed + 10_000 * d, 2) for d in values],
        ignore_index=True,
    )
    table, place, pooled = Summary("isotropic"), "2(b)", f"d in {values}"
    for d in values:
        part = frame[frame["d"] == d]
        found = _replicate_slopes(part, np.ones(len(part), dtype=bool))
        table.add(place, d, "gamma", found, 1.0, "direct samples")
    by = _mean_square(frame, by="n")
    found = _slope_of_mean(by["n"], by["square"], replicates * len(values))
    table.add(place, 0, "exponent of n", found, -0.5, pooled)
    frame = frame.assign(sup=frame["sup"] * np.sqrt(frame["n"]))
    by = _mean_square(frame, by="d")
    found = slope(np.log(by["d"]), 0.5 * np.log(by["square"]))
    table.add(place, 0, "exponent of d", found, 0.5, pooled)
    multiple = frame.assign(multiple=frame["sup"] / (frame["r"] * np.sqrt(frame["d"])))
    largest = multiple.groupby(["d", "n", "replicate"], as_index=False)["multiple"].max()
    for d in values:
        each = largest[largest["d"] == d]["multiple"]
        table.add(place, d, "noise (n/d)^(1/2)/r", mean(each), 2.0, "limit of large d")
    within = int((largest["multiple"] <= MULTIPLE).sum())
    share = rates.share(within, len(largest), 0.95)
    found = Estimate(share.value, share.value - share.low, "samples")
    note = f"{within} of {len(largest)} samples, {pooled}"
    table.add(
        place, 0, f"share of samples with noise (n/d)^(1/2)/r <= {MULTIPLE:g}", found, 1.0, note
    )
    small = frame[frame["r"] == radii[0]]
    attained = small["sup"] / (np.sqrt(small["n"]) * small["norm"])  # sup was multiplied above
    found = Estimate(float(attained.min()), float(np.ptp(attained)), "numerical")
    table.add(place, 0, "sup over its operator norm", found, 1.0, f"r = {radii[0]:g}, {pooled}")
    return table.frame()


def _draw(kind: str, n: int, d: int, seed: int) -> tuple[Sample, Floats]:
    """A sample, and its second moments (d, d)."""
    if kind == "lattice":
        lattice = LatticeSample.gaussian(n=n, d=d, seed=seed)
        return lattice, (lattice.nodes.T * lattice.counts) @ lattice.nodes / n
    rows = gaussian(n=n, d=d, seed=seed)
    return ArraySample(rows), rows.T @ rows / n


def _directions(sample: Sample, r: float, extra: int, seed: int) -> Floats:
    """Unit vectors in which the noise may be largest, (k, d): d = 1 has one, up to its sign.

    To leading order the noise is linear in theta, so its largest value on a sphere lies in a
    singular direction of its derivative at 0; random directions are added for what is not linear.
    """
    d = sample.d
    if d == 1:
        return np.ones((1, 1))
    model = Isotropic()
    columns = [model.gradient(sample, r * e) / r for e in np.eye(d)]
    _, _, singular = np.linalg.svd(np.stack(columns, axis=1))
    random = np.random.default_rng(seed).standard_normal((extra, d))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    return np.concatenate([singular[: min(3, d)], random])


def _largest(sample: Sample, model: Isotropic, r: float, g: float, directions: Floats) -> float:
    """The largest noise found on the sphere of radius r: the best direction, then uphill.

    The noise N is a gradient, so that the gradient of |N|^2/2 is the derivative of N along N. For a
    linear N the step to that direction is the power method's. ``g`` is the population gradient at r.
    """
    found = [model.gradient(sample, r * u) - g * u for u in directions]
    sizes = [float(np.linalg.norm(one)) for one in found]
    at = int(np.argmax(sizes))
    u, here, best = directions[at], found[at], sizes[at]
    for _ in range(_CLIMBS if u.size > 1 else 0):
        step = 1e-3 * r * here / best
        up = model.gradient(sample, r * u + step) - model.gradient(sample, r * u - step)
        up -= population.gradient("isotropic", r * u + step)
        up += population.gradient("isotropic", r * u - step)
        u = up / np.linalg.norm(up)
        here = model.gradient(sample, r * u) - g * u
        size = float(np.linalg.norm(here))
        if size <= best * (1.0 + 1e-6):
            return max(best, size)
        best = size
    return best


def _linear_norm(second: Floats) -> float:
    """The norm of the noise's derivative at 0, -(S - a I)/a^2: a is the mean eigenvalue of S."""
    d = second.shape[0]
    a = float(np.trace(second)) / d
    return float(np.abs(np.linalg.eigvalsh(second - a * np.eye(d))).max()) / a**2


def _replicate_slopes(frame: pd.DataFrame, inside: NDArray[np.bool_]) -> Estimate:
    """Mean over samples of the slope of ln sup by ln r."""
    slopes = [
        slope(np.log(part["r"]), np.log(part["sup"])).measured
        for _, part in frame[inside].groupby(["n", "replicate"])
        if len(part) > 2
    ]
    return mean(slopes) if slopes else Estimate(math.nan, math.nan)


def _mean_square(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean square over replicates of sup/r at the smallest radius: columns `by` and square."""
    first = frame[frame["r"] == frame.groupby(["d", "n"])["r"].transform("min")]
    ratio = first.assign(square=(first["sup"] / first["r"]) ** 2)
    return ratio.groupby(by)["square"].mean().reset_index()


def _slope_of_mean(x: ArrayLike, square: ArrayLike, replicates: int) -> Estimate:
    """Slope of half the log of a mean square by log x, with its 95 % interval.

    The log of a mean of `replicates` squares of Gaussians has variance 2/replicates.
    """
    log_x = np.log(np.asarray(x, dtype=float))
    found = slope(log_x, 0.5 * np.log(np.asarray(square, dtype=float)))
    centred = log_x - log_x.mean()
    error = math.sqrt(0.5 / replicates / float(centred @ centred))
    return Estimate(found.measured, half_width(error), "samples")
