"""What a claim expects of a measurement: the values that agree, and the rival theories to be excluded.

An expectation is declared with the claim, before anything is measured, and its sentence is made from
it: what a reader is told and what is applied cannot differ.

    near("exponent of n in the iterations", 3 / 4, 0.01, {"n^(2/3)": 2 / 3, "n^(4/5)": 4 / 5})
    nearer("exponent of n, location error", -1 / 8, {"n^(-1/7)": -1 / 7, "n^(-1/9)": -1 / 9})
    below("exponent of d in the iterations", -1 / 2, {"no dependence": 0.0, "d^(-1/4)": -1 / 4})
    at_least("share of runs that diverge", 0.9)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from elubench import checks
from elubench.text import number


class Rival(NamedTuple):
    """A value that another theory gives."""

    name: str
    value: float

    @property
    def named(self) -> str:
        """The name, with the value unless it says it."""
        value = said(self.value)
        return self.name if value in self.name else f"{self.name} ({value})"


@dataclass(frozen=True)
class Expectation:
    """Values of a quantity that agree with a claim.

    An interval agrees if it lies in [``least``, ``most``]. If rivals stand on both sides of
    ``stated``, an interval that contains it and excludes every rival agrees as well, however wide.
    ``stated`` is NaN where the claim gives no number.
    """

    what: str
    least: float = -math.inf
    most: float = math.inf
    stated: float = math.nan
    rivals: tuple[Rival, ...] = ()

    def __post_init__(self) -> None:
        if not self.least <= self.most:
            raise ValueError(f"{self.what}: least must be at most most, got {self.accepted}")
        if not math.isnan(self.stated) and not self.least <= self.stated <= self.most:
            raise ValueError(f"{self.what}: stated must be in {self.accepted}, got {self.stated}")
        for rival in self.rivals:
            if self.least <= rival.value <= self.most:
                raise ValueError(f"{self.what}: the rival {rival.name} is in {self.accepted}")

    @property
    def accepted(self) -> tuple[float, float]:
        """The region of values that agree, borders included."""
        return self.least, self.most

    @property
    def surrounded(self) -> bool:
        """Whether there are rivals on both sides of the stated value."""
        values = [rival.value for rival in self.rivals]
        return bool(values) and min(values) < self.stated < max(values)

    def agrees(self, low: float, high: float) -> bool:
        """Whether an interval agrees with the claim."""
        if self.least <= low and high <= self.most:
            return True
        return (
            self.surrounded
            and low <= self.stated <= high
            and not any(low <= rival.value <= high for rival in self.rivals)
        )

    def nearest(self, value: float) -> Rival | None:
        """The rival closest to a value."""
        return min(self.rivals, key=lambda one: abs(one.value - value), default=None)

    @property
    def region(self) -> str:
        """The values that agree, in words."""
        if math.isinf(self.least) and math.isinf(self.most):
            return "any value"
        if math.isinf(self.most):
            return f"at least {said(self.least)}"
        if math.isinf(self.least):
            return f"at most {said(self.most)}"
        if self.least == self.most:
            return f"exactly {said(self.least)}"
        off = self.most - self.stated
        if math.isclose(off, self.stated - self.least, rel_tol=1e-9):
            return f"within {number(off)} of {said(self.stated)}"
        return f"{said(self.least)} to {said(self.most)}"

    @property
    def rule(self) -> str:
        """The values that agree and the rivals, in words."""
        if not self.rivals:
            return self.region
        names = [one.named for one in sorted(self.rivals, key=lambda one: one.value)]
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        if not self.surrounded:
            return f"{self.region}, which excludes {listed}"
        return f"{self.region}, or around {said(self.stated)} and excludes {listed}"


def near(
    what: str, stated: float, tolerance: float, rivals: Mapping[str, float] | None = None
) -> Expectation:
    """Within a tolerance of what is stated, and told from the rivals, named with their values."""
    tolerance = checks.real(tolerance, "tolerance", 0.0)
    least, most = stated - tolerance, stated + tolerance
    return Expectation(what, least, most, stated, _rivals(rivals))


def nearer(what: str, stated: float, rivals: Mapping[str, float]) -> Expectation:
    """Nearer to what is stated than to any rival, of which there must be some on both sides."""
    below = [value for value in rivals.values() if value < stated]
    above = [value for value in rivals.values() if value > stated]
    if not below or not above or len(below) + len(above) < len(rivals):
        raise ValueError(f"{what}: rivals must be on both sides of {said(stated)}, got {rivals}")
    least, most = 0.5 * (stated + max(below)), 0.5 * (stated + min(above))
    return Expectation(what, least, most, stated, _rivals(rivals))


def below(what: str, stated: float, rivals: Mapping[str, float]) -> Expectation:
    """At most what is stated, or nearer to it than to any rival, all of which are above it."""
    return at_most(what, 0.5 * (stated + min(rivals.values())), stated, rivals)


def above(what: str, stated: float, rivals: Mapping[str, float]) -> Expectation:
    """At least what is stated, or nearer to it than to any rival, all of which are below it."""
    return at_least(what, 0.5 * (stated + max(rivals.values())), stated, rivals)


def between(what: str, least: float, most: float, stated: float = math.nan) -> Expectation:
    """Between two values."""
    return Expectation(what, least, most, stated)


def at_most(
    what: str, most: float, stated: float = math.nan, rivals: Mapping[str, float] | None = None
) -> Expectation:
    """At most a value."""
    return Expectation(what, -math.inf, most, stated, _rivals(rivals))


def at_least(
    what: str, least: float, stated: float = math.nan, rivals: Mapping[str, float] | None = None
) -> Expectation:
    """At least a value."""
    return Expectation(what, least, math.inf, stated, _rivals(rivals))


def _rivals(given: Mapping[str, float] | None) -> tuple[Rival, ...]:
    return tuple(Rival(name, float(value)) for name, value in (given or {}).items())


def said(value: float) -> str:
    """A number for readers: a simple fraction as such, unless it has a short decimal."""
    if math.isfinite(value):
        simple = Fraction(value).limit_denominator(24)
        short = simple.denominator in (1, 2, 5, 10, 20)
        if not short and math.isclose(float(simple), value, rel_tol=1e-12):
            return str(simple)
    return number(value)
