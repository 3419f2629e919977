"""The order of work: rounds of turns, and attempts at the answer.

**Time per EM iteration.** A turn is two calls, one of which makes some more iterations; the difference
in time, per iteration, is free of the overhead of a call. Each peer has one turn per round, so that a
disturbance of the machine affects all. Slow peers have fewer rounds.

**Time to the answer.** All peers start at the same point of the same sample, except ``fit``, which
finds its own. Quick attempts are repeated, in rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from elubench.peers.base import Peer
from elubench.peers.heats import CALLS, REST, Heat, Lineup, goal
from elubench.peers.known import ELUBENCH, LIMITS
from elubench.peers.processes import Failed, NotInstalled, Worker, free_memory

_LIMITS_FROM = 1_000_000  # row-coordinates; below, starting threads takes longer than either limit
_COPIES = 3.0  # of the data, in a peer's process
_GRACE = 60.0  # seconds over its time after which a peer is considered dead
ATTEMPTS = 5
_QUICK = 3.0  # longest attempt, in seconds, that is repeated


class Crew:
    """The peers' processes, and which peers are not installed."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None):
        self._workers: dict[Peer, Worker] = {}
        self._meanwhile = meanwhile
        self._seen: dict[tuple[Peer, int], float] = {}
        self.missing: dict[Peer, str] = {}

    def ask(self, peer: Peer, do: str, limit: float = math.inf, **arguments: Any) -> Any:
        """Send a request to a peer; see :class:`elubench.peers.worker.Session`."""
        if peer not in self._workers:
            self._workers[peer] = Worker(peer.adapter, self._meanwhile)
        try:
            return self._workers[peer].ask(do, limit, **arguments)
        except NotInstalled as error:
            self.missing[peer] = str(error)
            raise

    def release(self, peer: Peer) -> None:
        """Have a peer drop its data, if it is alive."""
        if peer in self._workers and self._workers[peer].alive:
            with suppress(Failed):
                self.ask(peer, "release")

    def version(self, peer: Peer) -> str:
        """The version of its library."""
        return self._workers[peer].version if peer in self._workers else ""

    def remember(self, peer: Peer, n: int, d: int, seconds: float) -> None:
        """Keep what a call for one iteration took."""
        self._seen[peer, d] = seconds / n

    def foreseen(self, peer: Peer, n: int, d: int) -> float:
        """What such a call will take, if one with the same d was made; else 0."""
        return self._seen.get((peer, d), 0.0) * n

    def dismiss(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.stop()


@dataclass
class Turns:
    """A peer's turns in a heat: seconds per iteration by round, NaN where it had none."""

    peer: Peer
    extra: int = 0
    times: list[float] = field(default_factory=list)
    failure: Failed | None = None
    skipped: str = ""
    expected: float = 0.0
    spent: float = 0.0

    def another(self, patience: float) -> bool:
        """Whether there is time for another turn; there always is for the first."""
        ready = not self.failure and not self.skipped
        return ready and (not self.spent or self.spent + self.expected <= patience)


def has_limits(heat: Heat) -> bool:
    """Whether the sample is large enough for the limits of the hardware to mean anything."""
    return heat.n * (2 + heat.d) >= _LIMITS_FROM


def take_turns(
    crew: Crew, what: Lineup, heat: Heat, step: Callable[[Peer], None], turns: list[Turns]
) -> None:
    """Fill ``turns``, which holds what was measured even if this is interrupted."""
    limits = has_limits(heat)
    present = [
        peer for peer in heat.peers if peer not in crew.missing and (limits or peer not in LIMITS)
    ]
    keep = 8.0 * heat.n * heat.d * _COPIES * len(present) < 0.5 * free_memory()
    limit = 4.0 * what.patience + _GRACE
    sample = {"n": heat.n, "d": heat.d, "seed": 0}
    for peer in present:
        one = Turns(peer)
        foreseen = CALLS * crew.foreseen(peer, heat.n, heat.d)
        if foreseen > 2.0 * what.patience:
            one.skipped = f"would take {foreseen:.0f} s for a single turn"
            turns.append(one)
            continue
        step(peer)
        try:
            crew.ask(peer, "prepare", **sample)
            time.sleep(REST)
            found = crew.ask(peer, "calibrate", limit, at_least=what.at_least)
            one.extra, one.expected = int(found["extra"]), float(found["seconds"])
            crew.remember(peer, heat.n, heat.d, float(found["call"]))
            if not keep:
                crew.release(peer)
        except NotInstalled:
            continue
        except Failed as error:
            one.failure = error
        turns.append(one)
    for number in range(what.rounds):
        for one in turns:
            if not one.another(what.patience):
                continue
            step(one.peer)
            time.sleep(REST)
            begun = time.monotonic()
            try:
                crew.ask(one.peer, "prepare", **sample)
                took = crew.ask(one.peer, "turn", limit, extra=one.extra)
                one.times += [math.nan] * (number - len(one.times))
                one.times.append(math.nan if took is None else took)
                if not keep:
                    crew.release(one.peer)
            except Failed as error:
                one.failure = error
            one.spent += time.monotonic() - begun
    for one in turns:
        crew.release(one.peer)


@dataclass
class Attempts:
    """One way to the answer: what the judge saw, by round."""

    peer: Peer
    label: str
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    failure: Failed | None = None


def attempt(
    crew: Crew,
    what: Lineup,
    heat: Heat,
    step: Callable[[Peer], None],
    known: dict[str, Any],
    attempts: list[Attempts],
) -> None:
    """Fill ``attempts``, and ``known`` with the seed of the sample and its optimum."""
    within = goal(heat.n, heat.d)
    step(ELUBENCH)
    known |= crew.ask(ELUBENCH, "optimum", n=heat.n, d=heat.d, radius=within)
    asked = {"radius": within, "optimum": known["loss"], "budget": what.budget}
    sample = {"n": heat.n, "d": heat.d, "seed": known["seed"], "solving": True}
    attempts += [
        Attempts(peer, label)
        for peer in heat.peers
        if peer not in crew.missing
        for label in peer.solvers
    ]
    took = dict.fromkeys(range(len(attempts)), 0.0)
    for number in range(ATTEMPTS):
        for place, one in enumerate(attempts):
            if one.failure or one.peer in crew.missing or (number and took[place] > _QUICK):
                continue
            step(one.peer)
            time.sleep(REST)
            begun = time.monotonic()
            try:
                crew.ask(one.peer, "prepare", **sample)
                limit = 4.0 * what.budget + _GRACE
                one.verdicts.append(crew.ask(one.peer, "solve", limit, label=one.label, **asked))
            except NotInstalled:
                continue
            except Failed as error:
                one.failure = error
            took[place] = time.monotonic() - begun
