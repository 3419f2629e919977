"""Algorithms: options and one update each. May import models and below, and knows no data."""

from elubench.algorithms.accelerated import SQUAREM as SQUAREM
from elubench.algorithms.accelerated import Anderson as Anderson
from elubench.algorithms.base import Algorithm as Algorithm
from elubench.algorithms.elu import ELU as ELU
from elubench.algorithms.elu import CentredELU as CentredELU
from elubench.algorithms.elu import GradientDescent as GradientDescent
from elubench.algorithms.em import EM as EM
from elubench.algorithms.gradient import NormalizedGD as NormalizedGD
from elubench.algorithms.gradient import Polyak as Polyak
from elubench.algorithms.newton import NewtonAnderson as NewtonAnderson
from elubench.algorithms.scipy_adapters import LBFGS as LBFGS
from elubench.algorithms.scipy_adapters import Newton as Newton
from elubench.algorithms.simultaneous import Simultaneous as Simultaneous
