"""What to measure: samples, peers, and how long it may take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from elubench import checks
from elubench.models import radius
from elubench.peers.base import Peer
from elubench.peers.known import ALWAYS, PEERS

PARTS = ("iteration", "answer")
#: What a slow peer's single turn and its preparation cost, in calls for one iteration.
CALLS = 4.5
REST = 0.15  # seconds before a turn; BLAS threads keep a core busy for 0.12 s after their work
_LEAST_ROWS = 1000
_MOST_COORDINATES = {"iteration": 1024, "answer": 16}


class Heat(NamedTuple):
    """What is measured together: a part of the comparison, a sample, and the peers."""

    part: str
    n: int
    d: int
    peers: tuple[Peer, ...]

    def __str__(self) -> str:
        return f"n = {self.n:,}, d = {self.d}"


@dataclass(frozen=True)
class Lineup:
    """What to measure.

    Parameters
    ----------
    heats : samples, with the peers that take part.
    rounds : number of turns of each peer.
    at_least : seconds that the iterations of a turn take.
    patience : seconds that a peer may take in a heat; after that it has no more turns, and a peer
        that would need more than twice as long for one turn has none.
    budget : seconds that a fit may take.
    """

    heats: tuple[Heat, ...]
    rounds: int = 7
    at_least: float = 0.05
    patience: float = 20.0
    budget: float = 60.0


def lineup(
    n: Sequence[int] = (),
    d: Sequence[int] = (),
    only: Iterable[str] = (),
    part: str = "all",
    quick: bool = False,
    budget: float | None = None,
    peers: Sequence[Peer] = PEERS,
) -> Lineup:
    """The default lineup, or the one asked for.

    Parameters
    ----------
    n, d : sizes, for both parts.
    only : names of peers; elubench and the limits always take part.
    part : "iteration", "answer" or "all".
    quick : smaller samples, in about a minute.
    budget : seconds that a fit may take; 60 by default, 10 if quick.
    peers : the peers to choose from.
    """
    checks.choice(part, "part", ("all", *PARTS))
    if budget is not None:
        checks.real(budget, "budget", above=0.0)
    chosen = _chosen(peers, set(only))
    heats: list[Heat] = []
    if part != "answer":
        iterating = tuple(peer for peer in chosen if peer.iterates)
        rows = n or ((10**4, 10**5) if quick else (10**4, 10**5, 10**6, 10**7))
        widths = d or ((1, 4) if quick else (1, 4, 16))
        heats += [Heat("iteration", m, k, iterating) for k in widths for m in rows]
        if not (n or d):
            few = tuple(peer for peer in chosen if peer in ALWAYS)
            # the quick samples are too small for the limits of the hardware to mean anything
            heats.append(Heat("iteration", 10**6, 4 if quick else 64, few))
    if part != "iteration":
        solving = tuple(peer for peer in chosen if peer.solvers)
        rows = n or ((10**4,) if quick else (10**5,))
        widths = d or ((1,) if quick else (1, 4))
        heats += [Heat("answer", m, k, solving) for k in widths for m in rows]
    for heat in heats:
        checks.integer(heat.n, "n", _LEAST_ROWS)
        checks.integer(heat.d, f"d in part {heat.part!r}", 1, _MOST_COORDINATES[heat.part])
    if quick:
        return Lineup(tuple(heats), 3, 0.02, 2.0, budget or 10.0)
    return Lineup(tuple(heats), budget=budget or Lineup.budget)


def _chosen(peers: Sequence[Peer], wanted: set[str]) -> tuple[Peer, ...]:
    names = [peer.name for peer in peers]
    for name in sorted(wanted - set(names)):
        checks.choice(name, "only", names)
    return tuple(p for p in peers if not wanted or p.name in wanted or p in ALWAYS)


def goal(n: int, d: int) -> float:
    """The radius to reach: the statistical one at d = 1, twice that at d >= 2.

    At d >= 2 the optimum of nearly every sample lies outside the statistical radius itself.
    """
    return radius("isotropic", n, d, 1.0 if d == 1 else 2.0)


def expected(what: Lineup, heat: Heat) -> float:
    """Seconds that a heat takes, roughly, to estimate the time left."""
    if heat.part == "answer":
        return 2.0 * sum(len(peer.solvers) for peer in heat.peers) + min(what.budget, 4e-4 * heat.n)
    return sum(expected_turns(what, heat, peer) for peer in heat.peers)


def expected_turns(what: Lineup, heat: Heat, peer: Peer) -> float:
    """The same for one peer."""
    own, each = peer.nanoseconds
    iteration = 1e-9 * heat.n * (own + each * heat.d)
    if CALLS * iteration > 2.0 * what.patience:
        return 0.0
    turn = max(4.0 * iteration, 2.0 * what.at_least) + REST
    drawing = 2e-8 * heat.n * heat.d
    return drawing + turn + min(what.rounds * turn, max(what.patience, turn))
