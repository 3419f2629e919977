"""The map of the crossover, and the laws where the regimes meet."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elubench.papers.beyond_em.figures.crossover import heat_map
from elubench.papers.crossover.claims.meeting import ratio_cdf, ratio_of
from elubench.papers.crossover.theory import meeting
from elubench.plot.style import SHADES, THEORY, legend_below, new_figure, styled
from elubench.report.captions import about
from elubench.report.figures import FigureMaker
from elubench.verification.evidence import Evidence

#: Column of `ratios`, title, and the colours: dark is bad.
_PANELS: tuple[tuple[str, str, Any], ...] = (
    ("EM", "error of EM", LogNorm(1.0, 20.0)),
    ("ELU", "error of ELU", LogNorm(1.0, 20.0)),
    ("Moments", "error of Moments", LogNorm(1.0, 20.0)),
    ("passes", "passes of EM", LogNorm(1.0, 200.0)),
)
_ACROSS = 2  # panels side by side


def map_rows(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    """Runs to the end with a part held out, at every a."""
    rows = evidence.rows(stop="end", validation=[0.1])
    return (rows[rows["true_a"].notna()],)


def ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per d, a and n: root mean square errors over that of the optimum, and a ratio of passes.

    ``passes`` is EM's median number of passes to the radius over that of NewtonAnderson; EM counts with
    all the passes that it made where it did not arrive.
    """
    keys = ["d", "true_a", "n"]
    found: dict[str, pd.Series[float]] = {}
    for name in ("EM", "ELU", "Moments"):
        part = rows[rows["algorithm"] == name]
        squares = part[["location_error", "mle_location_error"]] ** 2
        mean = squares.groupby([part[key] for key in keys]).mean()
        found[name] = (mean["location_error"] / mean["mle_location_error"]) ** 0.5
    spent = rows["passes_to_radius"].fillna(rows["passes"])
    median = spent.groupby([rows[key] for key in (*keys, "algorithm")]).median().unstack()
    found["passes"] = median["EM"] / median["NewtonAnderson"]
    return pd.DataFrame(found).reset_index()


@styled
def map_figure(rows: pd.DataFrame) -> Figure:
    """`ratios` over a and n, four panels for each d; on and above the line two are not told from one."""
    table = ratios(rows)
    kinds = [(int(d), *one) for d in sorted(table["d"].unique()) for one in _PANELS]
    figure, panels = new_figure(_ACROSS, len(kinds) // _ACROSS, height=2.5)
    for place, (axes, (d, column, title, norm)) in enumerate(zip(panels, kinds, strict=True)):
        values = table[table["d"] == d].pivot(index="true_a", columns="n", values=column)
        heat_map(axes, values, "cividis_r", norm)
        at = list(values.index)
        axes.set_yticks(np.arange(len(at)) + 0.5, labels=[str(Fraction(a)) for a in at])
        axes.axhline(at.index(meeting(d)), color="#d55e00", linewidth=1.6, linestyle="--")
        axes.set_title(f"d = {d}: {title}")
        if place % _ACROSS == 0:
            axes.set_ylabel("a")
        if place >= len(kinds) - _ACROSS:
            axes.set_xlabel("sample size n")
    return figure


def _map_words(rows: pd.DataFrame) -> str:
    return (
        "Two Gaussians at theta* = n^(-a); above the dashed line they cannot be told from one. Dark is "
        "bad. Errors are root mean squares over that of the sample's optimum; passes are medians to the "
        "radius over those of NewtonAnderson. EM has 2,000 iterations; a tenth of the rows, held out, "
        "selects the iterate of each algorithm. Where EM does not arrive, the ratio of passes "
        f"is a lower bound. {about(rows)}"
    )


def law_rows(evidence: Evidence) -> tuple[pd.DataFrame, ...]:
    """The likelihood ratios where the regimes meet."""
    rows = evidence.rows(algorithm="Moments", stop="end", validation=[np.nan])
    rows = rows[rows["block"].str.startswith("meeting")]
    return (rows.assign(ratio=ratio_of(rows)),)


@styled
def laws_figure(rows: pd.DataFrame) -> Figure:
    """Distribution functions of the likelihood ratio, a panel for each d and a colour for each h."""
    dimensions = sorted(rows["d"].unique())
    figure, panels = new_figure(len(dimensions), height=3.1, sharey=True)
    ramp = LinearSegmentedColormap.from_list("h", SHADES)
    for axes, d in zip(panels, dimensions, strict=True):
        part = rows[rows["d"] == d]
        several = sorted(part["true_h"].unique())
        most = float(part["ratio"].quantile(0.99))
        grid = np.linspace(0.0, most, 300)
        handles = []
        for k, h in enumerate(several):
            colour = ramp(k / max(1, len(several) - 1))
            found = np.sort(part.loc[part["true_h"] == h, "ratio"].to_numpy(float))
            share = np.arange(1, found.size + 1) / found.size
            axes.step(found, share, where="post", color=colour, linewidth=1.1)
            axes.plot(grid, ratio_cdf(grid, np.full(300, h), int(d)), **THEORY)
            handles.append(Line2D([], [], color=colour, label=f"h = {h:g}"))
        axes.legend(handles=handles, loc="lower right")
        axes.set_xlim(0.0, most)
        axes.set_title(f"d = {d}, a = 1/{round(1.0 / meeting(int(d)))}")
        axes.set_xlabel("likelihood ratio, two components against one")
    panels[0].set_ylabel("share of samples below")
    legend_below(figure, [Line2D([], [], label="limit law", **THEORY)])
    return figure


def _law_words(rows: pd.DataFrame) -> str:
    return f"Likelihood ratios at theta* = h n^(-a), all n together. {about(rows, radius=False)}"


FIGURES = {
    one.key: one
    for one in (
        FigureMaker(
            "map",
            "The map between one component and two",
            "Maps over a and the sample size, four panels for each dimension: error ratios of EM, "
            "ELU and Moments, and EM's passes over those of NewtonAnderson. EM is worst just below the "
            "line where the regimes meet.",
            map_rows,
            map_figure,
            _map_words,
        ),
        FigureMaker(
            "laws",
            "The likelihood ratio where the regimes meet",
            "Distribution functions of the likelihood ratio at d = 1 and d = 2 for several h, on top of "
            "the limit laws.",
            law_rows,
            laws_figure,
            _law_words,
        ),
    )
}
