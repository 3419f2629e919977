"""Every claim of the paper that can be held against measurements, and a few of ours.

A claim is a function of the evidence that returns its measurements; the verdict follows by the one rule
of :mod:`elubench.verification.verdicts`.

    findings = decide(evidence)
"""

from __future__ import annotations

from elubench.papers.beyond_em.claims import landscape as lemmas
from elubench.papers.beyond_em.claims import other_models as beyond
from elubench.papers.beyond_em.claims import practice, rivals, theorem
from elubench.rates import TooLittle
from elubench.verification.evidence import Evidence
from elubench.verification.measuring import REGISTER, Measured, Missing
from elubench.verification.verdicts import Claim, Finding, Verdict, verdict_of

__all__ = ["claims", "decide"]

# The order of the report.
_CHAPTERS = (theorem, practice, lemmas, beyond, rivals)


def claims() -> list[Claim]:
    """Every claim, in the order of the report."""
    place = {chapter.__name__: number for number, chapter in enumerate(_CHAPTERS)}
    entries = sorted(REGISTER.values(), key=lambda entry: place[entry[1].__module__])
    return [one for one, _ in entries]


def decide(evidence: Evidence) -> list[Finding]:
    """A finding for every claim. Where the evidence has no rows for one, it is inconclusive."""
    findings = []
    for one in claims():
        measure = REGISTER[one.key][1]
        try:
            got = measure(evidence)
            verdict: Verdict = verdict_of(got.measurements)
        except (Missing, TooLittle) as missing:
            got, verdict = Measured((), "", (str(missing),)), "inconclusive"
        findings.append(
            Finding(one, verdict, got.measurements, got.settings, got.remarks, got.figures)
        )
    return findings
