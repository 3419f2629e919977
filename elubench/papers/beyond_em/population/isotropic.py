"""The isotropic model at infinite n: locations -theta and theta, one scale."""

from __future__ import annotations

import numpy as np

from elubench.checks import Floats
from elubench.papers.beyond_em.population.base import Population
from elubench.papers.beyond_em.population.coordinates import (
    deficit,
    deficit_slope,
    dw,
    dw2,
    entropy,
    flat,
    moment,
    own_gap,
    w,
)
from elubench.papers.beyond_em.population.means import means


def gap_of(q: Floats, d: int) -> Floats:
    """f(theta) - f(0) at |theta|^2 = d q."""
    one = w(q)
    total = d * one
    out = np.empty_like(q)
    f = flat(q, total)
    out[f] = d * own_gap(q[f]) + (moment(total[f]) - d * moment(one[f]))
    out[~f] = d * entropy(q[~f]) - means(total[~f]).k
    return out


def _q(theta: Floats) -> Floats:
    return np.asarray(np.mean(theta**2, axis=1))


class IsotropicPopulation(Population):
    """All q_j are |theta|^2/d."""

    name = "isotropic"
    region = "|theta|^2 < d scale"

    def curve_scale(self, theta: Floats) -> Floats:
        return np.asarray(1.0 - _q(theta))

    def gap(self, theta: Floats) -> Floats:
        return gap_of(_q(theta), theta.shape[1])

    def gradient(self, theta: Floats) -> Floats:
        q = _q(theta)
        return theta * (dw(q) * deficit(q, (theta.shape[1] - 1) * w(q)))[:, None]

    def hessian(self, theta: Floats) -> Floats:
        # f = d F(|theta|^2/d): Hessian 2 F' I + (4/d) F'' theta theta', F' = dw D/2
        q, d = _q(theta), theta.shape[1]
        rest = (d - 1) * w(q)
        short, (slope, _) = deficit(q, rest), deficit_slope(q, rest, float(d))
        across = dw(q) * short
        along = 2.0 / d * (dw2(q) * short + dw(q) * slope)
        outer = theta[:, :, None] * theta[:, None, :]
        return across[:, None, None] * np.eye(d) + along[:, None, None] * outer

    def em_step(self, theta: Floats) -> Floats:
        q = _q(theta)
        return theta * (1.0 - deficit(q, (theta.shape[1] - 1) * w(q)) / (1.0 - q))[:, None]
