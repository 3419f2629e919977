"""Samples in files: the bits of rows in memory, whatever the file; errors that say where."""

import json
import os
import pickle
import signal
import struct
import time

import numpy as np
import pandas as pd
import pytest
from conftest import JIT, needs_jit, python, scaled
from hypothesis import given
from hypothesis import strategies as st

import elubench as eb
from elubench import cli
from elubench.kernels import layout
from elubench.kernels.tiles import BLOCK_ROWS
from elubench.samples import bins, chunked, converting, file, opening, packed
from elubench.samples.chunked import ChunkedSample
from elubench.samples.reading import Wanted, read_table
from elubench.samples.stored import ChangedError

ROWS = scaled(5 * BLOCK_ROWS + 77, BLOCK_ROWS + 77)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Several chunks, of two blocks or so, of a sample that is small."""
    monkeypatch.setattr(file, "_CHUNK_NUMBERS", 1 << 14)
    monkeypatch.setattr(opening, "_IN_MEMORY", 0)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((ROWS, 2)) + 1.5 * rng.choice([-1.0, 1.0], (ROWS, 1)) + [0.0, 3.0]


def assert_same(one, two):
    """Every kind of read gives the same bits."""
    d = one.d
    u = np.random.default_rng(1).standard_normal((2, d))
    b = np.array([0.0, 0.3])
    wants = (0, layout.LOG_COSH | layout.CURVATURE) if JIT else (0,)
    for want in wants:
        np.testing.assert_array_equal(one.sums(u, b, want), two.sums(u, b, want))
    for found, expected in zip(one.moments(), two.moments(), strict=True):
        np.testing.assert_array_equal(found, expected)
    for found, expected in zip(one.shape(), two.shape(), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert (one.n, one.n_weighted) == (two.n, two.n_weighted)
    thin, expected = one.thinned(1000), two.thinned(1000)
    assert thin.n == expected.n
    np.testing.assert_array_equal(thin.moments().m2, expected.moments().m2)


class TestBits:
    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i2", "u1", "?"])
    def test_npy(self, X, tmp_path, order, dtype):
        values = np.asarray((5.0 * X + 100.0).astype(dtype), order=order)
        if dtype == "?":
            values = np.asarray(X > 1.0, order=order)
        np.save(tmp_path / "x.npy", values)
        assert_same(eb.FileSample(tmp_path / "x.npy"), eb.ArraySample(values))

    def test_one_dimension(self, X, tmp_path):
        np.save(tmp_path / "x.npy", X[:, 0])
        assert_same(eb.FileSample(tmp_path / "x.npy"), eb.ArraySample(X[:, :1]))

    def test_version_of_the_format_with_a_long_header(self, X, tmp_path):
        with open(tmp_path / "x.npy", "wb") as out:
            np.lib.format.write_array(out, X, version=(3, 0))
        assert_same(eb.FileSample(tmp_path / "x.npy"), eb.ArraySample(X))

    @pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv"])
    def test_tables(self, X, tmp_path, suffix):
        path = tmp_path / f"x.{suffix}"
        frame = pd.DataFrame(X, columns=["a", "b"])
        if suffix == "parquet":
            frame.to_parquet(path, row_group_size=1001)
        else:
            frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
        assert_same(eb.FileSample(path), eb.ArraySample(read_table(path).values))
        assert eb.FileSample(path, ["b"]).names == ["b"]
        assert_same(
            eb.FileSample(path, ["b", "a"]), eb.ArraySample(read_table(path).values[:, ::-1])
        )

    def test_semicolons_and_decimal_commas(self, X, tmp_path):
        pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False, sep=";", decimal=",", header=False)
        expected = read_table(tmp_path / "x.csv").values
        assert_same(eb.FileSample(tmp_path / "x.csv"), eb.ArraySample(expected))

    @pytest.mark.parametrize("given_as", ["column", "array", "packed"])
    def test_weights(self, X, tmp_path, given_as):
        # whole blocks, hence chunks, have no weight; units differ between chunks
        weights = np.random.default_rng(2).integers(0, 4, ROWS) * np.linspace(1e-9, 1e9, ROWS)
        weights[: 2 * BLOCK_ROWS if JIT else 100] = 0.0
        table = np.column_stack([weights, X])
        np.save(tmp_path / "x.npy", table)
        pd.DataFrame(table, columns=["w", "a", "b"]).to_parquet(tmp_path / "x.parquet")
        sample = {
            "column": lambda: eb.FileSample(tmp_path / "x.npy", weights="1"),
            "array": lambda: eb.FileSample(tmp_path / "x.npy", ["2", "3"], weights),
            "packed": lambda: eb.FileSample(tmp_path / "x.parquet", weights="w"),
        }[given_as]()
        assert_same(sample, eb.ArraySample(X, weights))

    def test_moved(self, X, tmp_path):
        np.save(tmp_path / "x.npy", X + 1e6)
        sample, memory = eb.FileSample(tmp_path / "x.npy"), eb.ArraySample(X + 1e6)
        origin = sample.origin()
        assert origin.all()
        np.testing.assert_array_equal(origin, memory.origin())
        assert_same(sample.about(origin), memory.about(origin))

    @needs_jit
    @given(st.integers(2, 7 * BLOCK_ROWS), st.integers(0, 4), st.integers(1, 6), st.booleans())
    def test_any_chunks(self, tmp_path_factory, n, log_blocks, d, weighted):
        path = tmp_path_factory.getbasetemp() / "any.npy"
        rng = np.random.default_rng(n)
        rows = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4)
        np.save(path, rows)
        weights = rng.random(n) if weighted else None
        sample = eb.FileSample(path, weights=weights)
        sample.chunk_rows = BLOCK_ROWS << log_blocks
        assert_same(sample, eb.ArraySample(rows, weights))

    def test_folders_and_patterns(self, X, tmp_path):
        (tmp_path / "data").mkdir()
        cuts = [0, 100, 5000, ROWS]
        for k in range(3):
            frame = pd.DataFrame(X[cuts[k] : cuts[k + 1]], columns=["a", "b"])
            frame.to_parquet(tmp_path / "data" / f"part-{k}.parquet")
        assert_same(eb.FileSample(tmp_path / "data"), eb.ArraySample(X))
        assert_same(eb.FileSample(str(tmp_path / "data" / "*.parquet")), eb.ArraySample(X))
        for k in range(3):
            frame = pd.read_parquet(tmp_path / "data" / f"part-{k}.parquet")
            frame.to_csv(tmp_path / f"part-{k}.csv", index=False)
        assert_same(eb.FileSample(str(tmp_path / "part-*.csv")), eb.ArraySample(X))


class TestFit:
    @needs_jit
    def test_same_fit_to_the_last_bit(self, X, tmp_path):
        np.save(tmp_path / "x.npy", X)
        found, expected = eb.fit(tmp_path / "x.npy"), eb.fit(X)
        assert found.as_dict() | {"seconds": 0} == expected.as_dict() | {"seconds": 0}
        assert found.run.passes <= 10

    def test_same_run(self, X, tmp_path):
        np.save(tmp_path / "x.npy", X)
        one = eb.run(str(tmp_path / "x.npy"), "general", eb.EM(), max_iter=3)
        two = eb.run(X, "general", eb.EM(), max_iter=3)
        np.testing.assert_array_equal(one.params, two.params)

    @needs_jit
    def test_one_column_is_read_once(self, tmp_path, monkeypatch):
        x = np.random.default_rng(0).standard_normal((60_000, 1))
        np.save(tmp_path / "x.npy", x)
        reads = []
        sample = eb.FileSample(
            tmp_path / "x.npy", progress=lambda what, done, n: reads.append(what)
        )
        found = eb.fit(sample, algorithm="em")
        assert set(reads) == {"condensing"}
        assert reads.count("condensing") == 1 + len(range(0, len(x), sample.chunk_rows))
        assert found.as_dict() | {"seconds": 0} == eb.fit(x, algorithm="em").as_dict() | {
            "seconds": 0
        }

    @needs_jit
    def test_condensed_in_any_chunks(self, tmp_path, monkeypatch):
        """Chunks of rows, that bins sum at a time, and several of them in a chunk of the sample."""
        monkeypatch.setattr(bins, "CHUNK_ROWS", 2 * BLOCK_ROWS)
        x = np.random.default_rng(0).standard_normal((15 * BLOCK_ROWS + 5, 1))
        np.save(tmp_path / "x.npy", x)
        expected = eb.CondensedSample(x)
        for blocks in (2, 4, 8, 16):
            sample = eb.FileSample(tmp_path / "x.npy")
            sample.chunk_rows = blocks * BLOCK_ROWS
            found = sample.compact
            np.testing.assert_array_equal(found.tiles.data, expected.tiles.data)
            np.testing.assert_array_equal(found.tiles.weights, expected.tiles.weights)

    @needs_jit
    @pytest.mark.parametrize("d", [1, 2])
    def test_validation(self, X, tmp_path, d):
        rows = np.tile(X[:, :d], (3, 1))
        np.save(tmp_path / "x.npy", rows)
        sample = eb.FileSample(tmp_path / "x.npy")
        found = eb.fit(sample, algorithm="centred-elu", max_iter=60)
        assert any("rows were held out" in note for note in found.notes)
        train, held = sample.split(0.1, seed=3)
        assert train.n + held.n == len(rows)
        assert abs(held.n - 0.1 * len(rows)) < 5 * np.sqrt(0.09 * len(rows))
        both = train.moments().weight * train.moments().m1 + held.n * held.moments().m1
        np.testing.assert_allclose(both / len(rows), rows.mean(axis=0), rtol=1e-12)
        for found, expected in zip(sample.split(0.1, seed=3), (train, held), strict=True):
            np.testing.assert_array_equal(found.moments().m2, expected.moments().m2)

    def test_some_rows(self, X, tmp_path):
        np.save(tmp_path / "x.npy", X)
        sample = eb.FileSample(tmp_path / "x.npy")
        np.testing.assert_array_equal(sample.some_rows(10**6).rows(), X)
        assert 1000 <= sample.some_rows(1000).n < 2000


def write(path, values):
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".parquet":
        pd.DataFrame(values, columns=["a", "b"]).to_parquet(path)
    else:
        pd.DataFrame(values, columns=["a", "b"]).to_csv(path, index=False, na_rep="nan")


class TestBadNumbers:
    @pytest.mark.parametrize(
        ("value", "said"),
        [(np.inf, "finite, got infinity"), (-2e150, "at most 1e.150 in size")],
    )
    @pytest.mark.parametrize("suffix", ["npy", "parquet", "csv"])
    def test_row_and_column(self, X, tmp_path, suffix, value, said):
        rows = X.copy()
        rows[ROWS - 3, 1] = value
        path = tmp_path / f"x.{suffix}"
        write(path, rows)
        where = rf"in row {ROWS - 2:,}, column '{'2' if suffix == 'npy' else 'b'}'"
        with pytest.raises(ValueError, match=rf"x.{suffix}: X must be {said}.*{where}"):
            eb.FileSample(path).moments()
        assert [name for name in os.listdir(tmp_path) if "packed" in name] == []

    @pytest.mark.parametrize("suffix", ["npy", "parquet", "csv"])
    def test_missing(self, X, tmp_path, suffix):
        rows = X.copy()
        rows[ROWS - 3, 0] = np.nan
        write(tmp_path / f"x.{suffix}", rows)
        with pytest.raises(ValueError, match=rf"(got NaN|missing value) in row {ROWS - 2:,}"):
            eb.FileSample(tmp_path / f"x.{suffix}").moments()

    def test_one_column_too(self, X, tmp_path, monkeypatch):
        monkeypatch.setattr(chunked, "CONDENSED_FROM", 100)
        rows = X[:, 0].copy()
        rows[1234] = np.nan
        np.save(tmp_path / "x.npy", rows)
        with pytest.raises(ValueError, match="got NaN in row 1,235, column '1'"):
            eb.fit(tmp_path / "x.npy")

    @pytest.mark.parametrize(
        ("value", "said"), [(-1.0, ">= 0, got -1"), (np.nan, "finite, got NaN"), (np.inf, "finite")]
    )
    def test_weights(self, X, tmp_path, value, said):
        weights = np.ones(ROWS)
        weights[ROWS - 1] = value
        np.save(tmp_path / "x.npy", np.column_stack([X, weights]))
        with pytest.raises(ValueError, match=f"weights must be {said}.* in row {ROWS:,}"):
            eb.FileSample(tmp_path / "x.npy", weights="3").moments()

    def test_no_weight(self, X, tmp_path):
        np.save(tmp_path / "x.npy", np.column_stack([X, np.zeros(ROWS)]))
        with pytest.raises(ValueError, match="weights must leave at least 2 rows, got 0"):
            eb.FileSample(tmp_path / "x.npy", weights="3").moments()


class TestRefuses:
    def test_paths(self, X, tmp_path):
        with pytest.raises(FileNotFoundError):
            eb.FileSample(tmp_path / "none.npy")
        with pytest.raises(FileNotFoundError):
            eb.FileSample(str(tmp_path / "*.parquet"))
        (tmp_path / "x.txt").write_text("1\n2\n")
        with pytest.raises(ValueError, match="must all be of one type"):
            eb.FileSample(tmp_path / "x.txt")
        np.save(tmp_path / "one.npy", X[:1])
        with pytest.raises(ValueError, match="at least 2 rows, got 1"):
            eb.FileSample(tmp_path / "one.npy")

    def test_columns(self, X, tmp_path):
        write(tmp_path / "x.npy", X)
        write(tmp_path / "x.csv", X)
        for path in (tmp_path / "x.npy", tmp_path / "x.csv"):
            with pytest.raises(ValueError, match="there is no column 'c'"):
                eb.FileSample(path, ["c"])
            with pytest.raises(ValueError, match="there is no column 'c'"):
                eb.FileSample(path, weights="c")
        with pytest.raises(ValueError, match="'1' more than once"):
            eb.FileSample(tmp_path / "x.npy", ["1"], weights="1")

    def test_text_that_is_no_number(self, tmp_path, monkeypatch):
        monkeypatch.setattr(converting, "_PIECE_BYTES", 64)
        rows = [f"{k},{k}.5" for k in range(300)]
        rows[217] = "217,much"
        (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        with pytest.raises(ValueError, match=r"column 'b' is not numeric \(row 218 holds 'much'\)"):
            eb.FileSample(tmp_path / "x.csv")
        rows[217] = "217,1,2"
        (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        with pytest.raises(ValueError, match="fields as the first, 2, got 3 in row 218"):
            eb.FileSample(tmp_path / "x.csv")
        rows[217] = "217"
        (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        with pytest.raises(ValueError, match="got 1 in row 218"):
            eb.FileSample(tmp_path / "x.csv")
        rows[217] = '"217","1","2"'
        (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        with pytest.raises(ValueError, match="got 3 in row 218"):
            eb.FileSample(tmp_path / "x.csv")

    def test_utf_16(self, tmp_path):
        """As spreadsheets save text; read in parts it must be in UTF-8."""
        (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n5,7\n", encoding="utf-16")
        table = read_table(tmp_path / "x.csv")
        assert table.names == ["a", "b"]
        np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [5, 7]])
        with pytest.raises(
            ValueError, match=r"x\.csv must be in UTF-8 to be read in parts, got UTF-16"
        ):
            eb.FileSample(tmp_path / "x.csv")
        (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-16-le")  # without a mark
        for read in (read_table, eb.FileSample):
            with pytest.raises(ValueError, match="must hold text in UTF-8, got bytes that are 0"):
                read(tmp_path / "x.csv")

    def test_infinity_in_a_file_that_is_read_as_a_whole(self, tmp_path):
        (tmp_path / "x.csv").write_text("a,b\n1,2\n,4\n5,-inf\n")
        with pytest.raises(ValueError, match="column 'b' must be finite, got infinity in row 3"):
            read_table(tmp_path / "x.csv", wanted=Wanted(drop_missing=True))

    def test_parquet_of_text(self, tmp_path):
        pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}).to_parquet(tmp_path / "x.parquet")
        with pytest.raises(ValueError, match="column 'a' is not numeric"):
            eb.FileSample(tmp_path / "x.parquet")
        assert eb.FileSample(tmp_path / "x.parquet", ["b"]).n == 2

    def test_damaged(self, X, tmp_path):
        write(tmp_path / "x.npy", X)
        content = (tmp_path / "x.npy").read_bytes()
        (tmp_path / "x.npy").write_bytes(content[:-8])
        with pytest.raises(ValueError, match=r"x\.npy"):
            eb.FileSample(tmp_path / "x.npy")
        (tmp_path / "x.parquet").write_bytes(b"PAR1 but not really")
        with pytest.raises(ValueError, match="cannot be read"):
            eb.FileSample(tmp_path / "x.parquet")


class TestChanges:
    def test_cut_off(self, X, tmp_path):
        write(tmp_path / "x.npy", X)
        sample = eb.FileSample(tmp_path / "x.npy")
        sample.moments()
        os.truncate(tmp_path / "x.npy", 1000)
        with pytest.raises(ChangedError, match=r"changed|cut off"):
            sample.sums(np.ones((1, 2)), np.zeros(1), 0)

    def test_cut_off_in_the_middle_of_a_read(self, X, tmp_path, monkeypatch):
        """By whoever has read a chunk; there are fewer threads than chunks."""
        monkeypatch.setattr(file, "threads", lambda: 1)
        write(tmp_path / "x.npy", X)
        sample = eb.FileSample(tmp_path / "x.npy")
        sample.chunk_rows = BLOCK_ROWS if JIT else 512
        with pytest.raises(ChangedError):
            list(sample._each(lambda chunk: os.truncate(tmp_path / "x.npy", 1000), "cutting"))

    def test_in_another_process(self, X, tmp_path):
        """A sample can be pickled, as long as its file stays as it is."""
        for name in ("x.npy", "x.csv"):
            write(tmp_path / name, X)
            sample = eb.FileSample(tmp_path / name, progress=lambda *_: None)
            kept = pickle.dumps(sample)
            assert_same(pickle.loads(kept), sample)
        (one,) = tmp_path.glob(".*.packed")
        os.truncate(one, 1000)
        with pytest.raises(ChangedError, match="was changed"):
            pickle.loads(kept)

    def test_written_to(self, X, tmp_path):
        write(tmp_path / "x.npy", X)
        sample = eb.FileSample(tmp_path / "x.npy")
        sample.moments()
        with open(tmp_path / "x.npy", "r+b") as out:
            out.seek(500)
            out.write(b"12345678")
        os.utime(tmp_path / "x.npy", ns=(1, 1))  # clocks of file systems are coarse
        with pytest.raises(ChangedError, match=r"^[^\[]*: the file was changed"):
            sample.sums(np.ones((1, 2)), np.zeros(1), 0)

    def test_replaced_by_another_file(self, X, tmp_path):
        """The sample has the old one open, and reads on."""
        write(tmp_path / "x.npy", X)
        sample = eb.FileSample(tmp_path / "x.npy")
        write(tmp_path / "y.npy", X + 1.0)
        os.replace(tmp_path / "y.npy", tmp_path / "x.npy")
        assert_same(sample, eb.ArraySample(X))


class TestPackedFile:
    def packed(self, folder):
        return [name for name in os.listdir(folder) if name.endswith(".packed")]

    def test_used_again_until_the_source_changes(self, X, tmp_path):
        write(tmp_path / "x.csv", X)
        reports = []
        eb.FileSample(tmp_path / "x.csv", progress=lambda *what: reports.append(what))
        assert {what for what, _, _ in reports} == {"converting"}
        assert reports[-1][1:] == (ROWS, ROWS)
        reports.clear()
        eb.FileSample(tmp_path / "x.csv", progress=lambda *what: reports.append(what))
        assert reports == []
        write(tmp_path / "x.csv", 2.0 * X)
        expected = eb.ArraySample(read_table(tmp_path / "x.csv").values)
        assert_same(eb.FileSample(tmp_path / "x.csv"), expected)
        assert len(self.packed(tmp_path)) == 1

    def test_damaged_is_made_again(self, X, tmp_path):
        write(tmp_path / "x.parquet", X)
        eb.FileSample(tmp_path / "x.parquet")
        (name,) = self.packed(tmp_path)
        os.truncate(tmp_path / name, 5000)
        assert_same(eb.FileSample(tmp_path / "x.parquet"), eb.ArraySample(X))

    @pytest.mark.parametrize("damage", ["length", "list", "rows", "cut", "text"])
    def test_damaged_footer(self, damage, X, tmp_path):
        write(tmp_path / "x.parquet", X)
        eb.FileSample(tmp_path / "x.parquet")
        (name,) = self.packed(tmp_path)
        content = (tmp_path / name).read_bytes()
        at = content.rindex(b'{"n"')
        tiles, footer, length, end = content[:at], content[at:-16], content[-16:-8], content[-8:]
        match damage:
            case "length":
                length = b"\xff" * 8
            case "list":
                footer = b"[" + b" " * (len(footer) - 2) + b"]"
            case "rows":
                footer = footer.replace(f'"n": {ROWS}'.encode(), f'"n": {2 * ROWS}'.encode())
            case "cut":
                tiles = tiles[8:]
            case "text":
                footer = b"\xff" + footer[1:]
        length = struct.pack("<Q", len(footer)) if damage != "length" else length
        (tmp_path / name).write_bytes(tiles + footer + length + end)
        assert_same(eb.FileSample(tmp_path / "x.parquet"), eb.ArraySample(X))

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    @pytest.mark.parametrize("after", [1, 3])
    def test_resumed(self, X, tmp_path, monkeypatch, suffix, after):
        class KilledError(Exception):
            pass

        monkeypatch.setattr(packed, "_SAFE_SECONDS", -1.0)
        monkeypatch.setattr(converting, "_PIECE_BYTES", 1 << 15)
        path = tmp_path / f"x.{suffix}"
        if suffix == "csv":
            write(path, X)
        else:
            pd.DataFrame(X, columns=["a", "b"]).to_parquet(path, row_group_size=1001)
        done = []

        def kill(what, rows, total):
            done.append(rows)
            if len(done) > after:
                raise KilledError

        with pytest.raises(KilledError):
            eb.FileSample(path, progress=kill)
        assert not self.packed(tmp_path)
        killed = done[-2]  # the last that was safe
        done.clear()
        sample = eb.FileSample(path, progress=lambda what, rows, total: done.append(rows))
        assert done[0] > killed
        assert_same(sample, eb.ArraySample(read_table(path).values))
        assert sorted(os.listdir(tmp_path)) == sorted([path.name, *self.packed(tmp_path)])

    @staticmethod
    def interrupted(X, folder, monkeypatch):
        """A file whose conversion ended after some rows were safe."""
        monkeypatch.setattr(packed, "_SAFE_SECONDS", -1.0)
        path = folder / "x.parquet"
        pd.DataFrame(X, columns=["a", "b"]).to_parquet(path, row_group_size=1001)

        def stop(what, rows, total):
            if rows > 3000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            eb.FileSample(path, progress=stop)
        return path

    def test_the_part_of_another_source_is_not_resumed(self, X, tmp_path, monkeypatch):
        path, rows = self.interrupted(X, tmp_path, monkeypatch), X + 1.0
        pd.DataFrame(rows, columns=["a", "b"]).to_parquet(path, row_group_size=999)
        assert_same(eb.FileSample(path), eb.ArraySample(rows))

    def test_a_part_in_another_layout_is_not_resumed(self, X, tmp_path, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(packed, "_LAYOUT", "another")
            path = self.interrupted(X, tmp_path, monkeypatch)
        done = []
        sample = eb.FileSample(path, progress=lambda what, rows, total: done.append(rows))
        assert 0 < done[0] <= 1001
        assert_same(sample, eb.ArraySample(X))

    def test_a_part_that_is_too_short_is_written_anew(self, X, tmp_path, monkeypatch):
        path = self.interrupted(X, tmp_path, monkeypatch)
        (part,) = tmp_path.rglob("*.part")
        os.truncate(part, 5000)
        assert_same(eb.FileSample(path), eb.ArraySample(X))

    @pytest.mark.skipif(
        not hasattr(signal, "SIGKILL"), reason="needs a system with locks and SIGKILL"
    )
    def test_two_processes_convert_once(self, X, tmp_path):
        """The second waits for the first, and uses its file."""
        write(tmp_path / "x.csv", X)
        code = (
            "import sys, json, threading, elubench as eb\n"
            "made = []\n"
            "def convert():\n"
            f"    eb.FileSample({str(tmp_path / 'x.csv')!r}, progress=lambda *w: made.append(w))\n"
            "both = [threading.Thread(target=convert) for _ in range(2)]\n"
            "[one.start() for one in both]; [one.join() for one in both]\n"
            "print(json.dumps([rows for _, rows, _ in made]))"
        )
        rows = python(code)
        assert rows == sorted(rows)
        assert rows.count(ROWS) == 1
        assert len(self.packed(tmp_path)) == 1

    def test_nothing_is_open_while_it_is_renamed(self, X, tmp_path, monkeypatch):
        """As Windows demands, which has no locks of this kind either."""
        opened, replace = [], os.replace

        def noted(*args):
            opened.append(open(*args))  # noqa: SIM115  the caller closes it
            return opened[-1]

        def strict(source, target):
            assert all(one.closed for one in opened if str(one.name) == str(source))
            replace(source, target)

        write(tmp_path / "x.csv", X)
        monkeypatch.setattr(packed, "_LOCKS", False)
        monkeypatch.setattr(packed, "open", noted, raising=False)
        monkeypatch.setattr(packed.os, "replace", strict)
        assert_same(eb.FileSample(tmp_path / "x.csv"), eb.ArraySample(X))
        assert any(str(one.name).endswith(".part") for one in opened)


class TestCommand:
    @pytest.mark.parametrize("suffix", ["parquet", "npy"])
    def test_fit_of_a_folder_or_of_its_files(self, X, tmp_path, capsys, suffix):
        """As a shell writes out folder/*.parquet."""
        (tmp_path / "data").mkdir()
        files = [tmp_path / "data" / f"{k}.{suffix}" for k in range(3)]
        for path, rows in zip(files, np.split(X, [5, 4100]), strict=True):
            write(path, rows)
        np.save(tmp_path / "x.npy", X)
        results = []
        for paths in ([tmp_path / "data"], files, [tmp_path / "x.npy"]):
            assert cli.main(["fit", *map(str, paths), "--json"]) == 0
            results.append(json.loads(capsys.readouterr().out))
        for values in results:
            del values["seconds"], values["columns"]
            values.pop("cost", None)
        assert results[0] == results[1] == results[2]

    def test_files_that_do_not_go_together(self, X, tmp_path, capsys):
        write(tmp_path / "x.npy", X)
        write(tmp_path / "y.csv", X)
        np.save(tmp_path / "z.npy", X[:, :1])
        for second, said in (
            ("y.csv", "must all be of one type"),
            ("z.npy", "z.npy must have the"),
        ):
            assert cli.main(["fit", str(tmp_path / "x.npy"), str(tmp_path / second)]) == 2
            assert f"{tmp_path / 'x.npy'} and 1 more: " in (shown := capsys.readouterr().err)
            assert said in shown

    def test_figure(self, X, tmp_path, capsys):
        np.save(tmp_path / "x.npy", X)
        figure = tmp_path / "x.png"
        assert cli.main(["fit", str(tmp_path / "x.npy"), "--plot", str(figure)]) == 0
        assert figure.stat().st_size > 1000

    def test_error_is_one_line(self, X, tmp_path, capsys):
        rows = X.copy()
        rows[7, 1] = np.nan
        np.save(tmp_path / "x.npy", rows)
        assert cli.main(["fit", str(tmp_path / "x.npy")]) == 2
        said = capsys.readouterr().err
        path = tmp_path / "x.npy"
        assert said == (
            f"elubench: error: {path}: X must be finite, got NaN in row 8, column '2'\n"
        )

    def test_bar(self, monkeypatch):
        from io import StringIO

        from elubench.cli import progress

        class Terminal(StringIO):
            def isatty(self):
                return True

        now = [0.0]
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        monkeypatch.setattr(progress, "_MOMENT", 1.0)
        out = Terminal()
        bar = progress.RowsBar(out)
        for moment, done in ((0.0, 0), (0.5, 10), (2.0, 40), (4.0, 80), (5.0, 100)):
            now[0] = moment
            bar("pass", done * 10**6, 10**8)
        bar("pass", 0, 10**8)
        bar.close()
        shown = [line.rpartition("] ")[2].strip() for line in out.getvalue().split("\r")[1:]]
        assert shown == [
            "pass:  40%  2e7 rows/s  3 s left",
            "pass:  80%  2e7 rows/s  1 s left",
            "pass: 100%  2e7 rows/s  0 s left",
        ]


def test_is_a_chunked_sample_and_public(X, tmp_path):
    assert issubclass(eb.FileSample, ChunkedSample)
    assert issubclass(eb.DaskSample, ChunkedSample)
