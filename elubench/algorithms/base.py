"""What an algorithm is: options, and one compiled update that knows neither model nor data.

A run asks the data about k points and hands the answers to the update, which names the next k points:

    update(options, state, t, points, em, gradient, gap, hessian, iterate, report)

    options   (o,)      the algorithm's numbers; read only
    state     (s,)      scratch that survives between calls; zeros before the first
    t         int       iterations so far
    points    (k, p)    the points that were evaluated; overwritten by the next ones
    em        (k, p)    the EM step from each point
    gradient  (k, p)    of the restricted loss
    gap       (k,)      loss less that of one Gaussian; set where ``want`` asks for log cosh
    hessian   (k, p, p) set where ``want`` asks for the curvature
    iterate   (p,)      the last accepted iterate; overwritten when a new one is accepted
    report    (3,)      out: step size, 1 if ``iterate`` is new, 1 if the algorithm is done

A point outside the region of positive scale gives NaN everywhere. An update that accepts its
proposals unseen (EM, ELU) writes them to ``points`` and ``iterate`` alike; one that tries first moves
``iterate`` only when a trial was good. To add an algorithm, subclass :class:`Algorithm`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from elubench.checks import Floats
from elubench.models.base import Model


@dataclass(frozen=True)
class Algorithm:
    """Options of an algorithm; ``resolve`` fills in what depends on the model."""

    #: The compiled update, of signature ``signatures.UPDATE``.
    update: ClassVar[Any]
    #: Points that one pass evaluates.
    points: ClassVar[int] = 1
    #: What a pass must bring beyond T0 and T1: reduction.LOG_COSH, reduction.CURVATURE.
    want: ClassVar[int] = 0
    #: Features that the model must have.
    needs: ClassVar[frozenset[str]] = frozenset()

    @property
    def name(self) -> str:
        """A word for tables and files."""
        return type(self).__name__

    @property
    def natural(self) -> bool:
        """Whether points and iterates are in the model's natural coordinates."""
        return False

    def resolve(self, model: Model) -> Algorithm:
        """The same algorithm with every option set, or a ValueError where it does not fit the model."""
        missing = sorted(self.needs - model.features)
        if missing:
            raise ValueError(
                f"{self.name} needs a model with a {missing[0]}; {type(model).__name__} has none"
            )
        return self

    def options(self, weight: float = 1.0) -> Floats:
        """The numbers that the update reads; ``weight`` is the total weight of the sample, n."""
        return np.array([float(getattr(self, field.name)) for field in fields(self)])

    def state_size(self, p: int) -> int:
        """Length of the scratch that the update keeps between calls."""
        return 0


class Evaluation(NamedTuple):
    """What one pass says about a point: loss less that of one Gaussian, and its derivatives."""

    gap: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True)
class ForeignAlgorithm(Algorithm):
    """An algorithm whose loop is elsewhere, in SciPy for example."""

    points = 1

    def options(self, weight: float = 1.0) -> Floats:
        return np.empty(0)  # no compiled update reads them

    def minimise(
        self,
        evaluate: Callable[[Floats], Evaluation],
        accept: Callable[[Floats], bool],
        start: Floats,
    ) -> None:
        """Minimise from ``start``.

        ``evaluate`` makes one pass; ``accept`` is told of every accepted iterate and returns False
        when the run is over. To return is to have converged.
        """
        raise NotImplementedError
