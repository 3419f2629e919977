"""The benchmarks run, check what they time, and print a table that fits a terminal."""

import inspect

import numba
import numpy as np
import pytest
from conftest import needs_jit

from benchmarks import kernels, limits, runs, studies

CLASSES = [
    found
    for module in (kernels, runs, studies)
    for _, found in inspect.getmembers(module, inspect.isclass)
    if found.__module__ == module.__name__ and hasattr(found, "params")
]


@pytest.fixture(autouse=True)
def usual_threads():
    usual = numba.get_num_threads()
    yield
    numba.set_num_threads(usual)


@needs_jit
@pytest.mark.parametrize("found", CLASSES, ids=lambda found: found.__name__)
def test_every_benchmark_runs(found):
    """With its first parameters, the smallest."""
    assert len(found.params) == len(found.param_names)
    arguments = [values[0] for values in found.params]
    benchmark = found()
    benchmark.setup(*arguments)
    names = [name for name in dir(benchmark) if name.startswith(("time_", "track_"))]
    assert names
    for name in names:
        method = getattr(benchmark, name)
        result = method(*arguments)
        if name.startswith("track_"):
            assert np.isfinite(result)
            assert method.unit


@needs_jit
def test_a_wrong_pass_is_not_timed():
    X = np.random.default_rng(0).standard_normal((100, 2))
    sample = kernels.ArraySample(X)
    kernels.check_pass(sample, X, kernels.direction(2))
    with pytest.raises(AssertionError):
        kernels.check_pass(sample, X * 1.001, kernels.direction(2))


@needs_jit
def test_a_wrong_run_is_not_timed(monkeypatch):
    sample = kernels.ArraySample(np.random.default_rng(0).standard_normal((100, 2)))
    runs.check_em(sample, "general")
    monkeypatch.setattr(runs, "EM", runs.ELU)
    with pytest.raises(AssertionError):
        runs.check_em(sample, "general")


def test_too_many_threads_are_skipped():
    with pytest.raises(NotImplementedError):
        kernels.use_threads(numba.config.NUMBA_NUM_THREADS + 1)


@needs_jit
def test_references():
    x = np.random.default_rng(0).standard_normal(3 * kernels.SHARE + 5)
    np.testing.assert_allclose(kernels.add_up(x), x.sum(), rtol=0, atol=1e-9)
    t = np.tanh(0.7 * x - 0.1)
    expected = t.mean(), (t * x).mean()
    np.testing.assert_allclose(kernels.library_tanh(x, 0.7, -0.1), expected, rtol=0, atol=1e-12)


class TestTable:
    @pytest.mark.parametrize(
        ("target", "ratio", "reached"),
        [
            (">= 120", 119.9, False),
            (">= 120", 120.0, True),
            ("<= 2.5 s", 2.6, False),
            ("<= 2.5 s", 1, True),
        ],
    )
    def test_verdict(self, target, ratio, reached):
        line = limits.Line("what", target, "1 ms", ratio)
        assert line.reached is reached
        assert str(line).endswith("yes" if reached else "NO")

    @pytest.mark.parametrize(
        ("value", "text"),
        [(41.26, "41.3 s"), (0.5, "500 ms"), (0.00123, "1.23 ms"), (2.5e-5, "25 us")],
    )
    def test_seconds(self, value, text):
        assert limits.seconds(value) == text

    def test_lines_fit(self, monkeypatch, capsys):
        """Every line with the longest numbers that it can have."""
        monkeypatch.setattr(
            limits, "in_turns", lambda cases, *_: {k: 0.0123 + i for i, k in enumerate(cases)}
        )
        monkeypatch.setattr(limits, "start_up", lambda rounds: [])
        monkeypatch.setattr(limits, "parallel_from", lambda rounds: "")
        limits.main(["--scale", "0.001", "--rounds", "1"])
        lines = capsys.readouterr().out.splitlines()
        assert any("math.tanh" in line for line in lines)
        assert max(map(len, lines)) <= 80

    def test_in_turns_takes_every_case_in_every_round(self):
        calls = []
        took = limits.in_turns(
            {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3, 0
        )
        # twice to size a round, then in every round once untimed and once timed
        assert calls[4:] == ["a", "a", "b", "b"] * 3
        assert min(took.values()) > 0
