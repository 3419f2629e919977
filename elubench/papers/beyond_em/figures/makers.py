"""Every figure of this paper's report, by key: what it is drawn from, and what its caption says.

    FIGURES["passes"](evidence)             a matplotlib Figure, or None without the rows
    FIGURES["passes"].caption(evidence)     sizes, samples, constants and seeds, from the rows

The drawing functions take tidy tables and can be called on any: see the modules beside this one and
those of :mod:`elubench.report`.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from elubench.papers.beyond_em import theory
from elubench.papers.beyond_em.figures.landscapes import landscape_figure, stability_figure
from elubench.papers.beyond_em.figures.panels import paper_figure
from elubench.papers.beyond_em.rows import (
    breaks,
    left_panel,
    over_d,
    right_panel,
    sound,
    to_radius,
    validated,
)
from elubench.report.captions import about, sentence, steps
from elubench.report.cost_figure import costs_figure
from elubench.report.errors import dimensions_figure, starts_figure
from elubench.report.figures import FigureMaker
from elubench.report.race import passes_figure, run_time_figure
from elubench.report.slope_figure import local_slopes_figure
from elubench.report.style import size
from elubench.verification.evidence import Evidence


def _paper(number: int, name: str) -> FigureMaker:
    """The paper's figure of this number, both panels."""

    def draw(evidence: Evidence) -> Figure | None:
        paths, kept = left_panel(evidence, number)
        sizes = sound(right_panel(evidence, number))
        if paths.empty or sound(kept).empty or sizes.empty:
            return None
        return paper_figure(paths, sound(kept), sizes)

    def caption(evidence: Evidence) -> str:
        kept = sound(left_panel(evidence, number)[1])
        return sentence(
            "Left: the error of the location against the iteration; a diamond marks the iterate with "
            "the smallest loss on held-out data; the dotted line is the radius. Rivals are faint",
            about(kept),
            "Right: the root mean square error of the validated iterate, filled for the location and "
            "open for the scale; dashed lines have the slopes that the paper states",
            about(sound(right_panel(evidence, number)), radius=False),
            steps(kept),
        )

    return FigureMaker(
        f"figure-{number}",
        f"The paper's figure {number}: {name}",
        f"Two panels for the {name}. Left: error of the location against iterations on logarithmic "
        "axes for EM, ELU and rivals, with the validated iterates and the radius. Right: errors of the "
        "validated location and scale against the sample size with the slopes of theory.",
        draw,
        caption,
    )


_DIMENSIONS = (1, 2, 4)


def _races(evidence: Evidence) -> pd.DataFrame:
    return pd.concat([to_radius(evidence, d) for d in _DIMENSIONS], ignore_index=True)


def _draw_passes(evidence: Evidence) -> Figure | None:
    rows = _races(evidence)
    return None if rows.empty else passes_figure(rows)


def _passes_caption(evidence: Evidence) -> str:
    rows = _races(evidence)
    return sentence(
        "Passes over the data until the location is within the statistical radius: medians by "
        "Kaplan-Meier, bars from quartile to quartile. Dashed: the growth that theory predicts for EM "
        "(left) and ELU (right)",
        _censored(rows),
        about(rows),
        steps(rows),
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


def _draw_run_times(evidence: Evidence) -> Figure | None:
    rows = _races(evidence)
    return None if rows.empty else run_time_figure(rows)


def _run_times_caption(evidence: Evidence) -> str:
    rows = _races(evidence)
    return sentence(
        "The share of all runs within the radius after a number of passes, censored and failed runs "
        "included; a curve that ends below 1, at a hollow marker, shows how many never arrive",
        about(rows),
        steps(rows),
    )


def _slope_rows(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    errors = pd.concat([validated(evidence, d) for d in _DIMENSIONS], ignore_index=True)
    return errors, _races(evidence)


def _draw_slopes(evidence: Evidence) -> Figure | None:
    errors, counts = _slope_rows(evidence)
    return None if errors.empty or counts.empty else local_slopes_figure(errors, counts)


def _slopes_caption(evidence: Evidence) -> str:
    errors, counts = _slope_rows(evidence)
    return sentence(
        "Slopes between neighbouring n with 95 % bootstrap intervals; dashed lines are the values of "
        "theory, in the colour of their d. Top: root mean square errors of the validated iterate. "
        "Bottom: median iterations to the radius",
        f"Errors: {about(errors, radius=False)}",
        f"Iterations: {about(counts)}",
        steps(counts),
    )


def _draw_breaks(evidence: Evidence) -> Figure | None:
    rows = breaks(evidence)
    return None if rows.empty else starts_figure(rows)


def _breaks_caption(evidence: Evidence) -> str:
    rows = breaks(evidence)
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


def _draw_dimensions(evidence: Evidence) -> Figure | None:
    rows = sound(over_d(evidence))
    if rows["d"].nunique() < 2:
        return None
    stated = theory.rates("isotropic", int(rows["d"].max()), "elu")
    return dimensions_figure(
        rows, {"location_error": stated.location_d, "scale_error": stated.scale_d}
    )


def _dimensions_caption(evidence: Evidence) -> str:
    rows = sound(over_d(evidence))
    return sentence(
        "Root mean square errors of the validated location and scale against d at a fixed n; dashed: "
        "the slopes of Theorem 1(b)",
        about(rows, radius=False),
        steps(rows),
    )


def _draw_stability(evidence: Evidence) -> Figure | None:
    table = evidence.tables.get("stability")
    return None if table is None else stability_figure(table)


def _stability_caption(evidence: Evidence) -> str:
    table = evidence.tables["stability"]
    sizes = ", ".join(size(n) for n in sorted(table["n"].unique()))
    return sentence(
        "The gradient on a sample minus that at infinite n, root mean square over "
        f"{table['replicate'].nunique()} lattice samples, d = 1, n = {sizes}, seed {evidence.seed}",
        "Bars mark n^(-1/16), where Lemma 2 changes from slope 3 to slope 1",
    )


def _draw_costs(evidence: Evidence) -> Figure | None:
    table = evidence.tables.get("costs")
    return None if table is None or table.empty else costs_figure(table)


def _costs_caption(evidence: Evidence) -> str:
    table = evidence.tables["costs"]
    rounds = table.groupby(["n", "d", "algorithm"])["round"].nunique().max()
    sizes = sorted(table["n"].unique())
    return sentence(
        "Wall-clock time of an iteration in memory, all threads. In every round the algorithms take "
        "turns on the same sample, so that a disturbance of the machine affects all of them",
        f"{rounds} rounds at each size, n = {sizes[0]:,} to {sizes[-1]:,}",
    )


def _draw_landscape(evidence: Evidence) -> Figure | None:
    tables = [evidence.tables.get(name) for name in ("profiles", "landscape", "flows")]
    found = [table for table in tables if table is not None]
    return landscape_figure(*found) if len(found) == len(tables) else None


def _landscape_caption(evidence: Evidence) -> str:
    flows = evidence.tables["flows"]
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


_ALL: tuple[FigureMaker, ...] = (
    _paper(1, "isotropic model, d = 1"),
    _paper(2, "isotropic model, d = 4"),
    _paper(3, "diagonal model, d = 4"),
    _paper(4, "general locations, d = 4"),
    FigureMaker(
        "passes",
        "Passes to the radius",
        "Median passes over the data to the radius against the sample size, a row of panels for each "
        "d. Left: all algorithms on logarithmic axes with the slope of theory for EM. Right: all but "
        "EM on a linear scale with the slope of theory for ELU.",
        _draw_passes,
        _passes_caption,
        rivals=True,
    ),
    FigureMaker(
        "run-time",
        "Run-time distributions",
        "Shares of runs that reached the radius against passes over the data, a row of panels for "
        "each d, a panel for each of up to three sample sizes, a curve for each algorithm.",
        _draw_run_times,
        _run_times_caption,
        rivals=True,
    ),
    FigureMaker(
        "local-slopes",
        "Local slopes against n",
        "Four panels of slopes between neighbouring sample sizes with intervals and the value of "
        "theory: error of the location, error of the scale, iterations of EM, iterations of ELU.",
        _draw_slopes,
        _slopes_caption,
    ),
    FigureMaker(
        "landscape",
        "The loss at infinite n",
        "Top: the isotropic loss above its minimum and its gradient against the norm of theta on "
        "logarithmic axes, with slopes 8 and 7 at d = 1, and 4 and 3 at higher d. Bottom: map of the "
        "diagonal loss at d = 2 with the iterates of EM and ELU from an equal and from a generic "
        "start, and their distance from the truth against iterations.",
        _draw_landscape,
        _landscape_caption,
    ),
    FigureMaker(
        "stability",
        "Noise of the gradient at d = 1",
        "Noise of the gradient against the norm of theta for several sample sizes on logarithmic "
        "axes, as it is and times the square root of n, with slopes 3 and 1.",
        _draw_stability,
        _stability_caption,
    ),
    FigureMaker(
        "breaks",
        "Where ELU stops short",
        "Error of the validated location against the sample size, a row of panels for the diagonal "
        "model and one for general locations, a panel for each kind of start, a curve for each "
        "algorithm, with the slope that the paper states.",
        _draw_breaks,
        _breaks_caption,
    ),
    FigureMaker(
        "dimensions",
        "Errors against the dimension",
        "Errors of the validated location and scale against d at a fixed sample size on logarithmic "
        "axes, with the slopes of theory, 1/4 and -1/2.",
        _draw_dimensions,
        _dimensions_caption,
    ),
    FigureMaker(
        "costs",
        "The cost of an iteration",
        "Left: milliseconds per iteration of EM, ELU and both together against the numbers in the "
        "data. Right: their ratio to EM's in the same round.",
        _draw_costs,
        _costs_caption,
    ),
)

#: By key, in the order of the report.
FIGURES: dict[str, FigureMaker] = {maker.key: maker for maker in _ALL}
