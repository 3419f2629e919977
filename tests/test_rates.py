"""Rates from rows: planted exponents and laws are found, and intervals cover as often as they say."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom
from study_tools import small

import elubench as eb
from elubench import rates
from elubench.papers.beyond_em import theory
from elubench.rates import censoring

SIZES = 10.0 ** np.arange(3, 9)


def errors(rng, slope=-0.125, bend=0.0, replicates=40, sizes=SIZES, name="location_error"):
    """Errors |z| n^slope exp(bend (ln n - 14)^2), z normal; replicates are numbered."""
    x = np.log(sizes)[:, None]
    size = np.exp(slope * x + bend * (x - 14.0) ** 2)
    values = np.abs(rng.standard_normal((len(sizes), replicates))) * size
    return pd.DataFrame(
        {
            "n": np.repeat(sizes, replicates),
            "replicate": np.tile(np.arange(replicates), len(sizes)),
            name: values.ravel(),
        }
    )


def runs(rng, law, replicates=20, sizes=SIZES, noise=0.05, whole=True):
    """Counts law(n) times log-normal noise, rounded up; all arrive."""
    median = np.repeat(law(sizes), replicates)
    taken = median * np.exp(noise * rng.standard_normal(len(median)))
    taken = np.ceil(taken) if whole else taken
    return pd.DataFrame(
        {
            "n": np.repeat(sizes, replicates),
            "replicate": np.tile(np.arange(replicates), len(sizes)),
            "reached": True,
            "status": "reached",
            "iterations_to_radius": taken,
            "iterations": taken,
        }
    )


def censored(frame, where, spent):
    """The same rows where those runs give up after `spent` iterations."""
    frame = frame.copy()
    frame.loc[where, "iterations_to_radius"] = np.nan
    frame.loc[where, "reached"] = False
    frame.loc[where, "iterations"] = spent
    frame.loc[where, "status"] = "max_iter"
    return frame


def shuffled(frame, seed=0):
    return frame.sample(frac=1.0, random_state=seed)


class TestKaplanMeier:
    def test_by_hand(self):
        # Gehan's leukaemia trial, the treated arm: the textbook's own table of survival.
        times = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
        lost = [3, 5, 7, 8, 11, 12, 13, 16, 17, 18, 19, 20]
        observed = [place not in lost for place in range(21)]
        textbook = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
        where = [6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0, math.inf]
        for t, following, survival in zip(where, where[1:], textbook, strict=False):
            assert censoring.quantile(times, observed, 1.0 - survival - 1e-3) == t
            assert censoring.quantile(times, observed, 1.0 - survival + 1e-3) == following

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=25),
        st.sampled_from([1 / math.pi, 0.5 * math.sqrt(2), 1 / math.e]),  # no survival is 1 - q
    )
    def test_like_the_definition(self, rows, q):
        expected, survival = math.inf, 1.0
        for t in sorted({time for time, seen in rows if seen}):
            arrive = sum(1 for time, seen in rows if seen and time == t)
            at_risk = sum(1 for time, _ in rows if time >= t)
            survival *= (at_risk - arrive) / at_risk
            if survival <= 1.0 - q:
                expected = t
                break
        assert censoring.quantile(*zip(*rows, strict=True), q) == expected

    @given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from([0.1, 0.5, 0.9]))
    def test_without_censoring_it_is_the_empirical_quantile(self, times, q):
        found = censoring.quantile(times, [True] * len(times), q)
        assert found == np.quantile(times, q, method="averaged_inverted_cdf")
        if q == 0.5:
            assert found == np.median(times)

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=20),
        st.integers(1, 5),
        st.sampled_from([0.0, 1.0]),
        st.sampled_from([9.0, math.inf]),
    )
    def test_more_censored_runs_at_the_end_never_lower_it(self, rows, more, step, end):
        times, observed = map(list, zip(*rows, strict=True))
        before = censoring.quantile(times, observed, step=step)
        after = censoring.quantile(times + [end] * more, observed + [False] * more, step=step)
        assert after >= before

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=20),
        st.randoms(use_true_random=False),
    )
    def test_order_does_not_matter(self, rows, random):
        mixed = random.sample(rows, len(rows))
        for q in (0.25, 0.5):
            assert censoring.quantile(*zip(*rows, strict=True), q) == censoring.quantile(
                *zip(*mixed, strict=True), q
            )

    @given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=2, max_size=20))
    def test_a_weight_is_a_repetition(self, rows):
        rng = np.random.default_rng(len(rows))
        weights = rng.integers(0, 4, len(rows))
        assume(weights.sum() > 0)
        times, observed = map(np.array, zip(*rows, strict=True))
        for step in (0.0, 1.0):
            (found,) = censoring.weighted_quantiles(
                times.astype(float), observed, weights[None, :].astype(float), 0.5, step
            )
            repeated = np.repeat(times, weights), np.repeat(observed, weights)
            assert found == pytest.approx(censoring.quantile(*repeated, step=step), rel=1e-12)

    def test_a_step_spreads_ties_over_it(self):
        assert censoring.quantile([1, 2, 2, 2, 3], [True] * 5, step=1.0) == pytest.approx(1.5)
        assert censoring.quantile([7] * 4, [True] * 4, step=1.0) == pytest.approx(6.5)
        assert censoring.quantile([7] * 3 + [8], [True] * 4, step=1.0) == pytest.approx(6 + 2 / 3)
        assert censoring.quantile([0] * 4, [True] * 4, step=1.0) == 0.0

    @given(st.lists(st.integers(1, 60), min_size=1, max_size=30))
    def test_a_step_moves_it_by_less_than_a_step(self, times):
        plain = censoring.quantile(times, [True] * len(times))
        assert plain - 1.0 <= censoring.quantile(times, [True] * len(times), step=1.0) <= plain

    def test_nobody_arrives(self):
        assert censoring.quantile([3, 4], [False, False]) == math.inf

    def test_half_of_the_runs_are_not_enough(self):
        assert censoring.quantile([3, 4, 9, 9], [True, True, False, False]) == math.inf
        assert censoring.quantile([3, 4, 5, 9, 9], [True, True, True, False, False]) == 5.0

    @pytest.mark.parametrize(
        ("times", "observed", "named"),
        [
            ([], [], "times"),
            ([[1.0]], [[True]], "times"),
            ([1.0, math.nan], [True, False], "times"),
            ([1.0, -1.0], [True, False], "times"),
            ([1.0, math.inf], [True, True], "times"),
            ([1.0, 2.0], [True], "observed"),
            ([1.0, 2.0], [1, 0], "observed"),
        ],
    )
    def test_bad_input_is_named(self, times, observed, named):
        for ask in (censoring.quantile, censoring.expected_running_time):
            with pytest.raises(ValueError, match=rf"^{named} must"):
                ask(times, observed)

    def test_bad_options_are_named(self):
        with pytest.raises(ValueError, match=r"^times must be finite"):
            censoring.expected_running_time([1.0, math.inf], [True, False])
        with pytest.raises(ValueError, match=r"^q must be in"):
            censoring.quantile([1.0], [True], 1.0)
        with pytest.raises(ValueError, match=r"^step must be finite and >= 0"):
            censoring.quantile([1.0], [True], step=-1.0)


class TestRunningTimes:
    def test_expected_running_time(self):
        assert censoring.expected_running_time([10, 30], [True, True]) == 20.0
        assert censoring.expected_running_time([10, 30, 100], [True, True, False]) == 70.0
        assert censoring.expected_running_time([5, 5], [False, False]) == math.inf

    def frame(self):
        return pd.DataFrame(
            {
                "algorithm": ["EM"] * 4 + ["ELU"] * 3,
                "n": 1000,
                "reached": [True, True, False, False, True, True, True],
                "iterations_to_radius": [5.0, 7.0, np.nan, np.nan, 2.0, 2.0, 3.0],
                "iterations": [5.0, 7.0, 100.0, np.nan, 2.0, 2.0, 3.0],
                "passes_to_radius": [5.0, 7.0, np.nan, np.nan, 4.0, 4.0, 6.0],
                "passes": [5.0, 7.0, 100.0, np.nan, 4.0, 4.0, 6.0],
            }
        )

    def test_table_counts_every_run(self):
        table = censoring.running_times(self.frame()).set_index("algorithm")
        assert table.loc["EM", ["runs", "reached", "failed"]].tolist() == [4, 2, 1]
        assert table.loc["EM", "censored"] == 0.5
        assert table.loc["EM", "expected"] == 56.0
        # The failed run is censored at 0: it is at risk of nothing. Of the other three, two arrive.
        assert table.loc["EM", "median"] == 7.0
        assert table.loc["EM", "q90"] == math.inf
        assert table.loc["ELU", ["q10", "median", "q90"]].tolist() == [2.0, 2.0, 3.0]
        assert table.loc["ELU", "censored"] == 0.0

    def test_who_stopped_elsewhere_never_arrives(self):
        frame = pd.DataFrame(
            {
                "algorithm": "Newton",
                "n": 1000,
                "iterations_to_radius": [8.0, 9.0, 10.0, *[np.nan] * 4],
                "iterations": [8.0, 9.0, 10.0, 5.0, 6.0, 7.0, 7.0],
            }
        )
        frame["reached"] = frame["iterations_to_radius"].notna()
        for status, median in (
            ("max_iter", 9.0),  # cut short before anyone arrived: nothing is known of them
            ("converged", math.inf),
            ("diverged", math.inf),
        ):
            rows = frame.assign(status=np.where(frame["reached"], "reached", status))
            table = censoring.running_times(rows)
            assert table["median"].tolist() == [median]
            assert table["expected"].tolist() == [52.0 / 3.0]
            assert table["censored"].tolist() == [pytest.approx(4.0 / 7.0)]
            shares = censoring.run_time_distribution(rows, "iterations_to_radius", "iterations")
            assert shares["share"].iloc[-1] == pytest.approx(3.0 / 7.0)

    def test_distribution_has_failures_in_it(self):
        table = censoring.run_time_distribution(self.frame())
        em = table[table["algorithm"] == "EM"]
        assert em[["cost", "share"]].to_numpy().tolist() == [
            [0.0, 0.0],
            [5.0, 0.25],
            [7.0, 0.5],
            [100.0, 0.5],
        ]
        elu = table[table["algorithm"] == "ELU"]
        assert elu["cost"].tolist() == [0.0, 4.0, 6.0]
        np.testing.assert_allclose(elu["share"], [0.0, 2 / 3, 1.0])
        again = censoring.run_time_distribution(shuffled(self.frame()), by="algorithm")
        pd.testing.assert_frame_equal(table, again)

    def test_bad_input_is_named(self):
        frame = self.frame()
        with pytest.raises(ValueError, match=r"^frame must have a column 'passes'"):
            censoring.run_time_distribution(frame.drop(columns="passes"))
        with pytest.raises(ValueError, match=r"^frame must have at least one row"):
            censoring.running_times(frame.iloc[:0])
        with pytest.raises(TypeError, match=r"^frame must be a pandas DataFrame, got list"):
            censoring.running_times([1, 2])
        with pytest.raises(ValueError, match="NaN exactly where 'reached' is False"):
            censoring.running_times(frame.assign(reached=True))
        with pytest.raises(ValueError, match="must be finite and >= 0"):
            censoring.running_times(frame.assign(iterations=-1.0))


class TestExponent:
    def test_exact_power_law(self):
        frame = errors(np.random.default_rng(0))
        frame["location_error"] = 3.0 * frame["n"] ** -0.25
        found = rates.exponent(frame)
        for number in (found.slope, found.low, found.high):
            assert number == pytest.approx(-0.25, abs=1e-12)
        assert math.exp(found.intercept) == pytest.approx(3.0)
        np.testing.assert_allclose(found.predict([1e4, 1e20]), [0.3, 3e-5])
        np.testing.assert_allclose(found.local["slope"], -0.25)
        assert found.curvature == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("statistic", ["rmse", "mean", 0.9])
    def test_like_an_ordinary_fit_of_the_statistics(self, statistic):
        frame = errors(np.random.default_rng(1), replicates=25)
        found = rates.exponent(frame, statistic=statistic, weights="equal")
        x, y = [], []
        for n in sorted(set(frame["n"])):
            sample = frame[frame["n"] == n]["location_error"].tolist()
            if statistic == "rmse":
                value = math.sqrt(sum(e * e for e in sample) / len(sample))
            elif statistic == "mean":
                value = sum(sample) / len(sample)
            else:
                value = np.percentile(sample, 90)
            x.append(math.log(n))
            y.append(math.log(value))
        slope, intercept = np.polyfit(x, y, 1)
        assert found.slope == pytest.approx(slope, rel=1e-9)
        assert found.intercept == pytest.approx(intercept, rel=1e-9)
        assert found.curvature == pytest.approx(np.polyfit(x, y, 2)[0], rel=1e-6)
        np.testing.assert_allclose(found.statistics, np.exp(y))
        np.testing.assert_allclose(found.local["slope"], np.diff(y) / np.diff(x))
        assert found.replicates.tolist() == [25] * len(SIZES)

    def test_intervals_cover_as_often_as_they_say(self):
        # With 40 replicates the bootstrap is off by one or two percent; the rest of the tolerance is
        # the binomial's, at one in a thousand. Neighbours have no other n to make up for their noise.
        hits, narrow, wrong, alarms, local = 0, 0, 0, 0, 0
        sets = 400
        for seed in range(sets):
            frame = errors(np.random.default_rng([5, seed]))
            found = rates.exponent(frame, resamples=300, seed=seed)
            hits += found.low <= -0.125 <= found.high
            half = 0.25 * (found.high - found.low)
            narrow += abs(found.slope + 0.125) <= half
            wrong += found.low <= -0.165 <= found.high
            alarms += found.moving
            local += ((found.local["low"] <= -0.125) & (found.local["high"] >= -0.125)).sum()
        least, most = binom.ppf(0.001, sets, 0.93), binom.ppf(0.999, sets, 0.96)
        assert least <= hits <= most
        assert narrow < least  # intervals of half the width would be found out
        assert wrong < sets / 4  # and so is an exponent that is off by three standard deviations
        assert binom.ppf(0.001, sets, 0.04) <= alarms <= binom.ppf(0.999, sets, 0.07)
        assert 0.90 <= local / (5 * sets) <= 0.96

    def test_level_is_what_it_says(self):
        hits = sum(
            (
                found := rates.exponent(
                    errors(np.random.default_rng([6, s])), level=0.6, resamples=200
                )
            ).low
            <= -0.125
            <= found.high
            for s in range(120)
        )
        assert binom.ppf(0.001, 120, 0.57) <= hits <= binom.ppf(0.999, 120, 0.63)

    def test_quantiles_cover_too(self):
        hits = 0
        for seed in range(60):
            frame = errors(np.random.default_rng([7, seed]), replicates=60)
            found = rates.exponent(frame, statistic=0.9, resamples=200)
            hits += found.low <= -0.125 <= found.high
        assert hits >= binom.ppf(0.001, 60, 0.93)

    def test_curvature_is_found(self):
        found = [
            rates.exponent(errors(np.random.default_rng([8, s]), bend=sign * 0.015))
            for s in range(15)
            for sign in (-1, 1)
        ]
        assert sum(one.moving for one in found) >= 27
        estimates = np.array([one.curvature for one in found])
        np.testing.assert_allclose(np.mean(estimates[1::2]), 0.015, atol=0.003)
        np.testing.assert_allclose(np.mean(estimates[::2]), -0.015, atol=0.003)

    def test_upper_half(self):
        rng = np.random.default_rng(9)
        frame = errors(rng, sizes=10.0 ** np.arange(3, 10))
        found = rates.exponent(frame, upper_half=True)
        assert found.at.tolist() == [1e6, 1e7, 1e8, 1e9]
        apart = rates.exponent(frame[frame["n"] >= 1e6])
        assert (found.slope, found.low, found.high) == (apart.slope, apart.low, apart.high)

    def test_same_seed_same_interval_in_any_order_of_the_rows(self):
        frame = errors(np.random.default_rng(10))
        first = rates.exponent(frame)
        for other in (rates.exponent(frame), rates.exponent(shuffled(frame))):
            for name in ("slope", "low", "high", "curvature", "curvature_low", "curvature_high"):
                assert getattr(first, name) == getattr(other, name)
            pd.testing.assert_frame_equal(first.local, other.local)
        assert rates.exponent(frame, seed=1).low != first.low
        alone = frame.drop(columns="replicate")
        assert rates.exponent(alone).low == rates.exponent(shuffled(alone)).low

    def test_algorithms_on_the_same_samples_are_resampled_alike(self):
        frame = errors(np.random.default_rng(11))
        slower = frame.assign(location_error=frame["location_error"] * 2.0 * frame["n"] ** 0.1)
        one, two = rates.exponent(frame), rates.exponent(shuffled(slower))
        assert two.low - one.low == pytest.approx(0.1, abs=1e-9)
        assert two.high - one.high == pytest.approx(0.1, abs=1e-9)

    def test_more_replicates_weigh_more(self):
        rng = np.random.default_rng(12)
        sure = errors(rng, replicates=400, sizes=np.array([1e3, 1e4, 1e7, 1e8]))
        vague = errors(rng, replicates=4, sizes=np.array([1e9]))
        vague["location_error"] *= 10.0
        frame = pd.concat([sure, vague])
        weighted, equal = rates.exponent(frame), rates.exponent(frame, weights="equal")
        assert abs(weighted.slope + 0.125) < 0.2 * abs(equal.slope + 0.125)

    def test_an_algorithm_that_stalls_does_not_own_the_slope(self):
        frame = errors(np.random.default_rng(13), sizes=10.0 ** np.arange(3, 13))
        floor = 0.2 * (1.0 + 1e-4 * frame["location_error"])
        frame["location_error"] = np.maximum(frame["location_error"], floor)
        found = rates.exponent(frame)
        assert found.moving
        assert -0.1 < found.slope < -0.02

    def test_by_dimension(self):
        frame = errors(np.random.default_rng(14), slope=0.25, sizes=np.array([1.0, 2, 4, 8, 16]))
        found = rates.exponent(frame.rename(columns={"n": "d"}), by="d")
        assert found.low <= 0.25 <= found.high
        assert found.by == "d"

    def test_zeros_are_errors_but_a_zero_statistic_has_no_logarithm(self):
        frame = errors(np.random.default_rng(15), replicates=200)
        frame.loc[frame["replicate"] % 2 == 0, "location_error"] = 0.0
        assert rates.exponent(frame).low <= -0.125 <= rates.exponent(frame).high
        with pytest.raises(ValueError, match=r"0\.4 quantile of 'location_error' at n = 1000 is 0"):
            rates.exponent(frame, statistic=0.4)
        with pytest.raises(ValueError, match=r"too many exact zeros"):
            rates.exponent(frame, statistic=0.51)
        with pytest.raises(ValueError, match="has no logarithm"):
            rates.exponent(frame.assign(location_error=0.0))

    def test_missing_values_are_counted(self):
        frame = errors(np.random.default_rng(16))
        frame.loc[frame["replicate"] == 3, "location_error"] = np.nan
        found = rates.exponent(frame)
        assert found.missing == len(SIZES)
        assert found.replicates.tolist() == [39] * len(SIZES)

    def test_two_sizes_have_a_slope_and_no_curvature(self):
        found = rates.exponent(errors(np.random.default_rng(17), sizes=np.array([1e3, 1e9])))
        assert found.low <= -0.125 <= found.high
        assert math.isnan(found.curvature)
        assert not found.moving

    @pytest.mark.parametrize(
        ("change", "options", "said"),
        [
            (lambda f: f.drop(columns="n"), {}, "must have a column 'n'"),
            (lambda f: f, {"value": "speed"}, "must have a column 'speed'"),
            (lambda f: f.iloc[:0], {}, "must have at least one row"),
            (lambda f: f[f["n"] == 1000], {}, "two values of 'n'"),
            (lambda f: f[f["replicate"] == 0], {}, "2 replicates"),
            (
                lambda f: f.assign(location_error=-1.0),
                {},
                r"frame\['location_error'\] must be finite",
            ),
            (
                lambda f: f.assign(location_error=np.inf),
                {},
                r"frame\['location_error'\] must be finite",
            ),
            (
                lambda f: f.assign(n=0.0, replicate=range(len(f))),
                {},
                r"frame\['n'\] must be positive",
            ),
            (lambda f: pd.concat([f, f]), {}, "replicate 0 more than once at n = 1000"),
            (lambda f: f, {"statistic": "median"}, "^statistic must"),
            (lambda f: f, {"statistic": 1.0}, "^statistic must"),
            (lambda f: f, {"level": 1.0}, "^level must"),
            (lambda f: f, {"resamples": 10}, "^resamples must"),
            (lambda f: f, {"seed": -1}, "^seed must"),
            (lambda f: f, {"weights": "some"}, "^weights must"),
        ],
    )
    def test_bad_input_is_named(self, change, options, said):
        with pytest.raises(ValueError, match=said):
            rates.exponent(change(errors(np.random.default_rng(18))), **options)


LONG = 10.0 ** np.arange(3, 13)


class TestGrowth:
    @pytest.mark.parametrize(
        ("law", "family"),
        [
            (lambda n: 3.4 * np.log(n) - 12.0, "logarithm"),
            (lambda n: 20.0 * n**0.1, "power"),
            (lambda n: 0.02 * n**0.75, "power"),
            (lambda n: 0.1 * np.log(n) ** 2.5, "logarithm"),
        ],
    )
    def test_laws_are_told_apart(self, law, family):
        found = [
            rates.growth(runs(np.random.default_rng([20, s]), law, sizes=LONG), seed=s).family
            for s in range(8)
        ]
        assert found.count(family) >= 7
        assert set(found) <= {family, "undecided"}

    def test_noise_makes_it_undecided(self):
        rng = np.random.default_rng(21)
        frame = runs(rng, lambda n: 20.0 * n**0.1, sizes=LONG[:5], replicates=5, noise=0.6)
        assert rates.growth(frame).family == rates.growth(frame).winner == "undecided"

    def test_exact_laws_are_recovered(self):
        rng = np.random.default_rng(22)
        laws = {
            "logarithm": (lambda n: -12.0 + 3.4 * np.log(n), -12.0, 3.4),
            "power": (lambda n: 0.5 * n**0.3, 0.5, 0.3),
            "power of the logarithm": (lambda n: 0.5 * np.log(n) ** 1.7, 0.5, 1.7),
        }
        for name, (law, a, b) in laws.items():
            found = rates.growth(runs(rng, law, noise=0.0, whole=False))
            assert found.winner == name
            assert found.laws.loc[name, "a"] == pytest.approx(a, rel=1e-5)
            assert found.laws.loc[name, "b"] == pytest.approx(b, rel=1e-5)
            assert found.laws.loc[name, "error"] == pytest.approx(0.0, abs=1e-5)
            assert found.laws.loc[name, "covered"] or abs(found.laws.loc[name, "error"]) < 1e-6
        assert found.contest["law"].tolist() == ["logarithm", "logarithm", "power"]

    def test_logarithm_is_the_least_squares_fit(self):
        # All replicates alike: no noise, and every n has the same weight.
        counts = np.array([1.4, 14.0, 25.0, 35.0, 42.5, 51.0])
        frame = runs(np.random.default_rng(0), lambda n: counts, noise=0.0, whole=False)
        a, b = rates.growth(frame).laws.loc["logarithm", ["a", "b"]]

        def loss(line):
            values = line[0] + line[1] * np.log(SIZES)
            if np.any(values <= 0.0):
                return 1e9
            return float(np.sum((np.log(counts) - np.log(values)) ** 2))

        best = minimize(
            loss, [-20.0, 4.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-15}
        )
        assert loss([a, b]) <= best.fun * (1.0 + 1e-9)

    def test_exponents_and_slopes_cover(self):
        power = logarithm = 0
        sets = 40
        for seed in range(sets):
            rng = np.random.default_rng([23, seed])
            found = rates.growth(
                runs(rng, lambda n: 0.02 * n**0.75, noise=0.2), resamples=200, seed=seed
            )
            power += found.exponent[1] <= 0.75 <= found.exponent[2]
            found = rates.growth(
                runs(rng, lambda n: 3.4 * np.log(n) - 12.0, noise=0.1), resamples=200, seed=seed
            )
            logarithm += found.slope_per_log[1] <= 3.4 <= found.slope_per_log[2]
        assert power >= binom.ppf(0.001, sets, 0.93)
        assert logarithm >= binom.ppf(0.001, sets, 0.93)

    def test_table_of_sizes(self):
        rng = np.random.default_rng(24)
        frame = runs(rng, lambda n: 0.02 * n**0.75, sizes=LONG)
        table = rates.growth(frame).sizes
        assert table["n"].tolist() == LONG.tolist()
        assert table["used"].tolist() == ["fit"] * 8 + ["held out"] * 2
        assert rates.growth(frame, holdout=1).sizes["used"].tolist() == ["fit"] * 9 + ["held out"]
        medians = frame.groupby("n")["iterations_to_radius"].median()
        assert table["median"].tolist() == medians.tolist()
        assert (table["low"] <= table["median"]).all()
        assert (table["median"] <= table["high"]).all()
        assert (table["median"] - 1.0 <= table["centre"]).all()
        assert (table["centre"] <= table["median"]).all()

    def test_counts_that_never_change(self):
        found = rates.growth(runs(np.random.default_rng(25), lambda n: 0 * n + 0.7, noise=0.0))
        assert found.winner == found.family == "undecided"
        assert found.exponent[1] < 0.0 < found.exponent[2]
        assert found.laws["covered"].all()

    def test_counts_that_are_not_whole_may_be_zero(self):
        frame = runs(np.random.default_rng(32), lambda n: n**0.3, whole=False)
        frame.loc[frame["replicate"] % 5 < 2, "iterations_to_radius"] = 0.0
        found = rates.growth(frame)
        assert np.isfinite(found.laws["b_low"]).all()
        assert (found.sizes["used"] != "").all()

    def test_medians_of_zero_fit_no_law_and_are_shown(self):
        frame = runs(np.random.default_rng(26), lambda n: np.maximum(3.4 * np.log(n) - 31.0, 0.0))
        found = rates.growth(frame)
        assert found.sizes["median"].tolist()[0] == 0.0
        assert found.sizes["used"].tolist() == ["", "fit", "fit", "fit", "fit", "held out"]

    def test_censored_runs_count(self):
        rng = np.random.default_rng(27)
        whole = runs(rng, lambda n: 0.02 * n**0.75, sizes=LONG)
        slowest = whole.groupby("n")["iterations_to_radius"].rank(method="first") > 14
        some = censored(whole, slowest, 1e9)
        found, complete = rates.growth(some), rates.growth(whole)
        assert found.censored == pytest.approx(0.3)
        assert complete.censored == 0.0
        assert found.sizes["median"].tolist() == complete.sizes["median"].tolist()
        assert found.family == "power"
        # Dropping them instead would give another median.
        kept = some.dropna(subset="iterations_to_radius")
        assert rates.growth(kept).sizes["median"].iloc[-1] < complete.sizes["median"].iloc[-1]
        # Where most runs do not arrive there is no median: the prediction is for the largest with one.
        most = censored(some, some["n"] == LONG[-1], 1e7)
        found = rates.growth(most)
        assert found.sizes["median"].iloc[-1] == math.inf
        assert found.sizes["used"].tolist() == ["fit"] * 8 + ["held out", ""]

    def test_failed_runs_count(self):
        frame = runs(np.random.default_rng(28), lambda n: 0.02 * n**0.75)
        frame = censored(frame, frame["replicate"] < 2, np.nan)
        found = rates.growth(frame)
        assert found.sizes["failed"].tolist() == [2] * len(SIZES)
        assert found.censored == pytest.approx(0.1)

    def test_three_passes_per_iteration_change_nothing(self):
        frame = runs(np.random.default_rng(29), lambda n: 3.4 * np.log(n) - 12.0)
        thrice = frame.assign(
            iterations_to_radius=3 * frame["iterations_to_radius"],
            iterations=3 * frame["iterations"],
        )
        one, three = rates.growth(frame), rates.growth(thrice)
        np.testing.assert_allclose(one.exponent, three.exponent, rtol=1e-9)
        np.testing.assert_allclose(3 * np.array(one.slope_per_log), three.slope_per_log, rtol=1e-6)
        assert one.family == three.family == "logarithm"

    def test_same_seed_same_contest_in_any_order_of_the_rows(self):
        frame = runs(np.random.default_rng(30), lambda n: 3.4 * np.log(n) - 12.0)
        first = rates.growth(frame)
        for other in (rates.growth(frame), rates.growth(shuffled(frame))):
            for name in ("laws", "contest", "sizes"):
                pd.testing.assert_frame_equal(
                    getattr(first, name), getattr(other, name), check_exact=True
                )
        assert rates.growth(frame, seed=1).exponent != first.exponent

    @pytest.mark.parametrize(
        ("change", "options", "said"),
        [
            (lambda f: f.drop(columns="iterations"), {}, "must have a column 'iterations'"),
            (lambda f: f.iloc[:0], {}, "must have at least one row"),
            (lambda f: f[f["n"] < 1e5], {}, "3 values of 'n'"),
            (lambda f: f[f["replicate"] == 0], {}, "two runs or more"),
            (lambda f: f.assign(n=f["n"] / 1000), {}, r"frame\['n'\] must be > 1"),
            (lambda f: pd.concat([f, f]), {}, "more than once"),
            (lambda f: f.assign(reached=False), {}, "exactly where 'reached' is False"),
            (lambda f: f.assign(iterations_to_radius=-1.0), {}, "must be finite and >= 0"),
            (lambda f: f, {"holdout": 5}, "^holdout must"),
            (lambda f: f, {"holdout": 0}, "^holdout must"),
            (lambda f: f, {"level": 0.0}, "^level must"),
            (lambda f: f, {"resamples": 1}, "^resamples must"),
        ],
    )
    def test_bad_input_is_named(self, change, options, said):
        frame = runs(np.random.default_rng(31), lambda n: 0.02 * n**0.75)
        with pytest.raises(ValueError, match=said):
            rates.growth(change(frame), **options)


def study(sizes=SIZES, replicates=20, seed=40):
    """Rows of a study with planted rates: errors at the end, and iterations to the radius."""
    rng = np.random.default_rng(seed)
    parts = []
    for algorithm, options, slope, law in (
        ("EM", {}, -0.02, lambda n: 0.02 * n**0.75),
        ("ELU", {"beta": 0.8, "eta": 0.01}, -0.125, lambda n: 3.361 * np.log(n) - 12.0),
        ("Newton", {}, -0.125, lambda n: 0.8 * np.log(n)),
    ):
        end = errors(rng, slope, sizes=sizes, replicates=replicates)
        end["scale_error"] = end["location_error"] ** 2
        counted = runs(rng, law, sizes=sizes, replicates=replicates)
        end = end.assign(stop="end", block="errors", reached=True, status="max_iter")
        end = end.assign(iterations=50.0, iterations_to_radius=20.0)
        counted = counted.assign(stop="radius", block="iterations")
        counted = counted.assign(location_error=0.1, scale_error=0.1)
        rows = pd.concat([end, counted], ignore_index=True)
        parts.append(rows.assign(algorithm=algorithm, options=json.dumps(options)))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.assign(
        model="isotropic",
        d=1,
        start="equal",
        seed=1,
        radius_constant=2.0,
        passes=frame["iterations"],
        passes_to_radius=frame["iterations_to_radius"],
    )
    frame["radius"] = 2.0 * frame["n"] ** -0.125
    zero = frame["replicate"] % 4 == 0
    frame["mle_location_error"] = np.where(zero, 1e-6, 0.9) * frame["n"] ** -0.125
    return frame


class TestFitRates:
    def test_planted_rates_next_to_the_theory(self):
        found = eb.fit_rates(study())
        assert len(found) == 12
        assert (found["note"] == "").all()
        by = found.set_index(["algorithm", "quantity"])
        elu, em = theory.rates("isotropic", 1, "elu"), theory.rates("isotropic", 1, "em")
        expected = {
            ("EM", "location_error"): ("power", em.location_n),
            ("EM", "scale_error"): ("power", em.scale_n),
            ("EM", "iterations_to_radius"): ("power", 0.75),
            ("EM", "passes_to_radius"): ("power", 0.75),
            ("ELU", "location_error"): ("power", -0.125),
            ("ELU", "iterations_to_radius"): ("logarithm", elu.slope(0.8)),
        }
        for key, (law, value) in expected.items():
            assert by.loc[key, "law"] == law
            assert by.loc[key, "theory"] == pytest.approx(value)
            right = by.loc[key, "low"] <= value <= by.loc[key, "high"]
            assert right == (key not in [("EM", "location_error"), ("EM", "scale_error")])
        assert by.loc["Newton", "theory"].isna().all()
        assert by.loc[("EM", "iterations_to_radius"), "family"] == "power"
        assert by.loc[("ELU", "iterations_to_radius"), "family"] == "logarithm"
        assert (found["sizes"] == len(SIZES)).all()
        assert (found["replicates"] == 20).all()
        assert (found["censored"] == 0.0).all()
        assert (found["mle_at_zero"] == 0.25).all()

    def test_rows_are_those_of_exponent_and_growth(self):
        frame = study()
        found = eb.fit_rates(frame, resamples=300).set_index(["algorithm", "quantity"])
        part = frame[(frame["algorithm"] == "ELU") & (frame["stop"] == "end")]
        one = rates.exponent(part, "scale_error", resamples=300, upper_half=True)
        row = found.loc[("ELU", "scale_error")]
        assert (row["upper"], row["upper_low"], row["upper_high"]) == (one.slope, one.low, one.high)
        part = frame[(frame["algorithm"] == "EM") & (frame["stop"] == "radius")]
        two = rates.growth(part, resamples=300)
        row = found.loc[("EM", "iterations_to_radius")]
        assert (row["upper"], row["upper_low"], row["upper_high"]) == two.exponent
        assert row["estimate"] == two.laws.loc["power", "b"]

    def test_order_of_the_rows_does_not_matter(self):
        frame = study(replicates=5)
        keys = ["block", "algorithm", "quantity"]
        one, two = (
            eb.fit_rates(rows).sort_values(keys, ignore_index=True)
            for rows in (frame, shuffled(frame))
        )
        pd.testing.assert_frame_equal(one, two, check_exact=True)

    def test_what_cannot_be_fitted_is_listed(self):
        found = eb.fit_rates(study(sizes=SIZES[:2]))
        assert len(found) == 12
        assert found[["estimate", "low", "high", "upper"]].isna().all(axis=None)
        assert found["note"].str.contains("3 values of n; there are 2").all()
        frame = study()
        frame = censored(frame, (frame["algorithm"] == "EM") & (frame["n"] > 1e4), 100.0)
        frame["passes_to_radius"] = frame["iterations_to_radius"]
        found = eb.fit_rates(frame).set_index(["algorithm", "quantity"])
        row = found.loc[("EM", "iterations_to_radius")]
        assert math.isnan(row["estimate"])
        assert row["theory"] == 0.75
        assert row["censored"] == pytest.approx(4 / 6)
        assert "reach the radius" in row["note"]
        frame.loc[(frame["algorithm"] == "ELU") & (frame["n"] == 1e3), "location_error"] = 0.0
        found = eb.fit_rates(frame).set_index(["algorithm", "quantity"])
        assert "has no logarithm" in found.loc[("ELU", "location_error"), "note"]

    def test_failed_runs_are_counted(self):
        frame = study()
        lost = (frame["algorithm"] == "EM") & (frame["replicate"] == 0)
        nothing = ["location_error", "scale_error", "iterations", "passes", "mle_location_error"]
        nothing += ["iterations_to_radius", "passes_to_radius"]
        frame.loc[lost, nothing] = np.nan
        frame.loc[lost, ["status", "reached"]] = ["failed", False]
        found = eb.fit_rates(frame)
        assert (found[found["algorithm"] == "EM"]["failed"] == len(SIZES)).all()
        np.testing.assert_allclose(found[found["algorithm"] == "EM"]["censored"], 0.05)
        assert (found[found["algorithm"] != "EM"]["failed"] == 0).all()
        assert found["estimate"].notna().all()
        assert found[found["quantity"] == "scale_error"]["replicates"].tolist() == [19, 20, 20]

    def test_studies_are_kept_apart(self):
        frame = study(replicates=4)
        two = pd.concat([frame.assign(study="a"), frame.assign(study="b")])
        found = eb.fit_rates(two)
        assert len(found) == 24
        assert list(found.columns[:2]) == ["study", "block"]
        with pytest.raises(ValueError, match="a column 'study' tells studies apart"):
            eb.fit_rates(two.drop(columns="study"))

    def test_a_law_without_theory_is_the_contests(self):
        found = eb.fit_rates(study(sizes=LONG)).set_index(["algorithm", "quantity"])
        row = found.loc[("Newton", "iterations_to_radius")]
        assert (row["family"], row["law"]) == ("logarithm", "logarithm")
        assert row["low"] <= 0.8 <= row["high"]

    def test_bad_input_is_named(self):
        frame = study(replicates=4)
        with pytest.raises(ValueError, match=r"^df must have columns 'options', 'stop'"):
            eb.fit_rates(frame.drop(columns=["options", "stop"]))
        with pytest.raises(ValueError, match=r"^df must have at least one row"):
            eb.fit_rates(frame.iloc[:0])
        with pytest.raises(ValueError, match=r"^df\['stop'\] must be"):
            eb.fit_rates(frame.assign(stop="later"))
        with pytest.raises(ValueError, match=r"frame\['location_error'\] must be finite"):
            eb.fit_rates(frame.assign(location_error=-1.0))
        with pytest.raises(ValueError, match=r"^statistic must"):
            eb.fit_rates(frame, statistic="median")
        with pytest.raises(ValueError, match=r"^level must"):
            eb.fit_rates(frame, level=2.0)

    def test_rows_of_a_real_study(self, tmp_path):
        eb.run_study(small(n=[1_000, 10_000, 100_000]), tmp_path)
        rows = eb.load_results(tmp_path)
        found = eb.fit_rates(rows).set_index(["algorithm", "quantity"])
        assert len(found) == 6
        assert found["replicates"].tolist() == [6] * 6
        assert found.loc[("ELU", "iterations_to_radius"), "theory"] == pytest.approx(
            3.361, abs=1e-3
        )
        assert found.loc[("ELU", "iterations_to_radius"), "estimate"] > 2.0
        assert eb.fit_rates(rows.assign(stop="end"))["quantity"].nunique() == 2


class TestMleAtZero:
    def test_shares(self):
        table = rates.mle_at_zero(study())
        assert table["n"].tolist() == [*SIZES, *SIZES]
        assert set(table["block"]) == {"errors", "iterations"}
        assert (table["samples"] == 20).all()  # not sixty: three algorithms see the same samples
        assert (table["at_zero"] == 5).all()
        assert (table["share"] == 0.25).all()

    def test_cut_is_relative_to_the_statistical_radius(self):
        frame = study(replicates=4)
        at = frame["n"] ** -0.125
        assert rates.mle_at_zero(frame.assign(mle_location_error=0.09 * at))["share"].eq(1.0).all()
        assert rates.mle_at_zero(frame.assign(mle_location_error=0.11 * at))["share"].eq(0.0).all()
        wider = frame.assign(radius=frame["radius"] * 5, radius_constant=10.0)
        pd.testing.assert_frame_equal(rates.mle_at_zero(frame), rates.mle_at_zero(wider))
        assert rates.mle_at_zero(frame, tolerance=0.95)["share"].eq(1.0).all()

    def test_unknown_mles_are_no_zeros(self):
        frame = study(replicates=4)
        frame.loc[frame["n"] == 1e3, "mle_location_error"] = np.nan
        table = rates.mle_at_zero(frame)
        first = table[table["n"] == 1e3]
        assert first["samples"].tolist() == [0, 0]
        assert first["share"].isna().all()
        assert (table[table["n"] > 1e3]["share"] == 0.25).all()

    def test_bad_input_is_named(self):
        without = study().drop(columns="mle_location_error")
        assert eb.fit_rates(without)["mle_at_zero"].isna().all()
        with pytest.raises(ValueError, match="must have a column 'mle_location_error'"):
            rates.mle_at_zero(without)
        with pytest.raises(ValueError, match=r"^tolerance must"):
            rates.mle_at_zero(study(), tolerance=0.0)


class TestIntervals:
    def test_a_share_of_none_and_of_all(self):
        none, both = rates.share(0, 40), rates.share(40, 40)
        assert (none.value, none.low) == (0.0, 0.0)
        assert (both.value, both.high) == (1.0, 1.0)
        assert none.high == pytest.approx(1.0 - both.low, rel=1e-12)

    @given(st.integers(1, 200), st.data())
    def test_wilson_solves_its_equation(self, of, data):
        # Its ends p are where |count/of - p| is 1.96 standard deviations of a share p.
        count = data.draw(st.integers(0, of))
        found = rates.share(count, of)
        assert found.low <= found.value <= found.high
        for end in found[1:]:
            if 0.0 < end < 1.0:
                deviation = math.sqrt(end * (1.0 - end) / of)
                assert abs(found.value - end) / deviation == pytest.approx(1.959964, rel=1e-5)
        wider = rates.share(count, of, level=0.99)
        assert wider.low <= found.low
        assert found.high <= wider.high

    def test_bootstrap_of_a_mean(self):
        hits = 0
        for seed in range(100):
            x = np.random.default_rng([50, seed]).standard_normal(60)
            found = rates.bootstrap(lambda a: a.mean(axis=-1), x, seed=seed)
            assert found.value == x.mean()
            assert found.low < found.value < found.high
            hits += found.low <= 0.0 <= found.high
        assert binom.ppf(0.001, 100, 0.93) <= hits

    def test_bootstrap_draws_rows_whole(self):
        x = np.random.default_rng(51).uniform(1.0, 2.0, 30)
        ratio = rates.bootstrap(lambda a, b: a.sum(axis=-1) / b.sum(axis=-1), 2.0 * x, x)
        assert ratio == (2.0, 2.0, 2.0)

    def test_bootstrap_may_be_infinite(self):
        def medians(a, b):
            return np.median(a, axis=-1) / np.median(b, axis=-1)

        slow = np.array([3.0, 4.0, 5.0, math.inf, math.inf])
        found = rates.bootstrap(medians, slow, np.ones(5))
        assert (found.value, found.high) == (5.0, math.inf)
        assert rates.bootstrap(medians, np.ones(5), np.zeros(5)) == (math.inf,) * 3

    @pytest.mark.parametrize(
        ("call", "said"),
        [
            (lambda: rates.share(0, 0), "of must be >= 1"),
            (lambda: rates.share(3, 2), "count must be between 0 and 2"),
            (lambda: rates.share(1, 2, level=1.0), "level must be in"),
            (lambda: rates.bootstrap(np.mean, []), "columns must"),
            (lambda: rates.bootstrap(np.mean, [1.0, 2.0], [1.0]), "columns must"),
            (lambda: rates.bootstrap(np.mean, [1.0], resamples=10), "resamples must be >= 100"),
        ],
    )
    def test_bad_input_is_named(self, call, said):
        with pytest.raises(ValueError, match=f"^{said}"):
            call()


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_power_of_the_logarithm(power):
    """A logarithm is told from its square, whatever the offset."""
    rng = np.random.default_rng(int(power))
    n = np.repeat(10.0 ** np.arange(4, 12), 30)
    counts = np.ceil(5.0 + 2.0 * np.log(n) ** power + rng.standard_normal(len(n)))
    frame = pd.DataFrame({"n": n, "replicate": np.tile(np.arange(30), 8)})
    frame = frame.assign(iterations_to_radius=counts, iterations=counts, reached=True)
    value, low, high = rates.growth(frame.assign(status="reached"), holdout=2).log_power
    assert low <= power <= high
    assert abs(value - power) < 0.2
    assert not low <= 3.0 - power <= high
