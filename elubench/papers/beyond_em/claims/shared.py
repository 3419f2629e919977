"""What several chapters of claims share: settings, and rows of the lemmas' tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation
from elubench.verification.measuring import NoEvidence, exactly, rows_of, table_of
from elubench.verification.verdicts import Measurement

#: Runs on lattice samples of the isotropic model, at d = 1 or at the smallest d >= 2 of a study.
ISOTROPIC = {"model": "isotropic", "samples": "lattice"}
SEVERAL = [2, 3, 4]


def at_smallest_d(evidence: Evidence, **conditions: Any) -> pd.DataFrame:
    """Rows of the evidence at the smallest d that was run."""
    rows = rows_of(evidence, **conditions)
    return rows[rows["d"] == rows["d"].min()]


def by_dimension(rows: pd.DataFrame) -> Iterator[tuple[int, pd.DataFrame]]:
    """Each d with its rows."""
    for d in sorted(rows["d"].unique()):
        yield int(d), rows[rows["d"] == d]


class LemmaTable:
    """One of the lemmas' tables; an interval is the row's uncertainty to either side."""

    def __init__(self, evidence: Evidence, probe: str):
        table = table_of(evidence, "lemmas")
        self.probe = probe
        self.rows = table[table["probe"] == probe]

    def dimensions(self, quantity: str) -> list[int]:
        """Every d that has this quantity."""
        return sorted(int(d) for d in self.rows[self.rows["quantity"] == quantity]["d"])

    def row(self, quantity: str, d: int | None = None) -> Any:
        """The one row with this quantity."""
        found = self.rows[self.rows["quantity"] == quantity]
        if d is not None:
            found = found[found["d"] == d]
        if len(found) != 1:
            raise NoEvidence(f"The lemmas' tables have no single row '{quantity}' of {self.probe}.")
        return found.iloc[0]

    def measured(
        self, expected: Expectation, d: int | None = None, quantity: str = "", over: bool = False
    ) -> Measurement:
        """A row as a measurement, found by what is expected unless its ``quantity`` is named.

        With ``over`` it is divided by what theory says.
        """
        row = self.row(quantity or expected.what, d)
        unit = float(row["theory"]) if over else 1.0
        value, spread = row["measured"] / unit, row["uncertainty"] / abs(unit)
        where = "" if d is None else f"d = {d}"
        if spread == 0.0 and row["basis"] != "samples":
            return exactly(expected, value, row["note"], where)
        return Measurement(expected, value, value - spread, value + spread, row["note"], where)
