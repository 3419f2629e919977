"""One contract for every algorithm, model and sample of the package, later ones included."""

import pytest
from conftest import JIT, scaled

import elubench
from elubench import algorithms, gaussian, run
from elubench.algorithms.known import known as known_algorithms
from elubench.models.known import known as known_models
from elubench.testing import algorithm_checks, model_checks

# Compiled arithmetic overflows to infinity in silence; the same kernels as plain Python warn.
pytestmark = [] if JIT else [pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]

ALGORITHMS = list(known_algorithms().values())
MODELS = list(known_models().values())


def each(kinds, checks):
    return [
        pytest.param(check, id=f"{kind.__name__}-{name}")
        for kind in kinds
        for name, check in checks(kind)
    ]


def test_there_is_something_to_check():
    names = {found.__name__ for found in ALGORITHMS}
    assert {"EM", "ELU", "GradientDescent", "CentredELU", "Simultaneous"} <= names
    assert {found.__name__ for found in MODELS} == {
        "Isotropic",
        "Diagonal",
        "General",
        "KnownScale",
    }


@pytest.mark.parametrize("check", each(ALGORITHMS, algorithm_checks))
def test_algorithm(check):
    check()


@pytest.mark.parametrize("check", each(MODELS, model_checks))
def test_model(check):
    check()


@pytest.mark.parametrize("kind", [*ALGORITHMS, *MODELS], ids=lambda kind: kind.__name__)
def test_is_exported(kind):
    assert getattr(elubench, kind.__name__) is kind


def test_gaussian_rows_work_for_all():
    """What the first lines of the documentation do."""
    X = gaussian(n=scaled(2000, 100), d=2, seed=0)
    for model in MODELS:
        assert run(X, model.name, algorithms.EM(), max_iter=3).n_iter == 3
