"""Exponents with corrections to scaling: planted truths are found, and rival exponents are rejected."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import needs_jit
from scipy.stats import binom, norm
from study_tools import small

import elubench as eb
from elubench import rates
from elubench.papers.beyond_em import predictions
from elubench.rates.resampling import Resampling

SIZES = 10.0 ** np.arange(4, 11)
LONG = 10.0 ** np.arange(4, 16)


def table(values, sizes, **columns):
    """Rows of `values` (sizes, replicates)."""
    count = values.shape[1]
    return pd.DataFrame(
        {
            "n": np.repeat(sizes, count),
            "replicate": np.tile(np.arange(count), len(sizes)),
            **{name: column.ravel() for name, column in columns.items()},
        }
    )


def arrivals(counts, sizes, **columns):
    frame = table(counts, sizes, iterations_to_radius=counts, iterations=counts, **columns)
    return frame.assign(reached=True, status="reached")


def law(n):
    """n^(3/4) with a correction that a plain line takes for a smaller exponent."""
    return n**0.75 / 50.0 * np.exp(4.0 * n**-0.25)


def em_runs(rng, replicates=20, sizes=SIZES):
    """Whole counts around `law`, most of whose noise is a fluctuation of the sample, order n^(-1/2)."""
    z = rng.standard_normal((len(sizes), replicates))
    noise = 0.09 * z + 0.02 * z**2 + 0.005 * rng.standard_normal(z.shape)
    counts = np.ceil(law(sizes)[:, None] * np.exp(noise))
    return arrivals(counts, sizes, kurtosis=z / np.sqrt(sizes)[:, None])


def mle_errors(rng, replicates=100, correction=3.0, sizes=LONG):
    """Errors (sqrt(6) Z_+)^(1/4) n^(-1/8) exp(correction n^(-1/4)): every second one is 0."""
    z = rng.standard_normal((len(sizes), replicates))
    n = sizes[:, None]
    errors = np.maximum(math.sqrt(6.0) * z, 0.0) ** 0.25 * n**-0.125
    errors *= np.exp(correction * n**-0.25)
    return table(errors, sizes, location_error=errors, kurtosis=z / np.sqrt(n))


def at_least(hits, sets, chance=0.001):
    """Whether intervals of 95 % cover as often as they say."""
    return hits >= binom.ppf(chance, sets, 0.95)


COUNTS = {"value": "iterations_to_radius", "statistic": "median"}
THEORY = {"predicted": law, "stated": 0.75}
ERRORS = {"predicted": lambda n: n**-0.125 * math.exp(3.0 * n**-0.25), "stated": -0.125}


class TestCoverage:
    @pytest.mark.parametrize("resamples", [100, 200])
    def test_one_more_draw_lies_between_the_ends(self, resamples):
        rng, sets = np.random.default_rng(resamples), 20_000
        one, *more = rng.standard_normal((resamples + 1, sets))
        low, high = Resampling(0.95, resamples, 0).interval(np.array(more))
        share = np.mean((low <= one) & (one <= high))
        assert share == pytest.approx(0.95, abs=4.0 * math.sqrt(0.95 * 0.05 / sets))

    def test_intervals_cover_as_often_as_they_say(self):
        sets, ends = 300, []
        corrections, controls = (ERRORS, {"terms": [0.25]}), ([], ["kurtosis"])
        for options, chosen, seed in itertools.product(corrections, controls, range(sets)):
            frame = mle_errors(np.random.default_rng([13, seed]), replicates=40, sizes=SIZES)
            found = rates.corrected(frame, controls=chosen, resamples=200, seed=seed, **options)
            ends.append((found.exponent, found.low, found.high))
        value, low, high = np.transpose(ends) + 0.125
        assert at_least(np.sum((low <= 0.0) & (high >= 0.0)), len(ends), 0.01)
        # Intervals that cover 92 % would be found out.
        short = norm.ppf(0.96) / norm.ppf(0.975)
        low, high = value + short * (low - value), value + short * (high - value)
        assert not at_least(np.sum((low <= 0.0) & (high >= 0.0)), len(ends), 0.01)


class TestPlantedTruths:
    def test_counts_with_a_prediction(self):
        sets, hits, narrow, plain, rivals, width = 40, 0, 0, 0, 0, np.zeros(2)
        for seed in range(sets):
            frame = em_runs(np.random.default_rng([1, seed]))
            how = {"resamples": 100, "seed": seed, **COUNTS, **THEORY}
            one = rates.corrected(frame, **how)
            two = rates.corrected(frame, controls=["kurtosis"], **how)
            hits += one.low <= 0.75 <= one.high
            narrow += two.low <= 0.75 <= two.high
            plain += one.plain.low <= 0.75 <= one.plain.high
            rivals += any(found.low <= 2 / 3 <= found.high for found in (one, two))
            width += [one.high - one.low, two.high - two.low]
        assert at_least(hits, sets)
        assert at_least(narrow, sets)
        assert plain == rivals == 0
        assert width[1] < 0.25 * width[0]

    def test_counts_with_terms(self):
        sets, hits, plain, wrong = 40, 0, 0, 0
        for seed in range(sets):
            frame = em_runs(np.random.default_rng([2, seed]), sizes=LONG)
            found = rates.corrected(
                frame, terms=["n^(-1/4)"], controls=["kurtosis"], resamples=100, **COUNTS
            )
            hits += found.low <= 0.75 <= found.high
            plain += found.plain.low <= 0.75 <= found.plain.high
            wrong += found.low <= 2 / 3 <= found.high
        assert at_least(hits, sets)
        assert plain == wrong == 0
        term = found.terms.iloc[0]
        assert term["low"] <= term["coefficient"] <= term["high"]
        assert term["coefficient"] == pytest.approx(4.0, abs=0.5)

    @pytest.mark.parametrize("controls", [[], ["kurtosis"]])
    @pytest.mark.parametrize("known", [False, True])
    def test_errors(self, controls, known):
        options = ERRORS if known else {"terms": [0.25]}
        sets, plain, rivals = 50, 0, np.zeros(2)
        for seed in range(sets):
            frame = mle_errors(np.random.default_rng([3, seed]))
            found = rates.corrected(frame, controls=controls, resamples=200, seed=seed, **options)
            plain += found.plain.low <= -0.125 <= found.plain.high
            rivals += [found.low <= -1 / 7 <= found.high, found.low <= -1 / 9 <= found.high]
        assert plain <= sets / 10
        # Without theory and controls, one in fifty is within the interval's reach of a rival.
        assert np.all(rivals <= (0 if known or controls else 5))

    def test_a_control_that_explains_nothing_does_no_harm(self):
        sets, hits = 40, 0
        for seed in range(sets):
            rng = np.random.default_rng([4, seed])
            frame = mle_errors(rng, replicates=30, correction=0.0)
            frame["kurtosis"] = rng.standard_normal(len(frame)) / np.sqrt(frame["n"])
            found = rates.corrected(frame, controls=["kurtosis"], resamples=200, seed=seed)
            hits += found.low <= -0.125 <= found.high
        assert at_least(hits, sets)
        assert found.explained < 0.05
        assert (found.high - found.low) / (found.plain.high - found.plain.low) > 0.9


class TestFit:
    def test_like_least_squares_by_hand(self):
        # All replicates alike: no noise, and every n has the same weight.
        rng = np.random.default_rng(0)
        values = np.exp(rng.standard_normal(7))[:, None] * np.ones(2)
        frame = table(values, SIZES, location_error=values)
        found = rates.corrected(frame, terms=["n^(-1/4)", "n^(-1/2)"], statistic="mean")
        x = np.log(SIZES)
        design = np.column_stack([np.ones(7), x, SIZES**-0.25, SIZES**-0.5])
        y = np.log(values[:, 0])
        wanted = np.linalg.lstsq(design, y, rcond=None)[0]
        assert found.exponent == pytest.approx(wanted[1], rel=1e-6)
        np.testing.assert_allclose(found.terms["coefficient"], wanted[2:], rtol=1e-6)
        assert found.terms["term"].tolist() == ["n^(-1/4)", "n^(-1/2)"]
        assert found.plain.value == pytest.approx(np.polyfit(x, y, 1)[0])
        left = y - design[:, 2:] @ wanted[2:]
        np.testing.assert_allclose(found.local["slope"], np.diff(left) / np.diff(x), rtol=1e-6)
        np.testing.assert_allclose(found.plain_local["slope"], np.diff(y) / np.diff(x))
        guess = rates.corrected(frame, predicted=lambda n: 3.0 * n**2.0, stated=2.0)
        assert guess.exponent == pytest.approx(found.plain.value)
        np.testing.assert_allclose(guess.local["slope"], guess.plain_local["slope"])

    def test_a_power_law_with_its_correction_is_found_exactly(self):
        values = (SIZES**-0.125 * np.exp(2.0 * SIZES**-0.25))[:, None] * np.ones(2)
        found = rates.corrected(
            table(values, SIZES, location_error=values), terms=["n^(-1/4)"], statistic=0.5
        )
        assert found.exponent == pytest.approx(-0.125, abs=1e-10)
        assert found.terms["coefficient"].item() == pytest.approx(2.0, abs=1e-7)
        np.testing.assert_allclose(found.local["slope"], -0.125, atol=1e-9)
        assert found.plain.value < -0.13

    def test_controls_like_a_regression_with_dummies(self):
        frame = em_runs(np.random.default_rng(5))
        found = rates.corrected(frame, controls=["kurtosis"], **COUNTS, **THEORY)
        z = (frame["kurtosis"] * np.sqrt(frame["n"])).to_numpy()
        z = (z - z.mean()) / z.std()
        dummies = (frame["n"].to_numpy()[:, None] == SIZES).astype(float)
        y = np.log(frame["iterations_to_radius"] - 0.5)
        wanted = np.linalg.lstsq(np.column_stack([dummies, z, z**2]), y, rcond=None)[0]
        np.testing.assert_allclose(found.controls["coefficient"], wanted[-2:], rtol=1e-8)
        assert found.explained > 0.98
        less = np.exp(y - wanted[-2] * z - wanted[-1] * (z**2 - 1.0))
        medians = less.groupby(frame["n"]).median().to_numpy()
        np.testing.assert_allclose(found.sizes["adjusted"], medians, rtol=1e-10)

    def test_squared_errors_are_adjusted_as_means(self):
        frame = mle_errors(np.random.default_rng(6), replicates=30)
        found = rates.corrected(frame, controls=["kurtosis"])
        z = (frame["kurtosis"] * np.sqrt(frame["n"])).to_numpy()
        z = (z - z.mean()) / z.std()
        square = frame["location_error"].to_numpy() ** 2
        dummies = (frame["n"].to_numpy()[:, None] == LONG).astype(float)
        count, level = dummies.sum(axis=0), (square @ dummies) / dummies.sum(axis=0)
        for _ in range(50):  # u = level (1 + c z + c' z^2 + rest), levels and coefficients in turn
            design = np.column_stack([dummies, z, z**2])
            one, two = np.linalg.lstsq(design, square / (dummies @ level), rcond=None)[0][-2:]
            shift = one * z + two * (z**2 - 1.0)
            level = (square @ dummies) / (count + shift @ dummies)
        np.testing.assert_allclose(found.controls["coefficient"], [one, two], rtol=1e-3)
        np.testing.assert_allclose(found.sizes["adjusted"], np.sqrt(level), rtol=1e-4)
        np.testing.assert_allclose(found.plain, rates.exponent(frame).interval, rtol=1e-12)


class TestCounts:
    def test_equal_counts_have_the_width_of_their_rounding(self):
        counts = np.ceil(law(SIZES))[:, None] * np.ones(8)
        z = np.random.default_rng(7).standard_normal(counts.shape)
        frame = arrivals(counts, SIZES, kurtosis=z / np.sqrt(SIZES)[:, None])
        for controls in ([], ["kurtosis"]):
            found = rates.corrected(frame, controls=controls, **COUNTS, **THEORY)
            assert found.low <= 0.75 <= found.high
            for low, high, upper in zip(
                found.local["low"], found.local["high"], counts[:-1, 0], strict=True
            ):
                # 95 % of a count's own rounding, which a difference of two can only widen
                assert (high - low) * math.log(10.0) > 0.9 / upper

    def test_censored_runs_are_counted_and_do_not_move_the_median(self):
        frame = em_runs(np.random.default_rng(8))
        late = frame["iterations_to_radius"] > frame.groupby("n")["iterations_to_radius"].transform(
            lambda one: one.quantile(0.8)
        )
        cut = frame.assign(
            iterations_to_radius=frame["iterations_to_radius"].mask(late),
            reached=~late,
            status=np.where(late, "max_iter", "reached"),
        )
        whole = rates.corrected(frame, **COUNTS, **THEORY)
        found = rates.corrected(cut, **COUNTS, **THEORY)
        assert (found.runs, found.censored) == (140, int(late.sum()))
        np.testing.assert_allclose(found.sizes["censored"], late.groupby(frame["n"]).mean())
        np.testing.assert_allclose(found.sizes["statistic"], whole.sizes["statistic"])
        both = rates.corrected(cut, controls=["kurtosis"], **COUNTS, **THEORY)
        assert both.low <= 0.75 <= both.high
        assert both.high - both.low < 0.5 * (found.high - found.low)

    def test_a_size_that_too_few_runs_reach_is_in_no_fit(self):
        frame = em_runs(np.random.default_rng(9))
        lost = (frame["n"] == 1e10) & (frame["replicate"] > 3)
        frame.loc[lost, "iterations_to_radius"] = np.nan
        frame.loc[lost, "reached"] = False
        frame.loc[lost, "status"] = "diverged"
        found = rates.corrected(frame, **COUNTS, **THEORY)
        assert found.sizes["used"].tolist() == [True] * 6 + [False]
        assert found.local["to"].max() == 1e9

    def test_same_seed_same_numbers_in_any_order_of_the_rows(self):
        frame = em_runs(np.random.default_rng(10))
        how = {"controls": ["kurtosis"], "resamples": 200, **COUNTS, **THEORY}
        one = rates.corrected(frame, **how)
        two = rates.corrected(frame.sample(frac=1.0, random_state=0), **how)
        assert one.interval == two.interval
        assert one.plain == two.plain
        pd.testing.assert_frame_equal(one.local, two.local)
        assert rates.corrected(frame, seed=1, **how).low != one.low


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "predicted, terms or controls must be given"),
        ({"predicted": law}, "predicted and stated must be given together"),
        ({"stated": 0.75, "terms": [1]}, "predicted and stated must be given together"),
        ({"predicted": 3.0, "stated": 0.75}, "predicted must be a function of n"),
        ({"predicted": lambda n: -1.0, "stated": 1.0}, "predicted must be positive and finite"),
        ({"predicted": law, "stated": math.nan}, "stated must be finite"),
        ({"terms": ["n^(1/4)"]}, r"terms\[0\] must be a number or text such as 'n\^\(-1/4\)'"),
        ({"terms": ["d^(-1/4)"]}, r"terms\[0\] must be"),
        ({"terms": [0.25, -1.0]}, r"terms\[1\] must be"),
        ({"terms": [0.25, "n^(-1/4)"]}, "terms must differ"),
        ({"terms": [0.1, 0.2, 0.3, 0.4, 0.5]}, "a slope with 5 corrections needs 8 values of 'n'"),
        ({"controls": ["height"]}, "frame must have a column 'height'"),
        ({"controls": "kurtosis"}, "controls must be a list of columns"),
        ({"controls": ["kurtosis", "kurtosis"]}, "controls must differ"),
        ({"controls": ["nothing"]}, r"frame\['nothing'\] must be finite"),
        ({"controls": ["flat"]}, r"frame\['flat'\] must differ between runs"),
        ({"controls": ["kurtosis"], "statistic": 0.9}, "controls must be left out for a quantile"),
        ({"terms": [1], "statistic": "most"}, "statistic must"),
        ({"terms": [1], "value": "speed"}, "frame must have a column 'speed'"),
        ({"terms": [1], "level": 2.0}, "level must"),
    ],
)  # fmt: skip
def test_bad_input_is_named(options, said):
    frame = mle_errors(np.random.default_rng(11), replicates=4)
    frame["location_error"] += 0.01
    frame = frame[frame["n"] <= 1e10].assign(nothing=np.nan, flat=frame["n"] ** -0.5)
    with pytest.raises((TypeError, ValueError), match=f"^{said}"):
        rates.corrected(frame, **options)


def test_controls_need_runs():
    frame = mle_errors(np.random.default_rng(12), replicates=2)
    frame["location_error"] += 0.01
    with pytest.raises(rates.TooLittle, match="1 controls need 10 runs beyond one for each n"):
        rates.corrected(frame[frame["n"] <= 1e8], controls=["kurtosis"])


@needs_jit
def test_em_has_exponent_three_quarters(tmp_path):
    """Real runs: a plain line excludes 3/4, theory and the samples' kurtosis find it to 0.003."""
    study = small(
        n=[10**k for k in range(5, 10)], replicates=20, algorithms=["EM"], max_iter=10**6, mle=False
    )
    eb.run_study(study, tmp_path / "out")
    found = rates.corrected(
        eb.load_results(tmp_path / "out"),
        predicted=predictions.em_iterations(1, constant=2.0),
        stated=0.75,
        controls=["sample_kurtosis"],
        **COUNTS,
    )
    assert found.censored == 0
    assert found.plain.high < 0.735
    assert found.low <= 0.75 <= found.high
    assert found.high - found.low < 0.006
    assert found.explained > 0.9
