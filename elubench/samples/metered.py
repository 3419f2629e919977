"""A sample that keeps a list of what is read of it, and need not read the same twice."""

from __future__ import annotations

import math

import numpy as np

from elubench.checks import Floats
from elubench.kernels import layout, reduction
from elubench.samples.base import SHAPE, RawMoments, Read, Sample, Shape, Sums

_SAME = 2.0**-46  # directions closer than this, in units of x.u + b, differ by rounding
_SHORT = 2.0**-29  # tanh is the identity on x.u + b of this size, and its derivative is 1


class Metered(Sample):
    """Another sample, with a list of its reads: of each the kind, and how much of all rows it was.

    ``passes`` counts them, a part of the rows as its share. What :meth:`remember` is given, and moments
    that have been read, are not read again.
    """

    def __init__(self, inner: Sample):
        self.inner, self.n, self.d = inner, inner.n, inner.d
        self.reads: list[tuple[Read, float]] = []
        self.passes = 0.0
        #: Directions, offsets and results of the last pass.
        self.last = (np.empty((0, self.d)), np.empty(0), np.empty((0, 0)))
        self._of: Metered | None = None  # the whole, of which this is a part; no cycle keeps rows
        self._known: list[Sums] = []
        self._shape: tuple[Floats, Floats, Shape] | None = None

    @property
    def n_weighted(self) -> int:
        return self.inner.n_weighted

    @property
    def share(self) -> float:
        return self.inner.share

    def moments(self) -> RawMoments:
        return self.inner.moments()

    def origin(self) -> Floats:
        return self.inner.origin()

    def about(self, origin: Floats) -> Sample:
        return self.part(self.inner.about(origin))

    def thinned(self, rows: int) -> Sample:
        return self.part(self.inner.thinned(rows))

    def farthest(self, count: int) -> Floats:
        return self.inner.farthest(count)

    def part(self, some: Sample) -> Metered:
        """A sample made from this one, on the same list."""
        if some is self.inner:
            return self
        made = Metered(some)
        made._of, made.reads = self._of or self, self.reads
        return made

    def remember(self, sums: Sums | None) -> None:
        """Take these for what a pass would bring."""
        if sums is not None:
            self._known.append(sums)

    def shape_about(self, centre: Floats, units: Floats, even: bool = False) -> Shape:
        if self._shape is not None:
            about, by, shape = self._shape
            if (about == centre).all() and (by == units).all():
                return shape
        self._note([(Read(SHAPE), self.inner.share)])
        shape = self.inner.shape_about(centre, units, even=even)
        self._shape = centre, units, shape
        return shape

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        if len(u) == 1:  # the usual question, and the quickest answer
            for one in self._known:
                if one.want & want == want and one.b == b[0] and (one.u == u[0]).all():
                    rows: Floats = one.row[None, : layout.width(self.d, want)]
                    self.last = u, b, rows
                    return rows
        known: list[Floats | None] = []
        if self._known or (self._shape is not None and self._may_be_short(u)):
            with np.errstate(all="ignore"):  # too large to square
                sizes = np.sqrt(u**2 @ self.moments().m2) + np.abs(b)
                if self._known or (sizes <= _SHORT).any():
                    known = [self._recalled(*each, want) for each in zip(u, b, sizes, strict=True)]
        if all(row is None for row in known):
            self._note(self.inner.reads_for(u, b, want))
            rows = self.inner.sums(u, b, want, even=even)
        else:
            missing = [place for place, row in enumerate(known) if row is None]
            rows = np.empty((len(u), layout.width(self.d, want)))
            if missing:
                self._note(self.inner.reads_for(u[missing], b[missing], want))
                rows[missing] = self.inner.sums(u[missing], b[missing], want, even=even)
            for place, row in enumerate(known):
                if row is not None:
                    rows[place] = row[: rows.shape[1]]
        self.last = u, b, rows
        return rows

    def _may_be_short(self, u: Floats) -> bool:
        """Whether a direction may be one along which tanh is the identity, by its first coordinate."""
        spread = math.sqrt(self.moments().m2[0])
        return bool(min(map(abs, u[:, 0].tolist()), default=math.inf) * spread <= _SHORT)

    def reads_for(self, u: Floats, b: Floats, want: int) -> list[tuple[Read, float]]:
        return self.inner.reads_for(u, b, want)

    def _recalled(self, u: Floats, b: float, size: float, want: int) -> Floats | None:
        """What a pass would bring for this direction, if that is known; ``size`` is that of x.u + b."""
        m = self.moments()
        for one in self._known:
            apart = math.sqrt(float((u - one.u) ** 2 @ m.m2)) + abs(b - one.b)
            if one.want & want == want and apart <= _SAME * size:
                return one.row
        if self._shape is None or not size <= _SHORT:
            return None
        centre, units, shape = self._shape
        crossed = np.outer(centre, m.m1)
        second = units * shape.second * units[:, None]  # about the centre, then about 0
        second += crossed + crossed.T - np.outer(centre, centre)
        t0, t1 = float(m.m1 @ u) + b, second @ u + b * m.m1
        log_cosh = 0.5 * (float(t1 @ u) + b * t0)
        return np.array([t0, *t1, log_cosh, 1.0, *m.m1, *second[reduction.lower_places(self.d)]])

    def _note(self, made: list[tuple[Read, float]]) -> None:
        whole = self._of or self
        part = self.n / whole.n
        whole.passes += part
        self.reads += [(read, part * share) for read, share in made]
