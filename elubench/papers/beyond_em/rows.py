"""Which rows of the evidence a figure or a table is made from."""

from __future__ import annotations

import pandas as pd

from elubench.verification.evidence import Evidence


def to_radius(evidence: Evidence, d: int) -> pd.DataFrame:
    """Runs to the radius: isotropic model, lattice samples, equal start."""
    return evidence.rows(model="isotropic", d=d, stop="radius", start="equal", samples="lattice")


def validated(evidence: Evidence, d: int) -> pd.DataFrame:
    """Runs to the end with validation: isotropic model, lattice samples, equal start."""
    return sound(
        evidence.rows(model="isotropic", d=d, stop="end", start="equal", samples="lattice")
    )


def sound(rows: pd.DataFrame) -> pd.DataFrame:
    """Without runs that failed: they have no error."""
    return rows[rows["status"] != "failed"]
