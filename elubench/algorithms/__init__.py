"""Algorithms: options and one update each."""

from elubench.algorithms.base import Algorithm
from elubench.algorithms.elu import (
    ELU,
    CentredELU,
    GradientDescent,
    StepConditions,
    step_size_conditions,
)
from elubench.algorithms.em import EM
from elubench.algorithms.simultaneous import Simultaneous

__all__ = [
    "ELU",
    "EM",
    "Algorithm",
    "CentredELU",
    "GradientDescent",
    "Simultaneous",
    "StepConditions",
    "step_size_conditions",
]
