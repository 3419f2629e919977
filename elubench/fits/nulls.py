"""The law of the likelihood ratio for data from one Gaussian: drawn, or in the limit of many rows.

The ratio of two components to the model's one Gaussian is pivotal: its law for rows from one Gaussian
depends on n, d and the model, but not on the mean or the scale. Draws of the same n and d therefore give
an exact test at every n, for every model (:func:`drawn`).

For many rows the law is known for the models of the package (:func:`limit`). All lengths are in units of
the one-Gaussian fit.

d = 1. To leading order the ratio is n k^2 / 24 where the excess kurtosis k is negative, else 0: half 0,
half chi^2 with one degree of freedom.

d >= 2, one scale. The second moments of one Gaussian are a Wishart matrix, of which the largest
eigenvalue and the trace are drawn at a cost that does not grow with n (I. Dumitriu and A. Edelman,
Matrix models for beta ensembles, Journal of Mathematical Physics 43 (2002), 5830-5847). The rows along
its axis are as good as Gaussian, and the best two components for a Gaussian of that variance are found
by quadrature. At d = 2 this is chi^2 with two degrees of freedom.

d >= 2, a scale per coordinate. The correlations r_ij sqrt(n) and the kurtoses are independent normal
numbers R_ij and Z_i. Components at a distance of order n^(-1/4) gain the largest sum over pairs of
2 R_ij t_i t_j - t_i^2 t_j^2; those at n^(-1/8) along axis i gain the sum of R_ij^2 over j, and Z_i^2
where the kurtosis is negative.

Free weights. The law is not known. It is taken to be that of equal weights plus chi^2 with one degree of
freedom, times a factor that hardly depends on d and falls from 1.35 at n = 30 to 1.08.

For fewer rows the ratio is larger by a few per cent, and at n = 30 by up to a half: ``_FACTORS`` and
``_FREE`` are measured 95 % points over those of the limit, good to a few per cent, so that a nominal 5 %
is about 4 to 6 % (``python -m benchmarks.calibration size --samples 5000``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from elubench.algorithms import NewtonAnderson
from elubench.checks import Floats
from elubench.fits.choosing import tuned
from elubench.fits.starts import starts
from elubench.models import Diagonal, General, Isotropic, Model
from elubench.runs import run_many
from elubench.samples import ArraySample, LatticeSample, Sample
from elubench.samples.draws import gaussian
from elubench.samples.lattice import MOST_D, MOST_N

#: Draws of the law of a model without a limit law, and the rows that they have: no more than the data,
#: which errs on the safe side, and few different numbers, as draws are kept.
FEW_DRAWS, FEW_ROWS = 199, (10, 30, 100, 300, 1000)
_LIMIT_DRAWS, _LIMIT_NUMBERS = 4000, 32_000  # draws, and draws times d, of a limit law for ``fit``
_BATCH = 64  # samples in memory at once
_MAX_ITER = 200  # of a draw
_COARSE = 0.25  # share of the rows that the nodes of a lattice may be
_MOST_NUMBERS = 1 << 14  # in a draw: beyond it the limit is as good
_FEWEST = 5  # rows: with fewer, both components may shrink to points
_SWEEPS = 15
_NODES = 80  # of the quadrature
_GRID = 12  # variances at which the gain is computed
_DENSE = 16  # up to this d, eigenvalues of all draws at once
_AXIS = 1.5  # in units of n^(-1/4): a start along an axis

# 95 % points over those of the limit by model and d, for n of _ROWS
_ROWS = (30, 100, 1000)
_Factors = dict[int, tuple[float, float, float]]
_FACTORS: dict[type[Model], _Factors] = {
    Isotropic: {
        1: (1.31, 1.22, 1.11), 2: (1.35, 1.12, 1.01), 4: (1.19, 1.08, 1.03), 16: (1.24, 1.13, 1.02)
    },
    General: {
        1: (1.53, 1.20, 1.11), 2: (1.37, 1.12, 1.01), 4: (1.23, 1.09, 1.02), 16: (1.27, 1.13, 1.02)
    },
    Diagonal: {
        1: (1.31, 1.22, 1.11), 2: (1.18, 1.08, 1.02), 4: (1.09, 1.01, 0.99), 16: (0.99, 0.99, 0.99)
    },
}  # fmt: skip
_FREE = {
    1: (1.35, 1.24, 1.20),
    2: (1.32, 1.21, 1.20),
    4: (1.29, 1.20, 1.20),
    16: (1.31, 1.22, 1.18),
}
_FREE_LAST = 1.08  # for n beyond these
_MOST_MEASURED = 16  # coordinates


class Critical(NamedTuple):
    """The likelihood ratio that one Gaussian exceeds with probability ``level``, by this law."""

    ratio: float
    level: float
    law: str


class Tested(NamedTuple):
    """The probability of a likelihood ratio as large for data from one Gaussian, and by which law."""

    p_value: float
    law: str


#: Called with the draws done and those to be done.
Progress = Callable[[int, int], None]


def drawn(
    model: Model, n: int, d: int, draws: int, seed: int, progress: Progress | None = None
) -> Floats:
    """Likelihood ratios (draws,) of samples of n rows from one Gaussian, found as ``fit`` does."""
    model = model.standard()  # rows are drawn with scale 1
    found: list[float] = []
    for begin in range(0, draws, _BATCH):
        places = range(begin, min(begin + _BATCH, draws))
        found.extend(_ratios(model, [_sample(model, n, d, seed, place) for place in places]))
        if progress is not None:
            progress(len(found), draws)
    return np.array(found)


def affordable(model: Model, n: int, d: int) -> bool:
    """Whether draws of n rows are small enough to make a thousand of them."""
    rows = LatticeSample.expected_rows(n, d, model.even) if d <= MOST_D else math.inf
    return min(rows, float(n)) * d <= _MOST_NUMBERS


def limit(model: Model, n: float, d: int, draws: int | None = None) -> Floats | None:
    """Draws of the limit law, corrected for n, in ascending order; None for a model without one."""
    kind = type(model)
    free = model == General(mixing="free")
    if kind not in _FACTORS or not (free or repr(model) == f"{kind.__name__}()"):
        return None
    if draws is None:
        draws = min(_LIMIT_DRAWS, max(_LIMIT_NUMBERS // d, FEW_DRAWS))
    rows = 0 if d == 1 or kind is Diagonal else min(max(int(n), _FEWEST), MOST_N)
    law = _limit(kind, rows, d, draws)
    if free:  # the weights of the components are one more parameter
        law = np.sort(law + np.random.default_rng([d, draws, 1]).chisquare(1.0, draws))
        return factor(_FREE, _FREE_LAST, n, d) * law
    return factor(_FACTORS[kind], 1.0, n, d) * law


def factor(table: _Factors, last: float, n: float, d: int) -> float:
    """What the ratio of n rows is larger by than in the limit, interpolated in n^(-1/2) and log d.

    Beyond the d that were measured, it is that of as many rows per coordinate.
    """
    n *= min(_MOST_MEASURED / d, 1.0)
    shares = [0.0, *(rows**-0.5 for rows in reversed(_ROWS))]
    by_d = [np.interp(n**-0.5, shares, [last, *reversed(row)]) for row in table.values()]
    return float(np.interp(math.log(d), np.log(list(table)), by_d))


def critical(model: Model, n: float, d: int, level: float) -> Critical:
    """The ratio that one Gaussian exceeds with this probability, at a cost that ``fit`` can bear."""
    law, how = None if n < _ROWS[0] else limit(model, n, d), "limit law"
    if law is None:
        rows = max((rows for rows in FEW_ROWS if rows <= n), default=_FEWEST)
        if n < _ROWS[0]:
            rows = max(int(n), _FEWEST)
        law, how = _few(model, rows, d), f"{FEW_DRAWS} draws of {rows:,} rows"
    return Critical(float(np.quantile(law, 1.0 - level)), level, how)


def tested(
    model: Model, n: float, d: int, ratio: float, draws: int, seed: int, progress: Progress | None
) -> Tested:
    """Exact where draws of n rows are affordable, else by the limit law, or by as many rows as are."""
    rows, law = max(round(n), _FEWEST), None
    if not affordable(model, rows, d):
        law, how = limit(model, n, d, draws), f"{draws:,} draws of the limit law"
        rows = max(_MOST_NUMBERS // d, _FEWEST)
    if law is None:
        law = drawn(model, rows, d, draws, seed, progress)
        how = f"{draws:,} draws of {rows:,} rows"
    return Tested((1 + int(np.count_nonzero(law >= ratio))) / (1 + draws), how)


@lru_cache(maxsize=64)
def _few(model: Model, n: int, d: int) -> Floats:
    return np.sort(drawn(model, n, d, FEW_DRAWS, 0))


@lru_cache(maxsize=64)
def _limit(model: type[Model], n: int, d: int, draws: int) -> Floats:
    rng = np.random.default_rng([d, draws])
    if d == 1:
        points: Floats = np.maximum(ndtri((np.arange(draws) + 0.5) / draws), 0.0) ** 2
        return points
    if model is Diagonal:
        return np.sort(_several_scales(d, draws, rng))
    largest, trace = _wishart(n - 1 if model.translates else n, d, draws, rng)
    variance = largest * d / trace
    grid = np.linspace(1.0, float(variance.max()), _GRID)
    roots = np.sqrt([_gain(one, d) for one in grid])
    return np.sort(n * np.interp(variance, grid, roots) ** 2)


def _wishart(freedom: int, d: int, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Largest eigenvalues and traces of Wishart matrices, from tridiagonal ones."""
    large, small = max(freedom, d), min(freedom, d)
    main = rng.chisquare(large - np.arange(small), (draws, small))
    beside = rng.chisquare(np.arange(small - 1, 0, -1), (draws, small - 1))
    off = np.sqrt(main[:, :-1] * beside)
    trace = main.sum(axis=1) + beside.sum(axis=1)
    main[:, 1:] += beside
    if small > _DENSE:
        last = {"select": "i", "select_range": (small - 1, small - 1)}
        pairs = zip(main, off, strict=True)
        values = [float(eigvalsh_tridiagonal(*pair, **last)[0]) for pair in pairs]
        return np.array(values), trace
    matrices, at = np.zeros((draws, small, small)), np.arange(small)
    matrices[:, at, at] = main
    matrices[:, at[1:], at[:-1]] = off
    # eigvalsh reads the lower triangle
    largest = np.linalg.eigvalsh(matrices)[:, -1].astype(np.float64)
    return largest, trace


@lru_cache(maxsize=1)
def _quadrature() -> tuple[Floats, Floats]:
    """Nodes and weights for the mean of an even function of a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    half = weights[_NODES // 2 :]
    return nodes[_NODES // 2 :], half / half.sum()


def _gain(variance: float, d: int) -> float:
    """Twice the mean log-likelihood that two components gain on one Gaussian.

    The rows are Gaussian with this variance along the axis of the components; the mean over all
    coordinates is 1.
    """
    nodes, weights = _quadrature()
    rows = math.sqrt(variance) * nodes

    def gap(theta: float) -> float:
        q = theta * theta / d
        y = rows * (theta / (1.0 - q))
        log_cosh = float(weights @ (y + np.log1p(np.exp(-2.0 * y)))) - math.log(2.0)
        return 0.5 * d * math.log1p(-q) + d * q / (1.0 - q) - log_cosh

    most = min(math.sqrt(variance), math.sqrt(d) * (1.0 - 1e-9))
    found = minimize_scalar(gap, bounds=(0.0, most), method="bounded", options={"xatol": 1e-6})
    return max(-2.0 * float(found.fun), 0.0)


def _several_scales(d: int, draws: int, rng: np.random.Generator) -> Floats:
    r = np.zeros((draws, d, d))
    above = np.triu_indices(d, 1)
    r[:, above[0], above[1]] = rng.standard_normal((draws, len(above[0])))
    r += r.transpose(0, 2, 1)
    squares = np.sum(r**2, axis=2)
    best: Floats = np.max(squares + np.minimum(rng.standard_normal((draws, d)), 0.0) ** 2, axis=1)
    if d == 2:
        return best
    each, along = np.arange(draws), np.argmax(squares, axis=1)
    values, vectors = np.linalg.eigh(r)
    axis = r[each, along] / _AXIS
    axis[each, along] = _AXIS
    for t in (np.sqrt(values[:, -1:]) * vectors[:, :, -1], axis):
        for _ in range(_SWEEPS):  # the best t_j for the others, one after the other
            for j in range(d):
                others = np.sum(t * t, axis=1) - t[:, j] ** 2
                t[:, j] = np.sum(r[:, j] * t, axis=1) / np.maximum(others, 1e-12)
        inner = np.einsum("bi,bij,bj->b", t, r, t)
        products = np.sum(t**2, axis=1) ** 2 - np.sum(t**4, axis=1)
        best = np.maximum(best, inner - 0.5 * products)
    return best


def _sample(model: Model, n: int, d: int, seed: int, place: int) -> Sample:
    stream = int(np.random.SeedSequence([seed, place]).generate_state(1, np.uint64)[0])
    if d <= MOST_D and LatticeSample.expected_rows(n, d, model.even) < _COARSE * n:
        return LatticeSample.gaussian(n, d, stream)
    return ArraySample(gaussian(n, d, stream))


def _ratios(model: Model, samples: list[Sample]) -> Iterator[float]:
    begins = [starts(model, sample).points for sample in samples]
    several = [sample for sample, points in zip(samples, begins, strict=True) for _ in points]
    points = [point for points in begins for point in points]
    name = "newton-anderson" if samples[0].d <= NewtonAnderson.up_to else "lbfgs"
    algorithm = tuned(name, samples[0])
    runs = iter(run_many(several, model, algorithm, points, max_iter=_MAX_ITER))
    for sample, own in zip(samples, begins, strict=True):
        ends = np.stack([next(runs).params for _ in own])
        gap = np.fmin.reduce(model.gaps(sample, ends))
        yield max(-2.0 * sample.moments().weight * float(gap), 0.0)
