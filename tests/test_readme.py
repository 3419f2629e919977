"""The README's examples run, and what it names exists."""

import re

import pytest
from conftest import ROOT, needs_jit, python

import elubench

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@needs_jit
@pytest.mark.parametrize("place", range(len(re.findall(r"```python\n", TEXT))))
def test_python_examples_run(place):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert python(f"import elubench as eb\n{blocks[place]}\nprint(0)") == 0


def test_names_in_tables_exist():
    for cell in re.findall(r"^\| `([^|]*)` \|", TEXT, re.MULTILINE):
        for name in re.findall(r"\b[A-Z][A-Za-z]+\b", cell.split("(")[0]):
            assert hasattr(elubench, name), name


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"^make ([a-z]+)|`make ([a-z]+)`", TEXT, re.MULTILINE)
    assert {"".join(pair) for pair in named} <= targets


def test_one_folder_for_results_and_how_to_call_the_command():
    written = re.findall(r"--out (\S+)", (ROOT / "Makefile").read_text())
    default = python(
        "from elubench.cli import verify\nimport argparse\n"
        "parser = argparse.ArgumentParser()\nverify.add_options(parser)\n"
        "print(repr(verify.folder_of(parser.parse_args([]))).replace(chr(39), chr(34)))"
    )
    assert written == [default] == re.findall(r"^elubench report (\S+)", TEXT, re.MULTILINE)
    assert f"writes {default}/report.html" in TEXT
    assert TEXT.index("source .venv/bin/activate") < TEXT.index("\nelubench verify ")


def test_files_it_shows_and_links_exist():
    for path in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / path).exists(), path


def test_the_tree_is_the_tree():
    block = TEXT.split("```\nelubench/\n")[1].split("```")[0]
    for name in re.findall(r"\b[a-z_]+\.py\b|\b[a-z]+/", block):
        assert (ROOT / "elubench" / name).exists() or (ROOT / name).exists(), name


def test_verdicts_are_those_expected():
    from elubench.papers.beyond_em import PAPER

    expected = {one.title: PAPER.expected[one.key] for one in PAPER.claims}
    shown = dict(
        re.findall(r"^\| ([^|]+) \| \**([a-z ]+?)\** \| .+ \| .* \| .* \|$", TEXT, re.MULTILINE)
    )
    shown.pop("claim", None)
    assert len(shown) >= 10
    assert {title: expected[title] for title in shown} == shown
    counts = [list(expected.values()).count(verdict) for verdict in ("supported", "contradicted")]
    assert f"{counts[0]} of {sum(counts)} claims supported, {counts[1]}\ncontradicted" in TEXT
