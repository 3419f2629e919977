"""Below the meeting of the regimes: errors of the optimum, EM's iterations and its contraction."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from elubench.models.flatness import location_scale
from elubench.papers.beyond_em.separation import contraction
from elubench.papers.crossover import theory
from elubench.papers.crossover.claims.shared import PLACE, sizes_of, where_of
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import near
from elubench.verification.measuring import Measured, corrected_of, rows_of, settings_of, table_of
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import Measurement

chapter = Chapter()

_TOLERANCE, _NEXT = 0.02, 1 / 16  # of an exponent, and how far away its nearest rivals are
#: d and a of the studies' blocks "oracle" and "optimum".
GRID = {1: (0.0, 1 / 32, 1 / 16, 3 / 32), 2: (1 / 16, 1 / 8, 3 / 16), 4: (1 / 8, 3 / 16)}


def _claim(
    key: str,
    title: str,
    statement: str,
    how: str,
    quantity: tuple[str, str, str],
    exponent: Callable[[float, int], float],
    predicted: Callable[[float, float, int, float], float],
    **runs: Any,
) -> None:
    """A claim on the exponents of n in a quantity: its name, column and statistic over replicates.

    Each is expected near theory's, and away from that of a = 0, that of one Gaussian and values next
    to it. What the exact theory at each theta*, n, d and radius constant, ``predicted``, differs from
    its power law is taken out.
    """
    name, column, statistic = quantity
    expected = {}
    for d, a in [(d, a) for d, several in GRID.items() for a in several]:
        stated = exponent(a, d)
        rivals = {"well apart": exponent(0.0, d), "one Gaussian": exponent(1.0, d)}
        rivals |= {f"n^({Fraction(at)})": at for at in (stated - _NEXT, stated + _NEXT)}
        rivals = {rival: at for rival, at in rivals.items() if abs(at - stated) > _TOLERANCE}
        what = f"exponent of n, {name}, {where_of(d, a)}"
        expected[d, a] = near(what, stated, _TOLERANCE, rivals)

    @chapter.claim(key, title, PLACE, "ours", statement, how, list(expected.values()))
    def _(evidence: Evidence) -> Measured:
        rows = rows_of(evidence, validation=[math.nan], **runs)
        rows = rows[~rows["block"].str.startswith(("map", "meeting"))]
        measurements = []
        for (d, a), one in expected.items():
            part = rows[(rows["d"] == d) & (rows["true_a"] == a)]
            if part.empty:
                continue
            h, unit = float(part["true_h"].iloc[0]), float(part["radius_constant"].iloc[0])
            measurements.append(
                corrected_of(
                    one,
                    part,
                    column,
                    statistic,
                    predicted=lambda n, h=h, a=a, d=d, unit=unit: predicted(h * n**-a, n, d, unit),
                    stated=one.stated,
                )
            )
        return Measured(tuple(measurements), settings_of(rows), (), ("map",))


_claim(
    "location",
    "The location is known to n^(-1/2 + 3a) at d = 1 and n^(-1/2 + a) at d >= 2",
    "Where the Gaussians are at theta* = h n^(-a), with a below 1/8 (d = 1) or 1/4 (d >= 2), the error "
    "of maximum likelihood is a multiple of n^(-1/2) theta*^(-3) or n^(-1/2)/theta*.",
    "Exponents of n in the root mean square error of the optimum, divided by that of the exact "
    "information.",
    ("location error of the optimum", "location_error", "rmse"),
    theory.location_exponent,
    lambda theta, n, d, _: theory.location_error(theta, n, d),
    algorithm="NewtonAnderson",
    stop="end",
)
_claim(
    "scale",
    "The squared scale is known to n^(-1/2 + 2a) at d = 1 and n^(-1/2) at d >= 2",
    "The squared scale follows the location at d = 1, with an error of order n^(-1/2) theta*^(-2); at "
    "d >= 2 it is known to n^(-1/2) at every theta*.",
    "As for the location.",
    ("squared scale error of the optimum", "scale_error", "rmse"),
    theory.scale_exponent,
    lambda theta, n, d, _: theory.scale_error(theta, n, d),
    algorithm="NewtonAnderson",
    stop="end",
)
_claim(
    "iterations",
    "EM needs n^(6a) log n iterations at d = 1 and n^(2a) log n at d >= 2",
    "EM's iterations to the statistical radius are a multiple of theta*^(-6) log n (d = 1) or "
    "theta*^(-2) log n (d >= 2): the crossover from log n to n^(3/4) and n^(1/2).",
    "Exponents of n in the median number of iterations until four times the radius about the truth, "
    "divided by the median that EM's step at infinite n and the optimum's noise give, which includes "
    "the logarithm.",
    ("EM's iterations over log n", "iterations_to_radius", "median"),
    theory.iterations_exponent,
    lambda theta, n, d, constant: theory.em_iterations(
        theta, location_scale(d).radius_at(n, d, theta, constant), d, n=n
    ),
    algorithm="EM",
    stop="radius",
)


_SLOWNESS = {
    d: near(f"(1 - rho) over {leading}, smallest theta* at d = {d}", 1.0, 0.05)
    for d, leading in ((1, "(8/3) theta*^6"), (2, "theta*^2"))
}


@chapter.claim(
    "contraction",
    "EM contracts by 1 - (8/3) theta*^6 at d = 1 and 1 - theta*^2 at d >= 2",
    PLACE,
    "ours",
    "At the optimum of data from two Gaussians at +-theta*, 1 - rho of EM is (8/3) theta*^6 (d = 1) or "
    "theta*^2 (d >= 2), to leading order.",
    "1 - rho at the samples' own optima, mean over replicates, at the smallest theta* measured.",
    list(_SLOWNESS.values()),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "contractions")
    measurements, exact = [], []
    for d, expected in _SLOWNESS.items():
        part = table[table["d"] == d]
        part = part[part["half_distance"] == part["half_distance"].min()]
        theta = float(part["half_distance"].iloc[0])
        leading = 8.0 / 3.0 * theta**6 if d == 1 else theta**2
        ratio = part["slowness"].to_numpy(float) / leading
        mean, half = float(ratio.mean()), 1.96 * float(ratio.std(ddof=1)) / math.sqrt(len(ratio))
        measurements.append(
            Measurement(expected, mean, mean - half, mean + half, f"theta* = {theta:.3g}")
        )
        exact.append(f"{(1.0 - contraction(theta, d)) / leading:.3f} at d = {d}")
    each = int(table.groupby(["d", "a", "n"]).size().min())
    return Measured(
        tuple(measurements),
        f"isotropic model, {each} lattice samples each, {sizes_of(table)}",
        (f"At infinite n and these theta*, without the limit, the ratio is {', '.join(exact)}.",),
    )
