"""One contract for every algorithm, model and sample of the package, later ones included."""

import numpy as np
import pytest
from conftest import JIT, scaled

import elubench
from elubench import algorithms, gaussian, run
from elubench.algorithms.known import known as known_algorithms
from elubench.models.known import known as known_models
from elubench.samples import ArraySample, DaskSample, FileSample
from elubench.testing import check_algorithm, check_model
from elubench.testing.algorithms import expect_same
from elubench.testing.data import rows, start_for

# Compiled arithmetic overflows to infinity in silence; the same kernels as plain Python warn.
pytestmark = [] if JIT else [pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")]

ALGORITHMS = list(known_algorithms().values())
MODELS = list(known_models().values())


def test_there_is_something_to_check():
    names = {found.__name__ for found in ALGORITHMS}
    assert {"EM", "ELU", "GradientDescent", "CentredELU", "Simultaneous"} <= names
    assert {found.__name__ for found in MODELS} == {
        "Isotropic",
        "Diagonal",
        "General",
        "KnownScale",
    }


@pytest.mark.parametrize("model", MODELS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda kind: kind.__name__)
def test_algorithm(algorithm, model):
    check_algorithm(algorithm, [model])


@pytest.mark.parametrize("model", MODELS, ids=lambda kind: kind.__name__)
def test_model(model):
    check_model(model)


@pytest.mark.parametrize("kind", [*ALGORITHMS, *MODELS], ids=lambda kind: kind.__name__)
def test_is_exported(kind):
    assert getattr(elubench, kind.__name__) is kind


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The rows of an ArraySample in a file, and on a Dask cluster in this process."""
    X = rows(scaled(9000, 40))
    path = tmp_path_factory.mktemp("contract") / "x.npy"
    np.save(path, X)
    with (
        pytest.importorskip("distributed").Client(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0",
            set_as_default=False,
        ) as client,
        DaskSample(path, client=client) as on_workers,
    ):  # fmt: skip
        yield ArraySample(X), FileSample(path), on_workers


@pytest.mark.parametrize("model", MODELS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda kind: kind.__name__)
def test_runs_are_the_same_wherever_the_rows_are(algorithm, model, elsewhere):
    memory, in_a_file, on_workers = elsewhere
    one = model()
    try:
        algorithm().resolve(one)
    except ValueError:
        pytest.skip(f"{algorithm.__name__} does not fit {model.__name__}")
    start = start_for(one, memory)
    expected = run(memory, one, algorithm(), start, max_iter=3)
    others = [in_a_file]
    if one.name == "general" or algorithm is algorithms.EM:  # the same questions, asked more slowly
        others.append(on_workers)
    for sample in others:
        expect_same(expected, run(sample, one, algorithm(), start, max_iter=3))


def test_gaussian_rows_work_for_all():
    """What the first lines of the documentation do."""
    X = gaussian(n=scaled(2000, 100), d=2, seed=0)
    for model in MODELS:
        assert run(X, model.name, algorithms.EM(), max_iter=3).n_iter == 3
