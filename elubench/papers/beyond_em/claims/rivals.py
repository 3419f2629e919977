"""The rivals, in passes over the data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from elubench import rates
from elubench.papers.beyond_em.claims.shared import ISOTROPIC, SEVERAL, by_dimension
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, at_least, at_most, nearer
from elubench.verification.measuring import (
    Measured,
    censored,
    exponent_of,
    rows_of,
    settings_of,
    share_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_LBFGS = at_least("passes of ELU over those of L-BFGS", 2.0)
_NEWTON_ANDERSON = at_least("passes of ELU over those of Newton-Anderson", 4.0)
_MOST_PASSES = 25
_WITHIN = at_least(f"share of samples within the radius after {_MOST_PASSES} passes", 0.97)


def _passes_at_largest(evidence: Evidence, expected: Expectation, under: str, d: int) -> Measured:
    rows = rows_of(evidence, algorithm=["ELU", under], **ISOTROPIC, d=d, stop="radius")
    last = rows[rows["n"] == rows["n"].max()]
    one, two = (rows[rows["algorithm"] == name] for name in ("ELU", under))
    ratio = rates.ratio_of_medians(one, two, level=LEVEL)
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
    "at d = 1, and 25 are enough on nearly all samples, whatever n.",
    "Ratio of the median passes to twice the radius at the largest n, and the share of samples of all n "
    "on which 25 passes suffice.",
    [_NEWTON_ANDERSON, _WITHIN],
)
def _(evidence: Evidence) -> Measured:
    got = _passes_at_largest(evidence, _NEWTON_ANDERSON, "NewtonAnderson", 1)
    rows = rows_of(evidence, algorithm="NewtonAnderson", **ISOTROPIC, d=1, stop="radius")
    within = int((rows["passes_to_radius"] <= _MOST_PASSES).sum())
    share = share_of(_WITHIN, within, len(rows), "all n")
    most = f"The most passes on any sample: {rows['passes_to_radius'].max():.0f}."
    return got._replace(measurements=(*got.measurements, share), remarks=(*got.remarks, most))


_ONE_READ = "share of samples within twice the radius after one read of the data"
_SUFFICES = at_least(_ONE_READ, 0.9)
_NEVER_SUFFICES = at_most(_ONE_READ, 0.1)
_MOMENTS = {
    1: (
        nearer("exponent of n, location error", -1 / 8, {"n^(-1/9)": -1 / 9, "n^(-1/7)": -1 / 7}),
        nearer(
            "exponent of n, squared scale error", -1 / 4, {"n^(-2/9)": -2 / 9, "n^(-2/7)": -2 / 7}
        ),
    ),
    2: (
        nearer(
            "exponent of n, location error, d >= 2",
            -1 / 4,
            {"n^(-2/9)": -2 / 9, "n^(-2/7)": -2 / 7},
        ),
        nearer(
            "exponent of n, squared scale error, d >= 2",
            -1 / 2,
            {"n^(-4/9)": -4 / 9, "n^(-4/7)": -4 / 7},
        ),
    ),
}


def _one_read(
    evidence: Evidence, expected: Expectation, parts: int = 1
) -> tuple[list[Measurement], pd.DataFrame]:
    """How often Moments is within the radius after its one read, with the sizes in parts."""
    rows = rows_of(evidence, algorithm="Moments", **ISOTROPIC, d=[1, *SEVERAL], stop="radius")
    measurements = []
    for d, part in by_dimension(rows):
        sizes = sorted(part["n"].unique())
        for some in np.array_split(sizes, parts):
            here = part[part["n"].isin(some)]
            arrived = int((here["passes_to_radius"] <= 1.0).sum())
            where = f"d = {d}, n = {some[0]:.0e} to {some[-1]:.0e}".replace("e+", "e")
            measurements.append(share_of(expected, arrived, len(here), where))
    return measurements, rows


@chapter.claim(
    "rival-moments",
    "One read of the data and a formula reach the radii",
    "not in the paper",
    "ours",
    "The estimate from moments (the fourth cumulant at d = 1, the largest eigenvalue of the second "
    "moments at d >= 2) has errors of the same order as the radii, and needs one read of the data and "
    "no iteration.",
    "The share of samples on which it is within twice the radius, nine of ten, and exponents of n in "
    "its errors, without corrections.",
    [_SUFFICES, *_MOMENTS[1], *_MOMENTS[2]],
)
def _(evidence: Evidence) -> Measured:
    measurements, reached = _one_read(evidence, _SUFFICES)
    rows = rows_of(evidence, algorithm="Moments", **ISOTROPIC, d=[1, *SEVERAL], stop="end")
    for d, part in by_dimension(rows):
        location, scale = _MOMENTS[min(d, 2)]
        where = f"d = {d}"
        if part["n"].nunique() > 3:  # plain fits: controls are the moments that it is made of
            measurements += [
                exponent_of(location, part, "location_error", where=where),
                exponent_of(scale, part, "scale_error", statistic="mean", where=where),
            ]
    return Measured(
        tuple(measurements),
        settings_of(reached),
        ("It holds for fixed d: where d grows with n, the second moments cost d reads.",),
        ("passes",),
    )


@chapter.claim(
    "optimal-cost",
    "ELU's complexity is optimal",
    "Introduction; Section 2.2",
    "remark",
    "At fixed d no algorithm reaches these radii at a smaller order of cost than n d log(n/d), that is, "
    "with a number of reads of the data that does not grow with n.",
    "One faster algorithm is a counterexample. The share of samples on which the estimate from moments "
    "is within twice the radius after one read, at the smaller and at the larger n.",
    [_NEVER_SUFFICES],
)
def _(evidence: Evidence) -> Measured:
    measurements, rows = _one_read(evidence, _NEVER_SUFFICES, 2)
    return Measured(
        tuple(measurements),
        settings_of(rows),
        (
            "Its errors have the exponents of the radii (see rival-moments), so it does not depend on "
            "the constant 2. Reading the data once, O(nd), is the lower bound.",
        ),
        ("passes",),
    )
