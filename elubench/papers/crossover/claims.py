"""What is claimed of two Gaussians at theta* = h n^(-a); the derivations are in :mod:`.theory`."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import chi2, kstest, ncx2

from elubench.checks import Floats
from elubench.fits.detecting import detection_power
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em.separation import contraction, visible_from
from elubench.papers.crossover import theory
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, at_most, near
from elubench.verification.measuring import (
    Measured,
    NoEvidence,
    corrected_of,
    ratio_of_rms,
    rows_of,
    settings_of,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_OURS = "theory.py"
_TOLERANCE = 0.02  # of an exponent; neighbouring a are at least 1/16 apart in it
#: d and a of the studies' blocks "oracle" and "optimum".
GRID = {1: (0.0, 1 / 32, 1 / 16, 3 / 32), 2: (1 / 16, 1 / 8, 3 / 16), 4: (1 / 8, 3 / 16)}


def _where(d: int, a: float) -> str:
    return f"d = {d}, a = {Fraction(a).limit_denominator(64)}"


def _exponents(
    quantity: str, exponent: Callable[[float, int], float]
) -> dict[tuple[int, float], Expectation]:
    """What is expected for each d and a: the exponent, and neither that of a = 0 nor of one Gaussian."""
    found = {}
    for d, a in ((d, a) for d in GRID for a in GRID[d]):
        ends = {"well apart": exponent(0.0, d), "one Gaussian": exponent(1.0, d)}
        stated = exponent(a, d)
        rivals = {name: one for name, one in ends.items() if abs(one - stated) > _TOLERANCE}
        found[d, a] = near(f"exponent of n, {quantity}, {_where(d, a)}", stated, _TOLERANCE, rivals)
    return found


def _measured(
    evidence: Evidence,
    algorithm: str,
    stop: str,
    column: str,
    statistic: str,
    expected: dict[tuple[int, float], Expectation],
    predicted: Callable[[float, float, int, float], float],
) -> Measured:
    """Exponents over n, with what the exact theory at each n differs from its power law taken out."""
    rows = rows_of(evidence, algorithm=algorithm, stop=stop, validation=[math.nan])
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


_LOCATION = _exponents("location error of the optimum", theory.location_exponent)


@chapter.claim(
    "location",
    "The location is known to n^(-1/2 + 3a) at d = 1 and n^(-1/2 + a) at d >= 2",
    _OURS,
    "ours",
    "Where the Gaussians are at theta* = h n^(-a), with a below 1/8 (d = 1) or 1/4 (d >= 2), the error of "
    "maximum likelihood is a multiple of n^(-1/2) theta*^(-3) or n^(-1/2)/theta*.",
    "Exponents of n in the root mean square error of the optimum, over that of the exact information.",
    list(_LOCATION.values()),
)
def _(evidence: Evidence) -> Measured:
    return _measured(
        evidence,
        "NewtonAnderson",
        "end",
        "location_error",
        "rmse",
        _LOCATION,
        lambda theta, n, d, _: theory.location_error(theta, n, d),
    )


_SCALE = _exponents("squared scale error of the optimum", theory.scale_exponent)


@chapter.claim(
    "scale",
    "The squared scale is known to n^(-1/2 + 2a) at d = 1 and n^(-1/2) at d >= 2",
    _OURS,
    "ours",
    "The squared scale follows the location at d = 1, with an error of order n^(-1/2) theta*^(-2); at "
    "d >= 2 it is known to n^(-1/2) at every theta*.",
    "As for the location.",
    list(_SCALE.values()),
)
def _(evidence: Evidence) -> Measured:
    return _measured(
        evidence,
        "NewtonAnderson",
        "end",
        "scale_error",
        "rmse",
        _SCALE,
        lambda theta, n, d, _: theory.scale_error(theta, n, d),
    )


_ITERATIONS = _exponents("EM's iterations over log n", theory.iterations_exponent)


def _iterations(theta: float, n: float, d: int, constant: float) -> float:
    target = location_scale(d).radius_at(n, d, theta, constant)
    return theory.em_iterations(theta, target, d)


@chapter.claim(
    "iterations",
    "EM needs n^(6a) log n iterations at d = 1 and n^(2a) log n at d >= 2",
    _OURS,
    "ours",
    "EM's iterations to the statistical radius are a multiple of theta*^(-6) log n (d = 1) or "
    "theta*^(-2) log n (d >= 2): the crossover from log n to n^(3/4) and n^(1/2).",
    "Exponents of n in the median number of iterations until four times the radius about the truth, "
    "over the count at infinite n, which has the logarithm.",
    list(_ITERATIONS.values()),
)
def _(evidence: Evidence) -> Measured:
    return _measured(
        evidence, "EM", "radius", "iterations_to_radius", "median", _ITERATIONS, _iterations
    )


_SLOWNESS = {
    d: near(f"(1 - rho) over {leading}, smallest theta* at d = {d}", 1.0, 0.05)
    for d, leading in ((1, "(8/3) theta*^6"), (2, "theta*^2"))
}


@chapter.claim(
    "contraction",
    "EM contracts by 1 - (8/3) theta*^6 at d = 1 and 1 - theta*^2 at d >= 2",
    _OURS,
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
        f"isotropic model, {each} lattice samples each, n up to {table['n'].max():.0e}",
        (f"At infinite n and these theta*, without the limit, the ratio is {', '.join(exact)}.",),
    )


_KURTOSIS = at_most("distance of the kurtosis from N(h^4, 6), d = 1", 0.05, 0.0)
_RATIO = {
    d: at_most(f"distance of the likelihood ratio from its law, d = {d}", 0.05, 0.0) for d in (1, 2)
}


def _meeting(evidence: Evidence, d: int) -> pd.DataFrame:
    rows = rows_of(evidence, algorithm="Moments", d=d, true_a=theory.meeting(d), stop="end")
    rows = rows[rows["block"].str.startswith("meeting")].sort_values(["true_h", "n", "replicate"])
    if rows.empty:
        raise NoEvidence(f"There are no runs where the regimes meet at d = {d}.")
    return rows.assign(ratio=np.maximum(-2.0 * rows["n"] * rows["mle_gap"], 0.0))


def ratio_cdf(ratio: Floats, h: Floats, d: int) -> Floats:
    """The limit law of the likelihood ratio at theta* = h n^(-1/8) (d = 1) or h n^(-1/4) (d = 2)."""
    if d == 1:
        return np.asarray(ndtr(np.sqrt(ratio) - h**4 / math.sqrt(6.0)))
    return np.asarray(ncx2.cdf(ratio, 2, h**4 / 4.0))


def _uniform(rows: pd.DataFrame, d: int) -> Floats:
    """The likelihood ratios through their law: uniform if it holds; an atom is spread evenly."""
    ratio, h = rows["ratio"].to_numpy(float), rows["true_h"].to_numpy(float)
    found = ratio_cdf(ratio, h, d)
    for one in np.unique(h):
        atom = np.flatnonzero((ratio == 0.0) & (h == one))
        found[atom] *= (np.arange(len(atom)) + 0.5) / max(1, len(atom))
    return found


def _distance(expected: Expectation, values: Floats) -> Measurement:
    """Kolmogorov and Smirnov's from the uniform law, with Dvoretzky, Kiefer and Wolfowitz's band."""
    found = float(kstest(values, "uniform").statistic)
    width = math.sqrt(math.log(2.0 / (1.0 - LEVEL)) / (2.0 * len(values)))
    note = f"{len(values):,} values, all n and h together"
    return Measurement(expected, found, max(0.0, found - width), found + width, note)


@chapter.claim(
    "laws",
    "Where the regimes meet, kurtosis and likelihood ratio have limit laws",
    _OURS,
    "ours",
    "At theta* = h n^(-1/8) and d = 1, -k sqrt(n)/2, k the excess kurtosis, tends to N(h^4, 6), and the "
    "likelihood ratio of two components against one to the squared positive part of "
    "N(h^4/sqrt(6), 1). At theta* = h n^(-1/4) and d = 2 the ratio tends to a noncentral chi^2 with "
    "two degrees of freedom and noncentrality h^4/4.",
    "The largest distance between the distribution functions, all n and h together, with a band that "
    "holds at every size.",
    [_KURTOSIS, *_RATIO.values()],
)
def _(evidence: Evidence) -> Measured:
    one, two = _meeting(evidence, 1), _meeting(evidence, 2)
    scaled = -0.5 * np.sqrt(one["n"]) * one["sample_kurtosis"]
    normal = np.asarray(ndtr((scaled - one["true_h"] ** 4) / math.sqrt(6.0)), dtype=np.float64)
    return Measured(
        (
            _distance(_KURTOSIS, normal),
            _distance(_RATIO[1], _uniform(one, 1)),
            _distance(_RATIO[2], _uniform(two, 2)),
        ),
        settings_of(one),
        (),
        ("laws",),
    )


_POWER = near("share detected less the power predicted", 0.0, 0.05)
_LEVEL = 0.01


@chapter.claim(
    "power",
    "The power of the test of one against two is predicted",
    _OURS,
    "ours",
    "A likelihood-ratio test at level 1 % detects two Gaussians with the probability that "
    "`elubench.detection_power` says: theta* must be of order n^(-1/8) at d = 1, n^(-1/4) at d >= 2.",
    "The share of samples whose ratio exceeds the 99 % point of its law under one Gaussian.",
    [_POWER],
)
def _(evidence: Evidence) -> Measured:
    measurements = []
    for d in (1, 2):
        rows = _meeting(evidence, d)
        needed = float(chi2.isf(2.0 * _LEVEL, 1) if d == 1 else chi2.isf(_LEVEL, 2))
        for h, part in rows.groupby("true_h"):
            power = np.mean(
                [
                    detection_power(float(n), d, float(t), "isotropic", _LEVEL)
                    for n, t in zip(part["n"], part["half_distance"], strict=True)
                ]
            )
            seen = share_of(_POWER, int((part["ratio"] > needed).sum()), len(part))
            ends = (one - float(power) for one in (seen.value, seen.low, seen.high))
            note, where = f"power {power:.3f}; {seen.note}", f"d = {d}, h = {h:g}"
            measurements.append(Measurement(_POWER, *ends, note, where))
    return Measured(tuple(measurements), settings_of(_meeting(evidence, 1)), (), ("laws",))


_TWICE = at_most("error of ELU's validated iterate over the optimum's", 2.0)
_LARGE = 10**8


@chapter.claim(
    "elu-validated",
    "ELU with validation is within twice the error of the optimum",
    _OURS,
    "ours",
    "From one Gaussian to two well apart, the iterate of ELU that a tenth of the rows selects is at most "
    "twice as far from the truth as the optimum of the other rows.",
    "Root mean squares over samples of n = 10^8 or more, in units of the radius.",
    [_TWICE],
)
def _(evidence: Evidence) -> Measured:
    rows = rows_of(evidence, algorithm="ELU", stop="end", validation=[0.1])
    rows = rows[rows["n"] >= _LARGE]
    measurements = []
    for (d, a), part in rows.groupby(["d", "true_a"]):
        errors = (
            part["location_error"] / part["radius"],
            part["mle_location_error"] / part["radius"],
        )
        measurements.append(
            ratio_of_rms(_TWICE, *errors, where=_where(int(d), float(a)))  # type: ignore[call-overload]
        )
    return Measured(tuple(measurements), settings_of(rows), (), ("map",))


_SAYS_TWO = at_most("share of samples on which EM's speed says two", 0.1)


@chapter.claim(
    "slow-is-no-sign",
    "Slow EM is no sign of one component",
    _OURS,
    "ours",
    "There are distances at which n rows show two Gaussians beyond doubt, and EM is still too slow to be "
    "called geometric: after T iterations these are the theta* below which T (1 - rho) < 5, whatever n "
    "is. 'EM converges slowly, so one Gaussian would do' is wrong there.",
    "Samples of distances that the likelihood-ratio test at level 1 % detects with a power of 99 %, and "
    "at most nine tenths of the distance at which EM's speed shows; d = 1 after 100 and 1,000 "
    "iterations, d = 2 after 100.",
    [_SAYS_TWO],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "signs")
    measurements, said = [], []
    for (d, budget), part in table.groupby(["d", "budget"]):  # type: ignore[misc]
        shown = visible_from(int(budget), int(d))
        power = {
            (n, t): detection_power(float(n), int(d), float(t), "isotropic")
            for n, t in set(zip(part["n"], part["half_distance"], strict=True))
        }
        seen = [power[n, t] >= 0.99 for n, t in zip(part["n"], part["half_distance"], strict=True)]
        cell = part[np.array(seen) & (part["half_distance"] <= 0.9 * shown)]
        if len(cell):
            where = f"d = {d}, {budget:,} iterations"
            measurements.append(share_of(_SAYS_TWO, int(cell["geometric"].sum()), len(cell), where))
            said.append(f"{shown:.2f} ({where})")
    sizes = f"n = {table['n'].min():.0e} to {table['n'].max():.0e}".replace("e+", "e")
    return Measured(
        tuple(measurements),
        f"isotropic model, {sizes}, half distances {table['half_distance'].min():g} to "
        f"{table['half_distance'].max():g}",
        (f"EM's speed shows from half distances of {', '.join(said)} on.",),
    )
