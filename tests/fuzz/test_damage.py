"""Damaged files: a fit of what they say, or one line that names the file; studies recover or refuse.

ELUBENCH_FUZZ=5000 ELUBENCH_FUZZ_SEED=7 pytest tests/fuzz     a longer campaign (``make fuzz``)
"""

import gzip
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import needs_jit
from study_tools import assert_same_rows, small

import elubench as eb
from elubench.cli import main
from elubench.studies.store import StoreError
from fuzz.test_fits import CASES, SEED

pytestmark = needs_jit

STUDY = """name = "mine"
seed = 3
[[block]]
models = ["isotropic", "diagonal"]
d = [1, 2]
n = [1e3, 1e6]
samples = "lattice"
replicates = 2
algorithms = [{ name = "EM" }, { name = "ELU", eta = 0.01, beta = 0.8 }]
radius_constant = 2.0
max_iter = 50
"""


def damaged(content, rng):
    """The bytes of a file after an accident."""
    content = bytearray(content)
    place = int(rng.integers(len(content)))
    length = int(min(rng.geometric(0.05), len(content) - place))
    match rng.integers(8):
        case 0:
            content[place] ^= 1 << int(rng.integers(8))
        case 1:
            del content[place:]
        case 2:
            del content[place : place + length]
        case 3:
            content[place:place] = content[place : place + length]
        case 4:
            content[place : place + length] = rng.bytes(length)
        case 5:
            content[place:place] = rng.bytes(length)
        case 6:
            content[place : place + length] = bytes(length)
        case _:
            words = ["NaN", "inf", ";", ",,", "\n\n", '"', "1e999", "é"]
            content[place:place] = str(rng.choice(words)).encode()
    return bytes(content)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good files of every kind, by name."""
    folder = tmp_path_factory.mktemp("good")
    X = np.random.default_rng(0).standard_normal((60, 2)) + 3.0
    frame = pd.DataFrame(X, columns=["height", "weight"])
    frame.to_csv(folder / "x.csv", index=False)
    frame.to_csv(folder / "x.tsv", sep="\t")
    (folder / "x.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    frame.to_parquet(folder / "x.parquet")
    np.save(folder / "x.npy", X)
    np.save(folder / "columns.npy", np.asfortranarray(X))
    (folder / "x.toml").write_text(STUDY)
    return folder


def command(*arguments, capsys):
    """Status, standard output and standard error of a command."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            status = main([str(each) for each in arguments])
        except SystemExit as ended:
            status = ended.code
    return status, *capsys.readouterr()


def check_line(status, out, said, path):
    """One clear line on standard error, and nothing on standard output."""
    lines = said.strip().splitlines()
    assert status == 2, said
    assert out == ""
    assert len(lines) == 1, said
    assert lines[0].startswith("elubench"), said
    assert path.name in said, said
    assert "bug in elubench" not in said, said


@pytest.mark.parametrize("number", range(CASES))
def test_data(number, files, tmp_path, capsys):
    rng = np.random.default_rng([SEED, number, 2])
    good = sorted(path for path in files.iterdir() if path.suffix != ".toml")
    source = good[number % len(good)]
    path = tmp_path / source.name
    path.write_bytes(damaged(source.read_bytes(), rng))
    status, out, said = command("fit", path, capsys=capsys)
    if status == 0:
        assert "log-likelihood" in out
    else:
        check_line(status, out, said, path)


@pytest.mark.parametrize("number", range(CASES))
def test_studies_as_written(number, files, tmp_path, capsys):
    rng = np.random.default_rng([SEED, number, 3])
    path = tmp_path / "x.toml"
    path.write_bytes(damaged((files / "x.toml").read_bytes(), rng))
    status, out, said = command("study", "show", path, capsys=capsys)
    if status == 0:
        assert out
    else:
        check_line(status, out, said, path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A study that is finished, and its rows."""
    out = tmp_path_factory.mktemp("finished") / "out"
    eb.run_study(small(traces=2), out)
    return out, eb.load_results(out)


@pytest.mark.parametrize("number", range(max(2, CASES // 4)))
def test_studies_as_stored(number, finished, tmp_path):
    """Whatever file is damaged: the same rows after running it again, or a refusal that says why."""
    rng = np.random.default_rng([SEED, number, 4])
    folder = tmp_path / "out"
    shutil.copytree(finished[0], folder)
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    victim = there[int(rng.integers(len(there)))]
    victim.write_bytes(damaged(victim.read_bytes(), rng))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a file was set aside
        try:
            eb.run_study(small(traces=2), folder)
        except (StoreError, ValueError) as error:
            said = str(error)
        else:
            said = None
    if said is not None:
        assert str(folder) in said, said
    else:
        assert_same_rows(eb.load_results(folder), finished[1])
