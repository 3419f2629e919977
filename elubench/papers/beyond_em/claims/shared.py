"""What several chapters of claims share: settings, margins, and rows of the lemmas' tables."""

from __future__ import annotations

from elubench.verification.evidence import Evidence
from elubench.verification.measuring import NoEvidence, table_of
from elubench.verification.verdicts import Measurement

ELU_ISOTROPIC = {"algorithm": "ELU", "model": "isotropic", "samples": "lattice"}
MARGIN_ERRORS = (
    "Agrees: an exponent within a fifth of the stated one, with all of its 95 % interval."
)
MARGIN_ITERATIONS = (
    "Agrees: the law that predicts the largest n from the smaller ones is the stated one, and its "
    "constant lies within a tenth of the stated one, with all of its 95 % interval."
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
