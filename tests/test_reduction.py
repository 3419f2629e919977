"""The one pass: against naive sums, to the last bit where it must be, and vectorised."""

import os
import platform
import re
import sys
import threading

import hypothesis.strategies as st
import llvmlite.binding as llvm
import naive
import numba
import numpy as np
import pytest
from conftest import JIT, needs_jit, python, scaled
from hypothesis import given
from numba.core.runtime import _nrt_python, rtsys

from elubench.kernels import (
    _jit,
    condensing,
    layout,
    packing,
    pairs,
    processor,
    reduction,
    sums,
    tiles,
)
from elubench.kernels._jit import ready
from elubench.kernels.fetching import AHEAD
from elubench.kernels.lanes import LANES, LINE
from elubench.kernels.processor import NEAR
from elubench.samples import ArraySample

ALL = layout.LOG_COSH | layout.CURVATURE
DIMENSIONS = [1, 2, 3, 4, 5, 8, 17, 64]


@numba.njit
def buffer_for(d):
    return reduction.buffer(d)


def packed(X, weights=None):
    """Tiles of any number of rows, one included."""
    n, d = X.shape
    made = tiles.empty_tiles(n, d, weights is not None)
    partial = np.empty((made.blocks, 1, layout.moments_width(d)))
    flat = np.array(X, dtype=float).reshape(-1)
    arguments = (d, 1, 0, made.blocks, made.data, np.empty((0, 0)), n, partial)
    ready(packing.pack)(flat, *arguments, packing.room_to_pack(d))
    if weights is not None:
        made.weights.reshape(-1)[:n] = weights
    return made


@pytest.fixture
def one_pass(monkeypatch):
    """The pass through the kernel that is named, whatever the size; it must be the one in use."""

    def run(kernel, made, total, u, b, want=ALL):
        used = []
        with monkeypatch.context() as patch:
            patch.setattr(reduction, "worth_threads", lambda tiles, k: kernel.endswith("parallel"))
            patch.setattr(reduction, "ready", lambda found: used.append(found) or ready(found))
            out = reduction.reduce_tiles(made, total, u, b, want)
        assert used == [getattr(reduction, kernel)]
        return out

    return run


def problem(n, d, weighted, k=1, seed=0):
    """Rows with a location, directions of every size and offsets that are not zero."""
    rng = np.random.default_rng([n, d, weighted, k, seed])
    X = rng.standard_normal((n, d)) * rng.uniform(0.2, 2, d) + rng.uniform(-1, 1, d)
    u = rng.standard_normal((k, d)) * np.resize([1.0, 0.05, 5.0], (k, 1)) / np.sqrt(d)
    weights = rng.exponential(size=n) * (rng.random(n) > 0.2) if weighted else None
    if weighted:
        weights[[0, -1]] = 1.5, 2.5
    return X, weights, u, rng.uniform(-1, 1, k)


def assert_close(got, reference, name):
    expected, allowed = getattr(reference, name), getattr(reference, f"{name}_error")
    excess = np.max(np.abs(got - expected) - allowed)
    assert excess <= 0, f"{name} is off by {excess} more than rounding explains"


def sizes(d):
    """Around the borders of lanes, tiles, stretches and blocks."""
    rows, block = tiles.ROWS, tiles.BLOCK_ROWS
    stretch = tiles.STRETCH * rows
    around_lanes = [2, LANES - 1, LANES, LANES + 1]
    around_tiles = [rows - 1, rows, rows + 1, 2 * rows + 3, stretch - 1, stretch, stretch + 1]
    around_blocks = [block - 1, block, block + 1, 3 * block + rows + 5]
    return around_lanes + scaled(around_tiles + around_blocks, around_tiles if d < 4 else [])


class TestAgainstNaiveSums:
    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_tanh_moments(self, d, weighted):
        for n in sizes(d):
            X, weights, u, b = problem(n, d, weighted)
            reference = naive.Pass(X, u[0], b[0], weights)
            got = ArraySample(X, weights).tanh_moments(u[0], b[0], log_cosh=True)
            assert_close(got.t0, reference, "t0")
            assert_close(got.t1, reference, "t1")
            assert_close(got.log_cosh, reference, "log_cosh")

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_curvature_moments(self, d, weighted):
        for n in (2, 37, scaled(tiles.ROWS + 1, 40), scaled(4100 if d < 17 else 600, 50)):
            X, weights, u, b = problem(n, d, weighted)
            reference = naive.Pass(X, u[0], b[0], weights, second=True)
            got = ArraySample(X, weights).curvature_moments(u[0], b[0])
            for name in ("t0", "t1", "log_cosh", "c0", "c1", "c2"):
                assert_close(getattr(got, name), reference, name)
            np.testing.assert_array_equal(got.c2, got.c2.T)

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_moments(self, d, weighted):
        for n in sizes(d):
            X, weights, *_ = problem(n, d, weighted)
            expected, allowed = naive.moments(X, weights)
            for got, value, error in zip(
                ArraySample(X, weights).moments(), expected, allowed, strict=True
            ):
                assert (np.abs(got - value) <= error).all()

    @pytest.mark.parametrize("d", [1, 4, 5])
    def test_one_row(self, one_pass, d):
        X, _, u, b = problem(1, d, weighted=False)
        got = one_pass("pass_serial", packed(X), 1.0, u, b)[0]
        reference = naive.Pass(X, u[0], b[0])
        assert_close(got[0], reference, "t0")
        assert_close(got[1 : 1 + d], reference, "t1")
        assert_close(got[1 + d], reference, "log_cosh")

    @pytest.mark.parametrize("d", [1, 3, 4, 17])
    def test_several_directions(self, d):
        X, weights, u, b = problem(scaled(5000, 100), d, weighted=True, k=7)
        got = ArraySample(X, weights).tanh_moments(u, b, log_cosh=True)
        assert (got.t0.shape, got.t1.shape, got.log_cosh.shape) == ((7,), (7, d), (7,))
        for i in range(7):
            reference = naive.Pass(X, u[i], b[i], weights)
            for name in ("t0", "t1", "log_cosh"):
                assert_close(getattr(got, name)[i], reference, name)

    def test_the_bound_would_show_a_lost_row(self):
        X, _, u, b = problem(4000, 3, weighted=False)
        whole, short = naive.Pass(X, u[0], b[0]), naive.Pass(X[:-1], u[0], b[0])
        assert (np.abs(whole.t1 - short.t1) > 100 * whole.t1_error).any()
        assert abs(whole.log_cosh - short.log_cosh) > 100 * whole.log_cosh_error

    def test_numbers_near_both_ends_of_the_range(self):
        X = np.array([[1e149], [-1e149], [1e-160], [2.0]])
        sample = ArraySample(X)
        for u in (1e-149, 1e-200, 1.0):
            reference = naive.Pass(X, [u])
            got = sample.tanh_moments([u], log_cosh=True)
            assert_close(got.t1, reference, "t1")
            assert_close(got.log_cosh, reference, "log_cosh")


class TestArguments:
    sample = None

    @pytest.fixture(autouse=True)
    def make_sample(self):
        self.sample = ArraySample([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]])

    def test_shapes_of_one_direction(self):
        got = self.sample.tanh_moments([0.1, 0.2])
        assert isinstance(got.t0, float)
        assert got.t1.shape == (2,)
        assert got.log_cosh is None
        assert isinstance(self.sample.tanh_moments([0.1, 0.2], log_cosh=True).log_cosh, float)

    def test_one_offset_for_all_directions(self):
        u = [[0.1, 0.2], [0.3, -0.4]]
        one = self.sample.tanh_moments(u, 0.5)
        two = self.sample.tanh_moments(u, [0.5, 0.5])
        np.testing.assert_array_equal(one.t1, two.t1)

    @pytest.mark.parametrize("u", [0.1, [0.1], [0.1, 0.2, 0.3], [[[0.1, 0.2]]], [[0.1], [0.2]], []])
    def test_wrong_directions(self, u):
        with pytest.raises(ValueError, match=r"^u must have shape \(2,\) or \(k, 2\), got \("):
            self.sample.tanh_moments(u)

    @pytest.mark.parametrize("b", [[0.1], [0.1, 0.2, 0.3], [[0.1, 0.2]]])
    def test_wrong_offsets(self, b):
        with pytest.raises(ValueError, match=r"^b must be a number or have shape \(2,\), got \("):
            self.sample.tanh_moments([[0.1, 0.2], [0.3, 0.4]], b)

    def test_curvature_takes_one_direction(self):
        with pytest.raises(ValueError, match=r"^u must have shape \(2,\)"):
            self.sample.curvature_moments([[0.1, 0.2]])

    def test_arguments_are_left_alone(self):
        u, b = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([0.5, -0.5])
        u.flags.writeable = b.flags.writeable = False
        self.sample.tanh_moments(u, b, log_cosh=True)
        self.sample.curvature_moments(u[0], 0.5)

    def test_results_are_the_callers_own(self):
        first = self.sample.tanh_moments([0.1, 0.2])
        kept = first.t1.copy()
        self.sample.tanh_moments([0.9, -0.2])
        np.testing.assert_array_equal(first.t1, kept)

    def test_directions_of_any_layout(self):
        u = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])
        expected = self.sample.tanh_moments(u).t1
        for same in (np.asfortranarray(u), np.repeat(u, 2, axis=0)[::2], u.tolist()):
            np.testing.assert_array_equal(self.sample.tanh_moments(same).t1, expected)

    def test_nan_comes_out(self):
        for u, b in ([np.nan, 1.0], 0.0), ([1.0, 1.0], np.nan):
            got = self.sample.tanh_moments(u, b, log_cosh=True)
            assert np.isnan([got.t0, *got.t1, got.log_cosh]).all()

    def test_infinite_directions_saturate(self):
        """Rows that pad a tile are 0, and 0 times infinity must not reach the sums."""
        sample = ArraySample([[1.0], [2.0], [4.0]], [1.0, 1.0, 2.0])
        with np.errstate(invalid="ignore"):  # which plain Python reports
            got = sample.tanh_moments([np.inf], log_cosh=True)
        assert got.t0 == 1.0
        assert got.t1[0] == 11.0 / 4
        assert got.log_cosh == np.inf


class TestBits:
    """A result is a function of the data: not of threads, kernels or company."""

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("want", [0, layout.LOG_COSH, ALL])
    @pytest.mark.parametrize("d", DIMENSIONS)
    def test_parallel_and_serial_kernel(self, one_pass, d, want, weighted):
        n = scaled(5 * tiles.BLOCK_ROWS + 77, 64)
        X, weights, u, b = problem(n, d, weighted, k=3)
        made = packed(X, weights)
        serial = one_pass("pass_serial", made, 7.0, u, b, want)
        parallel = one_pass("pass_parallel", made, 7.0, u, b, want)
        assert serial.tobytes() == parallel.tobytes()

    @pytest.mark.parametrize("n", [60, 300])
    def test_tiles_without_rows(self, n):
        """Samples of several sizes share tiles: those behind the last row must not be touched."""
        X, _, u, b = problem(n, 2, weighted=False)
        made, roomy = packed(X), tiles.empty_tiles(5000, 2, weighted=False)._replace(rows=n)
        roomy.data[: len(made.data)] = made.data
        roomy.data[len(made.data) :] = np.nan
        own = buffer_for(2).size
        guarded = np.full(own + 64, 7.0)
        out = np.empty((1, layout.width(2, ALL)))
        partial = np.empty((roomy.blocks, *out.shape))
        ready(reduction.pass_serial)(
            roomy.data, roomy.weights, n, 1.0, u, b, ALL, guarded[32 : 32 + own], partial, out
        )
        beside = np.concatenate([guarded[:32], guarded[32 + own :]])
        assert np.all(beside == 7.0), "memory beside the scratch"
        assert out.tobytes() == reduction.reduce_tiles(made, 1.0, u, b, ALL).tobytes()

    @pytest.mark.parametrize("want", [0, layout.LOG_COSH, ALL])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("d", [1, 4, 5, 17])
    def test_directions_together_and_alone(self, d, weighted, want):
        X, weights, u, b = problem(scaled(20_003, 531), d, weighted, k=5)
        sample = ArraySample(X, weights)
        together = sample.sums(u, b, want)
        given = slice(None) if want else slice(0, 1 + d)
        for i in range(5):
            alone = sample.sums(u[i : i + 1].copy(), b[i : i + 1].copy(), want)
            assert together[i, given].tobytes() == alone[0, given].tobytes()

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 17])
    def test_what_else_is_asked_for(self, d, weighted):
        """Without weights and curvature, sums are taken while tanh is computed: the same bits."""
        X, weights, u, b = problem(scaled(9003, 531), d, weighted)
        sample = ArraySample(X, weights)
        full = sample.sums(u, b, ALL)
        assert sample.sums(u, b, 0)[0, : 1 + d].tobytes() == full[0, : 1 + d].tobytes()
        cosh = sample.sums(u, b, layout.LOG_COSH)
        assert cosh[0, : 2 + d].tobytes() == full[0, : 2 + d].tobytes()

    @needs_jit
    def test_numbers_of_threads(self):
        """1, 2 and 4 threads; the fourth result is that of this process."""
        code = DIGEST + (
            "import json\n"
            "found = []\n"
            "for threads in (1, 2, 4):\n"
            "    numba.set_num_threads(threads)\n"
            "    found.append(digest())\n"
            "print(json.dumps(found))\n"
        )
        found = python(code, NUMBA_NUM_THREADS="4")
        space = {}
        exec(DIGEST, space)
        assert set(found) == {space["digest"]()}

    @needs_jit
    @pytest.mark.parametrize("without", ["avx512", "avx"])
    def test_widths_of_registers(self, without):
        """Code for processors whose registers are narrower than here, if there are such."""
        features = llvm.get_host_cpu_features()
        narrow = {name: has and not name.startswith(without) for name, has in features.items()}
        chosen = ",".join("-+"[has] + name for name, has in narrow.items())
        host = {"NUMBA_CPU_NAME": llvm.get_host_cpu_name(), "NUMBA_CPU_FEATURES": chosen}
        found = python(WIDTHS + "print(json.dumps(digests()))", **host)
        space = {}
        exec(WIDTHS, space)
        assert found == space["digests"]()

    @needs_jit
    def test_whatever_is_fetched(self, tmp_path):
        """Code with the hints for the other kind of processor: the same bits.

        Numba's key cannot tell the two apart here, so it has a cache of its own.
        """
        other = (
            "from elubench.kernels import processor\n"
            "processor.NEAR = not processor.NEAR\n"
            "from elubench.kernels.fetching import AHEAD\n"
        )
        print_all = "print(json.dumps([AHEAD, digests()]))"
        ahead, found = python(other + WIDTHS + print_all, ELUBENCH_CACHE_DIR=str(tmp_path))
        space = {}
        exec(WIDTHS, space)
        assert ahead != AHEAD
        assert found == space["digests"]()

    @pytest.mark.parametrize("want", [0, ALL])
    @pytest.mark.parametrize("d", [1, 3, 4, 6])
    def test_weights_of_one_are_no_weights(self, d, want):
        X, _, u, b = problem(scaled(9003, 531), d, weighted=False)
        plain = ArraySample(X).sums(u, b, want)
        weighted = ArraySample(X, np.ones(len(X))).sums(u, b, want)
        # one logarithm for many rows cannot have the bits of one for each
        loss = layout.log_cosh_at(d)
        assert np.delete(plain, loss, 1).tobytes() == np.delete(weighted, loss, 1).tobytes()
        if want:
            reference = naive.Pass(X, u[0], b[0])
            assert_close(plain[0, loss], reference, "log_cosh")
            assert_close(weighted[0, loss], reference, "log_cosh")


@pytest.mark.parametrize("d", [1, 4, 64])
def test_memory_begins_with_a_line_of_the_cache(d):
    """Vectors across two lines cost up to a third of the speed, and nothing else shows it."""
    made = tiles.empty_tiles(1000, d, weighted=True)
    kept = [buffer_for(d) for _ in range(8)]  # memory that is free again is no test
    for memory in (made.data, made.weights, *kept):
        assert memory.ctypes.data % (8 * LINE) == 0


def test_tiles_begin_with_a_page():
    """The processor's own fetching ends at pages: reading is a tenth slower across them."""
    kept = [tiles.empty_tiles(1000 + k, 16, weighted=False) for k in range(8)]
    assert all(made.data.ctypes.data % 4096 == 0 for made in kept)


@needs_jit
@pytest.mark.parametrize("name", ["pass_serial", "pass_parallel"])
def test_nothing_is_lost_or_freed_twice(one_pass, name):
    """Kernels leave reference counts out; what they were given must be as it was."""
    X, _, u, b = problem(3 * tiles.BLOCK_ROWS + 7, 3, weighted=False, k=2)
    made = packed(X)
    for want in (0, ALL):
        one_pass(name, made, 1.0, u, b, want)

    def counts():
        made_and_freed = rtsys.get_allocation_stats()
        references = [sys.getrefcount(array) for array in (made.data, made.weights, u, b)]
        return made_and_freed.alloc - made_and_freed.free, references

    _nrt_python.memsys_enable_stats()
    try:
        before = counts()
        for want in (0, ALL):
            for _ in range(10):
                one_pass(name, made, 1.0, u, b, want)
        assert counts() == before
    finally:
        _nrt_python.memsys_disable_stats()


DIGEST = """
import hashlib
import numba
import numpy as np
from elubench.samples import ArraySample, gaussian

def digest():
    state = hashlib.sha256()
    for n, d in ((300_000, 1), (70_001, 4), (20_000, 17)):
        X = gaussian(n, d, seed=5, location=0.1)
        for weights in (None, np.abs(X[:, 0])):
            sample = ArraySample(X, weights)
            moments = sample.moments()
            u = np.linspace(-1, 1, 3 * d).reshape(3, d)
            state.update(np.concatenate([[moments.weight], moments.m1, moments.m2]).tobytes())
            for want in (1, 3):
                state.update(sample.sums(u, np.array([0.0, 0.3, -2.0]), want).tobytes())
    return state.hexdigest()
"""

WIDTHS = """
import hashlib, json
import numpy as np
from elubench.samples import ArraySample

def digests():
    found, rng = {}, np.random.default_rng(8)
    for d in (1, 2, 3, 4, 5, 8, 19, 40):
        X, weights = rng.standard_normal((700, d)), rng.random(700)
        u, b = rng.standard_normal((1, d)), rng.standard_normal(1)
        for name, sample in (("", ArraySample(X)), (", weights", ArraySample(X, weights))):
            for want in (0, 3):
                sums = sample.sums(u, b, want).tobytes()
                found[f"d={d}, want={want}{name}"] = hashlib.sha256(sums).hexdigest()
    return found
"""

TWO_THREADS = """
import json, threading
import numba, numpy as np
from elubench.samples import ArraySample, gaussian

samples = [ArraySample(gaussian(n, d, seed=1)) for n, d in ((120_000, 1), (60_000, 4))]
directions = [np.full((2, s.d), 0.3) for s in samples]
expected = [s.sums(u, np.zeros(2), 1).tobytes() for s, u in zip(samples, directions)]
wrong, barrier = [], threading.Barrier(2)

def work(which):
    numba.get_num_threads()
    barrier.wait()
    for turn in range(TURNS):
        i = (which + turn) % 2
        if samples[i].sums(directions[i], np.zeros(2), 1).tobytes() != expected[i]:
            wrong.append(turn)
        if turn % 50 == 0:
            ArraySample(gaussian(70_000, 1, seed=turn))

threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([len(wrong), numba.threading_layer()]))
"""


class TestThreads:
    @needs_jit
    @pytest.mark.parametrize("layer", ["workqueue", "default"])
    def test_two_python_threads_at_once(self, layer):
        """The workqueue layer aborts the process when two threads enter a parallel region."""
        code = TWO_THREADS.replace("TURNS", "300")
        wrong, used = python(code, NUMBA_THREADING_LAYER=layer, NUMBA_NUM_THREADS="2")
        assert wrong == 0
        assert layer in ("default", used)

    def test_many_python_threads_in_this_process(self):
        X, weights, u, b = problem(scaled(60_000, 60), 2, weighted=True)
        sample = ArraySample(X, weights)
        expected = sample.sums(u, b, ALL).tobytes()
        found = []

        def work():
            for _ in range(scaled(20, 2)):
                found.append(sample.sums(u, b, ALL).tobytes())

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6 * scaled(20, 2)
        assert set(found) == {expected}

    def test_the_door_is_open_again_after_a_failure(self, monkeypatch):
        def fail(dispatcher):
            raise RuntimeError("no compiler")

        X, _, u, b = problem(scaled(60_000, 60), 2, weighted=False)
        made = packed(X)
        monkeypatch.setattr(reduction, "worth_threads", lambda tiles, k: True)
        monkeypatch.setattr(reduction, "ready", fail)
        with pytest.raises(RuntimeError, match="no compiler"):
            reduction.reduce_tiles(made, 1.0, u, b, 0)
        assert not reduction.parallel_region.locked()

    def test_who_finds_the_door_shut_computes_alone(self, monkeypatch):
        used = []
        X, _, u, b = problem(scaled(60_000, 60), 2, weighted=False)
        made = packed(X)
        monkeypatch.setattr(reduction, "worth_threads", lambda tiles, k: True)
        monkeypatch.setattr(reduction, "ready", lambda kernel: used.append(kernel) or ready(kernel))
        through = reduction.reduce_tiles(made, 1.0, u, b, 0)
        with reduction.parallel_region.entered():
            alone = reduction.reduce_tiles(made, 1.0, u, b, 0)
        assert used == [reduction.pass_parallel, reduction.pass_serial]
        assert through.tobytes() == alone.tobytes()

    def test_small_samples_stay_in_their_thread(self):
        small, large = packed(np.ones((50, 1))), tiles.empty_tiles(1_000_000, 1, weighted=False)
        assert not reduction.worth_threads(small)
        assert reduction.worth_threads(large) == (numba.get_num_threads() > 1)

    def test_directions_are_work(self):
        made = tiles.empty_tiles(20_000, 1, weighted=False)
        assert not reduction.worth_threads(made)
        assert reduction.worth_threads(made, 10) == (numba.get_num_threads() > 1)


def up_to(size):
    """Numbers in [-size, size] whose products are not subnormal, since these are rounded again."""
    return st.floats(-size, size).map(lambda x: x if abs(x) > 1e-60 else 0.0 * x)


@st.composite
def samples(draw, max_rows=40):
    """X, weights or None, u and b; zeros of both signs and repeated numbers among them."""
    n, d = draw(st.integers(2, max_rows)), draw(st.integers(1, 6))
    number = st.one_of(up_to(100), st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-9]))
    X = np.array(draw(st.lists(number, min_size=n * d, max_size=n * d))).reshape(n, d)
    u = np.array(draw(st.lists(up_to(3), min_size=d, max_size=d)))
    b = draw(up_to(3))
    weights = None
    if draw(st.booleans()):
        weights = np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=float)
        weights[:2] += 1
    return X, weights, u, b


def everything(X, weights, u, b):
    return ArraySample(X, weights).curvature_moments(u, b)


class TestProperties:
    @given(samples())
    def test_naive_sums(self, given_sample):
        X, weights, u, b = given_sample
        got, reference = everything(*given_sample), naive.Pass(X, u, b, weights, second=True)
        for name in got._fields:
            assert_close(getattr(got, name), reference, name)

    @given(samples())
    def test_sign_flips_are_exact(self, given_sample):
        X, weights, u, b = given_sample
        here = everything(X, weights, u, b)
        turned = everything(X, weights, -u, -b)
        for name, sign in (
            ("t0", -1),
            ("t1", -1),
            ("log_cosh", 1),
            ("c0", 1),
            ("c1", 1),
            ("c2", 1),
        ):
            np.testing.assert_array_equal(getattr(turned, name), sign * getattr(here, name))
        mirrored = everything(-X, weights, u, -b)
        for name, sign in (
            ("t0", -1),
            ("t1", 1),
            ("log_cosh", 1),
            ("c0", 1),
            ("c1", -1),
            ("c2", 1),
        ):
            np.testing.assert_array_equal(getattr(mirrored, name), sign * getattr(here, name))

    @given(samples(), st.integers(-60, 60))
    def test_powers_of_two_are_exact(self, given_sample, power):
        X, weights, u, b = given_sample
        here = everything(X, weights, u, b)
        there = everything(np.ldexp(X, power), weights, np.ldexp(u, -power), b)
        for name, order in (("t0", 0), ("t1", 1), ("log_cosh", 0), ("c0", 0), ("c1", 1), ("c2", 2)):
            expected = np.ldexp(getattr(here, name), order * power)
            np.testing.assert_array_equal(getattr(there, name), expected)

    @given(samples(), st.integers(-30, 30))
    def test_only_ratios_of_weights_matter(self, given_sample, power):
        X, weights, u, b = given_sample
        weights = np.ones(len(X)) if weights is None else weights
        here, there = everything(X, weights, u, b), everything(X, np.ldexp(weights, power), u, b)
        for name in here._fields:
            np.testing.assert_array_equal(getattr(there, name), getattr(here, name))

    @given(samples(), st.randoms(use_true_random=False))
    def test_order_of_rows(self, given_sample, random):
        X, weights, u, b = given_sample
        order = list(range(len(X)))
        random.shuffle(order)
        reference = naive.Pass(X, u, b, weights, second=True)
        got = everything(X[order], None if weights is None else weights[order], u, b)
        for name in got._fields:
            assert_close(getattr(got, name), reference, name)

    @given(samples(max_rows=15), st.data())
    def test_weights_are_repeats(self, given_sample, data):
        X, _, u, b = given_sample
        counts = data.draw(st.lists(st.integers(0, 4), min_size=len(X), max_size=len(X)))
        counts = np.array(counts) + np.eye(len(X), dtype=int)[:2].sum(axis=0)
        repeated = np.repeat(X, counts, axis=0)
        reference = naive.Pass(repeated, u, b, second=True)
        got = everything(X, counts, u, b)
        for name in got._fields:
            assert_close(getattr(got, name), reference, name)
        moments = ArraySample(X, counts).moments()
        for value, expected, error in zip(moments, *naive.moments(repeated), strict=True):
            assert (np.abs(value - expected) <= error).all()

    @given(samples(), st.data())
    def test_rows_of_weight_zero_are_not_there(self, given_sample, data):
        X, _, u, b = given_sample
        kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
        kept[:2] = True
        got, reference = everything(X, kept, u, b), naive.Pass(X[kept], u, b, second=True)
        for name in got._fields:
            # a row of weight 0 adds an exact 0; the bound for fewer rows is the sharper one
            assert_close(getattr(got, name), reference, name)

    @given(samples())
    def test_sizes(self, given_sample):
        got = everything(*given_sample)
        slack = 1 + 100 * naive.EPS
        assert abs(got.t0) <= slack
        assert got.log_cosh >= 0
        assert 0 <= got.c0 <= slack
        assert got.t0**2 + got.c0 <= slack  # Jensen: mean of t^2 is 1 - C0
        assert (np.linalg.eigvalsh(got.c2) >= -1e3 * naive.EPS * max(1, np.abs(got.c2).max())).all()


def assembly(dispatcher, signature):
    """The machine code of a kernel compiled here and now: code from the cache cannot be shown."""
    own = ("fastmath", "forceinline", "_nrt")
    options = {**_jit.COMMON, **{name: dispatcher.targetoptions[name] for name in own}}
    fresh = numba.njit(**options)(dispatcher.py_func)
    fresh.compile(signature)
    (text,) = fresh.inspect_asm().values()
    return text


def packed_instructions(text, pattern):
    """Instructions on whole ymm or zmm registers of doubles."""
    return len(re.findall(rf"^\s+{pattern}\b[^\n]*%[yz]mm", text, flags=re.MULTILINE))


def wide_vectors():
    """Whether the compiler may use fused operations on 256 bits here."""
    if not JIT or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    if {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX"} & set(os.environ):
        return False
    return {"avx2", "fma"} <= processor.features()


@pytest.mark.skipif(not wide_vectors(), reason="needs compiled code on x86-64 with AVX2 and FMA")
class TestVectorCode:
    """A call, a check or a branch left in a loop costs a factor of five, and nothing else shows it.

    2^k is put together by shifting 52 bits to the left. Nothing else in the pass does so: the shift
    on whole registers stands for a vectorised exponential.
    """

    EXPONENT = r"vpsllq\s+\$52"
    BUFFER = numba.types.float64[::1]
    TILES, ROWS = numba.types.float64[:, :, ::1], numba.types.float64[:, ::1]
    SINGLE = r"^\s+v?(divsd|mulsd|fn?madd\w+sd)\b"

    def test_the_pass(self):
        text = assembly(reduction.pass_serial, reduction.pass_serial.elubench_signature)
        assert not re.search(r"\b(tanh|expm1|exp|cosh)\b", text), "a call of the maths library"

    @pytest.mark.parametrize("name", ["add_plain", "add_with_loss"])
    def test_tiles(self, name):
        """All of tanh and its sums are on whole registers, and spilled ones in whole lines."""
        vector, whole = self.BUFFER, numba.types.int64
        signature = (
            self.TILES,
            self.ROWS,
            whole,
            whole,
            whole,
            vector,
            numba.types.float64,
            vector,
        )
        signature += (vector,) if name == "add_plain" else (vector, whole, vector)
        text = assembly(getattr(sums, name), signature)
        assert packed_instructions(text, self.EXPONENT) >= 1
        assert packed_instructions(text, r"vdivpd") >= 1
        assert packed_instructions(text, r"vfn?m(add|sub)\w+pd") >= 20
        assert f"prefetcht{0 if NEAR else 1}" in text
        assert "vgather" not in text
        assert re.search(r"andq\s+\$-64, %rsp", text)
        after_the_loop = 8 if name == "add_with_loss" else 0
        assert len(re.findall(self.SINGLE, text, flags=re.MULTILINE)) <= after_the_loop

    def test_curvature(self):
        """Nothing is gathered number by number."""
        whole = numba.types.int64
        signature = (self.BUFFER, self.TILES, whole, whole, whole, self.BUFFER)
        text = assembly(pairs.add_curvature, signature)
        assert packed_instructions(text, r"vfmadd\w+pd") >= 10
        assert "vgather" not in text

    def test_bins(self):
        place, whole = numba.types.UniTuple(numba.types.float64, 4), numba.types.int64
        signature = (self.BUFFER, whole, whole, place, self.BUFFER, numba.types.int64[::1])
        text = assembly(condensing._locate, signature)
        assert packed_instructions(text, r"vmulpd") >= 1  # eight rows; some compilers repeat it
        assert "vgather" not in text
        signature = (self.BUFFER, numba.types.int64[::1], self.BUFFER, whole, whole, self.BUFFER)
        text = assembly(condensing._add_strip, signature)
        assert packed_instructions(text, r"vfmadd\w+pd") >= 2
        assert packed_instructions(text, r"vaddpd") >= 2
