"""Checks for algorithms and models from anywhere. May import runs and below; no room imports it.

``check_algorithm(MyAlgorithm)`` and ``check_model(MyModel)`` raise an AssertionError that names the
first check that fails. ``algorithm_checks`` and ``model_checks`` yield the same checks as pairs of a
name and a function, for parametrised tests.
"""

from elubench.testing.algorithms import algorithm_checks as algorithm_checks
from elubench.testing.algorithms import check_algorithm as check_algorithm
from elubench.testing.data import Elsewhere as Elsewhere
from elubench.testing.models import check_model as check_model
from elubench.testing.models import model_checks as model_checks
