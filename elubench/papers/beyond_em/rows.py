"""Which rows of the evidence a figure, a table or a claim is made from: chosen by what was run.

The names of blocks do not matter, so that a study can be rearranged without losing a figure.
"""

from __future__ import annotations

import pandas as pd

from elubench.verification.evidence import Evidence

#: Model and d of the paper's figures, by number.
PANELS = {1: ("isotropic", 1), 2: ("isotropic", 4), 3: ("diagonal", 4), 4: ("general", 4)}

#: The dimensions at which rivals are compared.
DIMENSIONS = (1, 2, 4)

_CELL = ["study", "block", "model", "n", "d"]


def to_radius(evidence: Evidence, d: int) -> pd.DataFrame:
    """Runs to the radius: isotropic model, lattice samples, equal start."""
    return evidence.rows(model="isotropic", d=d, stop="radius", start="equal", samples="lattice")


def validated(evidence: Evidence, d: int) -> pd.DataFrame:
    """Runs to the end with validation: isotropic model, lattice samples, equal start."""
    rows = evidence.rows(model="isotropic", d=d, stop="end", start="equal", samples="lattice")
    return sound(rows[rows["validation"].notna()])


def converged(evidence: Evidence, d: int) -> pd.DataFrame:
    """EM left alone without validation: isotropic model, lattice samples, equal start."""
    asked = {"model": "isotropic", "samples": "lattice", "start": "equal", "stop": "end"}
    rows = evidence.rows(algorithm="EM", d=d, **asked)
    return rows[rows["validation"].isna()]


def sound(rows: pd.DataFrame) -> pd.DataFrame:
    """Without runs that failed: they have no error."""
    return rows[rows["status"] != "failed"]


def left_panel(evidence: Evidence, number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The recorded iterates of the paper's figure of this number, and the rows of the same runs."""
    model, d = PANELS[number]
    return evidence.paths(model=model, d=d), _of_panels(evidence, number, traced=True)


def right_panel(evidence: Evidence, number: int) -> pd.DataFrame:
    """Runs to the end over several n, of which no iterates were recorded."""
    return _of_panels(evidence, number, traced=False)


def _of_panels(evidence: Evidence, number: int, traced: bool) -> pd.DataFrame:
    """As in the paper: direct samples, the radius with the constant 1; the last study has its own n."""
    model, d = PANELS[number]
    rows = evidence.last_rows(model=model, d=d, stop="end", samples="direct", radius_constant=1.0)
    cells = pd.MultiIndex.from_frame(evidence.traces[_CELL])
    return rows[pd.MultiIndex.from_frame(rows[_CELL]).isin(cells) == traced]


def breaks(evidence: Evidence) -> pd.DataFrame:
    """Runs to the end on lattice samples, for the models beyond the isotropic one."""
    return sound(evidence.rows(model=["diagonal", "general"], stop="end", samples="lattice"))


def over_d(evidence: Evidence, stop: str = "end") -> pd.DataFrame:
    """Runs at the n and the radius constant that have most d, from d = 2 on."""
    rows = evidence.rows(model="isotropic", stop=stop, samples="direct")
    rows = rows[rows["d"] >= 2]
    grids = [part for _, part in rows.groupby(["n", "radius_constant"])]
    return max(grids, key=lambda part: part["d"].nunique(), default=rows)
