"""Equal weights: the optimum is known to order n^(-1/4), and EM crawls."""

from __future__ import annotations

import pandas as pd

from elubench import rates
from elubench.papers.singularity import theory
from elubench.papers.singularity.claims.shared import MODELS, to_radius
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import at_least, at_most, nearer
from elubench.verification.measuring import (
    Measured,
    censored,
    contest,
    corrected_of,
    exactly,
    exponent_of,
    predicts_better,
    rows_of,
    settings_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL

chapter = Chapter()

_SLOW, _SLOW_EM = (
    nearer(
        f"exponent of n in the error of {what}",
        -1 / 4,
        {"n^(-1/8)": -1 / 8, "n^(-1/5)": -1 / 5, "n^(-1/3)": -1 / 3, "n^(-1/2)": -1 / 2},
    )
    for what in ("the sample's optimum", "EM's last iterate")
)


@chapter.claim(
    "equal-radius",
    "With equal weights the error is of order n^(-1/4)",
    "abstract; Section 3, balanced fits",
    "theorem",
    "Two Gaussians of known scale with equal weights are fitted to one. The fixed point of EM is then "
    "at a distance of order (d/n)^(1/4) from the truth.",
    "Exponent of n in root mean square errors: of the sample's optimum at d = 1 and 2, and of EM's last "
    "iterate at d = 1 after at least 10 n^(1/2) iterations.",
    (_SLOW, _SLOW_EM),
)
def _(evidence: Evidence) -> Measured:
    cells = {d: to_radius(evidence, 0.5, d, "Moments") for d in (1, 2)}
    found = [
        exponent_of(_SLOW, rows, "mle_location_error", where=f"d = {d}")
        for d, rows in cells.items()
    ]
    ended = rows_of(evidence, model=MODELS[0.5], algorithm="EM", stop="end")
    found.append(exponent_of(_SLOW_EM, ended, "last_location_error", where="d = 1"))
    settings = f"{settings_of(pd.concat(cells.values()))}. EM to the end: {settings_of(ended)}"
    return Measured(tuple(found), settings, figures=("rates",))


_POWER = nearer(
    "exponent of n in EM's iterations",
    1 / 2,
    {"n^(1/3)": 1 / 3, "n^(2/5)": 2 / 5, "n^(3/5)": 3 / 5, "n^(3/4)": 3 / 4},
)
_NOT_LOG = predicts_better("power")


@chapter.claim(
    "equal-iterations",
    "With equal weights EM needs n^(1/2) iterations",
    "Section 3, balanced fits",
    "theorem",
    "With equal weights EM comes within the radius (d/n)^(1/4) only after a multiple of (n/d)^(1/2) "
    "iterations, up to logarithms: exponentially slower than with unequal ones.",
    "Exponent of n in the median iterations to twice the radius, over what EM needs at infinite n; and "
    "whether a power or a logarithm predicts the two largest n.",
    (_POWER, _NOT_LOG),
)
def _(evidence: Evidence) -> Measured:
    found, cells = [], {d: to_radius(evidence, 0.5, d) for d in (1, 2)}
    for d, rows in cells.items():
        where = f"d = {d}"
        start, constant = (float(rows[name].iloc[0]) for name in ("start_norm", "radius_constant"))
        predicted = theory.em_iterations(d, constant, start)
        found += [
            corrected_of(
                _POWER,
                rows,
                "iterations_to_radius",
                "median",
                where,
                predicted=predicted,
                stated=0.5,
            ),
            contest(_NOT_LOG, rates.growth(rows, level=LEVEL, holdout=2), "power", where),
        ]
    every = pd.concat(cells.values())
    return Measured(tuple(found), settings_of(every), (censored(every),), ("rates", "passes"))


_BELOW = at_most("EM's factor over the upper bound, largest", 1.0)
_ABOVE = at_least("EM's factor over the lower bound, smallest", 1.0)


@chapter.claim(
    "equal-factor",
    "With equal weights EM stops contracting at the truth, at infinite n",
    "Section 3, balanced fits at infinite n",
    "theorem",
    "With equal weights a step of EM at infinite n multiplies theta, of length r, by a factor between "
    "1/(1 + 2 r^2) and 1 - p + p/(1 + r^2/2), p = P(|Z| <= 1) + P(|Z| > 1)/2: below 1, but not by a "
    "constant.",
    "The factor 1 - E tanh(rZ)^2 at lengths r from 0.0001 to 10.",
    (_BELOW, _ABOVE),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "population")
    equal = table[table["weight"] == 0.5]
    return Measured(
        (
            exactly(_BELOW, float((equal["factor"] / equal["high"]).max())),
            exactly(_ABOVE, float((equal["factor"] / equal["low"]).min())),
        ),
        "infinite n, by quadrature",
        figures=("factor",),
    )
