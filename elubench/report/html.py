"""What all pages share: templates, tables, embedded figures, and what made the rows.

Whatever comes from data goes through the templates' autoescape. A page is one file and needs no other.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
import pandas as pd
from matplotlib.figure import Figure

from elubench.report.style import as_svg
from elubench.report.typesetting import maths
from elubench.text import duration

REPORT = "report.html"

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
    """A figure as a page embeds it."""

    number: int
    anchor: str
    title: str
    alt: str
    caption: str
    source: str


def picture(figure: Figure, number: int, key: str, title: str, alt: str, caption: str) -> Picture:
    """The figure with its texts; links find it by its key."""
    content = base64.b64encode(as_svg(figure)).decode("ascii")
    source = f"data:image/svg+xml;base64,{content}"
    return Picture(number, f"fig-{slug(key)}", title, alt, caption, source)


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
