"""From measurements to a verdict: one rule for every claim.

A measurement has an interval, and an expectation that was declared with the claim, before anything was
measured. It

    agrees       when its 95 % interval lies inside the region of values that agree, or contains the
                 stated value and excludes the rival theories on both sides of it,
    disagrees    when its interval lies outside the region, at a level corrected for the number of
                 measurements that the claim rests on: one of twenty would disagree by chance,
    is undecided otherwise. An interval without width decides nothing, unless the value is exact.

A claim is contradicted when one of its measurements disagrees, supported when all of them agree, and
inconclusive otherwise. So a verdict needs precision in either direction: few replicates give wide
intervals, and wide intervals give no verdict. What no experiment can decide has no expectation and is
not testable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal

import pandas as pd

from elubench.rates import Interval
from elubench.verification.expectations import Expectation, Rival

Outcome = Literal["agrees", "disagrees", "undecided"]
Verdict = Literal["supported", "contradicted", "inconclusive", "not testable"]
VERDICTS: tuple[Verdict, ...] = ("supported", "contradicted", "inconclusive", "not testable")

#: What a statement rests on in the paper; ``ours`` are statements of this project.
Basis = Literal["theorem", "lemma", "remark", "experiment", "conjecture", "ours"]


#: The level of every interval.
LEVEL = 0.95


@dataclass(frozen=True)
class Measurement:
    """One number that a verdict rests on.

    ``low`` and ``high`` bound the value at 95 %; both equal it where it is ``exact``, a number that no
    other sample would change. ``where`` tells measurements of one expectation apart ("d = 4").
    ``plain`` is the fit without corrections, with its interval, where there is one; ``of`` is the
    number of measurements that are not exact in the claim.
    """

    expected: Expectation
    value: float
    low: float
    high: float
    note: str = ""
    where: str = ""
    exact: bool = False
    plain: Interval | None = None
    of: int = 1

    @property
    def quantity(self) -> str:
        """What was measured, and where."""
        return f"{self.expected.what}, {self.where}" if self.where else self.expected.what

    @property
    def stretched(self) -> tuple[float, float]:
        """The interval at the level that holds for all ``of`` measurements together (Bonferroni).

        It is widened as that of a normal law would be.
        """
        tail = 0.5 * (1.0 - LEVEL)
        normal = NormalDist()
        factor = normal.inv_cdf(tail / self.of) / normal.inv_cdf(tail)
        below, above = factor * (self.value - self.low), factor * (self.high - self.value)
        return (
            self.value - below if math.isfinite(below) else self.low,
            self.value + above if math.isfinite(above) else self.high,
        )

    @property
    def outcome(self) -> Outcome:
        """Whether the measurement agrees with what is expected."""
        if math.isnan(self.low) or math.isnan(self.high):
            return "undecided"
        if self.low == self.high and not self.exact:
            return "undecided"
        if self.expected.agrees(self.low, self.high):
            return "agrees"
        low, high = self.stretched
        if high < self.expected.least or low > self.expected.most:
            return "disagrees"
        return "undecided"

    @property
    def excluded(self) -> Rival | None:
        """The nearest rival theory, if the interval excludes it."""
        rival = self.expected.nearest(self.value)
        return None if rival is None or self.low <= rival.value <= self.high else rival

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: numbers that are not finite become None."""
        excluded = self.excluded
        return {
            "quantity": self.quantity,
            "value": _plain(self.value),
            "low": _plain(self.low),
            "high": _plain(self.high),
            "exact": self.exact,
            "plain": None if self.plain is None else [_plain(one) for one in self.plain],
            "theory": _plain(self.expected.stated),
            "accepted": [_plain(bound) for bound in self.expected.accepted],
            "rivals": {rival.name: rival.value for rival in self.expected.rivals},
            "excluded": None if excluded is None else excluded.name,
            "outcome": self.outcome,
            "note": self.note,
        }


@dataclass(frozen=True)
class Claim:
    """A statement that can be checked against measurements.

    ``key`` names it in files and links; ``statement`` says in our words what is claimed, ``place``
    where; ``how`` what is measured. ``expects`` has what agrees; it is empty for a statement that no
    measurement can decide.
    """

    key: str
    title: str
    statement: str
    place: str
    basis: Basis
    how: str
    expects: tuple[Expectation, ...] = ()

    @property
    def rule(self) -> str:
        """What is measured and which values agree, in words made from the expectations."""
        if not self.expects:
            return self.how
        said = "; ".join(f"{one.what}, {one.rule}" for one in self.expects)
        return f"{self.how} Agrees if the 95 % interval is: {said}."


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
            "measurements": [one.as_dict() for one in self.measurements],
        }


def as_table(findings: Iterable[Finding]) -> pd.DataFrame:
    """One row per claim, with the measurement that decides; NaN where there is none.

    ``theory`` is the value that the claim states, and values from ``least`` to ``most`` agree with it.
    """
    rows = []
    for finding in findings:
        row: dict[str, Any] = {
            "key": finding.claim.key,
            "claim": finding.claim.title,
            "verdict": finding.verdict,
            "quantity": "",
            **dict.fromkeys(("measured", "low", "high", "theory", "least", "most"), math.nan),
            "place": finding.claim.place,
        }
        if (one := finding.decisive) is not None:
            least, most = one.expected.accepted
            row |= {"quantity": one.quantity, "measured": one.value, "low": one.low}
            row |= {"high": one.high, "theory": one.expected.stated, "least": least, "most": most}
        rows.append(row)
    return pd.DataFrame(rows)


def counted(measurements: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """The measurements of one claim, each knowing how many of them there are."""
    given = tuple(measurements)
    random = sum(not one.exact for one in given)
    return tuple(replace(one, of=max(1, random)) for one in given)


def verdict_of(measurements: tuple[Measurement, ...]) -> Verdict:
    """The verdict that follows from the measurements of a claim, by the rule of this module."""
    if not measurements:
        return "not testable"
    outcomes = {one.outcome for one in counted(measurements)}
    if "disagrees" in outcomes:
        return "contradicted"
    return "inconclusive" if "undecided" in outcomes else "supported"


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
