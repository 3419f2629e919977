"""The truth of a block: one Gaussian or, with ``truth``, two of them of scale 1 at +-theta*.

Half the distance between the two may shrink as n grows, theta* = h n^(-a). All is measured from the
truth: errors, and the radius that a run stops at (:meth:`elubench.models.flatness.Flatness.radius_at`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.models.base import Model
from elubench.samples import ArraySample, LatticeSample, gaussian
from elubench.samples.base import RawMoments

#: The first coordinate, or equal coordinates as those of the usual start.
DIRECTIONS = ("axis", "equal")
#: Components farther apart than this have nothing to do with each other.
_FARTHEST = 100.0


@dataclass(frozen=True)
class Truth:
    """Two Gaussians of scale 1 at -theta* and theta*, with theta* = h n^(-a) along a direction.

    ``weight`` is the probability of the one at -theta*.
    """

    h: float
    a: float = 0.0
    direction: str = "axis"
    weight: float = 0.5

    def half_distance(self, n: int) -> float:
        """The length of theta* at n rows."""
        return self.h * float(n) ** -self.a

    def theta(self, n: int, d: int) -> Floats:
        """theta* (d,)."""
        way = np.full(d, 1.0 / math.sqrt(d)) if self.direction == "equal" else np.eye(d)[0]
        return np.asarray(self.half_distance(n) * way)

    def params(self, model: Model, n: int, d: int) -> Floats:
        """The parameters of a model at the truth."""
        return model.placed(RawMoments(float(n), np.zeros(d), np.ones(d)), self.theta(n, d))

    def sample(self, kind: str, n: int, d: int, seed: int) -> ArraySample | LatticeSample:
        """n draws, row by row ("direct") or as counts on a lattice."""
        theta, weights = self.theta(n, d), np.array([self.weight, 1.0 - self.weight])
        if kind == "lattice":
            return LatticeSample.mixture(n, d, np.stack([-theta, theta]), 1.0, weights, seed)
        labels = np.random.Generator(np.random.PCG64DXSM([seed, n, d])).random(n) < self.weight
        return ArraySample(gaussian(n, d, seed) + np.where(labels[:, None], -theta, theta))

    def columns(self, n: int) -> dict[str, float]:
        """The columns of a study's rows that say what the truth was."""
        return {
            "true_h": self.h,
            "true_a": self.a,
            "true_weight": self.weight,
            "half_distance": self.half_distance(n),
        }

    def canonical(self) -> dict[str, Any]:
        """The truth as plain values."""
        return asdict(self)


def truths(given: Any, at: str) -> tuple[Truth | None, ...]:
    """Every truth that a block's ``truth`` stands for; None for one Gaussian.

    ``h``, ``a`` and ``weight`` may be lists, for all combinations.
    """
    if given == {}:
        return (None,)
    if not isinstance(given, dict):
        raise TypeError(
            f"{at} must be a table such as {{h = 1.0, a = 0.125}}, got {checks.brief(given)}"
        )
    checks.keys(given, Truth.__dataclass_fields__, f"{at}.")
    if "h" not in given:
        raise ValueError(f"{at} lacks the key 'h'")
    along = checks.choice(given.get("direction", "axis"), f"{at}.direction", DIRECTIONS)

    def numbers(key: str, default: float, below: float, closed: str) -> tuple[float, ...]:
        read = partial(checks.real, above=0.0, below=below, closed=closed)
        return checks.several(given.get(key, default), f"{at}.{key}", read)

    axes = (
        numbers("h", math.nan, _FARTHEST, "below"),
        numbers("a", 0.0, 1.0, "above below"),
        numbers("weight", 0.5, 1.0, ""),
    )
    return tuple(Truth(h, a, along, weight) for h, a, weight in itertools.product(*axes))


def named(name: str, truth: Truth | None, of: int) -> str:
    """A block's name, with the truth where the block stands for several."""
    if truth is None or of == 1:
        return name
    return f"{name}, h = {truth.h:g}, a = {truth.a:g}, weight = {truth.weight:g}"
