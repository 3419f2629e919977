"""How often a verdict changes with the seed: the rules were fixed, then samples drawn afresh."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from elubench import rates
from elubench.verification.verdicts import LEVEL, VERDICTS


def flips(found: Mapping[int, Mapping[str, str]]) -> pd.DataFrame:
    """One row per claim, from verdicts by seed and claim.

    ``usual`` is the most frequent verdict, ``flips`` the number of seeds with another one, ``most`` the
    upper end of the 95 % interval of their share.
    """
    table = pd.DataFrame({seed: dict(verdicts) for seed, verdicts in found.items()})
    if table.isna().to_numpy().any():
        raise ValueError("found must have a verdict for every claim and seed")
    rows = []
    for key, verdicts in table.iterrows():
        counts: dict[str, int] = {one: int((verdicts == one).sum()) for one in VERDICTS}
        usual = max(counts, key=lambda one: counts[one])
        others = len(verdicts) - counts[usual]
        most = rates.share(others, len(verdicts), LEVEL).high
        row = {"claim": key, "usual": usual, "flips": others, "seeds": len(verdicts)}
        rows.append({**row, "most": round(most, 3), **counts})
    return pd.DataFrame(rows)
