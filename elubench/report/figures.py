"""Every figure of the report, by key: what it is drawn from, and what its caption says.

    FIGURES["passes-d1"](evidence)             a matplotlib Figure, or None without the rows
    FIGURES["passes-d1"].caption(evidence)     sizes, samples, constants and seeds, from the rows

The drawing functions take tidy tables and can be called on any: see the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from elubench.evidence import Evidence
from elubench.report import landscapes
from elubench.report.captions import about, sentence, steps
from elubench.report.errors import (
    costs_figure,
    dimensions_figure,
    local_slopes_figure,
    starts_figure,
)
from elubench.report.paper_panels import paper_figure
from elubench.report.race import passes_figure, passes_table, run_times_figure
from elubench.report.rows import sound, to_radius, validated
from elubench.report.style import size


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


def _paper(number: int, key: str, name: str) -> FigureMaker:
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
        key,
        f"The paper's figure {number}: {name}",
        f"Two panels for the {name}. Left: error of the location against iterations on logarithmic "
        "for EM, ELU and rivals, with the validated iterates and the radius. Right: errors of the "
        "validated location and scale against the sample size with the slopes of theory.",
        draw,
        caption,
    )


def _passes(d: int) -> FigureMaker:
    def draw(evidence: Evidence) -> Figure | None:
        rows = to_radius(evidence, d)
        return None if rows.empty else passes_figure(rows)

    def caption(evidence: Evidence) -> str:
        rows = to_radius(evidence, d)
        return sentence(
            "Passes over the data until the location is within the statistical radius: medians by "
            "Kaplan-Meier, bars from quartile to quartile. Dashed: the growth that theory gives EM "
            "(left) and ELU (right)",
            _censored(rows),
            about(rows),
            steps(rows),
        )

    return FigureMaker(
        f"passes-d{d}",
        f"Passes to the radius at d = {d}",
        f"Median passes over the data to the radius against the sample size at d = {d}. Left: all "
        "algorithms on logarithmic axes with the slope of theory for EM. Right: all but EM on a linear "
        "scale with the slope of theory for ELU.",
        draw,
        caption,
    )


def _censored(rows: pd.DataFrame) -> str:
    """Which algorithms have censored runs, as a sentence."""
    table = passes_table(rows)
    total = table.assign(lost=table["runs"] - table["reached"]).groupby("algorithm")
    counts = [
        f"{name} {int(part['lost'].sum())} of {int(part['runs'].sum())}"
        for name, part in total
        if part["lost"].sum()
    ]
    if not counts:
        return "No run is censored"
    return f"Hollow markers have censored runs: {', '.join(counts)}"


def _run_times(d: int) -> FigureMaker:
    def draw(evidence: Evidence) -> Figure | None:
        rows = to_radius(evidence, d)
        return None if rows.empty else run_times_figure(rows)

    def caption(evidence: Evidence) -> str:
        rows = to_radius(evidence, d)
        return sentence(
            "The share of all runs within the radius after a number of passes, censored and failed "
            "runs included; a curve that ends below 1, at a hollow marker, says how many never arrive",
            about(rows),
            steps(rows),
        )

    return FigureMaker(
        f"run-times-d{d}",
        f"Run-time distributions at d = {d}",
        f"Shares of runs that reached the radius against passes over the data at d = {d}, one panel "
        "for each of up to three sample sizes, one curve for each algorithm.",
        draw,
        caption,
    )


_SLOPE_DIMENSIONS = (1, 2, 4)


def _slope_rows(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    errors = pd.concat([validated(evidence, d) for d in _SLOPE_DIMENSIONS], ignore_index=True)
    counts = pd.concat([to_radius(evidence, d) for d in _SLOPE_DIMENSIONS], ignore_index=True)
    return errors, counts


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


def _starts(model: str, title: str, more: str) -> FigureMaker:
    blocks = [f"starts {model}", f"errors, {model}"]

    def rows(evidence: Evidence) -> pd.DataFrame:
        return sound(evidence.rows(block=blocks, model=model))

    def draw(evidence: Evidence) -> Figure | None:
        found = rows(evidence)
        return None if found.empty else starts_figure(found)

    def caption(evidence: Evidence) -> str:
        found = rows(evidence)
        return sentence(
            "Root mean square error of the location after validation, from a start with equal "
            "coordinates and from one in a random direction; dashed: the slope that the paper states",
            more,
            about(found, radius=False),
            f"EM has {found.loc[found['algorithm'] == 'EM', 'max_iter'].max():,.0f} iterations"
            if (found["algorithm"] == "EM").any()
            else "",
            steps(found),
        )

    return FigureMaker(
        f"starts-{model}",
        title,
        f"Error of the validated location against the sample size for the {model} model, one panel for "
        "each kind of start, one curve for each algorithm, with the slope that the paper states.",
        draw,
        caption,
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


def _always(draw: Callable[[], Figure]) -> Callable[[Evidence], Figure | None]:
    return lambda _: draw()


def _said(text: str) -> Callable[[Evidence], str]:
    return lambda _: text


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


def _landscape_caption() -> str:
    return sentence(
        f"Infinite n, starts ({landscapes.EQUAL[0]:g}, {landscapes.EQUAL[1]:g}) and "
        f"({landscapes.GENERIC[0]:g}, {landscapes.GENERIC[1]:g}), ELU with eta {landscapes.ETA:g}, "
        f"beta {landscapes.BETA:g}",
        "From the generic start both fall onto an axis, where the loss is as flat as at d = 1 along it "
        "and curved across it; there the growing step throws ELU out (the cross)",
    )


_ALL: tuple[FigureMaker, ...] = (
    _paper(1, "paper-isotropic-d1", "isotropic model, d = 1"),
    _paper(2, "paper-isotropic-d4", "isotropic model, d = 4"),
    _paper(3, "paper-diagonal-d4", "diagonal model, d = 4"),
    _paper(4, "paper-general-d4", "general locations, d = 4"),
    *(_passes(d) for d in (1, 2, 4)),
    *(_run_times(d) for d in (1, 2)),
    FigureMaker(
        "local-slopes",
        "Local slopes against n",
        "Four panels of slopes between neighbouring sample sizes with intervals and the value of "
        "theory: error of the location, error of the scale, iterations of EM, iterations of ELU.",
        _draw_slopes,
        _slopes_caption,
    ),
    FigureMaker(
        "loss-profile",
        "How flat the loss is at infinite n",
        "The isotropic loss above its minimum and its gradient against the norm of theta on "
        "logarithmic axes, with slopes 8 and 7 at d = 1, and 4 and 3 at higher d.",
        _always(landscapes.profile_figure),
        _said(
            "The isotropic population loss and its gradient along a ray; dashed: the powers of Lemma 1."
        ),
    ),
    FigureMaker(
        "diagonal-landscape",
        "The diagonal model at infinite n",
        "Left: contour map of the diagonal loss at d = 2 with the iterates of EM and ELU from an equal "
        "and from a generic start. Right: their distance from the truth against iterations.",
        _always(landscapes.diagonal_map_figure),
        lambda _: _landscape_caption(),
    ),
    FigureMaker(
        "stability",
        "Noise of the gradient at d = 1",
        "Noise of the gradient against the norm of theta for several sample sizes on logarithmic axes, "
        "as it is and times the square root of n, with slopes 3 and 1.",
        _draw_stability,
        _stability_caption,
    ),
    _starts("diagonal", "Where ELU stops short: the diagonal model", ""),
    _starts(
        "general",
        "Where ELU stops short: general locations",
        "ELU is Algorithm 3 as printed; CentredELU takes an EM step for the half sum",
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
        "Left: milliseconds an iteration of EM, ELU and both together against the numbers in the data. "
        "Right: their ratio to EM's in the same round.",
        _draw_costs,
        _costs_caption,
    ),
)

#: By key, in the order of the report.
FIGURES: dict[str, FigureMaker] = {maker.key: maker for maker in _ALL}
