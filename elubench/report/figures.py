"""Every figure of the report, by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from elubench.evidence import Evidence


@dataclass(frozen=True)
class FigureMaker:
    """A figure that evidence may have the rows for.

    ``draw`` gives None where it has not; ``alt`` says what is drawn for who cannot see it, ``caption``
    on what the figure rests: sizes, replicates, seeds and constants from the rows.
    """

    key: str
    title: str
    alt: str
    draw: Callable[[Evidence], Figure | None]
    caption: Callable[[Evidence], str]

    def __call__(self, evidence: Evidence) -> Figure | None:
        """The figure, or None."""
        return self.draw(evidence)


FIGURES: dict[str, FigureMaker] = {}
