"""What an algorithm is: options, and one compiled update that knows neither model nor data.

A run asks the data about k points and passes the answers to the update, which names the next k points:

    update(own, points, answers, iterate, report)

    own.options       (o,)       the algorithm's numbers; read only
    own.state         (s,)       kept between calls; zeros before the first
    own.t             int        iterations so far
    points            (k, p)     the points that were evaluated; overwritten by the next ones
    answers.em        (k, p)     the EM step from each point
    answers.gradient  (k, p)     of the restricted loss
    answers.gap       (k,)       loss less that of one Gaussian, if ``want`` has LOG_COSH
    answers.hessian   (k, p, p)  of the restricted loss, if ``want`` has CURVATURE
    iterate           (p,)       the last accepted iterate; overwritten when a new one is accepted
    report            (3,)       filled in by a function of :mod:`elubench.kernels.layout`:
                                 ``accept(report, step)`` if ``iterate`` is new, else
                                 ``stay(report, step)``; then ``finish(report)`` if the algorithm is done

At a point outside the region of positive scale all answers are NaN. An update that accepts its
proposals unseen (EM, ELU) writes them to both ``points`` and ``iterate``; one that tries first moves
``iterate`` only after a good trial. To add an algorithm, subclass :class:`Algorithm`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from elubench.checks import Floats
from elubench.models.base import Model
from elubench.models.flatness import Flatness
from elubench.samples.base import Sample


class Look(NamedTuple):
    """How an algorithm is drawn in all figures; ``place`` is its place in a legend."""

    colour: str
    marker: str
    dash: Any = "-"
    width: float = 1.4
    place: int = 1_000


class Goal(NamedTuple):
    """What the length of a run depends on, roughly.

    ``flatness`` is the model's, ``target`` and ``start`` are distances from the truth; a run
    ``to_the_end`` does not stop at the target.
    """

    flatness: Flatness
    target: float
    start: float
    max_iter: int
    to_the_end: bool = False


@dataclass(frozen=True)
class Algorithm:
    """Options of an algorithm; ``resolve`` fills in what depends on the model."""

    #: The compiled update, of signature ``signatures.UPDATE``.
    update: ClassVar[Any]
    #: Points that one pass evaluates.
    points: ClassVar[int] = 1
    #: What a pass must bring beyond T0 and T1: layout.LOG_COSH, layout.CURVATURE, or their sum.
    want: ClassVar[int] = 0
    #: Features that the model must have.
    needs: ClassVar[frozenset[str]] = frozenset()
    #: Its name on the command line; by default that of the class.
    command: ClassVar[str] = ""
    #: Colour, marker and dash in figures.
    look: ClassVar[Look] = Look("#444444", "d", (0.0, (2.0, 2.0)))
    #: Passes to the radius where they hardly depend on n; for estimates of time.
    typical_passes: ClassVar[float] = 60.0
    #: Passes per iteration of an algorithm that does not stop by itself; 0 if it does.
    endless: ClassVar[float] = 0.0
    #: Whether it goes on to diverge, so that only held-out rows tell when to stop.
    diverges: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """A word for tables and files."""
        return type(self).__name__

    @property
    def natural(self) -> bool:
        """Whether points and iterates are in the model's natural coordinates."""
        return False

    def resolve(self, model: Model) -> Algorithm:
        """The same algorithm with every option set; ValueError if it does not fit the model."""
        missing = [f"a {feature}" for feature in sorted(self.needs - model.features)]
        if self.natural and model.natural is None:
            missing.append("natural coordinates")
        if missing:
            raise ValueError(
                f"{self.name} needs a model with {missing[0]}; {type(model).__name__} has none"
            )
        return self

    def options(self, rows: float = 1.0) -> Floats:
        """The numbers that the update reads; ``rows`` is the number of rows that count."""
        return np.array([float(getattr(self, field.name)) for field in fields(self)])

    def state_size(self, p: int) -> int:
        """Length of the scratch that the update keeps between calls."""
        return 0

    def expected_passes(self, goal: Goal) -> float:
        """Passes that a run will take, roughly."""
        if goal.to_the_end and self.endless:
            return self.endless * goal.max_iter
        return min(self.typical_passes, 4.0 * goal.max_iter)

    def growth_law(self, flatness: Flatness) -> tuple[str, float]:
        """How the number of iterations to the radius grows with n in theory: a law and its constant b.

        "power" is n^b, "logarithm" is b ln n; "" and NaN if unknown.
        """
        return "", math.nan


class Evaluation(NamedTuple):
    """What one pass says about a point: loss less that of one Gaussian, and its derivatives."""

    gap: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True)
class ForeignAlgorithm(Algorithm):
    """An algorithm with a loop of its own, for example SciPy's."""

    points = 1

    def options(self, rows: float = 1.0) -> Floats:
        return np.empty(0)  # there is no compiled update to read them

    def minimise(
        self,
        evaluate: Callable[[Floats], Evaluation],
        accept: Callable[[Floats], bool],
        start: Floats,
    ) -> None:
        """Minimise from ``start``; return on convergence.

        ``evaluate`` makes one pass; ``accept`` takes every accepted iterate and returns False when the
        run is over.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class DirectAlgorithm(Algorithm):
    """An algorithm that reads its iterates off the data instead of moving from a start."""

    def options(self, weight: float = 1.0) -> Floats:
        return np.empty(0)  # there is no compiled update to read them

    def iterates(self, model: Model, sample: Sample) -> Iterator[tuple[Floats, int]]:
        """The iterates (p,) in order, each with the reads of the data that it took.

        The sample given notes what is read of it, so that a run knows its cost.
        """
        raise NotImplementedError
