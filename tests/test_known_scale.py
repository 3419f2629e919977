"""The model with known scale and weights: against densities at 40 digits, and how it is named."""

import math

import numpy as np
import pytest
from conftest import scaled
from naive import mp
from naive_models import rounding

import elubench as eb
from elubench import ArraySample, KnownScale, LatticeSample
from elubench.models.known import named
from elubench.studies.reading import SpecError, load
from elubench.testing import model_checks

CASES = [(w, s, d) for w in (0.5, 0.7, 0.02) for s in (1.0, 2.5) for d in (1, 3)]


def exact_loss(X, theta, weight, scale):
    """Mean negative log-likelihood from the two densities."""
    total = mp.mpf(0)
    for row in X:
        density = mp.mpf(0)
        for share, sign in ((1 - mp.mpf(weight), -1), (mp.mpf(weight), 1)):
            square = mp.fsum(
                (mp.mpf(float(x)) - sign * t) ** 2 for x, t in zip(row, theta, strict=True)
            )
            density += share * mp.exp(-square / (2 * mp.mpf(scale)))
        total -= mp.log(density / (2 * mp.pi * mp.mpf(scale)) ** (mp.mpf(len(theta)) / 2))
    return total / len(X)


def em_step(X, theta, weight, scale):
    """Responsibilities, then the mean of the rows with the sign that each component gives them."""
    logs = [
        math.log(share) - np.sum((X - sign * theta) ** 2, axis=1) / (2 * scale)
        for share, sign in ((1 - weight, -1), (weight, 1))
    ]
    second = np.exp(logs[1] - np.logaddexp(*logs))
    return np.mean((2 * second - 1)[:, None] * X, axis=0)


@pytest.mark.parametrize(("weight", "scale", "d"), CASES)
def test_against_densities(weight, scale, d):
    rng = np.random.default_rng(d)
    X, theta = rng.standard_normal((30, d)) * 1.3 + 0.4, rng.uniform(-1.0, 1.0, d)
    model, sample = KnownScale(weight, scale), ArraySample(X)
    point = [mp.mpf(float(t)) for t in theta]
    bound = [rounding(X, theta, scale, order) for order in range(3)]
    loss = exact_loss(X, point, weight, scale)
    assert abs(model.loss(sample, theta) - float(loss)) <= bound[0]
    assert model.em_step(sample, theta) == pytest.approx(
        em_step(X, theta, weight, scale), rel=1e-12
    )
    h = mp.mpf(10) ** -12
    for j in range(d):
        moved = [[t + (sign * h if i == j else 0) for i, t in enumerate(point)] for sign in (1, -1)]
        ahead, behind = (exact_loss(X, one, weight, scale) for one in moved)
        assert abs(model.gradient(sample, theta)[j] - float((ahead - behind) / (2 * h))) <= bound[1]
        bend = float((ahead - 2 * loss + behind) / h**2)
        assert abs(model.hessian(sample, theta)[j, j] - bend) <= bound[2]
    assert (model.scale(sample, theta) == scale).all()


@pytest.mark.parametrize("model", [KnownScale(0.7), KnownScale(0.1, 2.5)], ids=repr)
def test_contract_with_unequal_weights(model):
    """The default, with equal weights, is among the models that every contract covers."""
    names = []
    for name, check in model_checks(model):
        check()
        names.append(name.partition("[")[0])
    assert "labels_do_not_matter" not in names
    assert "hessian_is_the_slope_of_the_gradient" in names


def test_units_do_not_matter():
    X = eb.gaussian(scaled(2_000, 100), 2, seed=0) + 0.5
    for weight in (0.5, 0.8):
        one = eb.run(X, KnownScale(weight), eb.NewtonAnderson())
        two = eb.run(2.0 * X, KnownScale(weight, 4.0), eb.NewtonAnderson())
        assert (2.0 * one.params == two.params).all()
        assert one.passes == two.passes


def test_with_different_weights_the_sign_matters():
    model, theta = KnownScale(0.7), np.array([0.5, -2.0])
    assert model.location_error(theta, -theta) == pytest.approx(2 * math.hypot(0.5, 2.0))
    assert (model.ordered(theta) == theta).all()
    assert (KnownScale().ordered(theta) == -theta).all()
    assert KnownScale().location_error(theta, -theta) == 0.0
    sample = ArraySample(np.array([[1.0], [2.0], [-1.5]]))
    assert not model.is_stationary_start(np.zeros(1))
    # at 0 every row has the same responsibilities
    assert model.em_step(sample, np.zeros(1)) == pytest.approx(0.4 * np.mean([1.0, 2.0, -1.5]))


def test_moments_recover_two_gaussians():
    """Rows whose first two moments are exactly those of the mixture."""
    theta = np.array([0.8, -0.6])
    square = np.array([[math.sqrt(2.0), 0.0], [0.0, math.sqrt(2.0)]])
    noise = np.concatenate([square, -square])  # mean 0, second moments I
    X = np.concatenate([noise - theta] + 3 * [noise + theta])
    for weight in (0.75, 0.5):
        found = eb.run(X, KnownScale(weight), eb.Moments()).params
        assert min(abs(found - theta).max(), abs(found + theta).max()) < 1e-14
    assert eb.run(X, KnownScale(0.75), eb.Moments()).params == pytest.approx(theta)


@pytest.mark.parametrize("weight", [0.5, 0.6])
def test_newton_ends_at_the_best_point_of_a_grid(weight):
    sample, model = LatticeSample.gaussian(10**6, 1, seed=4), KnownScale(weight)
    grid = np.linspace(-0.1, 0.1, scaled(4001, 101))
    gaps = model.gaps(sample, grid[:, None])
    found = eb.run(sample, model, eb.NewtonAnderson(precision=1e-8)).params
    assert model.gap(sample, found) <= gaps.min() + 1e-15
    best = grid[np.argmin(gaps)]
    assert model.location_error(found, [best]) <= 2 * (grid[1] - grid[0])


def test_fit():
    X = np.concatenate(
        [eb.gaussian(500, 2, seed=k) + sign * np.array([3.0, 1.0]) for k, sign in ((0, -1), (1, 1))]
    )
    found = eb.fit(X, model="known-scale")
    assert found.regime == "separated"
    assert found.location == pytest.approx([3.0, 1.0], abs=0.2)
    assert "separated" in found.summary()
    with pytest.raises(ValueError, match="free scale for standard errors, got KnownScale"):
        found.interval()
    with pytest.raises(
        ValueError, match=r"equal weights to be fitted, got KnownScale\(weight=0\.7"
    ):
        eb.fit(X, model="known-scale(weight=0.7)")


class TestNames:
    def test_options_in_brackets(self):
        assert named("known-scale") == KnownScale()
        assert named("known-scale(weight=0.7, scale=2)") == KnownScale(0.7, 2.0)
        assert hash(named("known-scale(weight=0.7)")) == hash(KnownScale(0.7))
        assert KnownScale(0.7) != KnownScale()
        assert eval(repr(KnownScale(0.7, 2.0))) == KnownScale(0.7, 2.0)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("known-scale(weight=1)", r"weight must be in \(0, 1\), got 1"),
            ("known-scale(scale=0)", "scale must be finite and > 0, got 0"),
            ("known-scale(wight=0.7)", "unexpected keyword argument 'wight'"),
            ("known-scale(weight", r"like 'name\(option=number\)'"),
            ("isotropic(weight=0.7)", "made with the options {'weight': 0.7}, got Isotropic"),
        ],
    )
    def test_bad_ones(self, text, said):
        with pytest.raises(ValueError, match=said):
            named(text)
        block = {"models": text, "d": 1, "n": 100, "algorithms": ["EM"]}
        with pytest.raises(SpecError, match=rf"block\[1\]\.models.*{said}"):
            load({"block": [block]})

    def test_a_study_knows_its_options(self, tmp_path):
        block = {"models": ["known-scale(weight=0.9)", "known-scale"], "d": 1, "n": 1e6}
        block |= {"samples": "lattice", "algorithms": ["EM"], "radius_constant": 4.0}
        eb.run_study({"block": [block]}, tmp_path / "out", engine="local")
        rows = eb.load_results(tmp_path / "out").set_index("model")
        assert rows.loc["known-scale(weight=0.9)", "radius"] == pytest.approx(4e-3)
        assert rows.loc["known-scale", "radius"] == pytest.approx(4 * 10**-1.5)
        assert rows["reached"].all()
