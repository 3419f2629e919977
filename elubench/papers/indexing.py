"""The index: one page that links the pages of several folders, with the verdicts at a glance."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from elubench.papers.verifying import Verification
from elubench.report.html import rendered
from elubench.report.page import ClaimRow, anchors_of, claim_row
from elubench.report.summary import counts
from elubench.studies import Progress
from elubench.studies.store import write_whole
from elubench.verification.verdicts import VERDICTS


def write_index(
    verified: Sequence[Verification], studied: Sequence[tuple[Progress, Path]], out: str | Path
) -> Path:
    """Write the index of verifications and studies, each with the path of its page."""
    path = Path(out)

    def link(page: Path) -> str:
        return quote(Path(os.path.relpath(page, path.parent)).as_posix())

    page = rendered(
        "index.html",
        verified=[
            {
                "link": link(one.report),
                "paper": one.paper,
                "evidence": one.evidence,
                "counts": counts(one.findings),
            }
            for one in verified
        ],
        claims=[row for one in verified for row in claim_rows(one, link(one.report))],
        studied=[(link(page), progress) for progress, page in studied],
        verdicts=VERDICTS,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, page.encode("utf-8"))
    return path


def claim_rows(one: Verification, page: str) -> list[ClaimRow]:
    """The claims of a verification for a table of several papers; they link to its page."""
    name = one.paper.short or one.paper.title
    return [
        claim_row(finding, f"{page}#row-{anchor}", "", name)
        for anchor, finding in zip(anchors_of(one.findings), one.findings, strict=True)
    ]
