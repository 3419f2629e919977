"""The diagonal model at infinite n: locations -theta and theta, one scale per coordinate."""

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
from elubench.papers.beyond_em.population.means import evaluate, half_line, means

_SMALL = 1.0 / 64.0  # below it the coupling is summed as a series
_TERMS = 20  # of that series


class DiagonalPopulation(Population):
    """q_j is theta_j^2."""

    name = "diagonal"
    many_scales = True
    region = "theta_j^2 < scale_j"

    def curve_scale(self, theta: Floats) -> Floats:
        return 1.0 - theta**2

    def gap(self, theta: Floats) -> Floats:
        q = theta**2
        each = w(q)
        total = each.sum(axis=1)
        out = np.empty(total.shape)
        f = np.all(flat(q, total[:, None]), axis=1)
        out[~f] = entropy(q[~f]).sum(axis=1) - means(total[~f]).k
        out[f] = own_gap(q[f]).sum(axis=1) + _coupling(-np.sort(-each[f], axis=1))
        return out

    def gradient(self, theta: Floats) -> Floats:
        q = theta**2
        return theta * dw(q) * deficit(q, _others(w(q)))

    def hessian(self, theta: Floats) -> Floats:
        # f_j = dw_j D_j/2 by q_j, f_jk = -dw_j dw_k C'(W)/2, and q_j = theta_j^2
        q, eye = theta**2, np.eye(theta.shape[1])
        rest = _others(w(q))
        short, (slope, dc) = deficit(q, rest), deficit_slope(q, rest, 1.0)
        side = theta * dw(q)
        off = -2.0 * dc[:, :, None] * side[:, :, None] * side[:, None, :]
        on = dw(q) * short + 2.0 * q * (dw2(q) * short + dw(q) * slope)
        return off * (1.0 - eye) + on[:, :, None] * eye

    def em_step(self, theta: Floats) -> Floats:
        q = theta**2
        return theta * (1.0 - deficit(q, _others(w(q))) / (1.0 - q))


def _others(each: Floats) -> Floats:
    """For each coordinate the sum over the others, without a subtraction; (m, d) -> (m, d)."""
    return each @ (1.0 - np.eye(each.shape[1]))


def _coupling(each: Floats) -> Floats:
    """sum_j K(w_j) - K(sum_j w_j) for w (m, d), each row falling and of sum at most 1.

    Coordinates join one by one, the largest first: joining w to the sum A of those before costs
    M(A + w) - M(A) - M(w), or the series of positive terms when w is small.
    """
    coupling = np.zeros(each.shape[0])
    before = each[:, 0].copy()
    for one in each.T[1:]:
        small = one < _SMALL
        products = evaluate(_powers, before[small]) * evaluate(_powers, one[small])
        coupling[small] += 0.5 * np.sum(products / np.arange(1.0, _TERMS + 1.0)[:, None], axis=0)
        both, left, right = (moment(t[~small]) for t in (before + one, before, one))
        coupling[~small] += both - left - right
        before += one
    return coupling


def _powers(tau: Floats) -> Floats:
    """Rows E[tanh^2k(sqrt(tau) V)], k = 1, ..., for tau <= 1."""
    nodes, weights = half_line()
    square = np.tanh(np.sqrt(tau) * nodes) ** 2
    rows, power = [], np.ones_like(square)
    for _ in range(_TERMS):
        power = power * square
        rows.append(power @ weights)
    return np.stack(rows)
