"""The page of any study, and the index of several folders."""

import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import scaled

import elubench as eb
from elubench import cli
from elubench.papers import verifying
from elubench.papers.indexing import write_index
from elubench.report import study_figures, study_page
from elubench.report.typesetting import typeset
from elubench.studies import study_progress
from elubench.text import with_interval
from elubench.verification import Chapter, Level, Measured, Paper, at_least
from elubench.verification.measuring import share_of

STUDY = {
    "name": "two <b>locks",
    "seed": 3,
    "block": [
        {
            "name": "to & fro",
            "models": "isotropic",
            "d": [1, 2],
            "n": [200, 400, 800, 1600],
            "samples": "lattice",
            "replicates": 6,
            "algorithms": [
                {"name": "EM"},
                {"name": "SQUAREM"},
                {"name": "ELU", "eta": 0.01},
                {"name": "ELU", "eta": 0.1},
            ],
            "radius_constant": 1.5,
            "max_iter": scaled(300, 30),
        },
        {
            "name": "end",
            "models": "isotropic",
            "d": 2,
            "n": 500,
            "replicates": 3,
            "starts": ["equal", "generic"],
            "algorithms": [{"name": "EM"}, {"name": "ELU", "eta": 2.0, "beta": 0.5}],
            "stop": "end",
            "validation": 0.2,
            "max_iter": 20,
        },
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "a study"
    eb.run_study(STUDY, out)
    return out


@pytest.fixture(scope="module")
def page(folder):
    return study_page.write_study_report(folder).read_text("utf-8")


def cells(page, title):
    """The tables with this title, each as rows of cells without markup."""
    found = []
    for table in re.findall(rf'aria-label="{title}".*?</table>', page, re.S):
        rows = re.findall(r"<tr>(.*?)</tr>", table, re.S)
        found.append(
            [
                [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)]
                for row in rows
            ]
        )
    return found


class TestPage:
    def test_outcomes_are_those_of_the_rows(self, folder, page):
        rows = eb.load_results(folder)
        tables = cells(page, "How the runs ended")
        assert len(tables) == 2
        for block, table in zip(("to & fro", "end"), tables, strict=True):
            heads, *lines = table
            part = rows[rows["block"] == block]
            column = {name: place for place, name in enumerate(heads)}
            total = {
                name: sum(int(line[column[name]]) for line in lines)
                for name in ("runs", "censored")
            }
            assert total == {"runs": len(part), "censored": int((~part["reached"]).sum())}
            for status, head in study_page._ENDS.items():
                count = int((part["status"] == status).sum())
                assert (head in column) == (count > 0)
                if count:
                    assert sum(int(line[column[head]]) for line in lines) == count

    def test_rates_are_those_of_fit_rates(self, folder, page):
        [(heads, *lines)] = cells(page, "Rates")
        assert heads[:5] == ["algorithm", "d", "quantity", "law", "b"]
        rates = eb.fit_rates(eb.load_results(folder))
        em = rates[(rates["algorithm"] == "EM") & (rates["d"] == 2)]
        em = em[em["quantity"] == "iterations_to_radius"].iloc[0]
        [line] = [one for one in lines if one[:3] == ["EM", "2", "iterations"]]
        low, high = em["low"], em["high"]
        assert line[4] == typeset(" ".join(with_interval(em["estimate"], low, high)))
        assert "No rate is fitted: a rate needs 3 values of n; there are 1." in page

    def test_curves_are_told_apart(self, folder):
        rows = eb.load_results(folder)
        first = study_figures.labelled(rows[rows["block"] == "to & fro"])
        looks = study_figures.looks(first)
        assert {"EM", "SQUAREM", "ELU beta 0.8, eta 0.01", "ELU beta 0.8, eta 0.1"} == set(looks)
        assert len(set(looks.values())) == 4
        second = study_figures.labelled(rows[rows["block"] == "end"])
        assert set(second["curve"]) == {"EM, equal", "EM, generic", "ELU, equal", "ELU, generic"}

    def test_figures_and_text(self, page):
        assert page.count("data:image/svg+xml;base64,") == 2  # one for each d
        assert "<b>" not in page
        assert "Study two &lt;b&gt;locks" in page
        assert "To &amp; fro" in page
        ids = re.findall(r' id="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)

    def test_a_median_that_too_few_runs_reach(self, folder):
        rows = eb.load_results(folder)
        some = rows[(rows["algorithm"] == "EM") & (rows["block"] == "to & fro")].copy()
        some["reached"], some["iterations_to_radius"] = False, None
        late, lost = some.assign(status="max_iter", iterations=7), some.assign(status="diverged")
        assert study_page._typical(late, "iterations_to_radius") == "> 7"
        assert study_page._typical(lost, "iterations_to_radius") == study_page._NONE

    def test_files_beside_the_page(self, folder, page):
        links = re.findall(r'href="([^"#]+)"', page)
        assert len(links) == 2 * 3 + 1  # SVG, PDF and CSV of two figures, and the rows
        assert all((folder / link).stat().st_size for link in links)
        rows = eb.load_results(folder).query("block == 'to & fro' and d == 2 and reached")
        numbers = pd.read_csv(folder / next(one for one in links if one.endswith("d-2.csv")))
        em = numbers.query("quantity == 'iterations to the radius' and curve == 'EM'")
        em = em[em["kind"] == "whole"].set_index("n")["value"]
        counts = rows[rows["algorithm"] == "EM"].groupby("n")["iterations_to_radius"]
        assert len(em)
        assert em.to_dict() == counts.median()[em.index].to_dict()

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("empty", "empty is neither a verification folder nor one of a study"),
            ("notes.txt", "notes.txt is a file; report takes the folder of a verification or a"),
            ("nothing", "nothing does not exist"),
        ],
    )
    def test_what_is_no_study(self, name, said, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "empty").mkdir()
        (tmp_path / "notes.txt").touch()
        assert cli.main(["report", name]) == 2
        assert said in capsys.readouterr().err


def verified(folder, tmp_path):
    """A verification of a paper with two claims, whose study is the one at hand."""
    chapter = Chapter()
    expected = {
        key: at_least("share", least) for key, least in (("a claim", 0.0), ("a-claim", 2.0))
    }
    for key, one in expected.items():

        @chapter.claim(key, f"Title of {key} <i>", "Lemma 1", "lemma", "s", "h", [one])
        def _(evidence, one=one):
            return Measured((share_of(one, 1, 2),), "")

    source = tmp_path / "p.toml"
    paper = Paper(
        name="p", title="P & Q", authors="a", place="b", chapters=(chapter,),
        levels={"quick": Level(("p",))}, source=source,
    )  # fmt: skip
    source.write_text(
        'seed = 1\n[[block]]\nmodels = "isotropic"\nd = 1\nn = 50\nmax_iter = 2\n'
        'algorithms = [{ name = "EM" }]\n'
    )
    return verifying.verify(paper, out=tmp_path / "a verification")


def test_index(folder, tmp_path):
    done = verified(folder, tmp_path)
    index = write_index(
        [done], [(study_progress(folder), folder / "report.html")], tmp_path / "x" / "i.html"
    )
    text = index.read_text("utf-8")
    links = re.findall(r'href="([^"]+)"', text)
    assert links[0] == "../a%20verification/report.html"
    assert links[-1].endswith("/a%20study/report.html")
    report = done.report.read_text("utf-8")
    anchors = [link.partition("#")[2] for link in links if "#" in link]
    assert anchors == ["row-a-claim", "row-a-claim-2"]
    assert all(f'id="{anchor}"' in report for anchor in anchors)
    assert re.findall(r'data-verdict="(.*?)"', text) == ["supported", "contradicted"]
    assert "Title of a claim &lt;i&gt;" in text
    assert "P &amp; Q" in text


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tiny = {"models": "isotropic", "d": 1, "n": 50, "algorithms": ["EM"], "max_iter": 2}
    for name in ("one", "two"):
        eb.run_study({"name": name, "block": [tiny]}, name)
    assert cli.main(["report", "one"]) == 0
    assert capsys.readouterr().out == f"report: {Path('one', 'report.html')}\n"
    assert not (tmp_path / "index.html").exists()
    assert cli.main(["report", "one", "two"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "index: index.html"
    links = re.findall(r'href="([^"]+)"', (tmp_path / "index.html").read_text("utf-8"))
    assert links == ["one/report.html", "two/report.html"]
    assert cli.main(["report", "one", "--out", "x/all.html"]) == 0
    assert '"../one/report.html"' in (tmp_path / "x" / "all.html").read_text("utf-8")
