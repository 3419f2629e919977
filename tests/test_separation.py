"""EM at two Gaussians, and the practical procedure between the regimes."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pandas as pd
import planted_theory
import pytest

from elubench.papers.beyond_em import separation
from elubench.papers.beyond_em.figures.crossover import crossover_figure


def em_map(theta: mpmath.mpf, truth: mpmath.mpf, d: int, across: mpmath.mpf) -> tuple:
    """EM's step at infinite n from (theta, across, 0, ...), data at +-(truth, 0, ...), by definition.

    X_1 is the mixture and X_2 standard normal; given X_1 and the direction, both coordinates of the
    step are means over the plane.
    """
    s = 1 + (truth**2 - theta**2 - across**2) / d
    lines = [-mpmath.inf, 0, mpmath.inf]

    def along(x):
        return (mpmath.npdf(x, truth) + mpmath.npdf(x, -truth)) / 2

    if across == 0:
        return mpmath.quad(lambda x: along(x) * x * mpmath.tanh(x * theta / s), lines), mpmath.mpf(
            0
        )
    # E[X_2 tanh(a + b X_2)] = b E sech^2 by parts, and b is tiny: to first order sech^2(a)
    b = across / s
    return None, b * mpmath.quad(lambda x: along(x) * mpmath.sech(x * theta / s) ** 2, lines)


@pytest.mark.parametrize("truth", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("d", [1, 4])
def test_contraction_is_the_derivative(truth: float, d: int) -> None:
    h, at = mpmath.mpf("1e-5"), mpmath.mpf(truth)
    zero = mpmath.mpf(0)
    up, down = (em_map(at + k * h, at, d, zero)[0] for k in (1, -1))
    expected = (up - down) / (2 * h)
    if d > 1:
        expected = max(expected, em_map(at, at, d, h)[1] / h)
    assert separation.contraction(truth, d) == pytest.approx(float(expected), abs=1e-9)


def test_contraction_to_leading_order() -> None:
    assert separation.contraction(0.0, 1) == pytest.approx(1.0, abs=1e-14)
    assert (1 - separation.contraction(0.05, 1)) / 0.05**6 == pytest.approx(8 / 3, rel=0.02)
    for d in (2, 5):
        assert (1 - separation.contraction(0.01, d)) / 0.01**2 == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("d", [1, 2])
def test_where_em_is_seen_to_be_geometric(d: int) -> None:
    theta = separation.visible_from(100, d)
    assert 100 * (1 - separation.contraction(theta, d)) == pytest.approx(5.0, rel=1e-6)
    assert separation.visible_from(1_000, d) < theta


def test_samples_are_mixtures() -> None:
    n, theta = 10**10, 1.25
    for d in (1, 2):
        sample = separation.two_gaussians(n, d, theta, seed=3)
        assert sample.n == n
        assert len(np.unique(sample.nodes, axis=0)) == len(sample.nodes)
        u = sample.nodes @ np.full(d, d**-0.5)
        for power, expected in ((1, 0.0), (2, 1 + theta**2), (4, theta**4 + 6 * theta**2 + 3)):
            mean = float(sample.counts @ u**power) / n
            assert mean == pytest.approx(expected, abs=4 * 34 * n**-0.5)  # u^4 deviates by 34
        again = separation.two_gaussians(n, d, theta, seed=3)
        assert np.array_equal(again.counts, sample.counts)
        other = separation.two_gaussians(n, d, theta, seed=4)
        assert not np.array_equal(other.counts, sample.counts)


@pytest.mark.slow_without_jit
def test_procedure_fails_between_the_regimes() -> None:
    table = separation.crossover(
        1, 6, sizes=(10**6,), half_distances=(0.0, 0.5, 1.0, 4.0), budgets=((1, 100), (1, 1_000))
    )
    found = separation.verdicts(table).set_index(["budget", "half_distance"])
    for budget in (100, 1_000):
        for theta in (0.0, 1.0, 4.0):
            assert found.loc[(budget, theta), "right"] == 1.0
    # 1 - rho is 0.015: a hundred iterations do not show it, a thousand do
    assert found.loc[(100, 0.5), "right"] == 0.0
    assert found.loc[(1_000, 0.5), "right"] == 1.0
    assert found.loc[(100, 0.5), "location_ratio"] == found.loc[(100, 0.5), "elu_ratio"]
    assert found.loc[(1_000, 0.5), "location_ratio"] == found.loc[(1_000, 0.5), "em_ratio"]
    followed = np.where(table["geometric"], table["em_error"], table["elu_error"])
    assert np.array_equal(followed, table["location_error"])


def test_verdicts_by_hand() -> None:
    about = {"d": 1, "budget": 100, "n": 10, "rho": 0.5}
    table = pd.DataFrame(
        {
            **about,
            "half_distance": [0.0, 0.0, 1.0, 1.0],
            "geometric": [True, False, True, True],
            "em_error": [1.0, 1.0, 2.0, 2.0],
            "elu_error": [3.0, 4.0, 1.0, 1.0],
            "location_error": [1.0, 4.0, 2.0, 2.0],
            "mle_error": [1.0, 1.0, 1.0, 2.0],
        }
    )
    found = separation.verdicts(table)
    assert found["right"].tolist() == [0.5, 1.0]
    assert found["location_ratio"].tolist() == pytest.approx([math.sqrt(8.5), math.sqrt(8 / 5)])
    assert found["samples"].tolist() == [2, 2]


@pytest.mark.slow_without_jit
def test_em_under_separation() -> None:
    """Half a unit of ln(1/rho) per unit of ln n, and errors of order n^(-1/2)."""
    table = separation.separated(2, (10**4, 10**12), replicates=20, theta=1.5, dimensions=(1,))
    mean = table.groupby("n")["iterations"].mean()
    slope = (mean[10**12] - mean[10**4]) / math.log(1e8)
    stated = 0.5 / math.log(1 / separation.contraction(1.5, 1))
    assert slope == pytest.approx(stated, rel=0.15)
    errors = table.groupby("n")["location_error"].agg(lambda x: math.sqrt((x**2).mean()))
    assert math.log(errors[10**4] / errors[10**12]) / math.log(1e8) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: separation.contraction(-1.0, 1), "theta must be"),
        (lambda: separation.contraction(1.0, 0), "d must be >= 1"),
        (lambda: separation.visible_from(5, 1), "budget must exceed"),
        (lambda: separation.two_gaussians(1, 1, 1.0, 0), "n must be between 2"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_the_map_has_a_cell_for_every_setting() -> None:
    table = planted_theory.crossover()
    figure = crossover_figure(table)
    maps = [axes for axes in figure.axes if axes.texts]
    assert len(maps) == 2 * 3  # two quantities, three pairs of d and budget
    found = separation.verdicts(table)
    first = found[(found["d"] == 1) & (found["budget"] == 100)]
    drawn = np.asarray(maps[0].collections[0].get_array())
    wanted = first.pivot(index="half_distance", columns="n", values="right").to_numpy()
    np.testing.assert_array_equal(drawn, wanted)
    assert [text.get_text() for text in maps[0].texts] == [f"{x:.2f}" for x in wanted.ravel()]
