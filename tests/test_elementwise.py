"""tanh and log cosh against 40 digits, on their own and in the pass that ships."""

import functools
import math

import naive
import numba
import numpy as np
import pytest
from conftest import needs_jit, scaled

from elubench.kernels import _jit, elementwise, layout
from elubench.kernels.lanes import LANES, WIDE, absolute, load_wide, rounded, store, zeros
from elubench.kernels.sums import plus
from elubench.samples import ArraySample

TANH_ULPS, LOG_COSH_ULPS = 2.0, 4.0
SMALLEST, HUGE = 5e-324, 1.7976931348623157e308


compiled = numba.njit(**_jit.COMMON)


@compiled
def tanh_into(y, out):
    for i in range(0, y.size, WIDE):
        store(out, i, elementwise.tanh(load_wide(y, i)))


@compiled
def log_cosh_into(y, out):
    for i in range(0, y.size, WIDE):
        store(out, i, elementwise.log_cosh(load_wide(y, i)))


@compiled
def loss(y):
    gone, grown, far = zeros(), 1.0 + zeros(), zeros()
    for i in range(0, y.size, WIDE):
        t = elementwise.tanh(load_wide(y, i))
        gone = elementwise.more_gone(gone, rounded(t, t), 1.0 - rounded(t, t))
        grown = elementwise.more_grown(grown, absolute(t))
        far = plus(far, absolute(load_wide(y, i)))
    return elementwise.loss_of(gone, grown, far)


def around(centre, count):
    """Floats next to a centre, and some that spread out from it by factors of two."""
    near, steps = [centre], np.ldexp(centre, np.arange(-50, -2))
    up = down = centre
    for _ in range(count):
        up, down = math.nextafter(up, math.inf), math.nextafter(down, -math.inf)
        near += [up, down]
    return np.concatenate([near, centre + steps, centre - steps])


def points():
    """Where things can go wrong: switches, rounding of k, saturation, both ends of the range."""
    rng = np.random.default_rng(11)
    many = scaled(6000, 800)
    parts = [
        np.linspace(0, 0.6, many),
        np.linspace(0.5, 1.5, many),
        np.linspace(0, 25, many),
        10 ** rng.uniform(-320, 308, many // 2),
        2 ** rng.uniform(-60, 6, many),
        np.abs(rng.standard_normal(many)),
        # k changes at 3/8 ln 2, 7/8 ln 2 and so on; r vanishes at multiples of ln(2) / 2
        *(around(j * math.log(2) / 8, 3) for j in range(1, scaled(160, 16))),
        *(around(c, 40) for c in (0.26, 0.75, math.log(2), 1.0, 19.0615, 19.5, 20.0, 20.5, 40.0)),
        [1e-300, 1e-308, 2.2250738585072014e-308, 2.2e-308, 1e-315, 1e-323, SMALLEST],
        [1e-160, 1.5e-162, 2e-162, 1e-154, 1e16, 2.0**53, 1e100, 1e300, 8e307],
    ]
    found = np.unique(np.concatenate(parts))
    signs = np.where(np.arange(len(found)) % 3 == 0, -1.0, 1.0)
    return found * signs


@functools.cache
def references():
    """The points, and exact values of both functions there."""
    where = points()
    return where, [naive.tanh_exact(x) for x in where], [naive.log_cosh_exact(x) for x in where]


def each(function, values):
    """A function of all values, which are filled up with zeros."""
    y = np.zeros(-(-len(values) // WIDE) * WIDE)
    y[: len(values)] = values
    out = np.full(len(y), np.nan)
    function(y, out)
    return out[: len(values)]


def tanh(values):
    return each(tanh_into, values)


def log_cosh(values):
    return each(log_cosh_into, values)


def worst(got, exact, where):
    errors = [naive.ulps(g, e) for g, e in zip(got, exact, strict=True)]
    assert len(errors) == len(where)
    at = int(np.argmax(errors))
    return errors[at], where[at]


class TestAccuracy:
    def test_tanh(self):
        where, exact, _ = references()
        error, at = worst(tanh(where), exact, where)
        assert error <= TANH_ULPS, f"{error} ulp at {at!r}"

    def test_log_cosh(self):
        where, _, exact = references()
        error, at = worst(log_cosh(where), exact, where)
        assert error <= LOG_COSH_ULPS, f"{error} ulp at {at!r}"

    def test_the_measure_sees_an_ulp(self):
        x = 0.3
        exact = naive.tanh_exact(x)
        nearest = float(exact)
        assert naive.ulps(nearest, exact) <= 0.5
        assert naive.ulps(nearest + 3 * math.ulp(nearest), exact) > TANH_ULPS

    @pytest.mark.parametrize(
        ("n", "rows"),
        [(2, (0, 1)), (1024, (517, 1023)), (1031, (1024, 1030))],
        ids=["two rows", "vector loop", "partly filled tile"],
    )
    @pytest.mark.parametrize("curvature", [False, True], ids=["pass", "with curvature"])
    def test_in_the_pass(self, n, rows, curvature):
        """Rows that are all 1, two of them counted: T0 and LC are the functions at u themselves."""
        where, tanhs, log_coshes = references()
        some = slice(None, None, scaled(1 if n > 2 and not curvature else 7, 200 if n > 2 else 10))
        where, tanhs, log_coshes = where[some], tanhs[some], log_coshes[some]
        weights = np.zeros(n)
        weights[list(rows)] = 1.0
        sample = ArraySample(np.ones((n, 1)), None if n == 2 else weights)
        want = layout.LOG_COSH | (layout.CURVATURE if curvature else 0)
        out = sample.sums(where[:, None].copy(), np.zeros(len(where)), want)
        t0, t1, cosh = out[:, 0], out[:, 1], out[:, 2]
        np.testing.assert_array_equal(t0, t1)
        error, at = worst(t0, tanhs, where)
        assert error <= TANH_ULPS, f"tanh: {error} ulp at {at!r}"
        error, at = worst(cosh, log_coshes, where)
        assert error <= LOG_COSH_ULPS, f"log cosh: {error} ulp at {at!r}"


class TestLossOfManyRows:
    """log cosh by one logarithm for all rows, near 0, far from it and between."""

    @pytest.mark.parametrize("count", [WIDE, 8 * LANES, 64 * LANES])
    def test_sum(self, count):
        """Relative to the sum itself, also where |y| is tiny and its own size would hide an error."""
        rng = np.random.default_rng(count)
        for size in np.geomspace(1e-9, 300, scaled(60, 8)):
            values = size * rng.standard_normal(count)
            exact = naive.mp.fsum(naive.log_cosh_exact(x) for x in values)
            got = loss(values)
            # Each of count / LANES roundings of a product or a sum errs by at most one EPS of it;
            # between near and far, |y| is up to 14 times log cosh y.
            assert abs(got - exact) <= 16 * (4 + count / LANES) * naive.EPS * exact, size

    @pytest.mark.parametrize("size", [0.3, 0.7, 0.74, 1.0, 5.0, 19.5, 700.0])
    def test_one_row_among_zeros(self, size):
        values = np.zeros(64 * LANES)
        values[77] = -size
        exact = naive.log_cosh_exact(size)
        got = loss(values)
        assert naive.ulps(got, exact) <= 3 * LOG_COSH_ULPS

    def test_special_values(self):
        none = np.zeros(WIDE)
        assert loss(none) == 0.0
        for special in (np.inf, -np.inf):
            assert loss(np.append(special, none[1:])) == np.inf
        assert np.isnan(loss(np.append(none[1:], np.nan)))
        assert loss(np.full(64 * LANES, 1e300)) == pytest.approx(64 * LANES * 1e300)
        assert loss(np.full(64 * LANES, SMALLEST)) == 0.0


class TestSpecialValues:
    def test_zeros_keep_their_sign(self):
        found = tanh([0.0, -0.0])
        assert found.tolist() == [0.0, 0.0]
        assert np.signbit(found).tolist() == [False, True]
        assert log_cosh([0.0, -0.0]).tolist() == [0.0, 0.0]

    def test_infinities(self):
        assert tanh([np.inf, -np.inf]).tolist() == [1.0, -1.0]
        assert log_cosh([np.inf, -np.inf]).tolist() == [np.inf, np.inf]

    def test_nan(self):
        nans = np.array([np.nan, -np.nan])
        assert np.isnan(tanh(nans)).all()
        assert np.isnan(log_cosh(nans)).all()

    def test_the_largest_numbers(self):
        assert tanh([HUGE, -HUGE]).tolist() == [1.0, -1.0]
        assert log_cosh([HUGE, -HUGE]).tolist() == [HUGE, HUGE]

    def test_tiny_numbers_are_their_own_tanh(self):
        tiny = np.array([SMALLEST, -SMALLEST, 1e-310, -1e-300, 1e-20])
        np.testing.assert_array_equal(tanh(tiny), tiny)

    def test_never_above_one(self):
        saturating = np.linspace(15, 25, scaled(20001, 401))
        assert (np.abs(tanh(saturating)) <= 1).all()
        assert (tanh(saturating[saturating > 19.1]) == 1).all()

    def test_one_special_value_does_not_touch_its_neighbours(self):
        """In a vector loop all numbers of a register go through the same instructions."""
        ordinary = np.linspace(-3, 3, 67)
        for special in (np.nan, np.inf, -np.inf, 0.0, HUGE, SMALLEST):
            mixed = ordinary.copy()
            mixed[5::9] = special
            for function in (tanh, log_cosh):
                expected = function(ordinary)
                expected[5::9] = function([special])[0]
                np.testing.assert_array_equal(function(mixed), expected)


class TestSymmetry:
    def test_tanh_is_odd_and_log_cosh_even(self):
        x = points()
        np.testing.assert_array_equal(tanh(-x), -tanh(x))
        np.testing.assert_array_equal(log_cosh(-x), log_cosh(x))


@needs_jit
def test_elementwise_code_may_not_reassociate():
    """Reassociation would fold the rounding by a large constant away without a word."""
    for kind in ("elementwise", "exact", "parallel"):
        flags = _jit.KINDS[kind]["fastmath"]
        assert flags is False or flags == {"contract"}, kind
