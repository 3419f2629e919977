"""What samples accept, refuse and cost; reproducible draws; splits."""

import tracemalloc

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import naive
import numba
import numpy as np
import pandas as pd
import pytest
from conftest import needs_jit, python, scaled
from hypothesis import given

import elubench as eb
from elubench.algorithms import EM, NewtonAnderson
from elubench.kernels import reduction, tiles
from elubench.kernels.region import parallel_region
from elubench.plot import fit as fit_figure
from elubench.samples import ArraySample, LatticeSample, array, draws, gaussian
from elubench.samples.base import PackedSample
from elubench.testing import Elsewhere

N = scaled(3000, 60)


@pytest.fixture
def X():
    return np.random.default_rng(1).standard_normal((N, 3)) * 4


def fingerprint(sample):
    """Everything a sample can be asked, as bytes."""
    u = np.linspace(-1, 1, 2 * sample.d).reshape(2, sample.d)
    moments = sample.moments()
    return b"".join(
        [
            np.concatenate([[moments.weight], moments.m1, moments.m2]).tobytes(),
            sample.sums(u, np.array([0.1, -0.7]), 3).tobytes(),
        ]
    )


def memmapped(X, folder):
    path = folder / "rows.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def unaligned(X):
    """A view of doubles that start at an odd address."""
    buffer = bytearray(X.nbytes + 1)
    view = np.frombuffer(buffer, dtype=X.dtype, offset=1).reshape(X.shape)
    view[:] = X
    assert not view.flags.aligned
    return view


def read_only(X):
    kept = X.copy()
    kept.flags.writeable = False
    return kept


def strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


LAYOUTS = {
    "list": lambda X, folder: X.tolist(),
    "tuple of arrays": lambda X, folder: tuple(X),
    "Fortran": lambda X, folder: np.asfortranarray(X),
    "strided": lambda X, folder: strided(X),
    "reversed": lambda X, folder: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda X, folder: read_only(X),
    "memory-mapped": memmapped,
    "memory-mapped Fortran": lambda X, folder: memmapped(np.asfortranarray(X), folder),
    "unaligned": lambda X, folder: unaligned(X),
    "big-endian": lambda X, folder: X.astype(">f8"),
    "longdouble": lambda X, folder: X.astype(np.longdouble),
    "frame": lambda X, folder: pd.DataFrame(X, columns=list("abc")),
    "frame with another index": lambda X, folder: pd.DataFrame(X, index=np.arange(len(X))[::-1]),
    "frame of nullable floats": lambda X, folder: pd.DataFrame(X).astype("Float64"),
    "frame by columns": lambda X, folder: pd.DataFrame({k: c.copy() for k, c in enumerate(X.T)}),
}


class TestAccepts:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_layouts(self, layout, X, tmp_path):
        given_rows = LAYOUTS[layout](X, tmp_path)
        sample = ArraySample(given_rows)
        assert (sample.n, sample.d) == X.shape
        assert fingerprint(sample) == fingerprint(ArraySample(X))
        np.testing.assert_array_equal(sample.rows(), X)

    @pytest.mark.parametrize(
        "dtype",
        ["float16", "float32", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool"],
    )
    def test_dtypes(self, dtype, X):
        given_rows = np.abs(X).astype(dtype)
        sample = ArraySample(given_rows)
        assert fingerprint(sample) == fingerprint(ArraySample(given_rows.astype(np.float64)))

    def test_float32_columns_out_of_order(self, X):
        given_rows = np.asfortranarray(X.astype(np.float32))[::-2]
        expected = np.ascontiguousarray(given_rows, dtype=np.float64)
        assert fingerprint(ArraySample(given_rows)) == fingerprint(ArraySample(expected))

    def test_frame_of_mixed_dtypes(self, X):
        frame = pd.DataFrame({"f": X[:, 0], "i": np.arange(N), "s": X[:, 1].astype("f4")})
        frame["b"] = X[:, 2] > 0
        frame["n"] = pd.array(np.arange(N), dtype="Int64")
        expected = np.column_stack([frame[c].to_numpy(dtype=float) for c in frame])
        assert fingerprint(ArraySample(frame)) == fingerprint(ArraySample(expected))

    @pytest.mark.parametrize("layout", [k for k in LAYOUTS if "memory" not in k])
    def test_the_callers_data_are_never_changed(self, layout, X, tmp_path):
        given_rows = LAYOUTS[layout](X.copy(), tmp_path)
        weights = np.ones(N)
        sample = ArraySample(given_rows, weights)
        sample.tanh_moments([0.1, 0.2, 0.3])
        np.testing.assert_array_equal(np.asarray(given_rows, dtype=float), X)
        np.testing.assert_array_equal(weights, 1.0)

    def test_the_sample_does_not_follow_the_callers_data(self, X):
        weights = np.ones(N)
        sample = ArraySample(X, weights)
        before = fingerprint(sample)
        X[:] = 0
        weights[:] = 0
        assert fingerprint(sample) == before

    def test_smallest(self):
        sample = ArraySample([[1], [3]])
        assert (sample.n, sample.d) == (2, 1)
        assert sample.moments().m1.tolist() == [2.0]
        assert sample.moments().m2.tolist() == [5.0]

    def test_wide(self):
        """More coordinates than numbers that fit a tile of the usual length."""
        X = np.random.default_rng(0).standard_normal((130, scaled(1500, 40)))
        np.testing.assert_array_equal(ArraySample(X).rows(), X)

    @pytest.mark.parametrize("size", [1e-300, 1e-160, 1e100, 1e150])
    def test_magnitudes(self, size):
        X = np.array([[size], [-size], [size]])
        np.testing.assert_array_equal(ArraySample(X).rows(), X)
        assert np.isfinite(ArraySample(X).moments().m2).all()

    @pytest.mark.parametrize(
        "weights",
        [[1, 2, 0, 3], (1.0, 2.0, 0.0, 3.0), np.array([1, 2, 0, 3], "f4"), pd.Series([1, 2, 0, 3])],
        ids=["list", "tuple", "float32", "series"],
    )
    def test_weights(self, weights):
        X = np.arange(8.0).reshape(4, 2)
        expected = ArraySample(X, np.array([1.0, 2.0, 0.0, 3.0]))
        sample = ArraySample(X, weights)
        assert fingerprint(sample) == fingerprint(expected)
        assert sample.row_weights().tolist() == [1, 2, 0, 3]
        assert sample.moments().weight == 6.0

    def test_strided_and_read_only_weights(self, X):
        weights = np.random.default_rng(0).random(2 * N)
        expected = fingerprint(ArraySample(X, weights[::2].copy()))
        assert fingerprint(ArraySample(X, weights[::2])) == expected
        assert fingerprint(ArraySample(X, read_only(weights[::2]))) == expected

    @pytest.mark.parametrize("mask", [np.ma.nomask, False])
    def test_nothing_is_masked(self, X, mask):
        sample = ArraySample(np.ma.array(X, mask=mask), np.ma.array(np.ones(N), mask=mask))
        assert fingerprint(sample) == fingerprint(ArraySample(X, np.ones(N)))
        assert type(sample.row_weights()) is np.ndarray

    def test_without_weights(self, X):
        assert ArraySample(X).row_weights() is None


def table_with(value):
    X = np.ones((5, 2))
    X[3, 1] = value
    return X


def masked(values, *places):
    """A masked array with these places masked."""
    mask = np.zeros(np.shape(values), dtype=bool)
    for place in places:
        mask[place] = True
    return np.ma.array(values, mask=mask)


NUMERIC = "X must be an array of numbers, got dtype"
COMPLEX = "must be real, got complex numbers. Complex data not supported"
REFUSED = {
    "NaN": (table_with(np.nan), "X must be finite, got NaN"),
    "NaN in float32": (table_with(np.nan).astype("f4"), "X must be finite, got NaN"),
    "missing in a frame of nullable floats": (
        pd.DataFrame(table_with(np.nan)).astype("Float64"),
        "X must be finite, got NaN",
    ),
    "NaN in a frame": (pd.DataFrame(table_with(np.nan)), "X must be finite, got NaN"),
    "NA in a frame": (
        pd.DataFrame({"a": pd.array([1, None], "Int64")}),
        "X must be finite, got NaN",
    ),
    "infinity": (
        table_with(np.inf),
        "X must be finite, got infinity or a value too large for float64",
    ),
    "minus infinity": (table_with(-np.inf), "X must be finite, got infinity or a value too large"),
    "float16 infinity": (table_with(np.inf).astype("f2"), "X must be finite, got infinity"),
    "square overflows": (table_with(2e154), "X must be at most .*, got a value too large"),
    "minus square overflows": (table_with(-1e200), "X must be at most .*, got a value too large"),
    "largest float": (table_with(1.7e308), "X must be at most .*, got a value too large"),
    "complex": (np.ones((3, 2), dtype=complex), f"X {COMPLEX}"),
    "list of complex": ([[1j], [2]], f"X {COMPLEX}"),
    "frame of complex": (pd.DataFrame({"a": [1j, 2]}), f"X {COMPLEX}"),
    "object": (np.array([[1.0], [None]], dtype=object), NUMERIC),
    "object of numbers": (np.array([[1], [2]], dtype=object), NUMERIC),
    "strings": ([["a"], ["b"]], NUMERIC),
    "strings of digits": ([["1"], ["2"]], NUMERIC),
    "bytes": (np.array([[b"1"], [b"2"]]), NUMERIC),
    "dates": (np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[D]"), NUMERIC),
    "frame of strings": (pd.DataFrame({"a": ["x", "y"]}), NUMERIC),
    "frame of dates": (pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}), NUMERIC),
    "frame of categories": (pd.DataFrame({"a": pd.Categorical([1, 2])}), NUMERIC),
    "record": (np.ones(3, dtype=[("a", float)]), NUMERIC),
    "None": (None, NUMERIC),
    "text": ("rows.csv", NUMERIC),
    "ragged": ([[1.0, 2.0], [3.0]], "X must be a regular array"),
    "no rows": (np.empty((0, 3)), r"X must have rows, got 0 sample\(s\) \(shape=\(0, 3\)\)"),
    "one row": ([[1.0, 2.0]], r"X must have rows, got 1 sample\(s\).* a minimum of 2 is required"),
    "no columns": (np.empty((5, 0)), r"X must have columns, got 0 feature\(s\) \(shape=\(5, 0\)\)"),
    "scalar": (3.0, "X must be a 2D array, got a 0D array"),
    "one axis": ([1.0, 2.0], r"X must be a 2D array, got a 1D array.*array.reshape\(-1, 1\)"),
    "series": (pd.Series([1.0, 2.0]), "X must be a 2D array, got a 1D array"),
    "three axes": (np.ones((2, 2, 2)), "X must be a 2D array, got a 3D array"),
    "empty list": ([], "X must be a 2D array, got a 1D array"),
    "masked": (
        masked(np.arange(10.0).reshape(5, 2), (1, 0), (3, 1)),
        "X must not be masked, got 2 masked entries; leave these rows out",
    ),
    "masked rows": (
        [masked([1.0, 2.0], 1), [3.0, 4.0]],
        "X must not be masked, got 1 masked entry",
    ),
}
REFUSED_WEIGHTS = {
    "NaN": ([1, np.nan, 1], "weights must be finite, got NaN"),
    "infinity": ([1, np.inf, 1], "weights must be finite, got infinity"),
    "negative": ([1, -1e-300, 1], "weights must be >= 0, got -1e-300"),
    "all zero": ([0, 0, 0], "weights must leave at least 2 rows, got 0"),
    "one row left": ([0, 2, 0], "weights must leave at least 2 rows, got 1"),
    "overflowing sum": ([1e308, 1e308, 1], "weights must have a finite sum"),
    "too few": ([1, 1], r"weights must have shape \(3,\), got \(2,\)"),
    "too many": ([1, 1, 1, 1], r"weights must have shape \(3,\), got \(4,\)"),
    "a column": ([[1], [1], [1]], r"weights must have shape \(3,\), got \(3, 1\)"),
    "a number": (2.0, r"weights must have shape \(3,\), got \(\)"),
    "complex": ([1j, 1, 1], f"weights {COMPLEX}"),
    "complex array": (np.ones(3, dtype=complex), f"weights {COMPLEX}"),
    "strings": (["1", "1", "1"], "weights must be an array of numbers"),
    "objects": ([None, 1, 1], "weights must be an array of numbers"),
    "ragged": ([[1], [1, 2], 3], "weights must be a regular array"),
    "masked": (masked([1.0, 2.0, 3.0], 2), "weights must not be masked, got 1 masked entry"),
}


class TestRefuses:
    @pytest.mark.parametrize("case", REFUSED)
    def test_rows(self, case):
        X, message = REFUSED[case]
        with pytest.raises(ValueError, match=message):
            ArraySample(X)

    @pytest.mark.parametrize("case", REFUSED_WEIGHTS)
    def test_weights(self, case):
        weights, message = REFUSED_WEIGHTS[case]
        with pytest.raises(ValueError, match=message):
            ArraySample([[1.0], [2.0], [3.0]], weights)

    def test_place_of_a_bad_number(self):
        X = np.zeros((20_000, 2))
        X[15_000, 1] = np.inf
        for table, shown in ((X, "2"), (pd.DataFrame(X, columns=["a", "b"]), "'b'")):
            with pytest.raises(ValueError, match=f"in row 15,001, column {shown}$"):
                ArraySample(table)
        with pytest.raises(ValueError, match=r"in row 15,001, column 1$"):
            eb.CondensedSample(X[:, 1:])

    def test_longdouble_beyond_float64(self):
        X = np.array([["1e400"], ["1"]]).astype(np.longdouble)
        with pytest.raises(ValueError, match="X must be finite, got infinity or a value too large"):
            ArraySample(X)

    def test_masked_nodes(self):
        with pytest.raises(ValueError, match="nodes must not be masked"):
            LatticeSample(masked([[1.0], [2.0], [3.0]], (0, 0)), [1, 1, 1])
        with pytest.raises(ValueError, match="counts must not be masked"):
            LatticeSample([[1.0], [2.0], [3.0]], masked([1, 1, 1], 0))

    def test_sparse(self):
        sparse = pytest.importorskip("scipy.sparse")
        with pytest.raises(TypeError, match=r"^X must be dense, got sparse data"):
            ArraySample(sparse.csr_matrix(np.eye(3)))

    @pytest.mark.parametrize("row", [0, 1, N // 2, N - 2, N - 1])
    @pytest.mark.parametrize("chunk", [1 << 21, 50])
    def test_wherever_it_is(self, X, row, chunk, monkeypatch):
        """In any row, tile and chunk; infinity elsewhere does not hide a NaN."""
        monkeypatch.setattr(array, "_CHUNK_NUMBERS", chunk)
        X[row, 2] = 1e200
        with pytest.raises(ValueError, match="value too large to square"):
            ArraySample(X)
        X[row, 0] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            ArraySample(X)
        X[row, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            ArraySample(X)


@needs_jit
class TestThreads:
    """Rows enough for threads to pack them."""

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("d", [1, 3])
    def test_change_no_bit(self, d, order, monkeypatch):
        n = 100_001
        assert reduction.worth_threads(tiles.empty_tiles(n, d, False))
        X = np.array(gaussian(n, d, seed=4), order=order)
        for weights in (None, np.arange(n) % 4.0):
            many = fingerprint(ArraySample(X, weights))
            with monkeypatch.context() as alone:
                alone.setattr(parallel_region, "usable", False)
                assert fingerprint(ArraySample(X, weights)) == many

    @pytest.mark.parametrize("row", [0, 50_000, -1])
    def test_see_every_number(self, row):
        X = np.zeros((100_001, 3))
        X[row, 1] = 1e200
        with pytest.raises(ValueError, match="value too large to square"):
            ArraySample(X)
        X[1234, 2] = np.nan
        with pytest.raises(ValueError, match="NaN in row 1,235, column 3"):
            ArraySample(X)


class TestChunks:
    @pytest.mark.parametrize("numbers", [1, 3, 100, 3 * 1024, 3 * 1024 + 1])
    def test_chunks_do_not_matter(self, X, numbers, monkeypatch):
        X = X[: scaled(2100, 40)]
        expected = fingerprint(ArraySample(X))
        monkeypatch.setattr(array, "_CHUNK_NUMBERS", numbers)
        assert fingerprint(ArraySample(X)) == expected
        assert fingerprint(ArraySample(np.asfortranarray(X, dtype=np.float64))) == expected

    @pytest.mark.parametrize(
        "layout", ["float64", "float32", "Fortran", "read-only", "frame", "int64"]
    )
    def test_memory_is_one_copy(self, layout, monkeypatch):
        """Beyond what the caller has: the packed copy, and a chunk on its way."""
        n, d = scaled(1_000_000, 20_000), 4
        if n < 1_000_000:
            monkeypatch.setattr(array, "_CHUNK_NUMBERS", n * d // 8)
        X = np.random.default_rng(0).random((n, d), dtype=np.float32)
        if layout in ("float64", "Fortran", "read-only", "frame"):
            X = X.astype(np.float64, order="F" if layout == "Fortran" else "C")
        elif layout == "int64":
            X = (1000 * X).astype(np.int64)
        X.flags.writeable = layout != "read-only"
        if layout == "frame":
            X = pd.DataFrame(X, copy=False)
        ArraySample(np.ones((scaled(40_000, 10), d)))  # compiles what is needed
        tracemalloc.start()
        sample = ArraySample(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert sample.tiles.data.nbytes <= peak < 1.3 * n * d * 8


class TestRows:
    @pytest.mark.parametrize(
        ("start", "stop"),
        [(0, None), (0, 5), (3, 20), (1020, 1030), (1024, 2048), (N - 1, N), (N - 3, None), (5, 5)],
    )
    def test_round_trip(self, X, start, stop):
        np.testing.assert_array_equal(ArraySample(X).rows(start, stop), X[start:stop])

    def test_rows_are_a_copy(self, X):
        sample = ArraySample(X)
        rows = sample.rows()
        assert rows.flags.c_contiguous
        rows[:] = 0
        np.testing.assert_array_equal(sample.rows(), X)

    @given(
        hnp.arrays(
            np.float64,
            st.tuples(st.integers(2, 60), st.integers(1, 40)),
            elements=st.floats(-1e150, 1e150),
        )
    )
    def test_any_table(self, X):
        sample = ArraySample(X)
        assert sample.rows().tobytes() == X.tobytes()


class TestUnitOfWeights:
    """Weights times a constant change the total weight, and nothing else."""

    FACTORS = (2.0**-1000, 1e-300, 1e-30, 1e-5, 3.0, 1e30, 2.0**900)

    @pytest.mark.parametrize("power", [-1000, -30, 40, 1000])
    def test_powers_of_two_change_no_bit(self, X, power):
        weights = np.random.default_rng(3).random(N)
        sample, other = ArraySample(X, weights), ArraySample(X, np.ldexp(weights, power))
        u, b = np.linspace(-1, 1, 6).reshape(2, 3), np.array([0.1, -0.7])
        assert sample.sums(u, b, 3).tobytes() == other.sums(u, b, 3).tobytes()
        for one, two in zip(sample.moments()[1:], other.moments()[1:], strict=True):
            assert one.tobytes() == two.tobytes()
        assert other.moments().weight == np.ldexp(sample.moments().weight, power)
        assert other.row_weights().tobytes() == np.ldexp(weights, power).tobytes()

    def test_subnormal(self, X):
        """Whole multiples of the smallest number there is count as their multiples."""
        counts = np.random.default_rng(3).integers(0, 4, N)
        sample, expected = ArraySample(X, counts * 5e-324), ArraySample(X, counts)
        assert sample.moments().weight == counts.sum() * 5e-324
        np.testing.assert_array_equal(sample.row_weights(), counts * 5e-324)
        u = [0.1, 0.2, -0.3]
        assert sample.tanh_moments(u).t1.tobytes() == expected.tanh_moments(u).t1.tobytes()
        assert sample.n_weighted == np.count_nonzero(counts)

    def test_large_weights_of_large_numbers(self):
        sample = ArraySample([[1e100], [2.0]], [1e150, 1.0])
        np.testing.assert_allclose(sample.moments().m2, 1e200)

    @needs_jit
    @pytest.mark.parametrize("factor", [*FACTORS, 5e-324])
    @pytest.mark.parametrize(
        ("model", "algorithm"),
        [("general", "auto"), ("isotropic", "em"), ("diagonal", "newton"), ("isotropic", "lbfgs")],
    )
    def test_fits(self, model, algorithm, factor):
        rng = np.random.default_rng(5)
        X = rng.standard_normal((2100, 2)) + 1.2 * rng.choice([-1.0, 1.0], (2100, 1))
        weights = rng.integers(0, 4, 2100).astype(float)
        one = eb.fit(X, model, algorithm, weights=weights)
        other = eb.fit(X, model, algorithm, weights=factor * weights)
        assert (other.status, other.run.n_iter) == (one.status, one.run.n_iter)
        assert one.run.n_iter > 0
        np.testing.assert_allclose(other.location, one.location, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.scale, one.scale, rtol=1e-9)
        rounding = 1e-9 if factor * weights.sum() > 1e-300 else 0.01  # of the total weight itself
        assert other.log_likelihood == pytest.approx(
            factor * one.log_likelihood, rel=rounding, abs=0
        )

    @pytest.mark.parametrize("algorithm", [NewtonAnderson(), EM()])
    def test_runs_elsewhere(self, X, algorithm):
        """The drivers agree on what the weights mean."""
        sample = ArraySample(X, np.random.default_rng(0).integers(0, 3, N) * 1e-40)
        one = eb.run(sample, "general", algorithm, max_iter=20, tol=1e-9)
        other = eb.run(Elsewhere(sample), "general", algorithm, max_iter=20, tol=1e-9)
        assert one.params.tobytes() == other.params.tobytes()
        assert one.n_iter == other.n_iter


def far(offset, d=2, n=400):
    """Two clusters at a distance from 0, and the exact differences from there."""
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((n, d)) + 1.5 * rng.choice([-1.0, 1.0], (n, 1)) + offset
    return rows, rows - offset


class TestFarFromZero:
    def test_tame_data_stay_where_they_are(self, X):
        for offset in (0.0, 1.0, 1e3):
            assert not ArraySample(X + offset).origin().any()

    def test_coordinates_one_by_one(self, X):
        origin = ArraySample(X + np.array([0.0, -1e7, 1e3])).origin()
        np.testing.assert_allclose(origin, [0.0, -1e7, 0.0], atol=1.0)

    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    def test_the_rows_are_moved_exactly(self, X, weighted):
        weights = np.random.default_rng(0).random(N) if weighted else None
        sample = ArraySample(X + 1e9, weights)
        origin = sample.origin()
        near = sample.about(origin)
        expected = ArraySample((X + 1e9) - origin, weights)
        assert fingerprint(near) == fingerprint(expected)
        assert near.tiles.data.tobytes() == expected.tiles.data.tobytes()
        np.testing.assert_array_equal(near.rows() + origin, X + 1e9)
        assert near.row_weights() is None or near.row_weights().tobytes() == weights.tobytes()
        assert not near.origin().any()
        assert not near.about(near.moments().m1).origin().any()

    def test_lattice(self):
        sample = LatticeSample.gaussian(10**6, 2, seed=0, location=1e8)
        near = sample.about(sample.origin())
        np.testing.assert_allclose(near.moments().m2, 1.0, rtol=0.01)
        assert near.n == 10**6
        assert eb.fit(sample, "general").scale[0] == pytest.approx(1.0, rel=0.01)

    @needs_jit
    @pytest.mark.parametrize("algorithm", ["auto", "em", "lbfgs", "elu"])
    @pytest.mark.parametrize("offset", [2.0**20, 2.0**24, 2.0**27, 2.0**40])
    def test_the_general_model_follows(self, offset, algorithm):
        rows, near = far(offset)
        one, other = eb.fit(near, "general", algorithm), eb.fit(rows, "general", algorithm)
        assert (other.status, other.regime) == (one.status, one.regime)
        np.testing.assert_allclose(other.scale, one.scale, rtol=1e-6)
        rounding = 1e-6 + 4e-16 * offset
        np.testing.assert_allclose(other.location, one.location + offset, rtol=0, atol=rounding)
        assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)
        assert other.gain == pytest.approx(one.gain, abs=1e-6)
        np.testing.assert_allclose(
            model_order(other.run.params), other.location.ravel(), rtol=0, atol=rounding
        )
        known = [note for note in other.notes if "differences between rows are known" in note]
        assert len(known) == (offset > 1e8)

    def test_a_run(self):
        rows, near = far(2.0**27)
        start, truth = np.array([-1.0, 0.0, 1.0, 0.5]), np.array([-1.5, -1.5, 1.5, 1.5])
        options = {"max_iter": 15, "validation": 0.2, "true_scale": 1.0}
        one = eb.run(near, "general", EM(), start, truth=truth, **options)
        there = {"truth": truth + 2.0**27, **options}
        others = [
            eb.run(rows, "general", EM(), start + 2.0**27, driver=driver, **there)
            for driver in ("compiled", "python")
        ]
        others += eb.run_many([rows, rows], "general", EM(), start + 2.0**27, metrics=True, **there)
        for other in others:
            assert other.params.tobytes() == others[0].params.tobytes()
            np.testing.assert_allclose(other.params, one.params + 2.0**27, rtol=0, atol=1e-6)
            np.testing.assert_allclose(other.scale, one.scale, rtol=1e-6)
            for column in ("loss", "gap", "location_error", "scale_error", "validation_loss"):
                np.testing.assert_allclose(other.trace[column], one.trace[column], atol=1e-6)
            np.testing.assert_allclose(
                other.trace["param_3"], one.trace["param_3"] + 2.0**27, atol=1e-6
            )

    def test_a_start_too_far_away(self):
        with pytest.raises(
            ValueError, match=r"start \(minus the mean of the sample\) must be closer"
        ):
            eb.run(far(2.0**27)[0], "general", EM(), [0.0, 0.0, 2.0**28, 2.0**28])
        with pytest.raises(ValueError, match=r"start must have shape \(4,\)"):
            eb.run(far(2.0**27)[0], "general", EM(), [0.0, 0.0])

    def test_figure(self):
        rows, near = far(2.0**27, d=1)
        axes, expected = (
            fit_figure(eb.fit(part, "general"), part).axes[0] for part in (rows, near)
        )
        for line, other in zip(axes.lines, expected.lines, strict=True):
            np.testing.assert_allclose(line.get_ydata(), other.get_ydata(), atol=1e-6)

    def test_symmetric_models_say_what_is_lost(self):
        assert not any("digits" in note for note in eb.fit(far(100.0)[0], "isotropic").notes)
        notes = eb.fit(far(1e6)[0], "isotropic").notes
        assert any("5 digits of the scale are known" in note for note in notes)
        with pytest.raises(ValueError, match=r"X must lie within 1e\+07 standard deviations of 0"):
            eb.fit(far(1e9)[0], "diagonal")

    def test_rows_that_are_all_the_same(self):
        for value in (1e9, 5.1):
            with pytest.raises(ValueError, match="X must vary"):
                eb.fit(np.full((50, 2), value), "general")


def model_order(params):
    """General parameters in the order in which a fit gives its locations."""
    first, second = params.reshape(2, -1)
    at = np.argmax(np.abs(second - first))
    return params if first[at] <= second[at] else np.concatenate([second, first])


class TestSplit:
    @pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
    @pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5, 0.9])
    def test_disjoint_and_complete(self, X, fraction, weighted):
        weights = np.random.default_rng(2).integers(1, 5, N).astype(float) if weighted else None
        X[:, 0] = np.arange(N)  # names the rows
        sample = ArraySample(X, weights)
        training, validation = sample.split(fraction, seed=4)
        assert validation.n == round(fraction * N)
        assert training.n + validation.n == N
        rows = np.concatenate([training.rows(), validation.rows()])
        order = np.argsort(rows[:, 0])
        np.testing.assert_array_equal(rows[order], X)
        if weighted:
            kept = np.concatenate([training.row_weights(), validation.row_weights()])
            np.testing.assert_array_equal(kept[order], weights)

    def test_moments_add_up(self, X):
        weights = np.random.default_rng(2).random(N)
        sample = ArraySample(X, weights)
        parts = [part.moments() for part in sample.split(0.3)]
        whole = sample.moments()
        _, allowed = naive.moments(X, weights)
        total = sum(part.weight for part in parts)
        assert abs(total - whole.weight) <= 2 * allowed[0]
        for k in (1, 2):
            value = sum(part.weight * part[k] for part in parts) / total
            assert (np.abs(value - whole[k]) <= 4 * allowed[k]).all()

    def test_seeds(self, X):
        sample = ArraySample(X)
        same = [fingerprint(sample.split(seed=s)[1]) for s in (0, 0, 1)]
        assert same[0] == same[1] != same[2]

    def test_rows_are_held_out_evenly(self):
        """Every row is as likely as any other: counts over seeds against their binomial law."""
        n, seeds = 40, scaled(400, 100)
        sample = ArraySample(np.arange(float(n))[:, None])
        counts = np.zeros(n)
        for seed in range(seeds):
            counts[sample.split(0.25, seed)[1].rows()[:, 0].astype(int)] += 1
        z = (counts - seeds / 4) / np.sqrt(seeds * 0.25 * 0.75)
        assert np.abs(z).max() < 4.5

    def test_each_part_has_two_rows(self):
        training, validation = ArraySample(np.arange(5.0)[:, None]).split(0.01)
        assert (training.n, validation.n) == (3, 2)
        training, validation = ArraySample(np.arange(5.0)[:, None]).split(0.99)
        assert (training.n, validation.n) == (2, 3)
        with pytest.raises(ValueError, match="at least 4 rows to be split, got n=3"):
            ArraySample([[1.0], [2.0], [3.0]]).split(0.5)

    @pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, np.nan, np.inf])
    def test_fraction_out_of_range(self, X, fraction):
        with pytest.raises(ValueError, match=r"fraction must be in \(0, 1\)"):
            ArraySample(X).split(fraction)

    @pytest.mark.parametrize("arguments", [{"fraction": "0.1"}, {"seed": 1.5}, {"seed": "1"}])
    def test_wrong_types(self, X, arguments):
        with pytest.raises(TypeError, match=f"^{next(iter(arguments))} must be"):
            ArraySample(X).split(**arguments)


class TestGaussian:
    def test_blocks_alone_are_the_whole(self):
        n, d = 2 * draws.BLOCK_ROWS + 1000, 2
        X = gaussian(n, d, seed=3)
        assert X.shape == (n, d)
        assert X.dtype == np.float64
        assert X.flags.c_contiguous
        for block in (2, 0, 1):
            start = block * draws.BLOCK_ROWS
            part = draws.gaussian_block(3, d, block)[: n - start]
            np.testing.assert_array_equal(X[start : start + draws.BLOCK_ROWS], part)

    @pytest.mark.parametrize("n", [1, 2, 1000, draws.BLOCK_ROWS, draws.BLOCK_ROWS + 1])
    def test_fewer_rows_are_the_first_rows(self, n):
        np.testing.assert_array_equal(gaussian(n, 2, seed=9), gaussian(70_000, 2, seed=9)[:n])

    @pytest.mark.parametrize("threads", [1, 2])
    def test_threads_do_not_matter(self, threads):
        usual = numba.get_num_threads()
        if threads > numba.config.NUMBA_NUM_THREADS:
            pytest.skip("one thread only")
        expected = gaussian(200_000, 1, seed=2)
        try:
            numba.set_num_threads(threads)
            np.testing.assert_array_equal(gaussian(200_000, 1, seed=2), expected)
        finally:
            numba.set_num_threads(usual)

    @needs_jit
    def test_other_processes_draw_the_same(self):
        code = (
            "import hashlib, json\n"
            "from elubench.samples import gaussian\n"
            "X = gaussian(150_000, 2, seed=6)\n"
            "print(json.dumps(hashlib.sha256(X.tobytes()).hexdigest()))\n"
        )
        digests = {python(code, NUMBA_NUM_THREADS=threads) for threads in ("1", "4")}
        assert len(digests) == 1

    def test_streams_differ(self):
        drawn = [gaussian(500, 2, 0), gaussian(500, 2, 1), gaussian(1000, 1, 0).reshape(500, 2)]
        drawn += [gaussian(draws.BLOCK_ROWS + 500, 2, 0)[draws.BLOCK_ROWS :]]
        for i, one in enumerate(drawn):
            for other in drawn[:i]:
                correlation = np.mean(one * other)  # of 1000 pairs: sd 0.032
                assert abs(correlation) < 0.15

    def test_first_moments(self):
        n = 200_000
        X = gaussian(n, 2, seed=8)
        for order in range(1, 9):
            mean, variance = naive.gaussian_moment(order), naive.gaussian_moment(2 * order)
            z = (np.mean(X**order, axis=0) - mean) / np.sqrt((variance - mean**2) / n)
            assert np.abs(z).max() < 4.5
        assert abs(np.mean(X[:, 0] * X[:, 1])) * np.sqrt(n) < 4.5

    def test_location_and_scale(self):
        base = gaussian(1000, 3, seed=1)
        shift, variance = np.array([1.0, -2.0, 0.5]), np.array([4.0, 0.25, 9.0])
        moved = gaussian(1000, 3, seed=1, location=shift, scale=variance)
        np.testing.assert_array_equal(moved, base * [2.0, 0.5, 3.0] + shift)
        np.testing.assert_array_equal(gaussian(1000, 3, 1, 2.0, 4.0), base * 2 + 2)
        np.testing.assert_array_equal(gaussian(1000, 3, 1), base)

    def test_whole_numbers_of_any_type(self):
        expected = gaussian(100, 2, 5)
        np.testing.assert_array_equal(gaussian(np.int32(100), np.uint8(2), np.int64(5)), expected)
        np.testing.assert_array_equal(gaussian(1e2, 2.0, 5), expected)
        assert gaussian(3, 1, 10**400).shape == (3, 1)

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"n": 0}, ValueError, "n must be >= 1, got 0"),
            ({"n": 1.5}, TypeError, "n must be an integer, got 1.5"),
            ({"n": "10"}, TypeError, "n must be an integer, got '10'"),
            ({"n": True}, TypeError, "n must be an integer, got True"),
            ({"n": np.nan}, TypeError, "n must be an integer, got nan"),
            ({"d": 0}, ValueError, "d must be >= 1, got 0"),
            ({"d": -1}, ValueError, "d must be >= 1, got -1"),
            ({"seed": -1}, ValueError, "seed must be >= 0, got -1"),
            ({"seed": None}, TypeError, "seed must be an integer, got None"),
            ({"location": [1.0]}, ValueError, r"location must have shape \(2,\), got \(1,\)"),
            ({"location": np.nan}, ValueError, "location must be finite"),
            ({"location": "x"}, TypeError, "location must be an array of numbers"),
            ({"scale": 0.0}, ValueError, "scale must be > 0"),
            ({"scale": [1.0, -1.0]}, ValueError, "scale must be > 0"),
            ({"scale": np.inf}, ValueError, "scale must be finite"),
            ({"scale": [1.0, 2.0, 3.0]}, ValueError, r"scale must have shape \(2,\), got \(3,\)"),
        ],
    )
    @pytest.mark.parametrize("draw", [gaussian, LatticeSample.gaussian], ids=["rows", "lattice"])
    def test_refused(self, draw, arguments, error, message):
        if draw is not gaussian:  # the lattice has upper bounds, too, and needs two draws
            message = message.replace(">= 1", "between [12] and .*").partition(", got")[0]
        with pytest.raises(error, match=message):
            draw(**{"n": 100, "d": 2, "seed": 0, **arguments})


class TestPacking:
    """One read of X packs it and sums its moments."""

    @staticmethod
    def bits(sample):
        return sample.tiles.data.tobytes(), [np.asarray(m).tobytes() for m in sample.moments()]

    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_the_number_of_threads_changes_no_bit(self, count, monkeypatch):
        X = np.random.default_rng(0).standard_normal((scaled(70_001, 9000), 3))
        weights = np.random.default_rng(1).exponential(size=len(X))
        expected = [self.bits(ArraySample(X, w)) for w in (None, weights)]
        monkeypatch.setattr("elubench.samples.array._CHUNK_NUMBERS", 4096)
        monkeypatch.setattr("elubench.samples.array._THREADS_FROM", 2)
        monkeypatch.setattr("elubench.samples.array.threads", lambda: count)
        assert [self.bits(ArraySample(X, w)) for w in (None, weights)] == expected

    @pytest.mark.parametrize("weighted", [False, True])
    def test_moments_are_those_of_the_tiles(self, weighted):
        """Samples that are not packed from rows sum their moments afterwards."""
        X = np.random.default_rng(2).standard_normal((scaled(9003, 300), 4))
        packed = ArraySample(X, np.arange(1.0, len(X) + 1) if weighted else None)
        again = PackedSample(packed.tiles, packed.n, packed.exponent)
        assert self.bits(again) == self.bits(packed)

    @pytest.mark.parametrize("row", [0, 511, 512, 4100, -1])
    @pytest.mark.parametrize(
        ("value", "message"),
        [(np.nan, "NaN"), (-np.inf, "infinity"), (1e200, "too large to square")],
    )
    def test_one_bad_number(self, row, value, message):
        X = np.zeros((scaled(9001, 4200), 2))
        X[row, 1] = value
        for one in (X, np.asfortranarray(X)):
            with pytest.raises(ValueError, match=message):
                ArraySample(one)
        X[7, 0] = np.nan  # what is worst is said
        with pytest.raises(ValueError, match="NaN"):
            ArraySample(X)
