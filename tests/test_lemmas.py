"""The lemmas' tables: against closed forms, hand calculations, and the claims they must expose."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from elubench.papers.beyond_em import lemmas, population, theory
from elubench.papers.beyond_em.lemmas.isotropic_loss import taylor_bound
from elubench.samples import gaussian


def row(table: pd.DataFrame, quantity: str, d: int | None = None) -> pd.Series:
    found = table[table["quantity"] == quantity]
    if d is not None:
        found = found[found["d"] == d]
    assert len(found) == 1
    return found.iloc[0]


def agrees(entry: pd.Series, times: float = 3.0, floor: float = 1e-8) -> bool:
    return abs(entry["measured"] - entry["theory"]) <= times * entry["uncertainty"] + floor


@pytest.fixture(scope="module")
def homogeneity() -> pd.DataFrame:
    return lemmas.homogeneity((1, 2, 4, 16), n_radii=120)


@pytest.mark.parametrize("d", [1, 2, 4, 16])
def test_exponents_and_coefficients_of_lemma_1(homogeneity: pd.DataFrame, d: int) -> None:
    for quantity in ("alpha of the gradient", "alpha of the Hessian", "leading coefficient"):
        entry = row(homogeneity, quantity, d)
        assert agrees(entry)
        assert entry["uncertainty"] < 1e-5


@pytest.mark.parametrize("d", [1, 2, 4, 16])
def test_least_constants_of_lemma_1_hold_and_are_least(homogeneity: pd.DataFrame, d: int) -> None:
    c1, c2 = row(homogeneity, "c1", d), row(homogeneity, "c2", d)
    alpha = theory.homogeneity("isotropic", d).value
    r = np.random.default_rng(0).uniform(0.01, 1.0, 300) * lemmas.proof_radius(d)
    profile = lemmas.isotropic_profile(d, r)
    largest = np.fmax(profile["radial"], profile["across"]) / r**alpha
    growth = profile["gradient"] / profile["gap"] ** ((alpha + 1) / (alpha + 2))
    assert largest.max() <= c1["measured"] + c1["uncertainty"] + 1e-5
    assert growth.min() >= c2["measured"] - c2["uncertainty"] - 1e-5
    # No ball, however small, gets by with less than the limit at the truth.
    assert c1["measured"] >= c1["theory"] - c1["uncertainty"] - 1e-9
    assert c2["measured"] <= c2["theory"] + c2["uncertainty"] + 1e-9


def test_convexity_holds_further_than_its_proof(homogeneity: pd.DataFrame) -> None:
    for d in (1, 2, 4, 16):
        assert row(homogeneity, "convexity radius", d)["measured"] == pytest.approx(
            0.999 * math.sqrt(d)
        )
        bound = row(homogeneity, "radius of the proof's bound", d)
        assert bound["measured"] < bound["theory"]


def test_proof_bound_is_a_bound() -> None:
    """The Taylor bound lies below 1 - E[(V/r) tanh] = D/s, and meets it as r tends to 0."""
    for d in (1, 3):
        for r in (0.05, 0.2, 0.4):
            theta = np.zeros(d)
            theta[0] = r
            moved = 1 - float(population.em_step("isotropic", theta)[0]) / r
            assert taylor_bound(r, d) <= moved
        # The next term of the series is of order r^8 (d = 1) or r^4.
        assert taylor_bound(0.05, d) == pytest.approx(
            1 - float(population.em_step("isotropic", 0.05 * np.eye(d)[0])[0]) / 0.05,
            abs=100 * 0.05 ** (10 if d == 1 else 6),
        )


@pytest.fixture(scope="module")
def univariate() -> pd.DataFrame:
    return lemmas.stability_univariate((10**6, 10**9, 10**12), replicates=12)


@pytest.mark.slow_without_jit
def test_stability_at_d_1(univariate: pd.DataFrame) -> None:
    assert agrees(row(univariate, "gamma, phase 2"), times=2)
    assert agrees(row(univariate, "exponent of n"), times=2)
    assert agrees(row(univariate, "noise n^(1/2)/r^3"), times=2)


@pytest.mark.slow_without_jit
def test_no_linear_phase_at_d_1(univariate: pd.DataFrame) -> None:
    """Lemma 2(a)'s bound with gamma = 1 holds but is not tight: the noise is cubic throughout."""
    first = row(univariate, "gamma, phase 1")
    assert first["measured"] - 2 * first["uncertainty"] > 2.0
    assert math.isnan(row(univariate, "meeting radius n^(1/16)")["measured"])


def test_stability_table_by_hand() -> None:
    """The same numbers from numpy alone, on 500 direct draws."""
    n, radii = 500, [0.1, 0.2, 0.4]
    table = lemmas.stability(1, [n], radii, replicates=2, kind="direct", seed=5)
    assert list(table["replicate"]) == [0, 0, 0, 1, 1, 1]
    for replicate, part in table.groupby("replicate"):
        x = gaussian(n=n, d=1, seed=5 + int(replicate))[:, 0]
        a = np.mean(x**2)
        for r, noise in zip(part["r"], part["noise"], strict=True):
            s = a - r * r
            sample = (a + r * r) / s**2 * (r - np.mean(x * np.tanh(x * r / s)))
            truth = float(population.gradient("isotropic", [r])[0])
            assert noise == pytest.approx(abs(sample - truth), rel=1e-9)
        assert np.all(np.diff(part["sup"]) >= 0.0)
        assert part["sup"].iloc[-1] == part["noise"].max()


@pytest.mark.slow_without_jit
def test_stability_in_several_dimensions() -> None:
    table = lemmas.stability_multivariate((2, 4, 8), (1_000, 8_000), replicates=4)
    for d in (2, 4, 8):
        # An exponent fitted over radii up to 0.1, where terms of relative order r^2 enter.
        assert row(table, "gamma", d)["measured"] == pytest.approx(1.0, abs=0.05)
    assert agrees(row(table, "exponent of n"), times=2)
    assert row(table, "exponent of d")["measured"] > 0.5
    # Lattice samples, too.
    lattice = lemmas.stability(2, [10**8], [0.01, 0.02], replicates=2)
    ratio = lattice["sup"] / (lattice["r"] * math.sqrt(2 / 10**8))
    assert np.all((ratio > 0.01) & (ratio < 5.0))


@pytest.mark.slow_without_jit
def test_sup_is_found_in_two_dimensions() -> None:
    """A fine circle finds no more than the singular directions do."""
    from elubench.models import Isotropic
    from elubench.samples import ArraySample

    r, n = 0.01, 2_000
    found = lemmas.stability(2, [n], [r], replicates=1, kind="direct", seed=3)["sup"].iloc[0]
    sample = ArraySample(gaussian(n=n, d=2, seed=3))
    angles = np.linspace(0.0, math.pi, 181)
    circle = r * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    truth = population.gradient("isotropic", circle)
    noise = [
        np.linalg.norm(Isotropic().gradient(sample, u) - g)
        for u, g in zip(circle, truth, strict=True)
    ]
    # Terms of relative order r^2 over the statistical size of the linear one, 1/sqrt(n).
    assert max(noise) <= found * (1 + 10 * r**2 * math.sqrt(n))


def test_pseudo_convexity_holds_on_the_whole_region() -> None:
    table = lemmas.pseudo_convexity((2, 4), n_directions=15, n_radii=20)
    for d in (2, 4):
        assert row(table, "least <grad f, theta>/gap", d)["measured"] > 1.0
        assert agrees(row(table, "ratio at the truth, equal coordinates", d))
        assert agrees(row(table, "ratio at the truth, axis", d))


@pytest.fixture(scope="module")
def diagonal() -> pd.DataFrame:
    return lemmas.diagonal_homogeneity()


def test_no_constant_serves_near_an_axis(diagonal: pd.DataFrame) -> None:
    """Lemma 4(a) needs exponent 0; the infimum over angles falls like r."""
    entry = row(diagonal, "exponent of least growth")
    assert entry["measured"] == pytest.approx(1.0, abs=3 * entry["uncertainty"] + 1e-8)
    assert agrees(row(diagonal, "exponent of growth, equal coordinates"))
    assert agrees(row(diagonal, "growth, equal coordinates"))


def test_curvature_at_an_axis(diagonal: pd.DataFrame) -> None:
    for quantity in (
        "exponent along the axis",
        "C4",
        "exponent across the axis",
        "curvature across / theta_1^2",
        "least eigenvalue / r^2",
    ):
        assert agrees(row(diagonal, quantity))


def test_landscape_near_the_truth() -> None:
    """To leading order f = theta_1^2 theta_2^2 / 2 away from the axes."""
    table = lemmas.diagonal_landscape([1e-3], [0.2, 0.7])
    product = (table["r"] ** 2 * np.sin(table["angle"]) * np.cos(table["angle"])) ** 2
    np.testing.assert_allclose(table["gap"], product / 2, rtol=1e-5)
    np.testing.assert_allclose(table["gradient"], np.sqrt(product) * table["r"], rtol=1e-5)


def test_rates_at_infinite_n() -> None:
    table = lemmas.trajectory_rates((1, 2, 3), steps=150)
    for quantity in ("EM, growth of |theta|^-alpha", "ELU, factor", "ELU, level"):
        for d in (1, 2, 3):
            entry = row(table, quantity, d)
            assert agrees(entry)
            assert entry["uncertainty"] < 1e-3


@pytest.mark.parametrize(("d", "start"), [(1, 0.25), (2, 0.05)])
def test_em_trajectory_follows_its_power_law(d: int, start: float) -> None:
    theta = np.zeros(d)
    theta[0] = start
    run = lemmas.trajectory("isotropic", "em", theta, 300)
    predicted = [theory.em_norm(t, d, start) for t in run["t"]]
    # What is gained since the start agrees up to terms of relative order theta^2.
    gained, expected = start - run["norm"][1:], start - np.array(predicted)[1:]
    np.testing.assert_allclose(gained, expected, rtol=12 * start**2)
    assert set(run["status"]) == {"running"}


def test_diverging_run_says_so() -> None:
    run = lemmas.trajectory("isotropic", "elu", [0.9], 50, eta=10.0, beta=0.5)
    assert run["status"].iloc[-1] == "diverged"
    assert len(run) < 51
    assert np.all(run["norm"] < 1.0)


def test_iterates_fall_onto_an_axis() -> None:
    table = lemmas.diagonal_phases(steps=200)
    assert agrees(row(table, "drift of theta_1^2 - theta_2^2"))
    assert row(table, "EM, final ratio")["measured"] < 1e-3
    generic = row(table, "ELU, least norm, generic start")
    assert generic["note"].startswith("diverged")
    assert generic["measured"] > 10 * generic["theory"]
    equal = row(table, "ELU, least norm, equal start")
    assert equal["note"].startswith("running")
    assert equal["measured"] < equal["theory"]


def test_flow_invariant() -> None:
    flow = lemmas.diagonal_flow((0.06, 0.04), "em", 700)
    size = np.hypot(0.06, 0.04)
    # Relative drift is of the order of |theta|^2; meanwhile the ratio has fallen.
    assert abs(flow["invariant"].iloc[-1] / flow["invariant"].iloc[0] - 1) < 10 * size**2
    assert flow["ratio"].iloc[-1] < 0.5 * flow["ratio"].iloc[0]
    elu = lemmas.diagonal_flow((0.3, 0.2), "elu", 60)
    assert elu["across"].iloc[-1] > 2.0  # the step across the axis that throws it out


def test_half_sum_is_not_flat() -> None:
    table = lemmas.general_instability()
    assert agrees(row(table, "curvature of the half sum"))
    assert agrees(row(table, "turning time"))
    least = row(table, "ELU, least norm")
    assert least["note"].startswith("diverged")
    assert least["measured"] > 100 * least["theory"]


@pytest.mark.parametrize(
    "table",
    [
        lambda: lemmas.homogeneity((2,), 20),
        lambda: lemmas.general_instability(steps=5),
        lambda: lemmas.trajectory_rates((2,), steps=20),
    ],
)
def test_tables_are_tidy(table) -> None:
    frame = table()
    assert tuple(frame.columns) == lemmas.COLUMNS
    assert not frame.duplicated(["lemma", "model", "d", "quantity"]).any()
    assert frame[["measured", "uncertainty", "theory"]].dtypes.eq(float).all()
    assert set(frame["basis"]) <= {"exact", "numerical", "samples"}
    assert np.all(frame.loc[frame["basis"] == "exact", "uncertainty"].fillna(0.0) == 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lemmas.homogeneity((0,)), "d must be >= 1"),
        (lambda: lemmas.homogeneity(()), "d_values must have at least one"),
        (lambda: lemmas.homogeneity((1,), n_radii=2), "n_radii must be >= 10"),
        (lambda: lemmas.pseudo_convexity((1,)), "d must be >= 2"),
        (lambda: lemmas.stability(1, [100], [0.1], kind="file"), "kind must be one of"),
        (lambda: lemmas.stability(1, [100], [1.0]), "radii must be in"),
        (lambda: lemmas.stability(1, [100], [0.1], replicates=0), "replicates must be >= 1"),
        (lambda: lemmas.stability_univariate((1000,)), "n_values must be above"),
        (lambda: lemmas.diagonal_homogeneity(0.9), "r must be in"),
        (lambda: lemmas.trajectory("isotropic", "newton", [0.1], 5), "algorithm must be one of"),
        (lambda: lemmas.trajectory("isotropic", "em", [1.5], 5), "start must be one point"),
        (lambda: lemmas.trajectory("isotropic", "elu", [0.5], 5, beta=1.0), "beta must be in"),
        (lambda: lemmas.trajectory("isotropic", "elu", [0.5], 5, eta=0.0), "eta must be finite"),
        (lambda: lemmas.trajectory("isotropic", "em", [0.5], 0), "steps must be >= 1"),
        (lambda: lemmas.diagonal_flow((0.3,)), "start must have at least two"),
        (lambda: lemmas.diagonal_phases((0.3, 0.3)), "start must be two different"),
        (lambda: lemmas.general_instability((0.3,)), "start must be theta1"),
        (lambda: lemmas.general_instability((0.3, -0.3)), "start must have a half sum"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
