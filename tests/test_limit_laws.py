"""Limit laws: against quadrature, simulation, the flow they come from, and samples they must not fit."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pandas as pd
import pytest
from conftest import scaled
from scipy.integrate import quad, solve_ivp
from scipy.stats import binomtest, kstest, kstwo

from elubench.papers.beyond_em import law_samples, limit_laws


@pytest.mark.parametrize("constant", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("pull", [-50.0, -3.0, -1e-4, 0.0, 0.05, 0.6])
def test_time_of_em_is_the_integral(pull: float, constant: float) -> None:
    value = mpmath.quad(
        lambda u: 1 / (mpmath.mpf(2) / 3 * u**7 - pull * u**3), [constant, 2 * constant, mpmath.inf]
    )
    assert limit_laws.em_time(pull, constant) == pytest.approx(float(value), rel=1e-12)


def test_time_of_em_is_that_of_its_flow() -> None:
    pull, start, constant = 1.3, 6.0, 1.5

    def arrived(_: float, u: list[float]) -> float:
        return u[0] - constant

    arrived.terminal = True
    flow = solve_ivp(
        lambda _, u: -2 / 3 * u**7 + pull * u**3,
        (0, 1),
        [start],
        events=arrived,
        rtol=1e-10,
        atol=1e-12,
    )
    whole, before = (limit_laws.em_time(pull, c) for c in (constant, start))
    assert flow.t_events[0][0] == pytest.approx(whole - before, rel=1e-6)


def test_em_never_comes_closer_than_its_pull_allows() -> None:
    edge = 2 / 3 * 1.5**4
    assert limit_laws.em_time(edge, 1.5) == math.inf
    assert math.isfinite(limit_laws.em_time(0.999 * edge, 1.5))
    never = limit_laws.em_time_cdf([1e9], 1.5)[0]
    assert never == pytest.approx(limit_laws.ndtr(edge / math.sqrt(8 / 3)))
    assert never < 0.99


def test_time_law_is_that_of_its_pull() -> None:
    pulls = np.random.default_rng(0).normal(0.0, math.sqrt(8 / 3), 2_000)
    times = np.array([limit_laws.em_time(pull, 2.0) for pull in pulls])
    shares = limit_laws.em_time_cdf(times[:200], 2.0)
    assert np.allclose(shares, limit_laws.ndtr(pulls[:200] / math.sqrt(8 / 3)), atol=1e-8)
    assert limit_laws.em_time_cdf([0.0], 2.0)[0] == 0.0


@pytest.mark.parametrize("d", [1, 2])
def test_draws_have_the_law(d: int) -> None:
    draws = limit_laws.location_draws(d, 4_000, seed=1)
    rest = draws[draws > 0.0]
    at_zero = float(limit_laws.location_cdf(0.0, d))
    assert abs(rest.size / draws.size - (1 - at_zero)) < 0.03

    def given(u):
        return (limit_laws.location_cdf(u, d) - at_zero) / (1 - at_zero)

    assert kstest(rest, given).pvalue > 0.01


@pytest.mark.parametrize("d", [1, 2])
def test_root_mean_square_of_the_law(d: int) -> None:
    """E u^2 is the integral of 2 u P(U > u)."""
    mean, _ = quad(lambda u: 2 * u * (1 - limit_laws.location_cdf(u, d)), 0.0, 6.0, epsabs=1e-12)
    assert limit_laws.location_rms(d) == (pytest.approx(math.sqrt(mean), rel=1e-9), 0.0)
    draws = limit_laws.location_draws(d, 20_000, seed=2)
    assert math.sqrt(np.mean(draws**2)) == pytest.approx(math.sqrt(mean), rel=0.02)


def test_top_eigenvalue_at_large_d() -> None:
    """lambda_max of such a matrix is close to 2 sqrt(d)."""
    rms, error = limit_laws.location_rms(100, draws=200)
    assert rms**2 == pytest.approx(2.0 * math.sqrt(100), rel=0.1)
    assert error < 0.02


@pytest.mark.parametrize("h", [0.0, 0.7, 1.5, 4.0])
def test_risk_under_weak_separation(h: float) -> None:
    z = np.random.default_rng(3).standard_normal(200_000)
    loss = (np.maximum(h**4 + math.sqrt(6) * z, 0.0) ** 0.25 - h) ** 2
    error = loss.std() / math.sqrt(z.size)
    assert abs(limit_laws.location_risk(h) - loss.mean()) < 5 * error + 1e-9


@pytest.fixture(scope="module")
def samples() -> pd.DataFrame:
    few = scaled(120, 12)
    return law_samples.limit_law(3, (10**8, 10**15), (10**8,), (10**6,), few, few)


def unlike(samples: pd.DataFrame, level: float) -> list[bool]:
    """Whether the samples of each law, d and n are further from the law than at this level.

    Without the atom at 0 of the location at d = 1, which would hide half of the difference.
    """
    found = []
    for (law, d, _), part in samples.groupby(["law", "d", "n"]):
        values = part["value"].to_numpy(dtype=float)
        atom = 0.5 * (law == "location" and d == 1)
        rest = values[values > 0.0] if atom else values
        cdf = law_samples.law_cdf(np.sort(rest), law, d)
        distance = kstest((cdf - atom) / (1.0 - atom), "uniform").statistic
        found.append(distance > kstwo.ppf(level, rest.size))
    return found


@pytest.mark.slow_without_jit
def test_samples_have_the_laws(samples: pd.DataFrame) -> None:
    """At a level of 10^-4, so that one seed does not decide; n = 10^6 is small for EM's time."""
    assert unlike(samples[samples["n"] >= 10**8], 0.9999) == [False] * 3
    line = samples[(samples["law"] == "location") & (samples["d"] == 1)]
    zero = int((line["value"] == 0.0).sum())
    assert binomtest(zero, len(line)).pvalue > 1e-4


@pytest.mark.slow_without_jit
def test_other_laws_are_told_apart(samples: pd.DataFrame) -> None:
    """A location 15 % larger, or a time law without spread or correction, does not pass."""
    assert unlike(samples.assign(value=samples["value"] * 1.15), 0.95) == [True] * 4


@pytest.mark.slow_without_jit
def test_optimum_is_that_of_the_kurtosis() -> None:
    """theta^4 = -k/2 up to a factor 1 + O(n^(-1/4)), with k from exact integers."""
    n = 10**14
    for seed in range(6):
        sample = law_samples.LatticeSample.gaussian(n, 1, seed=seed)
        x = [round(8 * value) for value in sample.nodes[:, 0]]
        counts = [int(count) for count in sample.counts]
        second, fourth = (sum(c * v**k for c, v in zip(counts, x, strict=True)) for k in (2, 4))
        kurtosis = float(mpmath.mpf(n * fourth) / mpmath.mpf(second) ** 2 - 3)
        expected = max(-kurtosis / 2, 0.0) ** 0.25 * n**0.125
        assert law_samples._optimum(n, sample) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: limit_laws.location_cdf(1.0, 3), "d must be between"),
        (lambda: limit_laws.location_cdf(1.0, 2, h=1.0), "h must be 0"),
        (lambda: limit_laws.location_draws(0, 10), "d must be >= 1"),
        (lambda: limit_laws.em_time(0.0, 0.0), "constant must be"),
        (lambda: limit_laws.location_risk(-1.0), "h must be"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_distance_is_that_of_kolmogorov_and_smirnov() -> None:
    values = limit_laws.location_draws(2, 300, seed=4)
    naive = kstest(values, lambda u: limit_laws.location_cdf(u, 2)).statistic
    assert law_samples.distance(values, "location", 2) == pytest.approx(naive, abs=1e-14)


def test_distance_counts_the_atom() -> None:
    grid = np.array([0.0, 0.0, 0.0, 1.0])
    above = float(limit_laws.location_cdf(1.0, 1))
    # at 0 the law has 1/2 and the values 3/4; below 1 the law has come to F(1)
    expected = max(0.75 - 0.5, abs(0.75 - above), 1.0 - above)
    assert law_samples.distance(grid, "location", 1) == pytest.approx(expected)
    # a run that never arrives is beyond every finite time
    assert law_samples.distance(np.array([math.inf]), "EM's time", 1) == pytest.approx(
        1.0, abs=1e-3
    )
    with pytest.raises(ValueError, match="values must have"):
        law_samples.distance(np.array([]), "location", 1)
