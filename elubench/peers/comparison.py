"""A comparison: measure, make rows, write and read them.

Ratios are taken within a round, to elubench in that round; medians and quartiles are over rounds.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from elubench.checks import Floats
from elubench.peers.base import BUDGET, Peer
from elubench.peers.heats import Heat, Lineup, expected, expected_turns
from elubench.peers.known import ELUBENCH, LIMITS
from elubench.peers.processes import Failed
from elubench.peers.rounds import ATTEMPTS, Attempts, Crew, Turns, attempt, take_turns

#: The file of results in a folder.
FILE = "peers.csv"

COLUMNS = [
    "part", "n", "d", "seed", "target", "peer", "label", "version", "model", "status",
    "seconds", "seconds_low", "seconds_high", "ratio", "ratio_low", "ratio_high", "limit_ratio",
    "rounds", "iterations", "message",
]  # fmt: skip
_TEXT = ("label", "version", "message")

Row = dict[str, Any]


class Headway(NamedTuple):
    """How far a comparison is: the share done, what it is doing, and roughly the seconds left."""

    share: float
    doing: str
    seconds_left: float


@dataclass
class Comparison:
    """What was measured. ``missing`` has a line per peer that is not installed."""

    rows: pd.DataFrame
    missing: list[str] = field(default_factory=list)
    interrupted: bool = False


def compare(
    what: Lineup,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[Headway], None] = lambda _: None,
) -> Comparison:
    """Measure; an interruption (Ctrl-C) ends it early and keeps what was measured.

    Parameters
    ----------
    what : see :func:`elubench.peers.lineup`.
    out : a folder, to which the rows so far are written after every heat.
    progress : called with a :class:`Headway`, several times a second.
    """
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
    pace = _Pace(what, progress)
    crew = Crew(pace.show)
    rows: list[Row] = []
    interrupted = False
    try:
        for heat in what.heats:
            pace.enter(heat)
            more, interrupted = _measured(crew, what, heat, pace)
            rows += more
            if out is not None:
                save(pd.DataFrame(rows, columns=COLUMNS), out)
            if interrupted:
                break
    finally:
        crew.dismiss()
    missing = [
        f"{peer.name} is not installed" + (f": {peer.get}" if peer.get else "")
        for peer in crew.missing
    ]
    return Comparison(pd.DataFrame(rows, columns=COLUMNS), missing, interrupted)


def save(rows: pd.DataFrame, folder: str | os.PathLike[str]) -> None:
    """Write rows to ``peers.csv`` in a folder, all or nothing."""
    path = Path(folder) / FILE
    fresh = path.with_suffix(".new")
    rows.to_csv(fresh, index=False)
    fresh.replace(path)


def load(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The rows that :func:`compare` wrote to a folder, one per sample, peer, way and target.

    ``target`` is "iteration" (time per EM iteration), "radius" or "loss" (time to reach it).
    ``status`` is "ok"; "budget": ``seconds`` and ``ratio`` are lower bounds; "stopped": the fit ended
    by itself too early; "skipped": it would have taken too long; "disturbed": no turn could be used;
    "crashed"; "timed out"; or "wrong": it computes something else. ``message`` says more. ``ratio`` is
    to elubench and ``limit_ratio`` to the larger of the two limits of the hardware, with quartiles in
    ``_low`` and ``_high``.
    """
    path = Path(folder) / FILE
    if not path.exists():
        raise ValueError(f"{folder} contains no {FILE}")
    rows = pd.read_csv(path, dtype=dict.fromkeys(_TEXT, str))
    return rows.fillna(dict.fromkeys(_TEXT, ""))


def _measured(crew: Crew, what: Lineup, heat: Heat, pace: _Pace) -> tuple[list[Row], bool]:
    """The rows of a heat, and whether Ctrl-C ended it early."""
    stopped = False
    turns: list[Turns] = []
    attempts: list[Attempts] = []
    known: Row = {}
    try:
        if heat.part == "iteration":
            take_turns(crew, what, heat, pace.step, turns)
        else:
            attempt(crew, what, heat, pace.step, known, attempts)
    except KeyboardInterrupt:
        stopped = True
    except Failed as error:  # without an optimum there is no answer
        row = _row(crew, heat, ELUBENCH, "radius", status="crashed", message=str(error))
        return [row], False
    rows = [
        *iteration_rows(crew, heat, turns),
        *answer_rows(crew, heat, attempts, known),
    ]
    return rows, stopped


# Rows


def quartiles(values: Any) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of the finite values."""
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return math.nan, math.nan, math.nan
    low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def _row(crew: Crew, heat: Heat, peer: Peer, target: str, **values: Any) -> Row:
    row: Row = dict.fromkeys(COLUMNS, math.nan)
    row |= {
        "part": heat.part,
        "n": heat.n,
        "d": heat.d,
        "seed": 0,
        "target": target,
        "peer": peer.name,
        "label": "",
        "version": crew.version(peer),
        "model": peer.model,
        "message": "",
        **values,
    }
    return row


def _spread(name: str, values: Any) -> Row:
    low, middle, high = quartiles(values)
    return {name: middle, f"{name}_low": low, f"{name}_high": high}


def iteration_rows(crew: Crew, heat: Heat, turns: list[Turns]) -> list[Row]:
    """Rows of the time per EM iteration, in the order of the turns."""
    rounds = max((len(one.times) for one in turns), default=0)
    times = {one.peer: np.full(rounds, np.nan) for one in turns}
    for one in turns:
        times[one.peer][: len(one.times)] = one.times
    none: Floats = np.full(rounds, np.nan)
    own = times.get(ELUBENCH, none)
    both = [times[peer] for peer in LIMITS if peer in times]
    limit = np.max(both, axis=0) if len(both) == len(LIMITS) else none
    if len(both) == len(LIMITS) and not np.isfinite(own / limit).any():
        # on a busy machine no round may have all three; their medians are the next best
        limit = np.full(rounds, max(quartiles(each)[1] for each in both))
    rows = []
    for one in turns:
        mine = times[one.peer]
        done = int(np.isfinite(mine).sum())
        if one.failure or one.skipped:
            status = one.failure.status if one.failure else "skipped"
            values: Row = {"status": status, "message": str(one.failure or one.skipped)}
        elif done:
            values = {
                "status": "ok",
                "iterations": 1 + one.extra,
                **_spread("seconds", mine),
                **_spread("ratio", mine / own),
                "limit_ratio": quartiles(mine / limit)[1],
            }
        elif one.times:
            values = {"status": "disturbed", "message": "every turn was disturbed"}
        else:  # interrupted before its first turn
            continue
        rows.append(_row(crew, heat, one.peer, "iteration", rounds=done, **values))
    return rows


def answer_rows(crew: Crew, heat: Heat, attempts: list[Attempts], known: Row) -> list[Row]:
    """Rows of the time to the radius and to the loss; elubench's first way that gets there is 1."""
    rows = []
    for target in ("radius", "loss"):
        times = {}
        for place, one in enumerate(attempts):
            seen = [verdict[target] for verdict in one.verdicts]
            times[place] = np.array([math.nan if at is None else at[0] for at in seen])
        own: Floats = np.empty(0)
        for place, one in enumerate(attempts):
            if one.peer == ELUBENCH and np.isfinite(times[place]).any():
                own = times[place]
                break
        for place, one in enumerate(attempts):
            values = _answer(one, target, times[place], own)
            if values:
                values |= {"label": one.label, "seed": known["seed"]}
                rows.append(_row(crew, heat, one.peer, target, **values))
    return rows


def _answer(one: Attempts, target: str, mine: Floats, own: Floats) -> Row:
    if one.failure:
        return {
            "status": one.failure.status,
            "message": str(one.failure),
            "rounds": len(mine),
        }
    if not one.verdicts:
        return {}
    usual = quartiles(own)[1]
    if np.isfinite(mine).any():
        # a single attempt is compared with all of elubench's, several with those of their rounds
        ratio = mine / usual if len(mine) == 1 or len(own) < len(mine) else mine / own[: len(mine)]
        made = next(v[target][1] for v in one.verdicts if v[target] is not None)
        return {
            "status": "ok",
            "rounds": len(mine),
            "iterations": made,
            **_spread("seconds", mine),
            **_spread("ratio", ratio),
        }
    last = one.verdicts[-1]
    if target == "radius":
        where = f"{last['half_distance']:.3g} away"
    else:
        where = f"{last['excess']:.2g} above"
    if last["ended"] == BUDGET:
        return {
            "status": "budget",
            "rounds": len(mine),
            "iterations": last["iterations"],
            "seconds": last["seconds"],
            "ratio": last["seconds"] / usual,
            "message": where,
        }
    return {
        "status": "stopped",
        "rounds": len(mine),
        "iterations": last["iterations"],
        "message": f"{where}, {last['ended']}",
    }


class _Pace:
    """Keeps count of what is done and left, and reports it."""

    def __init__(self, what: Lineup, progress: Callable[[Headway], None]):
        self._what = what
        self._progress = progress
        self._whole = sum(expected(what, heat) for heat in what.heats) or 1.0
        self._begun = time.monotonic()
        self._before = self._within = 0.0
        self._heat: Heat | None = None
        self._peer: Peer | None = None

    def enter(self, heat: Heat) -> None:
        if self._heat is not None:
            self._before += expected(self._what, self._heat)
        self._heat, self._within, self._peer = heat, 0.0, None
        self.show()

    def step(self, peer: Peer) -> None:
        assert self._heat is not None
        if self._heat.part == "iteration":
            turns = expected_turns(self._what, self._heat, peer)
            self._within += turns / (1 + self._what.rounds)
        else:
            ways = sum(len(peer.solvers) for peer in self._heat.peers)
            self._within += expected(self._what, self._heat) / (1 + ATTEMPTS * ways)
        self._peer = peer
        self.show()

    def show(self) -> None:
        assert self._heat is not None
        done = self._before + min(self._within, expected(self._what, self._heat))
        took = time.monotonic() - self._begun
        # at first the estimates set the pace, later the measurements do
        pace = (took + 20.0) / (done + 20.0)
        doing = str(self._heat) + (f": {self._peer.name}" if self._peer is not None else "")
        self._progress(Headway(done / self._whole, doing, (self._whole - done) * pace))
