"""Where the regimes meet: laws of kurtosis and likelihood ratio, and the power of the test."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import chi2, kstest, ncx2

from elubench.checks import Floats
from elubench.fits.detecting import detection_power
from elubench.papers.crossover import theory
from elubench.papers.crossover.claims.shared import PLACE
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, at_most, near
from elubench.verification.measuring import Measured, NoEvidence, rows_of, settings_of, share_of
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_KURTOSIS = at_most("distance of the kurtosis from N(h^4, 6), d = 1", 0.05, 0.0)
_RATIO = {
    d: at_most(f"distance of the likelihood ratio from its law, d = {d}", 0.05, 0.0) for d in (1, 2)
}


_ROUNDING = 1e-6  # samples of positive kurtosis have ratios up to 1e-9; the law has 4e-4 below


def _meeting(evidence: Evidence, d: int) -> pd.DataFrame:
    rows = rows_of(evidence, algorithm="Moments", d=d, true_a=theory.meeting(d), stop="end")
    rows = rows[rows["block"].str.startswith("meeting")].sort_values(["true_h", "n", "replicate"])
    if rows.empty:
        raise NoEvidence(f"There are no runs where the regimes meet at d = {d}.")
    return rows.assign(ratio=ratio_of(rows))


def ratio_of(rows: pd.DataFrame) -> pd.Series[float]:
    """The likelihood ratio of the optimum; 0 where only rounding tells it from one Gaussian's."""
    ratio = -2.0 * rows["n"] * rows["mle_gap"]
    return ratio.where(ratio > _ROUNDING, 0.0)


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
    PLACE,
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
    PLACE,
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
        for h in sorted(rows["true_h"].unique()):
            part = rows[rows["true_h"] == h]
            power = np.mean(
                [
                    detection_power(float(n), d, float(t), "isotropic", _LEVEL)
                    for n, t in zip(part["n"], part["half_distance"], strict=True)
                ]
            )
            seen = share_of(_POWER, int((part["ratio"] > needed).sum()), len(part))
            value, low, high = (one - float(power) for one in (seen.value, seen.low, seen.high))
            note, where = f"power {power:.3f}; {seen.note}", f"d = {d}, h = {h:g}"
            measurements.append(Measurement(_POWER, value, low, high, note, where))
    return Measured(tuple(measurements), settings_of(_meeting(evidence, 1)), (), ("laws",))
