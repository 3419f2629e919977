"""The report of a verification: one self-contained HTML file, and the claims as files.

    write_report(paper, findings, evidence, folder)    report.html, claims.*, results.csv, figures/

The page needs none of the other files. Each figure is embedded once, with the first claim that shows
it; later claims link to it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elubench.report import summary
from elubench.report.figures import FigureMaker
from elubench.report.glossary import glossary
from elubench.report.html import REPORT as REPORT
from elubench.report.html import Picture, made_by, picture, rendered, slug, write_page
from elubench.report.typesetting import typeset
from elubench.text import duration
from elubench.verification.deciding import rules_hash
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import said
from elubench.verification.paper import Paper
from elubench.verification.verdicts import VERDICTS, Finding, Measurement

CLAIMS_MARKDOWN = "claims.md"
#: A table of more rows shows its first ones and all that do not agree; the rest folds.
MOST_ROWS, FIRST_ROWS = 10, 5


@dataclass(frozen=True)
class Row:
    """A measurement as text."""

    quantity: str
    value: str
    interval: str
    plain: str
    theory: str
    accepted: str
    excluded: str
    outcome: str
    note: str


@dataclass(frozen=True)
class ClaimRow:
    """A claim in the table of claims: where its evidence is, and the measurement that decides.

    ``anchor`` is what links find the row by; ``paper`` is named where there are several.
    """

    finding: Finding
    link: str
    anchor: str
    decisive: Row | None
    paper: str = ""


@dataclass(frozen=True)
class Section:
    """A claim and all that the page says about it.

    Of many measurements ``rows`` are shown at once and ``folded``, which all agree, on demand.
    ``pictures`` are embedded here, ``shown_above`` where an earlier claim needed them.
    """

    anchor: str
    row_anchor: str
    finding: Finding
    rows: tuple[Row, ...]
    folded: tuple[Row, ...]
    pictures: tuple[Picture, ...]
    shown_above: tuple[Picture, ...]


def write_report(
    paper: Paper,
    findings: Sequence[Finding],
    evidence: Evidence,
    folder: str | Path,
    *,
    seconds: float | None = None,
) -> Path:
    """Write the report and the claims into a folder; return the report's path.

    Parameters
    ----------
    paper : the paper that the claims are from, with its figures and tables.
    findings : what was decided, in the order of the report.
    evidence : what it rests on; figures and tables are made from it.
    folder : created if needed. Files are replaced, each whole or not at all.
    seconds : wall-clock time of the verification, where it is known.
    """
    for finding in findings:
        for key in finding.figures:
            if key not in paper.figures:
                raise ValueError(
                    f"figure of the claim {finding.claim.key!r} must be one of "
                    f"{', '.join(paper.figures) or 'none'}, got {key!r}"
                )
    gallery = Gallery(evidence, paper.figures)
    page = render(paper, findings, evidence, gallery, seconds)
    about = (paper.name, evidence.level, evidence.seed, rules_hash(paper))
    files = {
        summary.CLAIMS_JSON: summary.claims_json(findings, *about),
        summary.CLAIMS_CSV: summary.claims_csv(findings),
        CLAIMS_MARKDOWN: summary.claims_markdown(findings, *about),
    }
    return write_page(Path(folder), page, gallery.pictures, evidence.results, files)


def render(
    paper: Paper,
    findings: Sequence[Finding],
    evidence: Evidence,
    gallery: Gallery,
    seconds: float | None = None,
) -> str:
    """The page as text; its figures go into the gallery."""
    headline = gallery.place(gallery.headline)[0]
    sections = [
        _section(finding, anchor, gallery)
        for finding, anchor in zip(findings, anchors_of(findings), strict=True)
    ]
    rivals = gallery.place(key for key, maker in paper.figures.items() if maker.rivals)
    others = gallery.place(paper.figures)[0]
    return rendered(
        "page.html",
        paper=paper,
        sections=[one for one in sections if one.finding.verdict != "not testable"],
        undecidable=[one for one in sections if one.finding.verdict == "not testable"],
        headline=headline,
        summary=[claim_row(one.finding, f"#{one.anchor}", one.row_anchor) for one in sections],
        glossary=glossary(paper.glossary),
        counts=[(verdict, summary.counts(findings)[verdict]) for verdict in VERDICTS],
        counted=summary.counted(findings),
        tables=paper.tables(evidence),
        rivals=rivals,
        others=others,
        level=evidence.level,
        seed=evidence.seed,
        rules=rules_hash(paper),
        facts=_facts(evidence, seconds),
        command=_command(paper, evidence),
    )


class Gallery:
    """Figures, each made and placed once."""

    def __init__(self, evidence: Evidence, makers: Mapping[str, FigureMaker]):
        self._evidence, self._makers = evidence, makers
        self._placed: dict[str, Picture | None] = {}

    @property
    def pictures(self) -> list[Picture]:
        """All that were placed."""
        return [one for one in self._placed.values() if one is not None]

    @property
    def headline(self) -> list[str]:
        """The key of the first figure that can be explored, if there is one."""
        return [key for key, maker in self._makers.items() if maker.numbers is not None][:1]

    def place(self, keys: Iterable[str]) -> tuple[tuple[Picture, ...], tuple[Picture, ...]]:
        """The pictures that stand here, and those that stand in an earlier place."""
        here, before = [], []
        for key in keys:
            if key in self._placed:
                picture = self._placed[key]
                if picture is not None and picture not in here and picture not in before:
                    before.append(picture)
                continue
            self._placed[key] = picture = self._make(key)
            if picture is not None:
                here.append(picture)
        return tuple(here), tuple(before)

    def _make(self, key: str) -> Picture | None:
        maker = self._makers[key]
        tables = maker.tables(self._evidence)
        if tables is None:
            return None
        words = (maker.title, maker.alt, maker.words(*tables))
        chart = None if maker.numbers is None else maker.numbers(*tables)
        return picture(maker.draw(*tables), 1 + len(self.pictures), key, *words, chart)


def _section(finding: Finding, anchor: str, gallery: Gallery) -> Section:
    shown, folded = _folded(tuple(_row(one) for one in finding.measurements))
    here, before = gallery.place(finding.figures)
    return Section(
        anchor=f"claim-{anchor}",
        row_anchor=f"row-{anchor}",
        finding=finding,
        rows=shown,
        folded=folded,
        pictures=here,
        shown_above=before,
    )


def claim_row(finding: Finding, link: str, anchor: str, paper: str = "") -> ClaimRow:
    """A claim as a row of a table of claims."""
    decisive = finding.decisive
    return ClaimRow(finding, link, anchor, None if decisive is None else _row(decisive), paper)


def _folded(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """What a long table shows, its first rows and all that do not agree, and the rest."""
    if len(rows) <= MOST_ROWS:
        return rows, ()
    first = [place < FIRST_ROWS or row.outcome != "agrees" for place, row in enumerate(rows)]
    shown = tuple(row for row, here in zip(rows, first, strict=True) if here)
    return shown, tuple(row for row, here in zip(rows, first, strict=True) if not here)


def _row(one: Measurement) -> Row:
    value, interval = summary.with_interval(one.value, one.low, one.high)
    plain = "" if one.plain is None else " ".join(summary.with_interval(*one.plain)).strip()
    excluded = one.excluded
    return Row(
        quantity=one.quantity,
        value=typeset(value),
        interval=typeset(interval),
        plain=typeset(plain),
        theory=typeset(said(one.expected.stated)),
        accepted=typeset(one.expected.region),
        excluded="" if excluded is None else excluded.named,
        outcome=one.outcome,
        note=one.note,
    )


def anchors_of(findings: Sequence[Finding]) -> list[str]:
    """A name for each claim that a link can hold, no two the same."""
    made: list[str] = []
    for finding in findings:
        name, count = slug(finding.claim.key), 1
        while name in made:
            count += 1
            name = f"{slug(finding.claim.key)}-{count}"
        made.append(name)
    return made


def _command(paper: Paper, evidence: Evidence) -> str:
    words = ["elubench", "verify", str(paper.source or paper.name), "--level", evidence.level]
    if evidence.seed:
        words += ["--seed", str(evidence.seed)]
    return shlex.join(words)


def _facts(evidence: Evidence, seconds: float | None) -> list[tuple[str, str]]:
    """What was run, and what made the rows."""
    facts = [
        ("level", f"{evidence.level} (studies: {', '.join(evidence.studies)})"),
        ("seed", str(evidence.seed)),
        *made_by(evidence.results),
    ]
    if seconds is not None:
        facts.append(("wall-clock time", duration(seconds)))
    return facts
