"""The figure of a fit: densities of data and components, and their quantiles against each other.

At d >= 2 the rows are projected on the direction that tells the two components apart best,
u = S^(-1) (theta_2 - theta_1), along which the fitted mixture is one-dimensional.
"""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri

from elubench.checks import Floats
from elubench.fits import Fit, goodness
from elubench.samples import ArraySample, LatticeSample, Sample
from elubench.samples.chunked import ChunkedSample

#: File types that a figure can be saved as.
SUFFIXES = (".pdf", ".png", ".svg")

_MOST_BINS = 120
_FEW = 1000  # distinct values up to which bins are made to fit the spacing of the data
_POINTS = 600  # on each curve
_ROWS = 1 << 20  # drawn of a sample that is not in memory


class _Shown(Figure):
    """A figure that notebooks show as a picture even where pyplot has drawn nothing yet."""

    def _repr_png_(self) -> bytes:
        target = io.BytesIO()
        self.savefig(target, format="png")
        return target.getvalue()


def fit(fit: Fit, data: Any, name: str | None = None) -> Figure:
    """A fit over its data: densities of data and components, and quantiles against quantiles.

    Parameters
    ----------
    fit : what ``eb.fit`` returned.
    data : the (n, d) array-like, frame or Sample that was fitted; of one on disk or on a cluster, a
        part of the rows is drawn.
    name : what the axis is called at d = 1; by default x.

    Returns
    -------
    A figure with two axes.

    Examples
    --------
    >>> eb.plot.fit(eb.fit(x), x, "minutes")  # doctest: +SKIP
    """
    sample = data if isinstance(data, Sample) else ArraySample(data)
    if sample.d != fit.d:
        raise ValueError(f"data must have d={fit.d} coordinates like the fit, got {sample.d}")
    along, weights = _projected(fit, sample)
    centres, variance, one_centre, one_variance = _curves(fit, sample)

    colours = sns.color_palette("colorblind")
    data_colour, mixture, first, second, single = (colours[k] for k in (7, 0, 1, 2, 4))
    figure = _Shown(figsize=(9.6, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes, beside = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    edges = _edges(along, weights, math.sqrt(variance))
    heights, _ = np.histogram(along, bins=edges, weights=weights, density=True)
    axes.stairs(heights, edges, fill=True, color=data_colour, alpha=0.35, label="data")
    low, high = _range(edges, centres, math.sqrt(variance))
    x = np.linspace(low, high, _POINTS)
    shares = zip(fit.weights, centres, strict=True)
    parts = [weight * _density(x, centre, variance) for weight, centre in shares]
    one = _density(x, one_centre, one_variance)
    axes.plot(x, one, color=single, linestyle=":", linewidth=2.0, label="one Gaussian")
    # the sum is wide and pale, so that a component that makes up all of it still shows
    both = parts[0] + parts[1]
    axes.plot(x, both, color=mixture, alpha=0.55, linewidth=4.0, label="two Gaussians")
    axes.plot(x, parts[0], color=first, linestyle="--", linewidth=1.6, label="component 1")
    axes.plot(x, parts[1], color=second, linestyle="-.", linewidth=1.6, label="component 2")

    _quantiles(beside, fit, along, weights, (data_colour, mixture))

    axes.set_title(f"{fit.model.name} model, n = {fit.n:,}, d = {fit.d}: {fit.regime}")
    axes.set_xlabel((name or "x") if fit.d == 1 else "projection on the fitted direction")
    axes.set_ylabel("density")
    axes.set_xlim(low, high)
    axes.set_ylim(0.0, 1.08 * float(max(heights.max(), one.max(), both.max())))
    figure.legend(
        loc="outside lower center",
        ncols=5,
        frameon=False,
        handlelength=2.4,
        columnspacing=1.2,
        fontsize="small",
    )
    sns.despine(fig=figure)
    return figure


def _quantiles(
    axes: Any, fit: Fit, along: Floats, weights: Floats | None, colours: tuple[Any, Any]
) -> None:
    """Quantiles of the data over those of the two Gaussians, in which a fit is a straight line."""
    _, centres, sigma = goodness.axis(fit.locations, fit.scale)
    order = np.argsort(along, kind="stable")
    counts = np.ones(len(along)) if weights is None else weights[order]
    shares = (np.cumsum(counts) - 0.5 * counts) / np.sum(counts)
    n = float(np.sum(counts))
    furthest = float(ndtri(0.5 / n))
    at = ndtr(np.linspace(furthest, -furthest, _POINTS))  # dense in the tails
    reach = 9.0 * sigma
    x = np.linspace(float(centres.min()) - reach, float(centres.max()) + reach, 20 * _POINTS)
    expected = np.interp(at, goodness.distribution(x, centres, fit.weights, sigma), x)
    observed = np.interp(at, shares, along[order])
    ends = [float(expected[0]), float(expected[-1])]
    axes.plot(ends, ends, color=colours[1], alpha=0.55, linewidth=4.0)
    axes.plot(expected, observed, ".", color=colours[0], markersize=3.0)
    misfit, limit = fit.evidence.misfit, fit.evidence.misfit_limit
    if not math.isnan(misfit):
        axes.set_title(f"misfit {misfit:.3g}; good fits stay below {limit:.3g}")
    axes.set_xlabel("quantile of two Gaussians")
    axes.set_ylabel("quantile of the data")


def _projected(fit: Fit, sample: Sample) -> tuple[Floats, Floats | None]:
    """The rows along the direction, and their weights."""
    weights: Floats | None
    if isinstance(sample, ChunkedSample):
        sample = sample.some_rows(_ROWS)
    if isinstance(sample, LatticeSample):
        rows, weights = sample.nodes, sample.counts
    elif isinstance(sample, ArraySample):
        rows, weights = sample.rows(), sample.row_weights()
    else:
        raise TypeError(f"data must be rows in memory, got {type(sample).__name__}")
    return rows @ goodness.axis(fit.locations, fit.scale)[0], weights


def _curves(fit: Fit, sample: Sample) -> tuple[list[float], float, float, float]:
    """Centres and variance of the two components, then of one Gaussian, along the direction."""
    v, places, sigma = goodness.axis(fit.locations, fit.scale)
    centres, variance = places.tolist(), sigma * sigma
    origin = np.zeros(fit.d) if fit.model.even else sample.origin()
    m = sample.about(origin).moments() if origin.any() else sample.moments()
    if fit.model.even:
        by_coordinate = m.m2 if fit.model.n_scales(fit.d) == fit.d else np.mean(m.m2)
        return centres, variance, 0.0, float(np.sum(v**2 * by_coordinate))
    spread = float(np.mean(m.m2 - m.m1**2))
    return centres, variance, float((m.m1 + origin) @ v), spread


def _edges(values: Floats, weights: Floats | None, sigma: float) -> Floats:
    """Edges of bins of equal width: Scott's rule for one component, a multiple of the data's spacing.

    Data recorded on a grid, such as whole minutes, would otherwise be drawn as a comb.
    """
    if weights is not None:
        values = values[weights > 0]
    low, high = float(values.min()), float(values.max())
    count = len(values) if weights is None else float(weights.sum())
    width = 3.49 * sigma * (0.5 * count) ** (-1.0 / 3.0)
    width = min(max(width, (high - low) / _MOST_BINS), (high - low) / 5.0)
    spacing = _spacing(values)
    if spacing > 0.0:
        width = spacing * max(1.0, math.ceil(width / spacing - 1e-9))
        low -= 0.5 * spacing
    bins = max(1, math.ceil((high - low) / width + 1e-9))
    return np.asarray(low + width * np.arange(bins + 1), dtype=np.float64)


def _spacing(values: Floats) -> float:
    """The step of the grid on which all values lie, or 0."""
    distinct = np.unique(values)
    if not 2 <= len(distinct) <= _FEW:
        return 0.0
    gaps = np.diff(distinct)
    step = float(gaps.min())
    multiples = gaps / step
    on_grid = bool((np.abs(multiples - np.rint(multiples)) < 1e-3).all())
    return step if on_grid else 0.0


def _range(edges: Floats, centres: list[float], sigma: float) -> tuple[float, float]:
    """What is shown: the data, and both components to two scales."""
    low = min(float(edges[0]), min(centres) - 2.0 * sigma)
    high = max(float(edges[-1]), max(centres) + 2.0 * sigma)
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def _density(x: Floats, centre: float, variance: float) -> Floats:
    density: Floats = np.exp(-0.5 * (x - centre) ** 2 / variance) / math.sqrt(
        2.0 * math.pi * variance
    )
    return density
