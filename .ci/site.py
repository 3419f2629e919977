"""Write the site to build/site/: guide, reference, notebooks, verification reports and asv's pages.

Run by `make site`. Reports and notebooks are those at hand; what is missing is made first. Warnings of
Sphinx are errors, and so is a link that leads nowhere.
"""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from elubench.papers import verifying
from elubench.papers.indexing import claim_rows
from elubench.papers.verifying import Verification
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


def asv_pages() -> Path | None:
    """asv's pages of the results at hand, or None if nothing was measured."""
    config = json.loads(re.sub(r"^\s*//.*$", "", (ROOT / "asv.conf.json").read_text(), flags=re.M))
    if not any((ROOT / config["results_dir"]).glob("*/*.json")):
        return None
    call("-m", "asv", "publish", "--quiet")
    return ROOT / str(config["html_dir"])


_RESULTS = """# Results

Made by one command, `make site`, on the machine that published this page.

| page | what it has |
|---|---|
{rows}
"""
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


def write_pages(reports: dict[str, Verification], made: Path, with_asv: bool, folder: Path) -> None:
    """What of the guide depends on results: the headline, all claims, and a list of all results."""
    folder.mkdir(exist_ok=True)
    rows = []
    for name, one in reports.items():
        report = link(f"report on {one.paper.short or one.paper.title}", f"../{name}/report.html")
        rows.append(f"| {report} | {counted(one.findings)} |")
    for page in sorted(made.glob("*.html")):
        rows.append(f"| {link(page.stem, f'../notebooks/{page.name}')} | notebook |")
    if with_asv:
        rows.append(f"| {link('asv', '../asv/index.html')} | benchmarks over commits |")
    for name, text in (
        ("results.md", _RESULTS.format(rows="\n".join(rows))),
        ("headline.html", headline(*next(iter(reports.items())))),
        ("claims.html", claims(reports)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    """Make everything; return the exit status."""
    reports, made, pages = verified(), notebooks(), asv_pages()
    write_pages(reports, made, pages is not None, ROOT / "docs" / "generated")
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
