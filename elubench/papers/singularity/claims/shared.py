"""Which rows the claims are measured on."""

from __future__ import annotations

import pandas as pd

from elubench.verification.evidence import Evidence
from elubench.verification.measuring import rows_of

UNEQUAL = (0.6, 0.7, 0.9)
#: The model's name in the rows of studies, by the weight of its second component.
MODELS = {0.5: "known-scale"} | {w: f"known-scale(weight={w})" for w in UNEQUAL}
#: Weights and dimensions of the runs with unequal weights.
CELLS = ((0.6, 1), (0.7, 1), (0.7, 2), (0.9, 1))
#: From here on even |1 - 2 w| = 0.2 is far above n^(-1/4).
LARGE = 10**6


def where(weight: float, d: int) -> str:
    """Tells measurements apart."""
    return f"w = {weight}, d = {d}"


def to_radius(
    evidence: Evidence, weight: float, d: int, algorithm: str = "EM", least: int = 0
) -> pd.DataFrame:
    """Runs to the radius on lattice samples of at least so many rows."""
    asked = {"stop": "radius", "samples": "lattice", "algorithm": algorithm}
    rows = rows_of(evidence, model=MODELS[weight], d=d, **asked)
    return rows[rows["n"] >= least]
