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

    def tables(self, evidence: Evidence) -> tuple[pd.DataFrame, ...] | None:
        """What the figure is drawn from; None where one of the tables is empty."""
        tables = self.rows(evidence)
        return None if any(table.empty for table in tables) else tables

    def __call__(self, evidence: Evidence) -> Figure | None:
        """The figure that this evidence gives, if it gives one."""
        tables = self.tables(evidence)
        return None if tables is None else self.draw(*tables)


def tables_of(*names: str) -> Callable[[Evidence], tuple[pd.DataFrame, ...]]:
    """Tables of the probes; an empty one for one that was not made."""
    return lambda evidence: tuple(evidence.tables.get(name, pd.DataFrame()) for name in names)
