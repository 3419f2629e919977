"""``elubench fit``: files, options, output; and the figure."""

import json
import re
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

import elubench as eb
from elubench import cli
from elubench.fits import placing
from elubench.plot import fitted as figures
from elubench.samples import CondensedSample
from elubench.samples.reading import read_table

FAITHFUL = Path(__file__).parent / "data" / "faithful.csv"


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((120, 2)) + 2.5 * rng.choice([-1.0, 1.0], (120, 1))
    return pd.DataFrame(values, columns=["a", "b"])


@pytest.fixture
def files(frame, tmp_path):
    """The same table in every form."""
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    frame.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", frame.to_numpy())
    return tmp_path


def failed(capsys, *arguments):
    """The one line that a refused command prints."""
    assert cli.main(["fit", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("elubench: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


class TestOutput:
    def test_summary(self, capsys):
        status = cli.main(["fit", str(FAITHFUL), "--model", "general", "--columns", "eruptions"])
        assert status == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 80
        assert "misfit" in shown
        assert "n = 272, d = 1" in shown

    def test_test_and_interval(self, files, capsys):
        arguments = ["fit", str(files / "x.csv"), "--p-value=19", "--interval=0.9"]
        assert cli.main(arguments) == 0
        shown = capsys.readouterr().out
        assert "p-value of one Gaussian, from 19 draws" in shown
        assert "at 0.9 " in shown
        assert max(map(len, shown.splitlines())) <= 80
        assert cli.main([*arguments, "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        fit = eb.fit(read_table(files / "x.csv").values)
        assert values["p_value"] == fit.p_value(19)
        assert values["interval"] == fit.interval(0.9).as_dict()

    def test_advice_is_for_the_shell(self, files, frame, capsys):
        """Python's is in the same places in Python."""
        path = files / "messy.csv"
        frame.assign(a=np.nan, text="x").to_csv(path, index=False)
        for options, advised in (
            ([], "with --columns, or .* with --skip-text"),
            (["--skip-text"], "leave such rows out with --drop-missing"),
        ):
            said = failed(capsys, str(path), *options)
            assert re.search(advised, said)
            assert "frame." not in said
        with pytest.raises(ValueError, match=r"frame\.select_dtypes"):
            eb.fit(path)
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((300, 1)) + 6.0 * (rng.random((300, 1)) < 0.2)
        np.save(files / "parts.npy", rows)
        assert cli.main(["fit", str(files / "parts.npy"), "--json"]) == 0
        assert "use free weights, --mixing free" in capsys.readouterr().out
        assert any('General(mixing="free")' in note for note in eb.fit(rows).notes)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_many_rows_of_one_column_are_condensed(self, weighted, files, capsys, monkeypatch):
        """As in ``fit``: the same bits, and the reads of a condensed sample."""
        rng = np.random.default_rng(0)
        X = np.where(rng.random(60_000) < 0.5, -1.5, 1.5) + rng.standard_normal(60_000)
        weights = rng.integers(1, 4, 60_000).astype(float) if weighted else np.ones(60_000)
        path = files / "many.csv"
        pd.DataFrame({"x": X, "w": weights}).to_csv(path, index=False)
        made = []

        class Watched(CondensedSample):
            def __init__(self, X, weights=None):
                made.append(len(X))
                super().__init__(X, weights)

        monkeypatch.setattr(placing, "CondensedSample", Watched)
        options = ["--weights=w"] if weighted else ["--columns=x"]
        assert cli.main(["fit", str(path), *options, "--plot", str(files / "p.png"), "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        assert made == [60_000]
        fit = eb.fit(X[:, None], weights=weights if weighted else None)
        assert values["location"] == fit.location.tolist()
        assert values["passes"] == fit.passes
        assert (files / "p.png").stat().st_size > 0

    def test_all_models(self, files, capsys):
        arguments = ["fit", str(files / "x.csv"), "--model=all"]
        assert cli.main([*arguments, "--json"]) == 0
        values = json.loads(capsys.readouterr().out)
        expected = eb.compare(read_table(files / "x.csv").values)
        assert values == expected.to_dict("records")
        assert cli.main(arguments) == 0
        assert capsys.readouterr().out.count("general") == 4
        assert "need one model" in failed(capsys, *arguments[1:], "--interval=0.9")

    def test_json(self, capsys):
        arguments = ["fit", str(FAITHFUL), "--model=general", "--columns=eruptions", "--json"]
        assert cli.main(arguments) == 0
        values = json.loads(capsys.readouterr().out)
        expected = eb.fit(read_table(FAITHFUL, ["eruptions"]).values, "general").as_dict()
        del values["seconds"], expected["seconds"]
        assert values.pop("columns") == ["eruptions"]
        (note,) = expected["notes"]  # in Python's words there, in the shell's here
        expected["notes"] = [note.replace('General(mixing="free")', "--mixing free")]
        assert values == expected

    def test_options(self, files, capsys):
        arguments = ["--algorithm=elu", "--validation=0.25", "--seed=3", "--starts=2"]
        arguments += ["--max-iter=20", "--model=diagonal", "--json"]
        assert cli.main(["fit", str(files / "x.csv"), *arguments]) == 0
        values = json.loads(capsys.readouterr().out)
        assert (values["algorithm"], values["model"]) == ("ELU", "diagonal")
        assert any("30 rows were held out" in note for note in values["notes"])


class TestFiles:
    @pytest.mark.parametrize("name", ["x.csv", "bare.csv", "x.tsv", "x.parquet", "x.npy"])
    def test_forms(self, name, files, frame):
        table = read_table(files / name)
        np.testing.assert_allclose(table.values, frame.to_numpy(), rtol=1e-14)
        bare = name in ("bare.csv", "x.npy")
        assert table.names == (["1", "2"] if bare else ["a", "b"])
        second = read_table(files / name, ["2" if bare else "b"])
        np.testing.assert_array_equal(second.values, table.values[:, 1:])

    def test_one_dimensional_array(self, tmp_path):
        np.save(tmp_path / "x.npy", np.arange(5))
        assert read_table(tmp_path / "x.npy").values.shape == (5, 1)

    def test_columns_that_are_not_asked_for_may_hold_anything(self, tmp_path):
        (tmp_path / "x.csv").write_text('name, "b"\nalpha, 1\nbeta, 2.5\n')
        np.testing.assert_array_equal(read_table(tmp_path / "x.csv", ["b"]).values, [[1.0], [2.5]])

    @pytest.mark.parametrize(
        ("name", "content", "named"),
        [
            ("none.csv", None, "No such file or directory"),
            ("empty.csv", "", "the file is empty"),
            ("header.csv", "a,b\n", "no rows"),
            ("x.xlsx", "a", ".parquet"),
            ("x", "1\n", "without suffix"),
            ("word.csv", "a,b\n1,2\n3,four\n", "column 'b' is not numeric (row 2 holds 'four')"),
            ("bare.csv", "1,2\n3,four\n", "column '2' is not numeric"),
            ("gap.csv", "a,b\n1,2\n3,\n", "column 'b' has 1 missing value"),
            ("infinite.csv", "a\n1\ninf\n", "infinity"),
            ("one.csv", "a\n1\n", "minimum of 2"),
            ("same.csv", "a\n7\n7\n7\n", "must vary"),
            ("ragged.csv", "a,b\n1,2\n3,4,5\n", "ragged.csv"),
            ("x.npy", "not an array", "x.npy"),
            ("x.parquet", "not a table", "x.parquet"),
        ],
    )
    def test_refused(self, name, content, named, tmp_path, capsys):
        if content is not None:
            (tmp_path / name).write_text(content)
        shown = failed(capsys, tmp_path / name)
        assert named in shown
        assert name in shown

    @pytest.mark.parametrize(
        ("values", "named"),
        [
            (np.zeros((2, 2, 2)), "shape (2, 2, 2)"),
            (np.array([["a"], ["b"]]), "dtype"),
            (np.array([[None]], dtype=object), "Python objects"),
            (np.array([[1j], [2j]]), "complex"),
        ],
    )
    def test_refused_arrays(self, values, named, tmp_path, capsys):
        np.save(tmp_path / "x.npy", values)
        assert named in failed(capsys, tmp_path / "x.npy")

    def test_refused_dates(self, tmp_path, capsys):
        dates = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2020-01-02"])})
        dates.to_parquet(tmp_path / "x.parquet")
        assert "column 'when' is not numeric" in failed(capsys, tmp_path / "x.parquet")

    def test_a_budget_beyond_64_bits(self, capsys):
        said = failed(capsys, FAITHFUL, f"--max-iter={2**63}")
        assert "max_iter must be between 1 and 9223372036854775807, got 9223372036854775808" in said

    def test_a_folder(self, tmp_path, capsys):
        assert "no .npy, .parquet, .csv or .tsv files" in failed(capsys, tmp_path)


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            (["--model", "spherical"], "isotropic"),
            (["--algorithm", "fast"], "newton-anderson"),
            (["--model", "isotropic", "--algorithm", "centred-elu"], "half sum"),
            (["--validation", "2"], "validation"),
            (["--starts", "0"], "starts"),
            (["--starts", "many"], "--starts"),
            (["--columns", "a,c"], "no column 'c'; the columns are a, b"),
            (["--plot", "x.doc"], ".png"),
            (["--plot", "nowhere/x.png"], "nowhere"),
            (["--mod", "general"], "--mod"),
        ],
    )
    def test_refused(self, arguments, named, files, capsys, monkeypatch):
        monkeypatch.chdir(files)
        assert named in failed(capsys, "x.csv", *arguments)

    def test_names_are_checked_before_the_file_is_read(self, capsys):
        assert "algorithm must be" in failed(capsys, "none.csv", "--algorithm", "fast")
        assert ".svg" in failed(capsys, "none.csv", "--plot", "x.doc")


class TestWritten:
    """Predictions, a page and a figure: refused before any work, or written whole."""

    def test_predictions(self, files, frame, capsys, monkeypatch):
        monkeypatch.chdir(files)
        messy = frame.assign(count=2.0, text="x")
        messy.loc[3, "a"] = np.nan
        messy.to_csv("gap.csv", index=False)
        options = ["--drop-missing", "--skip-text", "--weights=count", "--mixing=free"]
        assert cli.main(["fit", "gap.csv", *options, "--predict=p.csv"]) == 0
        capsys.readouterr()
        kept = frame.drop(index=3)
        written = pd.read_csv("p.csv")
        fit = eb.fit(kept, eb.General(mixing="free"), weights=np.full(119, 2.0))
        shares = fit.predict_proba(kept)
        assert written["row"].tolist() == (kept.index + 1).tolist()
        np.testing.assert_allclose(written[["a", "b"]], kept, rtol=1e-14)
        np.testing.assert_allclose(
            written[["probability_1", "probability_2"]], shares, rtol=1e-9, atol=1e-300
        )
        assert (written["component"] == 1 + shares.argmax(axis=1)).all()

    def test_page(self, files, capsys, monkeypatch):
        monkeypatch.chdir(files)
        (files / "x.csv").rename(files / "a<b>.csv")
        assert cli.main(["fit", "a<b>.csv", "--report=r.html", "--interval=0.9"]) == 0
        summary, page = capsys.readouterr().out, (files / "r.html").read_text()
        fit = eb.fit(pd.read_csv("a<b>.csv"))
        assert "separated" in summary
        assert "<strong>Separated.</strong>" in page
        assert "a&lt;b&gt;.csv" in page
        assert "<b>" not in page
        assert "data:image/svg+xml;base64," in page
        assert "http" not in page.replace("http://www.w3.org", "")  # it needs no other file
        for number in [*fit.locations.ravel(), np.sqrt(fit.scale[0])]:
            assert f"<td>{number:.6g}</td>" in page
        low, high = fit.interval(0.9).half_distance
        assert f"<td>half distance {low:.4g} to {high:.4g}</td>" in page
        assert [path.name for path in files.glob("[.]*")] == []

    @pytest.mark.parametrize("option", ["--predict=x.csv", "--report=r.html", "--plot=r.png"])
    def test_nothing_is_replaced_unasked(self, option, files, capsys, monkeypatch):
        monkeypatch.chdir(files)
        name, _, path = option.partition("=")
        Path(path).write_text("mine", encoding="utf-8")
        data = "x.tsv"
        said = failed(capsys, data, option)
        assert f"{name} must be a new file, got {path}; replace it with --force" in said
        assert Path(path).read_text(encoding="utf-8") == "mine"
        assert cli.main(["fit", data, option, "--force"]) == 0
        assert not Path(path).read_bytes().startswith(b"mine")

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            (["--predict=p.txt"], "--predict must end in one of .csv, got p.txt"),
            (["--report=nowhere/r.html"], "--report must be in a folder that exists"),
            (["--predict=x.csv", "--force"], "--predict must not be the file of DATA"),
            (["--mixing=most"], "mixing must be one of equal, free, got 'most'"),
            (["--mixing=0.2,0.2"], "mixing must be 'equal', 'free', or two positive weights"),
            (["--mixing=free", "--model=diagonal"], "--mixing needs the general model"),
            (["--weights=c"], "there is no column 'c'"),
            (["--decimal=;"], "--decimal"),
        ],
    )
    def test_refused(self, options, named, files, capsys, monkeypatch):
        monkeypatch.chdir(files)
        assert named in failed(capsys, "x.csv", *options)

    def test_weights_that_are_none(self, files, capsys):
        (files / "w.csv").write_text("a,w\n1,1\n2,-1\n3,1\n")
        assert "weights must be >= 0, got -1" in failed(capsys, files / "w.csv", "--weights=w")


class TestFigure:
    @pytest.mark.parametrize("suffix", figures.SUFFIXES)
    def test_file(self, suffix, files, capsys):
        path = files / f"figure{suffix}"
        assert cli.main(["fit", str(files / "x.csv"), "--plot", str(path)]) == 0
        start = path.read_bytes()[:5]
        assert start == {".png": b"\x89PNG\r", ".svg": b"<?xml", ".pdf": b"%PDF-"}[suffix]
        if suffix == ".png":
            image = matplotlib.image.imread(path)
            assert image.shape[:2] == (672, 1536)  # density and Q-Q plot
            assert image[..., :3].std() > 0.05
        pyplot = pytest.importorskip("matplotlib.pyplot")
        assert pyplot.get_fignums() == []

    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    @pytest.mark.parametrize("d", [1, 3])
    def test_curves_are_densities(self, model, d):
        rng = np.random.default_rng(d)
        X = rng.standard_normal((300, d)) * np.arange(1.0, d + 1.0)
        X += 4.0 * rng.choice([-1.0, 1.0], (300, 1))
        fit = eb.fit(X, model)
        axes = figures.fit(fit, X, "length").axes[0]
        curves = {line.get_label(): line.get_xydata() for line in axes.lines}
        area = {name: np.trapezoid(xy[:, 1], xy[:, 0]) for name, xy in curves.items()}
        assert area["two Gaussians"] == pytest.approx(1.0, abs=0.06)
        assert area["component 1"] == pytest.approx(0.5, abs=0.05)
        stairs = axes.patches[0].get_data()
        assert np.sum(stairs.values * np.diff(stairs.edges)) == pytest.approx(1.0)
        # the mixture follows the histogram better than one Gaussian does
        middles = 0.5 * (stairs.edges[1:] + stairs.edges[:-1])
        off = {
            name: np.abs(np.interp(middles, *curves[name].T) - stairs.values).sum()
            for name in ("two Gaussians", "one Gaussian")
        }
        assert off["two Gaussians"] < 0.6 * off["one Gaussian"]
        assert axes.get_title() == f"{model} model, n = 300, d = {d}: {fit.regime}"
        named = axes.get_xlabel()
        assert named == ("length" if d == 1 else "projection on the fitted direction")

    def test_notebooks_show_a_picture(self):
        X = np.random.default_rng(0).standard_normal((50, 1))
        assert figures.fit(eb.fit(X), X)._repr_png_().startswith(b"\x89PNG")

    def test_whole_numbers_make_no_comb(self):
        X = np.round(10.0 * np.random.default_rng(0).standard_normal((2000, 1)))
        edges = figures._edges(X[:, 0], None, 7.3)
        width = edges[1] - edges[0]
        assert width == round(width)
        assert (edges[0] % 1.0) == 0.5
        assert edges[0] < X.min()
        assert edges[-1] > X.max()

    def test_lattice_and_weights(self):
        sample = eb.LatticeSample.gaussian(10**8, 1, seed=0)
        stairs = figures.fit(eb.fit(sample), sample).axes[0].patches[0].get_data()
        middles = 0.5 * (stairs.edges[1:] + stairs.edges[:-1])
        density = np.exp(-0.5 * middles**2) / np.sqrt(2.0 * np.pi)
        np.testing.assert_allclose(stairs.values, density, atol=2e-3)
        X, weights = np.array([[-1.0], [0.9], [5.0]]), np.array([3.0, 3.0, 0.0])
        weighted = eb.ArraySample(X, weights)
        figure = figures.fit(eb.fit(weighted, "isotropic"), weighted)
        assert figure.axes[0].patches[0].get_data().edges[-1] < 2.0

    def test_coinciding_locations_have_a_figure(self):
        from dataclasses import replace

        X = eb.gaussian(50, 2, seed=0)
        fit = replace(eb.fit(X, "isotropic"), location=np.zeros(2))
        assert figures.fit(fit, X).axes

    def test_other_data_refused(self):
        fit = eb.fit(eb.gaussian(50, 2, seed=0))
        with pytest.raises(ValueError, match="d=2"):
            figures.fit(fit, np.zeros((5, 3)) + np.arange(5)[:, None])
