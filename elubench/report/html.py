"""What all pages share: templates, tables, embedded figures, and what made the rows.

Whatever comes from data goes through the templates' autoescape. A page is one file and needs no other.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from matplotlib.figure import Figure

from elubench.plot.style import as_pdf, as_svg
from elubench.report.chart import Chart
from elubench.report.typesetting import maths
from elubench.studies.store import write_whole
from elubench.text import duration

REPORT = "report.html"
RESULTS_CSV = "results.csv"
#: Beside a page: every figure as SVG and PDF, and the numbers of those that a script draws.
FIGURES = "figures"

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
    """A figure as a page embeds it; ``chart`` has its numbers where a script can draw them."""

    number: int
    name: str
    title: str
    alt: str
    caption: str
    figure: Figure
    svg: bytes
    chart: Chart | None = None

    @property
    def anchor(self) -> str:
        """What links find it by."""
        return f"fig-{self.name}"

    @property
    def source(self) -> str:
        """The picture inside the page."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode('ascii')}"

    @property
    def files(self) -> list[tuple[str, str]]:
        """Kinds and places of the files beside the page."""
        kinds = ("svg", "pdf", "csv") if self.chart is not None else ("svg", "pdf")
        return [(kind.upper(), f"{FIGURES}/{self.name}.{kind}") for kind in kinds]


def picture(
    figure: Figure,
    number: int,
    key: str,
    title: str,
    alt: str,
    caption: str,
    chart: Chart | None = None,
) -> Picture:
    """The figure with its texts; links and files are named by its key."""
    return Picture(number, slug(key), title, alt, caption, figure, as_svg(figure), chart)


def write_page(
    folder: Path,
    page: str,
    pictures: Iterable[Picture],
    results: pd.DataFrame,
    others: Mapping[str, str],
) -> Path:
    """Write a page with its figures and results beside it, each file whole; return the page's path.

    ``others`` are further texts by the names of their files. The page comes last: its links work.
    """
    made: dict[str, bytes] = {name: text.encode("utf-8") for name, text in others.items()}
    made[RESULTS_CSV] = results.to_csv(index=False, float_format="%.10g").encode("utf-8")
    for one in pictures:
        made[f"{FIGURES}/{one.name}.svg"] = one.svg
        made[f"{FIGURES}/{one.name}.pdf"] = as_pdf(one.figure)
        if one.chart is not None:
            made[f"{FIGURES}/{one.name}.csv"] = one.chart.as_csv().encode("utf-8")
    made[REPORT] = page.encode("utf-8")
    for name, content in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    return folder / REPORT


def slug(text: str) -> str:
    """Text as a part of a link."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


@cache
def environment() -> jinja2.Environment:
    """The templates of this room."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("elubench.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["maths"] = maths
    made.globals["signs"] = SIGNS
    return made


def rendered(template: str, **values: Any) -> str:
    """A page as text."""
    return environment().get_template(template).render(**values)


def made_by(results: pd.DataFrame) -> list[tuple[str, str]]:
    """What made the rows: from the rows themselves, so that a mixed history shows."""
    facts = [("runs", f"{len(results):,}")]
    for column, name in _MADE_BY.items():
        if column in results:
            found = sorted({str(value) for value in results[column].dropna()})
            if found:
                facts.append((name, ", ".join(found)))
    if "seconds" in results:
        spent = float(results["seconds"].sum())
        facts.append(("time in runs", f"{duration(spent)}, all workers together"))
    return facts
