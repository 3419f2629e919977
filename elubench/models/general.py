"""Two free locations, one scale: w_1 N(theta_1, s I) + w_2 N(theta_2, s I).

With equal weights it is Algorithm 3's model, and the parameters are theta_1 and theta_2. Weights that
are free or given add half their log odds, see :mod:`elubench.models.odds`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from elubench import checks
from elubench.checks import Floats
from elubench.models import directions, locations, odds
from elubench.models.base import Model
from elubench.samples.base import RawMoments, Sample

_FARTHEST = 4  # rows that are tried as a part of their own
_MOST = 1.0 - 2.0**-40  # |w_2 - w_1| of a start


class General(Model):
    """Free locations theta_1 and theta_2, covariance s I.

    Parameters
    ----------
    mixing : "equal", "free", or the weights (w_1, w_2), which say how large the parts are but not
        which of them is on which side.
    """

    name = "general"
    even = False
    translates = True
    features = frozenset({"half sum", "moment estimate"})
    algebra = locations.ALGEBRA
    natural = locations.NATURAL

    def __init__(self, mixing: str | Sequence[float] = "equal") -> None:
        self.mixing = _checked(mixing)
        self.formula = "(1/2) N(theta_1, s I) + (1/2) N(theta_2, s I)"
        self._odds = 0.0
        if self.mixing == "equal":
            return
        self.extra = 1
        given = '"free"' if self.mixing == "free" else list(self.mixing)
        self.name = f"general(mixing={given})"  # as :func:`elubench.models.known.named` reads it
        self.features = frozenset({"half sum"})
        self.algebra, self.natural = odds.FREE, odds.FREE_NATURAL
        self.formula = "w_1 N(theta_1, s I) + w_2 N(theta_2, s I)"
        if not isinstance(self.mixing, str):
            one, two = self.mixing
            self.algebra, self.natural = odds.HELD, odds.HELD_NATURAL
            self._odds = 0.5 * math.log(two / one)
            self.formula = f"{one:g} N(theta_1, s I) + {two:g} N(theta_2, s I)"

    def __repr__(self) -> str:
        return "General()" if self.mixing == "equal" else f"General(mixing={self.mixing!r})"

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.mixing == getattr(other, "mixing", None)

    def __hash__(self) -> int:
        return hash((type(self), self.mixing))

    def n_scales(self, d: int) -> int:
        return 1

    def n_free(self, d: int) -> int:
        return super().n_free(d) - (self.mixing not in ("equal", "free"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.mixing,)

    # Locations and weights

    def weights(self, params: Floats) -> Floats:
        if not self.extra:
            return super().weights(params)
        shares: Floats = expit(np.array([-2.0, 2.0]) * params[-1])
        first = params[: params.size // 2]
        return shares if (self.ordered(params)[0] == first).all() else shares[::-1].copy()

    def truth(self, location: ArrayLike, d: int) -> Floats:
        one = super().truth(location, d)
        return np.append(one, self._odds) if self.extra else one

    def placed(self, moments: RawMoments, step: Floats, aside: Floats | None = None) -> Floats:
        """The weights, where they are free, are those that make the mean that of the data."""
        if not self.extra:
            return super().placed(moments, step, aside)
        half, square = self._odds, float(step @ step)
        if self.mixing != "free" and aside is None:
            aside = -math.tanh(half) * step
        elif self.mixing == "free" and aside is not None and square > 0.0:
            share = -float(aside @ step) / square
            half = math.atanh(min(max(share, -_MOST), _MOST))
        return np.append(super().placed(moments, step, aside), half)

    def swapped(self, params: Floats) -> Floats:
        if not self.extra:
            return super().swapped(params)
        half = params.size // 2
        return np.concatenate([params[half:-1], params[:half], -params[-1:]])

    def is_stationary_start(self, params: Floats) -> bool:
        one, two = params[: params.size - self.extra].reshape(2, -1)
        return bool((one == two).all())

    def middle(self, params: Floats, moments: RawMoments) -> Floats:
        return moments.m1 if self.extra else super().middle(params, moments)

    # Starts

    def default_start(self, sample: Sample) -> Floats:
        """The sample's centre, minus and plus 0.9 / sqrt(d) of its spread in every coordinate."""
        moments = sample.moments()
        spread = math.sqrt(float(np.mean(moments.m2 - moments.m1**2)))
        return self.placed(moments, np.full(sample.d, 0.9 * spread / math.sqrt(sample.d)))

    def candidates(self, sample: Sample) -> tuple[Floats, int]:
        """Parts of equal and of unequal size, along the leading directions."""
        moments = sample.moments()
        spread = self.spread(moments)
        steps, asides, passes = directions.splits(sample, self.centre(moments), spread)
        apart = steps.any(axis=1)
        steps, asides = steps[apart], asides[apart]
        if not self.extra and len(steps):
            return self.placed(moments, steps, asides), passes
        found = list(zip(steps, asides, strict=True))
        if self.mixing == "free":  # a part may be a single row that is far from the others
            rest = 1.0 - 1.0 / max(sample.n, 2)
            steps = 0.5 * (sample.farthest(_FARTHEST) - moments.m1) / rest
            found += [(step, (2.0 * rest - 1.0) * step) for step in steps if step.any()]
        elif self.extra:  # the sizes are given, not the sides
            found = [(sign * step, aside) for step, aside in found for sign in (1.0, -1.0)]
        points = [self.placed(moments, step, aside) for step, aside in found]
        return np.stack(points or [self.default_start(sample)]), passes

    def random_start(self, sample: Sample, rng: np.random.Generator) -> Floats:
        if self.mixing != "free":
            return super().random_start(sample, rng)
        start, moments = super().random_start(sample, rng), sample.moments()
        step = start[sample.d : -1] - moments.m1
        return self.placed(moments, step, rng.uniform(-0.9, 0.9) * step)

    def one_gaussian_loss(self, fitted: RawMoments, evaluated: RawMoments) -> float:
        d = fitted.m1.size
        v0 = ve = float((fitted.m2 - fitted.m1**2).sum()) / d
        if evaluated is not fitted:
            ve = float((evaluated.m2 - 2.0 * fitted.m1 * evaluated.m1 + fitted.m1**2).sum()) / d
        return 0.5 * d * (math.log(2.0 * math.pi * v0) + ve / v0)


def _checked(given: str | Sequence[float]) -> str | tuple[float, float]:
    if isinstance(given, str):
        return checks.choice(given, "mixing", ("equal", "free"))
    try:
        weights = tuple(checks.real(one, "mixing", 0.0, 1.0) for one in given)
    except TypeError:
        weights = ()
    if len(weights) != 2 or abs(sum(weights) - 1.0) > 1e-9:
        raise ValueError(
            "mixing must be 'equal', 'free', or two positive weights that add up to 1, "
            f"got {checks.brief(given)}"
        )
    return weights[0], weights[1]
