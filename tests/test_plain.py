"""Kernels that run as they are written until compiling them pays: when, and with the same bits."""

import numba
import numpy as np
import pytest
from conftest import needs_jit
from test_jit import folder  # noqa: F401 - a fixture

import elubench as eb
from elubench.algorithms.newton_anderson import _update
from elubench.kernels import _jit, layout
from elubench.kernels.signatures import Own

pytestmark = needs_jit

VECTOR = numba.types.float64(numba.types.float64[::1])
MODELS = [eb.Isotropic(), eb.Diagonal(), eb.General()]


def first(x):
    return 1.0 / x[0]


def make():
    """A new kernel, as a new process would have it."""
    return _jit.kernel("exact", VECTOR, plain=2)(first)


class TestWhen:
    def test_not_at_first(self, folder):  # noqa: F811
        kernel = make()
        assert _jit.ready(kernel)(np.array([4.0])) == 0.25
        assert not kernel.overloads

    def test_divides_by_zero_as_machine_code_does(self, folder):  # noqa: F811
        assert _jit.ready(make())(np.zeros(1)) == np.inf

    def test_large_arrays(self, folder):  # noqa: F811
        kernel = make()
        assert _jit.ready(kernel)(np.array([4.0, 0.0, 0.0])) == 0.25
        assert len(kernel.overloads) == 1

    def test_after_many_calls(self, folder, monkeypatch):  # noqa: F811
        monkeypatch.setattr(_jit, "_COLD", 10)
        kernel = make()
        for _ in range(9):
            assert _jit.ready(kernel)(np.array([4.0])) == 0.25
            assert not kernel.overloads
        assert _jit.ready(kernel)(np.array([4.0])) == 0.25
        assert kernel.overloads

    def test_what_the_cache_has_is_loaded(self, folder):  # noqa: F811
        _jit.compiled_now(make())
        kernel = make()
        _jit.ready(kernel)
        assert sum(kernel.stats.cache_hits.values()) == 1

    def test_as_part_of_another_kernel(self, folder):  # noqa: F811
        kernel = make()
        other = numba.njit(lambda x: kernel(x) + 1.0)
        assert other(np.array([4.0])) == 1.25


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("natural", [False, True], ids=["locations", "natural"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_models_have_the_same_bits(model, natural, d):
    rng = np.random.default_rng([d, natural])
    sample = eb.ArraySample(0.3 + rng.standard_normal((50, d)))
    algebra = model.natural.algebra if natural else model.algebra
    m, p = sample.moments(), model.n_params(d)
    for size in (0.0, 1e-3, 0.3, 0.6):
        point = size * rng.standard_normal(p) / np.sqrt(p)
        u, b = np.empty((1, d)), np.empty(1)
        b[0] = _jit.compiled_now(algebra.direction)(point, m.m1, m.m2, u[0])
        row = sample.sums(u, b, layout.LOG_COSH | layout.CURVATURE)[0]
        given = point, m.m1, m.m2
        calls = [
            (algebra.direction, given, [d]),
            (algebra.scale, given, [model.n_scales(d)]),
            (algebra.respond, (*given, row), [p, p]),
            (algebra.gap, (*given, m.m1, m.m2, row[layout.log_cosh_at(d)]), []),
            (algebra.hessian, (*given, row), [(p, p)]),
            (model.natural.to_locations, given, [p]),
        ]
        for kernel, arguments, shapes in calls:
            one, two = ([np.zeros(shape) for shape in shapes] for _ in range(2))
            returned = _jit.compiled_now(kernel)(*arguments, *one)
            plainly = kernel.py_func(*arguments, *two)
            assert np.array_equal(returned or 0.0, plainly or 0.0, equal_nan=True)
            assert all(np.array_equal(*pair, equal_nan=True) for pair in zip(one, two, strict=True))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("apart", [0.0, 1.5])
def test_updates_have_the_same_bits(model, apart):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)) + apart * np.array([1.0, 0.5]) * rng.choice([-1, 1], (300, 1))
    sample = eb.ArraySample(X)
    algorithm = eb.NewtonAnderson()
    p = model.n_params(2)
    start = 0.5 * rng.standard_normal(p)
    sides = [
        (Own(algorithm.options(300.0), np.zeros(algorithm.state_size(p)), 0), start[None].copy(),
         start.copy(), np.zeros(layout.REPORT_SIZE))
        for _ in range(2)
    ]  # fmt: skip
    for _ in range(30):
        for side, update in zip(sides, (_jit.compiled_now(_update), _update.py_func), strict=True):
            own, points, iterate, report = side
            answers = model.evaluate(sample, points, algorithm.want, natural=True)
            update(own, points, answers, iterate, report)
        (own, *one), (other, *two) = sides
        assert (own.state == other.state).all()
        assert all((a == b).all() for a, b in zip(one, two, strict=True))
        if one[-1][layout.FINISHED]:
            return
    raise AssertionError("it did not end")
