"""From evidence to a finding for every claim of a paper, and the rules in one hash."""

from __future__ import annotations

import hashlib
import json

from elubench.rates import TooLittle
from elubench.verification.evidence import Evidence
from elubench.verification.measuring import Measured, NoEvidence
from elubench.verification.paper import Paper
from elubench.verification.verdicts import LEVEL, Claim, Finding, Verdict, counted, verdict_of


def decide(paper: Paper, evidence: Evidence) -> list[Finding]:
    """A finding for every claim; one for which there are no rows is inconclusive."""
    findings = []
    for claim, measure in paper.entries:
        try:
            got = measure(evidence)
            _check(claim, got)
            verdict: Verdict = verdict_of(got.measurements)
        except (NoEvidence, TooLittle) as missing:
            got, verdict = Measured((), "", (str(missing),)), "inconclusive"
        measurements = counted(got.measurements)
        findings.append(
            Finding(claim, verdict, measurements, got.settings, got.remarks, got.figures)
        )
    return findings


def _check(claim: Claim, got: Measured) -> None:
    """Every expectation is measured, and nothing else is: a rule is not made after the fact."""
    measured = {one.expected for one in got.measurements}
    if strange := measured - set(claim.expects):
        raise ValueError(
            f"the claim {claim.key!r} measures {next(iter(strange)).what!r} but expects "
            "nothing of it"
        )
    if left := set(claim.expects) - measured:
        raise NoEvidence(f"Nothing was measured on: {', '.join(sorted(one.what for one in left))}.")


def rules_hash(paper: Paper) -> str:
    """Twelve digits that change when a claim, what it measures or what agrees with it does."""
    rules = [
        [
            claim.key,
            claim.statement,
            claim.how,
            [
                [one.what, repr(one.least), repr(one.most), repr(one.stated), list(one.rivals)]
                for one in claim.expects
            ],
        ]
        for claim in paper.claims
    ]
    content = json.dumps([LEVEL, rules], ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]
