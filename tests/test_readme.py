"""The README's examples run, and what it names exists."""

import re
import sys

import documents
import pytest
from conftest import ROOT, needs_jit, python

from elubench.papers.beyond_em import PAPER
from elubench.verification.deciding import rules_hash

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@needs_jit
def test_python_examples_run(tmp_path):
    documents.run_examples(TEXT, tmp_path)


def test_commands_are_understood():
    assert documents.wrong_commands(TEXT) == []


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 120


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


def test_verdicts_are_those_expected():
    from elubench.papers.beyond_em import PAPER

    expected = {one.title: PAPER.expected[one.key] for one in PAPER.claims}
    shown = dict(
        re.findall(r"^\| ([^|]+) \| \**([a-z ]+?)\** \| .+ \| .* \| .* \|$", TEXT, re.MULTILINE)
    )
    shown.pop("claim", None)
    assert len(shown) == 10
    assert {title: expected[title] for title in shown} == shown
    counts = [list(expected.values()).count(verdict) for verdict in ("supported", "contradicted")]
    assert f"{counts[0]} of {sum(counts)} claims supported and {counts[1]}\ncontradicted" in TEXT


def test_flips_are_of_the_rules(tmp_path):
    sys.path.insert(0, str(ROOT / "analysis"))
    try:
        import readme_table
    finally:
        sys.path.pop(0)
    rules = rules_hash(PAPER)
    reseeded, keys = tmp_path / "flips.csv", [claim.key for claim in PAPER.claims]
    rows = [f"{key},supported,{place},40" for place, key in enumerate(keys)]
    reseeded.write_text("\n".join([f"# p, rules {rules}", "claim,usual,flips,seeds", *rows]))
    assert readme_table.flips_in(reseeded, rules)[keys[3]] == "3 of 40"
    with pytest.raises(ValueError, match="is not of the rules other: # p, rules"):
        readme_table.flips_in(reseeded, "other")
    # What is published is of the rules as they stand, and the README has it.
    assert readme_table.FLIPS.exists() == ("| excludes | flips |" in TEXT)
    if readme_table.FLIPS.exists():
        found = readme_table.flips_in(readme_table.FLIPS, rules)
        assert list(found) == keys
        titles = {claim.title: claim.key for claim in PAPER.claims}
        shown = re.findall(r"^\| (.*?) \|.* \| (\d+ of \d+) \|$", TEXT, re.MULTILINE)
        assert len(shown) == len(readme_table.KEYS)
        assert all(found[titles[title]] == flips for title, flips in shown)
