"""From evidence to a finding for every claim of a paper."""

from __future__ import annotations

from elubench.rates import TooLittle
from elubench.verification.evidence import Evidence
from elubench.verification.measuring import Measured, NoEvidence
from elubench.verification.paper import Paper
from elubench.verification.verdicts import Finding, Verdict, verdict_of


def decide(paper: Paper, evidence: Evidence) -> list[Finding]:
    """A finding for every claim; one for which there are no rows is inconclusive."""
    findings = []
    for claim, measure in paper.entries:
        try:
            got = measure(evidence)
            verdict: Verdict = verdict_of(got.measurements)
        except (NoEvidence, TooLittle) as missing:
            got, verdict = Measured((), "", (str(missing),)), "inconclusive"
        findings.append(
            Finding(claim, verdict, got.measurements, got.settings, got.remarks, got.figures)
        )
    return findings
