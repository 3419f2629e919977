"""What lies between and beside: d, nearly equal weights, a free scale, rivals, regression."""

from __future__ import annotations

import math

import pandas as pd

from elubench import rates
from elubench.papers.beyond_em import predictions
from elubench.papers.singularity import theory
from elubench.papers.singularity.claims.shared import (
    CELLS,
    LARGE,
    MODELS,
    to_radius,
    where,
)
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, at_least, at_most, near, nearer
from elubench.verification.measuring import (
    Measured,
    NoEvidence,
    censored,
    contest,
    corrected_of,
    exponent_of,
    predicts_better,
    ratio_of_rms,
    rows_of,
    settings_of,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_OF_D = nearer("exponent of d, equal weights", 1 / 4, {"d^(1/8)": 1 / 8, "d^(1/2)": 1 / 2})
_OF_D_UNEQUAL = nearer("exponent of d, w = 0.9", 1 / 2, {"d^(1/4)": 1 / 4, "d": 1.0})


def _largest_eigenvalue(d: float) -> float:
    """n^(1/4) |theta| at the optimum, large d: the root of a Gaussian matrix's largest eigenvalue.

    That is 2 d^(1/2) - 1.2065 d^(-1/6) on average (Tracy and Widom).
    """
    return math.sqrt(2.0 * math.sqrt(d) - 1.2065 * d ** (-1.0 / 6.0))


@chapter.claim(
    "dimension",
    "The error grows like d^(1/4) with equal weights and d^(1/2) with unequal ones",
    "abstract",
    "theorem",
    "At a fixed n the error of EM's fixed point is of order d^(1/4) with equal weights, and d^(1/2) "
    "with unequal ones.",
    "Exponent of d in the root mean square error of the sample's optimum, d from 4 to 64. With equal "
    "weights it is taken over what the largest eigenvalue of a Gaussian matrix predicts at finite d.",
    (_OF_D, _OF_D_UNEQUAL),
)
def _(evidence: Evidence) -> Measured:
    rows = rows_of(evidence, model=[MODELS[0.5], MODELS[0.9]], samples="direct")
    equal, unequal = (rows[rows["model"] == MODELS[weight]] for weight in (0.5, 0.9))
    error = "mle_location_error"
    return Measured(
        (
            corrected_of(_OF_D, equal, error, by="d", predicted=_largest_eigenvalue, stated=0.25),
            exponent_of(_OF_D_UNEQUAL, unequal, error, by="d"),
        ),
        settings_of(rows),
    )


_LAW = at_most("root mean square distance of the optimum from the limit law, over its size", 0.01)
_ENDS = {
    end: at_least(f"the same distance from the law of {end} weights, h = 1", 0.2)
    for end in ("equal", "unequal")
}


@chapter.claim(
    "crossover",
    "Between equal and unequal weights: |1 - 2 w| against n^(-1/4)",
    "not in the paper",
    "ours",
    "Weights are unequal as far as a sample can tell when rho = |1 - 2 w| is above n^(-1/4). With "
    "rho = h n^(-1/4) at d = 1, u = n^(1/4) theta at the optimum minimises "
    "u^4/4 + (h^2 - sqrt(2) Z2) u^2/2 - h Z1 u, where Z1 and Z2 are the standardised first and second "
    "moments of the sample. Its ends are the two regimes of the paper, and neither describes h near 1.",
    "Root mean square of the distance between the optimum and the law, sample by sample, over that of "
    "the optimum: for each n, h from 1/8 to 8, and at h = 1 also for the two ends of the law.",
    (_LAW, *_ENDS.values()),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "crossover")
    found = []
    for n, part in table.groupby("n"):
        found.append(_distance(_LAW, part, "law", f"n = {n:.0e}".replace("e+", "e")))
    for end, expected in _ENDS.items():
        found.append(_distance(expected, table[table["ratio"] == 1.0], end))
    squares = table.assign(square=table["error"] ** 2).groupby("ratio")["square"].mean() ** 0.5
    remark = (
        f"The error is largest not with equal weights but near h = {squares.idxmax():g}: "
        f"{squares.max():.2f} n^(-1/4), and {theory.crossover_rms(0.0):.2f} n^(-1/4) with equal ones."
    )
    sizes = sorted(table["n"].unique())
    settings = f"lattice samples of one Gaussian, d = 1, n from {sizes[0]:.0e} to {sizes[-1]:.0e}"
    return Measured(tuple(found), settings.replace("e+", "e"), (remark,), ("crossover",))


def _distance(expected: Expectation, table: pd.DataFrame, law: str, where: str = "") -> Measurement:
    """From a law's value for each sample, over the sample's own."""
    if table.empty:
        raise NoEvidence("The table 'crossover' lacks samples.")
    away, note = table["error"] - table[law], f"{len(table)} samples"
    return ratio_of_rms(expected, away, table["error"], note, where)


_FREE = nearer(
    "exponent of n in the error of the sample's optimum, free scale",
    -1 / 8,
    {"n^(-1/12)": -1 / 12, "n^(-1/6)": -1 / 6, "n^(-1/4)": -1 / 4},
)
_FREE_ITERATIONS = nearer(
    "exponent of n in EM's iterations, free scale",
    3 / 4,
    {"n^(1/2)": 1 / 2, "n^(2/3)": 2 / 3, "n": 1.0},
)


@chapter.claim(
    "free-scale",
    "A free scale turns n^(-1/4) into n^(-1/8) at d = 1",
    "not in the paper",
    "ours",
    "At d = 1 a scale that has to be estimated as well turns n^(-1/4) into n^(-1/8), and EM's n^(1/2) "
    "iterations into n^(3/4).",
    "The same exponents for the location-scale model with equal weights; that of the iterations over "
    "what EM needs at infinite n.",
    (_FREE, _FREE_ITERATIONS),
)
def _(evidence: Evidence) -> Measured:
    rows = rows_of(evidence, model="isotropic", d=1, algorithm="EM", stop="radius")
    start, constant = (float(rows[name].iloc[0]) for name in ("start_norm", "radius_constant"))
    iterations = corrected_of(
        _FREE_ITERATIONS,
        rows,
        "iterations_to_radius",
        "median",
        predicted=predictions.em_iterations(1, constant, start),
        stated=0.75,
    )
    return Measured(
        (exponent_of(_FREE, rows, "mle_location_error"), iterations),
        settings_of(rows),
        (censored(rows),),
        ("rates",),
    )


_ELU_PER_LOG = nearer(
    "ELU's iterations per unit of ln n",
    0.5 / math.log(1.25),
    {
        "a gradient like r^2": 0.25 / math.log(1.25),
        "a gradient like r^4": 0.75 / math.log(1.25),
    },
)
_LOG = predicts_better("logarithm")
_STALLS = near("ELU's error over its closest approach at infinite n, w = 0.7", 1.0, 0.2)


@chapter.claim(
    "elu",
    "ELU is fast with equal weights and stalls with unequal ones",
    "not in the paper",
    "ours",
    "With equal weights ELU, whose steps grow like beta^(-t), needs 0.5/ln(1/beta) iterations per "
    "unit of ln n. With unequal weights the loss is strongly convex, the growing step blows up, and "
    "the error stops at a distance that does not depend on n.",
    "Iterations to twice the radius with eta 0.5 and beta 0.8; and, at w = 0.7 and n from 10^12, the "
    "error of the iterate that a tenth of the data selects.",
    (_ELU_PER_LOG, _LOG, _STALLS),
)
def _(evidence: Evidence) -> Measured:
    found = []
    for d in (1, 2):
        growth = rates.growth(to_radius(evidence, 0.5, d, "ELU"), level=LEVEL, holdout=2)
        note = "upper half of the sizes"
        found.append(Measurement(_ELU_PER_LOG, *growth.slope_per_log, note, f"d = {d}"))
        found.append(contest(_LOG, growth, "logarithm", f"d = {d}"))
    rows = rows_of(evidence, model=MODELS[0.7], algorithm="ELU", stop="end")
    closest = float(theory.elu_path(float(rows["start_norm"].iloc[0]), 0.7, 0.5, 0.8, 40).min())
    for n, part in rows.groupby("n"):
        error, unit = part["location_error"] / closest, part["location_error"] * 0.0 + 1.0
        where = f"n = {n:.0e}".replace("e+", "e")
        found.append(ratio_of_rms(_STALLS, error, unit, f"{len(part)} samples", where))
    remark = f"The closest that ELU comes to the truth at infinite n is {closest:.3g}."
    return Measured(tuple(found), settings_of(rows), (remark,), ("passes",))


_ONE_READ = near("error of Moments over that of the sample's optimum", 1.0, 0.05)
_PASSES = 12
_FEW = at_least(
    f"share of samples within the radius after {_PASSES} passes of Newton-Anderson", 0.97
)


@chapter.claim(
    "rivals",
    "Second moments or the mean do as well, in one read",
    "not in the paper",
    "ours",
    "With equal weights the leading eigenvector of the second moments, times the root of what its "
    "eigenvalue exceeds the scale by, is as good as the optimum; with unequal weights so is the "
    "mean over 2 w - 1. For the optimum itself, 12 passes of Newton-Anderson suffice whatever n.",
    "Ratio of root mean square errors over the same samples, n from 10^6, and the share of runs of "
    "all n and weights that arrive.",
    (_ONE_READ, _FEW),
)
def _(evidence: Evidence) -> Measured:
    found = []
    for weight, d in ((0.5, 1), (0.5, 2), *CELLS):
        rows = to_radius(evidence, weight, d, "Moments", LARGE)
        unit = rows["radius"]
        found.append(
            ratio_of_rms(
                _ONE_READ,
                rows["location_error"] / unit,
                rows["mle_location_error"] / unit,
                f"{len(rows)} samples",
                where(weight, d),
            )
        )
    runs = rows_of(evidence, model=list(MODELS.values()), algorithm="NewtonAnderson", stop="radius")
    within = int((runs["passes_to_radius"] <= _PASSES).sum())
    found.append(share_of(_FEW, within, len(runs)))
    return Measured(tuple(found), settings_of(runs), (censored(runs),), ("passes",))


_REGRESSION = {
    0.5: nearer("exponent of n, equal weights", -1 / 4, {"n^(-1/8)": -1 / 8, "n^(-3/8)": -3 / 8}),
    0.7: nearer("exponent of n, w = 0.7", -1 / 2, {"n^(-3/8)": -3 / 8, "n^(-5/8)": -5 / 8}),
}


@chapter.claim(
    "regression",
    "Mixed linear regression follows the same two rates",
    "Appendix E of the arXiv version, mixture of regression",
    "remark",
    "Fit two regression lines through 0, with slopes -theta and theta and a known noise, to data "
    "without any slope. The error is of order n^(-1/4) with equal weights and n^(-1/2) with unequal "
    "ones.",
    "Exponent of n in the root mean square error of the sample's optimum at d = 1. With covariates "
    "scaled to a mean square of 1, the likelihood is that of a known scale on the products of response "
    "and covariate.",
    tuple(_REGRESSION.values()),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "regression")
    found = [
        exponent_of(expected, table[table["weight"] == weight], "error")
        for weight, expected in _REGRESSION.items()
    ]
    sizes = sorted(table["n"].unique())
    settings = (
        f"d = 1, n from {sizes[0]:,} to {sizes[-1]:,}, {table['replicate'].nunique()} samples each"
    )
    return Measured(tuple(found), settings)
