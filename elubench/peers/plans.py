"""What is to be measured: samples, who takes part, and how long it may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elubench.papers.beyond_em.theory import radius
from elubench.peers.adapters import ELUBENCH, LIMITS, PEERS
from elubench.peers.base import Peer

PARTS = ("iteration", "answer")
#: Calls for one iteration that a slow peer's single turn amounts to, with those that come before it.
CALLS = 4.5
REST = 0.15  # seconds before a turn; BLAS's threads keep a core busy for 0.12 after their work
_ALWAYS = (ELUBENCH, *LIMITS)
_LEAST_ROWS = 1000
_MOST_COORDINATES = {"iteration": 1024, "answer": 16}


class Cell(NamedTuple):
    """What is measured together: a part, a sample, and who takes part."""

    part: str
    n: int
    d: int
    peers: tuple[Peer, ...]

    def __str__(self) -> str:
        return f"n = {self.n:,}, d = {self.d}"


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Parameters
    ----------
    cells : samples, with who takes part.
    rounds : how often it is everyone's turn.
    at_least : seconds that the iterations of a turn take.
    patience : seconds that a peer may take in a cell; after that it has no more turns, and where two
        times that would not be enough for one, it has none.
    budget : seconds that a fit may take.
    """

    cells: tuple[Cell, ...]
    rounds: int = 7
    at_least: float = 0.05
    patience: float = 20.0
    budget: float = 60.0


def plan(
    n: Sequence[int] = (),
    d: Sequence[int] = (),
    only: Iterable[str] = (),
    part: str = "all",
    quick: bool = False,
    budget: float | None = None,
    peers: Sequence[Peer] = PEERS,
) -> Plan:
    """The default plan, or what is asked for instead.

    Parameters
    ----------
    n, d : sizes, for both parts.
    only : names of peers; elubench and the limits always take part.
    part : "iteration", "answer" or "all".
    quick : smaller, in less than a minute.
    budget : seconds that a fit may take; 60 by default, 10 if quick.
    peers : who could take part.
    """
    if part not in ("all", *PARTS):
        raise ValueError(f"part must be 'all', 'iteration' or 'answer'; got {part!r}")
    if budget is not None and not budget > 0.0:
        raise ValueError(f"budget must be > 0, got {budget!r}")
    chosen = _chosen(peers, set(only))
    cells: list[Cell] = []
    if part != "answer":
        iterating = tuple(peer for peer in chosen if peer.iterates)
        rows = n or ((10**4, 10**5) if quick else (10**4, 10**5, 10**6, 10**7))
        widths = d or ((1, 4) if quick else (1, 4, 16))
        cells += [Cell("iteration", m, k, iterating) for k in widths for m in rows]
        if not (n or d or quick):
            few = tuple(peer for peer in chosen if peer in _ALWAYS)
            cells.append(Cell("iteration", 10**6, 64, few))
    if part != "iteration":
        solving = tuple(peer for peer in chosen if peer.solvers)
        rows = n or ((10**4,) if quick else (10**5,))
        widths = d or ((1,) if quick else (1, 4))
        cells += [Cell("answer", m, k, solving) for k in widths for m in rows]
    for cell in cells:
        most = _MOST_COORDINATES[cell.part]
        if cell.n < _LEAST_ROWS:
            raise ValueError(f"n must be at least {_LEAST_ROWS}, got {cell.n}")
        if not 1 <= cell.d <= most:
            raise ValueError(f"d must be from 1 to {most} in part {cell.part!r}, got {cell.d}")
    if quick:
        return Plan(tuple(cells), 3, 0.02, 2.0, budget or 10.0)
    return Plan(tuple(cells), budget=budget or Plan.budget)


def _chosen(peers: Sequence[Peer], wanted: set[str]) -> tuple[Peer, ...]:
    names = [peer.name for peer in peers]
    for name in sorted(wanted - set(names)):
        raise ValueError(f"unknown peer {name!r}; there are {', '.join(names)}")
    return tuple(p for p in peers if not wanted or p.name in wanted or p in _ALWAYS)


def goal(n: int, d: int) -> float:
    """The radius to get to: the statistical one at d = 1, twice that at d >= 2.

    There the optimum of nearly every sample is outside the statistical radius itself.
    """
    return radius("isotropic", n, d, 1.0 if d == 1 else 2.0)


def expected(what: Plan, cell: Cell) -> float:
    """Seconds that a cell takes, roughly, for the estimate of what is left."""
    if cell.part == "answer":
        return 2.0 * sum(len(peer.solvers) for peer in cell.peers) + min(what.budget, 4e-4 * cell.n)
    return sum(expected_turns(what, cell, peer) for peer in cell.peers)


def expected_turns(what: Plan, cell: Cell, peer: Peer) -> float:
    """The same of one peer."""
    own, each = peer.nanoseconds
    iteration = 1e-9 * cell.n * (own + each * cell.d)
    if CALLS * iteration > 2.0 * what.patience:
        return 0.0
    turn = max(4.0 * iteration, 2.0 * what.at_least) + REST
    drawing = 2e-8 * cell.n * cell.d
    return drawing + turn + min(what.rounds * turn, max(what.patience, turn))
