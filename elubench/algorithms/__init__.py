"""Algorithms: options and one update each."""

from elubench.algorithms.accelerated import SQUAREM, Anderson
from elubench.algorithms.base import Algorithm, Evaluation, ForeignAlgorithm
from elubench.algorithms.elu import (
    ELU,
    CentredELU,
    GradientDescent,
    StepConditions,
    step_size_conditions,
)
from elubench.algorithms.em import EM
from elubench.algorithms.gradient import NormalizedGD, Polyak
from elubench.algorithms.newton import NewtonAnderson
from elubench.algorithms.scipy_adapters import LBFGS, Newton
from elubench.algorithms.simultaneous import Simultaneous

__all__ = [
    "ELU",
    "EM",
    "LBFGS",
    "SQUAREM",
    "Algorithm",
    "Anderson",
    "CentredELU",
    "Evaluation",
    "ForeignAlgorithm",
    "GradientDescent",
    "Newton",
    "NewtonAnderson",
    "NormalizedGD",
    "Polyak",
    "Simultaneous",
    "StepConditions",
    "step_size_conditions",
]
