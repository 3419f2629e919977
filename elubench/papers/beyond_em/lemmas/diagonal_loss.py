"""Lemmas 3 and 4: pseudo-convexity and homogeneity of the diagonal loss."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.papers.beyond_em import population
from elubench.papers.beyond_em.lemmas.estimates import (
    Estimate,
    Summary,
    dimensions,
    exponent,
    limit,
)


def pseudo_convexity(
    d_values: Sequence[int] = (2, 3, 4, 8), n_directions: int = 60, n_radii: int = 60, seed: int = 0
) -> pd.DataFrame:
    """Lemma 3: the least ratio <grad f, theta> / gap over the whole region, which must be >= 1.

    Directions are the axes, equal coordinates, random ones and random ones near an axis; radii go
    up to 0.99 of the boundary of the region of positive scales. Also the limit of the ratio at
    the truth, in the direction of equal coordinates (f is of degree 4 there) and on an axis (8).
    """
    n_directions = checks.integer(n_directions, "n_directions", 1)
    table = Summary("diagonal")
    for d in dimensions(d_values, least=2):
        directions = _unit_directions(d, n_directions, seed)
        reach = 1.0 / directions.max(axis=1)
        steps = np.concatenate([np.geomspace(1e-3, 0.1, n_radii), np.linspace(0.1, 0.99, n_radii)])
        points = directions[:, None, :] * (reach[:, None] * steps)[:, :, None]
        ratio = _pseudo_ratio(points)
        i, k = np.unravel_index(int(np.argmin(ratio)), ratio.shape)
        near = float(np.ptp(ratio[i, max(0, k - 1) : k + 2]))
        found = Estimate(float(ratio.min()), near, "numerical")
        note = f"at theta/boundary = {steps[k]:.3g} in {np.round(directions[i], 3).tolist()}"
        table.add("3", d, "least <grad f, theta>/gap", found, 1.0, note)
        for where, direction, degree in (
            ("equal coordinates", np.full(d, d**-0.5), 4.0),
            ("axis", np.eye(d)[0], 8.0),
        ):
            found = _ratio_at_truth(direction)
            table.add("3", d, f"ratio at the truth, {where}", found, degree, "degree of f there")
    return table.frame()


def _ratio_at_truth(direction: Floats) -> Estimate:
    return limit(lambda r: float(_pseudo_ratio(r * direction)), 0.04)


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


def _pseudo_ratio(theta: Floats) -> Floats:
    inner = np.sum(population.gradient("diagonal", theta) * theta, axis=-1)
    return np.asarray(inner / population.loss("diagonal", theta))


def diagonal_landscape(radii: ArrayLike, angles: ArrayLike) -> pd.DataFrame:
    """The diagonal loss at d = 2 on rays; angle 0 is the first axis, pi/4 equal coordinates.

    One row per radius and angle: gap, gradient norm, the least and the greatest eigenvalue of
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


def diagonal_hessian(
    d_values: Sequence[int] = (2, 3, 4), r: float = 0.04, n_directions: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Lemma 4(a), the Hessian's half, and that the diagonal loss is not convex (Appendix B.1).

    To leading order f = 1/2 sum_(i<j) theta_i^2 theta_j^2, whose Hessian is r^2 times a matrix of the
    direction. Over directions at radius r:

    * `greatest |Hessian| / r^2` at the truth, and its `exponent` in r, which must not be below 0; theory
      3 (1 - 1/d), reached at equal coordinates;
    * `least eigenvalue / r^2`: negative, so that f is not convex on any ball; theory -1/2, reached where
      two coordinates are equal and the others 0.
    """
    table, place = Summary("diagonal"), "4(a)"
    for d in dimensions(d_values, least=2):
        directions = _unit_directions(d, checks.integer(n_directions, "n_directions", 1), seed)

        def extremes(x: float, at: Floats = directions) -> tuple[float, float]:
            eigenvalues = np.linalg.eigvalsh(population.hessian("diagonal", x * at))
            return float(np.abs(eigenvalues).max()) / x**2, float(eigenvalues.min()) / x**2

        found = limit(lambda x: extremes(x)[0], r)
        table.add(place, d, "greatest |Hessian| / r^2", found, 3.0 * (1.0 - 1.0 / d))
        found = exponent(lambda x: extremes(x)[0] * x**2, r)
        table.add(place, d, "exponent of the greatest |Hessian|", found, 2.0)
        found = limit(lambda x: extremes(x)[1], r)
        table.add(place, d, "least eigenvalue / r^2 over directions", found, -0.5, "not convex")
    return table.frame()


def diagonal_homogeneity(r: float = 0.04) -> pd.DataFrame:
    """Lemma 4 at d = 2: whether one constant can serve near an axis.

    The bounds of part (a) need `growth` = |grad f|/gap^(3/4) to stay away from 0 over all points
    with two coordinates not zero. `least growth` is its infimum over angles at radius r: its
    exponent in r must be 0 for a constant to exist. Closer to an axis than an angle of order r^4
    the gradient is that of one coordinate, (2/3) r^7, and the gap r^8/12, so the exponent is 1 and
    no constant exists. `greatest smoothness` is the constant of the upper bound. Part (b): the
    exponents along the axis; and the curvature across it, which is theta_1^2, not theta_1^6.
    """
    r = checks.real(r, "r", 0.0, 0.5)
    angles = np.concatenate([np.geomspace(1e-16, 1e-2, 60), np.linspace(1e-2, math.pi / 4, 60)])

    def least_growth(x: float) -> float:
        return float(diagonal_landscape([x], angles)["growth"].min())

    def equal(x: float) -> pd.Series[float]:
        return diagonal_landscape([x], [math.pi / 4]).iloc[0]

    def equal_growth(x: float) -> float:
        return float(equal(x)["growth"])

    def axis_growth(x: float) -> float:
        gradient = population.gradient("diagonal", [x, 0.0])[0]
        return float(gradient / population.loss("diagonal", [x, 0.0]) ** 0.875)

    def curvature(x: float, j: int) -> float:
        return float(population.hessian("diagonal", [x, 0.0])[j, j])

    landscape = diagonal_landscape(np.geomspace(1e-3, 0.5, 40), angles)
    top = landscape.iloc[int(landscape["smoothness"].to_numpy().argmax())]
    greatest = Estimate(float(top["smoothness"]))
    at_edge = f"on r <= 0.5, reached at r = {top['r']:.3g}, angle {top['angle']:.3g}"
    least = limit(lambda x: float(equal(x)["least"]) / x**2, r)
    on_axis = (2.0 / 3.0) * math.pow(12.0, 0.875)  # |grad f|/gap^(7/8) of (2/3) r^7 and r^8/12
    at_truth, along = "limit at the truth", "the paper bounds the curvature along the axis alone"
    across = exponent(lambda x: curvature(x, 1), r)
    relative = limit(lambda x: curvature(x, 1) / x**2, r)

    table, a, b = Summary("diagonal"), "4(a)", "4(b)"
    table.add(a, 2, "exponent of least growth", exponent(least_growth, r), 0.0, "over angles")
    table.add(a, 2, "exponent of growth, equal coordinates", exponent(equal_growth, r), 0.0)
    table.add(a, 2, "growth, equal coordinates", limit(equal_growth, r), 2.0**1.25, at_truth)
    table.add(a, 2, "greatest smoothness", greatest, note=at_edge)
    table.add(a, 2, "least eigenvalue / r^2", least, -0.5, "equal coordinates: not convex")
    table.add(b, 2, "exponent along the axis", exponent(lambda x: curvature(x, 0), r), 6.0)
    table.add(b, 2, "C4", limit(axis_growth, r), on_axis, at_truth)
    table.add(b, 2, "exponent across the axis", across, 2.0, along)
    table.add(b, 2, "curvature across / theta_1^2", relative, 1.0, along)
    return table.frame()
