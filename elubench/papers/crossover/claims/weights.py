"""Weights that are not equal."""

from __future__ import annotations

from elubench import rates
from elubench.papers.crossover import theory
from elubench.papers.crossover.claims.shared import PLACE, sizes_of
from elubench.papers.crossover.weights import EQUAL, KNOWN
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import near
from elubench.verification.measuring import Measured, corrected_of, table_of
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_FOURTH = {
    delta: near(
        f"(theta/theta*)^4, weights 1/2 +- {delta:g}", 1.0 - 16.0 * delta**2 + 48.0 * delta**4, 0.02
    )
    for delta in EQUAL[2]
}


@chapter.claim(
    "equal-weights",
    "Unequal weights bring components of equal weights together",
    PLACE,
    "ours",
    "Fitted to weights 1/2 +- delta, a model of equal weights with a free centre finds theta^4 = "
    "theta*^4 (1 - 16 delta^2 + 48 delta^4). That matters once delta is above "
    "(6^(1/4)/4) n^(-1/4)/theta*^2.",
    "The mean over samples of the optimum's (theta/theta*)^4.",
    list(_FOURTH.values()),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "equal_weights")
    measurements = []
    for delta, expected in _FOURTH.items():
        values = table.loc[table["delta"] == delta, "value"].to_numpy(float)
        found = rates.bootstrap(lambda each: each.mean(axis=-1), values, level=LEVEL)
        measurements.append(Measurement(expected, *found))
    n, half, _ = EQUAL
    settings = f"general model, d = 1, theta* = {half:g}, n = {n:.0e}, lattice samples"
    return Measured(tuple(measurements), settings.replace("e+", "e"))


_KNOWN = {
    case: near(f"exponent of n, location error, delta {what}", stated, 0.015, {rival: value})
    for case, what, stated, rival, value in (
        ("fixed", "= 1/4", -1 / 6, "n^(-1/8)", -1 / 8),
        ("shrinking", "= n^(-1/8)", -1 / 8, "n^(-1/6)", -1 / 6),
    )
}


@chapter.claim(
    "known-weights",
    "Known unequal weights give n^(-1/6) on one Gaussian, from delta = n^(-1/8) on",
    PLACE,
    "ours",
    "A model with known weights 1/2 +- delta, fitted to one Gaussian at d = 1, has a location error of "
    "order n^(-1/6) at a fixed delta, by the skewness, and n^(-1/8) at delta = n^(-1/8) and below.",
    "Exponents of n in the root mean square of theta at the samples' own optima, divided by what the "
    "noise of skewness and kurtosis gives at each n.",
    list(_KNOWN.values()),
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "known_weights")
    measurements = tuple(
        corrected_of(
            expected,
            table[table["case"] == case],
            "value",
            predicted=lambda n, case=case: theory.known_weights_error(KNOWN[case](n), n),
            stated=expected.stated,
        )
        for case, expected in _KNOWN.items()
    )
    each = int(table.groupby(["case", "n"]).size().min())
    return Measured(measurements, f"d = 1, {sizes_of(table)}, {each} lattice samples each")
