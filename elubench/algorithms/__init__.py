"""Algorithms: options and one update each. May import models and below, and knows no data."""

from elubench.algorithms.anderson import Anderson as Anderson
from elubench.algorithms.base import Algorithm as Algorithm
from elubench.algorithms.cubic_newton import CubicNewton as CubicNewton
from elubench.algorithms.daarem import DAAREM as DAAREM
from elubench.algorithms.elu import ELU as ELU
from elubench.algorithms.elu import CentredELU as CentredELU
from elubench.algorithms.em import EM as EM
from elubench.algorithms.gd_polyak import GDPolyak as GDPolyak
from elubench.algorithms.gradient_descent import GradientDescent as GradientDescent
from elubench.algorithms.lbfgs import LBFGS as LBFGS
from elubench.algorithms.moments import Moments as Moments
from elubench.algorithms.nesterov import Nesterov as Nesterov
from elubench.algorithms.newton import Newton as Newton
from elubench.algorithms.newton_anderson import NewtonAnderson as NewtonAnderson
from elubench.algorithms.norm_gd import NormGD as NormGD
from elubench.algorithms.normalized_gd import NormalizedGD as NormalizedGD
from elubench.algorithms.parabolic_em import ParabolicEM as ParabolicEM
from elubench.algorithms.polyak import Polyak as Polyak
from elubench.algorithms.quasi_newton import QuasiNewton as QuasiNewton
from elubench.algorithms.simultaneous import Simultaneous as Simultaneous
from elubench.algorithms.squarem import SQUAREM as SQUAREM
