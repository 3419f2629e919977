"""The report of a verification: one self-contained HTML file, and the claims as files.

    write_report(paper, findings, evidence, folder)    report.html, claims.json, claims.md

Whatever comes from data goes through the template's autoescape. Each figure is embedded once, with the
first claim that shows it; later claims link to it.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2

from elubench.report import summary
from elubench.report.figures import FigureMaker
from elubench.report.glossary import glossary
from elubench.report.style import as_svg
from elubench.report.typesetting import maths, typeset
from elubench.studies.store import write_whole
from elubench.text import duration
from elubench.verification.deciding import rules_hash
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import said
from elubench.verification.paper import Paper
from elubench.verification.verdicts import VERDICTS, Finding, Measurement

REPORT, CLAIMS_MARKDOWN = "report.html", "claims.md"
#: A table of more rows shows its first ones and all that do not agree; the rest folds.
MOST_ROWS, FIRST_ROWS = 10, 5

#: Shown beside the word, so that a verdict does not rest on colour.
SIGNS = {"supported": "✓", "contradicted": "✗", "inconclusive": "?", "not testable": "∅"}
#: Columns of results that say what made them.
_MADE_BY = {
    "elubench": "elubench",
    "commit": "commit",
    "python": "Python",
    "numpy": "NumPy",
    "numba": "Numba",
    "scipy": "SciPy",
    "cpu": "processor",
    "threads": "threads",
    "engine": "engine",
}


@dataclass(frozen=True)
class PageTable:
    """Rows of text; the first column names the algorithm. ``title`` is short, ``caption`` complete."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A figure as the page embeds it."""

    number: int
    anchor: str
    title: str
    alt: str
    caption: str
    source: str


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
    decisive: Row | None
    pictures: tuple[Picture, ...]
    shown_above: tuple[Picture, ...]


def write_report(
    paper: Paper,
    findings: Sequence[Finding],
    evidence: Evidence,
    folder: str | Path,
    *,
    command: str | None = None,
    seconds: float | None = None,
) -> Path:
    """Write the report and the claims into a folder; return the report's path.

    Parameters
    ----------
    paper : the paper that the claims are from, with its figures and tables.
    findings : what was decided, in the order of the report.
    evidence : what it rests on; figures and tables are made from it.
    folder : created if needed. Files are replaced, each whole or not at all.
    command : how to make this report again; by default that of the command line.
    seconds : wall-clock time of the verification, where it is known.
    """
    for finding in findings:
        for key in finding.figures:
            if key not in paper.figures:
                raise ValueError(
                    f"figure of the claim {finding.claim.key!r} must be one of "
                    f"{', '.join(paper.figures) or 'none'}, got {key!r}"
                )
    page = render(paper, findings, evidence, command=command, seconds=seconds)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    about = (paper.name, evidence.level, evidence.seed, rules_hash(paper))
    for name, content in (
        (summary.CLAIMS_JSON, summary.claims_json(findings, *about)),
        (CLAIMS_MARKDOWN, summary.claims_markdown(findings, *about)),
        (REPORT, page),
    ):
        write_whole(target / name, content.encode("utf-8"))
    return target / REPORT


def render(
    paper: Paper,
    findings: Sequence[Finding],
    evidence: Evidence,
    *,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """The page as text."""
    gallery = _Gallery(evidence, paper.figures)
    anchors = _anchors(finding.claim.key for finding in findings)
    sections = [
        _section(finding, anchor, gallery)
        for finding, anchor in zip(findings, anchors, strict=True)
    ]
    rivals = gallery.place(key for key, maker in paper.figures.items() if maker.rivals)
    others = gallery.place(paper.figures)[0]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["maths"] = maths
    text = resources.files("elubench.report").joinpath("page.html").read_text("utf-8")
    return environment.from_string(text).render(
        paper=paper,
        sections=[one for one in sections if one.finding.verdict != "not testable"],
        undecidable=[one for one in sections if one.finding.verdict == "not testable"],
        summary=sections,
        glossary=glossary(paper.glossary),
        counts=[(verdict, summary.counts(findings)[verdict]) for verdict in VERDICTS],
        counted=summary.counted(findings),
        signs=SIGNS,
        tables=paper.tables(evidence),
        rivals=rivals,
        others=others,
        level=evidence.level,
        seed=evidence.seed,
        rules=rules_hash(paper),
        facts=_facts(evidence, seconds),
        command=command or _command(paper, evidence),
    )


class _Gallery:
    """Figures, each made and placed once."""

    def __init__(self, evidence: Evidence, makers: Mapping[str, FigureMaker]):
        self._evidence, self._makers = evidence, makers
        self._placed: dict[str, Picture | None] = {}

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
        drawn = maker(self._evidence)
        if drawn is None:
            return None
        number = 1 + sum(picture is not None for picture in self._placed.values())
        content = base64.b64encode(as_svg(drawn)).decode("ascii")
        return Picture(
            number,
            f"fig-{_slug(key)}",
            maker.title,
            maker.alt,
            maker.caption(self._evidence),
            f"data:image/svg+xml;base64,{content}",
        )


def _section(finding: Finding, anchor: str, gallery: _Gallery) -> Section:
    shown, folded = _folded(tuple(_row(one) for one in finding.measurements))
    decisive = finding.decisive
    here, before = gallery.place(finding.figures)
    return Section(
        anchor=f"claim-{anchor}",
        row_anchor=f"row-{anchor}",
        finding=finding,
        rows=shown,
        folded=folded,
        decisive=None if decisive is None else _row(decisive),
        pictures=here,
        shown_above=before,
    )


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


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def _anchors(keys: Iterable[str]) -> list[str]:
    """A name for each key that a link can hold, no two the same."""
    made: list[str] = []
    for key in keys:
        slug, count = _slug(key), 1
        while slug in made:
            count += 1
            slug = f"{_slug(key)}-{count}"
        made.append(slug)
    return made


def _command(paper: Paper, evidence: Evidence) -> str:
    words = ["elubench", "verify", str(paper.source or paper.name), "--level", evidence.level]
    if evidence.seed:
        words += ["--seed", str(evidence.seed)]
    return shlex.join([*words, "--out", "verification"])


def _facts(evidence: Evidence, seconds: float | None) -> list[tuple[str, str]]:
    """What made the rows: from the rows themselves, so that a mixed history shows."""
    results = evidence.results
    facts = [
        ("level", f"{evidence.level} (studies: {', '.join(evidence.studies)})"),
        ("seed", str(evidence.seed)),
        ("runs", f"{len(results):,}"),
    ]
    for column, name in _MADE_BY.items():
        if column in results:
            found = sorted({str(value) for value in results[column].dropna()})
            if found:
                facts.append((name, ", ".join(found)))
    if "seconds" in results:
        spent = float(results["seconds"].sum())
        facts.append(("time in runs", f"{duration(spent)}, all workers together"))
    if seconds is not None:
        facts.append(("wall-clock time", duration(seconds)))
    return facts
