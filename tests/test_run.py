"""A run: why it stops, what it records, which iterate it selects, what it refuses."""

import _thread
import itertools
import math
import signal
import threading
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import naive_models
import numpy as np
import pandas as pd
import pytest
from conftest import needs_jit, python, scaled
from elsewhere import Elsewhere, Splitting
from naive import EPS
from naive_models import rounding

from elubench import (
    ELU,
    EM,
    LBFGS,
    ArraySample,
    Diagonal,
    General,
    GradientDescent,
    Isotropic,
    LatticeSample,
    Moments,
    NewtonAnderson,
    StationaryStartWarning,
    gaussian,
    run,
    run_many,
)
from elubench.kernels import loops
from elubench.runs import drivers, together, trace
from elubench.runs.setup import Stop, Truth, set_up

MODELS = {"isotropic": Isotropic(), "diagonal": Diagonal(), "general": General()}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
both_drivers = pytest.mark.parametrize("driver", ["compiled", "python"])
N = scaled(400, 60)


@pytest.fixture
def sample():
    return LatticeSample.gaussian(10**6, 1, seed=6)


@pytest.fixture
def clusters():
    rng = np.random.default_rng(3)
    return rng.standard_normal((N, 2)) + 3 * rng.choice([-1, 1], (N, 1))


def points(result):
    return result.trace.filter(like="param_").to_numpy()


class TestStops:
    @both_drivers
    def test_at_the_first_iterate_inside_the_radius(self, sample, driver):
        free = run(sample, "isotropic", EM(), [0.9], max_iter=40, truth=[0.0])
        errors = free.trace["location_error"].to_numpy()
        first = 25
        for radius in (errors[first], (errors[first] + errors[first - 1]) / 2):
            got = run(sample, "isotropic", EM(), [0.9], max_iter=40, radius=radius, driver=driver)
            assert (got.status, got.n_iter, got.passes) == ("reached", first, first)
            assert got.params.tobytes() == points(free)[first].tobytes()

    @both_drivers
    def test_at_the_start(self, sample, driver):
        got = run(sample, "isotropic", EM(), [0.3], radius=0.3, driver=driver)
        assert (got.status, got.n_iter, got.passes, len(got.trace)) == ("reached", 0, 0, 1)
        assert got.params.tolist() == [0.3]

    def test_inside_a_radius_about_another_truth(self):
        sample = LatticeSample.gaussian(10**6, 2, seed=0, location=[1.0, -2.0])
        truth = [1.0, -2.0, 1.0, -2.0]
        got = run(sample, "general", EM(), radius=0.4, truth=truth, max_iter=500)
        assert got.status == "reached"
        assert General().location_error(got.params, truth) <= 0.4
        about_zero = run(sample, "general", EM(), radius=0.4, max_iter=500, metrics=False)
        assert about_zero.status == "max_iter"

    @both_drivers
    def test_at_the_first_short_step(self, clusters, driver):
        got = run(clusters, "isotropic", EM(), max_iter=200, tol=1e-6, driver=driver)
        lengths = np.linalg.norm(np.diff(points(got), axis=0), axis=1)
        assert got.status == "converged"
        assert lengths[-1] <= 1e-6
        assert (lengths[:-1] > 1e-6).all()

    def test_a_tolerance_of_zero_is_a_fixed_point(self, clusters):
        got = run(clusters, "isotropic", EM(), max_iter=1000, tol=0.0)
        assert got.status == "converged"
        assert Isotropic().em_step(ArraySample(clusters), got.last).tolist() == got.last.tolist()

    @both_drivers
    @pytest.mark.parametrize("budget", [0, 1, 17])
    def test_at_the_budget(self, sample, budget, driver):
        got = run(sample, "isotropic", EM(), [0.9], max_iter=budget, driver=driver)
        assert (got.status, got.n_iter, got.passes) == ("max_iter", budget, budget)
        assert got.trace["t"].tolist() == list(range(budget + 1))
        if budget == 0:
            assert got.params.tolist() == [0.9]

    @both_drivers
    @each_model
    def test_where_the_next_iterate_has_no_positive_scale(self, model, driver):
        X = gaussian(N, 2, seed=5)
        got = run(X, model, GradientDescent(30.0), max_iter=1000, driver=driver)
        assert got.status == "diverged"
        assert got.passes == got.n_iter + 1
        assert (got.scale > 0).all()
        sample = ArraySample(X)
        following = got.last - 30.0 * model.gradient(sample, got.last)
        assert (model.scale(sample, following) <= 0).any()
        assert got.trace["t"].iloc[-1] == got.n_iter
        assert points(got)[-1].tolist() == got.last.tolist() == got.params.tolist()

    def test_never_because_nothing_moves(self, clusters):
        """EM stands still after a few dozen steps; without a tolerance it goes on."""
        budget = scaled(20_000, 300)
        got = run(clusters, "isotropic", EM(), max_iter=budget, metrics=False)
        assert (got.status, got.n_iter, got.passes) == ("max_iter", budget, budget)
        assert points(got)[-1].tolist() == points(got)[-2].tolist()

    @both_drivers
    def test_the_radius_comes_before_the_tolerance(self, sample, driver):
        both = {"radius": 0.85, "tol": 10.0, "max_iter": 5}
        got = run(sample, "isotropic", EM(), [0.9], driver=driver, **both)
        assert (got.status, got.n_iter) == ("reached", 1)
        got = run(sample, "isotropic", EM(), [0.9], driver=driver, **{**both, "radius": 0.1})
        assert (got.status, got.n_iter) == ("converged", 1)


class TestTrace:
    @each_model
    def test_every_column_is_what_it_says(self, model):
        X = gaussian(N, 2, seed=7, location=1.0 if model.name == "general" else 0.0, scale=4.0)
        sample = ArraySample(X)
        truth = model.truth(1.0 if model.name == "general" else 0.0, 2)
        got = run(sample, model, EM(), max_iter=12, truth=truth, true_scale=4.0)
        trace = got.trace
        assert list(trace.columns) == [
            "t", "step", "passes", "cost", "seconds", "location_error", "scale_error", "gap", "loss",
            *(f"param_{j}" for j in range(model.n_params(2))),
        ]  # fmt: skip
        assert trace["t"].dtype == np.int64
        assert trace["t"].tolist() == trace["passes"].tolist() == list(range(13))
        assert trace["step"][1:].tolist() == [1.0] * 12
        assert math.isnan(trace["step"][0])
        for row, point in zip(trace.to_dict("records"), points(got), strict=True):
            s = naive_models.scale(model.name, X, point)
            bound = rounding(X, point, s, 0)
            loss = naive_models.loss(model.name, X, point)
            base = naive_models.loss(model.name, X, one_gaussian(model, X))
            assert abs(row["loss"] - loss) <= bound
            assert abs(row["gap"] - (loss - base)) <= 2 * bound
            assert row["location_error"] == model.location_error(point, truth)
            assert abs(row["scale_error"] - np.max(np.abs(s - 4.0))) <= bound * s.max()

    def test_seconds_grow_and_end_with_the_run(self, sample):
        for driver in ("compiled", "python"):
            got = run(sample, "isotropic", EM(), [0.9], max_iter=300, driver=driver)
            seconds = got.trace["seconds"].to_numpy()
            assert seconds[0] == 0
            assert (np.diff(seconds) >= 0).all()
            assert seconds[-1] == pytest.approx(got.seconds, rel=1e-9)
            assert got.seconds > 0

    @pytest.mark.parametrize("algorithm", [EM(), NewtonAnderson()], ids=["EM", "NewtonAnderson"])
    @pytest.mark.parametrize("cold", [True, False])
    def test_a_short_run_does_without_the_loop(self, sample, algorithm, cold, monkeypatch):
        """Unless it is compiled. A longer one goes on in it: the same iterates, one clock."""
        entered = []
        compiled = drivers.compiled

        def watched(setup, clock):
            entered.append(int(setup.work.counters[loops.PASSES]))
            compiled(setup, clock)

        for most in (20, 300):
            options = {"max_iter": most, "validation": 0.1}
            usual = run(sample, "isotropic", algorithm, [0.9], **options)
            with monkeypatch.context() as patch:
                patch.setattr(drivers, "compiled", watched)
                if cold:
                    patch.setattr(drivers, "is_ready", lambda kernel: False)
                short = run(sample, "isotropic", algorithm, [0.9], driver="short", **options)
            different = ["cost", "seconds"]  # costs are summed otherwise
            np.testing.assert_allclose(usual.trace["cost"], short.trace["cost"], rtol=1e-13)
            assert usual.trace.drop(columns=different).equals(short.trace.drop(columns=different))
            assert (usual.status, usual.passes) == (short.status, short.passes)
            assert (np.diff(short.trace["seconds"]) >= 0).all()
        assert entered == (([100] if usual.n_iter > 100 else []) if cold else [0, 0])

    @pytest.mark.parametrize("driver", ["compiled", "python"])
    def test_sums_of_the_last_pass(self, driver):
        """Those at the result, if the run ended with a look at it."""
        sample = ArraySample(gaussian(200, 1, seed=0) + np.resize([-2.0, 2.0], (200, 1)))
        ended = run(sample, "isotropic", NewtonAnderson(), [0.9], driver=driver)
        final = ended.final
        assert ended.status == "converged"
        assert (final.row == sample.sums(final.u[None], np.array([final.b]), final.want)[0]).all()
        assert final.u[0] == pytest.approx(ended.params[0] / ended.scale[0], rel=1e-14)
        assert run(sample, "isotropic", EM(), [0.9], max_iter=3, driver=driver).final is None

    @pytest.mark.parametrize(
        "algorithm", [EM(), LBFGS(), Moments()], ids=["python", "foreign", "direct"]
    )
    def test_the_clock_stands_still_while_kernels_are_compiled(
        self, sample, algorithm, monkeypatch
    ):
        """On a machine where nothing but compiling takes time."""
        now = itertools.count()
        at = [0.0]

        def perf_counter():
            at[0] = float(next(now))
            return at[0]

        monkeypatch.setattr(drivers, "time", SimpleNamespace(perf_counter=perf_counter))
        monkeypatch.setattr(drivers, "compile_seconds", lambda: at[0])
        got = run(sample, "isotropic", algorithm, [0.9], max_iter=5, driver="python")
        assert got.n_iter > 0
        assert got.seconds == 0.0

    def test_without_metrics(self, sample):
        got = run(sample, "isotropic", EM(), [0.9], max_iter=5, metrics=False)
        assert list(got.trace.columns) == ["t", "step", "passes", "cost", "seconds", "param_0"]

    def test_metrics_are_worked_out_afterwards(self, sample):
        counted = Elsewhere(sample)
        got = run(counted, "isotropic", EM(), [0.9], max_iter=20)
        assert got.passes == 20
        assert counted.reads > 20
        counted = Elsewhere(sample)
        run(counted, "isotropic", EM(), [0.9], max_iter=20, metrics=False)
        assert counted.reads == 20

    def test_many_parameters_are_left_out(self):
        X = gaussian(N, 17, seed=0)
        assert points(run(X, "isotropic", EM(), max_iter=3)).shape == (4, 0)
        assert points(run(X[:, :16], "isotropic", EM(), max_iter=3)).shape == (4, 16)

    @pytest.mark.slow_without_jit
    def test_millions_of_iterations(self):
        sample = LatticeSample.gaussian(100, 1, seed=2)
        got = run(sample, "isotropic", EM(), [0.5], max_iter=3_000_000, truth=[0.0])
        t = got.trace["t"].to_numpy()
        assert got.n_iter == t[-1] == 3_000_000
        assert got.trace.memory_usage(deep=True).sum() < 10e6
        assert t[:100].tolist() == list(range(100))
        assert (np.diff(t) > 0).all()
        late = t[t >= 1000]
        assert (late[1:] / late[:-1]).max() < 1.1  # at least 24 records a decade

    def test_a_wide_sample_stays_small_too(self):
        X = np.random.default_rng(0).standard_normal((scaled(300, 20), scaled(2000, 50)))
        got = run(X, "isotropic", EM(), max_iter=10, metrics=False)
        assert got.trace.memory_usage(deep=True).sum() < 10e6

    def test_the_last_iterate_is_recorded(self, sample):
        got = run(sample, "isotropic", EM(), [0.9], max_iter=10_000, radius=0.3)
        assert got.status == "reached"
        assert got.trace["t"].iloc[-1] == got.n_iter
        assert got.trace["location_error"].iloc[-1] <= 0.3
        assert points(got)[-1].tolist() == got.params.tolist()

    def test_the_start_is_not_changed(self, sample):
        start = np.array([0.9])
        run(sample, "isotropic", EM(), start, max_iter=5)
        assert start.tolist() == [0.9]


def one_gaussian(model, X):
    return np.tile(X.mean(axis=0), 2) if model.name == "general" else np.zeros(X.shape[1])


def held_out_loss(model, train, held, point):
    """With the scale of the training rows."""
    return naive_models.loss(
        model.name, held, point, s=naive_models.scale(model.name, train, point)
    )


class TestValidation:
    @both_drivers
    @each_model
    def test_selects_the_smallest_held_out_loss(self, model, driver):
        X = gaussian(scaled(3000, 100), 2, seed=12)
        sample = ArraySample(X)
        train, held = sample.split(0.2, seed=5)
        kwargs = {"max_iter": 60, "driver": driver}
        got = run(sample, model, ELU(0.3, 0.8), validation=0.2, seed=5, **kwargs)
        free = run(train, model, ELU(0.3, 0.8), **kwargs)
        assert points(got).tobytes() == points(free).tobytes()
        losses = [held_out_loss(model, train.rows(), held.rows(), p) for p in points(free)]
        s = [model.scale(train, p) for p in points(free)]
        bounds = [rounding(X, p, v, 0) for p, v in zip(points(free), s, strict=True)]
        assert (np.abs(got.trace["validation_loss"] - losses) <= bounds).all()
        best = int(np.argmin(losses))
        assert 0 < best < free.n_iter  # ELU passes the minimum
        assert got.selected == best
        assert got.params.tolist() == points(free)[best].tolist()
        assert got.scale.tolist() == s[best].tolist()
        assert got.last.tolist() == points(free)[-1].tolist()

    @both_drivers
    def test_on_a_lattice(self, driver):
        sample = LatticeSample.gaussian(10**7, 1, seed=3)
        got = run(sample, "isotropic", ELU(), [0.9], max_iter=100, validation=0.1, driver=driver)
        train, held = sample.split(0.1, seed=0)
        free = run(train, "isotropic", ELU(), [0.9], max_iter=100)
        gaps = [Isotropic().gap(held, p, train.moments()) for p in points(free)]
        assert got.selected == int(np.argmin(gaps))
        assert got.params.tolist() == points(free)[got.selected].tolist()

    def test_a_sample_of_ones_own(self, clusters):
        train, held = ArraySample(clusters[: N // 2]), ArraySample(clusters[N // 2 :])
        got = run(train, "isotropic", EM(), max_iter=9, validation=held)
        losses = [
            held_out_loss(Isotropic(), clusters[: N // 2], clusters[N // 2 :], p)
            for p in points(got)
        ]
        assert got.selected == int(np.argmin(losses))
        np.testing.assert_allclose(got.trace["validation_loss"], losses, rtol=0, atol=1e-12)

    def test_its_cost_is_counted(self, sample):
        counted = Splitting(sample)
        got = run(counted, "isotropic", EM(), [0.9], max_iter=20, validation=0.1, metrics=False)
        train, held = counted.parts
        assert (train.reads, held.reads) == (20, 21)  # the start has a held-out loss, too
        share = train.n / (train.n + held.n)
        expected = 20 * share + 21 * (1 - share)
        assert got.passes == pytest.approx(expected, rel=4 * EPS)
        assert got.passes == got.trace["passes"].iloc[-1]
        assert (
            got.passes == run(sample, "isotropic", EM(), [0.9], max_iter=20, validation=0.1).passes
        )

    def test_another_seed_is_another_split(self, sample):
        kwargs = {"max_iter": 30, "validation": 0.3}
        one, two, again = (
            run(sample, "isotropic", EM(), [0.9], seed=seed, **kwargs).last.tolist()
            for seed in (1, 2, 1)
        )
        assert one == again != two

    def test_of_a_run_that_diverges(self):
        sample = LatticeSample.gaussian(10**8, 1, seed=0)
        got = run(sample, "isotropic", ELU(), [0.9], max_iter=1000, validation=0.1)
        assert got.status == "diverged"
        assert 0 < got.selected < got.n_iter
        assert abs(got.params[0]) < abs(got.last[0])


class TestInterrupts:
    @pytest.fixture
    def press_in_the_loop(self, monkeypatch):
        """Have Ctrl-C pressed a moment after the compiled loop is entered, whenever that is."""
        measured, timers = drivers.Pace.measured, []

        @contextmanager
        def entered(pace):
            if not timers:
                timers.append(threading.Timer(0.2, _thread.interrupt_main))
                timers[0].start()
            with measured(pace):
                yield

        yield lambda: monkeypatch.setattr(drivers.Pace, "measured", entered)
        for timer in timers:
            timer.join()

    @pytest.mark.parametrize("read", [1, 2, 10])
    def test_in_the_python_driver(self, sample, read):
        got = run(
            Elsewhere(sample, interrupt=read), "isotropic", EM(), [0.9], max_iter=50, metrics=False
        )
        whole = run(sample, "isotropic", EM(), [0.9], max_iter=read - 1)
        assert (got.status, got.n_iter) == ("interrupted", read - 1)
        assert got.params.tobytes() == whole.params.tobytes()
        assert points(got).tobytes() == points(whole).tobytes()

    def test_with_validation(self, sample):
        counted = Splitting(sample)
        train, held = counted.split(0.1)
        train.interrupt = 30
        got = run(train, "isotropic", EM(), [0.9], max_iter=50, metrics=False, validation=held)
        assert (got.status, got.n_iter) == ("interrupted", 29)
        assert 0 <= got.selected <= 29

    def test_in_the_compiled_driver(self, sample, press_in_the_loop):
        press_in_the_loop()
        try:
            got = run(sample, "isotropic", EM(), [0.9], max_iter=10**12, metrics=False)
        except KeyboardInterrupt:  # never let pytest see it
            got = None
        assert got is not None, "Ctrl-C was not caught"
        assert got.status == "interrupted"
        assert 0 < got.n_iter < 10**12
        assert got.trace["t"].iloc[-1] == got.n_iter
        assert points(got)[-1].tolist() == got.params.tolist()
        if got.n_iter < scaled(20_000_000, 2000):
            whole = run(sample, "isotropic", EM(), [0.9], max_iter=got.n_iter, metrics=False)
            assert whole.params.tobytes() == got.params.tobytes()

    @needs_jit
    @pytest.mark.parametrize("stacked", [True, False], ids=["stacked", "one by one"])
    def test_of_many_runs_returns_what_there_is(self, stacked, press_in_the_loop):
        """Two that end at once, two that would take for ever; none of it is lost."""
        n = 500 if stacked else 100_000
        samples = [ArraySample(gaussian(n, 1, seed)) for seed in range(4)]
        starts, endless = (
            [[0.3]] * 4,
            {"max_iter": 10**12, "metrics": False, "truth": [0.0], "radius": 0.25},
        )
        rest = 2 if stacked else 1  # one after the other, the first that goes on is the last begun
        for place in (0, 1):
            starts[place] = [0.2]
        press_in_the_loop()
        try:
            got = run_many(samples, "isotropic", GradientDescent(eta=1e-14), starts, **endless)
        except KeyboardInterrupt:  # never let pytest see it
            got = []
        assert [one.status for one in got] == ["reached"] * 2 + ["interrupted"] * 2
        assert [one.n_iter > 0 for one in got] == [False, False, True, rest == 2]
        for one, sample in zip(got[2 : 2 + rest], samples[2:], strict=False):
            assert one.trace["t"].iloc[-1] == one.n_iter
            if one.n_iter < 3_000_000 * 500 / n:
                alone = run(
                    sample, "isotropic", GradientDescent(eta=1e-14), [0.3], max_iter=one.n_iter
                )
                assert alone.params.tobytes() == one.params.tobytes()

    @pytest.mark.parametrize("read", range(1, 9))
    def test_while_losses_are_computed(self, read):
        """The iterates are there; losses up to the press, too, and no run is lost."""
        samples = [ArraySample(gaussian(50, 1, seed)) for seed in range(3)]
        whole = run_many(samples, "isotropic", EM(), max_iter=10, metrics=True)
        assert [one.status for one in whole] == ["max_iter"] * 3
        seen = [Elsewhere(one) for one in samples]
        run_many(seen, "isotropic", EM(), max_iter=10, metrics=False)
        reads = seen[0].reads
        seen = [samples[0], Elsewhere(samples[1], interrupt=reads + read), samples[2]]
        got = run_many(seen, "isotropic", EM(), max_iter=10, metrics=True)
        pressed = read <= 2  # eight points in a read, and eleven in a trace
        status = "interrupted" if pressed else "max_iter"
        assert [one.status for one in got] == ["max_iter", status, status]
        computed = 8 * read if pressed else 11
        for place, known in ((0, 11), (1, computed), (2, 0 if pressed else 11)):
            one, other = got[place], whole[place]
            assert one.params.tobytes() == other.params.tobytes()
            assert points(one).tobytes() == points(other).tobytes()
            gaps = one.trace["gap"]
            assert gaps[:known].tolist() == other.trace["gap"][:known].tolist()
            assert gaps[known:].isna().all()

    def test_a_second_time_while_traces_are_made(self):
        pressed = []

        def pressing(setups):
            for ended in together.drive_all(setups):
                signal.raise_signal(signal.SIGINT)
                pressed.append(ended)
                yield ended

        parts, stop = (ArraySample(gaussian(50, 1, 0)), None), Stop.checked(3, None, None)
        setups = [set_up(parts, "isotropic", EM(), None, stop, Truth(None, None)) for _ in range(4)]
        with pytest.raises(KeyboardInterrupt):
            trace.results(pressing(setups), metrics=False)
        assert len(pressed) == 2

    @needs_jit
    def test_chunks_of_many_runs_do_not_show(self, monkeypatch):
        samples = [ArraySample(gaussian(n, 1, n)) for n in (100, 300, 500, 700)]
        kwargs = {"max_iter": 200, "radius": 0.2, "tol": 1e-6}
        whole = run_many(samples, "isotropic", EM(), **kwargs)
        monkeypatch.setattr(together, "_CHUNK_SECONDS", 0.0)
        for one, two in zip(whole, run_many(samples, "isotropic", EM(), **kwargs), strict=True):
            assert (one.status, one.n_iter) == (two.status, two.n_iter)
            assert points(one).tobytes() == points(two).tobytes()


class TestStarts:
    @each_model
    def test_default(self, model):
        X = gaussian(N, 3, seed=1)
        got = run(X, model, EM(), max_iter=0)
        assert got.params.tolist() == model.default_start(ArraySample(X)).tolist()

    @each_model
    def test_coinciding_components_warn(self, model):
        X = gaussian(N, 2, seed=1)
        start = model.truth(0.0, 2)
        with pytest.warns(StationaryStartWarning, match="cannot leave") as caught:
            got = run(X, model, EM(), start, max_iter=3)
        assert caught[0].filename == __file__
        assert got.status == "max_iter"
        if model.even:
            assert got.params.tolist() == [0.0, 0.0]

    def test_close_to_it_does_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run(gaussian(N, 2, seed=1), "isotropic", EM(), [1e-300, 0.0], max_iter=3)

    @each_model
    def test_outside_the_region_of_positive_scale(self, model):
        X = gaussian(N, 2, seed=1)
        start = 50 * model.default_start(ArraySample(X))
        with pytest.raises(ValueError, match=r"start must be closer .* scale .* is not positive"):
            run(X, model, EM(), start)

    @pytest.mark.parametrize("value", [0.0, 3.0])
    def test_constant_data(self, value):
        with pytest.raises(ValueError, match="X must vary"):
            run(np.full((30, 2), value), "general", EM())
        if value == 0:
            with pytest.raises(ValueError, match="X must vary"):
                run(np.full((30, 2), value), "isotropic", EM())
        # far from the rows the general model's scale is positive
        with pytest.raises(ValueError, match="X must vary"):
            run(np.full((30, 2), value), "general", EM(), start=[4.0, 4.0, 6.0, 6.0])


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"max_iter": -1}, "max_iter must be >= 0, got"),
            ({"max_iter": 1.5}, "max_iter must be an integer"),
            ({"max_iter": 2**63}, "max_iter must be between 0 and 9223372036854775807, got 92233"),
            ({"max_iter": None}, "max_iter must be an integer"),
            ({"radius": 0.0}, "radius must be finite and > 0"),
            ({"radius": -1.0}, "radius must be finite and > 0"),
            ({"radius": math.nan}, "radius must be finite and > 0"),
            ({"radius": "2"}, "radius must be a number"),
            ({"tol": -1e-9}, "tol must be finite and >= 0"),
            ({"tol": math.inf}, "tol must be finite and >= 0"),
            ({"validation": 0.0}, r"validation must be in \(0, 1\)"),
            ({"validation": 1.0}, r"validation must be in \(0, 1\)"),
            ({"validation": "some"}, "validation must be a number"),
            ({"truth": [0.0]}, r"truth must have shape \(2,\), got \(1,\)"),
            ({"truth": [0.0, math.nan]}, "truth must be finite"),
            ({"true_scale": [1.0, 2.0]}, r"true_scale must have shape \(1,\), got \(2,\)"),
            ({"true_scale": "wide"}, "true_scale must be an array of numbers"),
            ({"seed": -1}, "seed must be >= 0"),
            ({"seed": 0.5}, "seed must be an integer"),
            (
                {"driver": "fast"},
                "driver must be one of auto, compiled, python, short, got 'fast'",
            ),
            ({"start": [0.1]}, r"start must have shape \(2,\), got \(1,\)"),
            ({"start": [0.1, math.inf]}, "start must be finite"),
            ({"start": "here"}, "start must be an array of numbers"),
            ({"model": "gaussian"}, "model must be a Model, one of"),
            ({"algorithm": "EM"}, r"algorithm must be an Algorithm such as EM\(\), got 'EM'"),
            ({"algorithm": EM}, "algorithm must be an Algorithm"),
        ],
    )
    def test_each_argument_is_named(self, arguments, message):
        given = {"model": "isotropic", "algorithm": EM(), "start": None, "max_iter": 3, **arguments}
        with pytest.raises((ValueError, TypeError), match=message):
            run(gaussian(20, 2, seed=0), **given)

    def test_data(self):
        with pytest.raises(ValueError, match="X must be finite, got NaN"):
            run([[math.nan], [1.0]], "isotropic", EM())
        with pytest.raises(ValueError, match="sample must be a 2D array"):
            run([1.0, 2.0], "isotropic", EM())

    def test_another_dimension_of_validation(self):
        other = ArraySample(gaussian(20, 3, seed=0))
        with pytest.raises(ValueError, match="validation must have d=2 coordinates"):
            run(gaussian(20, 2, seed=0), "isotropic", EM(), validation=other)

    def test_a_sample_that_cannot_be_split(self, sample):
        with pytest.raises(ValueError, match="must be a Sample, since Elsewhere cannot be split"):
            run(Elsewhere(sample), "isotropic", EM(), validation=0.1)

    def test_a_compiled_loop_over_data_elsewhere(self, sample):
        with pytest.raises(ValueError, match="driver 'compiled' needs a sample in memory"):
            run(Elsewhere(sample), "isotropic", EM(), driver="compiled")


class TestRunMany:
    def test_mixed_samples_keep_their_order(self):
        samples = [
            LatticeSample.gaussian(10**6, 2, seed=1),
            gaussian(N, 2, seed=2),
            ArraySample(gaussian(N, 2, seed=3), np.arange(1, N + 1)),
            Elsewhere(LatticeSample.gaussian(10**5, 2, seed=4)),
            LatticeSample.gaussian(10**4, 2, seed=5),
            gaussian(scaled(12_000, 80), 2, seed=6),
        ]
        starts = np.random.default_rng(0).uniform(0.2, 0.5, (6, 2))
        kwargs = {"max_iter": 25, "radius": 0.3, "tol": 1e-4, "metrics": True}
        together = run_many(samples, "diagonal", EM(), starts, **kwargs)
        for got, one, start in zip(together, samples, starts, strict=True):
            alone = run(one, "diagonal", EM(), start, **kwargs)
            assert (got.status, got.n_iter, got.passes) == (
                alone.status,
                alone.n_iter,
                alone.passes,
            )
            assert got.params.tobytes() == alone.params.tobytes()
            assert got.scale.tobytes() == alone.scale.tobytes()
            pd.testing.assert_frame_equal(
                got.trace.drop(columns="seconds"), alone.trace.drop(columns="seconds")
            )

    def test_validation(self):
        samples = [LatticeSample.gaussian(10**5, 1, seed) for seed in range(4)]
        kwargs = {"max_iter": 60, "validation": 0.2, "seed": 3}
        for one, got in zip(samples, run_many(samples, "isotropic", ELU(), **kwargs), strict=True):
            alone = run(one, "isotropic", ELU(), **kwargs)
            assert (got.selected, got.passes) == (alone.selected, alone.passes)
            assert got.params.tobytes() == alone.params.tobytes()

    @pytest.mark.parametrize("starts", [None, [0.8], [[0.8]] * 3, np.full((3, 1), 0.8)])
    def test_starts(self, starts):
        samples = [LatticeSample.gaussian(10**4, 1, seed) for seed in range(3)]
        got = run_many(samples, "isotropic", EM(), starts, max_iter=2)
        start = None if starts is None else [0.8]
        for one, result in zip(samples, got, strict=True):
            expected = run(one, "isotropic", EM(), start, max_iter=2)
            assert result.params.tobytes() == expected.params.tobytes()

    @pytest.mark.parametrize("starts", [[[0.8]] * 2, 0.8, "here", [[0.8]] * 4])
    def test_bad_starts(self, starts):
        samples = [LatticeSample.gaussian(10**4, 1, seed) for seed in range(3)]
        with pytest.raises(
            (ValueError, TypeError), match=r"starts must be (one, or one for each|an array of)"
        ):
            run_many(samples, "isotropic", EM(), starts)

    def test_none_at_all(self):
        assert run_many([], "isotropic", EM()) == []

    def test_a_bad_argument_is_named_before_any_work(self):
        with pytest.raises(ValueError, match="radius must be"):
            run_many([LatticeSample.gaussian(100, 1, 0)], "isotropic", EM(), radius=-1)

    @needs_jit
    def test_seconds_are_shared_out(self):
        samples = [LatticeSample.gaussian(10**4, 1, seed) for seed in range(4)]
        got = run_many(samples, "isotropic", EM(), max_iter=2000)
        assert len({result.seconds for result in got}) == 1
        assert got[0].seconds > 0


def test_a_run_shows_itself(sample):
    got = run(sample, "isotropic", EM(), [0.9], max_iter=2)
    assert repr(got).startswith("Run(status='max_iter', n_iter=2, passes=2.0")
    assert "trace" not in repr(got)
    assert (got.model, got.algorithm, got.details) == (Isotropic(), EM(), {})


def test_run_is_the_function_in_whatever_order_names_are_imported():
    assert python("import elubench.runs, elubench; print(int(callable(elubench.run)))") == 1
    code = "from elubench import StationaryStartWarning, run; print(int(callable(run)))"
    assert python(code) == 1
