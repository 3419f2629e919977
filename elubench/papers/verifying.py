"""Verification: gather a paper's evidence, decide on every claim, write the report.

verify("beyond-em", "quick", "verification")
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from elubench.studies import Progress
from elubench.studies.store import StoreError
from elubench.verification import paper as papers
from elubench.verification.deciding import decide
from elubench.verification.evidence import Evidence
from elubench.verification.gathering import Say, at_hand, gather, load, recorded
from elubench.verification.paper import Paper
from elubench.verification.verdicts import Finding, as_table

#: The paper that is verified unless another one is named.
DEFAULT = "beyond-em"


@dataclass(frozen=True)
class Verification:
    """What a verification found, and where its report is."""

    paper: Paper
    evidence: Evidence
    findings: tuple[Finding, ...]
    report: Path

    @property
    def table(self) -> pd.DataFrame:
        """One row per claim: its verdict, and the measurement that decides beside what theory states."""
        return as_table(self.findings)

    @property
    def surprises(self) -> dict[str, tuple[str, str]]:
        """Expected and found verdict of every claim where they differ, by the claim's key.

        A paper that expects nothing is never surprised.
        """
        expected = self.paper.expected
        return {
            one.claim.key: (expected.get(one.claim.key, "nothing"), one.verdict)
            for one in self.findings
            if expected and expected.get(one.claim.key) != one.verdict
        }


def shipped() -> dict[str, str]:
    """The folders beside this file that are papers, by the names of the papers."""
    folders = [path.parent.name for path in Path(__file__).parent.glob("[!_]*/__init__.py")]
    return {folder.replace("_", "-"): folder for folder in sorted(folders)}


def place_of(name: str) -> Path:
    """The folder of a paper that ships."""
    return Path(__file__).parent / shipped()[name]


def named(paper: Paper | str | Path) -> Paper:
    """A paper, given itself, the name of one that ships, or the path of a folder or Python file."""
    if isinstance(paper, Paper):
        return paper
    known = shipped()
    if paper in known:
        found: Paper = import_module(f".{known[str(paper)]}", __package__).PAPER
        return found
    if Path(paper).exists():
        return papers.load(Path(paper))
    levels = named(DEFAULT).levels
    hint = f"; for the level use level={paper!r}" if paper in levels else ""
    raise ValueError(
        f"paper must be one of {', '.join(known)}, or the path of a folder or Python file, "
        f"got {str(paper)!r}{hint}"
    )


def verify(
    paper: Paper | str | Path = DEFAULT,
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
    paper : the name of a paper that ships, the path of a folder or Python file with a ``PAPER``, or a
        Paper.
    level : for "beyond-em" "quick" (minutes), "paper" or "asymptotic" (n up to 10^12).
    out : the folder, created if needed. Raise StoreError for one of another paper, level or seed.
    engine : "local" or "dask", with ``workers`` or ``scheduler``, as for studies.
    seed : another seed draws other samples.
    say : called with a line at the beginning of every step.
    progress : called as the studies advance.
    """
    begun = time.perf_counter()
    chosen = named(paper)
    how: dict[str, Any] = {"engine": engine, "workers": workers, "scheduler": scheduler}
    gather(chosen, level, out, seed=seed, say=say, progress=progress, **how)
    if say is not None:
        say("fits, figures and the report")
    return report(out, chosen, seconds=time.perf_counter() - begun)


def report(
    out: str | Path, paper: Paper | str | Path | None = None, *, seconds: float | None = None
) -> Verification:
    """Decide on what is in a verification's folder and write the report; nothing is run.

    ``paper`` is needed only where the one that the folder records is not found. ``seconds`` is the
    time that the last run on the folder took, where it is known.
    """
    from elubench.report.page import write_report

    chosen = named(_recorded(out) if paper is None else paper)
    evidence = load(chosen, out)
    findings = tuple(decide(chosen, evidence))
    path = write_report(chosen, findings, evidence, Path(out), seconds=seconds)
    return Verification(chosen, evidence, findings, path)


def load_verification(
    out: str | Path = "verification",
    paper: Paper | str | Path = DEFAULT,
    *,
    say: Say | None = None,
) -> Verification:
    """Read a verification's folder and decide on every claim; no report is written.

    Parameters
    ----------
    out : a folder that :func:`verify` has made, of any level. If there is none, the evidence of the
        paper's first level is made there, which takes minutes.
    paper : the name of a paper that ships, the path of a folder or Python file, or a Paper.
    say : called with a line at the beginning of every step.

    Returns
    -------
    ``evidence.results`` are all rows of its studies, ``evidence.rows(d=1, ...)`` some of them,
    ``evidence.tables`` what else was measured; ``findings`` and ``table`` have the verdicts.
    """
    chosen = named(paper)
    evidence = at_hand(chosen, out, say)
    return Verification(
        chosen, evidence, tuple(decide(chosen, evidence)), Path(out) / "report.html"
    )


def _recorded(out: str | Path) -> str:
    """The name or path of the paper of a folder."""
    about = recorded(out)
    name = DEFAULT if about is None else about["source"] or about["paper"]
    if name not in shipped() and not Path(name).exists():
        raise StoreError(f"{out} is a verification of {name}, which is not found; give its path")
    return name
