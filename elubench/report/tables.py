"""Tables of the report that are neither findings nor figures."""

from __future__ import annotations

from dataclasses import dataclass

from elubench.evidence import Evidence


@dataclass(frozen=True)
class RivalTable:
    """Rows of text under a caption, with a column of names first."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def rival_tables(evidence: Evidence) -> list[RivalTable]:
    """Passes to the radius by algorithm and n, for each dimension."""
    return []
