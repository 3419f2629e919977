"""The paper's lemmas, measured: each function returns a tidy table of numbers beside their theory.

Summary tables have one row for each quantity, with the columns

    lemma  model  d  quantity  measured  uncertainty  theory  note

`theory` is what the paper states or what follows from it (nan where it states that a constant
exists and gives no value), `uncertainty` how far `measured` may be off: what an extrapolation
still changed, the spacing of a search, or a standard error over samples; `d` is 0 in a row that
pools several. Other tables
(landscapes, trajectories, suprema) have a row for each point, for figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from elubench.checks import Floats
from elubench.models import Isotropic
from elubench.papers.beyond_em import population, theory
from elubench.samples import ArraySample, LatticeSample, Sample, gaussian

COLUMNS = ("lemma", "model", "d", "quantity", "measured", "uncertainty", "theory", "note")
DIMENSIONS = (1, 2, 3, 4, 8, 16)
Row = tuple[str, str, int, str, float, float, float, str]


def _table(rows: Iterable[Row]) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def _check_dimensions(d_values: Sequence[int], least: int = 1) -> list[int]:
    values = [theory.check_dimension(d) for d in d_values]
    if not values or min(values) < least:
        raise ValueError(
            f"d_values: expected at least one d, each at least {least}; got {d_values}"
        )
    return values


def _check_range(name: str, value: float, low: float, high: float) -> float:
    if not low < value < high:
        raise ValueError(f"{name}: expected a number between {low:g} and {high:g}; got {value!r}")
    return float(value)


def _check_count(name: str, value: int, least: int) -> int:
    if value != int(value) or value < least:
        raise ValueError(f"{name}: expected a whole number, at least {least}; got {value!r}")
    return int(value)


def _limit(values: Callable[[float], float], r: float) -> tuple[float, float]:
    """The limit at 0 of a function of r^2, from r, r/2 and r/4, and what the last step changed."""
    a, b, c = values(r), values(r / 2), values(r / 4)
    first, second = (4 * b - a) / 3, (4 * c - b) / 3
    best = (16 * second - first) / 15
    return best, abs(best - second)


def _exponent(values: Callable[[float], float], r: float) -> tuple[float, float]:
    """The exponent of r at 0 of a function r^k (1 + O(r^2)), from local slopes."""
    return _limit(lambda x: math.log2(values(x) / values(x / 2)), r)


def _fit(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Slope, its standard error and intercept of the least-squares line."""
    u, v = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    centred = u - u.mean()
    slope = float(centred @ v / (centred @ centred))
    intercept = float(v.mean() - slope * u.mean())
    residual = v - intercept - slope * u
    spread = float(residual @ residual) / max(1, u.size - 2)
    return slope, math.sqrt(spread / float(centred @ centred)), intercept


def _axis(r: ArrayLike, d: int) -> Floats:
    """Points r e_1, shape (*r.shape, d)."""
    r = np.asarray(r, dtype=float)
    out = np.zeros((*r.shape, d))
    out[..., 0] = r
    return out


# --- Lemma 1: homogeneity of the isotropic loss --------------------------------------------------


def isotropic_profile(d: int, radii: ArrayLike) -> pd.DataFrame:
    """The isotropic loss along a ray: gap, gradient norm, and the two eigenvalues of the Hessian.

    The Hessian has the eigenvalue `radial` along theta and `across` on the rest (nan at d = 1).
    """
    d = theory.check_dimension(d)
    r = np.asarray(radii, dtype=float)
    points = _axis(r, d)
    hessian = population.hessian("isotropic", points)
    return pd.DataFrame(
        {
            "d": d,
            "r": r,
            "gap": population.loss("isotropic", points),
            "gradient": population.gradient("isotropic", points)[:, 0],
            "radial": hessian[:, 0, 0],
            "across": hessian[:, 1, 1] if d > 1 else np.nan,
        }
    )


def proof_radius(d: int) -> float:
    """The radius on which the proof of Lemma 1 claims c(theta) > 0: 1/2, or sqrt(d/3) at d >= 2."""
    d = theory.check_dimension(d)
    return 0.5 if d == 1 else math.sqrt(d / 3.0)


def _taylor_bound(r: float, d: int) -> float:
    """The lower bound of 1 - E[(V/r) tanh(V r/s)] that the proof of Lemma 1 is built on.

    x tanh x is at most its Taylor polynomial of degree 10 (d = 1) or 6 (d >= 2), and V^2j has mean
    (2j - 1)!!.
    """
    s = 1.0 - r * r / d
    tau = r * r / s**2
    terms = (1.0, -1.0, 2.0, -17.0 / 3.0, 62.0 / 3.0)  # c_j (2j - 1)!!, c_j those of x tanh x
    degree = 5 if d == 1 else 3
    return 1.0 - s / r**2 * sum(c * tau ** (j + 1) for j, c in enumerate(terms[:degree]))


def homogeneity(d_values: Sequence[int] = DIMENSIONS, n_radii: int = 400) -> pd.DataFrame:
    """Lemma 1: exponents, leading coefficients, least constants, and where f is convex.

    For each d, with alpha = 6 (d = 1) or 2 and kappa the leading coefficient of the gradient:

    * `alpha of the gradient`, `alpha of the Hessian`: exponents at the truth;
    * `leading coefficient`: the limit of |grad f| / |theta|^(alpha + 1);
    * `c1`: the least constant in lambda_max <= c1 |theta|^alpha, and `c2`: the greatest in
      |grad f| >= c2 gap^((alpha + 1)/(alpha + 2)), both on the ball of `proof_radius`; `theory` is
      their limit on small balls, (alpha + 1) kappa and kappa^(1/(alpha + 2)) (alpha + 2)^((alpha +
      1)/(alpha + 2)): c1 can be no smaller and c2 no larger;
    * `convexity radius`: the largest ball on which the least eigenvalue of the Hessian is positive;
      it is searched up to 0.999 sqrt(d), and `theory` is the radius of the proof;
    * `radius of the proof's bound`: how far the Taylor bound in the proof of convexity stays
      positive. The proof argues that grad f = c(theta) theta with c > 0 makes f convex; it does
      not (it makes f increase along rays), so the eigenvalue itself is what is measured here.
    """
    _check_count("n_radii", n_radii, 10)
    rows: list[Row] = []
    for d in _check_dimensions(d_values):
        alpha = theory.homogeneity("isotropic", d).value
        kappa = theory.leading_coefficient(d)
        place = "1(a)" if d == 1 else "1(b)"

        def gradient(r: float, d: int = d) -> float:
            return float(population.gradient("isotropic", _axis(r, d))[0])

        def radial(r: float, d: int = d) -> float:
            return float(population.hessian("isotropic", _axis(r, d))[0, 0])

        def gap(r: float, d: int = d) -> float:
            return float(population.loss("isotropic", _axis(r, d)))

        def add(quantity: str, pair: tuple[float, float], value: float, note: str = "") -> None:
            rows.append((place, "isotropic", d, quantity, *pair, value, note))  # noqa: B023

        small = 0.04
        exponent, error = _exponent(gradient, small)
        add("alpha of the gradient", (exponent - 1.0, error), alpha)
        add("alpha of the Hessian", _exponent(radial, small), alpha)
        add(
            "leading coefficient",
            _limit(lambda r: gradient(r) / r ** (alpha + 1.0), small),  # noqa: B023
            kappa,
        )

        ball = proof_radius(d)
        r = np.geomspace(1e-3 * ball, ball, n_radii)
        profile = isotropic_profile(d, r)
        largest = np.fmax(profile["radial"], profile["across"])
        power = (alpha + 1.0) / (alpha + 2.0)
        for quantity, values, pick, at_truth, limit in (
            (
                "c1",
                largest / r**alpha,
                max,
                _limit(lambda x: radial(x) / x**alpha, small),  # noqa: B023
                (alpha + 1.0) * kappa,
            ),
            (
                "c2",
                profile["gradient"] / profile["gap"] ** power,
                min,
                _limit(lambda x: gradient(x) / gap(x) ** power, small),  # noqa: B023
                kappa ** (1.0 / (alpha + 2.0)) * (alpha + 2.0) ** power,
            ),
        ):
            array = np.asarray(values, dtype=float)
            at = int(np.argmax(array) if pick is max else np.argmin(array))
            where = f"ball of radius {ball:.3g}, reached at {r[at]:.3g}"
            # At the ends of the grid the value is exact; inside, its neighbours bound the error.
            error = float(np.ptp(array[at - 1 : at + 2])) if 0 < at < r.size - 1 else 0.0
            best = (float(array[at]), error)
            if pick(best[0], at_truth[0]) != best[0] or at == 0:
                best, where = at_truth, f"ball of radius {ball:.3g}, approached at the truth"
            add(quantity, best, limit, where)

        whole = np.linspace(1e-3, 0.999, n_radii) * math.sqrt(d)
        profile = isotropic_profile(d, whole)
        least = np.fmin(profile["radial"], profile["across"])
        bad = np.flatnonzero(least <= 0.0)
        edge = float(whole[bad[0]]) if bad.size else float(whole[-1])
        note = (
            "" if bad.size else "positive on all of the grid: convex wherever the scale is positive"
        )
        add("convexity radius", (edge, float(whole[1] - whole[0])), ball, note)

        top = 0.999 * math.sqrt(d)
        grid = np.geomspace(0.05, top, 400)
        sign = np.array([_taylor_bound(x, d) for x in grid])
        if sign[0] > 0.0 and np.any(sign < 0.0):
            at = int(np.flatnonzero(sign < 0.0)[0])
            zero = float(brentq(_taylor_bound, grid[at - 1], grid[at], args=(d,), xtol=1e-12))
            add("radius of the proof's bound", (zero, 1e-12), ball)
        else:
            add("radius of the proof's bound", (math.nan, math.nan), ball, "no sign change found")
    return _table(rows)


# --- Lemma 2: stability ---------------------------------------------------------------------------


def _draw(kind: str, n: int, d: int, seed: int) -> Sample:
    if kind == "lattice":
        return LatticeSample.gaussian(n=n, d=d, seed=seed)
    return ArraySample(gaussian(n=n, d=d, seed=seed))


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

    One row for each n, replicate and radius r: columns kind, d, n, replicate, r, noise (the largest
    difference found at that radius) and sup (the largest up to it). At d = 1 both are exact on the
    grid of radii; at d >= 2 the sphere is searched in the singular directions of the noise and in
    random ones, so they are lower bounds, close as long as the noise is linear in theta. Lattice
    samples go up to d = 4, direct ones (`kind="direct"`) to any d.
    """
    d = theory.check_dimension(d)
    replicates = _check_count("replicates", replicates, 1)
    if kind not in ("lattice", "direct"):
        raise ValueError(f"kind: expected 'lattice' or 'direct'; got {kind!r}")
    r = np.sort(np.atleast_1d(np.asarray(radii, dtype=float)))
    if r.size == 0 or r[0] <= 0.0 or r[-1] >= 0.9 * math.sqrt(d):
        raise ValueError(f"radii: expected numbers between 0 and 0.9 sqrt(d); got {radii!r}")
    model = Isotropic()
    norm = population.gradient("isotropic", _axis(r, d))[:, 0]
    frames = []
    for n in n_values:
        for replicate in range(replicates):
            sample = _draw(kind, int(n), d, seed + replicate)
            directions = _directions(sample, float(r[0]), extra_directions, seed + replicate)
            noise = np.array(
                [
                    max(
                        float(np.linalg.norm(model.gradient(sample, x * u) - g * u))
                        for u in directions
                    )
                    for x, g in zip(r, norm, strict=True)
                ]
            )
            frames.append(
                pd.DataFrame(
                    {
                        "kind": kind,
                        "d": d,
                        "n": int(n),
                        "replicate": replicate,
                        "r": r,
                        "noise": noise,
                        "sup": np.maximum.accumulate(noise),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def _replicate_slopes(frame: pd.DataFrame, inside: NDArray[np.bool_]) -> tuple[float, float]:
    """Mean over samples of the slope of ln sup by ln r, and its standard error."""
    slopes = [
        _fit(np.log(part["r"]), np.log(part["sup"]))[0]
        for _, part in frame[inside].groupby(["n", "replicate"])
        if len(part) > 2
    ]
    if not slopes:
        return math.nan, math.nan
    error = np.std(slopes, ddof=1) / math.sqrt(len(slopes)) if len(slopes) > 1 else math.nan
    return float(np.mean(slopes)), float(error)


def _mean_square(frame: pd.DataFrame, by: str) -> pd.DataFrame:
    """Mean square over replicates of sup/r at the smallest radius: columns `by` and square."""
    first = frame[frame["r"] == frame.groupby(["d", "n"])["r"].transform("min")]
    ratio = first.assign(square=(first["sup"] / first["r"]) ** 2)
    return ratio.groupby(by)["square"].mean().reset_index()


def stability_univariate(
    n_values: Sequence[int] = (10**6, 10**8, 10**10, 10**12),
    replicates: int = 20,
    seed: int = 0,
    kind: str = "lattice",
) -> pd.DataFrame:
    """Lemma 2(a): gamma at d = 1 in both phases, where they meet, and the exponent of n.

    Phase 1 is r from n^(-1/16) to 1/2, phase 2 below, down to a hundredth of it; n must exceed 2^16
    for the first to exist. The uncertainties are standard errors over samples. gamma = 1 in phase 1
    is an upper bound in the paper; a larger slope says that the bound is not tight. Indeed on its
    curve f_n has no term of order theta^2 at d = 1: near 0 the noise is r^3 times a third of the
    sample's excess kurtosis, whatever n is. `meeting radius` is where the local slope of the root
    mean square noise falls below 2, half way between 3 and 1, in units of n^(-1/16), if it does.
    """
    if not n_values or min(n_values) <= 2**16:
        raise ValueError(f"n_values: expected numbers above 2^16 = 65536; got {n_values!r}")
    rows: list[Row] = []
    frames = []
    for n in n_values:
        edge = theory.phase_radius(n)
        radii = np.concatenate([np.geomspace(edge / 100, edge, 13), np.geomspace(edge, 0.5, 8)[1:]])
        frames.append(stability(1, [n], radii, replicates, kind, seed))
    frame = pd.concat(frames, ignore_index=True)
    edges = np.array([theory.phase_radius(n) for n in frame["n"]])
    upper = np.asarray(frame["r"] >= edges * (1 - 1e-9))
    for phase, inside in ((1, upper), (2, ~upper)):
        slope, error = _replicate_slopes(frame, inside)
        gamma = theory.stability("isotropic", 1, phase).value
        rows.append(("2(a)", "isotropic", 1, f"gamma, phase {phase}", slope, error, gamma, ""))

    mean = frame.groupby(["n", "r"], as_index=False).agg(noise=("noise", lambda x: (x**2).mean()))
    meetings = []
    for n in n_values:
        part = mean[mean["n"] == n]
        slopes = np.diff(0.5 * np.log(part["noise"])) / np.diff(np.log(part["r"]))
        low = np.flatnonzero(slopes < 2.0)
        if low.size:
            meetings.append(float(part["r"].iloc[low[0]]) / theory.phase_radius(n))
    meeting = float(np.mean(meetings)) if meetings else math.nan
    spread = float(np.std(meetings)) if meetings else math.nan
    note = "" if meetings else "the slope stays above 2: no phase with gamma = 1 is seen"
    rows.append(
        ("2(a)", "isotropic", 1, "meeting radius n^(1/16)", meeting, spread, math.nan, note)
    )

    fixed = frame[np.isclose(frame["r"], edges / 100)]
    cubic = fixed.assign(square=(fixed["noise"] / fixed["r"] ** 3) ** 2)
    by_n = cubic.groupby("n", as_index=False)["square"].mean()
    slope, error = _slope_of_mean(by_n["n"], by_n["square"], replicates)
    rows.append(("2(a)", "isotropic", 1, "exponent of n", slope, error, -0.5, "at noise/r^3"))
    # Near 0 the noise is r^3 times a third of the excess kurtosis, of variance 24/n.
    scaled = float(np.sqrt((cubic["square"] * cubic["n"]).mean()))
    error = scaled / math.sqrt(2 * len(cubic))
    rows.append(
        ("2(a)", "isotropic", 1, "noise n^(1/2)/r^3", scaled, error, math.sqrt(24.0) / 3.0, "")
    )
    return _table(rows)


def _slope_of_mean(x: ArrayLike, square: ArrayLike, replicates: int) -> tuple[float, float]:
    """Slope of half the log of a mean square by log x, and its standard error.

    The log of a mean of `replicates` squares of Gaussians has variance 2/replicates.
    """
    log_x = np.log(np.asarray(x, dtype=float))
    slope, _, _ = _fit(log_x, 0.5 * np.log(np.asarray(square, dtype=float)))
    centred = log_x - log_x.mean()
    return slope, math.sqrt(0.5 / replicates / float(centred @ centred))


def stability_multivariate(
    d_values: Sequence[int] = (2, 4, 8, 16, 32),
    n_values: Sequence[int] = (1_000, 10_000, 100_000),
    replicates: int = 6,
    seed: int = 0,
) -> pd.DataFrame:
    """Lemma 2(b), direct samples: gamma, and the exponents of n and of d in the noise, d >= 2.

    gamma is the slope over radii from 0.003 to 0.1. The exponents are fitted to the mean square
    of sup/r at the smallest radius. To leading order the noise is theta times the traceless part of
    the sample covariance less I, whose norm tends to 2 (d/n)^(1/2) for large d, n/d; at small d it
    still grows faster than the power 1/2, so the last row compares the largest d with that limit.
    """
    values = _check_dimensions(d_values, least=2)
    radii = np.geomspace(0.003, 0.1, 5)
    frame = pd.concat(
        [stability(d, n_values, radii, replicates, "direct", seed) for d in values],
        ignore_index=True,
    )
    rows: list[Row] = []
    for d in values:
        part = frame[frame["d"] == d]
        slope, error = _replicate_slopes(part, np.ones(len(part), dtype=bool))
        rows.append(("2(b)", "isotropic", d, "gamma", slope, error, 1.0, "direct samples"))
    by = _mean_square(frame, by="n")
    slope, error = _slope_of_mean(by["n"], by["square"], replicates * len(values))
    rows.append(("2(b)", "isotropic", 0, "exponent of n", slope, error, -0.5, f"d in {values}"))
    frame = frame.assign(sup=frame["sup"] * np.sqrt(frame["n"]))
    by = _mean_square(frame, by="d")
    x, y = np.log(by["d"]), 0.5 * np.log(by["square"])
    slope, error, _ = _fit(x, y)
    rows.append(("2(b)", "isotropic", 0, "exponent of d", slope, error, 0.5, f"d in {values}"))
    largest = max(values)
    part = frame[(frame["d"] == largest) & (frame["r"] == radii[0])]
    scaled = part["sup"].to_numpy() / (radii[0] * math.sqrt(largest))
    last, error = float(scaled.mean()), float(scaled.std() / math.sqrt(max(1, scaled.size - 1)))
    rows.append(
        ("2(b)", "isotropic", largest, "noise (n/d)^(1/2)/r", last, error, 2.0, "limit of large d")
    )
    return _table(rows)


# --- Lemmas 3 and 4: the diagonal model ----------------------------------------------------------


def _unit_directions(d: int, count: int, seed: int) -> Floats:
    """Directions of the diagonal model, all signs positive: axes, equal coordinates, near axes."""
    rng = np.random.default_rng(seed)
    random = np.abs(rng.standard_normal((count, d)))
    near = np.abs(rng.standard_normal((count, d))) * 10.0 ** rng.uniform(-9, 0, (count, 1))
    near[:, 0] = 1.0
    fixed = [np.eye(d)[0]] + [
        np.concatenate([np.ones(k), np.zeros(d - k)]) for k in range(2, d + 1)
    ]
    out = np.concatenate([np.array(fixed), random, near])
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True))


def pseudo_convexity(
    d_values: Sequence[int] = (2, 3, 4, 8), n_directions: int = 60, n_radii: int = 60, seed: int = 0
) -> pd.DataFrame:
    """Lemma 3: the least ratio <grad f, theta> / gap over the whole region, which must be >= 1.

    Directions are the axes, equal coordinates, random ones and random ones near an axis; radii go
    up to 0.99 of the boundary of the region of positive scales. Also the limit of the ratio at
    the truth, in the direction of equal coordinates (f is of degree 4 there) and on an axis (8).
    """
    rows: list[Row] = []
    for d in _check_dimensions(d_values, least=2):
        directions = _unit_directions(d, _check_count("n_directions", n_directions, 1), seed)
        reach = 1.0 / directions.max(axis=1)
        steps = np.concatenate([np.geomspace(1e-3, 0.1, n_radii), np.linspace(0.1, 0.99, n_radii)])
        points = directions[:, None, :] * (reach[:, None] * steps)[:, :, None]
        ratio = _pseudo_ratio(points)
        at = np.unravel_index(int(np.argmin(ratio)), ratio.shape)
        note = (
            f"at theta/boundary = {steps[at[1]]:.3g} in {np.round(directions[at[0]], 3).tolist()}"
        )
        neighbours = ratio[at[0], max(0, at[1] - 1) : at[1] + 2]
        rows.append(
            (
                "3",
                "diagonal",
                d,
                "least <grad f, theta>/gap",
                float(ratio.min()),
                float(np.ptp(neighbours)),
                1.0,
                note,
            )
        )
        for quantity, direction, degree in (
            ("ratio at the truth, equal coordinates", np.full(d, d**-0.5), 4.0),
            ("ratio at the truth, axis", np.eye(d)[0], 8.0),
        ):
            pair = _limit(lambda r, u=direction: float(_pseudo_ratio(r * u)), 0.04)  # type: ignore[misc]
            rows.append(("3", "diagonal", d, quantity, *pair, degree, "degree of f there"))
    return _table(rows)


def _pseudo_ratio(theta: Floats) -> Floats:
    inner = np.sum(population.gradient("diagonal", theta) * theta, axis=-1)
    return np.asarray(inner / population.loss("diagonal", theta))


def diagonal_landscape(radii: ArrayLike, angles: ArrayLike) -> pd.DataFrame:
    """The diagonal loss at d = 2 on rays; angle 0 is the first axis, pi/4 equal coordinates.

    One row for each radius and angle: gap, gradient norm, the least and the greatest eigenvalue of
    the Hessian, `smoothness` = |Hessian|/r^2 and `growth` = |grad f|/gap^(3/4), the two ratios that
    Lemma 4(a) bounds by constants (above and below).
    """
    r, angle = (a.ravel() for a in np.meshgrid(radii, angles, indexing="ij"))
    points = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1)
    eigenvalues = np.linalg.eigvalsh(population.hessian("diagonal", points))
    gap = population.loss("diagonal", points)
    gradient = np.linalg.norm(population.gradient("diagonal", points), axis=-1)
    return pd.DataFrame(
        {
            "r": r,
            "angle": angle,
            "gap": gap,
            "gradient": gradient,
            "least": eigenvalues[:, 0],
            "greatest": eigenvalues[:, 1],
            "smoothness": np.abs(eigenvalues).max(axis=1) / r**2,
            "growth": gradient / gap**0.75,
        }
    )


def diagonal_homogeneity(r: float = 0.04) -> pd.DataFrame:
    """Lemma 4 at d = 2: whether one constant can serve near an axis.

    The bounds of part (a) need `growth` = |grad f|/gap^(3/4) to stay away from 0 over all points
    with two coordinates not zero. `least growth` is its infimum over angles at radius r: its
    exponent in r must be 0 for a constant to exist. Closer to an axis than an angle of order r^4
    the gradient is that of one coordinate, (2/3) r^7, and the gap r^8/12, so the exponent is 1 and
    no constant exists. `greatest smoothness` is the constant of the upper bound. Part (b): the
    exponents along the axis; and the curvature across it, which is theta_1^2, not theta_1^6.
    """
    r = _check_range("r", r, 0.0, 0.5)
    angles = np.concatenate([np.geomspace(1e-16, 1e-2, 60), np.linspace(1e-2, math.pi / 4, 60)])

    def least(x: float) -> float:
        return float(diagonal_landscape([x], angles)["growth"].min())

    def equal(x: float) -> float:
        return float(diagonal_landscape([x], [math.pi / 4])["growth"].iloc[0])

    def along(x: float) -> float:
        return float(population.hessian("diagonal", [x, 0.0])[0, 0])

    def across(x: float) -> float:
        return float(population.hessian("diagonal", [x, 0.0])[1, 1])

    def relative(x: float) -> float:
        return across(x) / x**2

    def growth(x: float) -> float:
        gradient = population.gradient("diagonal", [x, 0.0])[0]
        return float(gradient / population.loss("diagonal", [x, 0.0]) ** 0.875)

    landscape = diagonal_landscape(np.geomspace(1e-3, 0.5, 40), angles)
    top = landscape.iloc[int(landscape["smoothness"].to_numpy().argmax())]
    at_edge = f"on r <= 0.5, reached at r = {top['r']:.3g}, angle {top['angle']:.3g}"
    a, b, across_note = "4(a)", "4(b)", "the paper bounds the curvature along the axis alone"
    entries: list[tuple[str, str, tuple[float, float], float, str]] = [
        (a, "exponent of least growth", _exponent(least, r), 0.0, "over angles"),
        (a, "exponent of growth, equal coordinates", _exponent(equal, r), 0.0, ""),
        (a, "growth, equal coordinates", _limit(equal, r), 2.0**1.25, "limit at the truth"),
        (a, "greatest smoothness", (float(top["smoothness"]), 0.0), math.nan, at_edge),
        (a, "least eigenvalue / r^2", _least_eigenvalue(r), -0.5, "equal coordinates: not convex"),
        (b, "exponent along the axis", _exponent(along, r), 6.0, ""),
        (b, "C4", _limit(growth, r), _axis_growth(), "limit at the truth"),
        (b, "exponent across the axis", _exponent(across, r), 2.0, across_note),
        (b, "curvature across / theta_1^2", _limit(relative, r), 1.0, across_note),
    ]
    rows: list[Row] = [(x, "diagonal", 2, q, *pair, t, note) for x, q, pair, t, note in entries]
    return _table(rows)


def _axis_growth() -> float:
    """|grad f|/gap^(7/8) of (2/3) r^7 and r^8/12."""
    return (2.0 / 3.0) * math.pow(12.0, 0.875)


def _least_eigenvalue(r: float) -> tuple[float, float]:
    """The limit at the truth of the least eigenvalue over r^2 with equal coordinates."""
    return _limit(
        lambda x: float(diagonal_landscape([x], [math.pi / 4])["least"].iloc[0]) / x**2, r
    )


# --- iterates at infinite n ----------------------------------------------------------------------


def trajectory(
    model: object,
    algorithm: str,
    start: ArrayLike,
    steps: int,
    eta: float = 0.01,
    beta: float = 0.8,
) -> pd.DataFrame:
    """Iterates of EM or ELU on the population: columns t, theta_1 .. theta_p, norm, status.

    ELU takes the step `eta / beta^t` at theta_t, t = 0, 1, ... The run ends early, with status
    "diverged" in its last row, when an iterate leaves the region of positive scale. For general
    locations at true mean 0 the norm is that of both locations.
    """
    name = theory.model_name(model)
    if algorithm not in theory.ALGORITHMS:
        raise ValueError(
            f"algorithm: expected one of {', '.join(theory.ALGORITHMS)}; got {algorithm!r}"
        )
    steps = _check_count("steps", steps, 1)
    theory.check_positive("eta", eta)
    theory.check_beta(beta)
    point = np.atleast_1d(np.asarray(start, dtype=float))
    if point.ndim != 1 or not population.inside(name, point):
        raise ValueError(f"start: expected one point with a positive scale; got {start!r}")
    points, status = [point], "running"
    for t in range(steps):
        if algorithm == "em":
            point = population.em_step(name, point)
        else:
            point = point - eta / beta**t * population.gradient(name, point)
        if not (np.all(np.isfinite(point)) and population.inside(name, point)):
            status = "diverged"
            break
        points.append(point)
    table = np.array(points)
    frame = pd.DataFrame(table, columns=[f"theta_{j + 1}" for j in range(table.shape[1])])
    frame.insert(0, "t", np.arange(len(table)))
    frame["norm"] = np.linalg.norm(table, axis=1)
    frame["status"] = "running"
    frame.loc[frame.index[-1], "status"] = status
    return frame


def trajectory_rates(
    d_values: Sequence[int] = (1, 2, 4), eta: float = 0.01, beta: float = 0.8, steps: int = 200
) -> pd.DataFrame:
    """EM and ELU at infinite n on the isotropic model: measured rates beside the predicted ones.

    * `EM, growth of |theta|^-alpha`: its increase in one step, in the limit of small theta; theory
      alpha kappa, 4 at d = 1 and 2 (1 - 1/d) at d >= 2, so theta_t ~ (alpha kappa t)^(-1/alpha);
    * `ELU, factor`: |theta_(t+1)|/|theta_t| at the end of a run; theory beta^(1/alpha);
    * `ELU, level`: |theta_t| / beta^(t/alpha) at the end over its predicted value; theory 1.
    """
    rows: list[Row] = []
    for d in _check_dimensions(d_values):
        alpha, kappa = theory.homogeneity("isotropic", d).value, theory.leading_coefficient(d)

        def growth(r: float, d: int = d, alpha: float = alpha) -> float:
            after = float(population.em_step("isotropic", _axis(r, d))[0])
            # after^-alpha - r^-alpha without the subtraction
            return math.expm1(-alpha * math.log(after / r)) * math.pow(r, -alpha)

        pair = _limit(growth, 0.1)
        rows.append(("1", "isotropic", d, "EM, growth of |theta|^-alpha", *pair, alpha * kappa, ""))
        run = trajectory("isotropic", "elu", _axis(0.8, d), steps, eta, beta)
        norm = np.asarray(run["norm"], dtype=float)
        factor = norm[1:] / norm[:-1]
        level = norm[-1] / theory.elu_norm(float(norm.size - 1), d, eta, beta)
        half = norm.size // 2
        before = norm[half] / theory.elu_norm(float(half), d, eta, beta)
        note = f"eta {eta:g}, beta {beta:g}, t = {norm.size - 1}"
        rows.append(
            (
                "1",
                "isotropic",
                d,
                "ELU, factor",
                float(factor[-1]),
                float(abs(factor[-1] - factor[half])),
                beta ** (1.0 / alpha),
                note,
            )
        )
        rows.append(
            ("1", "isotropic", d, "ELU, level", float(level), float(abs(level - before)), 1.0, note)
        )
    return _table(rows)


def diagonal_flow(
    start: ArrayLike = (0.3, 0.2),
    algorithm: str = "em",
    steps: int = 400,
    eta: float = 1.0,
    beta: float = 0.9,
) -> pd.DataFrame:
    """Iterates on the diagonal population, with what tells whether they fall onto an axis.

    Adds to `trajectory` the columns `invariant` = theta_(1)^2 - theta_(2)^2 of the two largest
    coordinates in size, `ratio` = |theta_(2)/theta_(1)|, and `across` = step times the curvature
    across the first axis, (eta/beta^t) theta_(1)^2; above 2 such a step throws the small
    coordinate outwards. To leading order f = 1/2 sum_(i<j) theta_i^2 theta_j^2, along whose
    gradient flow d(theta_j^2)/dt = -2 theta_j^2 (|theta|^2 - theta_j^2): with two coordinates both
    squares fall at the same speed, their difference is constant, and the smaller vanishes first.
    """
    point = np.atleast_1d(np.asarray(start, dtype=float))
    if point.size < 2:
        raise ValueError(f"start: expected at least two coordinates; got {start!r}")
    frame = trajectory("diagonal", algorithm, point, steps, eta, beta)
    size = -np.sort(-np.abs(frame.filter(like="theta_").to_numpy()), axis=1)
    frame["invariant"] = (size[:, 0] - size[:, 1]) * (size[:, 0] + size[:, 1])
    frame["ratio"] = size[:, 1] / np.maximum(size[:, 0], np.finfo(float).tiny)
    step = eta / beta ** frame["t"] if algorithm == "elu" else 1.0
    frame["across"] = step * size[:, 0] ** 2
    return frame


def diagonal_phases(
    start: ArrayLike = (0.3, 0.2), steps: int = 400, eta: float = 1.0, beta: float = 0.9
) -> pd.DataFrame:
    """Whether iterates avoid the second phase on the diagonal population (Appendix B.1), d = 2.

    * `drift of theta_1^2 - theta_2^2`: its relative change while |theta_2/theta_1| falls to 1/100,
      for starts shrunk by 1, 1/2, 1/4, extrapolated to 0: theory 0, the invariant is exact to
      leading order;
    * `EM, final ratio`: |theta_2/theta_1| at the end, from the generic start;
    * `ELU, least norm`, `ELU, status`: how far ELU comes from the generic start and from one with
      equal coordinates; the paper has it converge linearly, so `theory` is the norm that beta^(t/6)
      times the start would have at the end.
    """
    point = np.asarray(start, dtype=float)
    if point.shape != (2,) or point[0] == point[1] or not np.all(point > 0.0):
        raise ValueError(f"start: expected two different positive numbers; got {start!r}")

    def drift(shrink: float) -> float:
        x = shrink * point
        first = (x[0] - x[1]) * (x[0] + x[1])
        count = 0
        while min(abs(x)) > 0.01 * max(abs(x)) and count < 100_000:
            x = population.em_step("diagonal", x)
            count += 1
        return float((x[0] - x[1]) * (x[0] + x[1]) / first - 1.0)

    rows: list[Row] = []
    rows.append(
        ("4", "diagonal", 2, "drift of theta_1^2 - theta_2^2", *_limit(drift, 1.0), 0.0, "EM")
    )
    em = diagonal_flow(point, "em", steps)
    note = f"start {point.tolist()}, t = {steps}"
    rows.append(
        ("4", "diagonal", 2, "EM, final ratio", float(em["ratio"].iloc[-1]), 0.0, 0.0, note)
    )
    for label, begin in (("generic start", point), ("equal start", np.full(2, point.mean()))):
        run = diagonal_flow(begin, "elu", steps, eta, beta)
        best = int(run["norm"].to_numpy().argmin())
        predicted = float(np.linalg.norm(begin)) * beta ** (steps / 6.0)
        note = (
            f"{run['status'].iloc[-1]}, {len(run) - 1} steps, least norm at t = {best}, "
            f"eta {eta:g}, beta {beta:g}"
        )
        rows.append(
            (
                "4",
                "diagonal",
                2,
                f"ELU, least norm, {label}",
                float(run["norm"].min()),
                0.0,
                predicted,
                note,
            )
        )
    return _table(rows)


def general_instability(
    start: ArrayLike = (0.5, 0.3, -0.4, -0.2), steps: int = 200, eta: float = 1.0, beta: float = 0.9
) -> pd.DataFrame:
    """Algorithm 3 at infinite n: the half sum of the locations is not flat.

    f grows like |m|^2/2 in the half sum m, and a step eta/beta^t on both locations multiplies m by
    1 - eta/(2 beta^t). From t = ln(4/eta)/ln(1/beta) on that is below -1 and m grows without end:

    * `curvature of the half sum`: the least eigenvalue of the Hessian by m at the truth; theory 1,
      from the expansion above (an exponential step needs 0);
    * `turning time`: the t at which |m| is least; theory the t above;
    * `ELU, least norm`: how close the locations come; theory |start| beta^(steps/2), the geometric
      decay that Appendix B.2 reports.
    """
    point = np.asarray(start, dtype=float)
    if point.ndim != 1 or point.size < 2 or point.size % 2:
        raise ValueError(f"start: expected theta1 then theta2, 2 d numbers; got {start!r}")
    d = point.size // 2
    if not np.any(point[:d] + point[d:]):
        raise ValueError("start: expected a half sum that is not zero")
    run = trajectory("general", "elu", point, steps, eta, beta)
    table = run.filter(like="theta_").to_numpy()
    half_sum = np.linalg.norm(table[:, :d] + table[:, d:], axis=1) / 2.0
    hessian = population.hessian("general", np.zeros(2 * d))
    by_m = hessian[:d, :d] + hessian[:d, d:] + hessian[d:, :d] + hessian[d:, d:]
    turning = math.log(4.0 / eta) / math.log(1.0 / beta)
    place, note = "B.2", f"{run['status'].iloc[-1]} after {len(run) - 1} steps"
    predicted = float(np.linalg.norm(point)) * beta ** (steps / 2.0)
    least = float(np.linalg.eigvalsh(by_m)[0])
    rows: list[Row] = [
        (place, "general", d, "curvature of the half sum", least, 0.0, 1.0, "at the truth"),
        (place, "general", d, "turning time", float(half_sum.argmin()), 1.0, turning, note),
        (place, "general", d, "ELU, least norm", float(run["norm"].min()), 0.0, predicted, note),
    ]
    return _table(rows)
