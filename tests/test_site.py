"""The site's own parts: links, reference, examples and commands. `make site` builds it with Sphinx."""

import re
from pathlib import Path
from types import SimpleNamespace

import documents
import nbformat
import pandas as pd
import pytest
from conftest import ROOT, needs_jit, script
from test_asv import history

import elubench
from elubench.papers.verifying import named, shipped
from elubench.verification import Claim, Finding

DOCS = ROOT / "docs"
GUIDE = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("guide/*.md"))}
OTHERS = ("EXTENDING.md", "CONTRIBUTING.md", "benchmarks/README.md", "analysis/README.md")
WITH_CODE = [name for name, text in GUIDE.items() if documents.blocks(text, "python")]


@pytest.fixture(scope="module")
def site():
    return script("site")


def test_notebooks_are_pages_that_need_nothing_and_name_their_figures():
    picture = nbformat.v4.new_output(
        "display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}
    )
    cells = [
        nbformat.v4.new_markdown_cell('# How & why\n\n## The "picture"'),
        nbformat.v4.new_code_cell("x = 1  # a comment", outputs=[picture]),
    ]
    page = script("notebooks").page_of(nbformat.v4.new_notebook(cells=cells))
    assert "<title>How &amp; why</title>" in page
    assert re.findall(r'<img[^>]* alt="(.*?)"', page) == ["The &quot;picture&quot;: figure"]
    assert "http" not in page
    assert "<pre>" not in page  # a keyboard can scroll each
    assert '<html lang="en">' in page


def test_broken_links_are_found(site, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text('<h1 id="top">b</h1><a href="../a.html#here">a</a>')
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="sub/b.html#top">1</a><a href="https://example.org/x">2</a>'
        '<a href="#here">3</a><a href="sub/b.html?q=1">4</a>'
    )
    assert site.broken_links(tmp_path) == []
    (tmp_path / "c.html").write_text(
        '<a href="gone.html">1</a><a href="a.html#gone">2</a><img src="gone.png"><a href="sub">3</a>'
    )
    found = site.broken_links(tmp_path)
    assert found == [f"c.html: {link}" for link in ("a.html#gone", "gone.html", "gone.png", "sub")]


def test_pages_of_results_link_every_report(site, tmp_path, monkeypatch):
    claim = Claim("a", "A <claim>", "", "", "theorem", "")
    found = (Finding(claim, "not testable", (), ""),)
    reports = {
        name: SimpleNamespace(paper=SimpleNamespace(short=paper, title=""), findings=found)
        for name, paper in (("verification", "Beyond EM"), ("verification-mine", "mine"))
    }
    monkeypatch.setattr(site, "headline", lambda name, _: f"figure of {name}")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_first.html").touch()
    site.write_pages(reports, tmp_path / "notebooks", pd.DataFrame(), tmp_path / "generated")
    results = (tmp_path / "generated" / "results.md").read_text()
    for target in (*(f"{name}/report.html" for name in reports), "notebooks/01_first.html"):
        assert f'href="../{target}' in results
    assert "Nothing has been measured" in (tmp_path / "generated" / "benchmarks.md").read_text()
    assert (tmp_path / "generated" / "headline.html").read_text() == "figure of verification"
    table = (tmp_path / "generated" / "claims.html").read_text()
    rows = re.findall(r'<a href="(.*?)">A &lt;claim&gt;</a>.*?data-label="Paper">(.*?)<', table)
    assert rows == [
        ("verification/report.html#row-a", "Beyond EM"),
        ("verification-mine/report.html#row-a", "mine"),
    ]


def test_the_page_of_benchmarks_says_what_is_slower_and_since_when(site, tmp_path):
    history(tmp_path, [2.0] * 8 + [3.0] * 8)
    page = site.benchmarks(elubench.asv_results(tmp_path))
    assert 'href="../asv/index.html"' in page
    rows = [re.sub(r"<.*?>", "", line) for line in page.splitlines() if "<svg" in line]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]
    assert cells == [
        ["`Pass.time_pass` (1000, 1)", "3 s", "+50%", "", "1.50 times since 00000000, 2023-11-22"],
        ["`Pass.time_pass` (1000, 2)", "5 s", "+0%", "", ""],
    ]


def test_pictures_of_the_guide_are_those_that_its_code_draws():
    text = GUIDE["plot.md"]
    drawn = re.findall(r'savefig\("([a-z_]+)\.png"\)', text)
    assert drawn == re.findall(r"^!\[.+\]\(\.\./static/plot/([a-z_]+)\.png\)$", text, re.MULTILINE)
    assert sorted(drawn) == sorted(elubench.plot.__all__)
    assert sorted(drawn) == sorted(path.stem for path in (DOCS / "static" / "plot").iterdir())


def test_figures_are_on_a_reference_page():
    assert "automodule:: elubench.plot" in (DOCS / "reference" / "plot.md").read_text()
    assert all(getattr(elubench.plot, name).__doc__ for name in elubench.plot.__all__)


@pytest.mark.parametrize("room", elubench._ROOMS)
def test_every_public_name_is_on_a_reference_page(room):
    page = (DOCS / "reference" / f"{room}.md").read_text()
    modules = re.findall(r"automodule:: (\S+)", page)
    assert modules[0] == f"elubench.{room}"
    for name in elubench._public(room):
        value = getattr(elubench, name)
        # autodoc shows a module by a directive of its own, and what has a docstring
        listed = getattr(value, "__path__", None) or getattr(value, "__file__", None)
        assert value.__name__ in modules if listed else value.__doc__, name


def test_every_page_is_in_a_table_of_contents():
    for folder, toc in (("guide", "index.md"), ("reference", "reference/index.md")):
        listed = re.findall(r"^(?:guide/)?([a-z]+)$", (DOCS / toc).read_text(), re.MULTILINE)
        pages = {path.stem for path in DOCS.glob(f"{folder}/*.md")} - {"index"}
        assert pages <= set(listed)


@needs_jit
@pytest.mark.parametrize("name", WITH_CODE)
def test_examples_run(name, tmp_path):
    documents.run_examples(GUIDE[name], tmp_path)


@pytest.mark.parametrize("name", [*GUIDE, *OTHERS])
def test_commands_are_understood(name):
    text = GUIDE.get(name) or Path(ROOT / name).read_text(encoding="utf-8")
    assert documents.wrong_commands(text) == []


def test_wrong_commands_are_found(capsys):
    text = "```sh\nelubench fit x.csv --nonsense 1  # why\nmake nonsense\nelubench info\n```\n"
    assert documents.wrong_commands(text) == ["elubench fit x.csv --nonsense 1", "make nonsense"]


def test_papers_have_the_claims_that_the_guide_counts():
    shown = dict(
        re.findall(r"^\| `([a-z-]+)` \| .* \| (\d+) \|$", GUIDE["verify.md"], re.MULTILINE)
    )
    assert shown == {name: str(len(named(name).claims)) for name in shipped()}


def test_the_tree_is_the_tree():
    block = GUIDE["architecture.md"].split("```\nelubench/\n")[1].split("```")[0]
    for name in re.findall(r"\b[a-z_]+\.py\b|\b[a-z]+/", block):
        assert (ROOT / "elubench" / name).exists() or (ROOT / name).exists(), name


def test_names_in_tables_exist():
    for name in ("architecture.md", "choose.md"):
        for cell in re.findall(r"^\| (`[^|]*`) \|", GUIDE[name], re.MULTILINE):
            for word in re.findall(r"`([A-Z][A-Za-z]+)", cell):
                assert hasattr(elubench, word), word
