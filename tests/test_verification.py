"""A verification from its studies to its report: made, resumed, refused, reported."""

import dataclasses
import json

import pandas as pd
import planted
import pytest
from conftest import needs_jit

import elubench
from elubench import cli, studies
from elubench.papers import verifying as verification
from elubench.papers.beyond_em import probes
from elubench.report import page
from elubench.studies.store import StoreError
from elubench.verification import evidence

pytestmark = needs_jit  # real studies


@pytest.fixture
def small(monkeypatch):
    """A level that takes seconds: the smallest study, and tables that are planted."""
    calls = []

    def probe(name):
        def measure(level, seed):
            calls.append((name, level, seed))
            return planted.lemma_tables()[name]

        return probes.Probe(f"the table of {name}", measure)

    monkeypatch.setitem(evidence.LEVELS, "quick", ("smoke",))
    monkeypatch.setattr(probes, "PROBES", {name: probe(name) for name in ("lemmas", "costs")})
    blank = {
        key: dataclasses.replace(one, draw=lambda _: None) for key, one in page.FIGURES.items()
    }
    monkeypatch.setattr(page, "FIGURES", blank)  # their own tests draw them
    return calls


def test_from_nothing_to_the_report_and_again(small, tmp_path):
    out, said, seen = tmp_path / "out", [], []
    done = elubench.verify("quick", out, say=said.append, progress=seen.append)
    assert done.report == out / "report.html"
    assert [name for name, *_ in small] == ["lemmas", "costs"]
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
    assert {one.verdict for one in done.findings} >= {"inconclusive", "not testable"}

    small.clear()
    before = studies.load_results(out / "smoke")
    again = elubench.verify("quick", out)
    assert small == []
    pd.testing.assert_frame_equal(studies.load_results(out / "smoke"), before)
    assert [one.as_dict() for one in again.findings] == [one.as_dict() for one in done.findings]
    # and what is there can be reported on without running anything
    (out / "report.html").unlink()
    assert verification.report(out).report.exists()


def test_what_is_lost_is_made_again(small, tmp_path):
    out = tmp_path / "out"
    elubench.verify("quick", out)
    small.clear()
    whole = (out / "costs.parquet").read_bytes()
    (out / "costs.parquet").write_bytes(whole[: len(whole) // 2])
    elubench.verify("quick", out)
    assert [name for name, *_ in small] == ["costs"]
    pd.testing.assert_frame_equal(
        evidence.load(out).tables["costs"], planted.lemma_tables()["costs"]
    )


def test_seeds_draw_other_samples(small, tmp_path):
    one = evidence.gather("quick", tmp_path / "one")
    two = evidence.gather("quick", tmp_path / "two", seed=1)
    assert [seed for *_, seed in small] == [0, 0, 1, 1]
    assert set(one.results["seed"]).isdisjoint(two.results["seed"])
    key = ["block", "model", "n", "d", "replicate", "start", "algorithm"]
    both = one.results.merge(two.results, on=key, suffixes=("", "_2"))
    assert len(both) == len(one.results)
    assert (both["last_gap"] != both["last_gap_2"]).mean() > 0.9


class TestFolders:
    def test_of_another_seed(self, small, tmp_path):
        evidence.gather("quick", tmp_path / "out")
        with pytest.raises(StoreError, match="seed 0 there, 3 here"):
            evidence.gather("quick", tmp_path / "out", seed=3)

    def test_of_something_else(self, tmp_path):
        (tmp_path / "letter.txt").write_text("dear reader")
        with pytest.raises(StoreError, match="is no verification"):
            evidence.gather("quick", tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]

    def test_damaged(self, tmp_path):
        (tmp_path / "verification.json").write_text('{"level": "qu')
        with pytest.raises(StoreError, match=r"verification\.json is damaged"):
            evidence.load(tmp_path)

    def test_missing_or_empty(self, tmp_path):
        with pytest.raises(StoreError, match="not the folder of a verification"):
            evidence.load(tmp_path)
        (tmp_path / "verification.json").write_text('{"level": "quick", "seed": 0}')
        with pytest.raises(StoreError, match="no results yet"):
            evidence.load(tmp_path)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": "slow"}, "level must be one of quick, paper, asymptotic"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"engine": "cloud"}, "engine must be one of"),
    ],
)
def test_bad_arguments(given, message, tmp_path):
    arguments = {"level": "quick", "out": tmp_path / "out", **given}
    with pytest.raises(ValueError, match=message):
        evidence.gather(**arguments)


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
        found = {one.claim.key: one.verdict for one in verification.report(out).findings}
        monkeypatch.setattr(verification, "expectations", lambda: found)
        assert cli.main(["report", out]) == 0
        assert "not as expected" not in capsys.readouterr().out

    def test_errors_are_one_line(self, tmp_path, capsys):
        assert cli.main(["report", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "not the folder of a verification" in error

    def test_interrupted(self, tmp_path, capsys, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(studies, "run_study", stop)
        assert cli.main(["verify", "--out", str(tmp_path / "out")]) == 130
        assert "resumes from there" in capsys.readouterr().err
