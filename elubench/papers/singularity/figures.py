"""The figures of this paper's report: rates, EM's factor, the crossover, the race to the radius."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.papers.beyond_em.rival_tables import cost, passes
from elubench.papers.singularity import theory
from elubench.papers.singularity.claims.shared import MODELS
from elubench.plot.against_n import statistic_of
from elubench.plot.style import (
    THEORY,
    legend_below,
    log_axes,
    new_figure,
    power_ticks,
    shade,
    size,
    slope_line,
    styled,
)
from elubench.report.captions import about, sentence, steps
from elubench.report.figures import FigureMaker, tables_of
from elubench.report.html import PageTable
from elubench.report.race import race_figure
from elubench.verification.evidence import Evidence

#: Curves of the first figure: a model's name in the rows, its label, marker and exponents of n.
_CURVES = {
    "isotropic": ("free scale, equal weights", "o", -1 / 8, "slope −1/8"),  # noqa: RUF001
    MODELS[0.5]: ("known scale, equal weights", "s", -1 / 4, "slope −1/4"),  # noqa: RUF001
    MODELS[0.6]: ("known scale, w = 0.6", "^", None, ""),
    MODELS[0.9]: ("known scale, w = 0.9", "D", -1 / 2, "slope −1/2"),  # noqa: RUF001
}


def _rates(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    asked = {"d": 1, "algorithm": "EM", "stop": "radius", "samples": "lattice"}
    return (evidence.rows(model=list(_CURVES), **asked),)


@styled
def rates_figure(rows: pd.DataFrame) -> Figure:
    """Errors of the samples' optima, and EM's iterations to the radius, against n."""
    figure, (left, right) = new_figure(2, height=3.4)
    names = [name for name in _CURVES if (rows["model"] == name).any()]
    handles = []
    for number, name in enumerate(names):
        label, marker, slope, text = _CURVES[name]
        part, colour = rows[rows["model"] == name], shade(number, len(names))
        error = statistic_of(part, "mle_location_error")
        count = part.groupby("n")["iterations_to_radius"].median()
        for axes, curve in ((left, error), (right, count)):
            axes.plot(curve.index, curve, marker, color=colour)
        handles.append(Line2D([], [], color=colour, marker=marker, linestyle="", label=label))
        ends = (float(error.index[0]), float(error.index[-1]))
        if slope is not None:
            anchor = (ends[1], float(error.iloc[-1]))
            slope_line(left, ends, anchor, slope, text, above=slope > -0.5)
    for axes in (left, right):
        log_axes(axes)
        axes.set_xlabel("sample size n")
    left.set_title("error of the sample's optimum")
    right.set_title("EM's iterations to the radius")
    legend_below(figure, handles, columns=2)
    return figure


def _rates_words(rows: pd.DataFrame) -> str:
    return sentence(
        "Left: root mean square error of the location at the sample's optimum, with the slopes of "
        "theory. Right: EM's iterations to the radius of each model, medians; on these axes a power "
        "of n is a straight line, and a logarithm bends",
        about(rows),
    )


@styled
def factor_figure(table: pd.DataFrame) -> Figure:
    """EM's factor at infinite n against the distance from the truth, with the paper's bounds."""
    figure, (left, right) = new_figure(2, height=3.0, sharey=True)
    equal = table[table["weight"] == 0.5]
    left.plot(equal["r"], equal["factor"], color=shade(0, 4))
    for bound in ("low", "high"):
        left.plot(equal["r"], equal[bound], **THEORY)
    left.set_title("equal weights")
    left.set_ylabel("EM's factor")
    shown = [0.6, 0.7, 0.9, 0.99]
    for number, weight in enumerate(shown):
        part, colour = table[table["weight"] == weight], shade(number, len(shown))
        right.plot(part["r"], part["factor"], color=colour, label=f"w = {weight:g}")
        right.axhline(float(part["high"].iloc[0]), **{**THEORY, "color": colour})
    right.set_title("unequal weights")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlim(0.01, 10.0)
        axes.set_ylim(0.0, 1.03)
        axes.set_xlabel("distance from the truth")
        power_ticks(axes, "x")
    handles = [*right.get_lines()[::2], Line2D([], [], label="bounds", **THEORY)]
    legend_below(figure, handles)
    return figure


def _factor_words(_: pd.DataFrame) -> str:
    return sentence(
        "What a step of EM at infinite n multiplies theta by, against the length of theta, and the "
        "bounds of the paper (dashed). With equal weights the factor tends to 1 at the truth; with "
        "unequal ones it stays below the bound of its colour"
    )


@styled
def crossover_figure(table: pd.DataFrame) -> Figure:
    """n^(1/4) times the error of the optimum against h, for each n, with the limit law and its ends."""
    figure, (axes,) = new_figure(1, height=3.6)
    ratios = np.geomspace(0.08, 12.0, 60)
    axes.plot(ratios, [theory.crossover_rms(float(h)) for h in ratios], color="0.25", label="law")
    axes.plot(ratios, 1.0 / ratios, label="its ends: 1/h, and h = 0", **THEORY)
    axes.axhline(theory.crossover_rms(0.0), **THEORY)
    sizes = sorted(table["n"].unique())
    for number, n in enumerate(sizes):
        curve = statistic_of(table[table["n"] == n], "error", by="ratio")
        place = curve.index.to_numpy(dtype=float) * 1.05 ** (number - 0.5 * (len(sizes) - 1))
        spread = curve / np.sqrt(2.0 * table["replicate"].nunique())
        axes.errorbar(
            place,
            curve,
            yerr=1.96 * spread,
            fmt="os^D"[number % 4],
            color=shade(number, len(sizes)),
            label=f"n = {size(n)}",
        )
    log_axes(axes)
    axes.set_ylim(0.06, 2.0)
    axes.set_xlabel("h, the imbalance of the weights |1 − 2w| in units of $n^{-1/4}$")  # noqa: RUF001
    axes.set_ylabel("error in units of $n^{-1/4}$")
    legend_below(figure, axes.get_legend_handles_labels()[0], columns=5)
    return figure


def _crossover_words(table: pd.DataFrame) -> str:
    return sentence(
        "Root mean square error of the sample's optimum, d = 1, with bars of two standard errors: "
        "samples of all n lie on one curve. Markers of one h are drawn side by side. To the left the "
        "weights are equal as far as the data can tell, to the right the error is that of a mean",
        f"{table['replicate'].nunique()} lattice samples at each n and h",
    )


def _races(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    return (evidence.rows(model=MODELS[0.5], d=[1, 2], stop="radius", samples="lattice"),)


def _race_words(rows: pd.DataFrame) -> str:
    return sentence(
        "Equal weights: passes over the data until the location is within the statistical radius, "
        "medians with bars from quartile to quartile. Dashed: the growth that theory predicts for EM "
        "(left) and ELU (right)",
        about(rows),
        steps(rows),
    )


_MAKERS = (
    FigureMaker(
        "rates",
        "Errors and iterations against n",
        "Two panels on logarithmic axes against the sample size. Left: errors fall fastest with unequal "
        "weights and slowest with a free scale. Right: EM's iterations grow as powers of n with equal "
        "weights and hardly grow with unequal ones.",
        _rates,
        rates_figure,
        _rates_words,
    ),
    FigureMaker(
        "factor",
        "EM's factor at infinite n",
        "Two panels with EM's factor against the distance from the truth. Left, equal weights: it "
        "rises to 1 at the truth, between two bounds. Right, unequal weights: curves that stay below "
        "1.",
        tables_of("population"),
        factor_figure,
        _factor_words,
    ),
    FigureMaker(
        "crossover",
        "Between equal and unequal weights",
        "Errors in units of n to the minus one quarter against the imbalance of the weights in the same "
        "units: markers of three sizes lie on one curve, flat on the left and falling on the right.",
        tables_of("crossover"),
        crossover_figure,
        _crossover_words,
    ),
    FigureMaker(
        "passes",
        "Passes to the radius, equal weights",
        "Passes over the data against the sample size at d = 1 and d = 2 for EM, ELU and rivals: "
        "EM's grow as a power, ELU's like a logarithm, Newton-Anderson's hardly, and Moments needs "
        "one.",
        _races,
        race_figure,
        _race_words,
        rivals=True,
    ),
)
FIGURES = {maker.key: maker for maker in _MAKERS}


def rival_tables(evidence: Evidence) -> list[PageTable]:
    """Passes and cost to the radius by algorithm and n, with equal and with unequal weights."""
    tables = []
    for weight, said in ((0.5, "equal weights"), (0.6, "w = 0.6"), (0.9, "w = 0.9")):
        rows = evidence.rows(model=MODELS[weight], d=1, stop="radius", samples="lattice")
        if not rows.empty:
            made = passes(rows), cost(rows)
            tables += [replace(table, title=f"{table.title}, {said}") for table in made]
    return tables
