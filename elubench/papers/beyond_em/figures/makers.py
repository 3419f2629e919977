"""Every figure of this paper's report, by key: what it is drawn from, and what its caption says.

    FIGURES["passes"](evidence)             a matplotlib Figure, or None without the rows

Captions have sizes, samples, constants and seeds from the rows.
The drawing functions take tidy tables and can be called on any: see the modules beside this one and
those of :mod:`elubench.report`.
"""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from elubench.papers.beyond_em import theory
from elubench.papers.beyond_em.corrections import local_slopes
from elubench.papers.beyond_em.figures.crossover import crossover_figure
from elubench.papers.beyond_em.figures.landscapes import landscape_figure, stability_figure
from elubench.papers.beyond_em.figures.laws import limit_laws_figure
from elubench.papers.beyond_em.figures.panels import paper_figure
from elubench.papers.beyond_em.rival_tables import PLAIN
from elubench.papers.beyond_em.rows import (
    DIMENSIONS,
    breaks,
    left_panel,
    over_d,
    right_panel,
    sound,
    to_radius,
    validated,
)
from elubench.plot.style import size
from elubench.report.captions import about, sentence, steps
from elubench.report.chart import race_chart
from elubench.report.cost_figure import costs_figure
from elubench.report.errors import dimensions_figure, starts_figure
from elubench.report.figures import FigureMaker, tables_of
from elubench.report.race import race_figure, run_time_figure
from elubench.report.slope_figure import local_slopes_figure
from elubench.verification.evidence import Evidence


def _paper(number: int, name: str) -> FigureMaker:
    """The paper's figure of this number, both panels."""

    def rows(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
        paths, kept = left_panel(evidence, number)
        return paths, sound(kept), sound(right_panel(evidence, number))

    return FigureMaker(
        f"figure-{number}",
        f"The paper's figure {number}: {name}",
        f"Two panels for the {name}. Left: error of the location against iterations on logarithmic "
        "axes for EM, ELU and rivals, with the validated iterates and the radius. Right: errors of the "
        "validated location and scale against the sample size with the slopes of theory.",
        rows,
        paper_figure,
        _paper_words,
    )


def _paper_words(_: pd.DataFrame, kept: pd.DataFrame, sizes: pd.DataFrame) -> str:
    return sentence(
        "Left: the error of the location against the iteration; a diamond marks the iterate with the "
        "smallest loss on held-out data; the dotted line is the radius. Rivals are faint",
        about(kept),
        "Right: the root mean square error of the validated iterate, filled for the location and open "
        "for the scale; dashed lines have the slopes that the paper states",
        about(sizes, radius=False),
        steps(kept),
    )


def _races(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    return (pd.concat([to_radius(evidence, d) for d in DIMENSIONS], ignore_index=True),)


def _race_words(rows: pd.DataFrame, until: str) -> str:
    return sentence(
        f"{until}. Dashed: the growth that theory predicts for EM (left) and ELU (right)",
        _censored(rows),
        about(rows),
        steps(rows),
    )


def _cost_words(rows: pd.DataFrame) -> str:
    return _race_words(
        rows,
        "What it costs until the location is within the statistical radius, in units of a plain pass; "
        f"{PLAIN}. Medians by Kaplan-Meier, bars from quartile to quartile",
    )


def _passes_words(rows: pd.DataFrame) -> str:
    return _race_words(
        rows,
        "Passes over the data until the location is within the statistical radius: medians by "
        "Kaplan-Meier, bars from quartile to quartile",
    )


def _censored(rows: pd.DataFrame) -> str:
    """Which algorithms have censored runs, as a sentence."""
    total = rows.groupby(["d", "algorithm"])["reached"].agg(["size", "sum"])
    counts = [
        f"{name} {runs - reached} of {runs} (d = {d})"
        for (d, name), runs, reached in total.itertuples()
        if reached < runs
    ]
    if not counts:
        return "No run is censored"
    return f"Hollow markers have censored runs: {', '.join(counts)}"


def _run_times_words(rows: pd.DataFrame) -> str:
    return sentence(
        "The share of all runs within the radius after a number of passes, censored and failed runs "
        "included; a curve that ends below 1, at a hollow marker, shows how many never arrive",
        about(rows),
        steps(rows),
    )


def _slopes(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    errors = pd.concat([validated(evidence, d) for d in DIMENSIONS], ignore_index=True)
    (counts,) = _races(evidence)
    return errors, counts, local_slopes(errors, counts)


def _slopes_words(errors: pd.DataFrame, counts: pd.DataFrame, _: pd.DataFrame) -> str:
    return sentence(
        "Slopes between neighbouring n with 95 % bootstrap intervals; dashed lines are the values of "
        "theory, in the colour of their d. Filled: with the corrections of the claims, by which the "
        "verdicts go; hollow: without. Top: errors of the validated iterate, root mean square of the "
        "location and mean of the squared scale. Bottom: median iterations to the radius",
        f"Errors: {about(errors, radius=False)}",
        f"Iterations: {about(counts)}",
        steps(counts),
    )


def _breaks_words(rows: pd.DataFrame) -> str:
    em = rows.loc[rows["algorithm"] == "EM", "max_iter"]
    return sentence(
        "Root mean square error of the location after validation, from a start with equal "
        "coordinates and from one in a random direction; dashed: the slope that the paper states. "
        "For general locations ELU is Algorithm 3 as printed, and CentredELU takes an EM step for the "
        "half sum",
        about(rows, radius=False),
        f"EM has {em.max():,.0f} iterations" if len(em) else "",
        steps(rows),
    )


def _over_d(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    rows = sound(over_d(evidence))
    return (rows if rows["d"].nunique() > 1 else rows[:0],)


def _draw_dimensions(rows: pd.DataFrame) -> Figure:
    stated = theory.rates("isotropic", int(rows["d"].max()), "elu")
    return dimensions_figure(
        rows, {"location_error": stated.location_d, "scale_error": stated.scale_d}
    )


def _dimensions_words(rows: pd.DataFrame) -> str:
    return sentence(
        "Root mean square errors of the validated location and scale against d at a fixed n; dashed: "
        "the slopes of Theorem 1(b)",
        about(rows, radius=False),
        steps(rows),
    )


def _stability_words(table: pd.DataFrame) -> str:
    sizes = ", ".join(size(n) for n in sorted(table["n"].unique()))
    return sentence(
        "The gradient on a sample minus that at infinite n, root mean square over "
        f"{table['replicate'].nunique()} lattice samples, d = 1, n = {sizes}, seed "
        f"{table['seed'].iloc[0]}",
        "Bars mark n^(-1/16), where Lemma 2 changes from slope 3 to slope 1",
    )


def _costs_words(table: pd.DataFrame) -> str:
    rounds = table.groupby(["n", "d", "algorithm"])["round"].nunique().max()
    sizes = sorted(table["n"].unique())
    return sentence(
        "Wall-clock time of an iteration in memory, all threads. In every round the algorithms take "
        "turns on the same sample, so that a disturbance of the machine affects all of them",
        f"{rounds} rounds at each size, n = {sizes[0]:,} to {sizes[-1]:,}",
    )


def _landscape_words(_: pd.DataFrame, __: pd.DataFrame, flows: pd.DataFrame) -> str:
    starts = " and ".join(
        f"({one.theta_1:g}, {one.theta_2:g})"
        for one in flows[flows["t"] == 0].drop_duplicates("start").itertuples()
    )
    return sentence(
        "Infinite n. Top: the isotropic loss and its gradient along a ray; dashed: the powers of "
        "Lemma 1",
        f"Bottom: the diagonal model from {starts}, ELU with eta {flows['eta'].iloc[0]:g}, beta "
        f"{flows['beta'].iloc[0]:g}. From the generic start both fall onto an axis, where the loss is "
        "as flat as at d = 1 along the axis and curved across it; there the growing step throws ELU "
        "out (the cross)",
    )


def _laws_words(table: pd.DataFrame) -> str:
    counts = table.groupby(["law", "d", "n"]).size()
    return sentence(
        "Shares of lattice samples below a value, and the limit laws. At d = 1 half the samples "
        "have their optimum at exactly 0. EM's time to twice the radius is divided by the count at "
        "infinite n over its leading term, a factor that all samples of a size share",
        f"{counts.min():,} to {counts.max():,} samples for each curve, seed {table['seed'].iloc[0]}",
    )


def _crossover_words(table: pd.DataFrame) -> str:
    each = table.groupby(["d", "budget", "half_distance", "n"]).size().min()
    return sentence(
        "The practical procedure on one Gaussian (half distance 0) and on two, by half the distance "
        "between their means in standard deviations. Top: the share of samples on which EM's speed, "
        "after this many iterations, gives the right answer. Bottom: the root mean square error of what "
        "the procedure returns over that of the sample's optimum",
        f"{each} lattice samples for each cell, seed {table['seed'].iloc[0]}",
    )


_ALL: tuple[FigureMaker, ...] = (
    _paper(1, "isotropic model, d = 1"),
    _paper(2, "isotropic model, d = 4"),
    _paper(3, "diagonal model, d = 4"),
    _paper(4, "general locations, d = 4"),
    FigureMaker(
        "cost-to-radius",
        "Cost to the radius",
        "Median cost to the radius in plain passes against the sample size, a row of panels for each "
        "d. Left: all algorithms on logarithmic axes with the slope of theory for EM. Right: all but "
        "EM on a linear scale with the slope of theory for ELU.",
        _races,
        partial(race_figure, spent="cost"),
        _cost_words,
        rivals=True,
        numbers=partial(race_chart, spent="cost"),
    ),
    FigureMaker(
        "passes",
        "Passes to the radius",
        "Median passes over the data to the radius against the sample size, a row of panels for each "
        "d. Left: all algorithms on logarithmic axes with the slope of theory for EM. Right: all but "
        "EM on a linear scale with the slope of theory for ELU.",
        _races,
        race_figure,
        _passes_words,
        rivals=True,
        numbers=race_chart,
    ),
    FigureMaker(
        "run-time",
        "Run-time distributions",
        "Shares of runs that reached the radius against passes over the data, a row of panels for "
        "each d, a panel for each of up to three sample sizes, a curve for each algorithm.",
        _races,
        run_time_figure,
        _run_times_words,
        rivals=True,
    ),
    FigureMaker(
        "local-slopes",
        "Local slopes against n",
        "Four panels of slopes between neighbouring sample sizes, plain and corrected, with intervals "
        "and the value of theory: error of the location, error of the scale, iterations of EM, "
        "iterations of ELU.",
        _slopes,
        local_slopes_figure,
        _slopes_words,
    ),
    FigureMaker(
        "landscape",
        "The loss at infinite n",
        "Top: the isotropic loss above its minimum and its gradient against the norm of theta on "
        "logarithmic axes, with slopes 8 and 7 at d = 1, and 4 and 3 at higher d. Bottom: map of the "
        "diagonal loss at d = 2 with the iterates of EM and ELU from an equal and from a generic "
        "start, and their distance from the truth against iterations.",
        tables_of("profiles", "landscape", "flows"),
        landscape_figure,
        _landscape_words,
    ),
    FigureMaker(
        "stability",
        "Noise of the gradient at d = 1",
        "Noise of the gradient against the norm of theta for several sample sizes on logarithmic "
        "axes, as it is and times the square root of n, with slopes 3 and 1.",
        tables_of("stability"),
        stability_figure,
        _stability_words,
    ),
    FigureMaker(
        "limit-laws",
        "Limit laws of the optimum and of EM's time",
        "Three panels of empirical distribution functions, a curve for each sample size, with the "
        "limit law: location of the optimum at d = 1 with a jump of one half at 0, at d = 2, and EM's "
        "time to the radius at d = 1.",
        tables_of("limit_law"),
        limit_laws_figure,
        _laws_words,
    ),
    FigureMaker(
        "crossover",
        "The practical procedure between the regimes",
        "Maps over half the distance between two Gaussians and the sample size, a column of panels for "
        "each dimension and number of iterations. Top: the share of samples with the right answer, low "
        "for small distances at d = 1. Bottom: the error over that of the sample's optimum.",
        tables_of("crossover"),
        crossover_figure,
        _crossover_words,
    ),
    FigureMaker(
        "breaks",
        "Where ELU stops short",
        "Error of the validated location against the sample size, a row of panels for the diagonal "
        "model and one for general locations, a panel for each kind of start, a curve for each "
        "algorithm, with the slope that the paper states.",
        lambda evidence: (breaks(evidence),),
        starts_figure,
        _breaks_words,
    ),
    FigureMaker(
        "dimensions",
        "Errors against the dimension",
        "Errors of the validated location and scale against d at a fixed sample size on logarithmic "
        "axes, with the slopes of theory, 1/4 and -1/2.",
        _over_d,
        _draw_dimensions,
        _dimensions_words,
    ),
    FigureMaker(
        "costs",
        "The cost of an iteration",
        "Left: milliseconds per iteration of EM, ELU and both together against the numbers in the "
        "data. Right: their ratio to EM's in the same round.",
        tables_of("costs"),
        costs_figure,
        _costs_words,
    ),
)

#: By key, in the order of the report.
FIGURES: dict[str, FigureMaker] = {maker.key: maker for maker in _ALL}
