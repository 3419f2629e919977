"""Predictions at finite n, against plain iteration, mpmath and asymptotic series."""

import math

import mpmath
import numpy as np
import pytest

from elubench.papers.beyond_em import population, predictions, theory


def steps_of_em(d, target, start=0.9):
    """Steps of EM at infinite n until |theta| <= target, one after another."""
    theta, count = np.full(d, start / math.sqrt(d)), 0
    while np.linalg.norm(theta) > target:
        theta, count = population.em_step("isotropic", theta), count + 1
    return count


@pytest.mark.parametrize(("d", "n"), [(1, 1e4), (1, 1e5), (1, 3e6), (2, 1e4), (2, 3e6), (4, 1e6)])
def test_em_arrives_at_the_next_whole_number(d, n):
    target = theory.radius("isotropic", n, d, constant=2.0)
    predicted = predictions.em_iterations(d)(n)
    assert math.ceil(predicted) == steps_of_em(d, target)


def test_em_from_one_iterate_to_another_is_a_whole_number():
    for d, least in ((1, 60), (2, 120)):
        theta = np.zeros(d)
        theta[0] = start = 0.9
        for count in range(1, least + 1):
            theta = population.em_step("isotropic", theta)
            if count in (1, 2, 5, 20, least):
                assert predictions.em_time(start, theta[0], d) == pytest.approx(count, abs=0.003)
                assert predictions.em_time(theta[0], start, d) == 0.0


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("norm", [0.03, 0.3, 0.8])
def test_a_step_of_em_like_mpmath(d, norm):
    # theta' = E[V tanh(V theta / s)] along theta, s = 1 - |theta|^2/d, and h = 2 ln(theta / theta')
    with mpmath.workdps(40):
        theta = mpmath.mpf(norm)
        s = 1 - theta**2 / d
        density = mpmath.sqrt(2 / mpmath.pi)
        moved = density * mpmath.quad(
            lambda v: v * mpmath.tanh(v * theta / s) * mpmath.exp(-(v**2) / 2), [0, 2, 4, 8, 14]
        )
        h = float(2 * mpmath.log(theta / moved))
    found = predictions._step(np.array([norm**2 / d]), d)[0]
    assert found == pytest.approx(h, rel=1e-9)


def test_em_follows_its_series_at_large_n():
    predicted = predictions.em_iterations(1, constant=2.0)
    for n in (1e14, 1e16):
        x = n**-0.25
        series = 1.0 + 18.0 * x - 12.6 * 16.0 * x**2
        assert predicted(n) * 256.0 / n**0.75 == pytest.approx(series, abs=1e3 * x**3 * math.log(n))
    for d in (2, 4):
        # (n/d)^(1/2) / (2 kappa c^2) + (d + 1)/(8 (d - 1)) ln n + constant
        predicted, kappa = predictions.em_iterations(d), 1.0 - 1.0 / d
        rest = [predicted(n) - math.sqrt(n / d) / (8.0 * kappa) for n in (1e10, 1e12)]
        slope = (rest[1] - rest[0]) / math.log(100.0)
        assert slope == pytest.approx((d + 1) / (8.0 * (d - 1)), rel=1e-3)


def test_local_slopes_of_em():
    predicted = predictions.em_iterations()
    n = 10.0 ** np.arange(6, 16)
    slopes = np.diff(np.log([predicted(x) for x in n])) / math.log(10.0)
    known = [0.699, 0.711, 0.724, 0.734, 0.740, 0.744, 0.747, 0.748, 0.749]
    np.testing.assert_allclose(slopes, known, atol=6e-4)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_elu(d):
    def predicted(n):
        target = theory.radius("isotropic", n, d, constant=2.0)
        return predictions.elu_times(0.9, [target], d, 0.01, 0.8)[0]

    for n in (1e5, 1e12):
        target = theory.radius("isotropic", n, d, constant=2.0)
        theta, count = np.full(d, 0.9 / math.sqrt(d)), 0
        while np.linalg.norm(theta) > target:
            theta = theta - 0.01 * 0.8**-count * population.gradient("isotropic", theta)
            count += 1
        assert math.ceil(predicted(n)) == count
    per_log = (predicted(1e15) - predicted(1e14)) / math.log(10.0)
    assert per_log == pytest.approx(theory.rates("isotropic", d, "elu").slope(0.8), rel=0.01)


def test_a_start_within_the_radius_takes_no_iteration():
    assert predictions.em_iterations(1, constant=5.0)(100) == 0.0
    assert predictions.elu_times(0.9, [5.0 * 100**-0.125], 1, 0.01, 0.8)[0] == 0.0


def test_bad_input_is_named():
    for options, name in (
        ({"d": 0}, "d"), ({"constant": 0.0}, "constant"), ({"start": 1.0}, "start"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{name} must"):
            predictions.em_iterations(**options)
    with pytest.raises(ValueError, match=r"^n must"):
        predictions.em_iterations()(-1.0)


@pytest.mark.parametrize(("d", "start"), [(1, 0.97), (2, 1.37)])
def test_elu_from_beyond_the_table(d, start):
    theta, count = np.eye(1, d)[0] * start, 0
    while np.linalg.norm(theta) > 0.3:
        theta = theta - 1e-4 * 0.9**-count * population.gradient("isotropic", theta)
        count += 1
    found = predictions.elu_times(start, [0.3, 2.0], d, 1e-4, 0.9)
    assert np.ceil(found).tolist() == [count, 0]
