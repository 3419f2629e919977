"""tanh and log cosh against 40 digits, on their own and in the pass that ships."""

import functools
import math

import naive
import numba
import numpy as np
import pytest
from conftest import needs_jit, scaled

from elubench.kernels import _jit, elementwise, layout
from elubench.kernels.lanes import LANES
from elubench.samples import ArraySample

TANH_ULPS, LOG_COSH_ULPS = 2.0, 4.0
SMALLEST, HUGE = 5e-324, 1.7976931348623157e308


compiled = numba.njit(**_jit.COMMON)


@compiled
def expm1_into(y, e, power, m, data, at):
    elementwise.expm1_into(y, e, power, m, data, at)


@compiled
def tanh_in_place(y, e, m, data, at):
    elementwise.tanh_in_place(y, e, m, data, at)


@compiled
def tanh_with_loss(y, e, m, data, at):
    return elementwise.tanh_with_loss(y, e, m, data, at)


@compiled
def log_cosh_into(y, e, out, m):
    elementwise.log_cosh_into(y, e, out, m)


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
        # k changes at odd multiples of ln(2) / 4, r vanishes at the even ones
        *(around(j * math.log(2) / 4, 3) for j in range(1, scaled(80, 8))),
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


def exponentials(values):
    """The values, filled up to whole lanes, and their exponentials."""
    y = np.zeros(-(-len(values) // LANES) * LANES)
    y[: len(values)] = values
    e = np.full(len(y), np.nan)
    expm1_into(y, e, np.full(len(y), np.nan), len(y), y, 0)
    return y, e


def tanh(values):
    y, e = exponentials(values)
    tanh_in_place(y, e, len(y), y, 0)
    return y[: len(values)]


def log_cosh(values):
    y, e = exponentials(values)
    out = np.full(len(y), np.nan)
    log_cosh_into(y, e, out, len(y))
    return out[: len(values)]


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

    @staticmethod
    def summed(values):
        y, e = exponentials(values)
        return tanh_with_loss(y, e, len(y), y, 0), y, e

    @pytest.mark.parametrize("count", [LANES, 8 * LANES, 64 * LANES])
    def test_sum(self, count):
        """Relative to the sum itself, also where |y| is tiny and its own size would hide an error."""
        rng = np.random.default_rng(count)
        for size in np.geomspace(1e-9, 300, scaled(60, 8)):
            values = size * rng.standard_normal(count)
            exact = naive.mp.fsum(naive.log_cosh_exact(x) for x in values)
            got, _, _ = self.summed(values)
            # Each of count / LANES roundings of a product or a sum errs by at most one EPS of it;
            # between near and far, |y| is up to 14 times log cosh y.
            assert abs(got - exact) <= 16 * (4 + count / LANES) * naive.EPS * exact, size

    @pytest.mark.parametrize("size", [0.3, 0.7, 0.74, 1.0, 5.0, 19.5, 700.0])
    def test_one_row_among_zeros(self, size):
        values = np.zeros(64 * LANES)
        values[77] = -size
        exact = naive.log_cosh_exact(size)
        got, _, _ = self.summed(values)
        assert naive.ulps(got, exact) <= 3 * LOG_COSH_ULPS

    def test_what_else_it_writes(self):
        values = np.linspace(-25, 25, 8 * LANES)
        _, t, c = self.summed(values)
        assert t.tobytes() == tanh(values).tobytes()
        np.testing.assert_allclose(c, 1 / np.cosh(values) ** 2, rtol=0, atol=4 * naive.EPS)

    def test_special_values(self):
        zeros = np.zeros(LANES)
        assert self.summed(zeros)[0] == 0.0
        for special in (np.inf, -np.inf):
            assert self.summed(np.append(special, zeros[1:]))[0] == np.inf
        assert np.isnan(self.summed(np.append(zeros[1:], np.nan))[0])
        assert self.summed(np.full(64 * LANES, 1e300))[0] == pytest.approx(64 * LANES * 1e300)
        assert self.summed(np.full(64 * LANES, SMALLEST))[0] == 0.0


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


class TestBuffers:
    @pytest.mark.parametrize("m", [0, 16, 32, 48, 96])
    def test_only_the_first_m_numbers_are_touched(self, m):
        y = np.linspace(-2, 2, 112)
        changed, (e, power, out) = y.copy(), np.full((3, 112), 7.0)
        expm1_into(changed, e, power, m, y, 0)
        np.testing.assert_array_equal(changed, y)
        log_cosh_into(changed, e, out, m)
        np.testing.assert_array_equal(changed, y)
        tanh_in_place(changed, e, m, y, 0)
        np.testing.assert_array_equal(changed[m:], y[m:])
        for buffer in (e, power, out):
            np.testing.assert_array_equal(buffer[m:], 7.0)
        # NumPy's functions and the naive log cosh are themselves a few roundings away
        np.testing.assert_allclose(e[:m], np.expm1(2 * np.abs(y[:m])), rtol=8 * naive.EPS)
        np.testing.assert_allclose(changed[:m], np.tanh(y[:m]), rtol=8 * naive.EPS)
        np.testing.assert_allclose(out[:m], naive.log_cosh(y[:m]), rtol=0, atol=24 * naive.EPS)


@needs_jit
def test_elementwise_code_may_not_reassociate():
    """Reassociation would fold the rounding by a large constant away without a word."""
    for kind in ("elementwise", "exact", "parallel"):
        flags = _jit.KINDS[kind]["fastmath"]
        assert flags is False or flags == {"contract"}, kind
