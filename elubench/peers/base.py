"""What a peer is: a name for tables, an adapter that runs in its own process, how to install it.

An adapter does one or both of two things:

``iterate(count)``       makes exactly that many EM iterations from the common start;
``solve(label, judge)``  fits until the judge has seen enough, showing it iterates on the way.

Every result is a :class:`Mixture`, and one function computes its loss, whichever peer made it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from elubench import __version__
from elubench.algorithms.base import Look
from elubench.checks import Floats

#: Distance of the locations from their middle at the common start.
START_NORM = 0.8
#: How a fit ended that had not stopped by itself.
BUDGET = "budget"
#: How far above the optimum the mean loss may be at the answer.
TOLERANCE = 1e-9
#: Iterations between two looks at a running fit, as a share of those made.
LOOK_EVERY = 0.04
MOST_ITERATIONS = 10_000_000

_LOOK = Look("#868686", "d", (0.0, (2.0, 2.0)))


class Mixture(NamedTuple):
    """Two Gaussians: weights (2,), means (2, d), variances (2,), or (2, d) by coordinate."""

    weights: Floats
    means: Floats
    variances: Floats

    @classmethod
    def symmetric(cls, theta: Floats, variance: float) -> Mixture:
        """Locations -theta and theta, equal weights, one variance: the constrained model."""
        return cls(np.full(2, 0.5), np.stack([-theta, theta]), np.full(2, float(variance)))

    @property
    def half_distance(self) -> float:
        """Half the distance between the means: |theta| of the constrained model."""
        return float(np.linalg.norm(self.means[1] - self.means[0])) / 2.0


def mean_loss(X: Floats, mixture: Mixture) -> float:
    """Mean negative log-likelihood of a mixture with its own weights, means and variances."""
    d = X.shape[1]
    if not (np.isfinite(mixture.means).all() and (mixture.variances > 0.0).all()):
        return math.nan
    logs = []
    for weight, mean, given in zip(*mixture, strict=True):
        variance = np.broadcast_to(given, d)
        square = ((X - mean) ** 2) @ (1.0 / variance)
        logs.append(math.log(weight) - 0.5 * (square + np.sum(np.log(2.0 * math.pi * variance))))
    return -float(np.mean(np.logaddexp(*logs)))


def common_start(X: Floats) -> Mixture:
    """The start of every fit: equal coordinates, and the variance that matches the second moments."""
    d = X.shape[1]
    theta = np.full(d, START_NORM / math.sqrt(d))
    second = float(np.mean([column @ column for column in X.T])) / len(X)
    return Mixture.symmetric(theta, second - START_NORM**2 / d)


class Adapter:
    """A peer in its process. A subclass imports its library in :meth:`load`, not before."""

    #: Top-level modules whose absence means "not installed"; any other failed import is an error.
    modules: tuple[str, ...] = ()
    #: Distribution whose version is shown; by default that of elubench.
    distribution = ""
    #: Whether its EM iterations are those of the constrained model to rounding.
    exact = False
    #: Whether a first call compiles, ever or for each number of iterations.
    compiles = False

    def load(self) -> None:
        """Import what is needed; ModuleNotFoundError if it is not installed."""

    def version(self) -> str:
        """The version that is installed."""
        try:
            return metadata.version(self.distribution) if self.distribution else __version__
        except metadata.PackageNotFoundError:
            return "?"

    def prepare(self, X: Floats, start: Mixture) -> None:
        """Take the start, and the data in the form that suits the library best."""
        raise NotImplementedError

    def iterate(self, count: int) -> Mixture | None:
        """Make that many EM iterations from the start."""
        raise NotImplementedError

    def solve(self, label: str, judge: Judge) -> str:
        """Fit from the start until ``judge.look`` returns True, or until it stops by itself.

        Return how it ended: ``BUDGET`` unless it stopped by itself.
        """
        raise NotImplementedError


class Judge:
    """Decides when a fit has reached the answer; its clock stops while it looks.

    There are two answers: the locations within the radius of their middle, and the loss within
    ``TOLERANCE`` of the optimum. A model wider than the constrained one is judged by its own
    likelihood, so its extra freedom is a head start.
    """

    def __init__(self, X: Floats, radius: float, optimum: float, budget: float):
        self.X = X
        self.radius = radius
        self.optimum = optimum
        self.budget = budget
        self._before = 0.0
        self._running = math.nan
        self.radius_at: tuple[float, int] | None = None
        self.loss_at: tuple[float, int] | None = None
        self.seconds = 0.0
        self.iterations = 0
        self.half_distance = math.nan
        self.excess = math.nan

    def begin(self) -> None:
        """Start the clock."""
        self._before, self._running = 0.0, time.perf_counter()

    def look(self, iterations: int, mixture: Mixture, seconds: float | None = None) -> bool:
        """Look at an iterate, made after ``seconds`` (by default now); True means that it is enough."""
        now = self._before + time.perf_counter() - self._running
        self.seconds = now if seconds is None else seconds
        self.iterations = int(iterations)
        self.half_distance = mixture.half_distance
        if self.radius_at is None and self.half_distance <= self.radius:
            self.radius_at = self.seconds, self.iterations
        if self.loss_at is None:
            self.excess = mean_loss(self.X, mixture) - self.optimum
            if self.excess <= TOLERANCE:
                self.loss_at = self.seconds, self.iterations
        there = self.radius_at is not None and self.loss_at is not None
        self._before, self._running = now, time.perf_counter()
        return there or self.seconds > self.budget

    def verdict(self) -> dict[str, Any]:
        """What was seen, as values for JSON."""
        return {
            "radius": self.radius_at,
            "loss": self.loss_at,
            "seconds": self.seconds,
            "iterations": self.iterations,
            "half_distance": self.half_distance,
            "excess": self.excess,
        }


@dataclass(frozen=True)
class Peer:
    """A row of the tables.

    Parameters
    ----------
    name : in tables, and for ``--only``.
    adapter : "module:class", loaded in the peer's process.
    model : what it fits, in a word; "same" is the constrained model.
    note : what it fits, in a sentence, if that is another model.
    get : the command that installs it.
    iterates : whether it can make a given number of EM iterations.
    solvers : names of its ways to the answer; none by default.
    nanoseconds : per row and EM iteration, roughly: a constant, and a term per coordinate.
    look : colour, marker and dash in figures.
    """

    name: str
    adapter: str
    model: str = "same"
    note: str = ""
    get: str = ""
    iterates: bool = True
    solvers: tuple[str, ...] = ()
    nanoseconds: tuple[float, float] = (10.0, 5.0)
    look: Look = _LOOK
