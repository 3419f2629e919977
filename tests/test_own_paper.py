"""A paper of one's own, from the commands of EXTENDING.md to the pages in a browser."""

import contextlib
import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from conftest import PATIENCE, ROOT, needs_jit

import elubench as eb
from elubench import cli
from elubench.papers import starting
from elubench.studies.rows import IDENTITY, OUTCOME
from elubench.verification import claims_in, decide, gathering, toml_claims
from elubench.verification.paper import load

DOCUMENT = (ROOT / "EXTENDING.md").read_text()
SECTION = DOCUMENT[DOCUMENT.index("## A paper of your own") :]
COMMANDS = re.findall(r"^elubench (.*?)(?: +#.*)?$", SECTION, re.M)
TEMPLATE = ROOT / "elubench" / "papers" / "_template"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


def forget(*names):
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder in which the commands of the document have run, and what each returned."""
    forget("mine")
    folder = tmp_path_factory.mktemp("own paper")
    with contextlib.chdir(folder):
        codes = [cli.main(shlex.split(command)) for command in COMMANDS]
    yield folder, codes
    forget("mine")


@needs_jit
class TestDocument:
    def test_its_commands_do_what_it_says(self, made):
        folder, codes = made
        assert [command.split()[0] for command in COMMANDS] == [
            "paper", "verify", "papers", "report", "report",
        ]  # fmt: skip
        assert codes == [0] * 5
        found = json.loads((folder / "verification-mine" / "claims.json").read_text())
        assert {one["key"]: one["verdict"] for one in found["claims"]} == {
            "iterations": "supported",
            "quicker": "supported",
        }
        for page in ("verification-mine", "verification-mine/grid"):
            assert f'href="{page}/report.html"' in (folder / "index.html").read_text()
            assert (folder / page / "report.html").exists()

    def test_the_folder_is_the_template(self, made):
        names = re.findall(r"^\| `(\S+)` \|", SECTION, re.M)
        files = {path.name: path for path in TEMPLATE.iterdir() if path.is_file()}
        assert sorted(names) == sorted(files)
        for name, path in files.items():
            assert (made[0] / "mine" / name).read_bytes() == path.read_bytes()

    def test_every_kind_of_claim_is_decided(self, made, tmp_path):
        """Those of the document, on the rows of the folder, by the paper's own figures."""
        [text] = re.findall(r"^`claims.toml`\n\n```toml\n(.*?)^```$", SECTION, re.S | re.M)
        (tmp_path / "claims.toml").write_text(text)
        paper = load(made[0] / "mine")
        evidence = gathering.load(paper, made[0] / "verification-mine")
        own = replace(paper, chapters=(claims_in(tmp_path / "claims.toml"),), expected={})
        found = decide(own, evidence)
        assert {one.claim.key: one.verdict for one in found} == dict.fromkeys(
            ("iterations", "corrected", "power", "multiple", "gain", "arrives"), "supported"
        )

    def test_every_key_is_described(self):
        known = {
            *toml_claims._CLAIM,
            *(key for keys in toml_claims._MEASURES.values() for key in keys),
        }
        named = set(re.findall(r"`(\w+)`|^(\w+) = ", SECTION, re.M))
        assert known <= {one or two for one, two in named}

    def test_the_python_it_shows_is_that_of_the_folder(self):
        [code] = re.findall(r"^```python\n(QUICKER.*?)^```$", SECTION, re.S | re.M)
        assert code in (TEMPLATE / "__init__.py").read_text()
        assert f"```python\n{(TEMPLATE / 'overrelaxed.py').read_text()}```" in DOCUMENT


@needs_jit
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the pages in")
@pytest.mark.parametrize("page", ["verification-mine", "verification-mine/grid", "."])
def test_in_a_browser(made, page, tmp_path):
    """Nothing is wrong on the console, and every figure has a size once its claim is open."""
    path = made[0] / page / ("index.html" if page == "." else "report.html")
    probe = path.with_name("probe.html")
    probe.write_text(
        path.read_text("utf-8").replace(
            "</body>",
            "<script>addEventListener('load', () => {"
            "document.querySelectorAll('details').forEach(one => one.open = true);"
            "const sizes = [...document.images].map(one => {"
            "const live = one.closest('figure').querySelector('.plot svg') || one;"
            "const box = live.getBoundingClientRect();"
            "return [one.naturalWidth, one.naturalHeight, box.width, box.height];});"
            "document.body.dataset.found = JSON.stringify("
            "[sizes, document.documentElement.scrollWidth, innerWidth]);});</script></body>",
        ),
        "utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    options += [
        f"--user-data-dir={tmp_path}",
        "--window-size=390,800",
        "--virtual-time-budget=5000",
        "--dump-dom",
    ]
    shown = subprocess.run(
        [CHROMIUM, *options, probe.as_uri()], capture_output=True, text=True, timeout=PATIENCE
    )
    probe.unlink()
    assert "CONSOLE" not in shown.stderr
    sizes, wide, window = json.loads(
        html.unescape(re.search(r'data-found="(.*?)"', shown.stdout).group(1))
    )
    assert len(sizes) == (0 if page == "." else 1)
    assert all(min(size) > 100 for size in sizes)
    assert wide <= window  # a page is never wider than a telephone


@needs_jit
def test_changed_by_hand_and_verified_on_both_engines(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    forget("by_hand")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["paper", "new", "by_hand"]) == 0
    for name, old, new in (
        ("claims.toml", 'stated = "1/2"', 'stated = "3/5"'),
        ("grid.toml", "3e5, 1e6, 3e6, 1e7", "3e5"),
        ("grid.toml", "replicates = 40", "replicates = 10"),
    ):
        path = tmp_path / "by_hand" / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    local = ["verify", "./by_hand", "--out", "local"]
    assert cli.main(local) == 1  # it is not as expected
    assert cli.main([*local[:-1], "dask", "--engine", "dask", "--workers", "1"]) == 1
    one, two = (
        json.loads((tmp_path / name / "claims.json").read_text()) for name in ("local", "dask")
    )
    assert one == two
    found = {claim["key"]: claim for claim in one["claims"]}
    assert "or around 0.6 and excludes n^(1/3)" in found["iterations"]["rule"]
    assert found["iterations"]["verdict"] != "supported"
    rows = [eb.load_results(tmp_path / name / "grid") for name in ("local", "dask")]
    columns = [*IDENTITY, *OUTCOME]
    pd.testing.assert_frame_equal(rows[0][columns], rows[1][columns], check_exact=True)
    assert [set(part["engine"]) for part in rows] == [{"local"}, {"dask"}]
    forget("by_hand")


class TestNew:
    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("my-paper", "name must consist of letters, digits and _"),
            ("2nd", "name must consist of letters, digits and _"),
            ("class", "name must consist of letters, digits and _"),
            ("", "name must consist of letters, digits and _"),
            ("numpy", "name must not be that of a Python module, got 'numpy'"),
            ("beyond_em", "name must not be that of a paper that ships, got 'beyond_em'"),
        ],
    )
    def test_bad_names(self, tmp_path, monkeypatch, capsys, name, message):
        monkeypatch.chdir(tmp_path)
        assert cli.main(["paper", "new", name]) == 2
        assert message in capsys.readouterr().err
        assert not list(tmp_path.iterdir())

    def test_what_exists_is_left_alone(self, tmp_path, capsys):
        folder = tmp_path / "there"
        folder.mkdir()
        assert cli.main(["paper", "new", str(folder)]) == 2
        assert "there: exists already" in capsys.readouterr().err
        assert not list(folder.iterdir())

    def test_elsewhere(self, tmp_path, capsys):
        folder = tmp_path / "a folder" / "own_elsewhere"
        assert starting.new_paper(folder) == folder
        assert cli.main(["papers", str(folder)]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith("beyond-em\n  title   Beyond EM Algorithm on")
        assert re.search(r"\nown_elsewhere\n  title .*\n  claims  2\n  levels  quick\n", shown)
        forget("own_elsewhere")


def test_a_mistake_in_toml_is_one_line(tmp_path, capsys):
    folder = starting.new_paper(tmp_path / "mistaken")
    path = folder / "claims.toml"
    path.write_text(path.read_text().replace('of = "iterations_to_radius"', 'of = "iteration"'))
    assert cli.main(["verify", str(folder), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "claims.toml: claim 'iterations': of must be one of" in said
    assert not (tmp_path / "out").exists()
