"""The page of a fit: what was fitted, the test, the figure and advice, in one HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2
import numpy as np

from elubench import __version__
from elubench.fits import Fit
from elubench.report.fit_figure import fit_figure
from elubench.report.style import as_svg


def fit_page(fit: Fit, data: Any, title: str, names: Sequence[str], command: str) -> str:
    """A self-contained page of a fit to ``data``, the columns of which have these names.

    The evidence is what ``fit.summary()`` says, line by line.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = resources.files("elubench.report").joinpath("fit.html").read_text(encoding="utf-8")
    picture = base64.b64encode(as_svg(fit_figure(fit, data, names[0]))).decode("ascii")
    deviations = np.sqrt(np.broadcast_to(fit.scale, fit.d))
    return environment.from_string(template).render(
        fit=fit,
        title=title,
        version=__version__,
        command=command,
        figures=[
            {
                "source": f"data:image/svg+xml;base64,{picture}",
                "alt": "Histogram of the data with two fitted components, their sum and one Gaussian.",
            }
        ],
        columns=[
            (name, *(f"{value:.6g}" for value in numbers))
            for name, *numbers in zip(names, *fit.locations, deviations, strict=True)
        ],
        weights=[f"{weight:.4g}" for weight in fit.weights],
        facts=_facts(fit),
    )


def _facts(fit: Fit) -> list[tuple[str, str]]:
    """The lines of the summary; those of the table and of the advice are elsewhere on the page."""
    found: list[tuple[str, str]] = []
    for name, text in fit.facts():
        if not name.startswith(("location", "weights", "advice", "note")):
            found.append((name.strip(), text))
    return found
