"""The rivals, in passes; and what no experiment can decide."""

from __future__ import annotations

import numpy as np

from elubench import rates
from elubench.checks import Floats
from elubench.papers.beyond_em.claims.shared import ISOTROPIC
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, at_least, at_most
from elubench.verification.measuring import (
    INF,
    Measured,
    censored,
    exactly,
    rows_of,
    settings_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_LBFGS = at_least("passes of ELU over those of L-BFGS", 2.0)
_NEWTON_ANDERSON = at_least("passes of ELU over those of Newton-Anderson", 4.0)
_MOST_PASSES = at_most("most passes over all samples and n", 25.0)


def _ratio_of_medians(one: Floats, two: Floats) -> Floats:
    return np.asarray(np.median(one, axis=-1) / np.median(two, axis=-1))


def _passes_at_largest(
    evidence: Evidence, expected: Expectation, under: str, d: int, over: str = "ELU"
) -> Measured:
    rows = rows_of(evidence, algorithm=[over, under], **ISOTROPIC, d=d, stop="radius")
    last = rows[rows["n"] == rows["n"].max()]
    wide = last.set_index(["replicate", "algorithm"])["passes_to_radius"].unstack().fillna(INF)
    ratio = rates.bootstrap(_ratio_of_medians, wide[over], wide[under], level=LEVEL)
    middle = last.groupby("algorithm")["passes_to_radius"].median()
    radius, size = float(last["radius"].iloc[0]), f"{last['n'].iloc[0]:.0e}".replace("e+", "e")
    said = "; ".join(f"{name}: {passes:.0f} passes" for name, passes in middle.items())
    where = f"d = {d}, n = {size}"
    return Measured(
        (Measurement(expected, *ratio, "medians over samples", where),),
        settings_of(last),
        (f"Medians at the largest n, to the radius {radius:.3g}: {said}.", censored(last)),
        ("passes", "run-time"),
    )


@chapter.claim(
    "rival-lbfgs",
    "L-BFGS on the same loss needs half of ELU's passes",
    "not in the paper",
    "ours",
    "A quasi-Newton method on the restricted loss, from the same start, needs at most half of "
    "ELU's passes over the data, line search included.",
    "Ratio of the median passes to twice the radius at d = 2 and the largest n: at d = 1 its first "
    "step happens to land close to 0, whatever n is.",
    [_LBFGS],
)
def _(evidence: Evidence) -> Measured:
    return _passes_at_largest(evidence, _LBFGS, "LBFGS", 2)


@chapter.claim(
    "rival-newton-anderson",
    "Newton-Anderson needs a fraction of ELU's passes, whatever n",
    "not in the paper",
    "ours",
    "Newton's method, extrapolated along its last steps, needs less than a quarter of ELU's passes "
    "at d = 1 and never more than 25.",
    "Ratio of the median passes to twice the radius at the largest n, and the largest number over "
    "all samples and n.",
    [_NEWTON_ANDERSON, _MOST_PASSES],
)
def _(evidence: Evidence) -> Measured:
    got = _passes_at_largest(evidence, _NEWTON_ANDERSON, "NewtonAnderson", 1)
    rows = rows_of(evidence, algorithm="NewtonAnderson", **ISOTROPIC, d=1, stop="radius")
    most = float(rows["passes_to_radius"].fillna(rows["passes"]).max())
    largest = exactly(_MOST_PASSES, most, censored(rows))
    return got._replace(measurements=(*got.measurements, largest))


def _untestable(_: Evidence) -> Measured:
    return Measured((), "")


chapter.claim(
    "minimax-radii",
    "The radii are minimax optimal",
    "Section 2.2",
    "remark",
    "No estimator has radii of a smaller order than n^(-1/8) and n^(-1/4), or (d/n)^(1/4) and "
    "(nd)^(-1/2).",
    "A statement about all estimators: no run of one of them can show it.",
)(_untestable)
chapter.claim(
    "optimal-cost",
    "ELU's complexity is optimal",
    "Introduction; Section 2.2",
    "remark",
    "No algorithm reaches these radii at a smaller order of cost than n d log(n/d).",
    "A statement about all algorithms: a lower bound cannot be measured. (The rivals above need "
    "fewer passes than ELU, and reading the data once costs O(nd).)",
)(_untestable)
