"""The ratio of two medians of counts: the planted one is found, and its interval covers it."""

import math

import numpy as np
import pandas as pd
import pytest

from elubench import rates

SIZES = (10**4, 10**6)


def runs(rng, median, replicates=30, whole=True):
    """Passes of runs at two sizes, log-normal around the median, rounded up."""
    n = np.repeat(SIZES, replicates)
    passes = median * np.exp(0.05 * rng.standard_normal(len(n)))
    passes = np.ceil(passes) if whole else passes
    columns = {"n": n, "replicate": np.tile(np.arange(replicates), 2), "passes": passes}
    return pd.DataFrame({**columns, "passes_to_radius": passes})


def test_interval_covers_the_ratio_as_often_as_it_says():
    rng, inside = np.random.default_rng(0), 0
    for _ in range(60):
        found = rates.ratio_of_medians(runs(rng, 80.0), runs(rng, 6.5), resamples=300)
        inside += found.low <= 80.0 / 6.5 <= found.high
    assert inside >= 51  # of 57 expected; fewer have a chance of 1 in 200


def test_counts_that_all_agree_are_known_up_to_rounding():
    table = runs(np.random.default_rng(1), 6.0)
    same = table.assign(passes=6.0, passes_to_radius=6.0)
    same.loc[same["n"] == SIZES[0], ["passes", "passes_to_radius"]] = 5.0  # so the step is 1
    found = rates.ratio_of_medians(runs(np.random.default_rng(2), 60.0), same)
    assert 60.0 / 6.1 < found.low < found.value < found.high < 62.0 / 4.9
    assert found.high - found.low > 0.5


def test_only_the_largest_n_counts_and_the_order_of_rows_does_not():
    one, two = (runs(np.random.default_rng(k), m) for k, m in ((3, 40.0), (4, 10.0)))
    usual = rates.ratio_of_medians(one, two)
    small = one["n"] == SIZES[0]
    other = one.assign(passes_to_radius=one["passes_to_radius"].where(~small, 1000.0))
    assert rates.ratio_of_medians(other, two) == usual
    assert rates.ratio_of_medians(one.sample(frac=1.0, random_state=0), two) == usual


def test_too_few_arrivals_say_so():
    one = runs(np.random.default_rng(5), 40.0)
    late = one.assign(passes_to_radius=math.nan)
    with pytest.raises(rates.TooLittle, match="too few runs arrive"):
        rates.ratio_of_medians(late, one)
