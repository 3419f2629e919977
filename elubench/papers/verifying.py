"""Verification: gather the evidence, decide on every claim, write the report, compare with expectations.

verify("quick", "verification")
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from elubench.papers.beyond_em.claims import decide
from elubench.report.page import write_report
from elubench.studies import Progress
from elubench.verification.evidence import Evidence, Say, gather, load
from elubench.verification.verdicts import Finding


@dataclass(frozen=True)
class Verification:
    """What a verification found. ``surprises`` are claims whose verdict is not the expected one."""

    evidence: Evidence
    findings: tuple[Finding, ...]
    report: Path

    @property
    def surprises(self) -> dict[str, tuple[str, str]]:
        """Expected and found verdict of every claim where they differ, by the claim's key."""
        expected = expectations()
        return {
            one.claim.key: (expected.get(one.claim.key, "nothing"), one.verdict)
            for one in self.findings
            if expected.get(one.claim.key) != one.verdict
        }


def expectations() -> dict[str, str]:
    """The verdict that each claim is expected to get, by its key."""
    text = (resources.files("elubench.papers.beyond_em") / "expected.toml").read_text("utf-8")
    return {str(key): str(value) for key, value in tomllib.loads(text).items()}


def verify(
    level: str = "quick",
    out: str | Path = "verification",
    engine: str = "local",
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    seed: int = 0,
    say: Say | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Verification:
    """Run what a verification needs, or what is left of it, and write its report.

    Parameters
    ----------
    level : "quick" (minutes), "paper" or "asymptotic" (n up to 10^12).
    out : the verification's folder; made if there is none. One of another level or seed is refused.
    engine : "local" or "dask", with ``workers`` or ``scheduler``, as for studies.
    seed : another seed draws other samples.
    say : called with a line at the beginning of every part.
    progress : called as the studies advance.
    """
    begun = time.perf_counter()
    gather(
        level,
        out,
        engine=engine,
        workers=workers,
        scheduler=scheduler,
        seed=seed,
        say=say,
        progress=progress,
    )
    if say is not None:
        say("fits, figures and the report")
    return report(out, seconds=time.perf_counter() - begun)


def report(out: str | Path, *, seconds: float | None = None) -> Verification:
    """Decide on what is in a verification's folder and write the report; nothing is run.

    ``seconds`` is the time that the last run on the folder took, where it is known.
    """
    evidence = load(out)
    findings = tuple(decide(evidence))
    path = write_report(findings, evidence, Path(out), seconds=seconds)
    return Verification(evidence, findings, path)
