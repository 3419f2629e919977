"""Which algorithm a fit runs, and what stops it."""

from __future__ import annotations

import math
import sys

import numpy as np

from elubench import checks
from elubench.algorithms import LBFGS, Algorithm, GradientDescent, Newton, NewtonAnderson
from elubench.algorithms.known import commands
from elubench.models import Model
from elubench.samples import Sample

# gain in log-likelihood at which NewtonAnderson stops, and for few rows, where a pass costs nothing
_PRECISION, _PRECISION_OF_FEW, _FEW = 1e-4, 1e-6, 1 << 15
# where the rows show one Gaussian: more digits would be those of noise
_COARSE = NewtonAnderson(0.01)
#: So few numbers have more maxima, and cost nothing.
FEW_NUMBERS = 4_000
_SMALL = 0.01  # share of EM's step at the radius, in standard deviations


def check_algorithm(algorithm: Algorithm | str) -> None:
    """Raise ValueError for what is neither an algorithm nor the name of one."""
    known = ("auto", *sorted(commands()))
    is_known = isinstance(algorithm, str) and algorithm in known
    if not (isinstance(algorithm, Algorithm) or is_known):
        raise ValueError(
            f"algorithm must be an Algorithm or one of {', '.join(known)}, got {checks.brief(algorithm)}"
        )


def tuned(name: str, sample: Sample) -> Algorithm:
    """The algorithm of this name, with the options that ``fit`` gives it for a sample."""
    if name == "auto":
        name = "newton-anderson" if sample.d <= NewtonAnderson.up_to else "lbfgs"
    if name == "newton-anderson":
        return NewtonAnderson(_PRECISION_OF_FEW if sample.n <= _FEW else _PRECISION)
    gtol = _SMALL * float(sample.n_weighted) ** -0.875
    if name == "lbfgs":
        return LBFGS(gtol=gtol, coordinates="natural")
    if name == "newton":
        return Newton(gtol=gtol)
    return commands()[name]()


def eased(algorithm: Algorithm, model: Model, sample: Sample) -> Algorithm:
    """The same where many rows show no more than one Gaussian, and a pass costs more than it is worth.

    In a valley Newton's model is less exact, and says so too late.
    """
    if not isinstance(algorithm, NewtonAnderson) or sample.n <= _FEW or _has_valleys(model):
        return algorithm
    return _COARSE.resolve(model)


def joined(model: Model, algorithm: Algorithm, sample: Sample) -> bool:
    """Whether valleys join the maxima, along which most runs end at the same one.

    The maxima of few rows are others, and all runs there cost next to nothing.
    """
    follows = isinstance(algorithm, NewtonAnderson) and _has_valleys(model)
    return follows and sample.n * sample.d > FEW_NUMBERS


def _has_valleys(model: Model) -> bool:
    return "scale per coordinate" in model.features


def tolerance(algorithm: Algorithm, sample: Sample) -> float | None:
    """The length of a step at which to stop, or None for an algorithm with a rule of its own.

    It is a hundredth of EM's step, n^(-7/8), at the radius n^(-1/8). Gradient descent makes steps of
    eta times the gradient, which is EM's step over the scale.
    """
    if algorithm.natural or algorithm.diverges:
        return None
    moments = sample.moments()
    small = _SMALL * float(sample.n_weighted) ** -0.875
    spread = math.sqrt(max(float(np.mean(moments.m2 - moments.m1**2)), 0.0))
    unit = spread
    if isinstance(algorithm, GradientDescent):
        unit = (algorithm.eta or 1.0) / spread
    return min(float(small * unit), sys.float_info.max)
