"""Costs in plain passes: what is on a bill, what it comes to, and how prices are measured."""

import math

import numpy as np
import pytest
from conftest import needs_jit, scaled

import elubench as eb
from elubench.algorithms.simultaneous import Simultaneous
from elubench.kernels.layout import CURVATURE, LOG_COSH
from elubench.kernels.region import parallel_region
from elubench.samples import prices
from elubench.samples.base import CONDENSING, PASS, SHAPE, Read, Sums
from elubench.samples.metered import Metered
from elubench.samples.prices import Bill, price

PLAIN, LOSS, CURVED = (Read(PASS, want) for want in (0, LOG_COSH, LOG_COSH | CURVATURE))


@pytest.fixture
def priced(monkeypatch):
    """Prices that tell all kinds of reads and all d apart; condensing is 50,000 rows and 3 passes."""

    def ratio(read, d):
        if read.what == SHAPE:
            return 0.25 * d
        return 1.0 + 0.5 * read.want + 0.75 * (read.points - 1) + 0.125 * (d - 1) * read.want

    monkeypatch.setattr(prices, "_ratio", ratio)
    monkeypatch.setattr(prices, "_condensing", lambda: (50_000.0, 3.0))
    return ratio


FEW = scaled(400, 40)


def rows(n=FEW, d=1, seed=0):
    return eb.gaussian(n, d, seed)


def reads(bill):
    """A bill at its end, without what is 0."""
    found = {read: float(np.atleast_1d(amount)[-1]) for read, amount in bill.reads.items()}
    return {read: amount for read, amount in found.items() if amount}


class TestPrices:
    def test_a_plain_pass_is_the_unit_and_needs_no_measurement(self, monkeypatch):
        def never(*_):
            raise AssertionError("measured")

        monkeypatch.setattr(prices, "_ratio", never)
        assert price(PLAIN, 10, 3) == 1.0

    def test_directions_cost_the_same_each_after_the_first(self, priced):
        for d in (1, 5):
            for want in (0, LOG_COSH):
                one, *more = (price(Read(PASS, want, k), 100, d) for k in (1, 2, 4, 17))
                assert one == priced(Read(PASS, want, 1), d)
                assert more == pytest.approx([one + 0.75 * (k - 1) for k in (2, 4, 17)])

    def test_condensing_costs_less_per_row_of_many(self, priced):
        assert price(Read(CONDENSING), 50_000, 1) == 4.0
        assert price(Read(CONDENSING), 5_000_000, 1) == pytest.approx(3.01)

    def test_a_bill_comes_to_the_sum_of_its_prices(self, priced):
        bill = Bill(100, 2, {PLAIN: 3.0, LOSS: 0.5, Read(SHAPE): 2.0})
        assert bill.cost() == 3.0 + 0.5 * price(LOSS, 100, 2) + 2.0 * 0.5
        several = Bill(100, 2, {PLAIN: np.array([0.0, 1.0]), LOSS: np.array([2.0, 3.0])})
        assert several.cost().tolist() == [2.0 * 1.625, 1.0 + 3.0 * 1.625]

    @pytest.mark.parametrize("read", [LOSS, CURVED, Read(PASS, 0, 4), Read(SHAPE)])
    def test_a_measured_price_is_a_positive_number_and_measured_once(self, read, monkeypatch):
        found = price(read, 1000, 2)
        assert 0.0 < found < math.inf
        monkeypatch.setattr(prices, "_seconds", None)
        assert price(read, 1000, 2) == found

    @needs_jit
    def test_so_is_that_of_condensing(self):
        assert 0.0 < price(Read(CONDENSING), 10**6, 1) < math.inf

    def test_the_quickest_of_turns_in_the_calling_thread_counts(self, monkeypatch):
        now, calls = [0.0], []
        durations = {"a": iter([99, 5, 4, 3, 7, 6]), "b": iter([99, 2, 2, 9, 1, 5])}
        monkeypatch.setattr(prices, "_clock", lambda: now[0])

        def timed(name):
            def work():
                assert parallel_region.locked()
                calls.append(name)
                now[0] += next(durations[name])

            return work

        assert prices._seconds(timed("a"), timed("b")) == (3.0, 1.0)
        assert calls == ["a", "b"] * 6  # the first turn of each compiles
        assert not parallel_region.locked()

    def test_reads_are_of_their_kind(self):
        sample = Metered(eb.ArraySample(rows(d=2)))
        for read in (PLAIN, CURVED, Read(PASS, LOG_COSH, 4), Read(SHAPE)):
            prices._do(read, sample)
            assert sample.reads.pop() == (read, 1.0)


class TestRuns:
    @pytest.mark.parametrize(
        ("algorithm", "read"),
        [
            (eb.EM(), PLAIN),
            (eb.ELU(), PLAIN),
            (eb.SQUAREM(), Read(PASS, eb.SQUAREM.want)),
            (eb.LBFGS(), LOSS),
            (eb.NewtonAnderson(), CURVED),
            (eb.Newton(), CURVED),
        ],
        ids=lambda given: getattr(given, "name", ""),
    )
    @pytest.mark.parametrize("driver", ["auto", "python"])
    def test_passes_times_the_price(self, algorithm, read, driver, priced):
        sample = eb.ArraySample(rows(d=2))
        run = eb.run(sample, "isotropic", algorithm, max_iter=6, driver=driver)
        assert run.passes > 0.0
        assert reads(run.bill) == {read: run.passes}
        assert run.cost == pytest.approx(run.passes * price(read, sample.n, 2), rel=1e-14)
        assert np.allclose(
            run.trace["cost"], run.trace["passes"] * price(read, sample.n, 2), rtol=1e-14
        )

    def test_two_points_in_a_pass(self, priced):
        run = eb.run(rows(), "isotropic", Simultaneous(), max_iter=5)
        assert run.cost == pytest.approx(run.passes * price(Read(PASS, Simultaneous.want, 2), 1, 1))

    def test_held_out_rows_are_read_for_the_loss(self, priced):
        n, held = scaled(400, 40), scaled(100, 10)
        run = eb.run(
            rows(n, 2),
            "isotropic",
            eb.ELU(),
            max_iter=5,
            validation=eb.ArraySample(rows(held, 2, seed=1)),
        )
        steps = float(run.n_iter)
        found = reads(run.bill)
        assert found == pytest.approx({PLAIN: 0.8 * steps, LOSS: 0.2 * (steps + 1.0)})
        assert sum(found.values()) == pytest.approx(run.passes)
        assert run.cost == pytest.approx(found[PLAIN] + 1.625 * found[LOSS])
        assert run.trace["cost"].iloc[0] == pytest.approx(0.2 * 1.625)  # the loss of the start
        assert run.trace["cost"].iloc[-1] == pytest.approx(run.cost)

    @pytest.mark.parametrize(
        ("model", "d", "expected"),
        [
            ("isotropic", 1, {Read(SHAPE): 1.0}),
            ("isotropic", 3, {Read(SHAPE): 1.0}),
            ("isotropic", 130, {Read(PASS, 0, 8): 3.0}),
        ],
    )
    def test_moments_pay_for_what_they_read(self, model, d, expected, priced):
        run = eb.run(rows(scaled(400, 20), d), model, eb.Moments())
        assert reads(run.bill) == expected
        assert run.cost == Bill(1, d, expected).cost()

    def test_a_second_read_of_moments_compares_likelihoods(self, priced):
        run = eb.run(rows(d=2), "diagonal", eb.Moments())
        found = reads(run.bill)
        (second,) = set(found) - {Read(SHAPE)}
        assert second.want == LOG_COSH
        assert second.points > 1
        assert found == {Read(SHAPE): 1.0, second: 1.0}
        assert run.trace["cost"].tolist() == [0.0, 0.5, 0.5 + price(second, 1, 2)][: len(run.trace)]

    def test_no_iteration_costs_nothing(self):
        run = eb.run(rows(), "isotropic", eb.EM(), max_iter=0)
        assert run.cost == 0.0
        assert run.trace["cost"].tolist() == [0.0]

    def test_many_runs_have_the_costs_of_each(self, priced):
        samples = [eb.ArraySample(rows(seed=seed)) for seed in range(3)]
        together = eb.run_many(samples, "isotropic", eb.NewtonAnderson(), max_iter=4)
        alone = [eb.run(one, "isotropic", eb.NewtonAnderson(), max_iter=4) for one in samples]
        assert [run.cost for run in together] == [run.cost for run in alone]

    def test_a_lattice_has_the_prices_of_its_rows(self, priced):
        sample = eb.LatticeSample.gaussian(10**9, 1, seed=0)
        run = eb.run(sample, "isotropic", eb.NewtonAnderson(), max_iter=3)
        assert run.cost == run.passes * price(CURVED, sample.n, 1)


class TestMetered:
    def test_answers_are_those_of_the_sample(self):
        inner = eb.ArraySample(1e7 + rows(d=2))
        sample = Metered(inner)
        u, b, ones = np.array([[0.5, 0.2]]), np.zeros(1), np.ones(2)
        assert (sample.sums(u, b, LOG_COSH) == inner.sums(u, b, LOG_COSH)).all()
        assert (sample.shape_about(ones, ones).fourth == inner.shape_about(ones, ones).fourth).all()
        assert sample.moments() is inner.moments()
        assert (sample.n, sample.d, sample.n_weighted) == (inner.n, 2, inner.n_weighted)
        assert (sample.origin() == inner.origin()).all()
        near = sample.about(sample.origin())
        assert (near.moments().m1 == inner.about(inner.origin()).moments().m1).all()
        assert sample.reads == [(LOSS, 1.0), (Read(SHAPE), 1.0)]

    @pytest.mark.parametrize("d", [1, 3])
    def test_what_is_known_is_not_read_again(self, d):
        inner = eb.ArraySample(2.0 + rows(FEW, d))
        sample, both = Metered(inner), LOG_COSH | CURVATURE
        u, b = np.full((2, d), 0.3), np.array([0.1, 0.2])
        own = inner.sums(u, b, both)
        sample.remember(Sums(u[0] * (1.0 + 2.0**-52), 0.1, both, own[0]))
        assert (sample.sums(u[:1], b[:1], LOG_COSH) == own[0, : d + 2]).all()
        assert sample.passes == 0.0
        assert sample.sums(u, b, both) == pytest.approx(own, rel=1e-15)
        assert sample.reads == [(CURVED, 1.0)]
        far = u * (1.0 + 1e-12)
        sample.sums(far[:1], b[:1], LOG_COSH)
        assert sample.passes == 2.0

    @pytest.mark.parametrize("d", [1, 3])
    def test_short_directions_from_the_moments(self, d):
        """Where tanh is the identity, second moments are all that a pass brings."""
        inner = eb.ArraySample(2.0 + rows(FEW, d))
        sample = Metered(inner)
        first = sample.shape_about(np.full(d, 1.5), np.full(d, 0.7))
        assert sample.shape_about(np.full(d, 1.5), np.full(d, 0.7)) is first
        u, b = 2.0**-40 * np.arange(1.0, d + 1)[None, :], np.array([2.0**-41])
        for want in (0, LOG_COSH, LOG_COSH | CURVATURE):
            expected, got = inner.sums(u, b, want)[0], sample.sums(u, b, want)[0]
            asked = slice(None) if want else slice(d + 1)
            assert got[asked] == pytest.approx(expected[asked], rel=1e-12, abs=2.0**-85)
        assert sample.reads == [(Read(SHAPE), 1.0)]
        sample.shape_about(np.zeros(d), np.ones(d))
        assert sample.passes == 2.0

    def test_parts_write_on_the_same_list(self):
        sample = Metered(eb.ArraySample(rows(FEW)))
        half = sample.part(eb.ArraySample(rows(FEW // 2)))
        assert sample.part(sample.inner) is sample
        half.curvature_moments([0.5])
        half.part(eb.ArraySample(rows(FEW // 4))).tanh_moments([[0.5], [0.1]])
        assert sample.reads == [(CURVED, 0.5), (Read(PASS, 0, 2), 0.25)]


@needs_jit
class TestCondensed:
    def test_a_pass_reads_the_points(self, priced):
        sample = eb.CondensedSample(rows(100_000))
        run = eb.run(sample, "isotropic", eb.EM(), max_iter=10)
        assert sample.condensed_to < 0.1 * sample.n
        assert run.cost == pytest.approx(run.passes * sample.condensed_to / sample.n)

    def test_a_direction_for_which_the_points_will_not_do_reads_all_rows(self):
        sample = Metered(eb.CondensedSample(rows(100_000)))
        short, long = 0.5 * sample.inner.largest_u, 1e3 * sample.inner.largest_u
        sample.sums(np.array([[short], [long], [short]]), np.zeros(3), LOG_COSH)
        assert sample.reads == [
            (Read(PASS, LOG_COSH, 1), 1.0),
            (Read(PASS, LOG_COSH, 2), sample.share),
        ]

    def test_the_compiled_loop_pays_for_them(self, priced):
        """EM from far outside, where the components are narrow: its first passes read all rows."""
        x = rows(100_000)
        start = [float(np.sqrt(np.mean(x**2))) * (1 - 1e-4)]
        bills = []
        for driver in ("compiled", "python"):
            sample = eb.CondensedSample(x)
            run = eb.run(sample, "isotropic", eb.EM(), start, max_iter=6, driver=driver)
            bills.append(run.bill.reads[PLAIN])
            far = np.flatnonzero(np.diff(run.trace["cost"]) > 0.5)
            assert 0 < len(far) < 6
            assert run.cost == pytest.approx(len(far) + (6 - len(far)) * sample.share)
        assert np.allclose(*bills, rtol=1e-14)


class TestFits:
    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    @pytest.mark.parametrize("d", [1, 2])
    def test_all_reads_are_on_the_bill(self, model, d, priced):
        fit = eb.fit(rows(scaled(2000, 60), d), model)
        assert sum(fit.bill.reads.values()) == pytest.approx(fit.passes)
        assert fit.cost == pytest.approx(fit.bill.cost())
        assert fit.cost > fit.run.cost
        assert fit.as_dict()["cost"] == fit.cost

    @needs_jit
    def test_the_summary_says_it_where_passes_take_time(self, priced):
        many, few = eb.fit(rows(40_000, 2)), eb.fit(rows(6))
        said = f"{many.passes:.4g} passes, worth {many.cost:.3g} plain passes over the data, "
        assert said in " ".join(many.summary().split())
        assert f" {few.passes:.4g} passes, {few.seconds:.2g} s" in " ".join(few.summary().split())
        assert "worth" not in few.summary()

    @needs_jit
    def test_a_part_of_the_rows_costs_a_part(self, priced):
        fit = eb.fit(rows(200_000, 2), "isotropic")
        assert sum(fit.bill.reads.values()) == pytest.approx(fit.passes)
        shares = {amount % 1.0 for amount in fit.bill.reads.values()}
        assert any(0.0 < share < 0.5 for share in shares)

    @needs_jit
    def test_condensing_is_nearly_all(self, priced):
        X = rows(200_000)
        fit = eb.fit(X)
        points = fit.run.details["condensed_to"]
        rest = {read: amount for read, amount in fit.bill.reads.items() if read.what != CONDENSING}
        assert fit.bill.reads[Read(CONDENSING)] == 1.0
        assert sum(rest.values()) == pytest.approx(fit.passes * points / fit.n)
        assert fit.cost == pytest.approx(3.25 + Bill(fit.n, 1, rest).cost())

    @needs_jit
    def test_held_out_rows_are_condensed_again(self, priced):
        fit = eb.fit(eb.CondensedSample(rows(100_000)), algorithm="elu", model="isotropic")
        assert fit.bill.reads[Read(CONDENSING)] == 2.0

    def test_few_rows_are_not_condensed(self):
        fit = eb.fit(eb.CondensedSample(rows(scaled(1000, 40))))
        assert Read(CONDENSING) not in fit.bill.reads


class TestStudies:
    @pytest.mark.parametrize("stop", ["radius", "end"])
    def test_rows_have_costs(self, stop, priced, tmp_path):
        block = {
            "name": "race", "models": "isotropic", "n": [1000, 2000], "d": 1, "samples": "lattice",
            "replicates": 2, "algorithms": ["EM", "NewtonAnderson", "Moments"], "stop": stop,
            "max_iter": 20, "radius_constant": 2.0,
        }  # fmt: skip
        eb.run_study({"name": "costs", "seed": 1, "block": [block]}, tmp_path / "s")
        found = eb.load_results(tmp_path / "s")
        each = {
            "EM": 1.0,
            "NewtonAnderson": price(CURVED, 1, 1),
            "Moments": price(Read(SHAPE), 1, 1),
        }
        factor = found["algorithm"].map(each)
        assert np.allclose(found["cost"], factor * found["passes"])
        arrived = found["reached"].to_numpy(dtype=bool)
        assert arrived.any()
        assert np.allclose(
            found["cost_to_radius"][arrived], (factor * found["passes_to_radius"])[arrived]
        )
        assert found["cost_to_radius"][~arrived].isna().all()
