"""The notebooks as they are committed; what they show; and the results that they find or make."""

import dataclasses
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import planted
import pytest
from conftest import needs_jit
from matplotlib.figure import Figure

from elubench import rates
from elubench.papers.beyond_em import PAPER, agreement
from elubench.peers import timings
from elubench.report import contest_figure as contests
from elubench.report import notebook
from elubench.studies.store import StoreError
from elubench.verification import Level, Probe, gathering, near
from elubench.verification.verdicts import Finding, Measurement

ANALYSIS = Path(__file__).parent.parent / "analysis"
NOTEBOOKS = sorted(ANALYSIS.glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
README = (ANALYSIS / "README.md").read_text(encoding="utf-8")

# A path that begins at the root of a file system. What a link, a tag or a fraction has before its
# slash tells them apart.
_ABSOLUTE = re.compile(r"(?<![\w.<:/*)])/[A-Za-z_]+/|\b[A-Z]:\\\\")
_LARGEST_THUMBNAIL = 40_000  # bytes


def test_all_eight():
    assert [name[:2] for name in NAMES] == [f"{k:02d}" for k in range(1, 9)]


@pytest.mark.parametrize(
    ("text", "absolute"),
    [
        (f'"{Path("/").joinpath("somewhere", "data.csv").as_posix()}"', True),
        ('"C:\\\\data"', True),
        ('"../verification"', False),
        ("https://example.org/a/b", False),
        ("</b> and n/d/2", False),
    ],
)
def test_absolute_paths_are_told_apart(text, absolute):
    assert bool(_ABSOLUTE.search(text)) is absolute


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
class TestCommitted:
    def test_without_what_a_run_leaves(self, path):
        found = nbformat.read(path, as_version=4)
        nbformat.validate(found)
        for cell in found.cells:
            assert not cell.metadata
            if cell.cell_type == "code":
                assert cell.outputs == []
                assert cell.execution_count is None
        assert set(found.metadata) == {"kernelspec", "language_info"}
        assert found.metadata.kernelspec.name == "python3"
        assert set(found.metadata.language_info) == {"name"}

    def test_ids_are_stable(self, path):
        ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
        assert len(set(ids)) == len(ids)
        assert all(one.startswith(path.stem[:2]) for one in ids)

    def test_no_path_of_a_machine(self, path):
        assert not _ABSOLUTE.search(path.read_text(encoding="utf-8"))

    def test_story_parameters_and_conclusion(self, path):
        cells = nbformat.read(path, as_version=4).cells
        assert cells[0].cell_type == "markdown"
        assert cells[0].source.startswith("# ")
        assert "**Question.**" in cells[0].source
        assert cells[1].cell_type == "code"
        assert "os.environ.get(" in cells[1].source
        headings = [place for place, cell in enumerate(cells) if cell.source == "## Conclusion"]
        assert len(headings) == 1
        assert "said(" in cells[-1].source
        assert headings[0] < len(cells) - 1

    def test_captions(self, path):
        """Whatever is shown has a caption, and one figure is the thumbnail."""
        source = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)
        assert source.count("shown(") >= 2
        assert f'"{path.stem}"' in source

    def test_named_with_its_thumbnail(self, path):
        assert f"({path.name})" in README
        picture = ANALYSIS / "thumbnails" / f"{path.stem}.png"
        assert f"(thumbnails/{picture.name})" in README
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert picture.stat().st_size < _LARGEST_THUMBNAIL


def test_no_thumbnail_is_left_over():
    assert sorted(path.stem for path in (ANALYSIS / "thumbnails").iterdir()) == NAMES


# What notebooks show.


def _finding(verdict="supported"):
    one = Measurement(near("exponent of n", -0.125, 0.025), -0.124, -0.131, -0.117)
    return Finding(PAPER.claims[0], verdict, (one,), "")


class TestShown:
    def test_text_is_escaped_and_set_as_in_print(self):
        html = notebook.said("a < b at n^(-1/8), from -0.5 to 2e-10")._repr_html_()
        assert "a &lt; b at n<sup>−1/8</sup>, from −0.5 to 2·10<sup>−10</sup>" in html  # noqa: RUF001
        assert repr(notebook.said("one", "", "two")) == "- one\n- two"

    def test_figure_and_caption(self):
        figure = Figure((2.0, 1.0))
        html = notebook.shown(figure, "d >= 2")._repr_html_()
        assert 'width="192"' in html
        assert "data:image/png;base64," in html
        assert "d\u00a0≥\u00a02" in html
        assert "no runs" in repr(notebook.shown(None, "x"))

    def test_thumbnail_is_written_where_asked(self, tmp_path, monkeypatch):
        figure = Figure((7.6, 3.0))
        figure.subplots().plot([1, 2, 3])
        notebook.shown(figure, "x", "name")
        monkeypatch.setenv(notebook.THUMBNAILS, str(tmp_path / "pictures"))
        notebook.shown(figure, "x")
        notebook.shown(figure, "x", "name")
        (found,) = (tmp_path / "pictures").iterdir()
        assert found.name == "name.png"
        first = found.read_bytes()
        assert len(first) < _LARGEST_THUMBNAIL
        notebook.shown(figure, "x", "name")
        assert found.read_bytes() == first

    def test_table(self):
        table = pd.DataFrame({"what": ["<a>", None], "n": [1000, 2], "x": [0.5, np.nan]})
        html = notebook.tabled(table, "caption")._repr_html_()
        for text in ("&lt;a&gt;", "1,000", "0.5", "–", "caption"):  # noqa: RUF001
            assert text in html

    def test_verdicts(self):
        found = notebook.verdicts([_finding()], PAPER.claims[0].key)
        assert "<strong>supported</strong>" in found._repr_html_()
        assert "−0.1240 [−0.1310, −0.1170]" in found._repr_html_()  # noqa: RUF001
        with pytest.raises(KeyError):
            notebook.verdicts([_finding()], "no such claim")

    def test_estimate_is_rounded_where_its_interval_ends(self):
        assert notebook.estimate(0.12345, 0.11, 0.14) == "0.123 [0.110, 0.140]"
        assert notebook.estimate(-0.25, -0.25, -0.25) == "−0.25"  # noqa: RUF001


# The paper's panels in numbers.


def _path(errors, algorithm="EM", radius=0.01):
    t = np.arange(len(errors))
    return pd.DataFrame(
        {"algorithm": algorithm, "replicate": 0, "t": t, "location_error": errors, "radius": radius}
    )


class TestAgreement:
    def test_slowing_of_planted_paths(self):
        t = np.arange(5000.0)
        linear = _path(0.9 * 0.97 ** t[:150], "ELU")
        power = _path((0.9**-6 + 4.0 * t) ** (-1 / 6))
        paths = pd.concat([linear, power], ignore_index=True)
        kept = pd.DataFrame({"algorithm": ["ELU", "EM"], "status": ["diverged", "max_iter"]})
        found = agreement.descents(paths, kept).set_index("algorithm")
        assert found.loc["ELU", "slowing"] == pytest.approx(1.0, rel=1e-6)
        assert found.loc["EM", "slowing"] == pytest.approx(
            agreement.sublinear("isotropic", 1), rel=0.1
        )
        assert found.loc["ELU", "ended"] == "diverged"
        assert found.loc["EM", "after"] == 4999

    def test_times_of_steps(self):
        times = agreement.step_times(_path(2.0 ** -np.arange(5.0)), factor=2.0)
        np.testing.assert_allclose(times, [1.0, 2.0, 3.0], rtol=1e-12)  # the last is too close


class TestContests:
    @pytest.mark.parametrize("law", rates.LAWS)
    def test_law_at_its_constants(self, law):
        n = np.array([np.e, np.e**2])
        expected = {"logarithm": [3.0, 5.0], "power": [np.e**2, np.e**4]}
        want = expected.get(law, [1.0, 4.0])
        np.testing.assert_allclose(contests.law_at(law, 1.0, 2.0, n), want, rtol=1e-12)

    def test_figure_of_planted_growth(self):
        rows = planted.evidence().results
        rows = rows[(rows["stop"] == "radius") & (rows["samples"] == "lattice")]
        rows = rows[rows["model"] == "isotropic"]
        figure = contests.contest_figure(rows[rows["algorithm"].isin(["EM", "ELU"])])
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert titles == ["EM, d = 1", "ELU, d = 1", "EM, d = 2", "ELU, d = 2"]
        told = [text.get_text() for axes in figure.axes for text in axes.texts]
        assert len(told) == 3 * len(titles)
        assert all(text.endswith(" %") for text in told)


def _asv(folder, commit, date, value):
    """Results of asv with one value for each of three benchmarks."""
    columns = ["result", "params", "version", "stats_q_25", "stats_q_75"]

    def row(*names):
        return [[value], [[name] for name in names], "1", [0.9 * value], [1.1 * value]]

    runs = "radius.OneThread.time_to_radius"
    results = {
        runs: row("'isotropic'", "'ELU'", "10000", "4"),
        "kernels.Pass.time_pass": row("10000", "4", "2"),
        "kernels.LibraryTanh.time_pass": row("10000", "2"),
    }
    names = {"param_names": ["n", "d", "threads"]}
    known = {
        runs: {"param_names": ["model", "algorithm", "n", "d"]},
        "kernels.Pass.time_pass": names,
        "kernels.LibraryTanh.time_pass": {"param_names": ["n", "threads"]},
    }
    (folder / "desk").mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(json.dumps(known))
    content = {
        "commit_hash": commit, "date": date, "params": {"machine": "desk"}, "env_name": "same",
        "python": "3.11", "result_columns": columns, "results": results, "version": 2,
    }  # fmt: skip
    (folder / "desk" / f"{commit}-same.json").write_text(json.dumps(content))


class TestTimings:
    def test_the_last_results_of_asv(self, tmp_path):
        _asv(tmp_path, "old", 1000, 5.0)
        _asv(tmp_path, "new", 2000, 3.0)
        found = timings.from_asv(tmp_path)
        assert found.source == "asv, commit new, machine desk"
        assert found.to_radius.to_dict("records") == [
            {
                "algorithm": "ELU",
                "n": 10_000,
                "d": 4,
                "threads": 1,
                "seconds": 3.0,
                "low": 2.7,
                "high": pytest.approx(3.3),
            }
        ]
        assert found.passes[["what", "n", "d", "threads"]].to_numpy().tolist() == [
            ["pass", 10_000, 4, 2]
        ]

    def test_no_results_of_asv(self, tmp_path):
        assert timings.from_asv(tmp_path / "nowhere") is None
        assert timings.from_asv(tmp_path) is None

    @needs_jit
    def test_measured(self, monkeypatch):
        monkeypatch.setattr(timings, "RUN_SIZES", (1000,))
        monkeypatch.setattr(timings, "RUN_WIDTHS", (1, 2))
        monkeypatch.setattr(timings, "PASS_SIZES", ((1000, 1),))
        found = timings.measured(seed=1, rounds=2)
        assert set(found.to_radius["algorithm"]) == {one.name for one in timings.CONTESTANTS}
        assert set(found.passes["what"]) == {"pass", "reading", "tanh"}
        assert (found.passes["low"] <= found.passes["high"]).all()


# Results at hand.


@pytest.fixture
def made():
    """A paper whose levels take seconds, and how its table was made."""
    calls = []

    def measure(seed, replicates):
        calls.append((replicates, seed))
        return planted.lemma_tables()["lemmas"]

    small = {name: Level(("smoke",), {"lemmas": {"replicates": k}}) for name, k in SMALL.items()}
    probes = {"lemmas": Probe("lemmas", measure)}
    return dataclasses.replace(PAPER, levels=small, probes=probes), calls


SMALL = {"quick": 20, "paper": 60}


@needs_jit
class TestAtHand:
    def test_made_once(self, made, tmp_path):
        (paper, calls), said = made, []
        first = gathering.at_hand(paper, tmp_path / "results", say=said.append)
        assert first.level == "quick"
        assert len(said) == 2
        again = gathering.at_hand(paper, tmp_path / "results", say=said.append)
        assert len(said) == 2
        assert len(calls) == 1
        pd.testing.assert_frame_equal(first.results, again.results)

    def test_what_is_lost_is_made_with_the_folder_s_own_seed(self, made, tmp_path):
        paper, calls = made
        gathering.gather(paper, "quick", tmp_path / "results", seed=3)
        (tmp_path / "results" / "lemmas.parquet").unlink()
        assert gathering.at_hand(paper, tmp_path / "results").seed == 3
        assert calls == [(20, 3), (20, 3)]

    def test_a_larger_level_is_read_but_not_finished(self, made, tmp_path):
        paper, calls = made
        gathering.gather(paper, "paper", tmp_path / "results")
        assert gathering.at_hand(paper, tmp_path / "results").level == "paper"
        assert calls == [(60, 0)]
        (tmp_path / "results" / "lemmas.parquet").unlink()
        with pytest.raises(StoreError, match=r"lemmas not finished.*--level paper"):
            gathering.at_hand(paper, tmp_path / "results")

    def test_something_else_is_refused(self, tmp_path):
        (tmp_path / "verification.json").write_text(json.dumps({"level": "none"}))
        with pytest.raises(StoreError, match="damaged"):
            gathering.at_hand(PAPER, tmp_path)
