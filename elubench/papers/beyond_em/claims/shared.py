"""What several chapters of claims share: settings, margins, and rows of the lemmas' tables."""

from __future__ import annotations

from elubench.verification.evidence import Evidence
from elubench.verification.measuring import NoEvidence, table_of
from elubench.verification.verdicts import Measurement

ELU_ISOTROPIC = {"algorithm": "ELU", "model": "isotropic", "samples": "lattice"}
MARGIN_ERRORS = (
    "Agrees: the whole 95 % interval of the exponent lies within a fifth of the stated one."
)
MARGIN_ITERATIONS = (
    "Agrees: the stated law is the one that predicts the largest n from the smaller ones, and the "
    "whole 95 % interval of its constant lies within a tenth of the stated one."
)


def from_lemmas(
    evidence: Evidence,
    probe: str,
    quantity: str,
    accepted: tuple[float, float],
    d: int | None = None,
    errors: float = 1.0,
    label: str | None = None,
) -> Measurement:
    """A row of the lemmas' tables; the interval is ``errors`` uncertainties to either side."""
    table = table_of(evidence, "lemmas")
    found = table[(table["probe"] == probe) & (table["quantity"] == quantity)]
    if d is not None:
        found = found[found["d"] == d]
    if len(found) != 1:
        raise NoEvidence(f"The lemmas' tables have no single row '{quantity}' of {probe}.")
    row = found.iloc[0]
    spread = errors * row["uncertainty"]
    return Measurement(
        label or quantity,
        row["measured"],
        row["measured"] - spread,
        row["measured"] + spread,
        row["theory"],
        accepted,
        row["note"],
    )
