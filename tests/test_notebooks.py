"""The notebooks as they are committed; what they import; and the results that they find or make."""

import ast
import base64
import dataclasses
import importlib.util
import io
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import planted
import pytest
from conftest import ROOT, needs_jit
from matplotlib.figure import Figure

from elubench.papers.beyond_em import PAPER, agreement
from elubench.peers import timings
from elubench.studies.store import StoreError
from elubench.verification import Level, Probe, gathering

ANALYSIS = Path(__file__).parent.parent / "analysis"
NOTEBOOKS = sorted(ANALYSIS.glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
README = (ANALYSIS / "README.md").read_text(encoding="utf-8")

# A path that begins at the root of a file system. What a link, a tag or a fraction has before its
# slash tells them apart.
_ABSOLUTE = re.compile(r"(?<![\w.<:/*)])/[A-Za-z_]+/|\b[A-Z]:\\\\")
_LARGEST_THUMBNAIL = 40_000  # bytes
#: What every reader knows; a notebook may import two names more.
_USUAL = {"elubench as eb", "numpy as np", "pandas as pd", "seaborn as sns"}
_USUAL |= {"matplotlib.pyplot as plt"}
_MORE = 2


def imported(source):
    """The names that code imports, as they are written."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for name in node.names:
                found.add(base + name.name + (f" as {name.asname}" if name.asname else ""))
    return found


def code_of(path):
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def test_imports_are_seen():
    code = "import os\nimport numpy as np\nfrom a.b import c, _d as e\ndef f():\n    import g"
    assert imported(code) == {"os", "numpy as np", "a.b.c", "a.b._d as e", "g"}


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
        assert re.search(r"^[A-Z]+ = ", cells[1].source, re.MULTILINE)
        headings = [place for place, cell in enumerate(cells) if cell.source == "## Conclusion"]
        assert len(headings) == 1
        assert headings[0] < len(cells) - 1
        assert cells[-1].source.splitlines()[-1].startswith("Markdown(")
        assert "sentences = [" in cells[-1].source

    def test_a_reader_knows_what_is_imported(self, path):
        """Frames, seaborn and matplotlib are in the open; nothing private is used."""
        code = code_of(path)
        found = imported(code)
        assert found >= _USUAL
        assert len(found - _USUAL) <= _MORE
        own = {name for name in found - _USUAL if name.startswith("elubench")}
        assert all(name.startswith("elubench.papers.") for name in own)
        private = [
            node.attr
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Attribute) and node.attr.startswith("_")
        ]
        assert private == []

    def test_one_cell_has_the_thumbnail(self, path):
        ids = [cell.id for cell in nbformat.read(path, as_version=4).cells]
        assert sum(one.endswith("-thumbnail") for one in ids) == 1

    def test_named_with_its_thumbnail(self, path):
        assert f"({path.name})" in README
        picture = ANALYSIS / "thumbnails" / f"{path.stem}.png"
        assert f"(thumbnails/{picture.name})" in README
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert picture.stat().st_size < _LARGEST_THUMBNAIL


def test_no_thumbnail_is_left_over():
    assert sorted(path.stem for path in (ANALYSIS / "thumbnails").iterdir()) == NAMES


def test_thumbnails_are_small_and_the_same_every_time(tmp_path):
    spec = importlib.util.spec_from_file_location("notebook_runner", ROOT / ".ci" / "notebooks.py")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    figure, picture = Figure((7.6, 3.0)), io.BytesIO()
    figure.subplots().plot([1, 2, 3])
    figure.savefig(picture, format="png")
    shown = {"image/png": base64.b64encode(picture.getvalue()).decode()}
    cells = [nbformat.v4.new_code_cell("", id="01-first"), nbformat.v4.new_code_cell("")]
    cells[1]["id"] = "01-thumbnail"
    cells[1].outputs = [
        nbformat.v4.new_output("stream", text="n = 1"),
        nbformat.v4.new_output("display_data", shown),
    ]
    for name in ("a.png", "b.png"):
        runner.write_thumbnail(cells, tmp_path / name)
    first = (tmp_path / "a.png").read_bytes()
    assert first == (tmp_path / "b.png").read_bytes()
    assert len(first) < _LARGEST_THUMBNAIL


# The paper's panels in numbers.


def _path(errors, algorithm="EM", radius=0.01):
    t = np.arange(len(errors))
    return pd.DataFrame(
        {"algorithm": algorithm, "replicate": 0, "t": t, "location_error": errors, "radius": radius}
    )


class TestAgreement:
    def test_times_of_steps(self):
        times = agreement.step_times(_path(2.0 ** -np.arange(5.0)), factor=2.0)
        np.testing.assert_allclose(times, [1.0, 2.0, 3.0], rtol=1e-12)  # the last is too close


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
