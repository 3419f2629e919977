"""A figure of a report: which rows or tables it is drawn from, how, and what its caption says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from elubench.verification.evidence import Evidence


@dataclass(frozen=True)
class FigureMaker:
    """A figure that is drawn from evidence, unless the evidence lacks what it is drawn from.

    ``rows`` selects one or several tables, ``draw`` draws them, and ``words`` makes a caption from them
    with sizes, replicates, seeds and constants. ``alt`` describes the figure for those who cannot see
    it. ``rivals`` puts it beside the tables that compare the algorithms.
    """

    key: str
    title: str
    alt: str
    rows: Callable[[Evidence], tuple[pd.DataFrame, ...]]
    draw: Callable[..., Figure]
    words: Callable[..., str]
    rivals: bool = False

    def __call__(self, evidence: Evidence) -> Figure | None:
        """The figure, or None where one of its tables is empty."""
        tables = self.rows(evidence)
        return None if any(table.empty for table in tables) else self.draw(*tables)

    def caption(self, evidence: Evidence) -> str:
        """The caption of the figure that this evidence gives; nothing where it gives none."""
        tables = self.rows(evidence)
        return "" if any(table.empty for table in tables) else self.words(*tables)
