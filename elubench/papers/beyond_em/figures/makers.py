"""Every figure of the report, by key: what it is drawn from, and what its caption says.

    FIGURES["passes"](evidence)             a matplotlib Figure, or None without the rows
    FIGURES["passes"].caption(evidence)     sizes, samples, constants and seeds, from the rows

The drawing functions take tidy tables and can be called on any: see the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from elubench.papers.beyond_em.figures import landscapes
from elubench.papers.beyond_em.figures.panels import paper_figure
from elubench.papers.beyond_em.rows import sound, to_radius, validated
from elubench.report.captions import about, sentence, steps
from elubench.report.errors import (
    costs_figure,
    dimensions_figure,
    local_slopes_figure,
    starts_figure,
)
from elubench.report.race import passes_figure, run_time_figure
from elubench.report.style import size
from elubench.verification.evidence import Evidence


@dataclass(frozen=True)
class FigureMaker:
    """A figure that evidence may have the rows for.

    ``draw`` gives None where it has not; ``alt`` says what is drawn for who cannot see it, ``caption``
    on what the figure rests: sizes, replicates, seeds and constants from the rows.
    """

    key: str
    title: str
    alt: str
    draw: Callable[[Evidence], Figure | None]
    caption: Callable[[Evidence], str]

    def __call__(self, evidence: Evidence) -> Figure | None:
        """The figure, or None."""
        return self.draw(evidence)


def _paper(number: int, name: str) -> FigureMaker:
    """The paper's figure of this number, both panels."""

    def rows(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        left, right = f"figure {number}, left", f"figure {number}, right"
        kept = evidence.last_rows(block=left)
        return (
            evidence.paths(block=left),
            kept[kept["status"] != "failed"],
            sound(evidence.last_rows(block=right)),
        )

    def draw(evidence: Evidence) -> Figure | None:
        paths, kept, sizes = rows(evidence)
        return (
            None if paths.empty or kept.empty or sizes.empty else paper_figure(paths, kept, sizes)
        )

    def caption(evidence: Evidence) -> str:
        _, kept, sizes = rows(evidence)
        return sentence(
            "Left: the location's error by iteration; a diamond is the iterate with the least loss on "
            "held-out data; the dotted line is the radius. Rivals are faint",
            about(kept),
            "Right: the root mean square error of the validated iterate, location filled and scale "
            "open; dashed lines have the slopes that the paper states",
            about(sizes, radius=False),
            steps(kept),
        )

    return FigureMaker(
        f"figure-{number}",
        f"The paper's figure {number}: {name}",
        f"Two panels for the {name}. Left: error of the location against iterations on logarithmic "
        "for EM, ELU and rivals, with the validated iterates and the radius. Right: errors of the "
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
        "Kaplan-Meier, bars from quartile to quartile. Dashed: the growth that theory gives EM "
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
        "included; a curve that ends below 1, at a hollow marker, says how many never arrive",
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
        "Slopes between neighbouring n with 95 % bootstrap intervals; dashed lines are what theory "
        "says, in the colour of their d. Top: root mean square errors of the validated iterate. "
        "Bottom: median iterations to the radius",
        f"Errors: {about(errors, radius=False)}",
        f"Iterations: {about(counts)}",
        steps(counts),
    )


_BREAKS = ["starts diagonal", "starts general", "errors, diagonal", "errors, general"]


def _break_rows(evidence: Evidence) -> pd.DataFrame:
    return sound(evidence.rows(block=_BREAKS))


def _draw_breaks(evidence: Evidence) -> Figure | None:
    rows = _break_rows(evidence)
    return None if rows.empty else starts_figure(rows)


def _breaks_caption(evidence: Evidence) -> str:
    rows = _break_rows(evidence)
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


def _dimension_rows(evidence: Evidence) -> pd.DataFrame:
    return sound(evidence.rows(block="errors, fixed n"))


def _draw_dimensions(evidence: Evidence) -> Figure | None:
    rows = _dimension_rows(evidence)
    return None if rows["d"].nunique() < 2 else dimensions_figure(rows)


def _dimensions_caption(evidence: Evidence) -> str:
    rows = _dimension_rows(evidence)
    return sentence(
        "Root mean square errors of the validated location and scale against d at a fixed n; dashed: "
        "the slopes of Theorem 1(b)",
        about(rows, radius=False),
        steps(rows),
    )


def _draw_stability(evidence: Evidence) -> Figure | None:
    return landscapes.stability_figure(landscapes.stability_table(evidence.seed))


def _stability_caption(evidence: Evidence) -> str:
    sizes = ", ".join(size(n) for n in landscapes.STABILITY_SIZES)
    return sentence(
        "The gradient on a sample less that at infinite n, root mean square over "
        f"{landscapes.STABILITY_REPLICATES} lattice samples, d = 1, n = {sizes}, seed {evidence.seed}",
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
        "Wall-clock of an iteration in memory, all threads. In every round the algorithms take turns "
        "on the same sample, so that a disturbance of the machine meets all of them",
        f"{rounds} rounds at each size, n = {sizes[0]:,} to {sizes[-1]:,}",
    )


def _draw_landscape(_: Evidence) -> Figure | None:
    return landscapes.landscape_figure()


def _landscape_caption(_: Evidence) -> str:
    return sentence(
        "Infinite n. Top: the isotropic loss and its gradient along a ray; dashed: the powers of "
        "Lemma 1",
        f"Bottom: the diagonal model from ({landscapes.EQUAL[0]:g}, {landscapes.EQUAL[1]:g}) and "
        f"({landscapes.GENERIC[0]:g}, {landscapes.GENERIC[1]:g}), ELU with eta {landscapes.ETA:g}, "
        f"beta {landscapes.BETA:g}. From the generic start both fall onto an axis, where the loss is "
        "as flat as at d = 1 along it and curved across it; there the growing step throws ELU out "
        "(the cross)",
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
    ),
    FigureMaker(
        "run-time",
        "Run-time distributions",
        "Shares of runs that reached the radius against passes over the data, a row of panels for "
        "each d, a panel for each of up to three sample sizes, a curve for each algorithm.",
        _draw_run_times,
        _run_times_caption,
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
        "What an iteration costs",
        "Left: milliseconds an iteration of EM, ELU and both together against the numbers in the "
        "data. Right: their ratio to EM's in the same round.",
        _draw_costs,
        _costs_caption,
    ),
)

#: By key, in the order of the report.
FIGURES: dict[str, FigureMaker] = {maker.key: maker for maker in _ALL}
