"""Checks of arguments: values that nobody expects, and what messages show of them."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import elubench as eb
from elubench import checks
from elubench.models.known import named

X = np.random.default_rng(0).standard_normal((30, 2))


class TestBrief:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("a\nb", r"'a\nb'"),
            (0.5, "0.5"),
            (np.arange(3), "array([0, 1, 2])"),
            (np.eye(9), "an array of shape (9, 9)"),
            (pd.DataFrame({"a": [1, 2]}), "a DataFrame of shape (2, 1)"),
            (-(10**400), "an integer of about 400 digits"),
            ([10**5000], "a list"),
        ],
    )
    def test_is_one_line(self, value, shown):
        assert checks.brief(value) == shown

    def test_is_cut(self):
        assert len(checks.brief(["word"] * 1000)) == 200


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: eb.fit(X, algorithm=pd.NA), "algorithm must be"),
        (lambda: eb.fit(X[:3], algorithm="elu"), "validation must be None for so few rows"),
        (lambda: eb.fit(X, starts=2**70), "starts must be between"),
        (lambda: eb.run(X, "general", eb.EM(), driver=pd.NA), "driver must be one of"),
        (lambda: eb.run(X, "general", eb.EM(), true_scale=1j), "true_scale must be"),
        (lambda: eb.run([1.0], "general", eb.EM()), "sample must be a 2D array"),
        (lambda: eb.run_many([X, [1.0]], "general", eb.EM()), r"samples\[1\] must be a 2D array"),
        (lambda: eb.run_many(5, "general", eb.EM()), "samples must be a list"),
        (lambda: eb.run_many([X], "general", eb.EM(), [[1], [1, 2]]), "starts must be"),
        (lambda: eb.run_many([X], "general", eb.EM(), np.ones((2, 4))), "starts must be one"),
        (lambda: eb.compare(X, 3), "models must be a list"),
        (lambda: eb.compare(X, "general"), "models must be a list"),
        (lambda: eb.FileSample(3), "path must be a list of paths"),
        (lambda: eb.FileSample([3]), "path must be a list of paths"),
        (lambda: eb.fit("a\0b"), "path must not contain"),
        (lambda: eb.gaussian(2**62, 2, 0), "d must be between"),
        (lambda: eb.gaussian(5, 2, 0, location=10**400), "location must be finite"),
        (lambda: eb.gaussian(5, 2, 0, scale=[[1], [1, 2]]), "scale must be an array of numbers"),
        (lambda: eb.LatticeSample.gaussian(5, 1, 0, scale=1e308), "location and scale must be"),
        (lambda: eb.LatticeSample.mixture(5, 1, [[1.0]], scale=1e308), "scale must be small"),
        (lambda: eb.radius("general", 100, 10**400), "d must be between"),
        (lambda: eb.radius("general", Fraction(10**400, 3), 1), "n must be finite"),
        (lambda: eb.ArraySample(X).split(seed=Fraction(10**400, 3)), "seed must be an integer"),
        (lambda: eb.ArraySample(X).tanh_moments("x"), "u must be an array of numbers"),
        (lambda: eb.ArraySample(X).tanh_moments([0.1, 0.2], "x"), "b must be an array of numbers"),
        (lambda: eb.detectable(1e20, 2), "n must be smaller"),
        (lambda: eb.LBFGS(coordinates=pd.NA), "coordinates must be one of"),
        (lambda: eb.Simultaneous(second=3), "second must be an ELU"),
        (lambda: eb.study_rows(""), "spec must be the name"),
        (lambda: named(np.eye(9)), "model must be"),
    ],
)
def test_a_sentence_names_the_argument(call, said):
    with pytest.raises((ValueError, TypeError), match=f"^{said}") as raised:
        call()
    assert "\n" not in str(raised.value)


def test_a_start_whose_power_overflows():
    found = eb.step_size_conditions(0.1, 0.8, 1e308, 1)
    assert (found.growth_ok, found.size_ok) == (True, False)


@pytest.mark.parametrize("d", [1, 2])
def test_a_known_scale_far_below_the_spread(d):
    """No square overflows; warnings are errors here."""
    found = eb.fit(1e140 * np.random.default_rng(0).standard_normal((38, d)), "known-scale")
    assert found.summary()


def test_power_is_known_at_every_distance():
    """Sums near where the formula takes over, one far beyond, and so many rows that all overflows."""
    below, above = (eb.detection_power(5, 1, half) for half in (999.9, 1000.1))
    assert below == pytest.approx(above, rel=1e-6)
    for n in (100.0, 1e308):
        assert eb.detection_power(n, 2, 1e308) == pytest.approx(1.0)
