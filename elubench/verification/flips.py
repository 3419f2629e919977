"""How often a verdict changes with the seed: the rules were fixed, then samples drawn afresh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from elubench import rates
from elubench.verification.verdicts import LEVEL, VERDICTS


def flips(found: Mapping[int, Mapping[str, str]]) -> pd.DataFrame:
    """One row per claim, from verdicts by seed and claim.

    ``usual`` is the most frequent verdict, ``flips`` the number of seeds with another one, ``most`` the
    upper end of the 95 % interval of their share, ``where`` these seeds with their verdicts.
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
        where = "; ".join(f"{seed} {one}" for seed, one in verdicts.items() if one != usual)
        row = {"claim": key, "usual": usual, "flips": others, "seeds": len(verdicts)}
        rows.append({**row, "most": round(most, 3), **counts, "where": where})
    return pd.DataFrame(rows)


def verdicts_in(table: pd.DataFrame, seeds: Iterable[int]) -> dict[int, dict[str, str]]:
    """The verdicts by seed and claim that :func:`flips` made a table of."""
    usual = dict(zip(table["claim"], table["usual"], strict=True))
    found = {seed: dict(usual) for seed in seeds}
    for claim, where in zip(table["claim"], table["where"], strict=True):
        for one in filter(None, where.split("; ")):
            seed, verdict = one.split(" ", 1)
            found[int(seed)][claim] = verdict
    return found
