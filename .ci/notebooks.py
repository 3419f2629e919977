"""Run the notebooks in analysis/ and write them to build/notebooks/ as HTML: ``make notebooks``.

    python .ci/notebooks.py                 all of them
    python .ci/notebooks.py 02 05           those whose names begin like this
    python .ci/notebooks.py --thumbnails    and rewrite the thumbnails of analysis/README.md
    python .ci/notebooks.py --clean         run nothing, but remove outputs before a commit

Results come from the folder that ELUBENCH_RESULTS names, by default verification, where those of
the level quick are made if there are none. An error, a warning or anything else on stderr fails.
"""

import argparse
import base64
import io
import multiprocessing
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from html import escape, unescape
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "analysis"
OUT = ROOT / "build" / "notebooks"
RESULTS = ROOT / "verification"
#: These measure time: they run after the others, one by one, with all threads.
ALONE = ("06_wall_clock",)
SECONDS = 900  # for one cell, on the slowest machine
#: Names the folder of thumbnails for the processes that run notebooks.
THUMBNAILS = "ELUBENCH_THUMBNAILS"
#: The cell whose picture is the thumbnail has an id that ends like this.
THUMBNAIL = "-thumbnail"
PIXELS, COLOURS = 360, 64  # of a thumbnail
_STRICT = """
import warnings
warnings.simplefilter("error")
warnings.filterwarnings("ignore", module="ipykernel")  # of its own making
"""


_PAGE = """{% extends "base.html" %}
{% block title %}{{ title }}{% endblock %}
{% block body %}
<style>
{{ light }}
@media screen and (prefers-color-scheme: dark) { {{ dark }} }
.prompt, .anchor-link { display: none; }
.highlight pre { background: var(--paper); }
.notebook img { max-width: 100%; height: auto; background: #fff; }
.output_subarea { overflow-x: auto; }
.notebook table { width: auto; }
.notebook [style*="color:#555"] { color: var(--soft) !important; }
</style>
<main class="notebook">
{{ body | safe }}
</main>
{% endblock %}
"""


def page_of(notebook: nbformat.NotebookNode) -> str:
    """A notebook as a page that needs nothing else, in the style of the reports.

    A figure without a description of its own is named by the heading above it.
    """
    from nbconvert import HTMLExporter
    from pygments.formatters import HtmlFormatter

    from elubench.report.html import environment

    body, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    title, made = "", []
    for part in re.split(
        r"(<h[1-6] .*?</h[1-6]>|<img[^>]*>|<pre>|<div class=\"output_html )", body
    ):
        if part.startswith("<h"):
            title = escape(unescape(re.sub(r"<a class.*?</a>|<.*?>", "", part)))
        elif part.startswith("<img") and not re.search(r'\balt="(?!No description)', part):
            part = re.sub(r' alt="[^"]*"', "", part).replace("<img", f'<img alt="{title}: figure"')
        elif part == "<pre>":
            part = '<pre tabindex="0">'
        elif part.startswith("<div"):
            part = part.replace(
                "<div", f'<div tabindex="0" role="region" aria-label="{title}: output"'
            )
        made.append(part)
    return (
        environment()
        .from_string(_PAGE)
        .render(
            title=unescape(re.sub(r"<.*?>", "", re.search(r"<h1.*?>(.*?)<a ", body)[1])),
            light=HtmlFormatter(style="default").get_style_defs(".highlight"),
            dark=HtmlFormatter(style="github-dark").get_style_defs(".highlight"),
            body="".join(made),
        )
    )


def run(path: Path, environment: dict[str, str]) -> tuple[float, list[str]]:
    """Execute a notebook and write its HTML: seconds, and what is wrong with it."""
    os.environ.update(environment)  # before Jupyter reads it
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    begun = time.perf_counter()
    notebook = nbformat.read(path, as_version=4)
    shown = notebook.cells
    notebook.cells = [nbformat.v4.new_code_cell(_STRICT), *shown]
    # Files for sockets: kernels that start side by side may choose the same port.
    sockets = Path(environment["JUPYTER_RUNTIME_DIR"]) / path.stem
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(sockets)),
        timeout=SECONDS,
        resources={"metadata": {"path": str(path.parent)}},
    )
    wrong = []
    try:
        client.execute(cleanup_kc=True)
    except CellExecutionError as error:
        wrong.append(str(error).strip())
    notebook.cells = shown
    for place, cell in enumerate(shown):
        if cell.get("execution_count"):
            cell.execution_count -= 1  # the first was ours
        for output in cell.get("outputs", ()):
            if output.get("execution_count"):
                output.execution_count -= 1
            if output.output_type == "stream" and output.name == "stderr":
                wrong.append(f"cell {place} wrote to stderr:\n{output.text.strip()}")
            data = output.get("data", {})
            if data.get("text/plain", "").startswith("<Figure") and "image/png" not in data:
                wrong.append(f"cell {place} has a figure, but shows no picture")
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{path.stem}.html").write_text(page_of(notebook), encoding="utf-8")
    if THUMBNAILS in os.environ and not wrong:
        write_thumbnail(shown, Path(os.environ[THUMBNAILS]) / f"{path.stem}.png")
    return time.perf_counter() - begun, wrong


def write_thumbnail(cells: list[nbformat.NotebookNode], path: Path) -> None:
    """The picture of the cell that is named for it: small, in few colours, the same every time."""
    from PIL import Image  # comes with matplotlib

    (cell,) = (cell for cell in cells if cell.id.endswith(THUMBNAIL))
    picture = next(
        one.data["image/png"] for one in cell.outputs if "image/png" in one.get("data", ())
    )
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        high = round(image.height * PIXELS / image.width)
        small = image.convert("RGB").resize((PIXELS, high), Image.Resampling.LANCZOS)
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def run_all(paths: list[Path], environment: dict[str, str], workers: int) -> bool:
    """Run notebooks in parallel and print how each went; return whether all succeeded."""
    fine = True
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        started = {pool.submit(run, path, environment): path for path in paths}
        for ended in as_completed(started):
            name = started[ended].stem
            seconds, wrong = ended.result()
            print(f"{name}: {seconds:.0f} s{', FAILED' if wrong else ''}", flush=True)
            for what in wrong:
                print(f"{name}: {what}", file=sys.stderr, flush=True)
            fine = fine and not wrong
    return fine


def clean(path: Path) -> None:
    """Remove what a run leaves in a notebook: outputs, counts, and the machine's metadata."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)


def main() -> int:
    """Do what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(prog="notebooks.py", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="how a notebook's name begins")
    parser.add_argument("--thumbnails", action="store_true", help="write thumbnails again")
    parser.add_argument("--clean", action="store_true", help="remove outputs, run nothing")
    options = parser.parse_args()
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    if options.names:
        paths = [path for path in paths if path.name.startswith(tuple(options.names))]
    if not paths:
        print("notebooks.py: no such notebook in analysis/", file=sys.stderr)
        return 2
    if options.clean:
        for path in paths:
            clean(path)
        return 0

    os.environ.setdefault(
        "ELUBENCH_CACHE_DIR", str(ROOT / "build" / "kernel-cache")
    )  # the tests' own
    from elubench.papers.beyond_em import PAPER
    from elubench.verification.gathering import at_hand

    results = Path(os.environ.get("ELUBENCH_RESULTS", RESULTS)).resolve()
    at_hand(PAPER, results, say=lambda line: print(f"results: {line}", flush=True))
    with tempfile.TemporaryDirectory() as own:
        environment = {
            "ELUBENCH_RESULTS": str(results),
            "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, not the user's
            "JUPYTER_CONFIG_DIR": own,
            "JUPYTER_RUNTIME_DIR": own,
            "IPYTHONDIR": own,
        }
        if options.thumbnails:
            environment[THUMBNAILS] = str(NOTEBOOKS / "thumbnails")
        together = [path for path in paths if path.stem not in ALONE]
        alone = [path for path in paths if path.stem in ALONE]
        workers = max(1, min(len(together), os.cpu_count() or 1))
        threads = {} if workers == 1 else {"NUMBA_NUM_THREADS": "1"}
        fine = not together or run_all(together, environment | threads, workers)
        return 0 if (not alone or run_all(alone, environment, 1)) and fine else 1


if __name__ == "__main__":
    sys.exit(main())
