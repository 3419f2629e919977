"""A sample that keeps a list of what is read of it."""

from __future__ import annotations

from elubench.checks import Floats
from elubench.samples.base import SHAPE, RawMoments, Read, Sample, Shape


class Metered(Sample):
    """Another sample, with a list of its reads: of each the kind, and how much of all rows it was."""

    def __init__(self, inner: Sample):
        self.inner, self.n, self.d = inner, inner.n, inner.d
        self._unit = inner.n
        self.reads: list[tuple[Read, float]] = []

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
        made._unit, made.reads = self._unit, self.reads
        return made

    def shape_about(self, centre: Floats, units: Floats, even: bool = False) -> Shape:
        self._note([(Read(SHAPE), self.inner.share)])
        return self.inner.shape_about(centre, units, even=even)

    def sums(self, u: Floats, b: Floats, want: int, even: bool = False) -> Floats:
        self._note(self.inner.reads_for(u, b, want))
        return self.inner.sums(u, b, want, even=even)

    def reads_for(self, u: Floats, b: Floats, want: int) -> list[tuple[Read, float]]:
        return self.inner.reads_for(u, b, want)

    def _note(self, made: list[tuple[Read, float]]) -> None:
        part = self.n / self._unit
        self.reads += [(read, part * share) for read, share in made]
