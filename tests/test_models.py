"""The models' algebra: against densities, against each other, and where 1e-13 matters."""

import itertools
import math

import hypothesis.strategies as st
import naive_models
import numpy as np
import pytest
import scipy.optimize
from conftest import scaled
from hypothesis import given
from naive import EPS, mp
from naive_models import Exact, rounding

from elubench import ArraySample, Diagonal, General, Isotropic, LatticeSample, gaussian
from elubench.kernels import layout, ready
from elubench.models.known import named

MODELS = [Isotropic(), Diagonal(), General()]
SYMMETRIC = MODELS[:2]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
each_symmetric = pytest.mark.parametrize("model", SYMMETRIC, ids=lambda model: model.name)


def problem(model, n, d, seed=0, weighted=False):
    """Two clusters whose scale is not 1 and whose centre is not 0, and a point that is not special."""
    rng = np.random.default_rng([n, d, seed, weighted])
    spread = rng.uniform(0.3, 2.0, d) if model.name == "diagonal" else rng.uniform(0.3, 2.0)
    apart = rng.standard_normal(d)
    X = rng.standard_normal((n, d)) * spread + rng.choice([-1, 1], (n, 1)) * apart
    weights = rng.exponential(size=n) + 0.1 if weighted else None
    if model.name == "general":
        X += rng.uniform(-2, 2, d)
        m = np.average(X, axis=0, weights=weights)
        v = np.mean(np.average((X - m) ** 2, axis=0, weights=weights))
        e, delta = 0.3 * rng.standard_normal((2, d)) * math.sqrt(v / d)
        return X, weights, np.concatenate([m + e - delta, m + e + delta])
    m2 = np.average(X**2, axis=0, weights=weights)
    return X, weights, rng.uniform(-0.7, 0.7, d) * np.sqrt(np.full(d, m2.min()))


def answers(model, sample, params):
    """Everything a model says about a point."""
    return {
        "scale": model.scale(sample, params),
        "em": model.em_step(sample, params),
        "gradient": model.gradient(sample, params),
        "hessian": model.hessian(sample, params),
        "gap": model.gap(sample, params),
        "loss": model.loss(sample, params),
    }


ORDERS = {"scale": 0, "em": 0, "gradient": 1, "hessian": 2, "gap": 0, "loss": 0}


def allowed(name, X, params, s, n=None):
    """Bound on rounding; the scale and the locations carry a unit of their own."""
    unit = {"scale": float(np.max(s)), "em": math.sqrt(float(np.max(s)))}.get(name, 1.0)
    return unit * rounding(X, params, s, ORDERS[name], n)


def turn(d, seed=0):
    """A random rotation."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


class TestAgainstDensities:
    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("d", [1, 2, 3])
    @each_model
    def test_at_40_digits(self, model, d, weighted):
        X, weights, params = problem(model, 10, d, weighted=weighted)
        exact = Exact(model.name, X, weights)
        sample = ArraySample(X, weights)
        s = [float(v) for v in exact.scales(list(params))]
        got = answers(model, sample, params)
        expected = {
            "scale": s if model.name == "diagonal" else s[:1],
            "gradient": exact.gradient(params),
            "hessian": exact.hessian(params),
            "gap": float(exact.gap(list(params))),
            "loss": float(exact.loss(list(params))),
        }
        for name, value in expected.items():
            error = np.max(np.abs(got[name] - value))
            assert error <= allowed(name, X, params, s), name

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("d", [1, 2, 5, 17])
    @each_model
    def test_in_float64(self, model, d, weighted):
        X, weights, params = problem(model, scaled(3000, 100), d, weighted=weighted)
        sample = ArraySample(X, weights)
        got = answers(model, sample, params)
        expected = {
            "scale": naive_models.scale(model.name, X, params, weights),
            "em": naive_models.em_step(model.name, X, params, weights),
            "gradient": naive_models.gradient(model.name, X, params, weights),
            "loss": naive_models.loss(model.name, X, params, weights),
        }
        for name, value in expected.items():
            error = np.max(np.abs(got[name] - value))
            assert error <= allowed(name, X, params, got["scale"]), name

    @pytest.mark.parametrize("d", [1, 4, 9])
    @each_model
    def test_hessian_is_the_slope_of_the_gradient(self, model, d):
        X, _, params = problem(model, scaled(500, 40), d)
        sample = ArraySample(X)
        hessian = model.hessian(sample, params)
        np.testing.assert_array_equal(hessian, hessian.T)
        length = math.sqrt(model.scale(sample, params).min())
        h = 1e-5 * length  # truncation (h/length)^2 = 1e-10, rounding 1e-16/1e-5
        for j in range(len(params)):
            step = np.eye(len(params))[j] * h
            forth, back = (model.gradient(sample, params + sign * step) for sign in (1, -1))
            size = np.abs(hessian).max() + 1 / length**2
            np.testing.assert_allclose((forth - back) / (2 * h), hessian[j], atol=1e-7 * size)

    @each_model
    def test_validation_takes_the_scale_from_the_training_rows(self, model):
        X, _, params = problem(model, 60, 3)
        held, _, _ = problem(model, 50, 3, seed=1)
        train, other = ArraySample(X), ArraySample(held)
        s = naive_models.scale(model.name, X, params)
        centre = X.mean(axis=0)
        one = np.concatenate([centre, centre]) if model.name == "general" else np.zeros(3)
        s_one = naive_models.scale(model.name, X, one)
        base = naive_models.loss(model.name, held, one, s=s_one)
        expected = naive_models.loss(model.name, held, params, s=s) - base
        got = model.gap(other, params, fitted=train.moments())
        both = np.vstack([X, held])
        assert abs(got - expected) <= rounding(both, params, s, 0)
        assert abs(model.one_gaussian_loss(train.moments(), other.moments()) - base) <= rounding(
            both, params, s_one, 0
        )

    @each_model
    def test_several_points_in_one_read(self, model):
        X, weights, params = problem(model, 80, 2, weighted=True)
        sample = ArraySample(X, weights)
        points = params * np.linspace(0.9, 1.05, 7)[:, None]
        together = model.gaps(sample, points)
        assert together.tolist() == [model.gap(sample, point) for point in points]

    @pytest.mark.parametrize("d", [1, 2, 6])
    def test_general_step_from_the_responsibilities_of_scikit_learn(self, d):
        mixture = pytest.importorskip("sklearn.mixture")
        X, _, params = problem(General(), 400, d)
        sample = ArraySample(X)
        s = General().scale(sample, params)[0]
        peer = mixture.GaussianMixture(2, covariance_type="spherical")
        peer.weights_ = np.array([0.5, 0.5])
        peer.means_ = params.reshape(2, d)
        peer.covariances_ = np.array([s, s])
        peer.precisions_cholesky_ = 1 / np.sqrt(peer.covariances_)
        r = peer.predict_proba(X)
        means = (r.T @ X) / r.sum(axis=0)[:, None]
        got = General().em_step(sample, params)
        np.testing.assert_allclose(got, means.ravel(), rtol=0, atol=1e-10)
        share = r.mean(axis=0)
        # EM's scale: what the M step leaves. The curve and it agree at a fixed point only.
        left = (np.sum(X**2) / len(X) - share @ np.sum(means**2, axis=1)) / d
        t0 = share[1] - share[0]
        design = np.sum(sample.moments().m2) / d
        design -= ((1 - t0) * got[:d] @ got[:d] + (1 + t0) * got[d:] @ got[d:]) / (2 * d)
        assert abs(left - design) <= 1e-10 * left

    def test_the_tolerance_would_show_a_lost_row(self):
        X, _, params = problem(General(), 3000, 2)
        whole, short = (answers(General(), ArraySample(X[k:]), params) for k in (0, 1))
        for name in ORDERS:
            bound = allowed(name, X, params, whole["scale"])
            assert np.max(np.abs(whole[name] - short[name])) > 100 * bound, name


class TestGap:
    """The loss near the truth: differences of 1e-13 decide, the loss itself is of order 1."""

    @pytest.mark.parametrize(
        ("model", "location"),
        [(Isotropic(), 0.0), (Diagonal(), 0.0), (General(), 0.0), (General(), 3.0)],
        ids=["isotropic", "diagonal", "general", "general, shifted"],
    )
    @pytest.mark.parametrize("d", [1, 2])
    def test_differences_near_the_truth(self, model, location, d):
        sample = LatticeSample.gaussian(10**10, d, seed=3, location=location, scale=0.25)
        keep = sample.counts > scaled(0, 10**7)
        sample = LatticeSample(sample.nodes[keep], sample.counts[keep])
        exact = Exact(model.name, sample.nodes, sample.counts)
        one = np.array([float(v) for v in exact.one_gaussian()])
        away = np.concatenate([-np.ones(d), np.ones(d)]) if model.name == "general" else np.ones(d)
        points = [one + 0.5 * size / math.sqrt(d) * away for size in (0.05, 0.0501, 0.02)]
        got = [model.gap(sample, point) for point in points]
        expected = [exact.gap(list(point)) for point in points]
        # All terms of the gap are of the order |theta|^2/s; x.u + b, and a variance from moments
        # about 0, lose the digits by which the location exceeds the spread.
        lost = 1 + location**2 / 0.25
        bound = 8 * (len(sample.nodes) + 32) * EPS * 0.05**2 * lost
        errors = [abs(float(g - e)) for g, e in zip(got, expected, strict=True)]
        assert max(errors) <= bound
        assert bound < 1e-13 or location
        assert abs(got[0] - got[1] - float(expected[0] - expected[1])) <= 2 * bound

    def test_a_difference_of_losses_would_not_do(self):
        sample = LatticeSample.gaussian(10**10, 1, seed=3)
        model, reference = Isotropic(), Exact("isotropic", sample.nodes, sample.counts)
        base = model.loss(sample, [0.0])
        by_gap, by_loss = [], []
        for theta in np.linspace(0.02, 0.03, 9):
            exact = reference.gap([theta])
            by_gap.append(abs(float(model.gap(sample, [theta]) - exact)))
            by_loss.append(abs(float(model.loss(sample, [theta]) - base - exact)))
        assert 100 * max(by_gap) < max(by_loss)

    @each_model
    def test_is_zero_at_the_single_gaussian(self, model):
        X, _, _ = problem(model, 50, 3)
        sample = ArraySample(X)
        centre = sample.moments().m1
        one = np.concatenate([centre, centre]) if model.name == "general" else np.zeros(3)
        assert model.gap(sample, one) == 0.0

    def test_population_constants(self):
        """theta less its EM step, at infinite n, by quadrature at 40 digits elsewhere."""
        reach = 72  # the lattice itself, with its probabilities as exact as counts can be
        nodes = np.arange(-reach, reach + 1)[:, None] * 0.125
        counts = np.rint(np.exp(-0.5 * nodes[:, 0] ** 2) * 2**45)
        sample = LatticeSample(nodes, counts)
        for theta, published in ((0.1, 6.475e-8), (0.5, 3.2497e-3)):
            step = theta - Isotropic().em_step(sample, [theta])[0]
            assert step == pytest.approx(published, rel=2e-4)


@pytest.mark.parametrize("d", [1, 2, 5])
@each_model
class TestNaturalCoordinates:
    """The same loss as a function of other coordinates: values agree, derivatives are its own."""

    @pytest.fixture
    def case(self, model, d):
        X, weights, params = problem(model, scaled(300, 40), d, weighted=True)
        sample = ArraySample(X, weights)
        m1, m2 = sample.moments()[1:]
        natural = np.empty_like(params)
        ready(model.natural.from_locations)(params, m1, m2, natural)
        return sample, X, params, natural, m1, m2

    def asked(self, model, case, point):
        """Gap, gradient, EM step and Hessian at a point in natural coordinates."""
        sample, _, params, _, m1, m2 = case
        algebra, d = model.natural.algebra, sample.d
        u = np.empty((1, d))
        b = np.array([ready(algebra.direction)(point, m1, m2, u[0])])
        want = layout.LOG_COSH | layout.CURVATURE
        row = sample.sums(u, b, want, even=model.even)[0]
        em, gradient = np.empty_like(params), np.empty_like(params)
        hessian = np.empty((len(params), len(params)))
        ready(algebra.respond)(point, m1, m2, row, em, gradient)
        ready(algebra.hessian)(point, m1, m2, row, hessian)
        gap = ready(algebra.gap)(point, m1, m2, m1, m2, row[layout.log_cosh_at(d)])
        return gap, gradient, em, hessian

    def test_there_and_back(self, model, d, case):
        sample, X, params, natural, m1, m2 = case
        back = np.empty_like(params)
        ready(model.natural.to_locations)(natural, m1, m2, back)
        s = model.scale(sample, params)
        np.testing.assert_allclose(back, params, rtol=0, atol=allowed("em", X, params, s))
        out = np.empty_like(s)
        ready(model.natural.algebra.scale)(natural, m1, m2, out)
        np.testing.assert_allclose(out, s, rtol=0, atol=allowed("scale", X, params, s))
        truth = model.truth(0.3, d)
        error = ready(model.natural.algebra.error)(natural, m1, m2, truth)
        assert error == pytest.approx(model.location_error(params, truth), rel=1e-12)

    def test_loss_and_step_are_the_same(self, model, d, case):
        sample, X, params, natural, m1, m2 = case
        gap, _, em, _ = self.asked(model, case, natural)
        s = model.scale(sample, params)
        assert abs(gap - model.gap(sample, params)) <= allowed("gap", X, params, s)
        expected = model.em_step(sample, params)
        back = np.empty_like(params)
        ready(model.natural.to_locations)(em, m1, m2, back)
        bound = 100 * allowed("em", X, params, s)  # two changes of coordinates
        np.testing.assert_allclose(back, expected, rtol=0, atol=bound)

    def test_derivatives(self, model, d, case):
        natural = case[3]
        _, gradient, _, hessian = self.asked(model, case, natural)
        h = 1e-5  # truncation h^2 = 1e-10, rounding 1e-16 / 1e-5
        for j, step in enumerate(np.eye(len(natural)) * h):
            forth, back = (self.asked(model, case, natural + sign * step) for sign in (1, -1))
            assert (forth[0] - back[0]) / (2 * h) == pytest.approx(gradient[j], abs=1e-8)
            slope = (forth[1] - back[1]) / (2 * h)
            np.testing.assert_allclose(slope, hessian[j], rtol=0, atol=1e-7)

    def test_every_point_has_a_positive_scale(self, model, d, case):
        m1, m2 = case[4:]
        far, out = np.resize([-50.0, 50.0], model.n_params(d)), np.empty(model.n_scales(d))
        ready(model.natural.algebra.scale)(far, m1, m2, out)
        assert (out > 0).all()


class TestModelsAgainstEachOther:
    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    def test_diagonal_in_one_dimension_is_isotropic(self, weighted):
        X, weights, params = problem(Isotropic(), 200, 1, weighted=weighted)
        sample = ArraySample(X, weights)
        one, two = (answers(model, sample, params) for model in SYMMETRIC)
        for name in ORDERS:
            error = np.max(np.abs(one[name] - two[name]))
            assert error <= allowed(name, X, params, one["scale"]), name

    @pytest.mark.parametrize("d", [1, 2, 4])
    def test_general_with_opposite_locations_is_isotropic(self, d):
        X, _, theta = problem(Isotropic(), 100, d)
        X = np.vstack([X, -X])  # centred and symmetric, so the half sum stays 0
        sample = ArraySample(X)
        opposite = np.concatenate([-theta, theta])
        one, two = answers(Isotropic(), sample, theta), answers(General(), sample, opposite)
        for name in ("scale", "gap", "loss"):
            assert abs(one[name] - two[name]) <= allowed(name, X, theta, one["scale"]), name
        bound = allowed("em", X, theta, one["scale"])
        np.testing.assert_allclose(two["em"][d:], one["em"], rtol=0, atol=bound)
        np.testing.assert_allclose(two["em"][:d], -one["em"], rtol=0, atol=bound)
        # theta moves both locations: the chain rule
        bound = allowed("gradient", X, theta, one["scale"])
        by_theta = two["gradient"][d:] - two["gradient"][:d]
        np.testing.assert_allclose(by_theta, one["gradient"], rtol=0, atol=2 * bound)

    def test_diagonal_with_equal_scales_has_the_loss_of_isotropic(self):
        rng = np.random.default_rng(5)
        X = rng.standard_normal((50, 2))
        X = np.vstack([X, X[:, ::-1], -X, -X[:, ::-1]])  # equal second moments
        theta, sample = np.array([0.4, 0.4]), ArraySample(X)
        one, two = (answers(model, sample, theta) for model in SYMMETRIC)
        assert abs(one["loss"] - two["loss"]) <= allowed("loss", X, theta, one["scale"])
        np.testing.assert_allclose(one["em"], two["em"], atol=allowed("em", X, theta, one["scale"]))


class TestSymmetries:
    @each_model
    def test_weights_are_repeats(self, model):
        X, _, params = problem(model, 40, 3)
        counts = np.random.default_rng(1).integers(0, 6, 40)
        s = model.scale(ArraySample(X, counts), params)
        assert (s > 0).all()
        one = answers(model, ArraySample(X, counts), params)
        two = answers(model, ArraySample(np.repeat(X, counts, axis=0), None), params)
        for name in ORDERS:
            error = np.max(np.abs(one[name] - two[name]))
            assert error <= allowed(name, X, params, s, counts.sum()), name

    @each_model
    def test_power_of_two_in_weights_changes_no_bit(self, model):
        X, weights, params = problem(model, 70, 2, weighted=True)
        one, two = (answers(model, ArraySample(X, w), params) for w in (weights, 8 * weights))
        for name in ORDERS:
            np.testing.assert_array_equal(one[name], two[name])

    @each_symmetric
    def test_sign_of_theta(self, model):
        X, weights, theta = problem(model, 90, 3, weighted=True)
        sample = ArraySample(X, weights)
        plus, minus = answers(model, sample, theta), answers(model, sample, -theta)
        for name in ("scale", "gap", "loss", "hessian"):
            np.testing.assert_array_equal(plus[name], minus[name])
        for name in ("em", "gradient"):
            np.testing.assert_array_equal(plus[name], -minus[name])

    def test_labels_of_the_general_model(self):
        X, weights, params = problem(General(), 90, 3, weighted=True)
        sample = ArraySample(X, weights)
        one = answers(General(), sample, params)
        two = answers(General(), sample, np.roll(params, 3))
        for name in ("scale", "gap", "loss"):
            np.testing.assert_array_equal(one[name], two[name])
        for name in ("em", "gradient"):
            np.testing.assert_array_equal(one[name], np.roll(two[name], 3))
        np.testing.assert_allclose(
            one["hessian"],
            np.roll(two["hessian"], (3, 3), axis=(0, 1)),
            atol=allowed("hessian", X, params, one["scale"]),
        )

    @pytest.mark.parametrize("power", [-40, -3, 1, 50])
    @each_model
    def test_scaling_by_powers_of_two_changes_no_digit(self, model, power):
        X, weights, params = problem(model, 90, 3, weighted=True)
        factor = 2.0**power
        one = answers(model, ArraySample(X, weights), params)
        two = answers(model, ArraySample(factor * X, weights), factor * params)
        powers = {"scale": 2, "em": 1, "gradient": -1, "hessian": -2, "gap": 0}
        for name, order in powers.items():
            np.testing.assert_array_equal(two[name], factor**order * one[name])
        expected = one["loss"] + 3 * power * math.log(2)
        assert two["loss"] == pytest.approx(expected, rel=8 * EPS * (1 + abs(3 * power)))

    @pytest.mark.parametrize("model", [Isotropic(), General()], ids=lambda model: model.name)
    def test_rotation(self, model):
        X, weights, params = problem(model, 90, 4, weighted=True)
        Q = turn(4)
        both = np.kron(np.eye(len(params) // 4), Q)
        one = answers(model, ArraySample(X, weights), params)
        two = answers(model, ArraySample(X @ Q.T, weights), both @ params)
        expected = {name: one[name] for name in ("scale", "gap", "loss")}
        expected |= {name: both @ one[name] for name in ("em", "gradient")}
        expected["hessian"] = both @ one["hessian"] @ both.T
        for name, value in expected.items():
            error = np.max(np.abs(two[name] - value))
            assert error <= 4 * allowed(name, X, params, one["scale"]), name

    def test_shift_of_the_general_model(self):
        X, weights, params = problem(General(), 90, 2, weighted=True)
        shift = np.array([1.5, -4.0])
        one = answers(General(), ArraySample(X, weights), params)
        both = np.tile(shift, 2)
        two = answers(General(), ArraySample(X + shift, weights), params + both)
        one["em"] += both
        for name in ORDERS:
            error = np.max(np.abs(two[name] - one[name]))
            assert error <= allowed(name, X + shift, params + both, one["scale"]), name

    @each_symmetric
    def test_order_and_sign_of_coordinates(self, model):
        X, _, theta = problem(model, 90, 3)
        order, sign = [2, 0, 1], np.array([1, -1, -1])
        one = answers(model, ArraySample(X), theta)
        two = answers(model, ArraySample(X[:, order] * sign), theta[order] * sign)
        bound = allowed("em", X, theta, one["scale"])
        np.testing.assert_allclose(two["em"], one["em"][order] * sign, rtol=0, atol=bound)


@pytest.fixture(scope="module")
def fitted():
    """Separated clusters, where EM's fixed point is found to the last digits."""
    rng = np.random.default_rng(8)
    n = scaled(400, 60)
    clusters = rng.choice([-1, 1], (n, 1)) * np.array([2.0, 1.0])
    rows = rng.standard_normal((n, 2)) * 0.5 + clusters
    out = {}
    for model in MODELS:
        X = rows + (3.0 if model.name == "general" else 0.0)
        sample = ArraySample(X)
        params = model.default_start(sample)
        for _ in range(100):
            params = model.em_step(sample, params)
        out[model.name] = X, sample, params
    return out


class TestStationarity:
    @each_model
    def test_the_fixed_point_of_em_is_a_minimum(self, fitted, model):
        X, sample, params = fitted[model.name]
        got = answers(model, sample, params)
        s = got["scale"]
        assert np.max(np.abs(got["em"] - params)) <= allowed("em", X, params, s)
        assert np.max(np.abs(got["gradient"])) <= allowed("gradient", X, params, s)
        assert np.linalg.eigvalsh(got["hessian"]).min() > 0
        assert got["gap"] < -0.1  # two clusters are no single Gaussian

    @each_model
    def test_there_the_curve_minimises_over_the_scale(self, fitted, model):
        X, sample, params = fitted[model.name]
        s = model.scale(sample, params)
        best = naive_models.loss(model.name, X, params, s=s)
        for factor in (0.99, 1.01):
            # second order: (d/4)(0.01)^2, so 1e-5 at least
            assert naive_models.loss(model.name, X, params, s=s * factor) > best + 1e-5

    @each_model
    def test_elsewhere_it_does_not(self, fitted, model):
        X, sample, _ = fitted[model.name]
        start = model.default_start(sample)
        s = model.scale(sample, start)
        here = naive_models.loss(model.name, X, start, s=s)
        others = [naive_models.loss(model.name, X, start, s=s * f) for f in (0.9, 1.1, 1.5)]
        assert min(others) < here

    @each_model
    def test_coinciding_components_are_stationary(self, model):
        X, _, _ = problem(model, 50, 3)
        sample = ArraySample(X)
        one = model.truth(0.0, 3) if model.even else model.truth(sample.moments().m1, 3)
        assert model.is_stationary_start(one)
        assert not model.is_stationary_start(model.default_start(sample))
        s = model.scale(sample, one)
        assert np.max(np.abs(model.gradient(sample, one))) <= allowed("gradient", X, one, s)
        assert np.max(np.abs(model.em_step(sample, one) - one)) <= allowed("em", X, one, s)


class TestErrors:
    @given(st.lists(st.floats(-3, 3), min_size=8, max_size=8))
    def test_wasserstein_distance_is_the_cheapest_coupling(self, values):
        params, truth = np.array(values[:4]), np.array(values[4:])
        cost = [
            np.sum((params[2 * i : 2 * i + 2] - truth[2 * j : 2 * j + 2]) ** 2)
            for i, j in itertools.product(range(2), repeat=2)
        ]
        marginals = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
        best = scipy.optimize.linprog(cost, A_eq=marginals, b_eq=[0.5] * 4).fun
        got = General().location_error(params, truth)
        assert got**2 == pytest.approx(best, rel=1e-9, abs=1e-12)

    @each_symmetric
    def test_theta_and_minus_theta_are_one_mixture(self, model):
        theta, truth = np.array([0.3, -0.4]), np.array([-0.1, 0.2])
        expected = min(np.linalg.norm(theta - truth), np.linalg.norm(theta + truth))
        for one, two in itertools.product((theta, -theta), (truth, -truth)):
            assert model.location_error(one, two) == pytest.approx(expected, rel=4 * EPS)
        assert model.location_error(theta, [0.0, 0.0]) == pytest.approx(0.5, rel=4 * EPS)

    def test_scale_error(self):
        assert Diagonal().scale_error([1.0, 2.5], [1.25, 2.0]) == 0.5
        assert Isotropic().scale_error([0.75], [1.0]) == 0.25

    @each_model
    def test_truth_of_one_gaussian(self, model):
        copies = 2 if model.name == "general" else 1
        assert model.truth(1.5, 3).tolist() == [1.5] * 3 * copies
        assert model.truth([1, 2, 3], 3).tolist() == [1.0, 2.0, 3.0] * copies
        with pytest.raises(ValueError, match=r"location must have shape \(3,\)"):
            model.truth([1.0, 2.0], 3)


class TestWhatAModelKnows:
    @each_model
    def test_centre_and_variance_are_those_of_the_one_gaussian(self, model):
        X, _, _ = problem(model, 60, 3)
        sample = ArraySample(X)
        m = sample.moments()
        one = model.truth(model.centre(m), 3)
        expected = np.broadcast_to(model.scale(sample, one), 3)
        np.testing.assert_allclose(model.variance(m), expected, rtol=64 * EPS)
        assert model.spread(m).tobytes() == np.sqrt(model.variance(m)).tobytes()
        density = naive_models.loss(model.name, X, one, s=model.variance(m))
        assert model.one_gaussian_loss(m, m) == pytest.approx(density, rel=64 * EPS)

    @each_model
    def test_labels(self, model):
        _, _, params = problem(model, 60, 3)
        other = model.swapped(params)
        assert model.location_error(params, other) == 0.0
        assert model.swapped(other).tobytes() == params.tobytes()
        assert model.ordered(params).tobytes() == model.ordered(other).tobytes()
        assert not model.is_stationary_start(params)
        assert model.is_stationary_start(model.truth(0.3 * (model.name == "general"), 3))

    @each_model
    def test_placed(self, model):
        X, _, _ = problem(model, 60, 2)
        m = ArraySample(X).moments()
        step, aside = np.array([0.1, -0.2]), np.array([0.3, 0.4])
        half = 2 if model.name == "general" else 0
        for offset in (None, aside):
            params = model.placed(m, step, offset)
            middle = 0.5 * (params + model.swapped(params))[:2]
            moved = 0.0 if offset is None or not half else offset
            np.testing.assert_allclose(0.5 * (params - model.swapped(params))[half:], step)
            np.testing.assert_allclose(middle, model.centre(m) + moved, atol=1e-15)

    @each_model
    @pytest.mark.parametrize("d", [1, 3, 20])
    def test_starts_for_the_maximum_likelihood(self, model, d):
        sample = ArraySample(problem(model, 60, d)[0])
        starts = model.mle_starts(sample)
        assert len(starts) == model.n_mle_starts(d)
        assert starts[0].tolist() == model.default_start(sample).tolist()
        assert all((model.scale(sample, start) > 0).all() for start in starts)

    def test_flatness_from_a_generic_start(self):
        assert Diagonal().flatness(3, generic=True) == Diagonal().flatness(1)
        assert Isotropic().flatness(3, generic=True) == Isotropic().flatness(3)


class TestStartsAndRefusals:
    @pytest.mark.parametrize("d", [1, 2, 7, 40])
    @each_model
    def test_default_start_is_inside_and_away_from_one_gaussian(self, model, d):
        X = gaussian(200, d, seed=d, location=5.0 if model.name == "general" else 0.0, scale=9.0)
        sample = ArraySample(X)
        start = model.default_start(sample)
        assert start.shape == (model.n_params(d),)
        assert model.scale(sample, start).shape == (model.n_scales(d),)
        assert (model.scale(sample, start) > 0).all()
        one = model.truth(0.0, d) if model.even else model.truth(sample.moments().m1, d)
        # 0.9 of the spread in norm, whatever d is
        distance = model.location_error(start, one)
        assert distance == pytest.approx(0.9 * 3.0, rel=0.2)

    @pytest.mark.parametrize("d", [1, 2, 3])
    @each_model
    def test_a_scale_that_is_not_positive(self, model, d):
        X, _, _ = problem(model, 50, d)
        sample = ArraySample(X)
        far = 100 * model.default_start(sample) - 99 * (
            model.truth(0.0, d) if model.even else model.truth(sample.moments().m1, d)
        )
        assert (model.scale(sample, far) <= 0).any()
        for method in (model.em_step, model.gradient, model.hessian):
            with pytest.raises(ValueError, match=f"scale of the {model.name} model is positive"):
                method(sample, far)
        assert math.isnan(model.gap(sample, far))

    def test_one_coordinate_of_a_diagonal_model_is_enough(self):
        sample = ArraySample(gaussian(100, 2, seed=0))
        assert math.isnan(Diagonal().gap(sample, [0.1, 2.0]))
        assert math.isfinite(Isotropic().gap(sample, [0.1, 1.2]))

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ([0.1], r"params must have shape \(2,\), got \(1,\)"),
            ([0.1, math.nan], "params must be finite, got .*nan"),
            (["a", "b"], "params must be an array of numbers"),
        ],
    )
    def test_bad_params(self, params, message):
        sample = ArraySample(gaussian(50, 2, seed=0))
        for method in (Isotropic().em_step, Isotropic().gradient, Isotropic().hessian):
            with pytest.raises((ValueError, TypeError), match=message):
                method(sample, params)

    @pytest.mark.parametrize("value", [0.0, 1.0], ids=["zeros", "ones"])
    @each_model
    def test_data_that_do_not_vary(self, model, value):
        sample = ArraySample(np.full((20, 2), value))
        if model.even and value:
            model.check_sample(sample)  # a symmetric model sees spread about 0
            return
        with pytest.raises(ValueError, match="X must vary"):
            model.check_sample(sample)

    def test_a_column_of_zeros_has_no_diagonal_fit(self):
        X = gaussian(50, 2, seed=0) * [1, 0]
        with pytest.raises(ValueError, match=r"X must vary, .* for the diagonal model"):
            Diagonal().check_sample(ArraySample(X))
        Isotropic().check_sample(ArraySample(X))

    @each_model
    def test_names(self, model):
        assert named(model.name) == model == type(model)()
        assert named(model) is model
        assert hash(model) == hash(type(model)())
        assert model not in [other for other in MODELS if other is not model]
        assert repr(model) == f"{type(model).__name__}()"

    @pytest.mark.parametrize("name", ["gaussian", 3, None])
    def test_unknown_names(self, name):
        with pytest.raises(ValueError, match=r"model must be a Model, one of .*general"):
            named(name)


def test_the_reference_itself():
    """Exact's derivatives are differences of a loss; here is one that is known in closed form."""
    X = np.array([[1.0], [-1.0]])
    exact = Exact("isotropic", X)
    theta = mp.mpf(1) / 2
    s, y = 1 - theta**2, theta / (1 - theta**2)
    by_hand = mp.log(2 * mp.pi * s) / 2 + (1 + theta**2) / (2 * s) - mp.log(mp.cosh(y))
    assert abs(exact.loss([theta]) - by_hand) < mp.mpf(10) ** -35
    slope = float(mp.diff(lambda t: exact.loss([t]), theta))
    assert exact.gradient([0.5])[0] == pytest.approx(slope, rel=1e-14)
