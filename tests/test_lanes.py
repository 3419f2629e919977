"""Lanes: each operation against NumPy's on the same numbers, bit for bit."""

import numba
import numpy as np
import pytest

from elubench.kernels import lanes
from elubench.kernels._jit import COMMON
from elubench.kernels.binning import add_powers, floor, reaches, store_bins
from elubench.kernels.lanes import (
    LANES,
    WIDE,
    absolute,
    added,
    at_most,
    either,
    fetch,
    leading,
    load,
    load_wide,
    lowest,
    multiplied,
    part,
    power_of_two,
    rounded,
    signed,
    store,
    where_below,
    zeros,
    zeros_wide,
)
from elubench.kernels.processor import REGISTER
from elubench.kernels.registers import add_four, in_step, load_register, zeros_register
from elubench.kernels.transposing import gather, move_eight, move_four

ROUNDER = 6755399441055744.0
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, np.inf, -np.inf, np.nan])


def rows(numbers, seed):
    """Rows of lanes with every special number, in the order that is given, and two of ordinary ones."""
    count = -(-len(numbers) // LANES) * LANES
    ordinary = np.random.default_rng(seed).standard_normal((2, LANES))
    return np.concatenate([np.resize(numbers, count).reshape(-1, LANES), ordinary])


# each special number beside each
ONE, OTHER = rows(np.repeat(SPECIAL, len(SPECIAL)), 0), rows(np.tile(SPECIAL, len(SPECIAL)), 1)

compiled = numba.njit(**COMMON)


@compiled
def unary(which, x, out):
    if which == 0:
        store(out, 0, absolute(load(x, 0)))
    elif which == 1:
        store(out, 0, at_most(load(x, 0), 0.5))
    elif which == 2:
        store(out, 0, zeros())
    elif which == 3:
        store(out, 0, 2.0 * load(x, 0))
    elif which == 4:
        store(out, 0, load(x, 0) - 2.0)
    elif which == 5:
        store(out, 0, floor(load(x, 0)))
    else:
        store(out, 0, 1.0 / load(x, 0))


@compiled
def binary(which, x, y, out):
    one, other = load(x, 0), load(y, 0)
    if which == 0:
        store(out, 0, one + other)
    elif which == 1:
        store(out, 0, one - other)
    elif which == 2:
        store(out, 0, one * other)
    elif which == 3:
        store(out, 0, one / other)
    elif which == 4:
        store(out, 0, signed(absolute(one), other))
    elif which == 5:
        store(out, 0, rounded(one, other))
    else:
        store(out, 0, where_below(one, 1.0, one, other))


@compiled
def copy(x, begin, out, to):
    store(out, to, load(x, begin))


@compiled
def sum_of(x):
    return added(load(x, 0))


@compiled
def folded(x, out):
    value = load(x, 0)
    out[0], out[1], out[2] = multiplied(value), either(value), lowest(value)


@compiled
def sum_of_rounded(x, y, z, out):
    store(out, 0, load(z, 0) + rounded(load(x, 0), load(y, 0)))


@compiled
def powers(x, out):
    store(out, 0, power_of_two(load(x, 0) + ROUNDER))


@compiled
def into_bins(x, last, out):
    return reaches(store_bins(out, 0, load(x, 0), last, zeros()), last)


@compiled
def row(x, begin, out):
    store(out, 0, load(x, begin))


@compiled
def look(data, at):
    fetch(data, at)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
class TestAgainstNumPy:
    @pytest.mark.parametrize(
        ("which", "expected"),
        list(
            enumerate(
                [
                    np.abs,
                    lambda x: np.where(x > 0.5, 0.5, x),
                    np.zeros_like,
                    lambda x: 2.0 * x,
                    lambda x: x - 2.0,
                    np.floor,
                    lambda x: 1.0 / x,
                ]
            )
        ),
    )
    def test_of_one(self, which, expected):
        for x in ONE:
            out = np.empty(LANES)
            unary(which, x, out)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(out, expected(x))
                np.testing.assert_array_equal(np.signbit(out), np.signbit(expected(x)))

    @pytest.mark.parametrize(
        ("which", "expected"),
        list(
            enumerate(
                [
                    np.add,
                    np.subtract,
                    np.multiply,
                    np.divide,
                    np.copysign,
                    np.multiply,
                    lambda x, y: np.where(x < 1.0, x, y),
                ]
            )
        ),
    )
    def test_of_two(self, which, expected):
        for x, y in zip(ONE, OTHER, strict=True):
            out = np.empty(LANES)
            binary(which, x, y, out)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(out, expected(x, y))


def test_load_and_store_where_they_are_told():
    x, out = np.arange(3.0 * LANES), np.full(3 * LANES, -1.0)
    copy(x, 7, out, LANES + 1)
    np.testing.assert_array_equal(out[LANES + 1 : 2 * LANES + 1], x[7 : 7 + LANES])
    assert np.all(np.delete(out, np.s_[LANES + 1 : 2 * LANES + 1]) == -1.0)


def test_rows_of_a_matrix_lie_behind_each_other():
    x, out = np.arange(6.0 * LANES).reshape(3, -1), np.empty(LANES)
    row(x, 2 * x.shape[1] + LANES, out)
    np.testing.assert_array_equal(out, x[2, LANES:])


def test_the_order_of_a_sum():
    """The upper half is added to the lower, and so on: from left to right, the ones would be lost."""
    x = np.ones(LANES)
    x[[0, -1]] = 1e16, -1e16
    halves = x
    while len(halves) > 1:
        halves = halves[: len(halves) // 2] + halves[len(halves) // 2 :]
    assert sum_of(x) == halves[0] != sum(x.tolist())


def test_what_all_lanes_make():
    x, out = np.random.default_rng(2).uniform(0.1, 0.9, LANES), np.empty(3)
    folded(x, out)
    np.testing.assert_allclose(out, [np.prod(x), 1 - np.prod(1 - x), x.min()], rtol=1e-15)
    folded(1e-20 * x, out)  # no cancellation
    np.testing.assert_allclose(out[1], 1e-20 * x.sum(), rtol=1e-15)
    for place in range(LANES):
        folded(np.where(np.arange(LANES) == place, -1.0, x), out)
        assert out[2] == -1.0


def test_a_rounded_product_does_not_fuse_with_a_sum():
    """(1 + 2^-30)^2 has 61 bits: fused, the last of them would be left over."""
    x, out = np.full(LANES, 1 + 2.0**-30), np.empty(LANES)
    sum_of_rounded(x, x, -(x * x), out)
    np.testing.assert_array_equal(out, 0.0)


def test_powers_of_two():
    k, out = np.resize([0.0, 1.0, 2.0, 3.0, 10.0, 29.0, 57.0, 58.0], LANES), np.empty(LANES)
    powers(k, out)
    np.testing.assert_array_equal(out, 2.0**k)


@compiled
def all_powers(sums, at, t, weight):
    add_powers(sums, at, t, weight)


def test_powers_are_added_where_they_are_told():
    before = np.random.default_rng(3).random(40)
    for t, weight in ((0.4, 1.0), (-0.3, 2.5), (0.0, 1.0), (-0.5, 0.0)):
        sums = before.copy()
        all_powers(sums, 5, t, weight)
        np.testing.assert_allclose(
            sums[5:21], before[5:21] + weight * t ** np.arange(16.0), rtol=1e-15
        )
        assert (np.delete(sums, np.s_[5:21]) == np.delete(before, np.s_[5:21])).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
class TestBins:
    INSIDE = np.array([0.0, -0.0, 1.0, 7.0, 40.0, 99.0, 63.0, 2.0])

    def test_numbers_below_the_last_stay(self):
        out = np.empty(8, dtype=np.int64)
        assert not into_bins(self.INSIDE, 100, out)
        np.testing.assert_array_equal(out, self.INSIDE)

    @pytest.mark.parametrize("place", range(8))
    @pytest.mark.parametrize(
        "number",
        [100.0, 101.0, -1.0, -(2.0**51), 2.0**52, -1e17, 1e300, -1e300, np.inf, -np.inf, np.nan],
    )
    def test_others_become_the_last_and_are_told(self, number, place):
        out, x = np.empty(8, dtype=np.int64), self.INSIDE.copy()
        x[place] = number
        assert into_bins(x, 100, out)
        x[place] = 100
        np.testing.assert_array_equal(out, x)


@compiled
def in_parts(x, out):
    value = load_wide(x, 0)
    store(out, 0, part(value, 3))
    store(out, LANES, part(value, 2))
    store(out, 2 * LANES, part(value, 1))
    store(out, 3 * LANES, part(value, 0))


@compiled
def all_of(x, y, limit, out):
    """All that is done with WIDE numbers at a time; out has a row for each."""
    one, other = load_wide(x, 0), load_wide(y, 0)
    store(out, 0, one + other)
    store(out, WIDE, one - 2.0)
    store(out, 2 * WIDE, 2.0 * one)
    store(out, 3 * WIDE, one / other)
    store(out, 4 * WIDE, absolute(one))
    store(out, 5 * WIDE, signed(absolute(one), other))
    store(out, 6 * WIDE, at_most(one, limit))
    store(out, 7 * WIDE, where_below(one, limit, one, other))
    store(out, 8 * WIDE, rounded(one, other))
    store(out, 9 * WIDE, zeros_wide())


@compiled
def first_of(x, count, out):
    store(out, 0, leading(load_wide(x, 0), count))


def test_parts_of_many_numbers():
    x, out = np.arange(float(WIDE)), np.empty(WIDE)
    in_parts(x, out)
    np.testing.assert_array_equal(out, x.reshape(4, LANES)[::-1].reshape(-1))


def test_many_numbers_are_like_eight():
    rng = np.random.default_rng(4)
    x, y = (np.resize(np.append(SPECIAL, rng.standard_normal(90)), (5, WIDE)) for _ in range(2))
    y = np.roll(y, 7).reshape(5, WIDE)
    for one, other in zip(x, y, strict=True):
        out = np.full((10, WIDE), 7.0)
        with np.errstate(all="ignore"):
            all_of(one, other, 0.5, out)
            expected = [
                one + other, one - 2.0, 2.0 * one, one / other, np.abs(one),
                np.copysign(one, other), np.where(one > 0.5, 0.5, one),
                np.where(one < 0.5, one, other), one * other, np.zeros(WIDE),
            ]  # fmt: skip
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("count", [-3, 0, 1, 7, 8, 31, 32, 40])
def test_leading_numbers(count):
    """What only pads becomes 0, also where it is not a number."""
    x, out = np.arange(1.0, WIDE + 1), np.empty(WIDE)
    x[max(count, 0) :] = np.nan
    first_of(x, count, out)
    np.testing.assert_array_equal(out, np.where(np.arange(WIDE) < count, x, 0.0))


@compiled
def together(x, out):
    store(out, 0, in_step(load_wide(x, 0)))


def test_numbers_in_step_are_the_same_numbers():
    x, out = np.resize(SPECIAL, WIDE), np.empty(WIDE)
    together(x, out)
    np.testing.assert_array_equal(out.view(np.int64), x.view(np.int64))


@compiled
def products_in_registers(x, y, out):
    s, lower = zeros_register(), zeros_register()
    for at in range(0, x.size, REGISTER):
        s = s + 2.0 * load_register(x, at) * load_register(y, at)
        lower = lower - load_register(y, at)
    store(out, 0, s)
    out[REGISTER] = added(lower)


def test_registers():
    x, y = np.random.default_rng(6).standard_normal((2, 3, REGISTER))
    out = np.empty(REGISTER + 1)
    products_in_registers(x.ravel(), y.ravel(), out)
    np.testing.assert_allclose(out[:-1], (2.0 * x * y).sum(axis=0), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(out[-1], -y.sum(), rtol=1e-14, atol=1e-14)


@compiled
def four_at_once(x, out, at):
    add_four(
        out,
        at,
        load_register(x, 0),
        load_register(x, REGISTER),
        load_register(x, 2 * REGISTER),
        load_register(x, 3 * REGISTER),
    )


@compiled
def one_by_one(x, out, at):
    for k in range(4):
        out[at + k] += added(load_register(x, k * REGISTER))


def test_four_sums_at_once_are_those_of_each():
    rng = np.random.default_rng(7)
    for _ in range(20):
        x = rng.standard_normal(4 * REGISTER) * 10.0 ** rng.integers(-9, 9, 4 * REGISTER)
        before = rng.standard_normal(9)
        out, expected = before.copy(), before.copy()
        four_at_once(x, out, 3)
        one_by_one(x, expected, 3)
        np.testing.assert_array_equal(out, expected)
        assert (np.delete(out, np.s_[3:7]) == np.delete(before, np.s_[3:7])).all()


@compiled
def moved(columns, source, at, by_row, target, to, by_column):
    if columns == LANES:
        move_eight(source, at, by_row, target, to, by_column)
    else:
        move_four(source, at, by_row, target, to, by_column)


@compiled
def gathered(x, at, by, out):
    store(out, 0, gather(x, at, by))


@pytest.mark.parametrize("columns", [4, 8])
def test_rows_become_columns(columns):
    source, target = np.arange(300.0), np.full(400, -1.0)
    for by_row in (columns, 11, 29):
        target[:] = -1.0
        moved(columns, source, 3, by_row, target, 5, 32)
        expected = np.full(400, -1.0)
        for j in range(columns):
            expected[5 + 32 * j : 13 + 32 * j] = source[3 + j : 3 + j + 8 * by_row : by_row][:LANES]
        np.testing.assert_array_equal(target, expected)


def test_gathering():
    x, out = np.arange(100.0), np.empty(LANES)
    gathered(x, 3, 11, out)
    np.testing.assert_array_equal(out, x[3::11][:LANES])


def test_fetch_changes_nothing_and_may_point_beyond_the_end():
    x = np.arange(float(LANES))
    for at in (0, LANES, 10**6, -(10**6)):
        look(x, at)
    np.testing.assert_array_equal(x, np.arange(float(LANES)))


def test_lanes_are_a_line():
    """A power of two for sums by halves, and what a loop fetches for each of its lanes is a line."""
    assert LANES & (LANES - 1) == 0
    assert LANES == lanes.LINE
