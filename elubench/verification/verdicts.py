"""From measurements to a verdict: one rule for every claim.

A measurement has an interval and a region of values that agree with the claim, fixed with the claim,
before anything is measured. It

    agrees       when its interval lies inside the region,
    disagrees    when its interval lies outside the region,
    is undecided when the interval crosses the region's border.

A claim is contradicted when one of its measurements disagrees, supported when all of them agree, and
inconclusive otherwise. So a verdict needs precision in either direction: few replicates give wide
intervals, and wide intervals give no verdict. What no experiment can decide has no measurement and is
not testable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["agrees", "disagrees", "undecided"]
Verdict = Literal["supported", "contradicted", "inconclusive", "not testable"]
VERDICTS: tuple[Verdict, ...] = ("supported", "contradicted", "inconclusive", "not testable")

#: What a statement rests on in the paper; ``ours`` are statements of this project.
Basis = Literal["theorem", "lemma", "remark", "experiment", "conjecture", "ours"]


@dataclass(frozen=True)
class Measurement:
    """One number that a verdict rests on.

    ``accepted`` is the region that agrees with the claim, borders included; ``low`` and ``high`` bound
    the value at the stated level (both equal it where the value is exact); ``theory`` is NaN where the
    claim gives no number.
    """

    quantity: str
    value: float
    low: float
    high: float
    theory: float
    accepted: tuple[float, float]
    note: str = ""

    @property
    def outcome(self) -> Outcome:
        """Whether the interval lies inside the accepted region, outside, or across its border."""
        least, most = self.accepted
        if math.isnan(self.low) or math.isnan(self.high):
            return "undecided"
        if least <= self.low and self.high <= most:
            return "agrees"
        if self.high < least or self.low > most:
            return "disagrees"
        return "undecided"


@dataclass(frozen=True)
class Claim:
    """A statement that can be checked against measurements.

    ``key`` names it in files and links; ``statement`` says in our words what is claimed, ``place``
    where; ``rule`` what is measured and which values agree.
    """

    key: str
    title: str
    statement: str
    place: str
    basis: Basis
    rule: str


@dataclass(frozen=True)
class Finding:
    """A claim and what was found, computed from measurements and never written down beforehand.

    ``settings`` says on which runs it rests, ``remarks`` what else a reader should know;
    ``figures`` names the figures that show it.
    """

    claim: Claim
    verdict: Verdict
    measurements: tuple[Measurement, ...]
    settings: str
    remarks: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def decisive(self) -> Measurement | None:
        """The measurement to show in one line: the first that disagrees, or is undecided, or any."""
        for outcome in ("disagrees", "undecided", "agrees"):
            for one in self.measurements:
                if one.outcome == outcome:
                    return one
        return None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: numbers that are not finite become None."""
        claim = self.claim
        return {
            "key": claim.key,
            "title": claim.title,
            "statement": claim.statement,
            "place": claim.place,
            "basis": claim.basis,
            "rule": claim.rule,
            "verdict": self.verdict,
            "settings": self.settings,
            "remarks": list(self.remarks),
            "measurements": [
                {
                    "quantity": one.quantity,
                    "value": _plain(one.value),
                    "low": _plain(one.low),
                    "high": _plain(one.high),
                    "theory": _plain(one.theory),
                    "accepted": [_plain(bound) for bound in one.accepted],
                    "outcome": one.outcome,
                    "note": one.note,
                }
                for one in self.measurements
            ],
        }


def verdict_of(measurements: tuple[Measurement, ...]) -> Verdict:
    """The verdict that follows from the measurements, by the rule of this module."""
    if not measurements:
        return "not testable"
    outcomes = {one.outcome for one in measurements}
    if "disagrees" in outcomes:
        return "contradicted"
    return "inconclusive" if "undecided" in outcomes else "supported"


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
