"""Over-relaxed EM: theta <- theta + omega (EM step - theta)."""

from dataclasses import dataclass

from elubench import Algorithm, checks, kernel
from elubench.kernels import layout, signatures


@kernel("exact", signatures.UPDATE)
def _update(own, points, answers, iterate, report):
    omega = own.options[0]
    for j in range(iterate.size):
        points[0, j] += omega * (answers.em[0, j] - points[0, j])
    iterate[:] = points[0]  # accepted unseen; the run checks that its scale is positive
    layout.accept(report, omega)


@dataclass(frozen=True)
class OverrelaxedEM(Algorithm):
    """EM steps, omega times as long. Not monotone far from the solution."""

    omega: float = 1.8
    update = staticmethod(_update)

    def __post_init__(self):
        checks.real(self.omega, "omega", above=0.0, below=2.0)
