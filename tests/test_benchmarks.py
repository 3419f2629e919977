"""The benchmarks are what asv expects, check what they time, and print a table that fits a terminal.

That each of them runs is for `make bench-check` to see.
"""

import inspect
import pkgutil
from importlib import import_module

import numba
import numpy as np
import pytest
from conftest import needs_jit

import benchmarks
from benchmarks import kernels, limits, lines, profiles, radius, runs
from elubench.models.known import named

MODULES = [
    import_module(f"benchmarks.{found.name}") for found in pkgutil.iter_modules(benchmarks.__path__)
]
SUITES = [
    found
    for module in MODULES
    for name, found in inspect.getmembers(module, inspect.isclass)
    if found.__module__ == module.__name__
    and not name.startswith("_")
    and any(each.startswith(("time_", "timeraw_", "track_")) for each in dir(found))
]


@pytest.fixture(autouse=True)
def usual_threads():
    usual = numba.get_num_threads()
    yield
    numba.set_num_threads(usual)


@pytest.mark.parametrize("found", SUITES, ids=lambda found: found.__name__)
class TestSuite:
    def test_parameters_have_names(self, found):
        params = getattr(found, "params", ())
        assert len(params) == len(getattr(found, "param_names", ()))
        assert all(isinstance(values, list) and values for values in params)
        assert issubclass(found, profiles.Suite)

    def test_what_is_tracked_has_a_unit(self, found):
        for name, method in inspect.getmembers(found, inspect.isfunction):
            if name.startswith("track_"):
                assert method.unit, name

    def test_what_is_timed_is_prepared_once(self, found):
        """asv calls ``setup`` before each sample."""
        timed = [name for name in dir(found) if name.startswith("time_")]
        assert not timed or hasattr(found.setup, "__wrapped__")


def test_every_module_is_seen():
    assert {found.__module__.partition(".")[2] for found in SUITES} == {
        "growth", "kernels", "radius", "runs", "startup", "studies",
    }  # fmt: skip


class TestProfiles:
    def values(self, monkeypatch, name):
        monkeypatch.setenv(profiles.VARIABLE, name)
        return profiles.grid(10, 1000, regular=(100,), large=(1, 10_000))

    def test_a_larger_one_only_adds(self, monkeypatch):
        found = [set(self.values(monkeypatch, name)) for name in profiles.PROFILES]
        assert found[0] < found[1] < found[2] < found[3]

    def test_values(self, monkeypatch):
        assert self.values(monkeypatch, "smallest") == [10]
        assert self.values(monkeypatch, "") == [10, 1000]
        assert self.values(monkeypatch, "fast") == [10, 1000]
        assert self.values(monkeypatch, "large") == [1, 10, 100, 1000, 10_000]

    def test_names_keep_their_order(self, monkeypatch):
        monkeypatch.setenv(profiles.VARIABLE, "regular")
        assert profiles.grid("b", "a", regular=("c",)) == ["b", "a", "c"]

    def test_unknown_is_said(self, monkeypatch):
        with pytest.raises(ValueError, match=r"ELUBENCH_BENCH_PROFILE: .* got .huge."):
            self.values(monkeypatch, "huge")

    def test_setup_once(self):
        class Counted:
            calls = 0

            @profiles.once
            def setup(self, n):
                self.calls += 1

        counted = Counted()
        counted.setup(1)
        counted.setup(1)
        assert counted.calls == 1
        counted.setup(2)
        assert counted.calls == 2
        assert list(inspect.signature(Counted.setup).parameters) == ["self", "n"]


class TestRadius:
    @needs_jit
    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    def test_loss_is_the_model_s(self, model):
        """Ours in plain NumPy and the package's, up to a constant."""
        sample = radius.draw("lattice", 1000, 2, seed=0)
        start = radius.start_of(model, 2)
        points = [start, 0.7 * start + 0.05, 0.3 * start]
        ours = [radius.loss(sample.nodes, sample.counts, model, point) for point in points]
        gaps = named(model).gaps(sample, np.array(points))
        np.testing.assert_allclose(np.diff(ours), np.diff(gaps), rtol=1e-9)

    @needs_jit
    def test_a_wrong_run_is_not_kept(self):
        sample = radius.draw("array", 10_000, 1, seed=0)
        ended, reached = radius.to_radius(sample, "isotropic", "EM", 100)
        assert reached
        radius.check(sample, "isotropic", ended)
        with pytest.raises(AssertionError, match="at a distance"):
            radius.check(
                sample, "isotropic", type(ended)(**{**vars(ended), "params": ended.params + 1})
            )

    @needs_jit
    def test_what_does_not_arrive_counts_with_its_budget(self, monkeypatch):
        monkeypatch.setitem(radius.BUDGET, "array", 2)
        found = radius.measure("array", "isotropic", "EM", 10_000, 1)
        assert found == [(2, 2, 1)] * radius.SAMPLES
        benchmark, case = radius.Arrays(), ("isotropic", "EM", 10_000, 1)
        assert benchmark.track_iterations({case: found}, *case) == 2
        assert benchmark.track_passes({case: found}, *case) == 2
        assert benchmark.track_censored({case: found}, *case) == 100

    def test_what_went_wrong_fails_its_own_point(self):
        case = ("isotropic", "NoSuch", 1000, 1)
        found = radius.measure("array", *case)
        assert "NoSuch" in found
        with pytest.raises(RuntimeError, match="NoSuch"):
            radius.Arrays().track_passes({case: found}, *case)

    def test_combinations_that_there_are_not(self):
        there, missing = radius.split((["isotropic", "general"], ["EM", "CentredELU"], [10], [1]))
        assert missing == [("isotropic", "CentredELU", 10, 1)]
        assert len(there) == 3
        assert radius.split((["general"], ["EM"], [10, 100], [2]), most=20)[1] == [
            ("general", "EM", 100, 2)
        ]


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

    @pytest.mark.slow_without_jit
    def test_lines_fit(self, monkeypatch, capsys):
        """Every line with the longest numbers that it can have."""

        def took_long(cases, *_, **__):
            return {case: 0.0123 + place for place, case in enumerate(cases)}

        for module in (lines, limits):
            monkeypatch.setattr(module, "in_turns", took_long)
        monkeypatch.setattr(limits, "start_up", lambda rounds: [])
        monkeypatch.setattr(limits, "warmup", lambda: None)
        monkeypatch.setattr(limits, "parallel_from", lambda rounds: "")
        limits.main(["--scale", "0.001", "--rounds", "1"])
        printed = capsys.readouterr().out.splitlines()
        assert any("math.tanh" in line for line in printed)
        assert max(map(len, printed)) <= 80

    def test_in_turns_takes_every_case_in_every_round(self):
        calls = []
        took = limits.in_turns(
            {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3, 0
        )
        # four times to size a round, then in every round once untimed and once timed
        assert calls[8:] == ["a", "a", "b", "b"] * 3
        assert min(took.values()) > 0
