"""Tables from files: what separates the fields, what is refused, which columns are remarked upon."""

import gzip
import json
import os

import numpy as np
import pandas as pd
import pytest

from elubench import cli
from elubench.samples.reading import Wanted, read_table


@pytest.fixture
def read(tmp_path):
    """Reads a file with this content."""

    def written(content, columns=None, name="x.csv"):
        (tmp_path / name).write_text(content)
        return read_table(tmp_path / name, columns)

    return written


class TestSeparators:
    @pytest.mark.parametrize("separator", [",", ";", "\t"])
    @pytest.mark.parametrize("header", [True, False], ids=["header", "bare"])
    def test_found(self, read, separator, header):
        lines = ["a,b,c"] * header + ["1.5,2,3", "4,5.25,7", "-1e3,0,9"]
        table = read("\n".join(lines).replace(",", separator) + "\n")
        assert table.names == (["a", "b", "c"] if header else ["1", "2", "3"])
        np.testing.assert_array_equal(table.values, [[1.5, 2, 3], [4, 5.25, 7], [-1000, 0, 9]])
        assert table.notes == ()

    @pytest.mark.parametrize(
        ("separator", "name"), [(";", "x.csv"), ("\t", "x.csv"), ("\t", "x.tsv")]
    )
    @pytest.mark.parametrize("header", [True, False], ids=["header", "bare"])
    def test_decimal_commas(self, read, separator, name, header):
        lines = ["a;b"] * header + ["1,5;2", "-4,25e1;5,125", "3;0,5"]
        table = read("\n".join(lines).replace(";", separator) + "\n", name=name)
        np.testing.assert_array_equal(table.values, [[1.5, 2], [-42.5, 5.125], [3, 0.5]])
        assert "commas are read as decimal points" in table.notes[0]

    def test_decimal_commas_after_many_whole_numbers(self, read):
        table = read("a;b\n" + "1;2\n" * 500 + "1,5;2\n")
        assert table.values[-1].tolist() == [1.5, 2.0]

    def test_both_kinds_of_decimals_are_refused(self, read):
        with pytest.raises(
            ValueError, match=r"column 'b' is not numeric \(row 1 holds the .* '2.5'\)"
        ):
            read("a;b\n1,5;2.5\n1,25;3.5\n")

    def test_semicolons_in_the_text_of_a_column(self, read):
        table = read('name,b\n"one; two",1\n"three; four",2.5\n', ["b"])
        np.testing.assert_array_equal(table.values, [[1.0], [2.5]])

    def test_commas_in_quotes(self, read):
        table = read('"size, in mm",b\n1,2\n3,5\n')
        assert table.names == ["size, in mm", "b"]

    def test_blank_lines_are_no_rows(self, read):
        np.testing.assert_array_equal(read("\na,b\n\n1,2\n  \n3,5\n\n").values, [[1, 2], [3, 5]])


class TestRagged:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("a,b\n1,2,3\n4,5,6\n", "the header, 2, got 3 fields in row 1"),
            ("a,b\n1,2,3,4\n4,5,6,7\n", "the header, 2, got 4 fields in row 1"),
            ("a,b\n1,2,\n4,5,\n", "the header, 2, got 3 fields in row 1"),
            ("a,b\n1,2\n4,5,6\n", "the header, 2, got 3 fields in row 2"),
            ("a,b,c\n1,2,3\n4,5,6\n7,8\n", "the header, 3, got 2 fields in row 3"),
            ("1,2\n3,4\n5\n", "row 1, 2, got 1 field in row 3"),
            ("a\n1,5\n2,5\n", "the header, 1, got 2 fields in row 1 .commas"),
            ("a,b\n1;2\n3;4\n", "the header, 2, got 1 field in row 1"),
        ],
    )
    def test_refused(self, read, content, message):
        with pytest.raises(ValueError, match=f"x.csv: every row must have as many .* as {message}"):
            read(content)

    def test_far_down(self, read):
        with pytest.raises(ValueError, match="got 3 fields in row 5001"):
            read("a;b\n" + "1;2\n" * 5000 + "1;2;3\n")

    def test_an_open_quote(self, read):
        with pytest.raises(ValueError, match=r"x\.csv: "):
            read('a,b\n1,"2\n' + "3,4\n" * 50_000)


class TestNotes:
    @pytest.mark.parametrize("first", [0, 1])
    @pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.npy"])
    def test_an_index(self, tmp_path, first, name):
        frame = pd.DataFrame({"row": np.arange(first, first + 20), "b": np.linspace(3, 4, 20) ** 2})
        if name == "x.npy":
            np.save(tmp_path / name, frame.to_numpy())
        elif name == "x.parquet":
            frame.to_parquet(tmp_path / name)
        else:
            frame.to_csv(tmp_path / name, index=False)
        (note,) = read_table(tmp_path / name).notes
        shown = "1" if name == "x.npy" else "row"
        assert note.startswith(f"column '{shown}' numbers the rows from {first} to {first + 19}")
        assert read_table(tmp_path / name, ["2" if name == "x.npy" else "b"]).notes == ()

    def test_the_unnamed_index_of_a_frame(self, tmp_path):
        pd.DataFrame({"a": [2.5, 1.0, 7.0, 3.0]}).to_csv(tmp_path / "x.csv")
        (note,) = read_table(tmp_path / "x.csv").notes
        assert note.startswith("column 'Unnamed: 0' numbers the rows from 0 to 3")

    def test_a_constant(self, read):
        assert read("a,b\n1,7\n5,7\n4,7\n").notes == ("column 'b' is constant: every value is 7",)

    @pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "float32"])
    def test_dtypes(self, tmp_path, dtype):
        rows = np.array([[0, 1], [1, 1], [0, 1]]).repeat(200, axis=0).astype(dtype)
        np.save(tmp_path / "x.npy", rows)
        assert read_table(tmp_path / "x.npy").notes == ("column '2' is constant: every value is 1",)

    def test_ordinary_columns(self, read):
        assert read("a,b,c\n0,1,5\n1,3,4\n3,2,5\n2,4,5\n").notes == ()

    def test_shown_by_fit(self, tmp_path, capsys):
        rows = np.random.default_rng(0).standard_normal((40, 2))
        pd.DataFrame(rows, columns=["a", "b"]).to_csv(tmp_path / "x.csv")
        path = str(tmp_path / "x.csv")
        assert cli.main(["fit", path, "--model=general"]) == 0
        assert "column 'Unnamed: 0' numbers" in capsys.readouterr().out
        assert cli.main(["fit", path, "--model=general", "--json"]) == 0
        assert "Unnamed: 0" in json.loads(capsys.readouterr().out)["notes"][0]


class TestDamaged:
    def test_an_archive_called_npy(self, tmp_path):
        with open(tmp_path / "x.npy", "wb") as file:
            np.savez(file, a=np.ones(3))
        with pytest.raises(ValueError, match=r"x\.npy: .* got an \.npz archive"):
            read_table(tmp_path / "x.npy")

    @pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
    def test_bytes_changed(self, tmp_path, name):
        """Whatever the libraries raise for a damaged file, the message names the file."""
        path = tmp_path / name
        rows = np.random.default_rng(0).standard_normal((50, 2))
        if name == "x.npy":
            np.save(path, rows)
        else:
            pd.DataFrame(rows, columns=["a", "b"]).to_parquet(path)
        whole = path.read_bytes()
        rng = np.random.default_rng(1)
        messages = []
        for _ in range(300):
            damaged = bytearray(whole)
            header = range(128) if name == "x.npy" else range(len(whole) - 2000, len(whole))
            for place in rng.choice(header, 3):
                damaged[place] = rng.integers(256)
            path.write_bytes(damaged)
            try:
                read_table(path)
            except ValueError as error:
                messages.append(str(error))
        assert len(messages) > 100
        assert all(message.startswith(f"{path}: ") for message in messages)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
    def test_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "x.csv")
        with pytest.raises(ValueError, match=r"x\.csv: must be a regular file, got a pipe"):
            read_table(tmp_path / "x.csv")

    def test_no_rows(self, tmp_path):
        np.save(tmp_path / "x.npy", np.empty((0, 2)))
        with pytest.raises(ValueError, match=r"x\.npy: there are no rows"):
            read_table(tmp_path / "x.npy")


class TestColumns:
    @pytest.mark.parametrize("name", ["x.csv", "x.npy"])
    def test_twice(self, tmp_path, name):
        (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
        np.save(tmp_path / "x.npy", np.ones((3, 2)))
        asked = ["1", "1"] if name == "x.npy" else ["a", "a"]
        with pytest.raises(ValueError, match=f"columns must be different, got '{asked[0]}' more"):
            read_table(tmp_path / name, asked)


MESSY = "name,a,b,count\nx,1,,2\ny,2,5,1\nz,4,7,\nu,8,9,3\n"


class TestMessy:
    @pytest.fixture
    def messy(self, tmp_path):
        """Reads a file with this content as it is wanted."""

        def written(content, name="x.csv", **wanted):
            raw = content.encode()
            (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
            return read_table(tmp_path / name, wanted=Wanted(**wanted))

        return written

    @pytest.mark.parametrize(("name", "separator"), [("x.csv.gz", ";"), ("x.TSV.GZ", "\t")])
    def test_compressed(self, messy, tmp_path, name, separator):
        text = "a,b\n1.5,2\n3,4\n".replace(",", separator)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table.values, [[1.5, 2.0], [3.0, 4.0]])
        assert table.names == ["a", "b"]

    def test_damaged_compression(self, tmp_path):
        whole = gzip.compress(b"a,b\n" + b"1,2\n" * 5000)
        for raw in (whole[: len(whole) // 2], b"a,b\n1,2\n", whole[:-6] + b"??????"):
            (tmp_path / "x.csv.gz").write_bytes(raw)
            with pytest.raises(ValueError, match=r"x.csv.gz: the file cannot be decompressed"):
                read_table(tmp_path / "x.csv.gz")

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ("1,5\n2,25\n", [[1.5], [2.25]]),
            ("a\n1,5\n2,25\n", [[1.5], [2.25]]),
            ("a;b\n1,5;2\n2,25;-3,5e1\n", [[1.5, 2], [2.25, -35]]),
            ('a,b\n"1,5",2\n"2,25",3\n', [[1.5, 2], [2.25, 3]]),
        ],
    )
    def test_decimal_commas_as_told(self, messy, content, expected):
        table = messy(content, decimal=",")
        np.testing.assert_array_equal(table.values, expected)
        assert table.notes == ()

    def test_decimal_points_as_told(self, messy):
        with pytest.raises(ValueError, match=r"column 'a' is not numeric \(row 1 holds '1,5'\)"):
            messy("a;b\n1,5;2\n2,5;3\n", decimal=".")

    def test_missing_values_are_named(self, messy):
        with pytest.raises(
            ValueError, match=r"'b' has 1 missing value \(row 1\); .* frame.dropna\(\)"
        ):
            messy(MESSY, columns=["a", "b"])
        rows = "\n".join("1,2" if k % 2 else "1," for k in range(20))
        message = r"'b' has 10 missing values \(rows 1, 3, 5, 7, 9, \.\.\.\)"
        with pytest.raises(ValueError, match=message):
            messy(f"a,b\n{rows}\n")

    def test_missing_values_are_left_out(self, messy):
        table = messy(MESSY, drop_missing=True, skip_text=True, weights="count")
        np.testing.assert_array_equal(table.values, [[2, 5], [8, 9]])
        assert (table.names, table.weights.tolist(), table.rows.tolist()) == (
            ["a", "b"], [1, 3], [2, 4]
        )  # fmt: skip
        assert table.notes == (
            "column 'name' is not numeric (row 1 holds 'x') and was left out",
            "2 of 4 rows lack a value and were left out (rows 1, 3)",
        )

    def test_missing_values_of_an_array(self, tmp_path):
        np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 7.0]]))
        with pytest.raises(ValueError, match=r"x.npy: column '2' has 1 missing value \(row 2\)"):
            read_table(tmp_path / "x.npy")
        table = read_table(tmp_path / "x.npy", wanted=Wanted(drop_missing=True, weights="1"))
        assert (table.values.tolist(), table.weights.tolist()) == ([[2.0], [7.0]], [1.0, 5.0])

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [
            ({}, "column 'name' is not numeric .row 1 holds 'x'.; .* frame.select_dtypes"),
            ({"columns": ["a"], "weights": "a"}, "'a' cannot be both fitted and the weights"),
            (
                {"columns": ["a"], "weights": "w"},
                "no column 'w'; the columns are name, a, b, count",
            ),
            ({"columns": ["name"], "skip_text": True}, "no columns of numbers"),
        ],
    )
    def test_refused(self, messy, wanted, message):
        with pytest.raises(ValueError, match=message):
            messy(MESSY, **wanted)

    def test_nothing_left(self, messy):
        with pytest.raises(ValueError, match="every row has a missing value"):
            messy("a,b\n1,\n,2\n", drop_missing=True)
        with pytest.raises(ValueError, match="a column beside the weights, got 'a' alone"):
            messy("a\n1\n2\n", weights="a")
