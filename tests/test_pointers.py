"""Kernels that call others: a model's functions at many points, the derivative of EM's step."""

import numpy as np
import pytest
from conftest import needs_jit
from test_jit import folder  # noqa: F401 - a fixture

import elubench as eb
from elubench.fits import evidence
from elubench.kernels import _jit, layout, many, pointers, signatures
from elubench.kernels.em_derivative import em_derivative
from elubench.kernels.many import at_points

MODELS = [eb.Isotropic(), eb.Diagonal(), eb.General(), eb.General(mixing="free"), eb.KnownScale()]
BOTH = layout.LOG_COSH | layout.CURVATURE


def sample_of(d, n=60):
    rng = np.random.default_rng([d, n])
    return eb.ArraySample(0.2 + rng.standard_normal((n, d)) + rng.choice([-0.8, 0.8], (n, 1)))


def points_of(model, sample, count=4):
    rng = np.random.default_rng(count)
    return np.stack([model.random_start(sample, rng) for _ in range(count)])


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("model", MODELS, ids=repr)
class TestAtPoints:
    def test_each_point_as_by_itself(self, model, d):
        sample = sample_of(d)
        points, p = points_of(model, sample), model.n_params(d)
        inputs = model.inputs(sample.moments())
        count, algebra = len(points), model.algebra

        def made(function, *shapes, call, given=()):
            out = [np.zeros((count, *shape)) for shape in shapes]
            at_points(call, function, points, *inputs, *given, *out)
            return out

        scales, u, b = np.empty((count, model.n_scales(d))), np.empty((count, d)), np.empty(count)
        for k, point in enumerate(points):
            _jit.ready(algebra.scale)(point, *inputs, scales[k])
            b[k] = _jit.ready(algebra.direction)(point, *inputs, u[k])
        assert (made(algebra.scale, scales.shape[1:], call=many.each)[0] == scales).all()
        assert (model.scales(sample.moments(), points) == scales).all()
        found = made(algebra.direction, (d,), (), call=many.directions)
        assert (found[0] == u).all()
        assert (found[1] == b).all()

        rows = sample.sums(u, b, BOTH)
        em, gradient = np.empty((2, count, p))
        gaps, hessians = np.empty(count), np.empty((count, p, p))
        log_cosh = rows[:, layout.log_cosh_at(d)].copy()
        for k, point in enumerate(points):
            _jit.ready(algebra.respond)(point, *inputs, rows[k], em[k], gradient[k])
            gaps[k] = _jit.ready(algebra.gap)(point, *inputs, *inputs, log_cosh[k])
            _jit.ready(algebra.hessian)(point, *inputs, rows[k], hessians[k])
        found = made(algebra.respond, (p,), (p,), call=many.responses, given=[rows])
        assert (found[0] == em).all()
        assert (found[1] == gradient).all()
        found = made(algebra.gap, (), call=many.gaps, given=[*inputs, log_cosh])
        assert (found[0] == gaps).all()
        found = made(algebra.hessian, (p, p), call=many.hessians, given=[rows])
        assert (found[0] == hessians).all()

    def test_derivative_of_em_step(self, model, d):
        """Against differences of the step itself, which takes a pass for each."""
        sample = sample_of(d)
        for params in points_of(model, sample, 3):
            units = np.full(len(params), 0.7)
            by_curvature = evidence._by_curvature(model, sample, params, units, 1e-6)
            _, derivative, (em, gradient), passes = by_curvature
            expected = np.empty((len(params), len(params)))
            for k in range(len(params)):
                step = np.zeros(len(params))
                step[k] = 1e-5
                ahead, behind = (model.em_step(sample, params + s) for s in (step, -step))
                expected[:, k] = (ahead - behind) / 2e-5
            np.testing.assert_allclose(derivative, expected, rtol=0, atol=2e-8 * (1 + d))
            assert (em == model.em_step(sample, params)).all()
            assert (gradient == model.gradient(sample, params)).all()
            assert passes == 1


@needs_jit
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("d", [1, 3])
def test_compiled_callers_have_the_same_bits(model, d):
    sample = sample_of(d)
    points, p, m = points_of(model, sample), model.n_params(d), model.inputs(sample.moments())
    count, algebra = len(points), model.algebra
    u, b = np.empty((count, d)), np.empty(count)
    at_points(many.directions, algebra.direction, points, *m, u, b)
    rows, units = sample.sums(u, b, BOTH), np.full(p, 0.7)
    log_cosh = rows[:, layout.log_cosh_at(d)].copy()
    calls = [
        (many.each, [algebra.scale], (points, *m), [(count, model.n_scales(d))]),
        (many.directions, [algebra.direction], (points, *m), [(count, d), (count,)]),
        (many.responses, [algebra.respond], (points, *m, rows), [(count, p), (count, p)]),
        (many.gaps, [algebra.gap], (points, *m, *m, log_cosh), [(count,)]),
        (many.hessians, [algebra.hessian], (points, *m, rows), [(count, p, p)]),
        (
            em_derivative, [algebra.direction, algebra.respond],
            (points[0], *m, units, 1e-6, rows[0]), [(p, p), (p,), (p,)],
        ),
    ]  # fmt: skip
    for caller, functions, given, shapes in calls:
        one, two = ([np.full(shape, np.nan) for shape in shapes] for _ in range(2))
        ready = [_jit.compiled_now(each) for each in (caller, *functions)]
        pointers.calling(*ready)(*given, *one)
        caller.py_func(*functions, *given, *two)
        assert all((a == b).all() for a, b in zip(one, two, strict=True)), caller


@pytest.mark.parametrize("compiled", [False, True])
def test_points_and_rows_need_not_be_contiguous(compiled):
    class Wide(type(sample_of(2))):
        def sums(self, u, b, want, even=False):
            rows = super().sums(u, b, want, even)
            return np.hstack([rows, rows])[:, : rows.shape[1]]

    model, sample = eb.General(), sample_of(2)
    points = points_of(model, sample)
    if compiled:
        algebra = model.algebra
        for each in (
            many.directions, many.responses, many.gaps, many.hessians, algebra.direction,
            algebra.respond, algebra.gap, algebra.hessian,
        ):  # fmt: skip
            _jit.compiled_now(each)
    expected = model.evaluate(sample, points[::2].copy(), BOTH)
    found = model.evaluate(Wide(sample.rows()), points[::2], BOTH)
    assert all((a == b).all() for a, b in zip(found, expected, strict=True))


class TestSpectralRadius:
    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_of_any_matrix(self, size):
        rng = np.random.default_rng(size)
        for _ in range(200):
            matrix = rng.standard_normal((size, size)) * rng.choice([0.0, 1.0, 1e-3], (size, size))
            expected = np.abs(np.linalg.eigvals(matrix)).max()
            assert evidence._spectral_radius(matrix) == pytest.approx(expected, rel=1e-7, abs=1e-9)

    def test_of_numbers_without_a_square(self):
        assert evidence._spectral_radius(np.diag([1e200, 0.0])) == np.inf

    def test_of_a_rotation(self):
        matrix = 0.9 * np.array([[0.6, -0.8], [0.8, 0.6]])
        assert evidence._spectral_radius(matrix) == pytest.approx(0.9, rel=1e-15)


def double(point, m1, m2, out):
    out[0] = 2.0 * point[0] / m1[0]


def make():
    return _jit.kernel("exact", signatures.CHANGE, plain=signatures.SMALL)(double)


def doubled(function, call=many.each, by=1.0):
    points, out, m = np.arange(3.0)[:, None], np.full((3, 1), np.nan), np.array([by])
    at_points(call, function, points, m, m, out)
    return out[:, 0].tolist()


class TestWhen:
    @needs_jit
    def test_not_compiled_yet(self, folder):  # noqa: F811
        kernel = make()
        assert doubled(kernel) == [0.0, 2.0, 4.0]
        assert not kernel.overloads
        _jit.compiled_now(kernel)
        assert doubled(kernel) == [0.0, 2.0, 4.0]

    def test_nothing_is_warned_of(self, folder):  # noqa: F811
        assert np.isnan(doubled(make(), by=0.0)[0])

    def test_nor_of_what_the_caller_does(self, folder):  # noqa: F811
        def divided(function, points, m1, m2, out):
            out[:] = points / m1

        call = many._for_points(many._matrix)(divided)
        assert np.isnan(doubled(make(), call, by=0.0)[0])

    @needs_jit
    def test_on_large_arrays_it_is_compiled_at_once(self, folder):  # noqa: F811
        signature = many.types.void(
            pointers.ADDRESS, many._matrix, many._vector, many._vector, many._matrix
        )
        call = _jit.kernel("exact", signature, plain=2)(many.each.py_func)
        kernel = make()
        assert doubled(kernel, call) == [0.0, 2.0, 4.0]
        assert call.overloads
        assert kernel.overloads
        assert doubled(kernel, call) == [0.0, 2.0, 4.0]

    @needs_jit
    def test_the_derivative_of_many_parameters_is(self, folder):  # noqa: F811
        """As plain Python it takes 0.1 s for 64 parameters."""
        most = em_derivative.elubench_most
        assert _jit.is_small(em_derivative, [np.empty((8, 8))])
        assert not _jit.is_small(em_derivative, [np.empty((10, 10))]), most

    @needs_jit
    def test_the_cache_is_asked_for_the_caller_of_a_cold_function(self, folder):  # noqa: F811
        def caller():
            return many._for_points(many._matrix)(many.each.py_func)

        _jit.compiled_now(caller())
        call = caller()
        assert doubled(make(), call) == [0.0, 2.0, 4.0]
        assert sum(call.stats.cache_hits.values()) == 1

    @needs_jit
    def test_caller_is_compiled_after_many_calls(self, folder, monkeypatch):  # noqa: F811
        monkeypatch.setattr(_jit, "_COLD", 5)
        call, kernel = many._for_points(many._matrix)(many.each.py_func), _jit.compiled_now(make())
        for _ in range(4):
            assert doubled(kernel, call) == [0.0, 2.0, 4.0]
            assert not call.overloads
        for _ in range(2):
            assert doubled(kernel, call) == [0.0, 2.0, 4.0]
        assert call.overloads

    @needs_jit
    def test_compiled_as_part_of_another(self, folder):  # noqa: F811
        """Then nobody has asked for its address."""
        kernel = make()

        def twice(point, m1, m2, out):
            kernel(point, m1, m2, out)
            out[0] *= 2.0

        _jit.compiled_now(_jit.kernel("exact", signatures.CHANGE)(twice))
        assert kernel.overloads
        assert doubled(kernel) == [0.0, 2.0, 4.0]
        assert pointers.address(kernel) == pointers.address(kernel)
