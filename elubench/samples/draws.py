"""Reproducible Gaussian rows, drawn in fixed blocks, each with its own random stream.

A block's numbers depend on (seed, d, block) alone: any block can be drawn by itself, in any order, on
any worker, and a smaller sample is the beginning of a larger one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats

BLOCK_ROWS = 65536


def gaussian_block(seed: int, d: int, block: int, rows: int = BLOCK_ROWS) -> Floats:
    """Rows from block * BLOCK_ROWS on, of every sample with this seed and d."""
    stream = np.random.SeedSequence(entropy=seed, spawn_key=(d, block))
    return np.random.Generator(np.random.PCG64DXSM(stream)).standard_normal((rows, d))


def gaussian(
    n: int, d: int, seed: int, location: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Floats:
    """n rows from N(location, diag(scale)): an (n, d) array of float64.

    Parameters
    ----------
    n, d : number of rows (>= 1) and of coordinates (>= 1).
    seed : a non-negative integer; the same seed gives the same rows, for any number of threads.
    location, scale : a number or d numbers; ``scale`` is the variance, sigma squared.
    """
    n = checks.integer(n, "n", 1, checks.MOST)
    d = checks.integer(d, "d", 1, checks.MOST // (8 * n))
    seed = checks.integer(seed, "seed", 0)
    shift, spread = affine(location, scale, d)
    rows = np.empty((n, d))

    def fill(block: int) -> None:
        start = block * BLOCK_ROWS
        part = gaussian_block(seed, d, block, min(n - start, BLOCK_ROWS))
        np.multiply(part, spread, out=part)
        np.add(part, shift, out=rows[start : start + len(part)])

    blocks = range(-(-n // BLOCK_ROWS))
    if len(blocks) == 1:
        fill(0)
    else:
        with ThreadPoolExecutor(numba.get_num_threads()) as pool:
            list(pool.map(fill, blocks))
    return rows


def affine(location: ArrayLike, scale: ArrayLike, d: int) -> tuple[Floats, Floats]:
    """Shift and factor (d,) that turn standard normal rows into rows of this location and scale."""
    shift = checks.coordinates(location, "location", d)
    variance = checks.coordinates(scale, "scale", d)
    if not (variance > 0).all():
        raise ValueError(f"scale must be > 0, got {checks.brief(scale)}")
    return shift, np.sqrt(variance)
