"""Peers: adapters compute what they are timed for; missing, crashing and slow ones do no harm."""

import io
import json
import math
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import fake_peers
import numpy as np
import pandas as pd
import pytest
from conftest import JIT, PATIENCE, ROOT, needs_jit

import elubench as eb
from elubench import cli
from elubench.kernels import hardware
from elubench.kernels.lanes import WIDE
from elubench.peers import (
    PEERS,
    Judge,
    Mixture,
    Peer,
    as_text,
    base,
    compare,
    comparison,
    heats,
    known,
    lineup,
    load,
    own,
    processes,
    rounds,
    worker,
)
from elubench.peers import printed as tables
from elubench.peers.figure import peers_figure, save_peers_figure
from elubench.peers.processes import Failed, NotInstalled, Worker

TESTS = Path(__file__).parent
ADAPTERS = {
    name: getattr(import_module(module), name)
    for module, name in (peer.adapter.split(":") for peer in PEERS)
}


def fake(name, **options):
    return Peer(name.lower(), f"fake_peers:{name}", **options)


# What is computed


def densities(X, mixture):
    """Weighted densities (n, 2), spelled out."""
    n, d = X.shape
    out = np.empty((n, 2))
    for k in range(2):
        variance = np.broadcast_to(mixture.variances[k], d)
        square = ((X - mixture.means[k]) ** 2 / variance).sum(axis=1)
        out[:, k] = (
            mixture.weights[k] * np.exp(-square / 2) / np.sqrt(np.prod(2 * np.pi * variance))
        )
    return out


def free_em(X, mixture, count, kind):
    """EM with free weights, means and variances: one a component, or one a coordinate, too."""
    for _ in range(count):
        p = densities(X, mixture)
        r = p / p.sum(axis=1, keepdims=True)
        sizes = r.sum(axis=0)
        means = (r.T @ X) / sizes[:, None]
        spreads = np.stack(
            [(r[:, k, None] * (X - means[k]) ** 2).sum(axis=0) / sizes[k] for k in range(2)]
        )
        variances = spreads.mean(axis=1) if kind == "spherical" else spreads
        mixture = Mixture(sizes / len(X), means, variances)
    return mixture


def constrained_em(X, mixture, count):
    theta, scale = mixture.means[1], mixture.variances[0]
    for _ in range(count):
        p = densities(X, Mixture.symmetric(theta, scale))
        r = p[:, 1] / p.sum(axis=1)
        theta = ((2 * r - 1)[:, None] * X).mean(axis=0)
        scale = (X**2).mean() - theta @ theta / len(theta)
    return Mixture.symmetric(theta, scale)


def same(got, expected, tolerance):
    for one, other in zip(got, expected, strict=True):
        shape = np.broadcast_shapes(np.shape(one), np.shape(other))
        np.testing.assert_allclose(
            np.broadcast_to(one, shape), np.broadcast_to(other, shape), rtol=0, atol=tolerance
        )


def by_coordinate(mixture, d):
    variances = np.asarray(mixture.variances)
    if variances.ndim == 1:
        variances = np.repeat(variances[:, None], d, axis=1)
    return mixture._replace(variances=variances)


def made(name, X, module=None):
    if module is not None:
        pytest.importorskip(module)
    adapter = ADAPTERS[name]()
    adapter.load()
    adapter.prepare(X, base.common_start(X))
    return adapter


def made_in_r(name, X):
    try:
        return made(name, X)
    except ModuleNotFoundError as missing:
        pytest.skip(str(missing))


SIZE = 1500


@pytest.fixture(scope="module", params=[1, 3])
def X(request):
    return eb.gaussian(SIZE, request.param, seed=7)


class TestAdapters:
    def test_start(self, X):
        start = base.common_start(X)
        assert start.half_distance == pytest.approx(base.START_NORM, rel=1e-15)
        second = (start.means[1] ** 2).sum() / X.shape[1] + start.variances[0]
        assert second == pytest.approx((X**2).mean(), rel=1e-13)

    def test_loss(self, X):
        d = X.shape[1]
        means = np.array([np.linspace(-1, 0, d), np.linspace(0.5, 2, d)])
        for variances in (np.array([0.5, 2.0]), np.linspace(0.5, 2, 2 * d).reshape(2, d)):
            mixture = Mixture(np.array([0.3, 0.7]), means, variances)
            expected = -np.log(densities(X, mixture).sum(axis=1)).mean()
            assert base.mean_loss(X, mixture) == pytest.approx(expected, rel=1e-13)

    def test_loss_of_the_constrained_model_is_that_of_the_package(self, X):
        theta = np.full(X.shape[1], 0.3)
        sample, model = eb.ArraySample(X), eb.Isotropic()
        mixture = Mixture.symmetric(theta, model.scale(sample, theta)[0])
        assert base.mean_loss(X, mixture) == pytest.approx(model.loss(sample, theta), rel=1e-13)

    def test_loss_of_no_mixture(self, X):
        theta = np.full(X.shape[1], 0.3)
        assert math.isnan(base.mean_loss(X, Mixture.symmetric(theta, -1.0)))
        assert math.isnan(base.mean_loss(X, Mixture.symmetric(theta * np.nan, 1.0)))

    @pytest.mark.parametrize("name", ["Elubench", "NumPy"])
    @pytest.mark.parametrize("count", [1, 5])
    def test_same_model(self, name, count, X):
        expected = constrained_em(X, base.common_start(X), count)
        same(made(name, X).iterate(count), expected, 1e-13)

    @pytest.mark.parametrize("count", [1, 5])
    def test_scikit_learn(self, count, X):
        expected = free_em(X, base.common_start(X), count, "spherical")
        same(made("ScikitLearn", X, "sklearn").iterate(count), expected, 1e-12)

    @pytest.mark.parametrize("count", [1, 200])
    def test_scikit_learn_on_mirrored_rows_fits_the_constrained_model(self, count, X):
        expected = constrained_em(X, base.common_start(X), count)
        got = made("ScikitLearnMirrored", X, "sklearn").iterate(count)
        same(got, expected, 1e-12)  # rounding does not break the symmetry

    @pytest.mark.parametrize("count", [1, 5, 100])
    def test_mclust_fits_general_locations(self, count, X):
        """The same start, the same number of EM steps: R's Fortran and our kernels agree."""
        got = made_in_r("Mclust", X).iterate(count)
        start = base.common_start(X).means.ravel()
        run = eb.run(X, "general", eb.EM(), start, max_iter=count, metrics=False)
        expected = Mixture(
            np.full(2, 0.5), run.params.reshape(2, -1), np.full(2, float(run.scale[0]))
        )
        same(got, expected, 1e-10)

    def test_stepmix(self, X):
        """From where its own first iteration came to."""
        adapter = made("StepMix", X, "stepmix")
        # it adds 1e-6 to every variance
        same(adapter.iterate(6), free_em(X, adapter.iterate(1), 5, "spherical"), 1e-4)

    def test_mlpack(self, X):
        """From where its own first iteration came to."""
        adapter = made("Mlpack", X, "mlpack")
        same(adapter.iterate(6), free_em(X, adapter.iterate(1), 5, "diagonal"), 1e-12)

    def test_gmmx(self, X):
        d = X.shape[1]
        got = made("Gmmx", X, "gmmx").iterate(5)
        expected = free_em(X, by_coordinate(base.common_start(X), d), 5, "diagonal")
        same(got, expected, 2e-5)

    def test_pomegranate(self, X):
        d = X.shape[1]
        got = made("Pomegranate", X, "pomegranate").iterate(5)
        expected = by_coordinate(free_em(X, base.common_start(X), 5, "spherical"), d)
        same(got, expected, 2e-6)

    def test_loss_for_scipy(self, X):
        adapter, model, sample = made("SciPy", X), eb.Isotropic(), eb.ArraySample(X)
        theta = np.linspace(0.2, 0.4, X.shape[1])
        loss, gradient = adapter.loss(theta)
        assert loss == pytest.approx(model.loss(sample, theta), rel=1e-13)
        np.testing.assert_allclose(gradient, model.gradient(sample, theta), rtol=0, atol=1e-12)
        assert adapter.loss(theta * 100)[0] == math.inf

    def test_too_few_iterations_are_noticed(self, X, monkeypatch):
        adapter = made("ScikitLearn", X, "sklearn")
        monkeypatch.setattr(adapter, "_mixture", lambda **_: type(adapter)._mixture(adapter))
        with pytest.raises(RuntimeError, match="instead of 50"):
            adapter.iterate(50)

    def test_every_peer_has_an_adapter(self):
        for peer in PEERS:
            module, _, name = peer.adapter.partition(":")
            assert module.startswith("elubench.peers.")
            adapter = ADAPTERS[name]
            assert peer.iterates == (adapter.iterate is not base.Adapter.iterate) or name == "SciPy"
            assert bool(peer.solvers) == (adapter.solve is not base.Adapter.solve)
            assert (peer.model == "same" or peer.model == "limit") == (not peer.note)
            assert bool(peer.get) == bool(adapter.modules)

    def test_limits(self):
        x = np.random.default_rng(0).standard_normal(3 * hardware.SHARE + 5)
        np.testing.assert_allclose(hardware.add_up(x), x.sum(), rtol=0, atol=1e-9)
        held, t = hardware.IN_CACHE, 3.0
        for _ in range(hardware.SHARE // held):  # so often the buffer is gone through for a share
            t = math.tanh(t)
        assert abs(hardware.tanh_in_cache(2 * hardware.SHARE) - 2 * held * t) < 1e-11
        few = WIDE * math.tanh(3.0) + (held - WIDE) * 3.0  # five numbers take as long as these
        assert abs(hardware.tanh_in_cache(5) - few) < 1e-11
        for name in ("Reading", "Tanh"):
            assert made(name, x[:2000, None]).iterate(2) is None


class TestJudge:
    def judge(self, radius=0.5, optimum=1.0, budget=100.0):
        X = np.random.default_rng(0).standard_normal((500, 1))
        return Judge(X, radius, optimum, budget)

    def test_clock_stands_still(self, monkeypatch):
        clock = Clock()
        monkeypatch.setattr(base, "time", clock)
        monkeypatch.setattr(base, "mean_loss", lambda *_: clock.sleep(0.25) or 2.0)
        judge = self.judge()
        judge.begin()
        for count in range(3):
            clock.sleep(0.5)
            assert not judge.look(count, Mixture.symmetric(np.ones(1), 0.5))
        assert judge.seconds == 1.5

    def test_both_answers(self, monkeypatch):
        losses = iter([1.0 + 2e-9, 1.0 + 0.9e-9])
        monkeypatch.setattr(base, "mean_loss", lambda *_: next(losses))
        judge = self.judge()
        assert not judge.look(1, Mixture.symmetric(np.array([0.5]), 0.5), 1.0)
        assert judge.look(4, Mixture.symmetric(np.array([0.9]), 0.5), 2.0)
        seen = judge.verdict()
        assert (seen["radius"], seen["loss"]) == ((1.0, 1), (2.0, 4))

    def test_budget(self):
        judge = self.judge(budget=1.0, optimum=-math.inf)
        assert not judge.look(1, Mixture.symmetric(np.ones(1), 0.5), 1.0)
        assert judge.look(2, Mixture.symmetric(np.ones(1), 0.5), 1.1)
        assert judge.verdict()["radius"] is None


@pytest.fixture(scope="module")
def goal():
    n = 2000
    session = worker.Session(fake_peers.Steady)
    return n, session.optimum(n, 1, eb.radius("isotropic", n, 1))


class TestSolvers:
    def solve(self, name, label, goal, budget=PATIENCE, **changes):
        n, best = goal
        session = worker.Session(ADAPTERS[name])
        session.prepare(n, 1, best["seed"], solving=True)
        asked = {"radius": eb.radius("isotropic", n, 1), "optimum": best["loss"], **changes}
        return session.solve(label, budget=budget, **asked)

    @pytest.mark.parametrize("label", known.ELUBENCH.solvers)
    def test_elubench(self, label, goal):
        if not JIT and label not in ("fit(auto)", "NewtonAnderson"):
            pytest.skip("takes too long without the JIT")
        seen = self.solve("Elubench", label, goal)
        assert seen["radius"] is not None
        if label == "NewtonAnderson":
            assert seen["loss"] is not None
        assert 0 < seen["seconds"] < PATIENCE

    @needs_jit
    def test_em_takes_its_time_and_no_more(self, goal, monkeypatch):
        def timed(*args, **options):  # as if an iteration took 10 us, on any machine
            made = eb.run(*args, **options)
            columns = made.columns | {"seconds": 1e-5 * made.columns["t"]}
            return replace(made, seconds=1e-5 * made.n_iter, columns=columns)

        monkeypatch.setattr(own, "run", timed)
        monkeypatch.setattr(own, "time", Clock())
        seen = self.solve("Elubench", "EM", goal, budget=0.2, optimum=-math.inf)
        assert seen["loss"] is None
        assert seen["ended"] == "budget"
        assert 0.1 < seen["seconds"] < 0.25

    def test_optimum(self, goal):
        n, best = goal
        X = eb.gaussian(n, 1, best["seed"])
        grid = np.linspace(0, 0.5, 101)
        losses = [
            base.mean_loss(X, Mixture.symmetric(np.array([t]), (X**2).mean() - t * t)) for t in grid
        ]
        assert best["loss"] <= min(losses) + 1e-12
        assert best["half_distance"] <= 0.8 * eb.radius("isotropic", n, 1)

    def test_optimum_out_of_reach(self, monkeypatch):
        monkeypatch.setattr(worker, "_MOST_SEEDS", 1)
        with pytest.raises(RuntimeError, match="none of 1 samples"):
            worker.Session(fake_peers.Steady).optimum(1000, 1, -1.0)

    def test_scipy(self, goal):
        seen = self.solve("SciPy", "L-BFGS", goal)
        assert None not in (seen["radius"], seen["loss"])
        assert seen["ended"] == "budget"
        longer = self.solve("SciPy", "L-BFGS", goal, optimum=-math.inf)
        assert longer["loss"] is None
        assert longer["iterations"] >= seen["iterations"]
        assert longer["ended"] != "budget"

    def test_scikit_learn(self, goal):
        pytest.importorskip("sklearn")
        default = self.solve("ScikitLearn", "tol=1e-3", goal)
        assert default["ended"] == "converged"
        assert default["radius"] is None
        tight = self.solve("ScikitLearn", "tol=0", goal)
        assert tight["radius"][1] > default["iterations"]
        assert tight["loss"] is not None

    def test_mirrored_rows(self, goal):
        pytest.importorskip("sklearn")
        seen = self.solve("ScikitLearnMirrored", "tol=0", goal)
        assert None not in (seen["radius"], seen["loss"])

    def test_mclust(self, goal):
        made_in_r("Mclust", np.array([[1.0], [2.0], [4.0]]))
        default = self.solve("Mclust", "tol=1e-5", goal)
        assert default["ended"] == "converged"
        assert default["radius"] is None
        tight = self.solve("Mclust", "tol=0", goal)
        assert tight["loss"] is not None
        assert tight["iterations"] > default["iterations"]

    def test_squarem_of_r(self, goal):
        made_in_r("Squarem", np.array([[1.0], [2.0], [4.0]]))
        seen = self.solve("Squarem", "SQUAREM", goal)
        assert None not in (seen["radius"], seen["loss"])
        assert 0 < seen["iterations"] < 1000

    def test_no_data(self):
        with pytest.raises(RuntimeError, match="no data"):
            worker.Session(fake_peers.Steady).solve("x", 1.0, 1.0, 1.0)


# A process for each


def served(adapter, *requests):
    out = io.StringIO()
    worker.serve(adapter, [json.dumps(request) for request in requests], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


PREPARE = {"do": "prepare", "n": 1000, "d": 2, "seed": 0}


class TestWorker:
    def test_requests(self, monkeypatch):
        clock = Clock()
        for module in (worker, fake_peers):
            monkeypatch.setattr(module, "time", clock)
        hello, ready, calibrated, turn, released = served(
            fake_peers.Steady,
            PREPARE,
            {"do": "calibrate", "at_least": 0.01},
            {"do": "turn", "extra": 20},
            {"do": "release"},
        )
        assert hello == {"ok": np.__version__}
        assert ready == released == {"ok": None}
        assert calibrated["ok"]["extra"] >= 3
        assert turn["ok"] == pytest.approx(fake_peers.Steady.seconds)

    def test_missing(self):
        assert served(fake_peers.Absent, PREPARE) == [{"missing": "a_library_that_is_not_there"}]

    def test_broken(self):
        ((answer),) = served(fake_peers.Broken, PREPARE)
        assert "ModuleNotFoundError" in answer["error"]

    def test_failing_at_the_start(self, monkeypatch):
        def load(self):
            raise OSError("a shared library is too old")

        monkeypatch.setattr(fake_peers.Steady, "load", load)
        assert served(fake_peers.Steady) == [{"error": "OSError: a shared library is too old"}]

    def test_errors_are_answers(self):
        calls = [PREPARE, {"do": "calibrate", "at_least": 0.01}, {"do": "release"}]
        *_, failed, released = served(fake_peers.Raises, *calls)
        assert failed == {"error": "ArithmeticError: no luck"}
        assert released == {"ok": None}
        *_, failed = served(fake_peers.Infinite, *calls[:2])
        assert failed == {"error": "RuntimeError: not finite after 1 iterations"}

    def test_a_wrong_answer_is_an_answer(self):
        calls = [PREPARE, {"do": "calibrate", "at_least": 0.01}]
        *_, answer = served(fake_peers.Climbs, *calls)
        assert answer["wrong"].startswith("3 EM iterations raise the loss from")
        *_, answer = served(fake_peers.NearlyExact, *calls)
        assert "after 3 iterations, not" in answer["wrong"]

    def test_data_are_drawn_once(self, monkeypatch):
        drawn = []
        usual = eb.samples.gaussian
        monkeypatch.setattr("elubench.samples.gaussian", lambda *a: drawn.append(a) or usual(*a))
        other = {**PREPARE, "seed": 1}
        served(fake_peers.Steady, PREPARE, PREPARE, other, {"do": "release"}, other)
        assert drawn == [(1000, 2, 0), (1000, 2, 1), (1000, 2, 1)]

    def test_a_disturbed_turn_does_not_count(self, monkeypatch):
        session = worker.Session(fake_peers.Steady)
        monkeypatch.setattr(session, "_clock", lambda count: 1.0 / count)
        assert session.turn(4) is None

    def test_a_disturbed_turn_is_repeated(self, monkeypatch):
        session, taken = worker.Session(fake_peers.Steady), iter([2.0, 1.0, 2.0, 10.0])
        monkeypatch.setattr(session, "_clock", lambda count: next(taken))
        assert session.turn(4) == 2.0

    def test_slow_calls_are_not_repeated(self, monkeypatch):
        session, counts = worker.Session(fake_peers.Steady), []
        monkeypatch.setattr(session, "_clock", lambda count: counts.append(count) or 5.0 * count)
        assert session.calibrate(0.05) == {"extra": 1, "seconds": 15.0, "call": 5.0}
        assert session.turn(1) == 5.0
        assert counts == [1, 1, 2]

    def test_what_a_call_costs_does_not_drown_an_iteration(self, monkeypatch):
        session = worker.Session(fake_peers.Steady)
        monkeypatch.setattr(session, "_clock", lambda count: 0.4 + 0.01 * count)
        assert session.calibrate(0.02)["extra"] > 10

    def test_number_of_iterations_has_an_end(self, monkeypatch):
        session = worker.Session(fake_peers.Steady)
        monkeypatch.setattr(session, "_clock", lambda count: 1e-12 * count)
        assert session.calibrate(0.05)["extra"] == worker._MOST_EXTRA


@pytest.fixture
def processes_find_fakes(monkeypatch):
    places = [str(TESTS), str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))


@pytest.mark.usefixtures("processes_find_fakes")
class TestProcesses:
    def ask(self, name, limit=PATIENCE):
        one = Worker(f"fake_peers:{name}")
        try:
            one.ask("prepare", n=1000, d=1, seed=0)
            return one.ask("calibrate", limit, at_least=0.001)
        finally:
            one.stop()
            assert not one.alive

    def test_what_is_printed_is_no_answer(self):
        assert self.ask("Chatty")["extra"] < 1000

    def test_missing(self):
        with pytest.raises(NotInstalled, match="a_library_that_is_not_there"):
            self.ask("Absent")

    @pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
    def test_killed(self):
        with pytest.raises(Failed, match=r"killed by SIGKILL \(out of memory"):
            self.ask("Killed")

    def test_hanging(self):
        with pytest.raises(Failed, match="no answer within 2 s"):
            self.ask("Hangs", limit=2.0)

    def test_death_and_alive_again(self):
        one, said = Worker("fake_peers:Dies"), "ended with status 3: terminate called: bad state"
        try:
            for _ in range(2):
                one.ask("prepare", n=1000, d=1, seed=0)
                with pytest.raises(Failed, match=said):
                    one.ask("calibrate", at_least=0.001)
                assert not one.alive
        finally:
            one.stop()

    def test_nobody_is_left_behind(self):
        """A worker whose master was killed ends in the middle of its work."""
        one = Worker("fake_peers:Hangs")
        try:
            one.ask("prepare", n=1000, d=1, seed=0)
            process = one._process
            process.stdin.write(json.dumps({"do": "calibrate", "at_least": 1.0}) + "\n")
            process.stdin.close()
            assert process.wait(timeout=PATIENCE) == 0
        finally:
            one.stop()

    def test_memory(self, monkeypatch):
        assert processes.free_memory() > 0
        monkeypatch.delattr(os, "sysconf", raising=False)
        assert processes.free_memory() == 4.0 * 2**30


# Rounds


class InProcess:
    """A worker without a process: quicker, and seen by debuggers and coverage."""

    def __init__(self, adapter, meanwhile=lambda: None):
        module, _, name = adapter.partition(":")
        self._make = getattr(import_module(module), name)
        self._session, self.version, self.alive = None, "", False

    def ask(self, do, limit=math.inf, **arguments):
        self.alive = True
        if self._session is None:
            (hello,) = served(self._make)
            if "missing" in hello:
                raise NotInstalled(hello["missing"])
            if "error" in hello:
                raise Failed(hello["error"])
            self._session, self.version = worker.Session(self._make), hello["ok"]
        try:
            return getattr(self._session, do)(**arguments)
        except Exception as error:
            raise Failed(worker._said(error)) from error

    def stop(self):
        self.alive = False


OWN = fake("Steady", solvers=("way",))


class Clock:
    """Time that passes only while someone sleeps: a busy machine changes nothing."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def monotonic(self):
        return self.now

    perf_counter = monotonic


@pytest.fixture
def inside(monkeypatch):
    """Everything in this process, and a steady fake in elubench's place that ends at 0."""
    clock = Clock()
    for module in (base, comparison, rounds, worker, fake_peers):
        monkeypatch.setattr(module, "time", clock)

    def optimum(self, n, d, radius):
        X = eb.gaussian(n, d, 3)
        loss = base.mean_loss(X, Mixture.symmetric(np.zeros(d), (X**2).mean()))
        return {"seed": 3, "half_distance": 0.0, "loss": loss}

    monkeypatch.setattr(worker.Session, "optimum", optimum)
    monkeypatch.setattr(rounds, "Worker", InProcess)
    monkeypatch.setattr(rounds, "ELUBENCH", OWN)
    monkeypatch.setattr(comparison, "ELUBENCH", OWN)


def heat(part, *peers, n=1000, d=1):
    return heats.Heat(part, n, d, (OWN, *peers))


def settings(*some_heats, **changes):
    options = {"rounds": 3, "at_least": 0.002, "patience": 5.0, "budget": 0.3, **changes}
    return heats.Lineup(some_heats, **options)


@pytest.mark.usefixtures("inside")
class TestCompare:
    def test_missing_crashing_and_slow(self):
        absent = fake("Absent", get="pip install it")
        others = (absent, fake("Raises"), fake("Broken"), fake("Slow"))
        found = compare(settings(heat("iteration", *others), patience=0.6))
        rows = found.rows.set_index("peer")
        assert list(rows.index) == ["steady", "raises", "broken", "slow"]
        assert found.missing == ["absent is not installed: pip install it"]
        assert not found.interrupted
        assert list(rows["status"]) == ["ok", "crashed", "crashed", "ok"]
        assert rows.loc["raises", "message"] == "ArithmeticError: no luck"
        assert rows.loc["steady", "rounds"] == 3
        assert rows.loc["slow", "rounds"] == 1  # the second would end after its patience
        assert rows.loc["steady", "ratio"] == 1.0
        assert rows.loc["slow", "ratio"] == pytest.approx(200.0)
        assert rows.loc["slow", "version"] == np.__version__

    def test_missing_is_asked_once(self, monkeypatch):
        asked = []
        usual = InProcess.ask
        monkeypatch.setattr(
            InProcess, "ask", lambda *a, **k: asked.append(a[0]._make) or usual(*a, **k)
        )
        absent = fake("Absent", solvers=("way",))
        some_heats = [heat("iteration", absent), heat("iteration", absent), heat("answer", absent)]
        found = compare(settings(*some_heats))
        assert asked.count(fake_peers.Absent) == 1
        assert found.missing == ["absent is not installed"]
        assert set(found.rows["peer"]) == {"steady"}

    def test_missing_in_the_answer(self):
        absent = fake("Absent", solvers=("one way", "another"))
        found = compare(settings(heat("answer", absent)))
        assert set(found.rows["peer"]) == {"steady"}
        assert len(found.missing) == 1

    def test_who_would_take_too_long_is_skipped(self):
        slow = fake("Slow")
        some_heats = [heat("iteration", slow), heat("iteration", slow, n=20000)]
        found = compare(settings(*some_heats, patience=0.5))
        first, second = found.rows[found.rows["peer"] == "slow"].to_dict("records")
        assert (first["status"], second["status"]) == ("ok", "skipped")
        assert "for a single turn" in second["message"]

    def test_large_data_are_not_kept(self, monkeypatch):
        released = []
        monkeypatch.setattr(rounds, "free_memory", lambda: 1.0)
        usual = worker.Session.release
        monkeypatch.setattr(
            worker.Session, "release", lambda self: released.append(self) or usual(self)
        )
        compare(settings(heat("iteration")))
        # a session begins and prepares with a release; then after calibration and every round
        assert len(released) > 1 + 2 * 4

    def test_answers(self):
        stuck = fake("Stuck", solvers=("for ever", "gives up"))
        found = compare(settings(heat("answer", stuck, fake("Raises", solvers=("way",)))))
        rows = found.rows.set_index(["target", "peer", "label"])
        for target in ("radius", "loss"):
            of = rows.loc[target]
            assert of.loc[("steady", "way"), "status"] == "ok"
            assert of.loc[("steady", "way"), "ratio"] == 1.0
            assert of.loc[("steady", "way"), "rounds"] == 5
            assert of.loc[("raises", "way"), "status"] == "crashed"
            bound = of.loc[("stuck", "for ever")]
            assert bound["status"] == "budget"
            assert bound["seconds"] >= 0.3
            assert bound["ratio"] > 1
            short = of.loc[("stuck", "gives up")]
            assert short["status"] == "stopped"
            assert math.isnan(short["seconds"])
        assert rows.loc[("radius", "stuck", "gives up"), "message"] == "0.8 away, converged"

    def test_slow_ways_are_gone_once(self, monkeypatch):
        monkeypatch.setattr(rounds, "_QUICK", 0.0)
        found = compare(settings(heat("answer")))
        assert set(found.rows["rounds"]) == {1}
        assert set(found.rows["ratio"]) == {1.0}

    def test_without_an_optimum(self, monkeypatch):
        def optimum(self, **_):
            raise RuntimeError("none")

        monkeypatch.setattr(worker.Session, "optimum", optimum)
        (row,) = compare(settings(heat("answer"))).rows.to_dict("records")
        assert (row["status"], row["message"]) == ("crashed", "RuntimeError: none")

    @pytest.mark.parametrize("part", ["iteration", "answer"])
    def test_interruption_keeps_what_is_there(self, part, tmp_path):
        """Ctrl-C in the second heat, once its first peer has had turns."""
        seen = []

        def progress(now):
            seen.append(now)
            times = sum(one.doing == now.doing for one in seen)
            if now.doing == "n = 2,000, d = 1: slow" and times > (2 if part == "iteration" else 0):
                raise KeyboardInterrupt

        slow = fake("Slow", solvers=("way",))
        found = compare(settings(heat(part, slow), heat(part, slow, n=2000)), tmp_path, progress)
        assert found.interrupted
        assert set(found.rows["n"]) == {1000, 2000}
        saved = load(tmp_path)
        pd.testing.assert_frame_equal(saved, found.rows, check_dtype=False)
        assert as_text(saved)

    def test_progress(self):
        seen = []
        compare(settings(heat("iteration"), heat("answer")), progress=seen.append)
        shares = [now.share for now in seen]
        assert shares == sorted(shares)
        assert 0 <= shares[0] <= shares[-1] <= 1
        assert all(now.seconds_left >= 0 for now in seen)
        assert seen[-1].doing == "n = 1,000, d = 1: steady"

    def test_files(self, tmp_path):
        folder = tmp_path / "new" / "folder"
        found = compare(settings(heat("iteration")), folder)
        assert [path.name for path in folder.iterdir()] == ["peers.csv"]
        pd.testing.assert_frame_equal(load(folder), found.rows, check_dtype=False)
        with pytest.raises(ValueError, match=r"contains no peers\.csv"):
            load(tmp_path)


class TestRows:
    def test_ratios_are_taken_within_a_round(self):
        turns = [
            rounds.Turns(known.ELUBENCH, times=[1.0, 2.0, 4.0]),
            rounds.Turns(known.READING, times=[0.5, 2.0, 2.0]),
            rounds.Turns(known.TANH, times=[0.8, 0.8, 0.8]),
            rounds.Turns(OWN, times=[10.0, 40.0]),
        ]
        rows = comparison.iteration_rows(rounds.Crew(), heat("iteration"), turns)
        by = {row["peer"]: row for row in rows}
        assert by["steady"]["ratio"] == 15.0  # of 10 and 20
        assert by["steady"]["rounds"] == 2
        assert by["elubench"]["limit_ratio"] == 1.25  # of 1.25, 1 and 2
        assert by["elubench"]["ratio"] == 1.0

    def test_no_round_in_which_all_limits_counted(self):
        turns = [
            rounds.Turns(known.ELUBENCH, times=[6.0, 8.0, math.nan]),
            rounds.Turns(known.READING, times=[math.nan, 2.0, 2.0]),
            rounds.Turns(known.TANH, times=[1.0, math.nan, 1.0]),
        ]
        rows = comparison.iteration_rows(rounds.Crew(), heat("iteration"), turns)
        assert rows[0]["limit_ratio"] == 3.5  # of 6 / 2 and 8 / 2

    def test_turns_that_did_not_count(self):
        turns = [
            rounds.Turns(known.ELUBENCH, times=[1.0, math.nan]),
            rounds.Turns(OWN, times=[math.nan, math.nan]),
            rounds.Turns(fake("Slow")),
        ]
        one, two = comparison.iteration_rows(rounds.Crew(), heat("iteration"), turns)
        assert (one["peer"], one["rounds"]) == ("elubench", 1)
        assert math.isnan(one["limit_ratio"])
        assert (two["peer"], two["status"], two["rounds"]) == ("steady", "disturbed", 0)

    def test_quartiles(self):
        assert comparison.quartiles([1.0, math.nan, 3.0, 2.0]) == (1.5, 2.0, 2.5)
        assert all(map(math.isnan, comparison.quartiles([])))


# For a reader


def example():
    """Rows of every kind, with the longest numbers that they can have."""
    crew = rounds.Crew()
    sizes = [heats.Heat("iteration", 10**7, d, PEERS) for d in (1, 16)]
    rows = []
    for place, size in enumerate(sizes):
        turns = [
            rounds.Turns(peer, 3, [123.4e-3 * (1 + i), 0.05678 + i, 0.1 * (i + 1)])
            for i, peer in enumerate(PEERS)
            if peer.iterates
        ]
        turns[4].failure = Failed("RuntimeError: " + "of a very long kind " * 20)
        turns[5].skipped = "would take 123 s for a single turn"
        rows += comparison.iteration_rows(crew, size, turns[: 8 - 3 * place])
    far = {"ended": "converged", "iterations": 1, "half_distance": 0.6131, "excess": 2.4e-3}
    ways = []
    for i, (peer, label) in enumerate((p, s) for p in PEERS for s in p.solvers):
        at = 0.01234 * 3.0**i, 10**i
        verdict = {"radius": at, "loss": at, "ended": "converged", "seconds": at[0], **far}
        verdict |= {"seconds": 61.2, "iterations": 123_456}
        one = rounds.Attempts(peer, label, [verdict] * (5 if i < 6 else 1))
        if i == 8:
            one.verdicts = [verdict | {"radius": None, "loss": None, "ended": "budget"}]
        if i == 9:
            one.verdicts, one.failure = [], Failed("MemoryError")
        if i == 10:
            one.verdicts = [verdict | {"radius": None, "loss": None, **far}]
        ways.append(one)
    for d in (1, 4):
        size = heats.Heat("answer", 10**5, d, PEERS)
        rows += comparison.answer_rows(crew, size, ways, {"seed": 0})
    return pd.DataFrame(rows, columns=comparison.COLUMNS)


class TestTables:
    def test_lines(self):
        text = as_text(example())
        lines = text.splitlines()
        assert max(map(len, lines)) <= 80
        assert "n = 10,000,000, d = 16: time per EM iteration" in lines
        assert "n = 100,000, d = 1: until the location is within the radius, 0.237" in lines
        assert any(line.startswith("reading once    limit") for line in lines)
        assert any(
            line.startswith("scikit-learn    wider         crashed: Runtime") for line in lines
        )
        assert any("skipped: would take 123 s" in line for line in lines)
        assert any("> 61.2 s     123,456" in line for line in lines)
        assert any("stopped 0.613 away, 1 iteration (converged)" in line for line in lines)
        assert "scikit-learn's 'spherical' has free weights" in text

    def test_no_column_of_limits_where_there_are_none(self):
        rows = example()
        rows = rows[(rows["part"] == "iteration") & (rows["status"] == "ok")]
        with_limits, without = as_text(rows), as_text(rows.assign(limit_ratio=math.nan))
        assert "/limit" in with_limits.partition("Medians and")[0]
        table = without.partition("Medians and")[0]
        assert "/limit" not in table
        assert not any(line.endswith(" -") for line in table.splitlines())
        assert "left out where n (2 + d) is below a million" in " ".join(without.split())

    def test_nothing(self):
        assert as_text(example()[:0]) == "nothing was measured"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (61.24, "61.2 s"),
            (0.99996, "1 s"),
            (0.0123456, "12.3 ms"),
            (4.5678e-5, "45.7 us"),
            (3.2e-8, "32 ns"),
            (12345.6, "12,300 s"),
            (math.nan, "-"),
        ],
    )
    def test_seconds(self, value, text):
        assert tables.seconds(value) == text

    def test_ratio(self):
        assert [tables.ratio(x) for x in (math.nan, 0.1234, 203.4, 999.7, 12_345.6)] == [
            "-", "0.123", "203", "1,000", "12,300",
        ]  # fmt: skip

    def test_figure(self, tmp_path):
        save_peers_figure(example(), tmp_path / "peers.png")
        assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")

    def test_figure_of_a_part(self):
        rows = example()
        some = rows[(rows["part"] == "iteration") & (rows["d"] == 1)]
        (axes,) = peers_figure(some).axes
        assert axes.get_title(loc="left") == "d = 1"
        (one,) = peers_figure(rows[(rows["part"] == "answer") & (rows["d"] == 1)]).axes
        assert len(one.get_yticklabels()) == sum(len(peer.solvers) for peer in PEERS)
        with pytest.raises(ValueError, match="nothing to draw"):
            peers_figure(rows[:0])


# The command


class TestLineup:
    def test_goal(self):
        assert heats.goal(10**8, 1) == pytest.approx(0.1, rel=1e-12)
        assert heats.goal(40_000, 4) == pytest.approx(0.2, rel=1e-12)

    def test_default(self):
        what = lineup()
        sizes = {(c.n, c.d) for c in what.heats if c.part == "iteration"}
        assert sizes == {(10**k, d) for k in range(4, 8) for d in (1, 4, 16)} | {(10**6, 64)}
        (wide,) = [c for c in what.heats if c.d == 64]
        assert [peer.name for peer in wide.peers] == ["elubench", "reading", "tanh"]
        assert [(c.n, c.d) for c in what.heats if c.part == "answer"] == [(10**5, 1), (10**5, 4)]

    def test_quick_is_smaller(self):
        usual, quick = lineup(), lineup(quick=True)
        cost = [sum(heats.expected(p, c) for c in p.heats) for p in (usual, quick)]
        assert cost[1] < 90 < cost[0] < 1500
        assert quick.budget < usual.budget
        assert lineup(quick=True, budget=7.0).budget == 7.0

    def test_quick_has_the_limits_of_the_hardware(self):
        """On one sample that is large enough for them."""
        measured = [
            one
            for one in lineup(quick=True).heats
            if one.part == "iteration" and rounds.has_limits(one)
        ]
        assert [(one.n, one.d) for one in measured] == [(10**6, 4)]
        assert set(known.LIMITS) < set(measured[0].peers)

    def test_only(self):
        (one,) = lineup([2000], [3], ["numpy"], "iteration").heats
        assert [peer.name for peer in one.peers] == ["elubench", "reading", "tanh", "numpy"]
        (two,) = lineup([2000], [3], ["numpy", "scipy"], "answer").heats
        assert [peer.name for peer in two.peers] == ["elubench", "scipy"]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"only": ["sklearn"]}, "only must be one of elubench, .*, got 'sklearn'"),
            ({"n": [10]}, "n must be >= 1000, got 10"),
            ({"d": [0]}, "d in part 'iteration' must be between 1 and 1024, got 0"),
            ({"d": [17]}, "d in part 'answer' must be between 1 and 16, got 17"),
            ({"part": "x"}, "part must be one of all, iteration, answer"),
            ({"budget": 0.0}, "budget must be finite and > 0"),
        ],
    )
    def test_errors(self, arguments, said):
        with pytest.raises(ValueError, match=said):
            lineup(**arguments)


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--n", "1e3,many"], "--n must be whole numbers such as 1000,1e6, got 'many'"),
            (["--d", "1.5"], "--d must be whole numbers"),
            (["--n", "inf"], "--n must be whole numbers"),
            (["--only", "sklearn"], "only must be one of elubench, "),
            (["--part", "half"], "half"),
            (["--budget", "-1"], "budget must be finite and > 0"),
        ],
    )
    def test_errors_are_one_line(self, arguments, said, capsys):
        assert cli.main(["peers", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("elubench: error: ")
        assert captured.err.count("\n") == 1
        assert said in captured.err

    @pytest.fixture
    def planned(self, monkeypatch, inside):
        def other(*_, **__):
            return settings(heat("iteration", fake("Absent", get="pip install it")))

        monkeypatch.setattr("elubench.peers.lineup", other)

    @pytest.mark.usefixtures("planned")
    def test_table_and_files(self, tmp_path, capsys):
        assert cli.main(["peers", "--out", str(tmp_path)]) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith("n = 1,000, d = 1: time per EM iteration\n")
        assert "elubench: absent is not installed: pip install it\n" in shown.err
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"peers.csv", "peers.png", "machine.json"}

    @pytest.mark.usefixtures("planned")
    def test_json(self, capsys):
        assert cli.main(["peers", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert [row["peer"] for row in shown["rows"]] == ["steady"]
        assert shown["rows"][0]["limit_ratio"] is None
        assert shown["missing"] == ["absent is not installed: pip install it"]
        assert shown["versions"]["elubench"] == eb.__version__

    @pytest.mark.usefixtures("planned")
    def test_interrupted(self, monkeypatch, capsys):
        def ask(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(InProcess, "ask", ask)
        assert cli.main(["peers"]) == 130
        shown = capsys.readouterr()
        assert shown.out == "nothing was measured\n"
        assert shown.err.endswith("elubench: interrupted; what was measured is kept\n")


@needs_jit
@pytest.mark.usefixtures("processes_find_fakes")
def test_the_real_thing(tmp_path, capsys):
    """Processes, elubench and NumPy, smaller than anyone would want it."""
    assert JIT
    arguments = ["--n", "1000", "--d", "1", "--only", "numpy", "--part", "iteration", "--quick"]
    assert cli.main(["peers", *arguments, "--out", str(tmp_path)]) == 0
    assert "numpy           same " in capsys.readouterr().out
    rows = load(tmp_path)
    assert list(rows["peer"]) == ["elubench", "numpy"]
    assert list(rows["status"]) == ["ok", "ok"]
