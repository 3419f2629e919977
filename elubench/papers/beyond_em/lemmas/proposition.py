"""Proposition 1: homogeneity alpha and stability gamma give a radius of epsilon^(1/(alpha+1-gamma))."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from elubench import checks
from elubench.checks import Floats
from elubench.papers.beyond_em.lemmas.estimates import Summary, slope

_START = 1.0
#: Pairs of alpha and gamma: the paper's (d = 1 in both phases, d >= 2), and one that it does not use.
PAIRS = ((6.0, 3.0), (6.0, 1.0), (2.0, 1.0), (4.0, 2.0))


def proposition_1(
    pairs: Sequence[tuple[float, float]] = PAIRS, noises: int = 7, beta: float = 0.8
) -> pd.DataFrame:
    """ELU on the simplest loss of each kind, with the noise that hinders it most.

    The gradient is `theta^(alpha + 1) - epsilon theta^gamma`, theta > 0: homogeneous with constant
    alpha, and exactly as far from its population as stability with constant gamma allows, in the
    direction that keeps iterates away from 0. From 1, with beta 0.8 and eta 0.01:

    * `radius, exponent of epsilon`: of the iterate that is closest to 0 before the first one that moves
      away; the proposition says 1/(alpha + 1 - gamma). (Later iterates overshoot, and may pass close to
      0 by chance.)
    * `iterations per ln(1/epsilon)`: after which that is; theory alpha/((alpha + 1 - gamma) ln(1/beta)).

    Rivals: 1/(alpha + 1), without the help of stability, and 1/(alpha + 2 - gamma), that of the loss.
    """
    noises = checks.integer(noises, "noises", 3)
    beta = checks.real(beta, "beta", 0.0, 1.0)
    epsilon = np.geomspace(1e-4, 1e-16, noises)
    table = Summary("homogeneous")
    for alpha, gamma in pairs:
        if not alpha + 1.0 > gamma:
            raise ValueError(f"pairs must have gamma < alpha + 1, got {(alpha, gamma)!r}")
        closest, after = _closest(alpha, gamma, epsilon, 0.01, beta)
        power = 1.0 / (alpha + 1.0 - gamma)
        note = (
            f"gamma = {gamma:g}, epsilon from {epsilon[0]:.0e} to {epsilon[-1]:.0e}, beta {beta:g}"
        )
        found = slope(np.log(epsilon), np.log(closest))._replace(basis="numerical")
        name = f"alpha = {alpha:g}, gamma = {gamma:g}"
        table.add("Proposition 1", 1, f"radius, exponent of epsilon, {name}", found, power, note)
        found = slope(-np.log(epsilon), after)._replace(basis="numerical")
        stated = alpha * power / math.log(1.0 / beta)
        table.add("Proposition 1", 1, f"iterations per ln(1/epsilon), {name}", found, stated, note)
    return table.frame()


def _closest(
    alpha: float, gamma: float, epsilon: Floats, eta: float, beta: float
) -> tuple[Floats, Floats]:
    """The smallest |theta| before iterates first move away from 0, and when, for each epsilon."""
    theta = np.full(epsilon.shape, _START)
    closest, after = theta.copy(), np.zeros(epsilon.shape)
    running = np.ones(epsilon.shape, dtype=bool)
    t = 0
    while running.any():
        gradient = theta ** (alpha + 1.0) - epsilon * theta**gamma
        theta = theta - eta / beta**t * gradient
        t += 1
        running &= (theta < closest) & (theta > 0.0)
        closest[running], after[running] = theta[running], t
        theta = np.where(running, theta, _START)
    return closest, after
