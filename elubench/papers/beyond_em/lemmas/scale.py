"""The scale: the loss is strongly convex in it, and any true scale gives the same picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.papers.beyond_em import population
from elubench.papers.beyond_em.lemmas.estimates import Estimate, Summary, axis, dimensions
from elubench.papers.beyond_em.population.means import means


def scale_curvature(r: Floats, sigma: Floats, d: int) -> Floats:
    """d^2 L/d sigma^2 at |theta| = r and this sigma, at infinite n; isotropic model, true scale 1.

    L = d ln sigma + (d + r^2)/(2 v) - K(r^2/v^2) + const with v = sigma^2, K(tau) = E log cosh(sqrt(tau)
    V), K' = E sech^2/2 = C/2.
    """
    v = sigma**2
    tau = r**2 / v**2
    mean = means(tau)
    by_v = d / (2.0 * v) - (d + r**2) / (2.0 * v**2) + mean.c * tau / v
    # d/dv of C tau/v, with d tau/dv = -2 tau/v
    twice = (
        -d / (2.0 * v**2) + (d + r**2) / v**3 - tau / v**2 * (3.0 * mean.c + 2.0 * tau * mean.dc)
    )
    return np.asarray(4.0 * v * twice + 2.0 * by_v)


def strong_convexity(
    d_values: Sequence[int] = (1, 2, 4, 16), reach: float = 0.25, points: int = 81
) -> pd.DataFrame:
    """Introduction: the loss is locally strongly convex in sigma, but not in theta.

    For each d the curvature by sigma at the truth (theory 2 d), and the least one where |sigma - 1| and
    |theta| are at most ``reach``, which must be positive; beside it the curvature by theta at the
    truth, which is 0.
    """
    reach = checks.real(reach, "reach", 0.0, 0.5)
    points = checks.integer(points, "points", 3)
    table, place = Summary("isotropic"), "Introduction"
    grid = np.linspace(0.0, 1.0, points)
    r, sigma = (x.ravel() for x in np.meshgrid(reach * grid, 1.0 + reach * (2.0 * grid - 1.0)))
    for d in dimensions(d_values):
        one = Estimate(float(scale_curvature(np.zeros(1), np.ones(1), d)[0]))
        table.add(place, d, "curvature by sigma at the truth", one, 2.0 * d)
        values = scale_curvature(r, sigma, d).reshape(points, points)
        i, j = np.unravel_index(int(np.argmin(values)), values.shape)
        near = values[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2]
        found = Estimate(float(values.min()), float(np.ptp(near)), "numerical")
        where = (
            f"at |theta| = {reach * grid[j]:.3g}, sigma = {1.0 + reach * (2.0 * grid[i] - 1.0):.3g}"
        )
        table.add(place, d, "least curvature by sigma", found, note=where)
        flat = population.hessian("isotropic", np.zeros(d))
        found = Estimate(float(np.abs(flat).max()))
        table.add(place, d, "curvature by theta at the truth", found, 0.0)
    return table.frame()


def scale_equivariance(scale: float = 9.0, d: int = 2, steps: int = 40) -> pd.DataFrame:
    """Section 2.1: the results hold for any true sigma. At infinite n, iterates from a scaled start.

    With data sqrt(scale) times as large EM's iterates are, too. ELU's are if eta is multiplied by the
    scale; with the same eta it takes steps that are shorter by that factor. Rows: the largest relative
    deviation of the scaled iterates.
    """
    scale = checks.real(scale, "scale", above=0.0)
    d, steps = checks.integer(d, "d", 1), checks.integer(steps, "steps", 1)
    unit, start = math.sqrt(scale), axis(0.8, d)
    table, place = Summary("isotropic"), "Section 2.1"
    for name, eta in (("EM", 0.0), ("ELU, eta times the scale", scale), ("ELU, the same eta", 1.0)):
        one, other, worst = start, unit * start, 0.0
        for t in range(steps):
            if name == "EM":
                one = population.em_step("isotropic", one)
                other = population.em_step("isotropic", other, scale)
            else:
                step = 0.01 / 0.8**t
                one = one - step * population.gradient("isotropic", one)
                other = other - eta * step * population.gradient("isotropic", other, scale)
            gap = float(np.linalg.norm(other - unit * one) / (unit * np.linalg.norm(one)))
            worst = max(worst, gap)
        note = f"scale {scale:g}, {steps} steps"
        table.add(place, d, f"deviation, {name}", Estimate(worst), 0.0, note)
    return table.frame()
