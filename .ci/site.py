"""Write the site to build/site/: guide, reference, notebooks, verification reports and asv's pages.

Run by `make site`. Reports and notebooks are those at hand; what is missing is made first. Warnings of
Sphinx are errors, and so is a link that leads nowhere.
"""

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pandas as pd
from asv.util import load_json

from elubench.papers import verifying
from elubench.papers.indexing import claim_rows
from elubench.papers.verifying import Verification
from elubench.peers import regressions
from elubench.peers.asv import asv_results
from elubench.report.html import environment
from elubench.report.page import Gallery
from elubench.report.summary import counted

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"


class _Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note where the tag leads and what it can be found by."""
        for name, value in attributes:
            if value and (name in ("href", "src")):
                self.links.add(value)
            elif value and (name == "id" or (tag == "a" and name == "name")):
                self.anchors.add(value)


def broken_links(site: Path, skipped: tuple[str, ...] = ()) -> list[str]:
    """Every link of a page to a file or an anchor of the site that does not exist."""
    pages: dict[Path, _Page] = {}

    def page(path: Path) -> _Page:
        if path not in pages:
            pages[path] = _Page(path)
        return pages[path]

    wrong = []
    for path in sorted(site.rglob("*.html")):
        if path.relative_to(site).parts[0] in skipped:
            continue
        for link in sorted(page(path).links):
            where, anchor = urldefrag(link)
            if urlsplit(link).scheme or link.startswith("//"):
                continue
            target = path if not where else path.parent / unquote(urlsplit(where).path)
            target = target / "index.html" if target.is_dir() else target
            missing = not target.exists()
            if not missing and anchor and target.suffix == ".html":
                missing = not {anchor, unquote(anchor)} & page(target).anchors
            if missing:
                wrong.append(f"{path.relative_to(site)}: {link}")
    return wrong


def call(*arguments: str) -> None:
    """Run a Python module or script of this environment in the root; stop if it fails."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT)
    if done.returncode:
        sys.exit(f"make site: {' '.join(arguments)} failed")


def verified() -> dict[str, Verification]:
    """The verifications at hand, by folder, with reports that this version writes.

    That of the first paper is made if there is none.
    """
    first = ROOT / "verification"
    if not (first / "report.html").exists():
        call("-m", "elubench", "verify", "--out", str(first), "--engine", "dask")
    others = [page.parent for page in sorted(ROOT.glob("verification-*/report.html"))]
    recorded = [folder for folder in others if (folder / "verification.json").exists()]
    return {folder.name: verifying.report(folder) for folder in (first, *recorded)}


def notebooks() -> Path:
    """The folder of rendered notebooks, made again where a notebook is newer."""
    made = ROOT / "build" / "notebooks"
    stale = [
        path.stem
        for path in sorted((ROOT / "analysis").glob("*.ipynb"))
        if not (made / f"{path.stem}.html").exists()
        or (made / f"{path.stem}.html").stat().st_mtime < path.stat().st_mtime
    ]
    if stale:
        call(".ci/notebooks.py", *stale)
    return made


def asv_pages() -> tuple[pd.DataFrame, Path | None]:
    """What asv measured here, and the folder of its pages, or None if it measured nothing."""
    config = load_json(str(ROOT / "asv.conf.json"), js_comments=True)
    results = ROOT / config["results_dir"]
    measured = asv_results(results) if results.is_dir() else pd.DataFrame()
    if measured.empty:
        return measured, None
    call("-m", "asv", "publish")
    return measured, ROOT / config["html_dir"]


_RESULTS = """# Results

Made by one command, `make site`, on the machine that published this page.

| page | what it has |
|---|---|
{rows}
"""
_BENCHMARKS = """# Benchmarks over commits

`make bench` measured these with asv. asv's {own} plot each benchmark and parameter; they
load jQuery, Bootstrap and flot from the internet and need a web server. This page needs neither.

Smaller is better everywhere. *Since the first* compares the latest value with that of the first commit
measured with the same benchmark code. *Slower* is what asv's step detection finds, as printed by
`elubench regressions`. How far to trust a clock is in {{doc}}`/guide/benchmark`.
{tables}
"""
_UNMEASURED = """# Benchmarks over commits

Nothing has been measured here yet. `make bench` measures the current commit; the next `make site` shows
the results on this page: see {doc}`/guide/benchmark`.
"""
_COLUMNS = """| benchmark | latest | since the first | over commits | slower |
|---|---:|---:|---|---|"""
_PARTS = """{{% from "macros.html" import claims_table, picture %}}
<style>
{{% include "parts.css" %}}
</style>
{part}
<script>
{{% include "{script}" %}}
</script>
"""


def part(text: str, script: str, **values: object) -> str:
    """A part of a page with its style and script, by the templates of the reports."""
    template = environment().from_string(_PARTS.format(part=text, script=script))
    return template.render(**values)


def headline(name: str, done: Verification) -> str:
    """The figure that heads the report of a paper, with links to its files there."""
    gallery = Gallery(done.evidence, done.paper.figures)
    ((figure, *_), _) = gallery.place(gallery.headline)
    return part(f"{{{{ picture(one, '{name}/') }}}}", "chart.js", one=figure)


def claims(reports: dict[str, Verification]) -> str:
    """The table of all claims of all papers."""
    rows = [row for name, one in reports.items() for row in claim_rows(one, f"{name}/report.html")]
    found = counted([row.finding for row in rows])
    text = "{{ claims_table(rows, found) }}"
    return part(text, "table.js", rows=rows, found=found)


def link(text: str, target: str) -> str:
    """A link to a file that Sphinx does not know."""
    return f'<a href="{target}">{text}</a>'


def unbroken(text: str) -> str:
    """Words that stay on one line."""
    return f'<span class="unbroken">{text}</span> '


def small_plot(values: list[float]) -> str:
    """Values in the order of commits, from zero up, as a picture in a line of text."""
    top, step = max(values) or 1.0, 82 / max(len(values) - 1, 1)
    places = [f"{4 + step * k:.1f},{21 - 18 * value / top:.1f}" for k, value in enumerate(values)]
    x, y = places[-1].split(",")
    line = f'<polyline points="{" ".join(places)}" fill="none" stroke="currentColor"/>'
    dot = f'<circle cx="{x}" cy="{y}" r="2.5" fill="currentColor"/>'
    return f'<svg width="90" height="25" aria-hidden="true">{line}{dot}</svg>'


def benchmarks(measured: pd.DataFrame) -> str:
    """The page of what asv measured over commits; it needs neither a network nor a server."""
    if measured.empty:
        return _UNMEASURED
    slower = {
        tuple(row[name] for name in regressions.SERIES): unbroken(
            f"{row['factor']:.2f} times since"
        )
        + unbroken(f"{row['since'][:8]}, {row['date']:%Y-%m-%d}")
        for row in regressions.regressions(measured).to_dict("records")
    }
    lines, above = [], ("", "", "")
    for names, rows in regressions.series(measured):
        suite, _, name = names["benchmark"].partition(".")
        if above[:2] != (here := (names["machine"], names["environment"], suite))[:2]:
            cpu = rows["cpu"].iloc[-1] or "unknown processor"
            lines += ["", f"## {names['machine']}", "", f"{cpu}; environment `{here[1]}`."]
        if above != here:
            lines += ["", f"### {suite}", "", _COLUMNS]
        above, values = here, list(rows["value"])
        change = f"{values[-1] / values[0] - 1:+.0%}" if len(values) > 1 and values[0] else ""
        latest = unbroken(regressions.shown(values[-1], names["unit"]))
        lines.append(
            f"| `{name}` {names['parameters']} | {latest} | {change} | {small_plot(values)} "
            f"| {slower.get(tuple(names.values()), '')} |"
        )
    own = link("own pages", "../asv/index.html")
    return _BENCHMARKS.format(own=own, tables="\n".join(lines))


def write_pages(
    reports: dict[str, Verification], made: Path, measured: pd.DataFrame, folder: Path
) -> None:
    """What of the guide depends on results: headline, claims, benchmarks, a list of all."""
    folder.mkdir(exist_ok=True)
    rows = []
    for name, one in reports.items():
        report = link(f"report on {one.paper.short or one.paper.title}", f"../{name}/report.html")
        rows.append(f"| {report} | {counted(one.findings)} |")
    for page in sorted(made.glob("*.html")):
        title = re.search(r"<title>(.*?)</title>", page.read_text(encoding="utf-8"))
        named = link(title[1] if title else page.stem, f"../notebooks/{page.name}")
        rows.append(f"| {named} | notebook {page.stem[:2]} |")
    rows.append("| {doc}`benchmarks over commits <benchmarks>` | what asv measured |")
    for name, text in (
        ("results.md", _RESULTS.format(rows="\n".join(rows))),
        ("benchmarks.md", benchmarks(measured)),
        ("headline.html", headline(*next(iter(reports.items())))),
        ("claims.html", claims(reports)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    """Make everything; return the exit status."""
    reports, made, (measured, pages) = verified(), notebooks(), asv_pages()
    write_pages(reports, made, measured, ROOT / "docs" / "generated")
    shutil.rmtree(SITE, ignore_errors=True)
    call("-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(SITE))
    for name, one in reports.items():
        folder = one.report.parent
        shutil.copytree(folder / "figures", SITE / name / "figures")
        for file in ("report.html", "results.csv", "claims.csv", "claims.md", "claims.json"):
            shutil.copy(folder / file, SITE / name)
    shutil.copytree(made, SITE / "notebooks")
    if pages is not None:
        shutil.copytree(pages, SITE / "asv")
    wrong = broken_links(SITE, skipped=("asv",))
    for line in wrong:
        print(f"make site: a link leads nowhere: {line}", file=sys.stderr)
    print(f"site: {SITE / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
