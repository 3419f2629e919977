"""The report of a verification: one HTML file that needs nothing else, and the claims as files.

    write_report(findings, evidence, folder)    report.html, claims.json, claims.md

Whatever comes from data goes through the template's autoescape. Each figure is embedded once, with the
first claim that shows it; later claims link there.
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
from markupsafe import Markup, escape

from elubench.papers.beyond_em.figures.makers import FIGURES, FigureMaker
from elubench.papers.beyond_em.rival_tables import RivalTable, rival_tables
from elubench.report import summary
from elubench.report.style import as_svg
from elubench.report.summary import console_table
from elubench.studies.store import write_whole
from elubench.text import duration
from elubench.verification.evidence import LEVELS, Evidence
from elubench.verification.verdicts import VERDICTS, Finding, Measurement

__all__ = ["console_table", "write_report"]

REPORT, CLAIMS_JSON, CLAIMS_MARKDOWN = "report.html", "claims.json", "claims.md"

#: Shown beside the word, so that a verdict does not rest on colour.
SIGNS = {"supported": "✓", "contradicted": "✗", "inconclusive": "?", "not testable": "∅"}
#: Figures of the section on rivals, and columns of results that say what made them.
_RIVAL_FIGURES = ("passes", "run-time")
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
class Picture:
    """A figure as the page embeds it; ``home`` is the section where it stands."""

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
    theory: str
    accepted: str
    outcome: str
    note: str


@dataclass(frozen=True)
class Section:
    """A claim and all that the page says about it.

    ``pictures`` are embedded here, ``shown_above`` where an earlier claim needed them.
    """

    anchor: str
    row_anchor: str
    finding: Finding
    rows: tuple[Row, ...]
    decisive: Row | None
    pictures: tuple[Picture, ...]
    shown_above: tuple[Picture, ...]


def write_report(
    findings: Sequence[Finding],
    evidence: Evidence,
    folder: str | Path,
    *,
    command: str | None = None,
    seconds: float | None = None,
    figures: Mapping[str, FigureMaker] | None = None,
) -> Path:
    """Write the report and the claims into a folder; the report's path.

    Parameters
    ----------
    findings : what was decided, in the order to show.
    evidence : what it rests on; figures and tables are computed from it.
    folder : made if there is none. Files are replaced, each whole or not at all.
    command : how to make this report again; by default that of the command line.
    seconds : wall-clock of the verification, where it is known.
    figures : makers by key, by default all of :mod:`elubench.papers.beyond_em.figures.makers`.
    """
    makers = FIGURES if figures is None else figures
    for finding in findings:
        for key in finding.figures:
            if key not in makers:
                raise ValueError(
                    f"claim {finding.claim.key!r} names the figure {key!r}; "
                    f"there are {', '.join(makers) or 'none'}"
                )
    page = render(findings, evidence, makers, command=command, seconds=seconds)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    about = (evidence.level, evidence.seed)
    for name, content in (
        (CLAIMS_JSON, summary.claims_json(findings, *about)),
        (CLAIMS_MARKDOWN, summary.claims_markdown(findings, *about)),
        (REPORT, page),
    ):
        write_whole(target / name, content.encode("utf-8"))
    return target / REPORT


def render(
    findings: Sequence[Finding],
    evidence: Evidence,
    makers: Mapping[str, FigureMaker],
    *,
    command: str | None = None,
    seconds: float | None = None,
) -> str:
    """The page as text."""
    gallery = _Gallery(evidence, makers)
    anchors = _anchors(finding.claim.key for finding in findings)
    sections = [
        _section(finding, anchor, gallery)
        for finding, anchor in zip(findings, anchors, strict=True)
    ]
    rivals = gallery.place(key for key in _RIVAL_FIGURES if key in makers)
    others = gallery.place(makers)[0]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["maths"] = maths
    text = resources.files("elubench.report").joinpath("page.html").read_text("utf-8")
    tables: list[RivalTable] = rival_tables(evidence)
    return environment.from_string(text).render(
        sections=[one for one in sections if one.finding.verdict != "not testable"],
        undecidable=[one for one in sections if one.finding.verdict == "not testable"],
        summary=sections,
        counts=[(verdict, summary.counts(findings)[verdict]) for verdict in VERDICTS],
        counted=summary.counted(findings),
        signs=SIGNS,
        tables=tables,
        rivals=rivals,
        others=others,
        level=evidence.level,
        seed=evidence.seed,
        facts=_facts(evidence, seconds),
        command=command or _command(evidence),
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
    rows = tuple(_row(one) for one in finding.measurements)
    decisive = finding.decisive
    here, before = gallery.place(finding.figures)
    return Section(
        anchor=f"claim-{anchor}",
        row_anchor=f"row-{anchor}",
        finding=finding,
        rows=rows,
        decisive=None if decisive is None else _row(decisive),
        pictures=here,
        shown_above=before,
    )


def _row(one: Measurement) -> Row:
    value, interval = summary.with_interval(one)
    return Row(
        quantity=one.quantity,
        value=typeset(value),
        interval=typeset(interval),
        theory=typeset(summary.number(one.theory)),
        accepted=typeset(summary.region(one.accepted)),
        outcome=one.outcome,
        note=one.note,
    )


def typeset(text: str) -> str:
    """Numbers with a minus sign in place of the hyphen, and a dash where there is none."""
    if text == "-":
        return "–"  # noqa: RUF001
    return re.sub(r"(?<![\w.])-(?=[\d∞i])", "−", text).replace("inf", "∞")  # noqa: RUF001


_POWER = re.compile(r"\^(?:\(([\w.+/*-]+)\)|(-?(?:\d+(?:\.\d+)?|[a-z]+)))")
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+−-]?)0*(\d+)(?!\w|\.\d)")  # noqa: RUF001


def maths(text: str) -> Markup:
    """Escaped text in which n^(-1/8), theta_1, 2e-10, >= and d = 1 are set as in print."""
    safe = _SCIENTIFIC.sub(_ten, str(escape(text)))
    safe = _POWER.sub(lambda m: _raised(m[1] or m[2]), safe)
    safe = re.sub(r"(?<=[a-z])_(\d)(?!\w)", r"<sub>\1</sub>", safe)
    safe = safe.replace("&gt;=", "≥").replace("&lt;=", "≤")
    safe = re.sub(r"\b([A-Za-z]{1,5}) ([=≥≤]) (?=\S)", "\\1\u00a0\\2\u00a0", safe)
    return Markup(safe)


def _ten(found: re.Match[str]) -> str:
    head, sign, exponent = found.groups()
    factor = "" if head == "1" else f"{head}·"
    return f"{factor}10{_raised(('-' if sign not in ('', '+') else '') + exponent)}"


def _raised(exponent: str) -> str:
    return f"<sup>{exponent.replace('-', '−')}</sup>"  # noqa: RUF001


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


def _command(evidence: Evidence) -> str:
    words = ["elubench", "verify", "--level", evidence.level]
    if evidence.seed:
        words += ["--seed", str(evidence.seed)]
    return shlex.join([*words, "--out", "verification"])


def _facts(evidence: Evidence, seconds: float | None) -> list[tuple[str, str]]:
    """What made the rows: from the rows themselves, so a mixed history shows as such."""
    results = evidence.results
    facts = [
        ("level", f"{evidence.level} (studies: {', '.join(LEVELS.get(evidence.level, ()))})"),
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
        facts.append(("wall-clock", duration(seconds)))
    return facts
