"""A figure of a report: what it is drawn from, and what its caption says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from elubench.verification.evidence import Evidence


@dataclass(frozen=True)
class FigureMaker:
    """A figure that is drawn from evidence, where the evidence has the rows or the table for it.

    ``draw`` returns None where it has not. ``alt`` describes the figure for those who cannot see it;
    ``caption`` names sizes, replicates, seeds and constants, from the rows. ``rivals`` puts it beside
    the tables that compare the algorithms.
    """

    key: str
    title: str
    alt: str
    draw: Callable[[Evidence], Figure | None]
    caption: Callable[[Evidence], str]
    rivals: bool = False

    def __call__(self, evidence: Evidence) -> Figure | None:
        """The figure, or None."""
        return self.draw(evidence)
