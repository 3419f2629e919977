"""The document on extending the package: its files run as they are printed, and are right."""

import importlib
import math
import re
import sys

import numpy as np
import pytest
from conftest import ROOT, needs_jit, scaled
from elsewhere import Elsewhere
from naive import EPS, log_cosh

import elubench as eb

DOCUMENT = (ROOT / "EXTENDING.md").read_text()
FILES = dict(re.findall(r"^`(\w+\.(?:py|toml))`\n\n```\w+\n(.*?)^```$", DOCUMENT, re.S | re.M))
FILES.pop("claims.toml")  # test_own_paper.py runs the paper's files
USE = re.findall(r"^```python\n(import elubench as eb\n.*?)^```$", DOCUMENT, re.S | re.M)
CHECKS = re.findall(r"^```python\n(from elubench.testing .*?)^```$", DOCUMENT, re.S | re.M)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The files of the document, written to a folder of their own and imported from there."""
    folder = tmp_path_factory.mktemp("extension")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    written = [name.removesuffix(".py") for name in FILES if name.endswith(".py")]
    yield {"folder": folder, **{f"{name}.py": importlib.import_module(name) for name in written}}
    sys.path.remove(str(folder))
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def algorithm(modules):
    return modules["overrelaxed.py"].OverrelaxedEM


@pytest.fixture
def model(modules):
    return modules["unit_scale.py"].UnitScale()


@pytest.fixture
def X():
    return eb.gaussian(scaled(2000, 60), 3, seed=1)


def trace(result):
    return result.trace.filter(like="param_").to_numpy()


def test_the_document_has_an_example_of_each_and_their_use():
    assert list(FILES) == ["overrelaxed.py", "unit_scale.py", "grid.toml"]
    assert len(USE) == len(CHECKS) == 1
    assert max(map(len, DOCUMENT.splitlines())) <= 105


def test_the_lines_at_the_end(modules):
    """To a radius of 0.05 from theta = 1 an ODE of which omega is the speed: 1.8 times, nearly."""
    names = {}
    exec(USE[0], names)
    quick, usual = names["quick"], names["usual"]
    assert quick.status == usual.status == "reached"
    assert usual.n_iter / quick.n_iter == pytest.approx(1.8, rel=0.05)


@needs_jit
def test_what_to_check(algorithm, model):
    exec(CHECKS[0], {"OverrelaxedEM": algorithm, "UnitScale": type(model)})


class TestAlgorithm:
    @pytest.mark.parametrize("name", ["isotropic", "diagonal", "general"])
    def test_on_the_models_of_the_package(self, algorithm, X, name):
        own = eb.run(X, name, eb.EM(), max_iter=0).model
        sample = eb.ArraySample(X)
        got = trace(eb.run(sample, name, algorithm(1.5), max_iter=8))
        theta = own.default_start(sample)
        for t in range(9):
            np.testing.assert_allclose(got[t], theta, rtol=0, atol=16 * (t + 1) * EPS)
            theta = theta + 1.5 * (own.em_step(sample, theta) - theta)

    def test_drivers_agree(self, algorithm, X):
        one = eb.run(X, "general", algorithm(), max_iter=20)
        two = eb.run(Elsewhere(eb.ArraySample(X)), "general", algorithm(), max_iter=20)
        many = eb.run_many([X, X], "general", algorithm(), max_iter=20)
        for other in (two, *many):
            assert trace(other).tobytes() == trace(one).tobytes()

    def test_options(self, algorithm):
        assert algorithm().name == "OverrelaxedEM"
        with pytest.raises(ValueError, match=r"omega must be in \(0, 2\), got 2.5"):
            algorithm(2.5)


class TestModel:
    def test_loss_is_that_of_its_density(self, model, X):
        theta = np.array([0.4, -0.3, 0.2])
        sample = eb.ArraySample(X)
        y = X @ theta
        constant = 1.5 * math.log(2 * math.pi) + np.mean(np.sum(X**2, axis=1)) / 2
        expected = constant + theta @ theta / 2 - np.mean(log_cosh(y))
        # n terms of size 10, both sides
        assert model.loss(sample, theta) == pytest.approx(expected, abs=20 * len(X) * EPS)
        assert model.scale(sample, theta).tolist() == [1.0]

    def test_derivatives(self, model, X):
        sample, theta, h = eb.ArraySample(X), np.array([0.4, -0.3, 0.2]), 1e-5
        gradient, hessian = model.gradient(sample, theta), model.hessian(sample, theta)
        for j, step in enumerate(np.eye(3) * h):
            slope = (model.gap(sample, theta + step) - model.gap(sample, theta - step)) / (2 * h)
            assert slope == pytest.approx(gradient[j], abs=1e-8)
            bend = (model.gradient(sample, theta + step) - model.gradient(sample, theta - step)) / (
                2 * h
            )
            np.testing.assert_allclose(bend, hessian[j], rtol=0, atol=1e-8)

    @pytest.mark.parametrize("name", ["EM", "ELU", "GradientDescent", "Simultaneous", "SQUAREM"])
    def test_with_the_algorithms_of_the_package(self, model, X, name):
        got = eb.run(X, model, getattr(eb, name)(), max_iter=15, validation=0.2)
        assert got.n_iter > 0
        assert np.isfinite(got.params).all()
        assert got.scale.tolist() == [1.0]

    def test_what_it_has_not_is_refused_by_name(self, model, X):
        with pytest.raises(ValueError, match=r"CentredELU needs .*; UnitScale has none"):
            eb.run(X, model, eb.CentredELU())

    @needs_jit
    def test_em_takes_the_square_root_of_n_iterations(self, model):
        """Known from the literature: radius n^(-1/4), n^(1/2) iterations."""
        sizes, iterations = [10**6, 10**8], []
        for n in sizes:
            sample = eb.LatticeSample.gaussian(n, 1, seed=1)
            got = eb.run(sample, model, eb.EM(), radius=2 * n**-0.25, max_iter=10**6, metrics=False)
            iterations.append(got.n_iter)
        assert math.log10(iterations[1] / iterations[0]) / 2 == pytest.approx(0.5, abs=0.1)


@needs_jit
def test_the_study_runs_with_the_classes_beside_it(modules, tmp_path):
    eb.run_study(modules["folder"] / "grid.toml", tmp_path / "out")
    rows = eb.load_results(tmp_path / "out")
    assert set(rows["algorithm"]) == {"EM", "overrelaxed:OverrelaxedEM"}
    assert set(rows["model"]) == {"unit_scale:UnitScale"}
    times = rows.groupby("algorithm")["iterations_to_radius"].median()
    ratio = times["EM"] / times["overrelaxed:OverrelaxedEM"]
    assert ratio == pytest.approx(1.8, rel=0.1)
