"""A verification from its studies to its report: made, resumed, refused, reported."""

import dataclasses
import json
import re
import shutil

import pandas as pd
import planted
import pytest
from conftest import needs_jit

import elubench
from elubench import cli, studies
from elubench.papers import named, reseeding, verifying
from elubench.papers.beyond_em import PAPER
from elubench.studies import presets, reading
from elubench.studies.store import StoreError
from elubench.verification import Level, Probe, gathering

pytestmark = needs_jit  # real studies


@pytest.fixture
def small(monkeypatch):
    """The paper with a level that takes seconds, and how its tables were made.

    The smallest study, tables that are planted, and no figures: their own tests draw them.
    """
    calls = []

    def probe(name):
        def measure(seed, rounds):
            calls.append((name, rounds, seed))
            return planted.lemma_tables()[name]

        return Probe(f"the table of {name}", measure)

    names = ("lemmas", "costs")
    paper = dataclasses.replace(
        PAPER,
        levels={"quick": Level(("smoke",), {name: {"rounds": 7} for name in names})},
        probes={name: probe(name) for name in names},
        figures={
            key: dataclasses.replace(one, rows=lambda _: (pd.DataFrame(),))
            for key, one in PAPER.figures.items()
        },
    )
    monkeypatch.setattr("elubench.papers.beyond_em.paper.PAPER", paper)
    return calls


def test_from_nothing_to_the_report_and_again(small, tmp_path):
    out, said, seen = tmp_path / "out", [], []
    done = elubench.verify("beyond-em", "quick", out, say=said.append, progress=seen.append)
    assert done.report == out / "report.html"
    assert small == [("lemmas", 7, 0), ("costs", 7, 0)]
    assert said == [
        "study smoke (1 of 1)",
        "the table of lemmas",
        "the table of costs",
        "fits, figures and the report",
    ]
    assert seen[-1].finished
    for name in ("report.html", "claims.json", "claims.md"):
        assert (out / name).stat().st_size > 100
    found = json.loads((out / "claims.json").read_text())
    text = json.dumps(found)
    assert all(one.claim.key in text for one in done.findings)
    # a smoke study is too small for most claims, and they say so
    assert done.surprises
    assert {one.verdict for one in done.findings} >= {"inconclusive", "supported"}

    small.clear()
    before = studies.load_results(out / "smoke")
    again = elubench.verify(out=out)
    assert small == []
    pd.testing.assert_frame_equal(studies.load_results(out / "smoke"), before)
    assert [one.as_dict() for one in again.findings] == [one.as_dict() for one in done.findings]
    # and what is there can be reported on without running anything
    (out / "report.html").unlink()
    assert verifying.report(out).report.exists()


def test_what_is_lost_is_made_again(small, tmp_path):
    out = tmp_path / "out"
    elubench.verify(out=out)
    small.clear()
    whole = (out / "costs.parquet").read_bytes()
    (out / "costs.parquet").write_bytes(whole[: len(whole) // 2])
    elubench.verify(out=out)
    assert [name for name, *_ in small] == ["costs"]
    pd.testing.assert_frame_equal(
        gathering.load(named("beyond-em"), out).tables["costs"], planted.lemma_tables()["costs"]
    )


def test_seeds_draw_other_samples(small, tmp_path):
    one = gathering.gather(named("beyond-em"), "quick", tmp_path / "one")
    two = gathering.gather(named("beyond-em"), "quick", tmp_path / "two", seed=1)
    assert [seed for *_, seed in small] == [0, 0, 1, 1]
    assert set(one.results["seed"]).isdisjoint(two.results["seed"])
    key = ["block", "model", "n", "d", "replicate", "start", "algorithm"]
    both = one.results.merge(two.results, on=key, suffixes=("", "_2"))
    assert len(both) == len(one.results)
    assert (both["last_gap"] != both["last_gap_2"]).mean() > 0.9


class TestFolders:
    def test_of_another_seed(self, small, tmp_path):
        gathering.gather(named("beyond-em"), "quick", tmp_path / "out")
        with pytest.raises(StoreError, match="seed 0 there, 3 here"):
            gathering.gather(named("beyond-em"), "quick", tmp_path / "out", seed=3)

    def test_of_something_else(self, tmp_path):
        (tmp_path / "letter.txt").write_text("dear reader")
        with pytest.raises(StoreError, match="not a verification folder"):
            gathering.gather(named("beyond-em"), "quick", tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]

    def test_damaged(self, tmp_path):
        (tmp_path / "verification.json").write_text('{"level": "qu')
        with pytest.raises(StoreError, match=r"verification\.json is damaged"):
            gathering.load(PAPER, tmp_path)

    def test_missing_or_empty(self, tmp_path):
        with pytest.raises(StoreError, match="not a verification folder"):
            gathering.load(PAPER, tmp_path)
        about = {"paper": "beyond-em", "level": "quick", "seed": 0}
        (tmp_path / "verification.json").write_text(json.dumps(about))
        with pytest.raises(StoreError, match="no results yet"):
            gathering.load(PAPER, tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": "slow"}, "level must be one of quick, paper, asymptotic"),
        ({"seed": -1}, "seed must be >= 0, got -1"),
        ({"seed": 1.5}, "seed must be an integer, got 1.5"),
        ({"engine": "cloud"}, "engine must be one of"),
    ],
)
def test_bad_arguments(given, message, tmp_path):
    arguments = {"level": "quick", "out": tmp_path / "out", **given}
    with pytest.raises((TypeError, ValueError), match=message):
        gathering.gather(PAPER, **arguments)


MINE = """
from elubench.verification import Chapter, Level, Measured, Paper, Probe, between
from elubench.verification.measuring import exactly
import pandas as pd

chapter = Chapter()
END = between("share of runs that end", 1.0, 1.0)
COUNT = between("count", 5.0, 5.0)


@chapter.claim("lemma-1", "All runs end", "Lemma 1", "lemma", "Runs end.", "Both.", [END, COUNT])
def _(evidence):
    ended = float(evidence.rows(algorithm="EM")["status"].ne("failed").mean())
    count = float(evidence.tables["counts"]["count"].iloc[0])
    return Measured((exactly(END, ended), exactly(COUNT, count)), "EM")


def counts(seed, upto):
    return pd.DataFrame({"count": [upto + seed]})


PAPER = Paper(
    name="mine",
    title="My own paper",
    authors="Me",
    place="a drawer",
    chapters=(chapter,),
    levels={"tiny": Level(("grid",), {"counts": {"upto": 5}})},
    probes={"counts": Probe("counting", counts)},
)
"""
GRID = """
name = "grid"
seed = 1
[[block]]
name = "b"
models = "isotropic"
d = 1
n = [100, 200]
replicates = 2
algorithms = [{ name = "EM" }]
max_iter = 10
"""


class TestPapers:
    """Of the user's own, and how they are named."""

    def test_each_has_its_own_studies(self, monkeypatch):
        found = presets._files()
        monkeypatch.setattr(presets, "_files", lambda: {**found, "mine/quick": found["smoke"]})
        mine = dataclasses.replace(PAPER, name="mine")
        assert (PAPER.study("quick"), mine.study("quick")) == ("beyond-em/quick", "mine/quick")
        assert mine.study("smoke") == "smoke"

    @pytest.mark.parametrize("folder", [True, False])
    def test_of_the_user_s_own(self, tmp_path, monkeypatch, folder):
        stem = f"own_paper_{folder}".lower()
        place = tmp_path / stem if folder else tmp_path
        place.mkdir(exist_ok=True)
        path = place if folder else place / f"{stem}.py"
        (place / "__init__.py" if folder else path).write_text(MINE)
        (place / "grid.toml").write_text(GRID)
        done = elubench.verify(path, "tiny", tmp_path / "out")
        assert [one.verdict for one in done.findings] == ["supported"]
        assert done.surprises == {}  # it expects nothing
        page = done.report.read_text("utf-8")
        assert "<h1>My own paper: claims checked against measurements</h1>" in page
        assert "Rivals" not in page
        about = json.loads((tmp_path / "out" / "verification.json").read_text())
        assert about == {"paper": "mine", "level": "tiny", "seed": 0, "source": str(path)}
        done.report.unlink()
        assert verifying.report(tmp_path / "out").report.exists()
        with pytest.raises(StoreError, match="paper 'mine' there, 'beyond-em' here"):
            elubench.verify(out=tmp_path / "out")
        # where the paper has moved, its path is asked for
        moved = shutil.move(path, tmp_path / f"moved_{stem}{'' if folder else '.py'}")
        with pytest.raises(StoreError, match="which is not found; give its path"):
            verifying.report(tmp_path / "out")
        assert verifying.report(tmp_path / "out", moved).report.exists()

    def test_fresh_seeds(self, tmp_path, capsys):
        (tmp_path / "reseeded.py").write_text(MINE.replace("upto + seed", "upto + (seed == 2)"))
        (tmp_path / "grid.toml").write_text(GRID)
        command = ["verify", str(tmp_path / "reseeded.py"), "--level", "tiny", "--seeds"]
        out = tmp_path / "out"
        with pytest.raises(ValueError, match="seeds must be >= 2, got 1"):
            reseeding.verify_seeds(tmp_path / "reseeded.py", "tiny", out, seeds=1)
        assert cli.main([*command, "3", "--out", str(out)]) == 0
        assert re.search(r"lemma-1 +supported +1 +3", capsys.readouterr().out)
        first = (out / "flips.csv").read_text()
        assert first.startswith("# mine, level tiny, seeds 1 to 3, rules ")
        table = pd.read_csv(out / "flips.csv", comment="#")
        assert table[["usual", "flips", "contradicted"]].values.tolist() == [["supported", 1, 1]]
        # what is there is not made again; what is not of these rules is
        shutil.rmtree(out / "seed-001" / "grid")
        path = out / "seed-003" / "claims.json"
        path.write_text(path.read_text().replace('"rules": "', '"rules": "0'))
        assert cli.main([*command, "3", "--out", str(out)]) == 0
        assert (out / "flips.csv").read_text() == first
        assert not (out / "seed-001" / "grid").exists()
        assert json.loads(path.read_text())["rules"] in first
        # the table alone is enough to continue
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        shutil.copy(out / "flips.csv", elsewhere)
        assert cli.main([*command, "4", "--out", str(elsewhere)]) == 0
        assert [one.name for one in elsewhere.glob("seed-*")] == ["seed-004"]
        table = pd.read_csv(elsewhere / "flips.csv", comment="#")
        assert table[["flips", "seeds", "where"]].values.tolist() == [[1, 4, "2 contradicted"]]
        assert cli.main([*command, "2", "--first-seed", "2", "--out", str(out)]) == 0
        assert (
            (out / "flips.csv").read_text().startswith("# mine, level tiny, seeds 2 to 3, rules ")
        )

    def test_further_seeds_run_what_verdicts_rest_on(self, tmp_path):
        block = GRID[GRID.index("[[block]]") :].replace('"b"', '"left"')
        (tmp_path / "grid.toml").write_text(GRID + block)
        (tmp_path / "shown.py").write_text(
            MINE.replace('{"counts": {"upto": 5}})', '{"counts": {"upto": 5}}, ("left",))')
            .replace('Probe("counting", counts)', 'Probe("counting", counts, seeded=False)')
            .replace("upto + seed", "upto + 10 * seed")
        )
        out, paper = tmp_path / "out", named(tmp_path / "shown.py")
        for folder in (
            "seed-007",
            "shared",
        ):  # a process was killed here before it had a whole file
            (out / folder).mkdir(parents=True)
            (out / folder / ".tmp-1").write_bytes(b"PAR")
        reseeding.verify_seeds(paper, "tiny", out, seeds=2, first=7)
        found = [gathering.load(paper, out / folder) for folder in ("seed-007", "seed-008")]
        pd.testing.assert_frame_equal(*(one.tables["counts"] for one in found))
        assert all(set(one.results["block"]) == {"b"} for one in found)
        whole = gathering.gather(paper, "tiny", tmp_path / "whole", seed=7)
        assert set(whole.results["block"]) == {"b", "left"}

    def test_what_is_only_shown_is_in_the_studies(self):
        for level in PAPER.levels.values():
            blocks = {
                one.name for name in level.studies for one in reading.load(PAPER.study(name)).blocks
            }
            assert set(level.shown) <= blocks

    def test_names(self, tmp_path):
        assert named("beyond-em") is PAPER
        assert named(PAPER) is PAPER
        known = "paper must be one of beyond-em, crossover, singularity, or the path"
        with pytest.raises(ValueError, match=known):
            named("nobody")
        with pytest.raises(ValueError, match="for the level use level='quick'"):
            elubench.verify("quick", tmp_path / "out")
        (tmp_path / "without_paper.py").write_text("x = 1")
        with pytest.raises(
            ValueError, match=r"PAPER in .*without_paper.py must be a Paper, got None"
        ):
            named(tmp_path / "without_paper.py")
        (tmp_path / "statistics.py").write_text(MINE)
        with pytest.raises(ValueError, match=r"name of another module|no 'PAPER'"):
            named(tmp_path / "statistics.py")
        (tmp_path / "my-paper.py").write_text(MINE)
        with pytest.raises(ValueError, match="a name that Python can import, got my-paper"):
            named(tmp_path / "my-paper.py")
        (tmp_path / "empty").mkdir()
        with pytest.raises(ValueError, match="a folder with an __init__"):
            named(tmp_path / "empty")

    def test_two_claims_with_one_key(self):
        with pytest.raises(ValueError, match="two claims have the key 'dimension-iterations'"):
            dataclasses.replace(PAPER, chapters=(*PAPER.chapters, PAPER.chapters[0]))

    def test_a_level_with_an_unknown_probe(self):
        with pytest.raises(ValueError, match="probe of the level quick must be one of"):
            dataclasses.replace(PAPER, levels={"quick": Level(("quick",), {"nothing": {}})})


class TestCommands:
    def test_verify_and_report(self, small, tmp_path, capsys, monkeypatch):
        out = str(tmp_path / "out")
        assert cli.main(["verify", "--out", out]) == 1  # a smoke study cannot decide as expected
        shown = capsys.readouterr()
        lines = shown.out.splitlines()
        assert max(map(len, lines[:-1])) <= 80  # the last has the folder's name
        assert any("not as expected: theorem-1a-radii is" in line for line in lines)
        assert lines[-1] == f"report: {out}/report.html"
        assert "elubench: study smoke" in shown.err
        found = {one.claim.key: one.verdict for one in verifying.report(out).findings}
        expecting = dataclasses.replace(named("beyond-em"), expected=found)
        monkeypatch.setattr("elubench.papers.beyond_em.paper.PAPER", expecting)
        assert cli.main(["report", out]) == 0
        assert "not as expected" not in capsys.readouterr().out

    def test_errors_are_one_line(self, tmp_path, capsys):
        assert cli.main(["report", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "neither a verification folder nor one of a study" in error

    def test_interrupted(self, tmp_path, capsys, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(studies, "run_study", stop)
        assert cli.main(["verify", "--out", str(tmp_path / "out")]) == 130
        assert "resumes from there" in capsys.readouterr().err
