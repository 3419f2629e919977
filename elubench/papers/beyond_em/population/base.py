"""What each model says of its population; points are (m, p), the data N(0, I)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from elubench.checks import Floats


class Population(ABC):
    """One model fitted to infinitely many draws from N(0, I), with the scale on its curve."""

    name: ClassVar[str]
    locations: ClassVar[int] = 1  # free ones: p = locations * d
    many_scales: ClassVar[bool] = False  # one per coordinate
    region: ClassVar[str]  # where the scale is positive, in words

    @abstractmethod
    def curve_scale(self, theta: Floats) -> Floats:
        """The scale on the curve: (m,), or (m, d) with many scales."""

    @abstractmethod
    def gap(self, theta: Floats) -> Floats:
        """f(theta) - f(truth); (m,)."""

    @abstractmethod
    def gradient(self, theta: Floats) -> Floats:
        """(m, p)."""

    @abstractmethod
    def hessian(self, theta: Floats) -> Floats:
        """(m, p, p)."""

    @abstractmethod
    def em_step(self, theta: Floats) -> Floats:
        """(m, p)."""
