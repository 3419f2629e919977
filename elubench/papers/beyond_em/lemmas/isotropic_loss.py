"""Lemma 1: homogeneity of the isotropic loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em import population
from elubench.papers.beyond_em.lemmas.estimates import (
    Estimate,
    Summary,
    axis,
    dimensions,
    exponent,
    limit,
)

DIMENSIONS = (1, 2, 3, 4, 8, 16)
_SMALL = 0.04  # where extrapolations to the truth begin


def isotropic_profile(d: int, radii: ArrayLike) -> pd.DataFrame:
    """The isotropic loss along a ray: gap, gradient norm, and the two eigenvalues of the Hessian.

    The Hessian has the eigenvalue `radial` along theta and `across` on the rest (nan at d = 1).
    """
    d = checks.integer(d, "d", 1)
    r = np.asarray(radii, dtype=float)
    points = axis(r, d)
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
    d = checks.integer(d, "d", 1)
    return 0.5 if d == 1 else math.sqrt(d / 3.0)


def homogeneity(d_values: Sequence[int] = DIMENSIONS, n_radii: int = 400) -> pd.DataFrame:
    """Lemma 1: exponents, leading coefficients, best constants, and where f is convex.

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
      not (it makes f increase along rays), so the eigenvalue itself is measured here.
    """
    n_radii = checks.integer(n_radii, "n_radii", 10)
    table = Summary("isotropic")
    for d in dimensions(d_values):
        place, ray, ball = "1(a)" if d == 1 else "1(b)", _Ray(d), proof_radius(d)
        alpha, _, kappa = location_scale(d)
        power = (alpha + 1.0) / (alpha + 2.0)
        gradient = exponent(ray.gradient, _SMALL)
        found = gradient._replace(measured=gradient.measured - 1.0)
        table.add(place, d, "alpha of the gradient", found, alpha)
        table.add(place, d, "alpha of the Hessian", exponent(ray.radial, _SMALL), alpha)
        table.add(place, d, "leading coefficient", limit(ray.leading, _SMALL), kappa)

        r = np.geomspace(1e-3 * ball, ball, n_radii)
        profile = isotropic_profile(d, r)
        largest = np.fmax(profile["radial"], profile["across"]) / r**alpha
        found, note = _on_ball(r, np.asarray(largest), limit(ray.smoothness, _SMALL), max)
        table.add(place, d, "c1", found, (alpha + 1.0) * kappa, note)
        growth = profile["gradient"] / profile["gap"] ** power
        found, note = _on_ball(r, np.asarray(growth), limit(ray.growth, _SMALL), min)
        best = kappa ** (1.0 / (alpha + 2.0)) * (alpha + 2.0) ** power
        table.add(place, d, "c2", found, best, note)

        found, note = _convexity(d, n_radii)
        table.add(place, d, "convexity radius", found, ball, note)
        found, note = _proof_bound(d)
        table.add(place, d, "radius of the proof's bound", found, ball, note)
    return table.frame()


@dataclass(frozen=True)
class _Ray:
    """The loss at r e_1, and the ratios that Lemma 1 bounds."""

    d: int

    def gap(self, r: float) -> float:
        return float(population.loss("isotropic", axis(r, self.d)))

    def gradient(self, r: float) -> float:
        return float(population.gradient("isotropic", axis(r, self.d))[0])

    def radial(self, r: float) -> float:
        return float(population.hessian("isotropic", axis(r, self.d))[0, 0])

    def leading(self, r: float) -> float:
        return self.gradient(r) / r ** (location_scale(self.d).alpha + 1.0)

    def smoothness(self, r: float) -> float:
        return self.radial(r) / r ** location_scale(self.d).alpha

    def growth(self, r: float) -> float:
        alpha = location_scale(self.d).alpha
        return self.gradient(r) / self.gap(r) ** ((alpha + 1.0) / (alpha + 2.0))


def _on_ball(
    r: Floats, values: Floats, at_truth: Estimate, pick: Callable[[float, float], float]
) -> tuple[Estimate, str]:
    """The greatest (`pick` is max) or the least value on a ball, and where it is reached."""
    at = int(np.argmax(values) if pick is max else np.argmin(values))
    ball = f"ball of radius {r[-1]:.3g}"
    best = float(values[at])
    if pick(best, at_truth.measured) != best or at == 0:
        return at_truth, f"{ball}, approached at the truth"
    # At the end of the grid the value is exact; inside, its neighbours bound the error.
    error = float(np.ptp(values[at - 1 : at + 2])) if at < r.size - 1 else 0.0
    return Estimate(best, error, "numerical"), f"{ball}, reached at {r[at]:.3g}"


def _convexity(d: int, n_radii: int) -> tuple[Estimate, str]:
    """How far the least eigenvalue of the Hessian stays positive."""
    r = np.linspace(1e-3, 0.999, n_radii) * math.sqrt(d)
    profile = isotropic_profile(d, r)
    bad = np.flatnonzero(np.fmin(profile["radial"], profile["across"]) <= 0.0)
    edge = float(r[bad[0]]) if bad.size else float(r[-1])
    note = "" if bad.size else "positive on all of the grid: convex wherever the scale is positive"
    return Estimate(edge, float(r[1] - r[0]), "numerical"), note


def _proof_bound(d: int) -> tuple[Estimate, str]:
    """How far `taylor_bound` stays positive."""
    grid = np.geomspace(0.05, 0.999 * math.sqrt(d), 400)
    values = np.array([taylor_bound(r, d) for r in grid])
    if not (values[0] > 0.0 and np.any(values < 0.0)):
        return Estimate(math.nan, math.nan), "no sign change found"
    at = int(np.flatnonzero(values < 0.0)[0])
    zero = float(brentq(taylor_bound, grid[at - 1], grid[at], args=(d,), xtol=1e-12))
    return Estimate(zero, 1e-12, "numerical"), ""


def taylor_bound(r: float, d: int) -> float:
    """The lower bound of 1 - E[(V/r) tanh(V r/s)] that the proof of Lemma 1 is built on.

    x tanh x is at most its Taylor polynomial of degree 10 (d = 1) or 6 (d >= 2), and V^2j has mean
    (2j - 1)!!.
    """
    s = 1.0 - r * r / d
    tau = r * r / s**2
    terms = (1.0, -1.0, 2.0, -17.0 / 3.0, 62.0 / 3.0)  # c_j (2j - 1)!!, c_j those of x tanh x
    degree = 5 if d == 1 else 3
    return 1.0 - s / r**2 * sum(c * tau ** (j + 1) for j, c in enumerate(terms[:degree]))
