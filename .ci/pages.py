"""Open every page in headless Chromium and check it: ``make pages-check``, after ``make site``.

The site, and pages that are made here: of a study, of a fit, and an index. See pages.mjs for what is
checked. Needs node, npm and Chromium; where one is missing it checks nothing, and says so.
"""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import elubench as eb
from elubench import cli

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "pages"
SITE = ROOT / "build" / "site"
PACKAGES = ("axe-core@4.14.0", "playwright-core@1.65.1")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_STUDY = {
    "name": "small",
    "block": [
        {
            "models": "isotropic",
            "d": 1,
            "n": [1000, 10_000, 100_000, 1_000_000],
            "samples": "lattice",
            "replicates": 5,
            "algorithms": ["EM", "ELU", "NewtonAnderson"],
            "radius_constant": 2.0,
            "max_iter": 20_000,
        }
    ],
}


def site_maker():
    """The module of `make site`, which knows how to check links."""
    spec = importlib.util.spec_from_file_location("site_maker", ROOT / ".ci" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_here() -> list[Path]:
    """Pages of a study and of a fit, and an index of the study and a verification."""
    study, fit, index = OUT / "study", OUT / "fit.html", OUT / "index.html"
    eb.run_study(_STUDY, study)
    data = str(ROOT / "tests" / "data" / "faithful.csv")
    folders = [str(study), str(ROOT / "verification")]
    for command in (
        ["fit", data, "--columns", "eruptions", "--report", str(fit), "--force"],
        ["report", *folders, "--out", str(index)],
    ):
        if cli.main(command) == 2:
            sys.exit(f"make pages-check: elubench {' '.join(command)} failed")
    return [study / "report.html", fit, index]


def main() -> int:
    """Make, check, and say what is wrong; return the exit status."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or shutil.which("node") is None or shutil.which("npm") is None:
        print("make pages-check: needs node, npm and Chromium; nothing was checked")
        return 0
    if not (SITE / "index.html").exists():
        print("make pages-check: there is no build/site/; run `make site` first", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    if not (OUT / "node_modules" / "axe-core").exists():
        npm = [shutil.which("npm"), "install", "--silent", "--no-save", "--prefix", str(OUT)]
        subprocess.run([*npm, *PACKAGES], check=True)
    pages = made_here()
    wrong = site_maker().broken_links(OUT, skipped=("node_modules",))
    for line in wrong:
        print(f"make pages-check: a link leads nowhere: {line}", file=sys.stderr)
    # asv writes its own pages, and Sphinx those of the source code
    pages += [
        page
        for page in sorted(SITE.rglob("*.html"))
        if page.relative_to(SITE).parts[0] not in ("asv", "_modules", "_static")
    ]
    names = [str(page.relative_to(ROOT)) for page in pages]
    command = ["node", str(ROOT / ".ci" / "pages.mjs"), str(OUT), browser, *names]
    return subprocess.run(command, cwd=ROOT).returncode or (1 if wrong else 0)


if __name__ == "__main__":
    sys.exit(main())
