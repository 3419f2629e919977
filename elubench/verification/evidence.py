"""What claims and figures are computed from: rows of studies, recorded iterates, tables of probes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from elubench.algorithms.known import numbers_in


@dataclass(frozen=True)
class Evidence:
    """Everything that claims and figures are computed from.

    ``results`` has the rows of all studies and their ``study``, ``traces`` the recorded iterates;
    ``tables`` are those of the paper's probes, by name. ``studies`` are in the order of the level.
    """

    level: str
    seed: int
    studies: tuple[str, ...]
    results: pd.DataFrame
    traces: pd.DataFrame
    tables: dict[str, pd.DataFrame]

    def rows(self, **conditions: Any) -> pd.DataFrame:
        """Rows of the first study that has any with these values.

        A list stands for any of its items, ``{"least": a, "most": b}`` for what lies between. An empty
        frame where no study has such rows.
        """
        return _first(self.results, self.studies, conditions)

    def last_rows(self, **conditions: Any) -> pd.DataFrame:
        """Rows, selected in the same way, from the last study that has any."""
        return _first(self.results, self.studies[::-1], conditions)

    def paths(self, **conditions: Any) -> pd.DataFrame:
        """Recorded iterates, selected in the same way, from the last study that has any."""
        return _first(self.traces, self.studies[::-1], conditions)


def chosen(frame: pd.DataFrame, conditions: Mapping[str, Any]) -> pd.Series[bool]:
    """Which rows satisfy conditions as :meth:`Evidence.rows` takes them."""
    keep = pd.Series(True, index=frame.index)
    for column, value in conditions.items():
        if isinstance(value, Mapping) and column == "options":
            for text in frame[column].unique():
                if not value.items() <= numbers_in(text).items():
                    keep &= frame[column] != text
        elif isinstance(value, Mapping):
            ends = value.get("least", -math.inf), value.get("most", math.inf)
            keep &= frame[column].astype(float).between(*ends)
        else:
            keep &= frame[column].isin(value if isinstance(value, list | tuple) else [value])
    return keep


def _first(frame: pd.DataFrame, order: tuple[str, ...], conditions: dict[str, Any]) -> pd.DataFrame:
    found = frame[chosen(frame, conditions)]
    for study in order:
        part = found[found["study"] == study]
        if len(part):
            return part.reset_index(drop=True)
    return found.reset_index(drop=True)
