"""What the checks share: samples, starts, what rounding may do, and how a failure is reported."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import Any

import numba
import numpy as np

from elubench.checks import Floats
from elubench.models import Model
from elubench.samples import ArraySample, LatticeSample, Sample
from elubench.samples.base import RawMoments, Shape

#: False under ``NUMBA_DISABLE_JIT=1``, where kernels run as plain Python and samples are smaller.
JIT = not numba.config.DISABLE_JIT
ROWS = 300 if JIT else 40
_CLUSTERED = 60
EPS = float(np.finfo(np.float64).eps)

#: A check that is ready to be called, with its name.
Check = tuple[str, Callable[[], None]]


class Elsewhere(Sample):
    """A sample that is not in memory, as far as a run can tell: it passes questions on and counts.

    Ctrl-C is pressed in the read ``interrupt``; more reads than ``limit`` are an error.
    """

    def __init__(self, inner: Sample, interrupt: int | None = None, limit: int | None = None):
        self.inner, self.n, self.d = inner, inner.n, inner.d
        self.reads, self.interrupt, self.limit = 0, interrupt, limit

    @property
    def n_weighted(self) -> int:
        return self.inner.n_weighted

    def moments(self) -> RawMoments:
        return self.inner.moments()

    def shape_about(self, centre: Floats, units: Floats, even: bool = False) -> Shape:
        self._read()
        return self.inner.shape_about(centre, units, even=even)

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        self._read()
        return self.inner.sums(u, b, want, even=even)

    def _read(self) -> None:
        self.reads += 1
        if self.reads == self.interrupt:
            signal.raise_signal(signal.SIGINT)
        expect(self.limit is None or self.reads <= self.limit, "the run does not end")


def expect(holds: Any, message: str) -> None:
    """Raise AssertionError with this message unless a condition holds."""
    if not holds:
        raise AssertionError(message)


def run_all(subject: str, checks: Iterable[Check]) -> None:
    """Call all checks; an AssertionError names the first that fails, whatever it raised."""
    for name, check in checks:
        try:
            check()
        except Exception as error:
            said = str(error) if isinstance(error, AssertionError) else repr(error)
            raise AssertionError(f"{subject} fails {name}: {said}") from error


def rows(n: int = ROWS, seed: int = 1, d: int = 2) -> Floats:
    """Rows from one Gaussian with a scale of 4, which every location-scale model can express."""
    return 2.0 * np.random.default_rng(seed).standard_normal((n, d))


def clusters(model: Model, d: int, seed: int = 0) -> Floats:
    """Two overlapping clusters of scale 1; the centre is 0 for an even model only."""
    rng = np.random.default_rng([d, seed])
    means = rng.choice([-1.0, 1.0], (_CLUSTERED, 1)) * np.linspace(2.0, 1.0, d)
    if not model.even:
        means += np.linspace(1.0, 2.0, d)
    return means + rng.standard_normal((_CLUSTERED, d))


SAMPLES: dict[str, Callable[[], Sample]] = {
    "array": lambda: ArraySample(rows()),
    "weights": lambda: ArraySample(rows(), np.random.default_rng(0).integers(1, 4, ROWS)),
    "lattice": lambda: LatticeSample.gaussian(10**4, 2 if JIT else 1, seed=1, scale=4.0),
}


def one_gaussian(model: Model, sample: Sample) -> Floats:
    """The parameters of the one-Gaussian fit."""
    return model.truth(model.centre(sample.moments()), sample.d)


def start_for(model: Model, sample: Sample) -> Floats:
    """Not the default: coordinates differ, and so does the half sum from the centre."""
    start, middle = model.default_start(sample), one_gaussian(model, sample)
    return middle + (start - middle) * np.linspace(0.8, 1.0, len(start))


def points_of(model: Model, sample: Sample) -> list[Floats]:
    """A start that is not special, and where a few EM steps lead from there."""
    found = [start_for(model, sample)]
    for _ in range(3):
        found.append(model.em_step(sample, found[-1]))
    return found


def rounding(X: Floats, params: Floats, scale: Floats, order: int) -> float:
    """What rounding may do to a derivative of this order: roundings times the size of its terms.

    Terms are products of at most ``order + 1`` factors x.theta/s, |x|^2/s or 1, over a length sqrt(s)
    per derivative; a mean of n rows has n roundings at worst and the algebra a few dozen. Both sides of
    a comparison may err.
    """
    s = float(np.min(scale))
    reach = np.max(np.sum(np.square(X), axis=1)) + float(np.sum(np.square(params)))
    return float(2 * (len(X) + 32) * EPS * (1 + reach / s) ** (order + 1) / s ** (order / 2))
