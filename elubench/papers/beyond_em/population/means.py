"""Means over a Gaussian V, as trapezoidal sums.

For functions analytic in a strip these converge exponentially; the poles of tanh, at distance pi/2,
put the error at step 3/16 below 1e-20.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import erf

from elubench.checks import Floats
from elubench.papers.beyond_em.population.special import log_cosh

_STEP = 3.0 / 16.0  # in the smaller of the units V and y = sqrt(tau) V; dyadic, so nodes are exact
_REACH = 11.0  # standard deviations: V^8 phi(V) < 1e-18 beyond
_TAIL = 22.0  # sech^2(y) < 1e-18 beyond
_BLOCK = 1024  # points at a time, so that points x nodes stay in cache


def evaluate(function: Callable[..., Floats], *arguments: Floats) -> Floats:
    """`function` of columns (m, 1) -> (k, m), over arrays of any one shape -> (k, *shape).

    Evaluated block by block, and once per distinct value if there is one argument: on a grid the
    coordinates take few values.
    """
    shape = np.shape(arguments[0])
    columns = [np.ravel(a) for a in arguments]
    inverse = None
    if len(columns) == 1:
        columns[0], inverse = np.unique(columns[0], return_inverse=True)
    blocks = [
        function(*(c[start : start + _BLOCK, None] for c in columns))
        for start in range(0, max(1, columns[0].size), _BLOCK)
    ]
    table = np.concatenate(blocks, axis=1)
    if inverse is not None:
        table = table[:, inverse.ravel()]
    return table.reshape(table.shape[0], *shape)


def half_line() -> tuple[Floats, Floats]:
    """Nodes V >= 0 and weights for the mean of an even function of V."""
    nodes = _STEP * np.arange(0.0, np.ceil(_REACH / _STEP) + 1.0)
    weights = 2.0 * _STEP * np.exp(-0.5 * nodes**2) / np.sqrt(2.0 * np.pi)
    weights[0] /= 2.0
    return nodes, weights


class Means(NamedTuple):
    """Means over z = b + sqrt(tau) V of log cosh, tanh, sech^2 (C), tanh sech^2, and dC/dtau."""

    k: Floats
    t: Floats
    c: Floats
    a: Floats
    dc: Floats


def means(tau: Floats, b: Floats | float = 0.0) -> Means:
    """The means over z = b + sqrt(tau) V, for any tau >= 0 and b; arrays of the shape of tau."""
    b = np.broadcast_to(b, np.shape(tau)).astype(float)
    out = np.empty((5, *np.shape(tau)))
    narrow = tau <= 1.0
    out[:, narrow] = evaluate(_narrow, tau[narrow], b[narrow])
    out[:, ~narrow] = evaluate(_wide, tau[~narrow], b[~narrow])
    return Means(*out)


def _narrow(tau: Floats, b: Floats) -> Floats:
    """The rows of `Means`, for tau <= 1."""
    nodes, _ = half_line()
    nodes = np.concatenate([-nodes[:0:-1], nodes])
    weights = _STEP * np.exp(-0.5 * nodes**2) / np.sqrt(2.0 * np.pi)
    z = b + np.sqrt(tau) * nodes
    t = np.tanh(z)
    # cosh overflows far out, where sech is 0 anyway
    s = np.cosh(np.minimum(np.abs(z), 300.0)) ** -2.0
    return np.stack([row @ weights for row in (log_cosh(z), t, s, t * s, 2.0 * s - 3.0 * s**2)])


def _wide(tau: Floats, b: Floats) -> Floats:
    """The rows of `Means`, for tau > 1.

    log cosh z + log 2 differs from z erf(c z) + exp(-c^2 z^2)/(c sqrt(pi)), and tanh z from
    erf(c z), by functions that decay like exp(-2 |z|); the means of these two over a Gaussian are
    the same functions of b with 1/c^2 larger by 2 tau. A and C' come from C by parts, because as
    means of tanh sech^2 and 2 sech^2 - 3 sech^4 they cancel for large tau.
    """
    count = np.ceil(_TAIL / _STEP)
    z = _STEP * np.arange(-count, count + 1.0)
    c = 1.0
    soft = z * erf(c * z) + np.exp(-((c * z) ** 2)) / (c * np.sqrt(np.pi))
    sech2 = np.cosh(z) ** -2.0
    columns = np.stack(
        [log_cosh(z) + np.log(2.0) - soft, np.tanh(z) - erf(c * z), sech2, z * sech2, z**2 * sech2]
    )
    root = np.sqrt(tau)
    weights = np.exp(-0.5 * ((z - b) / root) ** 2) * (_STEP / np.sqrt(2.0 * np.pi)) / root
    k, t, mean, mean1, mean2 = (weights @ columns.T).T
    tau, b = tau[:, 0], b[:, 0]
    wide = c / np.sqrt(1.0 + 2.0 * c**2 * tau)
    k += b * erf(wide * b) + np.exp(-((wide * b) ** 2)) / (wide * np.sqrt(np.pi)) - np.log(2.0)
    t += erf(wide * b)
    a = -(mean1 - b * mean) / (2.0 * tau)
    dc = ((mean2 - 2.0 * b * mean1 + b**2 * mean) / tau - mean) / (2.0 * tau)
    return np.stack([k, t, mean, a, dc])
