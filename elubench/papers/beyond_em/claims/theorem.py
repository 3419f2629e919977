"""Theorem 1 and what the paper says about EM: radii and iterations, in n and in d."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.papers.beyond_em import theory
from elubench.papers.beyond_em.claims.shared import (
    ISOTROPIC,
    MARGIN_ERRORS,
    MARGIN_ITERATIONS,
    SEVERAL,
    at_smallest_d,
)
from elubench.papers.beyond_em.rows import over_d
from elubench.verification.evidence import Evidence
from elubench.verification.measuring import (
    ERRORS,
    INF,
    ITERATIONS,
    LEVEL,
    Measured,
    NoEvidence,
    around,
    censored,
    contest,
    exponent_of,
    settings_of,
    share_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import Measurement

chapter = Chapter()


def _theorem_radii(evidence: Evidence, d: int | list[int]) -> Measured:
    rows = at_smallest_d(evidence, algorithm="ELU", **ISOTROPIC, d=d, stop="end")
    dimension = int(rows["d"].iloc[0])
    stated = theory.rates("isotropic", dimension, "elu")
    share = rates.mle_at_zero(rows)
    remarks = [
        f"The sample's own optimum is exactly 0 on {share['share'].mean():.0%} of the samples; "
        "these samples are part of every mean."
    ]
    norm = float(rows["start_norm"].iloc[0])
    conditions = theory.step_size_conditions(0.01, 0.8, norm, dimension)
    if not conditions.growth_ok:
        remarks.append(
            "The theorem's first condition on eta and beta requires at least 1. It is "
            f"{conditions.growth:.3f} for the paper's own choice, eta = 0.01 and beta = 0.8, from "
            f"a start at {norm:g}: the rate holds without it."
        )
    return Measured(
        (
            exponent_of(rows, "location_error", stated.location_n),
            exponent_of(rows, "scale_error", stated.scale_n, statistic="mean"),
        ),
        settings_of(rows),
        tuple(remarks),
        ("local-slopes", "figure-1" if dimension == 1 else "figure-2"),
    )


@chapter.claim(
    "theorem-1a-radii",
    "ELU reaches n^(-1/8) and n^(-1/4), d = 1",
    "Theorem 1(a)",
    "theorem",
    "On one Gaussian at d = 1, some ELU iterate is within a multiple of n^(-1/8) of the true "
    "location, up to logarithms, and its squared scale within n^(-1/4).",
    "Exponents of n in the error of the iterate that validation selects: root mean square of the "
    f"location, mean of the squared scale. {MARGIN_ERRORS}",
)
def _(evidence: Evidence) -> Measured:
    return _theorem_radii(evidence, 1)


@chapter.claim(
    "theorem-1a-iterations",
    "ELU needs O(log n) iterations, d = 1",
    "Theorem 1(a)",
    "theorem",
    "At d = 1 ELU is within the radius after a multiple of log n iterations. With the homogeneity "
    "of Lemma 1 the multiple is 0.75/ln(1/beta).",
    f"Iterations until twice the radius n^(-1/8), censored runs included. {MARGIN_ITERATIONS}",
)
def _(evidence: Evidence) -> Measured:
    return logarithmic(evidence, 1)


@chapter.claim(
    "theorem-1b-radii",
    "ELU reaches n^(-1/4) and n^(-1/2), d >= 2",
    "Theorem 1(b)",
    "theorem",
    "At d >= 2 some ELU iterate is within a multiple of (d/n)^(1/4) of the true location, and its "
    "squared scale within (nd)^(-1/2).",
    f"As at d = 1, at the smallest d >= 2 of the study. {MARGIN_ERRORS}",
)
def _(evidence: Evidence) -> Measured:
    return _theorem_radii(evidence, SEVERAL)


@chapter.claim(
    "theorem-1b-iterations",
    "ELU needs O(log(n/d)) iterations, d >= 2",
    "Theorem 1(b)",
    "theorem",
    "At d >= 2 ELU is within the radius after a multiple of log(n/d) iterations. With the "
    "homogeneity of Lemma 1 the multiple is 0.5/ln(1/beta).",
    f"Iterations until twice the radius (d/n)^(1/4), censored runs included. {MARGIN_ITERATIONS}",
)
def _(evidence: Evidence) -> Measured:
    return logarithmic(evidence, SEVERAL)


def logarithmic(evidence: Evidence, d: int | list[int]) -> Measured:
    """ELU's iterations compared with a logarithm, at the smallest of these d that was run."""
    rows = at_smallest_d(evidence, algorithm="ELU", **ISOTROPIC, d=d, stop="radius")
    beta = numbers_in(rows["options"].iloc[0])["beta"]
    slope = theory.rates("isotropic", int(rows["d"].iloc[0]), "elu").slope(beta)
    found = rates.growth(rows, level=LEVEL, holdout=2)
    return _growth(
        rows, found, "iterations per unit of ln n", found.slope_per_log, slope, "logarithm"
    )


def _polynomial(evidence: Evidence, d: int | list[int]) -> Measured:
    rows = at_smallest_d(evidence, algorithm="EM", **ISOTROPIC, d=d, stop="radius")
    stated = theory.rates("isotropic", int(rows["d"].iloc[0]), "em").iterations_n
    found = rates.growth(rows, level=LEVEL, holdout=2)
    got = _growth(rows, found, "exponent of n in the iterations", found.exponent, stated, "power")
    name, reached = "share of samples on which EM reaches the radius", int(rows["reached"].sum())
    share = share_of(name, reached, len(rows), (0.9, 1.0))
    return got._replace(measurements=(*got.measurements, share))


def _growth(
    rows: pd.DataFrame,
    found: rates.Growth,
    quantity: str,
    constant: tuple[float, float, float],
    stated: float,
    law: str,
) -> Measured:
    """The constant of a law compared with the stated one, and the law with its rival."""
    region, note = around(stated, ITERATIONS), "upper half of the sizes"
    return Measured(
        (Measurement(quantity, *constant, stated, region, note), contest(found, law)),
        settings_of(rows),
        (censored(rows),),
        ("passes", "local-slopes"),
    )


@chapter.claim(
    "em-iterations-1",
    "EM needs n^(3/4) iterations, d = 1",
    "Section 2.2, after Theorem 1",
    "remark",
    "At d = 1 EM comes within the same radius as ELU, after O(n^(3/4)) iterations.",
    f"Iterations until twice the radius n^(-1/8), censored runs included. {MARGIN_ITERATIONS} EM "
    "reaches the radius on at least nine samples of ten.",
)
def _(evidence: Evidence) -> Measured:
    return _polynomial(evidence, 1)


@chapter.claim(
    "em-iterations-d",
    "EM needs n^(1/2) iterations, d >= 2",
    "Section 2.2, after Theorem 1",
    "remark",
    "At d >= 2 EM comes within the same radius as ELU, after O((n/d)^(1/2)) iterations.",
    f"Iterations until twice the radius (d/n)^(1/4), censored runs included. {MARGIN_ITERATIONS} "
    "EM reaches the radius on at least nine samples of ten.",
)
def _(evidence: Evidence) -> Measured:
    return _polynomial(evidence, SEVERAL)


@chapter.claim(
    "dimension-radii",
    "Radii grow like d^(1/4) and fall like d^(-1/2)",
    "Theorem 1(b)",
    "theorem",
    "At a fixed n the radius of the location is proportional to d^(1/4) and that of the squared "
    "scale to d^(-1/2), or smaller.",
    "Exponents of d in the error of the iterate that validation selects, at a fixed n. The theorem "
    "is an upper bound. Agrees: the whole interval is at most a fifth above the stated "
    "exponent.",
)
def _(evidence: Evidence) -> Measured:
    rows = _over_d(evidence, "ELU")
    location = exponent_of(rows, "location_error", 0.25, by="d")
    scale = exponent_of(rows, "scale_error", -0.5, by="d", statistic="mean")
    return Measured(
        tuple(replace(one, accepted=(-INF, one.accepted[1])) for one in (location, scale)),
        settings_of(rows),
        (),
        ("dimensions",),
    )


@chapter.claim(
    "dimension-iterations",
    "EM's iterations fall like d^(-1/2) at fixed n",
    "Section 2.2, after Theorem 1",
    "remark",
    "EM needs O((n/d)^(1/2)) iterations to the radius (d/n)^(1/4), hence fewer where d is large.",
    "Exponent of d in EM's iterations until twice the radius, at a fixed n. Agrees: the whole "
    "95 % interval lies within a fifth of the stated one, or below.",
)
def _(evidence: Evidence) -> Measured:
    rows = _over_d(evidence, "EM")
    found, stated = rates.growth(rows, by="d", level=LEVEL), -0.5
    region = (-INF, around(stated, ERRORS)[1])
    return Measured(
        (Measurement("exponent of d in the iterations", *found.exponent, stated, region),),
        settings_of(rows),
        (censored(rows),),
        ("dimensions",),
    )


def _over_d(evidence: Evidence, algorithm: str) -> pd.DataFrame:
    """Rows with three or more d at one n."""
    rows = over_d(evidence)
    rows = rows[rows["algorithm"] == algorithm]
    if rows["d"].nunique() < 3:
        raise NoEvidence(f"No study of the level {evidence.level} has three or more d at one n.")
    return rows
