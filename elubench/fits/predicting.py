"""Which component a row is from: the densities of two components at rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench import checks
from elubench.checks import Floats


def log_densities(X: Any, locations: Floats, weights: Floats, scale: Floats) -> Floats:
    """log w_k N(x; theta_k, S) for rows (n, d) and both components, (n, 2)."""
    rows, d = np.asarray(checks.table(X, least=1), dtype=np.float64), locations.shape[1]
    if rows.shape[1] != d:
        raise ValueError(f"X must have d={d} columns like the fit, got {rows.shape[1]}")
    if not np.isfinite(rows).all():
        raise ValueError("X must be finite, got NaN or infinity")
    variance = np.broadcast_to(scale, d)
    constant = -0.5 * float(np.sum(np.log(2.0 * math.pi * variance)))
    with np.errstate(divide="ignore"):
        logs = np.log(weights)  # one may be 0 to rounding
    found = np.empty((len(rows), 2))
    for k in range(2):
        square = np.sum((rows - locations[k]) ** 2 / variance, axis=1)
        found[:, k] = logs[k] + constant - 0.5 * square
    return found
