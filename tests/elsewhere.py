"""The counting sample of ``elubench.testing``, and one that can hold out a share, too."""

from elubench.testing import Elsewhere as Elsewhere


class Splitting(Elsewhere):
    """One that can hold out a share, too."""

    def split(self, fraction=0.1, seed=0):
        self.parts = [Elsewhere(part) for part in self.inner.split(fraction, seed)]
        return tuple(self.parts)
