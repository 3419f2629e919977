"""Le Cam's bound: its divergences from their definitions, its inequalities, what it stays below."""

from __future__ import annotations

import math

import mpmath
import naive_population
import numpy as np
import pytest
from mpmath import mp, mpf

from elubench.papers.beyond_em import limit_laws, lower_bound


@pytest.mark.parametrize(("theta", "d"), [(0.02, 1), (0.3, 1), (0.05, 3), (0.9, 2)])
def test_divergence_is_that_of_its_definition(theta: float, d: int) -> None:
    with mp.workdps(naive_population.DIGITS):
        point = [mpf(theta)] + [mpf(0)] * (d - 1)
        expected = naive_population.loss("isotropic", point, [mpf(1)] * d)
    assert lower_bound.divergence(theta, d) == pytest.approx(float(expected), rel=1e-10)


def test_divergence_to_leading_order() -> None:
    assert lower_bound.divergence(0.01, 1) * 12 / 0.01**8 == pytest.approx(1.0, rel=1e-3)
    assert lower_bound.divergence(0.01, 3) * 6 / 0.01**4 == pytest.approx(1.0, rel=1e-3)


def density(x: float, theta: float, d: int) -> float:
    """The mixture at +-theta along the line of theta, without the other coordinates, over N(0, 1)."""
    s = 1 - theta**2 / d
    both = mpmath.exp(-((x - theta) ** 2) / (2 * s)) + mpmath.exp(-((x + theta) ** 2) / (2 * s))
    return both / (2 * mpmath.sqrt(s)) * mpmath.exp(x * x / 2)


@pytest.mark.parametrize("theta", [0.1, 0.6])
def test_overlap_on_a_line(theta: float) -> None:
    mean = mpmath.quad(
        lambda x: density(x, theta, 1) ** 2 * mpmath.npdf(x), [-mpmath.inf, -2, 0, 2, mpmath.inf]
    )
    found = float(lower_bound.log_overlap(theta, np.ones(1), 1)[0])
    assert math.expm1(found) == pytest.approx(float(mean - 1), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("cosine", [1.0, 0.3, 0.0])
def test_overlap_in_the_plane(cosine: float) -> None:
    """By a sum over a grid of the plane, which is as good as exact for such functions."""
    theta = 0.7
    s = 1 - theta**2 / 2
    grid = np.linspace(-9.0, 9.0, 361)
    x, y = np.meshgrid(grid, grid)
    normal = np.exp(-(x**2 + y**2) / 2) / (2 * math.pi)

    def ratio(a: float, b: float) -> np.ndarray:
        total = sum(
            np.exp(-((x - k * a) ** 2 + (y - k * b) ** 2) / (2 * s)) / (4 * math.pi * s)
            for k in (-1, 1)
        )
        return total / normal

    sine = math.sqrt(1 - cosine**2)
    product = ratio(theta, 0.0) * ratio(theta * cosine, theta * sine) * normal
    mean = float(product.sum()) * (grid[1] - grid[0]) ** 2
    found = float(lower_bound.log_overlap(theta, np.array([cosine]), 2)[0])
    assert found == pytest.approx(math.log(mean), rel=1e-9, abs=1e-12)


def test_far_overlap_does_not_overflow() -> None:
    assert np.isfinite(lower_bound.log_overlap(9.99, np.ones(1), 100)[0])


@pytest.mark.parametrize("theta", [0.3, 0.8])
@pytest.mark.parametrize("method", lower_bound.METHODS)
def test_total_variation_is_a_bound(theta: float, method: lower_bound.Method) -> None:
    """One draw at d = 1, where the distance itself is an integral."""
    x = np.linspace(-12.0, 12.0, 200_001)
    normal = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    s = 1 - theta**2
    parts = [np.exp(-((x - k * theta) ** 2) / (2 * s)) for k in (-1, 1)]
    mixture = sum(parts) / (2 * math.sqrt(2 * math.pi * s))
    exact = 0.5 * float(np.abs(normal - mixture).sum()) * (x[1] - x[0])
    found = lower_bound.total_variation(theta, 1, 1, method)
    assert exact < found < 3 * exact


@pytest.mark.parametrize("d", [2, 3, 7])
def test_cosine_of_two_directions(d: int) -> None:
    cosine, log_weights = lower_bound._directions(d)
    weights = np.exp(log_weights)
    assert weights @ cosine**2 == pytest.approx(1 / d)
    assert weights @ cosine**4 == pytest.approx(3 / (d * (d + 2)))


@pytest.mark.parametrize("method", lower_bound.METHODS)
@pytest.mark.parametrize("d", [1, 3])
def test_no_theta_gives_more(d: int, method: lower_bound.Method) -> None:
    best = lower_bound.bound(1e8, d, method)
    assert best.scale == pytest.approx(2 * best.location / d)
    for factor in (0.3, 0.9, 1.1, 2.0):
        theta = factor * best.theta
        left = theta**2 / 4 * (1 - lower_bound.total_variation(theta, 1e8, d, method))
        assert left < best.location


def test_constants_at_d_1() -> None:
    """sqrt(h^8/24) = 1/3 is best for Pinsker's inequality; the true distance allows a little more."""
    pinsker = 24**0.25 * math.sqrt(1 / 3) * (2 / 3) / 4
    assert lower_bound.bound(1e14, 1).location * 1e14**0.25 == pytest.approx(pinsker, rel=1e-4)
    h = np.linspace(0.1, 3.0, 300)
    each = h**2 / 2 * limit_laws.ndtr(-(h**4) / (2 * math.sqrt(6)))
    assert pinsker < each.max() < limit_laws.location_risk(0.0)


def test_constant_at_large_d() -> None:
    """With c = n theta^4/d the mean of g^n tends to exp(-c/2) (1 - c)^(-1/2)."""
    c = np.linspace(0.01, 0.9999, 5_000)
    variation = np.minimum(1.0, 0.5 * np.sqrt(np.exp(-c / 2) / np.sqrt(1 - c) - 1))
    limit = float((np.sqrt(c) / 4 * (1 - variation)).max())
    found = [
        lower_bound.bound(1e12, d, "sphere").location * (1e12 / d) ** 0.5 for d in (500, 2_000)
    ]
    assert found == [pytest.approx(limit, rel=0.02), pytest.approx(limit, rel=0.005)]


def test_table_has_both_exponents() -> None:
    table = lower_bound.lower_bound(0, (1e8, 1e12), (1, 2, 64, 128), draws=20)
    for (d, method), part in table.groupby(["d", "method"]):
        slope = np.diff(np.log(part["location"])) / np.diff(np.log(part["n"]))
        assert slope[0] == pytest.approx(-0.25 if d == 1 else -0.5, abs=1e-3), method
    high = table[(table["n"] == 1e12) & (table["d"] >= 64)]
    for method, stated in (("sphere", 0.5), ("divergence", 0.0)):
        part = high[high["method"] == method]
        slope = np.diff(np.log(part["location"])) / np.diff(np.log(part["d"]))
        assert slope[0] == pytest.approx(stated, abs=0.03)
    assert np.all(table["mle"] > table["location"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lower_bound.divergence(1.0, 1), "theta must be in"),
        (lambda: lower_bound.total_variation(0.1, 10, 1, "none"), "method must be one of"),
        (lambda: lower_bound.bound(1.0, 1), "n must be"),
        (lambda: lower_bound.bound(10.0, 0), "d must be >= 1"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
