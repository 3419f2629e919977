"""EM: the next iterate is the EM step (equations 4 and 5 of the paper, and their like in B and C)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elubench.algorithms.base import Algorithm
from elubench.kernels import kernel, signatures
from elubench.kernels.vectors import copy


@kernel("exact", signatures.UPDATE)
def _update(
    options: Any,
    state: Any,
    t: int,
    points: Any,
    em: Any,
    gradient: Any,
    gap: Any,
    hessian: Any,
    iterate: Any,
    report: Any,
) -> None:
    copy(em[0], points[0])
    copy(em[0], iterate)
    report[0], report[1], report[2] = 1.0, 1.0, 0.0


@dataclass(frozen=True)
class EM(Algorithm):
    """Expectation-maximisation. It never raises the loss."""

    update = staticmethod(_update)
