"""Natural coordinates: the same loss, seen from u instead of the locations."""

import numpy as np
import pytest

import elubench as eb
from elubench.kernels import layout, ready

MODELS = [eb.Isotropic(), eb.Diagonal(), eb.General()]
EPS = np.finfo(float).eps


@pytest.fixture(params=[1, 2, 5], ids="d={}".format)
def sample(request):
    rng = np.random.default_rng(request.param)
    d = request.param
    X = rng.normal(size=(400, d)) * rng.uniform(0.5, 3, d) + rng.normal(size=d)
    return eb.ArraySample(X, weights=rng.uniform(0, 2, 400))


def point_for(model, sample, seed=0, length=0.7):
    """A point in natural coordinates, of this length in units of the one-Gaussian fit."""
    direction = np.random.default_rng(seed).normal(size=model.n_params(sample.d))
    return length * direction / np.linalg.norm(direction)


class At:
    """A model's natural functions at one point of one sample."""

    def __init__(self, model, sample, point):
        self.model, self.sample, self.point = model, sample, np.array(point)
        _, self.m1, self.m2 = sample.moments()
        self.u = np.empty((1, sample.d))
        self.b = np.array([self._call("direction", self.u[0])])
        want = layout.LOG_COSH | layout.CURVATURE
        self.sums = sample.sums(self.u, self.b, want)[0]

    def _call(self, name, *arguments):
        function = ready(getattr(self.model.natural.algebra, name))
        return function(self.point, self.m1, self.m2, *arguments)

    def gap(self):
        return self._call("gap", self.m1, self.m2, self.sums[layout.log_cosh_at(self.sample.d)])

    def respond(self):
        em, gradient = np.empty_like(self.point), np.empty_like(self.point)
        self._call("respond", self.sums, em, gradient)
        return em, gradient

    def hessian(self):
        out = np.empty((self.point.size, self.point.size))
        self._call("hessian", self.sums, out)
        return out

    def scale(self):
        out = np.empty(self.model.n_scales(self.sample.d))
        self._call("scale", out)
        return out

    def locations(self):
        out = np.empty_like(self.point)
        ready(self.model.natural.to_locations)(self.point, self.m1, self.m2, out)
        return out


def differences(function, point, step):
    rows = [
        (function(point + step * unit) - function(point - step * unit)) / (2 * step)
        for unit in np.eye(point.size)
    ]
    return np.array(rows)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
class TestNaturalCoordinates:
    def test_there_and_back(self, model, sample):
        at = At(model, sample, point_for(model, sample, length=3.0))
        back = np.empty_like(at.point)
        ready(model.natural.from_locations)(at.locations(), at.m1, at.m2, back)
        # the way back divides by the scale, a difference that lost a factor a / s
        lost = (sample.moments().m2.max() / at.scale().min()) ** 2
        np.testing.assert_allclose(back, at.point, rtol=0, atol=64 * EPS * lost * 3.0)

    def test_the_same_loss_scale_and_em_step(self, model, sample):
        at = At(model, sample, point_for(model, sample))
        params = at.locations()
        tolerance = 1e3 * EPS
        assert at.gap() == pytest.approx(model.gap(sample, params), rel=1e-10, abs=tolerance)
        np.testing.assert_allclose(at.scale(), model.scale(sample, params), rtol=tolerance)
        em, _ = at.respond()
        expected = np.empty_like(em)
        step = model.em_step(sample, params)
        ready(model.natural.from_locations)(step, at.m1, at.m2, expected)
        np.testing.assert_allclose(em, expected, rtol=0, atol=1e-11)
        truth = model.truth(0.3, sample.d)
        error = ready(model.natural.algebra.error)(at.point, at.m1, at.m2, truth)
        assert error == pytest.approx(model.location_error(params, truth), rel=tolerance)

    def test_gradient_is_that_of_the_gap(self, model, sample):
        point = point_for(model, sample)
        step = 1e-5
        found = differences(lambda x: At(model, sample, x).gap(), point, step)
        _, gradient = At(model, sample, point).respond()
        # the third derivatives are O(1) in these units; the gap is accurate to a few EPS
        np.testing.assert_allclose(found, gradient, rtol=0, atol=10 * step**2 + 50 * EPS / step)

    def test_hessian_is_that_of_the_gradient(self, model, sample):
        point = point_for(model, sample, seed=3)
        step = 1e-5
        found = differences(lambda x: At(model, sample, x).respond()[1], point, step)
        hessian = At(model, sample, point).hessian()
        np.testing.assert_allclose(found, hessian, rtol=0, atol=20 * step**2 + 50 * EPS / step)
        assert (hessian == hessian.T).all()

    def test_the_scale_is_positive_everywhere(self, model, sample):
        for length in (1e-8, 1.0, 1e3, 1e8):
            at = At(model, sample, point_for(model, sample, seed=5, length=length))
            assert (at.scale() > 0).all()
            assert np.isfinite(at.gap())

    def test_what_is_not_finite_is_refused(self, model, sample):
        point = point_for(model, sample)
        point[-1] = np.inf
        _, m1, m2 = sample.moments()
        assert np.isnan(ready(model.natural.algebra.direction)(point, m1, m2, np.empty(sample.d)))

    def test_units_do_not_matter(self, model, sample):
        X, weights = sample.rows(), sample.row_weights()
        scaled = eb.ArraySample(X * 4.0, weights)
        point = point_for(model, sample)
        one, two = At(model, sample, point), At(model, scaled, point)
        assert one.gap() == two.gap()
        assert (one.respond()[1] == two.respond()[1]).all()
        assert (one.hessian() == two.hessian()).all()
        assert (one.locations() * 4.0 == two.locations()).all()
