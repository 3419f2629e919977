"""Unequal weights: the optimum is known to order n^(-1/2), and EM is geometric."""

from __future__ import annotations

import math

import pandas as pd

from elubench import rates
from elubench.papers.singularity import theory
from elubench.papers.singularity.claims.shared import (
    CELLS,
    LARGE,
    UNEQUAL,
    to_radius,
    where,
)
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import at_most, near, nearer
from elubench.verification.measuring import (
    Measured,
    censored,
    contest,
    exactly,
    exponent_of,
    predicts_better,
    ratio_of_rms,
    settings_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_FAST = nearer(
    "exponent of n in the error of the sample's optimum, unequal weights",
    -1 / 2,
    {"n^(-1/4)": -1 / 4, "n^(-2/5)": -2 / 5, "n^(-3/5)": -3 / 5},
)
_STANDARD = {
    weight: nearer(
        f"root mean square error in units of (d/n)^(1/2) / |1 - 2 w|, w = {weight}",
        1.0,
        {
            "(d/n)^(1/2) itself": abs(1.0 - 2.0 * weight),
            "(d/n)^(1/2) / (1 - 2 w)^2": 1.0 / abs(1.0 - 2.0 * weight),
        },
    )
    for weight in UNEQUAL
}


@chapter.claim(
    "unequal-radius",
    "With unequal weights the error is of order n^(-1/2)",
    "abstract; Section 3, unbalanced fits",
    "theorem",
    "With fixed unequal weights 1 - w and w, the fixed point of EM is at a distance of order "
    "(d/n)^(1/2) from the truth.",
    "Exponent of n in the root mean square error of the sample's optimum, n from 10^6: with w = 0.6 the "
    "smaller samples are still between the two regimes.",
    (_FAST,),
)
def _(evidence: Evidence) -> Measured:
    cells = {cell: to_radius(evidence, *cell, least=LARGE) for cell in CELLS}
    found = [
        exponent_of(_FAST, rows, "mle_location_error", where=where(*cell))
        for cell, rows in cells.items()
    ]
    return Measured(tuple(found), settings_of(pd.concat(cells.values())), figures=("rates",))


@chapter.claim(
    "unequal-constant",
    "The constant of the n^(-1/2) is 1/|1 - 2 w|",
    "not in the paper",
    "ours",
    "The mean of the fitted mixture is (2 w - 1) theta, so that the root mean square error is "
    "(d/n)^(1/2) / |1 - 2 w| as n grows.",
    "Root mean square of the optimum's error in these units, over all n from 10^6.",
    tuple(_STANDARD.values()),
)
def _(evidence: Evidence) -> Measured:
    cells = {cell: to_radius(evidence, *cell, least=LARGE) for cell in CELLS}
    found = []
    for (weight, d), rows in cells.items():
        unit = (d / rows["n"]) ** 0.5 / abs(1.0 - 2.0 * weight)
        error, one = rows["mle_location_error"] / unit, unit / unit
        note = f"{len(rows)} samples"
        found.append(ratio_of_rms(_STANDARD[weight], error, one, note, f"d = {d}"))
    return Measured(tuple(found), settings_of(pd.concat(cells.values())))


_BOUND = at_most("EM's factor over 1 - (1 - 2 w)^2 / 2, largest", 1.0)
_LOCAL = {
    weight: near(f"EM's factor at the truth, w = {weight}", theory.contraction(weight), 1e-6)
    for weight in UNEQUAL
}


@chapter.claim(
    "unequal-factor",
    "With unequal weights EM contracts everywhere, at infinite n",
    "Section 3, unbalanced fits at infinite n",
    "theorem",
    "With unequal weights a step of EM at infinite n multiplies theta by at most 1 - (1 - 2 w)^2 / "
    "2, wherever theta is. At the truth the factor is 4 w (1 - w), which is 1 - (1 - 2 w)^2 (derived "
    "here).",
    "The factor 1 - E tanh(rZ + b)^2 at lengths r from 0.0001 to 10, for w from 0.51 to 0.99.",
    (_BOUND, *_LOCAL.values()),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "population")
    unequal = table[table["weight"] != 0.5]
    found = [exactly(_BOUND, float((unequal["factor"] / unequal["high"]).max()))]
    for weight, expected in _LOCAL.items():
        part = unequal[unequal["weight"] == weight]
        found.append(exactly(expected, float(part.sort_values("r")["factor"].iloc[0])))
    most = unequal.loc[unequal.groupby("weight")["factor"].idxmax()]
    away = most[most["r"] > most["r"].min() * 1.5]
    said = ", ".join(
        f"w = {w:g}: {f:.2f} at {r:.2g}" for w, r, f in away[["weight", "r", "factor"]].to_numpy()
    )
    remark = f"Very unequal weights make EM slowest not at the truth but away from it: {said}."
    return Measured(tuple(found), "infinite n, by quadrature", (remark,), ("factor",))


_PER_LOG = {
    weight: nearer(
        f"EM's iterations per unit of ln n, w = {weight}",
        theory.per_log(weight),
        {
            "with the bound as the factor": 0.5
            / math.log(1.0 / (1.0 - 0.5 * (1.0 - 2.0 * weight) ** 2)),
            "twice as fast": 0.5 * theory.per_log(weight),
        },
    )
    for weight in UNEQUAL
}
_LOG = predicts_better("logarithm")


@chapter.claim(
    "unequal-iterations",
    "With unequal weights EM needs O(log n) iterations",
    "Section 3, unbalanced fits",
    "theorem",
    "With unequal weights EM converges geometrically, and a multiple of log(n/d) iterations brings "
    "it to the radius (d/n)^(1/2). With the factor 4 w (1 - w) at the truth the multiple is 0.5 / "
    "ln(1/(4 w (1 - w))).",
    "Iterations to three standard errors, 3 (d/n)^(1/2) / |1 - 2 w|: per unit of ln n; and, where "
    "there are enough of them to tell (not at w = 0.9), whether a logarithm or a power predicts the two "
    "largest n.",
    (*_PER_LOG.values(), _LOG),
)
def _(evidence: Evidence) -> Measured:
    cells = {cell: to_radius(evidence, *cell) for cell in CELLS}
    found = []
    for (weight, d), rows in cells.items():
        growth = rates.growth(rows, level=LEVEL, holdout=2)
        note = "upper half of the sizes"
        found.append(Measurement(_PER_LOG[weight], *growth.slope_per_log, note, f"d = {d}"))
        if weight != 0.9:
            found.append(contest(_LOG, growth, "logarithm", where(weight, d)))
    every = pd.concat(cells.values())
    return Measured(tuple(found), settings_of(every), (censored(every),), ("rates",))
