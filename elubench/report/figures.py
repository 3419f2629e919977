"""A figure of a report: which rows or tables it is drawn from, how, and what its caption says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from elubench.report.chart import Chart
from elubench.verification.evidence import Evidence


@dataclass(frozen=True)
class FigureMaker:
    """A figure that is drawn from evidence, unless the evidence lacks what it is drawn from.

    ``rows`` selects one or several tables, ``draw`` draws them, and ``words`` makes a caption from them
    with sizes, replicates, seeds and constants. ``alt`` describes the figure for those who cannot see
    it. ``rivals`` puts it beside the tables that compare the algorithms. ``numbers`` makes a chart of
    the same tables for the reader to explore; the first figure of a paper that has one heads the report.
    """

    key: str
    title: str
    alt: str
    rows: Callable[[Evidence], tuple[pd.DataFrame, ...]]
    draw: Callable[..., Figure]
    words: Callable[..., str]
    rivals: bool = False
    numbers: Callable[..., Chart] | None = None

    def __call__(self, evidence: Evidence) -> Figure | None:
        """The figure, or None where one of its tables is empty."""
        tables = self.rows(evidence)
        return None if any(table.empty for table in tables) else self.draw(*tables)

    def caption(self, evidence: Evidence) -> str:
        """The caption of the figure that this evidence gives; nothing where it gives none."""
        tables = self.rows(evidence)
        return "" if any(table.empty for table in tables) else self.words(*tables)

    def chart(self, evidence: Evidence) -> Chart | None:
        """The numbers of the figure that this evidence gives, where they can be explored."""
        tables = self.rows(evidence)
        if self.numbers is None or any(table.empty for table in tables):
            return None
        return self.numbers(*tables)
