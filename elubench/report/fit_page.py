"""The page of a fit: what was fitted, the test, the figure and advice, in one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elubench import __version__, plot
from elubench.fits import Fit
from elubench.fits.intervals import Interval
from elubench.plot.style import styled
from elubench.report.html import picture, rendered


def fit_page(
    fit: Fit,
    data: Any,
    title: str,
    names: Sequence[str],
    command: str,
    interval: Interval | None = None,
) -> str:
    """A self-contained page of a fit to ``data``, the columns of which have these names.

    The evidence is what ``fit.summary(interval)`` says, line by line.
    """
    drawn = (
        "Left: histogram of the data with two fitted components, their sum and one Gaussian. "
        "Right: quantiles of the data against those of the fit; a good fit follows the line."
    )
    figure = picture(styled(plot.fit)(fit, data, names[0]), 1, "fit", title, drawn, drawn)
    deviations = np.sqrt(np.broadcast_to(fit.scale, fit.d))
    return rendered(
        "fit.html",
        fit=fit,
        title=title,
        version=__version__,
        command=command,
        figure=figure,
        columns=[
            (name, *(f"{value:.6g}" for value in numbers))
            for name, *numbers in zip(names, *fit.locations, deviations, strict=True)
        ],
        weights=[f"{weight:.4g}" for weight in fit.weights],
        facts=_facts(fit, interval),
    )


def _facts(fit: Fit, interval: Interval | None) -> list[tuple[str, str]]:
    """The lines of the summary; those of the table and of the advice are elsewhere on the page."""
    found: list[tuple[str, str]] = []
    for name, text in fit.facts(interval):
        if not name.startswith(("location", "weights", "advice", "note")):
            found.append((name.strip() or found[-1][0], text))
    return found
