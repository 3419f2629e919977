"""What the hardware allows: reading the data once, and computing tanh alone."""

from __future__ import annotations

from elubench.checks import Floats
from elubench.kernels import hardware
from elubench.peers.base import Adapter, Mixture


class Reading(Adapter):
    """All threads read the data once and do nothing with them."""

    compiles = True

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.X = X.reshape(-1)

    def iterate(self, count: int) -> None:
        for _ in range(count):
            hardware.add_up(self.X)


class Tanh(Adapter):
    """All threads compute a tanh per row, on numbers that are in the cache."""

    compiles = True

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.rows = len(X)

    def iterate(self, count: int) -> None:
        for _ in range(count):
            hardware.tanh_in_cache(self.rows)
