"""An odd value for one argument, of a function or a command: an answer, or a line that names it."""

import functools
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_jit
from study_tools import small

import elubench as eb
from elubench.cli import main
from fuzz.odd import ODD
from fuzz.test_fits import CASES, SEED

pytestmark = needs_jit

X = np.random.default_rng(0).standard_normal((40, 2)) + 4.0 * (np.arange(40) % 2)[:, None]


@functools.cache
def folder():
    return Path(tempfile.mkdtemp())


@functools.cache
def file():
    np.save(folder() / "x.npy", X)
    return folder() / "x.npy"


@functools.cache
def fitted():
    return eb.fit(X)


def study(**given):
    """The runs of a study with other values in it."""
    top = {key: given.pop(key) for key in ("seed", "name") if key in given}
    return eb.study_rows({**small(**given), **top})


def file_sample(path, **given):
    return eb.FileSample(file() if path is file else path, **given)


def run_study(**given):
    return eb.run_study(**given, out=Path(tempfile.mkdtemp(dir=folder())) / "out")


#: Functions, and usual values of arguments of theirs.
CALLS = {
    eb.run: {
        "sample": X, "model": "general", "algorithm": eb.EM(), "start": None, "max_iter": 3,
        "radius": None, "tol": None, "validation": None, "truth": None, "true_scale": None, "seed": 0,
        "driver": "auto",
    },
    eb.run_many: {
        "samples": [X, X], "model": "general", "algorithm": eb.EM(), "starts": None, "max_iter": 3,
        "radius": None, "tol": None, "validation": None, "truth": None, "true_scale": None, "seed": 0,
    },
    eb.ArraySample: {"X": X, "weights": None},
    eb.CondensedSample: {"X": X[:, :1], "weights": None},
    file_sample: {"path": file, "columns": None, "weights": None},
    eb.gaussian: {"n": 5, "d": 2, "seed": 0, "location": 0.0, "scale": 1.0},
    eb.LatticeSample: {"nodes": [[0.0], [1.0]], "counts": [2, 3]},
    eb.LatticeSample.gaussian: {"n": 5, "d": 2, "seed": 0, "location": 0.0, "scale": 1.0},
    eb.LatticeSample.mixture: {
        "n": 50, "d": 1, "locations": [[-1.0], [1.0]], "scale": 1.0, "weights": None, "seed": 0,
    },
    eb.radius: {"model": "general", "n": 100, "d": 2, "constant": 1.0, "of": "location"},
    eb.detectable: {"n": 100, "d": 1, "model": "general", "level": 0.01, "power": 0.9},
    eb.detection_power: {"n": 100, "d": 1, "half_distance": 1.0, "model": "general", "level": 0.01},
    eb.step_size_conditions: {"eta": 0.01, "beta": 0.8, "start": 0.5, "d": 1, "c1": None},
    eb.population.loss: {"model": "general", "theta": [0.1, 0.2], "scale": 1.0},
    eb.compare: {"X": X, "models": ["general"], "weights": None},
    eb.General: {"mixing": "equal"},
    eb.KnownScale: {"weight": 0.5, "scale": 1.0},
    eb.ELU: {"eta": 0.01, "beta": 0.8},
    eb.NewtonAnderson: {"precision": 0.01},
    eb.LBFGS: {"memory": 10, "gtol": 1e-13, "coordinates": "locations"},
    eb.Anderson: {"depth": 5, "a": 1.2, "kappa": 25.0},
    eb.DAAREM: {"order": 10, "a": 1.2, "kappa": 25.0, "slack": 0.01},
    eb.Simultaneous: {"first": eb.EM(), "second": eb.ELU(), "evidence": 5.0},
    lambda **given: eb.ArraySample(X).split(**given): {"fraction": 0.1, "seed": 0},
    lambda **given: eb.ArraySample(X).tanh_moments(**given): {"u": [0.1, 0.2], "b": 0.0},
    lambda **given: fitted().p_value(**given): {"draws": 9, "seed": 0},
    lambda **given: fitted().interval(**given): {"level": 0.9},
    lambda **given: fitted().predict_proba(**given): {"X": X},
    run_study: {
        "spec": small(n=[1000], replicates=1, max_iter=2), "engine": "local", "workers": None,
        "scheduler": None, "shard": "1/1",
    },
    study: {
        "seed": 0, "name": "study", "models": ["isotropic"], "d": [1], "n": [1000],
        "samples": "lattice", "replicates": 1, "algorithms": [{"name": "EM"}], "radius_constant": 2.0,
        "max_iter": 5, "traces": 0, "validation": None, "mle": False,
    },
}  # fmt: skip
ALL = [
    (call, name, place)
    for call, usual in CALLS.items()
    for name in usual
    for place in range(len(ODD))
]

#: What a sentence may begin with, where it is not the name: what does not go together.
OTHERS = {
    "X": "X|path", "sample": "sample|path", "starts": "start", "models": "model",
    "nodes": "nodes|counts", "weights": "weights|there is no column",
    "scale": "scale|locations|theta", "level": "level|n",
    "spec": "spec|no such preset|study: block",
}  # fmt: skip

#: Options of ``elubench fit``, and values of theirs.
OPTIONS = (
    "--model", "--mixing", "--algorithm", "--validation", "--seed", "--starts", "--max-iter", "--level",
    "--p-value", "--interval", "--weights", "--decimal", "--columns", "--engine", "--workers",
    "--scheduler", "--plot", "--predict", "--report",
)  # fmt: skip
WORDS = (
    "", " ", "0", "-1", "1e400", "nan", "inf", "-inf", "0.5", "1,2", ",", "x", "é", "\udcff", "a=b",
    "--", "9" * 5000, "None", "general", "em", "no/such/place.png", "2", "1" + "0" * 30, "a:b",
    "known-scale(", "known-scale(weight=2)", "0x10", "1_0",
)  # fmt: skip


def some(cases, count):
    """So many of the cases, in the order of the seed."""
    order = np.random.default_rng([SEED, 5]).permutation(len(cases))
    return [cases[place] for place in order[:count]]


def _label(case):
    return getattr(case, "__qualname__", str(case)).replace("<lambda>", "method")


@pytest.mark.parametrize(("call", "name", "place"), some(ALL, 2 * CASES), ids=_label)
def test_of_a_function(call, name, place):
    given = {**CALLS[call], name: ODD[place]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call(**given)
        except FileNotFoundError:
            assert name in ("X", "sample", "path")
        except (ValueError, TypeError) as error:
            said = str(error)
            assert re.search(rf"\b(?:{OTHERS.get(name, name)})", said), said
            assert "\n" not in said, said
            assert len(said) < 500, said
        except MemoryError:
            assert ODD[place] in (2**70, 1e308)


@pytest.mark.parametrize(
    ("option", "word"), some([(one, word) for one in OPTIONS for word in WORDS], CASES)
)
def test_of_a_command(option, word, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status = main(["fit", str(file()), option, word])
    out, said = capsys.readouterr()
    assert status in (0, 2), said
    if status == 0:
        assert "log-likelihood" in out
        return
    assert said.count("\n") == 1, said
    assert option in said or option[2:].replace("-", "_") in said or file().name in said, said
    assert "bug in elubench" not in said
    assert len(said) < 700 + len(word)
