"""Lemma tables on the scale, on Proposition 1 and on the diagonal model; intervals of estimates."""

from __future__ import annotations

import math

import mpmath
import naive_population
import numpy as np
import pytest
from test_lemmas import row

from elubench.papers.beyond_em import lemmas, population
from elubench.papers.beyond_em.lemmas.estimates import half_width, mean, slope
from elubench.papers.beyond_em.lemmas.scale import scale_curvature


@pytest.mark.parametrize(("r", "sigma", "d"), [(0.0, 1.0, 1), (0.3, 0.8, 1), (0.5, 1.2, 3)])
def test_curvature_by_sigma_is_the_second_difference(r: float, sigma: float, d: int) -> None:
    def loss(s):
        v = s * s
        means = naive_population.log_cosh_mean(mpmath.mpf(r) ** 2 / v**2, mpmath.mpf(0))
        return d * mpmath.log(s) + (d + mpmath.mpf(r) ** 2) / (2 * v) - means

    with mpmath.mp.workdps(40):
        h, at = mpmath.mpf("1e-8"), mpmath.mpf(sigma)
        expected = (loss(at + h) - 2 * loss(at) + loss(at - h)) / h**2
    found = scale_curvature(np.array([r]), np.array([sigma]), d)[0]
    assert found == pytest.approx(float(expected), rel=1e-9)


def test_strongly_convex_in_sigma_alone() -> None:
    table = lemmas.strong_convexity((1, 3), points=21)
    for d in (1, 3):
        assert row(table, "curvature by sigma at the truth", d)["measured"] == pytest.approx(2 * d)
        assert row(table, "least curvature by sigma", d)["measured"] > 0.25 * d
        assert row(table, "curvature by theta at the truth", d)["measured"] == 0.0


def test_any_scale_if_eta_follows_it() -> None:
    table = lemmas.scale_equivariance(4.0, 1, 20)
    for name in ("EM", "ELU, eta times the scale"):
        assert row(table, f"deviation, {name}")["measured"] < 1e-13
    assert row(table, "deviation, ELU, the same eta")["measured"] > 0.1


def test_proposition_1() -> None:
    table = lemmas.proposition_1()
    radius = table[table["quantity"].str.startswith("radius")]
    assert np.allclose(radius["measured"], radius["theory"], atol=1e-5)
    counts = table[table["quantity"].str.startswith("iterations")]
    assert np.allclose(counts["measured"], counts["theory"], rtol=0.01)


def test_proposition_1_by_hand() -> None:
    from elubench.papers.beyond_em.lemmas.proposition import _closest

    epsilon, theta, t = 1e-6, 1.0, 0
    while True:
        after = theta - 0.01 / 0.8**t * (theta**3 - epsilon * theta)
        if not 0.0 < after < theta:
            break
        theta, t = after, t + 1
    closest, at = _closest(2.0, 1.0, np.array([1e-4, epsilon]), 0.01, 0.8)
    assert closest[1] == pytest.approx(theta, rel=1e-12)
    assert at[1] == t


def test_hessian_of_the_diagonal_loss() -> None:
    table = lemmas.diagonal_hessian((2, 3), n_directions=20)
    assert np.allclose(table["measured"], table["theory"], atol=1e-4)
    # The least eigenvalue belongs to two equal coordinates, to leading order theta^2 theta'^2/2.
    at = population.hessian("diagonal", [0.01, 0.01, 0.0])
    assert np.linalg.eigvalsh(at)[0] / 2e-4 == pytest.approx(-0.5, abs=1e-3)


def test_elu_converges_from_two_lines_only() -> None:
    table = lemmas.diagonal_starts(angles=3)
    assert row(table, "share of starts that converge, on a line")["measured"] == 1.0
    assert row(table, "share of starts that converge, between")["measured"] == 0.0
    run = lemmas.trajectory(
        "diagonal",
        "elu",
        [0.5 * math.cos(math.pi / 24), 0.5 * math.sin(math.pi / 24)],
        200,
        1.0,
        0.9,
    )
    least = row(table, "greatest least norm")["measured"]
    assert 0.0 < run["norm"].min() <= least


def test_intervals_cover() -> None:
    """Nineteen intervals of twenty contain the truth: 600 small samples of Gaussian noise."""
    rng = np.random.default_rng(0)
    x = np.arange(8.0)
    covered = np.zeros(2)
    for _ in range(600):
        noise = rng.standard_normal(8)
        line, average = slope(x, 0.5 * x + noise), mean(noise)
        covered += [
            abs(line.measured - 0.5) <= line.uncertainty,
            abs(average.measured) <= average.uncertainty,
        ]
    assert np.all(np.abs(covered / 600 - 0.95) < 0.03)
    assert half_width(1.0) == pytest.approx(1.96, abs=1e-3)
    assert math.isnan(half_width(1.0, 0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lemmas.proposition_1(((2.0, 4.0),)), "pairs must have gamma"),
        (lambda: lemmas.proposition_1(noises=1), "noises must be >= 3"),
        (lambda: lemmas.strong_convexity(reach=0.9), "reach must be in"),
        (lambda: lemmas.scale_equivariance(0.0), "scale must be"),
        (lambda: lemmas.diagonal_hessian((1,)), "d must be >= 2"),
        (lambda: lemmas.diagonal_starts(0), "angles must be >= 1"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
