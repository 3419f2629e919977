"""The claims in numbers: exponents, radii, growth of iterations, and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elubench.models import Diagonal
from elubench.papers.beyond_em import theory


@pytest.mark.parametrize(
    ("d", "alpha", "gamma", "location", "scale", "iterations"),
    [(1, 6, 3, -1 / 8, -1 / 4, 3 / 4), (2, 2, 1, -0.25, -0.5, 0.5), (7, 2, 1, -0.25, -0.5, 0.5)],
)
def test_exponents_of_theorem_1(
    d: int, alpha: float, gamma: float, location: float, scale: float, iterations: float
) -> None:
    for algorithm in theory.ALGORITHMS:
        r = theory.rates("isotropic", d, algorithm)
        assert (r.alpha, r.gamma) == (alpha, gamma)
        assert (r.location_n, r.scale_n, r.iterations_n) == (location, scale, iterations)
        assert r.status == "proved"
        assert r.place == f"Theorem 1({'a' if d == 1 else 'b'})"
    assert theory.rates("isotropic", d, "em").growth == "power"


def test_dependence_on_d() -> None:
    one, many = theory.rates("isotropic", 1, "em"), theory.rates("isotropic", 5, "em")
    assert (one.location_d, one.scale_d, one.iterations_d) == (0, 0, 0)
    assert (many.location_d, many.scale_d, many.iterations_d) == (1 / 4, -1 / 2, -1 / 2)
    for model in ("diagonal", "general"):
        unclaimed = theory.rates(model, 5, "em")
        assert unclaimed.status != "proved"
        assert math.isnan(unclaimed.location_d)


@pytest.mark.parametrize("d", [1, 2, 16])
def test_elu_slope_follows_from_the_recursion(d: int) -> None:
    """Iterate theta <- theta (1 - eta kappa beta^-t theta^alpha) and count the steps to n^a."""
    eta, beta = 0.01, 0.8
    r = theory.rates("isotropic", d, "elu")
    kappa = theory.leading_coefficient(d)

    def count(n: float) -> int:
        x, t = 0.9, 0
        while x > theory.radius("isotropic", n, d):
            x, t = x * (1 - eta * kappa * beta**-t * x**r.alpha), t + 1
        return t

    low, high = 1e20, 1e60
    # Counts are whole numbers: the slope over 40 ln 10 is known to within 1/(40 ln 10).
    measured = (count(high) - count(low)) / math.log(high / low)
    assert measured == pytest.approx(r.slope(beta), abs=1.01 / math.log(high / low))
    assert r.slope(beta) == pytest.approx((0.75 if d == 1 else 0.5) / math.log(1 / beta))
    predicted = theory.iterations("elu", d, theory.radius("isotropic", high, d), 0.9, eta, beta)
    assert count(high) == pytest.approx(predicted, abs=1.5)


@pytest.mark.parametrize("d", [1, 3])
def test_em_iterations_follow_from_the_recursion(d: int) -> None:
    alpha, kappa = theory.homogeneity("isotropic", d).value, theory.leading_coefficient(d)
    start, target = 0.3, 0.12 if d == 1 else 0.02
    x, t = start, 0
    while x > target:
        x, t = x * (1 - kappa * x**alpha), t + 1
    predicted = theory.iterations("em", d, target, start)
    # A step adds alpha kappa (1 + O(theta^alpha)) to theta^-alpha: less than start^alpha off.
    assert t == pytest.approx(predicted, rel=(alpha + 1) * kappa * start**alpha, abs=1)
    assert theory.em_norm(predicted, d, start) == pytest.approx(target, rel=1e-12)
    assert theory.em_norm(10.0, d) == pytest.approx(
        (40.0) ** (-1 / 6) if d == 1 else (20 * (1 - 1 / d)) ** -0.5
    )


@pytest.mark.parametrize("d", [1, 2])
def test_least_beta_separates_stable_from_unstable(d: int) -> None:
    alpha = theory.homogeneity("isotropic", d).value

    def settles(beta: float) -> bool:
        fixed = 1 - beta ** (1 / alpha)
        x = fixed * (1 + 1e-6)
        for _ in range(2000):
            x = x * (1 - x) ** alpha / beta
        return abs(x / fixed - 1) < 1e-7

    edge = theory.elu_least_beta(d)
    assert settles(edge * 1.02)
    assert not settles(edge * 0.98)


def test_radius() -> None:
    assert theory.radius("isotropic", 10**8, 1) == pytest.approx(0.1)
    assert theory.radius("isotropic", 10**8, 1, constant=2.0) == pytest.approx(0.2)
    assert theory.radius("general", 4 * 10**8, 4) == pytest.approx(0.01)
    assert theory.radius(Diagonal(), 10**8, np.int64(1), of="scale") == pytest.approx(0.01)
    assert theory.radius(Diagonal, 10**6, 4, of="scale") == pytest.approx(0.5e-3)
    assert theory.phase_radius(2**16) == pytest.approx(0.5)


def test_radius_balances_signal_and_noise() -> None:
    """|theta|^(alpha + 1) = |theta|^gamma epsilon at the radius, for every d (Proposition 1)."""
    for d in (1, 2, 9):
        n = 10**7
        r = theory.radius("isotropic", n, d)
        alpha = theory.homogeneity("isotropic", d).value
        gamma = theory.stability("isotropic", d).value
        noise = math.sqrt((1 if d == 1 else d) / n)
        assert r ** (alpha + 1) == pytest.approx(r**gamma * noise)


def test_places() -> None:
    assert theory.homogeneity("diagonal", 3).place == "Lemma 4(a)"
    assert theory.homogeneity("isotropic", 1).place == "Lemma 1(a)"
    assert theory.stability("isotropic", 1, phase=1) == theory.Constant(1.0, "Lemma 2(a)")
    assert theory.stability("isotropic", 1, phase=2) == theory.Constant(3.0, "Lemma 2(a)")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.name_of("spherical"), "model must be a Model, one of diagonal"),
        (lambda: theory.name_of(3), "model must be .* got 3"),
        (lambda: theory.radius("isotropic", 10, 0), "d must be >= 1, got 0"),
        (lambda: theory.homogeneity("isotropic", 0), "d must be >= 1, got 0"),
        (lambda: theory.radius("isotropic", 10, 1.5), "d must be an integer, got 1.5"),
        (lambda: theory.radius("isotropic", 10, True), "d must be an integer, got True"),
        (lambda: theory.radius("isotropic", 0, 1), "n must be finite and > 0"),
        (lambda: theory.radius("isotropic", 10, 1, constant=math.nan), "constant must be finite"),
        (lambda: theory.radius("isotropic", 10, 1, of="mean"), "of must be one of"),
        (lambda: theory.rates("isotropic", 1, "newton"), "algorithm must be one of em, elu"),
        (lambda: theory.rates("isotropic", 1, "em").slope(0.8), "algorithm must be 'elu'"),
        (lambda: theory.rates("isotropic", 1, "elu").slope(1.0), r"beta must be in \(0, 1\)"),
        (lambda: theory.stability("isotropic", 1, phase=3), "phase must be between 1 and 2"),
        (lambda: theory.iterations("sgd", 1, 0.1, 0.9), "algorithm must be one of"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        call()
