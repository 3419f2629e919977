"""Symmetric locations, one scale per coordinate: the model of Algorithm 2.

The curve is s_j = m2_j - theta_j^2, and u_j = theta_j / s_j. Every coordinate contributes the loss of
an isotropic model with d = 1; only log cosh(x.u) couples them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.kernels import kernel, layout, signatures
from elubench.models import directions
from elubench.models import moments as closed_forms
from elubench.models.base import Algebra, Natural
from elubench.models.flatness import Flatness, location_scale
from elubench.models.symmetric import SymmetricModel, symmetric_error
from elubench.samples.base import RawMoments, Sample

_ALONG = (0.45, 0.7)  # half distances along an axis, in units of its spread
_TRIED_AXES = 32  # coordinates up to which a fit tries every axis as a start
_LONG, _SAME = 1e3, 1e-14  # a direction, and how close to 1 a mean absolute value is 1
_SOME = 1024  # rows that tell whether a column varies
_MLE_AXES = 8  # axes from which the maximum of the likelihood is sought


@kernel("exact", signatures.SCALE, plain=signatures.SMALL)
def _scale(theta: Any, m1: Any, m2: Any, out: Any) -> None:
    for j in range(theta.size):
        out[j] = m2[j] - theta[j] * theta[j]


@kernel("exact", signatures.DIRECTION, plain=signatures.SMALL)
def _direction(theta: Any, m1: Any, m2: Any, u: Any) -> float:
    for j in range(theta.size):
        s = m2[j] - theta[j] * theta[j]
        if not (s > 0.0):
            u[:] = np.nan
            return np.nan
        u[j] = theta[j] / s
    return 0.0


@kernel("exact", signatures.RESPOND, plain=signatures.SMALL)
def _respond(theta: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    """With g_j = (m2_j + theta_j^2) / s_j^2, the derivative of u_j: gradient_j = g_j (theta - T1)_j."""
    for j in range(theta.size):
        square = theta[j] * theta[j]
        s = m2[j] - square
        em[j] = sums[layout.T1 + j]
        gradient[j] = (m2[j] + square) / s * ((theta[j] - em[j]) / s)


@kernel("exact", plain=True)
def _gap_at(m2: float, square: float, q: float, s: float, e2: float) -> float:
    """One coordinate's part of the gap; s is exactly the scale in the direction u."""
    if not (s > 0.0 and q < 1.0):
        return np.nan
    return 0.5 * math.log1p(-q) + (e2 * q + square) / (2.0 * s)


@kernel("exact", signatures.GAP, plain=signatures.SMALL)
def _gap(theta: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    total = 0.0
    for j in range(theta.size):
        square = theta[j] * theta[j]
        total += _gap_at(m2[j], square, square / m2[j], m2[j] - square, e2[j])
    return total - log_cosh


@kernel("exact", signatures.HESSIAN, plain=signatures.SMALL)
def _hessian(theta: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """-g_i C2_ij g_j, and on the diagonal g + (theta - T1) dg; no power of s that could underflow."""
    d = theta.size
    root, g = np.empty(d), np.empty(d)
    for j in range(d):
        square = theta[j] * theta[j]
        s = m2[j] - square
        root[j] = math.sqrt(s)
        g[j] = (m2[j] + square) / s
    at = layout.c2_at(d)
    for i in range(d):
        for j in range(i + 1):
            units = root[i] * root[j]
            value = -g[i] * g[j] * (sums[at] / units)
            if i == j:
                slope = theta[i] / root[i] * (2.0 + 4.0 * g[i])
                value += g[i] + (theta[i] - sums[layout.T1 + i]) / root[i] * slope
            out[i, j] = value / units
            out[j, i] = out[i, j]
            at += 1


# Natural coordinates: phi_j = u_j sqrt(m2_j), and r_j = s_j / m2_j solves r = 1 - r^2 phi_j^2.


@kernel("exact", plain=True)
def _share(phi: float) -> float:
    return 2.0 / (1.0 + math.sqrt(1.0 + 4.0 * phi * phi))


@kernel("exact", signatures.CHANGE, plain=signatures.SMALL)
def _from_locations(theta: Any, m1: Any, m2: Any, phi: Any) -> None:
    for j in range(theta.size):
        phi[j] = theta[j] * math.sqrt(m2[j]) / (m2[j] - theta[j] * theta[j])


@kernel("exact", signatures.CHANGE, plain=signatures.SMALL)
def _to_locations(phi: Any, m1: Any, m2: Any, theta: Any) -> None:
    for j in range(theta.size):
        theta[j] = phi[j] * math.sqrt(m2[j]) * _share(phi[j])


@kernel("exact", signatures.SCALE, plain=signatures.SMALL)
def _natural_scale(phi: Any, m1: Any, m2: Any, out: Any) -> None:
    for j in range(phi.size):
        out[j] = m2[j] * _share(phi[j])


@kernel("exact", signatures.DIRECTION, plain=signatures.SMALL)
def _natural_direction(phi: Any, m1: Any, m2: Any, u: Any) -> float:
    total = 0.0
    for j in range(u.size):
        u[j] = phi[j] / math.sqrt(m2[j])
        total += u[j]
    return 0.0 if math.isfinite(total) else np.nan


@kernel("exact", signatures.RESPOND, plain=signatures.SMALL)
def _natural_respond(phi: Any, m1: Any, m2: Any, sums: Any, em: Any, gradient: Any) -> None:
    for j in range(phi.size):
        gradient[j] = _share(phi[j]) * phi[j] - sums[layout.T1 + j] / math.sqrt(m2[j])
    _from_locations(sums[layout.T1 : layout.T1 + phi.size], m1, m2, em)


@kernel("exact", signatures.GAP, plain=signatures.SMALL)
def _natural_gap(phi: Any, m1: Any, m2: Any, e1: Any, e2: Any, log_cosh: float) -> float:
    total = 0.0
    for j in range(phi.size):
        r = _share(phi[j])
        q = r * r * phi[j] * phi[j]
        total += _gap_at(m2[j], q * m2[j], q, m2[j] * r, e2[j])
    return total - log_cosh


@kernel("exact", signatures.HESSIAN, plain=signatures.SMALL)
def _natural_hessian(phi: Any, m1: Any, m2: Any, sums: Any, out: Any) -> None:
    """diag(r^2 / (1 + r^2 phi^2)) - C2, in units of sqrt(m2)."""
    at = layout.c2_at(phi.size)
    for i in range(phi.size):
        for j in range(i + 1):
            value = -sums[at] / (math.sqrt(m2[i]) * math.sqrt(m2[j]))
            if i == j:
                r = _share(phi[i])
                value += r * r / (1.0 + r * r * phi[i] * phi[i])
            out[i, j] = value
            out[j, i] = value
            at += 1


@kernel("exact", signatures.ERROR, plain=signatures.SMALL)
def _natural_error(phi: Any, m1: Any, m2: Any, truth: Any) -> float:
    theta = np.empty(phi.size)
    _to_locations(phi, m1, m2, theta)
    return symmetric_error(theta, m1, m2, truth)


class Diagonal(SymmetricModel):
    """Algorithm 2's model: locations -theta and theta, covariance diag(s_1, ..., s_d)."""

    name = "diagonal"
    formula = "(1/2) N(-theta, diag(s)) + (1/2) N(theta, diag(s))"
    features = frozenset({"moment estimate", "scale per coordinate"})
    algebra = Algebra(_scale, _direction, _respond, _gap, _hessian, symmetric_error)
    natural = Natural(
        Algebra(
            _natural_scale,
            _natural_direction,
            _natural_respond,
            _natural_gap,
            _natural_hessian,
            _natural_error,
        ),
        _from_locations,
        _to_locations,
    )

    def n_scales(self, d: int) -> int:
        return d

    def flatness(self, d: int, generic: bool = False) -> Flatness:
        """A generic start leads along an axis, where the loss is as flat as at d = 1."""
        return location_scale(1 if generic else d)

    def variance(self, moments: RawMoments) -> Floats:
        return moments.m2

    def default_start(self, sample: Sample) -> Floats:
        """0.9 / sqrt(d) of each coordinate's spread."""
        return 0.9 * np.sqrt(sample.moments().m2 / sample.d)

    def steps(self, sample: Sample) -> tuple[list[Floats], int]:
        """With the axes: components that differ in one coordinate only leave no correlation."""
        moments = sample.moments()
        spread = self.spread(moments)
        steps, passes = directions.steps(sample, self.centre(moments), spread, own=True)
        if 1 < sample.d <= _TRIED_AXES:
            steps += [each for share in _ALONG for each in np.diag(share * spread)]
        return steps, passes

    def moment_estimates(self, sample: Sample) -> tuple[list[Floats], int]:
        """From the correlations; rivals up to 32 coordinates: their best fit, and along the axes."""
        moments = sample.moments()
        spread = self.spread(moments)
        if not 1 < sample.d <= directions.PAIRS_UP_TO:
            found, reads = super().moment_estimates(sample)
            limit = math.sqrt(closed_forms.MOST) * spread  # a coordinate has no more than its own
            return [np.clip(point, -limit, limit) for point in found], reads
        shape = sample.shape_about(self.centre(moments), spread, even=True)
        steps = [closed_forms.one_factor(shape.second)]
        if sample.d <= _TRIED_AXES:
            steps.append(closed_forms.least_squares(shape.second, steps[0]))
            steps += closed_forms.along_axes(shape)
        return [spread * step for step in steps], 1

    def collapsing(self, sample: Sample) -> list[int]:
        """Columns of one absolute value: both components can shrink to it, whatever the others do.

        In units of its root mean square, such a column has the mean absolute value 1, which is T1 along
        a direction so long that tanh is the sign. As a rule a few rows tell that there is none.
        """
        some = sample.thinned(_SOME)
        if some is not sample and not self._of_one_value(some):
            return []
        return self._of_one_value(sample)

    def _of_one_value(self, sample: Sample) -> list[int]:
        spread = self.spread(sample.moments())
        zero = spread == 0.0
        spread = np.where(zero, 1.0, spread)
        t1 = sample.sums(np.diag(_LONG / spread), np.zeros(sample.d), 0, even=True)
        mean = np.diagonal(t1[:, layout.T1 : layout.T1 + sample.d]) / spread + zero
        return [int(j) for j in np.flatnonzero(mean >= 1.0 - _SAME)]

    def mle_starts(self, sample: Sample) -> list[Floats]:
        """The loss has a local minimum near every axis, so the first axes are starts as well."""
        starts = [self.default_start(sample)]
        for j in range(self.n_mle_starts(sample.d) - 1):
            axis = 0.05 * starts[0]
            axis[j] = 0.7 * math.sqrt(float(sample.moments().m2[j]))
            starts.append(axis)
        return starts

    def n_mle_starts(self, d: int) -> int:
        return 1 + min(d, _MLE_AXES) if d > 1 else 1

    def one_gaussian_loss(self, fitted: RawMoments, evaluated: RawMoments) -> float:
        terms = np.log(2.0 * math.pi * fitted.m2) + evaluated.m2 / fitted.m2
        return 0.5 * float(np.sum(terms))
