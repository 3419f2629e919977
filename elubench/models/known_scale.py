"""Known scale and weights: (1 - w) N(-theta, s I) + w N(theta, s I), where only theta is free.

With u = theta / s and b = (1/2) log(w / (1 - w)) the loss is, up to a constant,

    f = |theta|^2 / (2 s) - mean log cosh(x.u + b).

The algebra is given s behind the second moments and b behind the first. Natural coordinates are
theta / sqrt(s).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench import checks
from elubench.checks import Floats
from elubench.kernels import kernel, layout, signatures
from elubench.models import directions
from elubench.models.base import Algebra, Natural
from elubench.models.flatness import Flatness
from elubench.models.moments import upright
from elubench.models.symmetric import SymmetricModel, symmetric_error
from elubench.samples.base import RawMoments, Sample


@kernel("exact")
def _gap_at(square: float, b: float, log_cosh: float) -> float:
    """The gap where |theta|^2 / s is ``square``; at one Gaussian log cosh is that of b."""
    at_one = abs(b) + math.log1p(math.exp(-2.0 * abs(b))) - math.log(2.0)
    return 0.5 * square - (log_cosh - at_one)


@kernel("exact", signatures.SCALE)
def _scale(theta: Any, m1: Any, m2: Any, out: Any) -> None:
    out[0] = m2[-1]


@kernel("exact", signatures.DIRECTION)
def _direction(theta: Any, m1: Any, m2: Any, u: Any) -> float:
    total = 0.0
    for j in range(u.size):
        u[j] = theta[j] / m2[-1]
        total += u[j]
    return m1[-1] if math.isfinite(total) else np.nan


@kernel("exact", signatures.RESPOND)
def _respond(theta: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    for j in range(theta.size):
        em[j] = sums[layout.T1 + j]
        gradient[j] = (theta[j] - em[j]) / m2[-1]


@kernel("exact", signatures.GAP)
def _gap(theta: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    square = 0.0
    for value in theta:
        square += value * (value / m2[-1])
    return _gap_at(square, m1[-1], log_cosh)


@kernel("exact", signatures.ERROR)
def _error(theta: Any, m1: Any, m2: Any, truth: Any) -> float:
    """With different weights theta and -theta are different mixtures."""
    if m1[-1] == 0.0:
        return symmetric_error(theta, m1, m2, truth)
    total = 0.0
    for j in range(theta.size):
        total += (theta[j] - truth[j]) ** 2
    return math.sqrt(total)


@kernel("exact", signatures.CHANGE)
def _from_locations(theta: Any, m1: Any, m2: Any, phi: Any) -> None:
    for j in range(theta.size):
        phi[j] = theta[j] / math.sqrt(m2[-1])


@kernel("exact", signatures.CHANGE)
def _to_locations(phi: Any, m1: Any, m2: Any, theta: Any) -> None:
    for j in range(phi.size):
        theta[j] = phi[j] * math.sqrt(m2[-1])


@kernel("exact", signatures.DIRECTION)
def _natural_direction(phi: Any, m1: Any, m2: Any, u: Any) -> float:
    _from_locations(phi, m1, m2, u)
    total = 0.0
    for value in u:
        total += value
    return m1[-1] if math.isfinite(total) else np.nan


@kernel("exact", signatures.RESPOND)
def _natural_respond(phi: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    for j in range(phi.size):
        em[j] = sums[layout.T1 + j] / math.sqrt(m2[-1])
        gradient[j] = phi[j] - em[j]


@kernel("exact", signatures.GAP)
def _natural_gap(phi: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    square = 0.0
    for value in phi:
        square += value * value
    return _gap_at(square, m1[-1], log_cosh)


@kernel("exact", signatures.HESSIAN)
def _natural_hessian(phi: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """I - C2 / s."""
    at = layout.c2_at(phi.size)
    for i in range(phi.size):
        for j in range(i + 1):
            out[i, j] = (1.0 if i == j else 0.0) - sums[at] / m2[-1]
            out[j, i] = out[i, j]
            at += 1


@kernel("exact", signatures.HESSIAN)
def _hessian(theta: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """(I - C2 / s) / s."""
    _natural_hessian(theta, m1, m2, sums, out)
    for i in range(theta.size):
        for j in range(theta.size):
            out[i, j] /= m2[-1]


@kernel("exact", signatures.ERROR)
def _natural_error(phi: Any, m1: Any, m2: Any, truth: Any) -> float:
    theta = np.empty(phi.size)
    _to_locations(phi, m1, m2, theta)
    return _error(theta, m1, m2, truth)


class KnownScale(SymmetricModel):
    """Locations -theta and theta with the weights 1 - w and w; w and the scale are known.

    ``weight`` is w, ``scale`` is sigma squared. With different weights labels matter, and a sample's
    theta = 0 is not stationary unless its mean is 0.
    """

    name = "known-scale"
    knows_scale = True
    formula = "(1 - w) N(-theta, s I) + w N(theta, s I), w and s known"
    features = frozenset({"moment estimate"})
    elu_defaults = (0.5, 0.9)
    algebra = Algebra(_scale, _direction, _respond, _gap, _hessian, _error)
    natural = Natural(
        Algebra(
            _scale,
            _natural_direction,
            _natural_respond,
            _natural_gap,
            _natural_hessian,
            _natural_error,
        ),
        _from_locations,
        _to_locations,
    )

    def __init__(self, weight: float = 0.5, scale: float = 1.0):
        self.weight = checks.real(weight, "weight", 0.0, 1.0)
        self.squared = checks.real(scale, "scale", above=0.0)
        self.even = self.balanced = self.weight == 0.5

    def __repr__(self) -> str:
        return f"KnownScale(weight={self.weight!r}, scale={self.squared!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownScale) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def offset(self) -> float:
        """b, half the logarithm of the weights' ratio."""
        return 0.5 * math.log(self.weight / (1.0 - self.weight))

    def standard(self) -> KnownScale:
        return KnownScale(self.weight)

    def inputs(self, moments: RawMoments) -> tuple[Floats, Floats]:
        return np.append(moments.m1, self.offset), np.append(moments.m2, self.squared)

    def n_scales(self, d: int) -> int:
        return 1

    def n_free(self, d: int) -> int:
        return d

    def flatness(self, d: int, generic: bool = False) -> Flatness:
        """With equal weights the gradient is |theta|^2 theta, else (1 - 2 w)^2 theta.

        Both to leading order and in units of the scale. E tanh'(x.u + b) is 1 - |theta|^2 - ... at
        b = 0, and 1 - tanh(b)^2 at theta = 0, where tanh(b) = 2 w - 1. The noise is theta times that
        of the second moments, or 2 w - 1 times that of the mean.
        """
        if self.balanced:
            return Flatness(2.0, 1.0, 1.0)
        return Flatness(0.0, 0.0, (1.0 - 2.0 * self.weight) ** 2)

    def is_stationary_start(self, params: Floats) -> bool:
        return self.balanced and super().is_stationary_start(params)

    def ordered(self, params: Floats) -> Floats:
        """theta (d,); its sign is free, and its largest coordinate positive, with equal weights only."""
        return super().ordered(params) if self.balanced else params + 0.0

    def variance(self, moments: RawMoments) -> Floats:
        return np.full(moments.m1.size, self.squared)

    def default_start(self, sample: Sample) -> Floats:
        """Equal coordinates, norm 0.9 of a standard deviation."""
        return np.full(sample.d, 0.9 * math.sqrt(self.squared / sample.d))

    def steps(self, sample: Sample) -> tuple[list[Floats], int]:
        centre = self.centre(sample.moments())
        found, passes = directions.steps(sample, centre, self._units(sample.d))
        return self._either_way(found), passes

    def mle_starts(self, sample: Sample) -> list[Floats]:
        return self._either_way([self.default_start(sample)])

    def n_mle_starts(self, d: int) -> int:
        return 1 if self.balanced else 2

    def moment_estimates(self, sample: Sample) -> tuple[list[Floats], int]:
        """The mean over 2 w - 1, if weights differ, and what second moments have more than the scale.

        The second moments are s I + theta theta^T.
        """
        m = sample.moments()
        units = self._units(sample.d)
        lengths, vectors, reads = directions.leading(sample, self.centre(m), units, 1)
        length = math.sqrt(max(float(lengths[0]) - 1.0, 0.0))
        found = self._either_way([units * length * upright(vectors[0])])
        if not self.balanced:
            found.insert(0, m.m1 / (2.0 * self.weight - 1.0))
        return found, max(reads, 1)

    def one_gaussian_loss(self, fitted: RawMoments, evaluated: RawMoments) -> float:
        s, total = self.squared, float(np.sum(evaluated.m2))
        return 0.5 * (evaluated.m2.size * math.log(2.0 * math.pi * s) + total / s)

    def _units(self, d: int) -> Floats:
        """The known standard deviation of each coordinate (d,)."""
        return np.full(d, math.sqrt(self.squared))

    def _either_way(self, steps: list[Floats]) -> list[Floats]:
        """The same, and with different weights also the other way round."""
        return steps if self.balanced else [each for step in steps for each in (step, -step)]
