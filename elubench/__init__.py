"""Evidence for convergence rates of EM, ELU and their rivals.

The names below are loaded when first used, so that ``import elubench`` and ``elubench --help`` are
quick, compile nothing and start no threads.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "elubench.samples": ("ArraySample", "LatticeSample", "Sample", "gaussian"),
    "elubench.models": ("Diagonal", "General", "Isotropic", "Model"),
    "elubench.algorithms": (
        "ELU",
        "EM",
        "LBFGS",
        "SQUAREM",
        "Algorithm",
        "Anderson",
        "CentredELU",
        "GradientDescent",
        "Newton",
        "NewtonAnderson",
        "NormalizedGD",
        "Polyak",
        "Simultaneous",
        "step_size_conditions",
    ),
    "elubench.papers.beyond_em.theory": ("radius",),
    "elubench.runs.drivers": ("StationaryStartWarning",),
    "elubench.runs": ("Run", "run", "run_many"),
    "elubench.fits": ("Fit", "fit"),
    "elubench.kernels": ("kernel", "warmup"),
    "elubench.rates": ("fit_rates",),
    "elubench.studies": ("load_results", "load_traces", "run_study"),
    "elubench.papers.verifying": ("Verification", "verify"),
    "elubench.peers.asv": ("asv_results",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("lemmas", "population", "theory")

if TYPE_CHECKING:
    from elubench.algorithms import ELU as ELU
    from elubench.algorithms import EM as EM
    from elubench.algorithms import LBFGS as LBFGS
    from elubench.algorithms import SQUAREM as SQUAREM
    from elubench.algorithms import Algorithm as Algorithm
    from elubench.algorithms import Anderson as Anderson
    from elubench.algorithms import CentredELU as CentredELU
    from elubench.algorithms import GradientDescent as GradientDescent
    from elubench.algorithms import Newton as Newton
    from elubench.algorithms import NewtonAnderson as NewtonAnderson
    from elubench.algorithms import NormalizedGD as NormalizedGD
    from elubench.algorithms import Polyak as Polyak
    from elubench.algorithms import Simultaneous as Simultaneous
    from elubench.algorithms import step_size_conditions as step_size_conditions
    from elubench.fits import Fit as Fit
    from elubench.fits import fit as fit
    from elubench.kernels import kernel as kernel
    from elubench.kernels import warmup as warmup
    from elubench.models import Diagonal as Diagonal
    from elubench.models import General as General
    from elubench.models import Isotropic as Isotropic
    from elubench.models import Model as Model
    from elubench.papers.beyond_em import lemmas as lemmas
    from elubench.papers.beyond_em import population as population
    from elubench.papers.beyond_em import theory as theory
    from elubench.papers.beyond_em.theory import radius as radius
    from elubench.papers.verifying import Verification as Verification
    from elubench.papers.verifying import verify as verify
    from elubench.peers.asv import asv_results as asv_results
    from elubench.rates import fit_rates as fit_rates
    from elubench.runs import Run as Run
    from elubench.runs import run as run
    from elubench.runs import run_many as run_many
    from elubench.runs.drivers import StationaryStartWarning as StationaryStartWarning
    from elubench.samples import ArraySample as ArraySample
    from elubench.samples import LatticeSample as LatticeSample
    from elubench.samples import Sample as Sample
    from elubench.samples import gaussian as gaussian
    from elubench.studies import load_results as load_results
    from elubench.studies import load_traces as load_traces
    from elubench.studies import run_study as run_study

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"elubench.papers.beyond_em.{name}")
    raise AttributeError(f"module 'elubench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
