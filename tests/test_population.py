"""The population against its definition at 60 digits, and against what must hold exactly."""

from __future__ import annotations

import math

import naive_population as naive
import numpy as np
import pytest
from mpmath import mp, mpf

from elubench.papers.beyond_em import population

# Sums of about 120 terms of one sign, each good to a few units in the last place.
TIGHT = 1e-13
# Where the plain formulas take over, differences lose up to three digits.
WIDE = 1e-12

POINTS = [
    ("isotropic", (1e-3,)),
    ("isotropic", (0.03,)),
    ("isotropic", (0.3,)),
    ("isotropic", (math.sqrt(0.2999),)),
    ("isotropic", (math.sqrt(0.3001),)),
    ("isotropic", (0.7,)),
    ("isotropic", (0.85,)),
    ("isotropic", (1e-3, -4e-4)),
    ("isotropic", (0.6, 0.2, -0.5)),
    ("isotropic", (0.9, 0.3)),
    ("diagonal", (1e-3, -4e-4)),
    ("diagonal", (1e-3, 1e-9)),
    ("diagonal", (0.1, 0.1239)),
    ("diagonal", (0.1251, 0.1251)),
    ("diagonal", (0.4, 0.2, 0.01)),
    ("diagonal", (0.5, 1e-4)),
    ("diagonal", (0.8, 0.7)),
    ("general", (1e-3, -1e-3)),
    ("general", (1e-3, -1.001e-3)),
    ("general", (0.4, -0.3)),
    ("general", (0.8, -0.5)),
    ("general", (1.5, 0.1)),
    ("general", (2.5, 0.9)),
    ("general", (1e-3, 0.0, -1e-3, 1e-4)),
    ("general", (0.3, 0.2, -0.4, 0.1)),
]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(naive.DIGITS):
        yield


def exact(model: str, theta: tuple[float, ...], scale: float | tuple[float, ...] = 1.0):
    d = len(theta) // 2 if model == "general" else len(theta)
    return [mpf(x) for x in theta], [mpf(float(a)) for a in np.broadcast_to(scale, (d,))]


@pytest.mark.parametrize(("model", "theta"), POINTS)
def test_loss_and_gradient_against_60_digits(model: str, theta: tuple[float, ...]) -> None:
    point, scale = exact(model, theta)
    gap = naive.loss(model, point, scale)
    assert abs(mpf(float(population.loss(model, theta))) / gap - 1) < TIGHT
    gradient = np.array([float(g) for g in naive.gradient(model, point, scale)])
    np.testing.assert_allclose(population.gradient(model, theta), gradient, rtol=TIGHT)


# The Hessian takes four evaluations per entry: two parameters, and not too sharp a function.
CHEAP = [
    (model, theta)
    for model, theta in POINTS
    if len(theta) < 3 and min(map(abs, theta)) > 1e-8 and max(map(abs, theta)) < 0.8
]


@pytest.mark.parametrize(("model", "theta"), CHEAP)
def test_hessian_against_60_digits(model: str, theta: tuple[float, ...]) -> None:
    point, scale = exact(model, theta)
    with mp.workdps(naive.DIGITS + 15):
        hessian = np.array([[float(h) for h in row] for row in naive.hessian(model, point, scale)])
    np.testing.assert_allclose(population.hessian(model, theta), hessian, rtol=WIDE)


def test_gap_of_1e_24_is_exact() -> None:
    """At d = 1 the gap is theta^8/12 + O(theta^10)."""
    gap = float(population.loss("isotropic", [1e-3]))
    assert gap == pytest.approx(1e-24 / 12, rel=2e-6)
    assert population.loss("isotropic", [1e-30]) >= 0.0


def test_known_values() -> None:
    """theta - E[V tanh(V theta/(1 - theta^2))] divided by theta^7 tends to 2/3."""
    for theta, value in ((0.1, 6.475e-8), (0.5, 3.2497e-3)):
        moved = theta - float(population.em_step("isotropic", [theta])[0])
        assert moved == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
def test_derivatives_agree_with_differences(model: str) -> None:
    """Five-point differences, O(h^4), at points in all regimes."""
    rng = np.random.default_rng(3)
    p = 4
    points = rng.uniform(-0.85, 0.85, (40, p)) * rng.uniform(0.1, 1.0, (40, 1))
    points = points[population.inside(model, points)]
    points = points[population.inside(model, 1.05 * points)]
    assert len(points) > 20
    h = 1e-3
    offsets = h * np.eye(p)[:, None, :] * np.array([-2.0, -1.0, 1.0, 2.0])[None, :, None]
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12 * h)
    around = points[:, None, None, :] + offsets
    gradient = np.einsum("k,njk->nj", weights, population.loss(model, around))
    hessian = np.einsum("k,njki->nji", weights, population.gradient(model, around))
    # The fifth derivative grows towards the boundary: the error is measured against the size there.
    size = 1 + np.abs(population.hessian(model, points)).max(axis=(1, 2))
    found = population.gradient(model, points)
    assert np.max(np.abs(found - gradient).max(axis=1) / size**2) < 1e-8
    found = population.hessian(model, points)
    assert np.max(np.abs(found - hessian).max(axis=(1, 2)) / size**2) < 1e-7
    np.testing.assert_allclose(found, np.swapaxes(found, 1, 2), rtol=0, atol=1e-12 * size.max())


def test_models_agree_where_they_are_the_same() -> None:
    rng = np.random.default_rng(0)
    one = rng.uniform(-0.95, 0.95, (50, 1))
    for function in (population.loss, population.gradient, population.hessian, population.em_step):
        np.testing.assert_allclose(
            function("diagonal", one), function("isotropic", one), rtol=1e-12
        )
    # Equal coordinates: f and the gradient of both models agree.
    equal = np.repeat(rng.uniform(0.001, 0.9, (30, 1)), 3, axis=1)
    for function in (population.loss, population.gradient, population.em_step):
        np.testing.assert_allclose(
            function("diagonal", equal), function("isotropic", equal), rtol=1e-12
        )
    # Opposite locations: half sum 0.
    theta = rng.uniform(-0.6, 0.6, (50, 3))
    both = np.concatenate([-theta, theta], axis=1)
    np.testing.assert_allclose(
        population.loss("general", both), population.loss("isotropic", theta), rtol=1e-12
    )
    np.testing.assert_allclose(
        2 * population.gradient("general", both)[:, 3:],
        population.gradient("isotropic", theta),
        rtol=1e-11,
    )
    np.testing.assert_allclose(
        population.em_step("general", both)[:, 3:],
        population.em_step("isotropic", theta),
        rtol=1e-12,
    )


@pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
def test_scale_is_a_change_of_units(model: str) -> None:
    """A power of four as the scale halves exactly: bit for bit."""
    theta = np.array([[0.3, -0.2], [0.01, 0.7], [1e-3, 2e-3]])
    for scale, unit in ((4.0, 2.0), (0.25, 0.5)):
        scaled = population.loss(model, unit * theta, scale)
        np.testing.assert_array_equal(scaled, population.loss(model, theta))
        np.testing.assert_array_equal(
            unit * population.gradient(model, unit * theta, scale),
            population.gradient(model, theta),
        )
        np.testing.assert_array_equal(
            unit**2 * population.hessian(model, unit * theta, scale),
            population.hessian(model, theta),
        )
        np.testing.assert_array_equal(
            population.em_step(model, unit * theta, scale) / unit,
            population.em_step(model, theta),
        )


def test_scale_by_coordinate() -> None:
    theta, scale = (0.3, 0.02, -0.2), (1.0, 2.0, 0.5)
    point, exact_scale = exact("diagonal", theta, scale)
    gap = naive.loss("diagonal", point, exact_scale)
    assert abs(mpf(float(population.loss("diagonal", theta, scale))) / gap - 1) < TIGHT
    gradient = [float(g) for g in naive.gradient("diagonal", point, exact_scale)]
    np.testing.assert_allclose(population.gradient("diagonal", theta, scale), gradient, rtol=TIGHT)


def test_symmetry_is_exact() -> None:
    rng = np.random.default_rng(1)
    theta = rng.uniform(-0.9, 0.9, (200, 2))
    np.testing.assert_array_equal(
        population.loss("diagonal", theta), population.loss("diagonal", theta * [1, -1])
    )
    np.testing.assert_allclose(
        population.loss("diagonal", theta), population.loss("diagonal", theta[:, ::-1]), rtol=1e-14
    )
    general = rng.uniform(-0.9, 0.9, (200, 4))
    swapped = np.concatenate([general[:, 2:], general[:, :2]], axis=1)
    np.testing.assert_allclose(
        population.loss("general", general), population.loss("general", swapped), rtol=1e-13
    )
    gradient, other = (
        population.gradient("general", general),
        population.gradient("general", swapped),
    )
    np.testing.assert_allclose(gradient[:, :2], other[:, 2:], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
def test_gap_is_a_divergence(model: str) -> None:
    """Positive away from the truth; EM never raises it (isotropic and diagonal: scale on curve)."""
    rng = np.random.default_rng(2)
    theta = rng.uniform(-0.99, 0.99, (2000, 4)) * 10.0 ** rng.uniform(-6, 0, (2000, 1))
    theta = theta[population.inside(model, theta)]
    gap = population.loss(model, theta)
    assert np.all(gap > 0.0)
    if model != "general":
        assert np.all(population.loss(model, population.em_step(model, theta)) <= gap)


def test_no_jump_where_formulas_change() -> None:
    """Across q = 0.3, W = 1, w = 1/64 and |b| = 1 the function is continuous to rounding."""
    e = 1e-13

    def jump(model: str, below: list[float], above: list[float]) -> float:
        low, high = population.loss(model, below), population.loss(model, above)
        return float(abs(high - low) / low)

    q = math.sqrt(0.3)
    assert jump("isotropic", [q * (1 - e)], [q * (1 + e)]) < 100 * e
    root = (math.sqrt(1 + 4 / 64) - 1) / (2 / 8)  # theta/(1 - theta^2) = 1/8
    assert root / (1 - root**2) == pytest.approx(1 / 8)
    assert jump("diagonal", [0.4, root * (1 - e)], [0.4, root * (1 + e)]) < 100 * e
    one = (math.sqrt(1 + 4 / 2) - 1) / (2 / math.sqrt(2))  # two coordinates with W = 1
    assert jump("diagonal", [one, one * (1 - e)], [one, one * (1 + e)]) < 100 * e
    # d = 1: m = 1, delta = t: b = -t/(2 - t^2) = -1 at t = 1
    assert jump("general", [0.0, 2 * (1 - e)], [0.0, 2 * (1 + e)]) < 100 * e


def test_near_the_boundary() -> None:
    """As q tends to 1 at d = 1 the gap is (1 - sqrt(2/pi))/(1 - q) to leading order."""
    for s in (1e-4, 1e-6, 1e-8):
        theta = math.sqrt(1 - s)
        s = 1 - theta**2
        gap = float(population.loss("isotropic", [theta]))
        # log(1 - q)/2, -1 and log 2 come next, and corrections of relative order s.
        expected = (theta**2 - math.sqrt(2 / math.pi) * theta) / s + 0.5 * math.log(s) + math.log(2)
        assert gap == pytest.approx(expected, rel=1e-9, abs=2 * s)


def test_batches_and_shapes() -> None:
    theta = np.random.default_rng(5).uniform(-0.5, 0.5, (3, 5, 4))
    for model in ("isotropic", "diagonal", "general"):
        loss = population.loss(model, theta)
        gradient = population.gradient(model, theta)
        hessian = population.hessian(model, theta)
        assert (loss.shape, gradient.shape, hessian.shape) == ((3, 5), (3, 5, 4), (3, 5, 4, 4))
        assert population.inside(model, theta).shape == (3, 5)
        np.testing.assert_allclose(loss[1, 2], population.loss(model, theta[1, 2]), rtol=1e-13)
        np.testing.assert_allclose(
            hessian[1, 2], population.hessian(model, theta[1, 2]), rtol=1e-10, atol=1e-14
        )
        assert np.ndim(population.loss(model, theta[0, 0])) == 0
        assert population.loss(model, theta[:0]).shape == (0, 5)


def test_the_truth_is_a_zero() -> None:
    for model in ("isotropic", "diagonal", "general"):
        zero = np.zeros(4)
        assert population.loss(model, zero) == 0.0
        np.testing.assert_array_equal(population.gradient(model, zero), zero)
    np.testing.assert_array_equal(population.hessian("diagonal", np.zeros(3)), np.zeros((3, 3)))
    # One Gaussian that is off centre: f = (d/2) log(1 + |m|^2/d)
    gap = population.loss("general", [0.3, 0.4, 0.3, 0.4])
    assert gap == pytest.approx(math.log1p(0.25 / 2), rel=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("spherical", [0.1]), "model must be a Model, one of"),
        (("isotropic", 0.1), "theta must have shape"),
        (("isotropic", []), "theta must have shape"),
        (("isotropic", [math.nan]), "theta must be finite"),
        (("isotropic", [1.0]), r"theta must be where .* \|theta\|\^2 < d scale"),
        (("isotropic", [1.1, 0.9]), "theta must be where the scale .* is positive"),
        (("diagonal", [[0.1, 0.2], [0.1, 1.0]]), r"theta must be where .* theta_j\^2 < scale_j"),
        (("general", [0.1, 0.2, 0.3]), "theta must be theta1 then theta2 for the general model"),
        (("general", [-1.0, 1.0]), "theta must be where the scale .* is positive"),
        (("isotropic", [0.1, 0.2], [1.0, 2.0]), "scale must be a number for the isotropic"),
        (("diagonal", [0.1, 0.2], [1.0, 2.0, 3.0]), "scale must be a number or 2 numbers"),
        (("diagonal", [0.1, 0.2], -1.0), r"scale \(sigma\^2\) must be positive"),
    ],
)
@pytest.mark.parametrize(
    "function", [population.loss, population.gradient, population.hessian, population.em_step]
)
def test_bad_arguments(function, arguments, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        function(*arguments)


def test_em_needs_two_components_with_data() -> None:
    with pytest.raises(ValueError, match="theta must leave each component some data"):
        population.em_step("general", [30.0, 0.0])
    assert np.all(np.isfinite(population.em_step("general", [3.0, 0.0])))
