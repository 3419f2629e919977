"""A peer's own process: it reads requests as lines of JSON and answers each with a line.

One process per peer keeps the thread pools of jax, torch and BLAS apart, and a peer that crashes
takes no other with it. The data are drawn here, from the seed, rather than sent.
"""

from __future__ import annotations

import json
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TextIO

import numpy as np

from elubench.checks import Floats
from elubench.peers.base import Adapter, Judge, Mixture, common_start, mean_loss
from elubench.peers.libraries import NumPy

_LONG = 1.0  # seconds; a longer call is not repeated to make sure
_MOST_EXTRA = 200_000
_TURNS = 4  # until one was not disturbed
_MOST_SEEDS = 50
# iterations whose result is checked, on at most so many numbers
_CHECKED, _MOST_CHECKED = 3, 4_000_000


class WrongAnswer(Exception):
    """What a peer computed is not what it should have."""


class Session:
    """An adapter and the data that it works on; every public method is a request."""

    def __init__(self, make: Callable[[], Adapter]):
        self._make = make
        self.release()

    def release(self) -> None:
        """Start afresh, without data."""
        self._adapter = self._make()
        self._adapter.load()
        self._has: tuple[int, int, int, bool] | None = None
        self._X: Floats | None = None

    def version(self) -> str:
        """The version that is installed."""
        return self._adapter.version()

    def prepare(self, n: int, d: int, seed: int, solving: bool = False) -> None:
        """Draw the data and pass them on, unless done already; ``solving`` keeps a copy here."""
        from elubench.samples import gaussian

        if self._has != (n, d, seed, solving):
            self.release()
            X = gaussian(n, d, seed)
            self._adapter.prepare(X, common_start(X))
            self._has, self._X = (n, d, seed, solving), X if solving else None

    def calibrate(self, at_least: float) -> dict[str, float]:
        """How many more iterations make a difference of ``at_least`` seconds.

        Also the seconds of a turn and of a call for one iteration. Compiles what needs compiling.
        """
        short = self._clock(1)
        self._check()
        if short < 3.0 * _LONG or self._adapter.compiles:
            short = min(self._clock(1) for _ in range(2 if short < _LONG else 1))
        extra = 3 if short < _LONG else 1
        if short >= _LONG and not self._adapter.compiles:
            return {"extra": extra, "seconds": short * (2 + extra), "call": short}
        enough = max(at_least, 0.5 * short)  # or the overhead of a call would drown it
        while True:
            long = min(self._clock(1 + extra) for _ in range(2))  # the first may compile
            gained = long - short
            if gained >= 0.5 * enough or long > 2.0 * _LONG or extra == _MOST_EXTRA:
                return {"extra": extra, "seconds": short + long, "call": short}
            factor = enough / max(gained, enough / 30.0)
            extra = min(math.ceil(extra * factor), _MOST_EXTRA)

    def turn(self, extra: int) -> float | None:
        """Seconds per EM iteration, from a call that makes ``extra`` more of them than another.

        A turn in which a disturbance made the longer call the quicker one is repeated; None if that
        happened in all of them.
        """
        for _ in range(_TURNS):
            short = self._clock(1)
            if short < _LONG:  # the first one woke the threads
                short = self._clock(1)
            gained = self._clock(1 + extra) - short
            if gained > 0.0:
                return gained / extra
        return None

    def solve(self, label: str, radius: float, optimum: float, budget: float) -> dict[str, Any]:
        """One fit: when it reached the radius, and when it reached the loss."""
        if self._X is None:
            raise RuntimeError("no data yet")
        judge = Judge(self._X, radius, optimum, budget)
        return {"ended": self._adapter.solve(label, judge), **judge.verdict()}

    def optimum(self, n: int, d: int, radius: float) -> dict[str, Any]:
        """The first seed whose sample has its optimum well within the radius, and the loss there.

        At d = 1 three samples in ten have their optimum outside, where no fit can reach the radius.
        """
        from elubench.algorithms import NewtonAnderson
        from elubench.fits import fit
        from elubench.samples import gaussian

        for seed in range(_MOST_SEEDS):
            X = gaussian(n, d, seed)
            best = fit(X, "isotropic", algorithm=NewtonAnderson(precision=1e-13 * n), starts=3)
            found = Mixture.symmetric(best.location, best.scale[0])
            if found.half_distance <= 0.8 * radius:
                loss = mean_loss(X, found)
                return {"seed": seed, "half_distance": found.half_distance, "loss": loss}
        raise RuntimeError(f"none of {_MOST_SEEDS} samples has its optimum within the radius")

    def _check(self) -> None:
        """Raise WrongAnswer where a few iterations raise the loss, or are not those of the model."""
        from elubench.samples import gaussian

        if self._has is None or self._has[0] * self._has[1] > _MOST_CHECKED:
            return
        found = self._adapter.iterate(_CHECKED)
        if found is None:
            return
        X = gaussian(*self._has[:3])
        loss, before = mean_loss(X, found), mean_loss(X, common_start(X))
        if not loss <= before:
            raise WrongAnswer(
                f"{_CHECKED} EM iterations raise the loss from {before:.6g} to {loss:.6g}"
            )
        if self._adapter.exact:
            reference = NumPy()
            reference.prepare(X, common_start(X))
            expected = mean_loss(X, reference.iterate(_CHECKED))
            if abs(loss - expected) > 1e-9:
                raise WrongAnswer(
                    f"a loss of {loss:.12g} after {_CHECKED} iterations, not {expected:.12g}"
                )

    def _clock(self, count: int) -> float:
        begun = time.perf_counter()
        result = self._adapter.iterate(count)
        took = time.perf_counter() - begun
        if result is not None and not all(np.isfinite(part).all() for part in result):
            raise RuntimeError(f"not finite after {count} iterations")
        return took


def serve(make: Callable[[], Adapter], requests: Iterable[str], answers: TextIO) -> None:
    """Answer all requests; the first answer says whether the peer is installed."""

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        session = Session(make)
        say({"ok": session.version()})
    except ModuleNotFoundError as error:
        absent = (error.name or "").partition(".")[0]
        say({"missing": absent} if absent in make().modules else {"error": _said(error)})
        return
    except Exception as error:
        say({"error": _said(error)})
        return
    for line in requests:
        request = json.loads(line)
        try:
            say({"ok": getattr(session, request.pop("do"))(**request)})
        except WrongAnswer as error:
            say({"wrong": str(error)})
        except Exception as error:
            say({"error": _said(error)})


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")


def main(adapter: str) -> None:
    """Serve ``module:class`` over the standard streams."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library's output must not mix with the answers
    module, _, name = adapter.partition(":")

    def make() -> Adapter:
        made: Adapter = getattr(import_module(module), name)()
        return made

    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    serve(make, iter(requests.get, None), answers)


def _listen(requests: queue.SimpleQueue[str]) -> None:
    """Pass requests on; when the parent is gone, exit, whatever the process is doing."""
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)
