"""A sample that is not in memory, as far as a run can tell: only the Python driver can use it."""

from elubench import Sample


class Elsewhere(Sample):
    """Passes questions on to a sample and counts them.

    ``interrupt`` presses Ctrl-C in that read; more reads than ``limit`` are a run without end.
    """

    def __init__(self, inner, interrupt=None, limit=None):
        self.inner, self.n, self.d = inner, inner.n, inner.d
        self.reads, self.interrupt, self.limit = 0, interrupt, limit

    def moments(self):
        return self.inner.moments()

    def sums(self, u, b, want, even=False):
        self.reads += 1
        if self.reads == self.interrupt:
            raise KeyboardInterrupt
        assert self.limit is None or self.reads <= self.limit, "the run does not end"
        return self.inner.sums(u, b, want, even=even)


class Splitting(Elsewhere):
    """One that can hold out a share, too."""

    def split(self, fraction=0.1, seed=0):
        self.parts = [Elsewhere(part) for part in self.inner.split(fraction, seed)]
        return tuple(self.parts)
