"""Two Gaussians: EM's rate, and the practical procedure from one Gaussian to two far apart."""

from __future__ import annotations

import math

import pandas as pd

from elubench import rates
from elubench.papers.beyond_em.claims.shared import by_dimension
from elubench.papers.beyond_em.separation import contraction, verdicts
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import at_least, at_most, nearer
from elubench.verification.measuring import (
    LOG_POWER,
    Measured,
    NoEvidence,
    contest,
    exponent_of,
    log_power,
    predicts_better,
    ratio_of_rms,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_LOGARITHMIC = predicts_better("logarithm")
_PER_LOG = nearer(
    "iterations per unit of ln n over 1/(2 ln(1/rho))",
    1.0,
    {"a radius n^(-1/4)": 1 / 2, "a radius 1/n": 2.0},
)
_RIVALS = {"n^(-1/4)": -1 / 4, "n^(-3/7)": -3 / 7, "n^(-4/7)": -4 / 7}
_LOCATION = nearer("exponent of n, location error", -1 / 2, _RIVALS)
_SCALE = nearer("exponent of n, squared scale error", -1 / 2, _RIVALS)


@chapter.claim(
    "em-separated",
    "EM needs O(log n) iterations where the Gaussians are apart",
    "Introduction",
    "remark",
    "Where the truth is two Gaussians well apart, EM comes within O((d/n)^(1/2)) of it after "
    "O(log(n/d)) iterations.",
    "Two Gaussians two standard deviations apart. Exponents of n in the errors at EM's end; "
    "iterations until three times (d/n)^(1/2), over the rate that EM's contraction rho at infinite n "
    "gives.",
    [_LOCATION, _SCALE, _PER_LOG, _LOGARITHMIC, LOG_POWER],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "separated")
    half = float(table["half_distance"].iloc[0])
    measurements = []
    for d, part in by_dimension(table):
        where, rho = f"d = {d}", contraction(half, d)
        runs = part.assign(
            iterations_to_radius=part["iterations"],
            reached=part["iterations"].notna(),
            iterations=part["iterations"].fillna(part["iterations"].max()),
        )
        found = rates.growth(runs, level=LEVEL, holdout=2)
        unit = 1.0 / (2.0 * math.log(1.0 / rho))
        slope, low, high = (one / unit for one in found.slope_per_log)
        measurements += [
            exponent_of(_LOCATION, part, "location_error", where=where),
            exponent_of(_SCALE, part, "scale_error", statistic="mean", where=where),
            Measurement(_PER_LOG, slope, low, high, f"rho = {rho:.3f}", where),
            contest(_LOGARITHMIC, found, "logarithm", where),
            log_power(found, where),
        ]
    sizes = f"n = {table['n'].min():.0e} to {table['n'].max():.0e}".replace("e+", "e")
    each = int(table.groupby(["d", "n"]).size().min())
    lost = int(table["iterations"].isna().sum())
    return Measured(
        tuple(measurements),
        f"isotropic model, half distance {half:g}, {sizes}, {each} lattice samples each",
        (f"{lost:,} of the {len(table):,} samples have their optimum outside this radius.",),
    )


_RIGHT = at_least("share of samples on which EM's speed tells one Gaussian from two", 0.9)
_GAINS = at_most("one Gaussian: error over EM's after as many iterations", 1.0)
_LOSES_NOTHING = at_most("two well apart: error over that of the sample's optimum", 1.1)
_APART = 1.0  # half the distance from which on two Gaussians are called well apart
_LEAST_ROWS = 10**4
_BUDGET = 100


@chapter.claim(
    "practical-procedure",
    "Running EM and ELU together tells the regimes apart",
    "Section 2.2, practical implications",
    "remark",
    "Where the location is not known, run both: if EM converges geometrically, the model is exactly "
    "specified; if it converges slowly, it is over-specified, and ELU is the one to use.",
    "The share of samples on which EM's speed gives the right answer, over half distances from 0 to 4 "
    "and n = 10^3 to 10^8: for one Gaussian, for two closer than two standard deviations, and for two "
    "farther apart. The user looks after 100 or 1,000 iterations; the paper does not say after how "
    "many. To tell apart is a choice: nine samples of ten.",
    [_RIGHT],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "crossover")
    distance = table["half_distance"]
    ranges = {
        "one Gaussian": distance == 0.0,
        "two, close": (distance > 0.0) & (distance < _APART),
        "two, well apart": distance >= _APART,
    }
    measurements = []
    for (d, budget), part in table.groupby(["d", "budget"]):
        for name, chosen in ranges.items():
            cell = part[chosen[part.index]]
            if len(cell):
                right = int((cell["geometric"] == (cell["half_distance"] > 0.0)).sum())
                where = f"{name}, d = {d}, {budget:,} iterations"
                measurements.append(share_of(_RIGHT, right, len(cell), where))
    return Measured(tuple(measurements), _settings(table), (_cost(table),), ("crossover",))


def _cost(table: pd.DataFrame) -> str:
    """Where what the procedure returns is worst, compared with the sample's optimum."""
    close = table[table["half_distance"].between(0.0, _APART, inclusive="neither")]
    found = verdicts(close)
    worst = found.sort_values("location_ratio").iloc[-1]
    size = f"{worst['n']:.0e}".replace("e+", "e")
    return (
        "EM is geometric at every distance, but visibly so only after many iterations where it is "
        "small; more iterations make EM look geometric on one Gaussian, too, since every sample has "
        "its own "
        f"optimum. The worst error is {worst['location_ratio']:.1f} times that of the sample's optimum "
        f"(half distance {worst['half_distance']:g}, n = {size}, d = {worst['d']:g}, "
        f"{worst['budget']:,.0f} iterations)."
    )


@chapter.claim(
    "practical-extremes",
    "The practical procedure works on one Gaussian and on two well apart",
    "Section 2.2, practical implications",
    "remark",
    "If the truth is one Gaussian, or two at a distance of at least a constant, and nothing in between, "
    "EM's speed tells which, and the procedure's choice is the better one.",
    "Half distance 0, or at least 1; n at least 10^4; EM is looked at after 100 iterations. Errors at "
    "the largest n: on one Gaussian over that of EM after as many iterations, on two over that of the "
    "sample's optimum, of which a tenth may be lost.",
    [_RIGHT, _GAINS, _LOSES_NOTHING],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "crossover")
    table = table[(table["budget"] == _BUDGET) & (table["n"] >= _LEAST_ROWS)]
    if table.empty:
        raise NoEvidence("The table 'crossover' has no sample of this kind.")
    measurements = []
    for d, part in by_dimension(table):
        one, apart = part[part["half_distance"] == 0.0], part[part["half_distance"] >= _APART]
        lasts = [cell[cell["n"] == cell["n"].max()] for cell in (one, apart)]
        where = f"d = {d}"
        measurements += [
            share_of(_RIGHT, int((~one["geometric"]).sum()), len(one), f"one Gaussian, {where}"),
            share_of(_RIGHT, int(apart["geometric"].sum()), len(apart), f"two, {where}"),
            ratio_of_rms(_GAINS, lasts[0]["location_error"], lasts[0]["em_error"], where=where),
            ratio_of_rms(
                _LOSES_NOTHING, lasts[1]["location_error"], lasts[1]["mle_error"], where=where
            ),
        ]
    return Measured(tuple(measurements), _settings(table), (), ("crossover",))


def _settings(table: pd.DataFrame) -> str:
    n, half = table["n"], table["half_distance"]
    each = int(table.groupby(["d", "budget", "half_distance", "n"]).size().min())
    sizes = f"n = {n.min():.0e} to {n.max():.0e}".replace("e+", "e")
    return (
        f"isotropic model, half distances {half.min():g} to {half.max():g}, {sizes}, {each} lattice "
        f"samples each, a tenth held out for ELU, seed {table['seed'].iloc[0]}"
    )
