"""asv's configuration, what it makes of a slow-down, and its results as a table."""

import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from conftest import PATIENCE, ROOT, script

import elubench
from benchmarks import profiles
from elubench import cli
from elubench.peers import regressions

COLUMNS = [
    "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b",
    "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile",
]  # fmt: skip

BENCHMARKS = {
    "kernels.Pass.time_pass": {
        "name": "kernels.Pass.time_pass",
        "param_names": ["n", "threads"],
        "params": [["1000", "1000000000000000"], ["1", "2"]],
        "type": "time",
        "unit": "seconds",
        "version": "aa",
    },
    "radius.Arrays.track_passes": {
        "name": "radius.Arrays.track_passes",
        "param_names": ["algorithm", "name"],
        "params": [["'EM'", "'ELU'"], ["0.5", "<class 'int'>"]],
        "type": "track",
        "unit": "passes",
        "version": "1",
    },
    "version": 2,
}


def a_result(machine, commit, results, **more):
    return {
        "commit_hash": commit,
        "env_name": "virtualenv-py3.11",
        "date": 1_700_000_000_000,
        "params": {"machine": machine, "cpu": "a processor", "python": "3.11"},
        "python": "3.11",
        "requirements": {},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": results,
        "durations": {},
        "version": 2,
        **more,
    }


TIMES = [
    [0.25, None, math.nan, 1e-9],
    [["1000", "1000000000000000"], ["1", "2"]],
    "aa",
    1_700_000_100_000,
    12.5,
    [0.24, None, None, 0.5e-9],
    [0.26, None, None, 2e-9],
    [0.245, None, None, 1e-9],
    [0.255, None, None, 1e-9],
    [1, None, None, 10],
    [7, None, None, 9],
]
# as asv writes what has no statistics: the row ends with the last thing there is
PASSES = [[6.0, 7.0, 8.0, 9.0], [["'EM'", "'ELU'"], ["0.5", "<class 'int'>"]], "1", 5, 0.5]


@pytest.fixture
def folder(tmp_path):
    """Two machines, two commits on the first."""

    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))

    put("benchmarks.json", BENCHMARKS)
    put("desk/machine.json", {"machine": "desk", "version": 1})
    put("desk/aaaa-env.json", a_result("desk", "aaaa", {"kernels.Pass.time_pass": TIMES}))
    put("desk/bbbb-env.json", a_result("desk", "bbbb", {"radius.Arrays.track_passes": PASSES}))
    put("rack/machine.json", {"machine": "rack", "version": 1})
    put("rack/aaaa-env.json", a_result("rack", "aaaa", {"gone.time_it": [[3.0], [], "x"]}))
    return tmp_path


class TestResults:
    def test_a_row_for_each_value(self, folder):
        found = elubench.asv_results(folder)
        assert len(found) == 4 + 4 + 1
        assert set(found["machine"]) == {"desk", "rack"}
        first = found.iloc[0]
        assert first["commit"] == "aaaa"
        assert first["benchmark"] == "kernels.Pass.time_pass"
        assert (first["suite"], first["name"]) == ("kernels.Pass", "time_pass")
        assert (first["type"], first["unit"], first["version"]) == ("time", "seconds", "aa")
        assert (first["python"], first["cpu"]) == ("3.11", "a processor")
        assert first["environment"] == "virtualenv-py3.11"
        assert first["date"] == pd.Timestamp(1_700_000_000, unit="s", tz="UTC")
        assert first["started"] == pd.Timestamp(1_700_000_100, unit="s", tz="UTC")

    def test_failed_and_skipped(self, folder):
        found = elubench.asv_results(folder).iloc[:4]
        assert list(found["status"]) == ["ok", "failed", "skipped", "ok"]
        assert list(found["value"].dropna()) == [0.25, 1e-9]

    def test_statistics(self, folder):
        found = elubench.asv_results(folder)
        names = ["low", "high", "q25", "q75", "number", "repeat"]
        assert list(found.loc[0, names]) == [0.24, 0.26, 0.245, 0.255, 1.0, 7.0]
        assert found.loc[[1, 2, 4], names].isna().all(axis=None)

    def test_parameters_are_columns(self, folder):
        found = elubench.asv_results(folder)
        assert list(found["n"][:4]) == [1000, 1000, 10**15, 10**15]
        assert list(found["threads"][:4]) == [1, 2, 1, 2]
        assert found["n"][4:].isna().all()
        assert list(found["algorithm"][4:8]) == ["EM", "EM", "ELU", "ELU"]
        assert found["algorithm"][:4].isna().all()

    def test_parameters_beyond_literals_and_with_a_name_that_is_taken(self, folder):
        found = elubench.asv_results(folder)
        assert list(found["param_name"][4:6]) == [0.5, "<class 'int'>"]
        assert set(found["name"]) == {"time_pass", "track_passes", "time_it"}

    def test_benchmark_that_is_gone(self, folder):
        last = elubench.asv_results(folder).iloc[-1]
        assert (last["suite"], last["name"], last["value"]) == ("gone", "time_it", 3.0)
        assert (last["type"], last["unit"], last["status"]) == ("time", "seconds", "ok")

    def test_parameters_without_names(self, folder):
        (folder / "benchmarks.json").unlink()
        found = elubench.asv_results(folder)
        assert list(found["param1"][:4]) == [1000, 1000, 10**15, 10**15]
        assert found["unit"][4] == "unit"

    def test_one_machine(self, folder):
        found = elubench.asv_results(folder / "desk")
        assert len(found) == 8
        assert found["unit"][4] == "passes"

    def test_all_failed(self, folder):
        """asv writes one null for a benchmark that failed throughout."""
        row = [None, TIMES[1], "aa"]
        path = folder / "desk" / "aaaa-env.json"
        path.write_text(json.dumps(a_result("desk", "aaaa", {"kernels.Pass.time_pass": row})))
        found = elubench.asv_results(folder).iloc[:4]
        assert list(found["status"]) == ["failed"] * 4
        assert found["value"].isna().all()

    def test_missing_fields(self, folder):
        path = folder / "rack" / "aaaa-env.json"
        content = {"result_columns": COLUMNS, "results": {"gone.time_it": [[3.0]]}}
        path.write_text(json.dumps(content))
        last = elubench.asv_results(folder).iloc[-1]
        assert (last["machine"], last["value"]) == ("rack", 3.0)
        assert last[["commit", "python", "date", "started", "version"]].isna().all()

    def test_nothing_there(self, tmp_path):
        found = elubench.asv_results(tmp_path)
        assert found.empty
        assert {"machine", "commit", "benchmark", "value", "status"} <= set(found)

    def test_no_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            elubench.asv_results(tmp_path / "nowhere")

    @pytest.mark.parametrize("name", ["desk/aaaa-env.json", "benchmarks.json"])
    def test_half_written(self, folder, name):
        path = folder / name
        path.write_text(path.read_text()[:100])
        with pytest.raises(ValueError, match=rf"{path.name} is not JSON, or is cut short"):
            elubench.asv_results(folder)

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ([1, 2], "must be a JSON object"),
            ({"version": 1, "results": {}}, "asv update"),
            ({"results": {}}, "has no 'result_columns'"),
            (a_result("desk", "aaaa", {"a.time_b": 5}), "cannot read the row of a.time_b"),
            (a_result("desk", "aaaa", {"a.time_b": [[], []]}), "cannot read the row of a.time_b"),
        ],
    )
    def test_not_what_asv_writes(self, folder, content, says):
        path = folder / "desk" / "aaaa-env.json"
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match=rf"aaaa-env.json.*{says}"):
            elubench.asv_results(folder)


def history(folder, values, version="aa"):
    """One benchmark with two parameters over commits: the second is always 5.0."""
    (folder / "benchmarks.json").write_text(json.dumps(BENCHMARKS))
    (folder / "desk").mkdir(exist_ok=True)
    for place, value in enumerate(values):
        versions = version if isinstance(version, list) else [version] * len(values)
        row = [[value, 5.0], [["1000"], ["1", "2"]], versions[place]]
        content = a_result(
            "desk",
            f"{place:040x}",
            {"kernels.Pass.time_pass": row},
            date=1_700_000_000_000 + 86_400_000 * place,
        )
        (folder / "desk" / f"{place}-env.json").write_text(json.dumps(content))


class TestRegressions:
    NOISE = (1.0, 0.99, 1.01, 1.0, 1.02, 0.98, 1.0, 1.01)

    def found(self, folder, **options):
        return regressions.regressions(elubench.asv_results(folder), **options)

    def test_a_step_is_found_with_its_size_and_commit(self, tmp_path):
        history(tmp_path, [*self.NOISE, *(1.5 * value for value in self.NOISE)])
        (row,) = self.found(tmp_path).to_dict("records")
        assert (row["benchmark"], row["parameters"]) == ("kernels.Pass.time_pass", "(1000, 1)")
        assert row["factor"] == pytest.approx(1.5, rel=0.02)
        assert int(row["last_good"], 16) == 7
        assert int(row["since"], 16) == 8
        assert row["date"] == pd.Timestamp("2023-11-22T22:13:20Z")
        text = regressions.as_text(self.found(tmp_path))
        assert text.startswith("1.50 times: 1 s -> 1.5 s, since 00000000 of 2023-11-22 (good: ")
        assert text.endswith("kernels.Pass.time_pass(1000, 1)")

    def test_noise_a_gain_and_what_is_over_are_none(self, tmp_path):
        for values in (
            self.NOISE,
            [*(1.5 * value for value in self.NOISE), *self.NOISE],
            [*self.NOISE, *(1.5 * value for value in self.NOISE), *self.NOISE],
        ):
            history(tmp_path, values)
            assert self.found(tmp_path).empty
        assert regressions.as_text(self.found(tmp_path)) == "nothing is slower than it was"

    def test_the_threshold(self, tmp_path):
        history(tmp_path, [1.0] * 6 + [1.04] * 6)
        assert self.found(tmp_path).empty
        assert len(self.found(tmp_path, threshold=0.01)) == 1
        with pytest.raises(ValueError, match="threshold"):
            self.found(tmp_path, threshold=0.0)

    def test_another_version_of_the_benchmark_is_another_series(self, tmp_path):
        history(tmp_path, [1.0] * 6 + [2.0] * 6, version=["old"] * 6 + ["new"] * 6)
        assert self.found(tmp_path).empty
        assert len(regressions.by_commit(elubench.asv_results(tmp_path)).dropna()) == 6

    def test_nothing_there(self, tmp_path):
        assert self.found(tmp_path).empty
        assert regressions.by_commit(elubench.asv_results(tmp_path)).empty

    def test_command(self, tmp_path, capsys):
        history(tmp_path, [*self.NOISE, *(1.5 * value for value in self.NOISE)])
        table = tmp_path / "all.csv"
        assert cli.main(["regressions", str(tmp_path), "--csv", str(table)]) == 1
        assert capsys.readouterr().out.startswith("1.50 times")
        wide = pd.read_csv(table)
        assert list(wide.columns) == [
            "time", "commit", "machine", "environment",
            "kernels.Pass.time_pass(1000, 1)", "kernels.Pass.time_pass(1000, 2)",
        ]  # fmt: skip
        assert list(wide.iloc[:, 4][:8]) == list(self.NOISE)
        assert (wide.iloc[:, 5] == 5.0).all()
        assert wide["time"].is_monotonic_increasing
        history(tmp_path, [1.0] * 16)
        assert cli.main(["regressions", str(tmp_path)]) == 0


class TestConfiguration:
    @pytest.fixture
    def config(self):
        from asv import util

        return util.load_json(str(ROOT / "asv.conf.json"), js_comments=True)

    def test_matrix_has_the_locked_versions(self, config):
        lines = (ROOT / "requirements.lock").read_text().splitlines()
        locked = dict(line.split("==") for line in lines)
        for name, versions in config["matrix"]["req"].items():
            assert versions == [locked[name.removeprefix("pip+")]], name

    def test_what_asv_writes_is_ignored(self, config):
        folders = [config[f"{name}_dir"] for name in ("env", "results", "html")]
        assert all(folder.startswith(".asv/") for folder in folders)
        assert "/.asv/" in (ROOT / ".gitignore").read_text().splitlines()


# An environment that needs no installation: this interpreter with a commit's files on its path.
CHECKOUT = """
import os
import sys

from asv import environment, util


class Checkout(environment.Environment):
    tool_name = "checkout"
    _requirements = {}

    def check_presence(self):
        return os.path.isdir(self._path)

    def _setup(self):
        os.makedirs(self._path)

    def install_project(self, conf, repo, commit_hash):
        self.checkout_project(repo, commit_hash)
        self._set_installed_commit_hash(commit_hash)

    def run(self, arguments, **options):
        variables = {**options.pop("env", os.environ), "ASV_PYTHONPATH": self._build_root}
        return util.check_output([sys.executable, *arguments], env=variables, **options)
"""
# Its time passes only in its work: a busy machine changes nothing.
TINY = """
now = 0.0

def clock():
    return now

def work(seconds={seconds}):
    global now
    now += seconds

def iterations():
    return {iterations}
"""
SUITE = """
import tiny
from benchmarks.profiles import Suite, once


class Tiny(Suite):
    repeat = (3, 3, 1.0)
    timer = staticmethod(tiny.clock)

    @once
    def setup(self):
        self.calls = getattr(self, "calls", 0) + 1

    def time_planted(self):
        assert self.calls == 1
        tiny.work()

    def time_other(self):
        tiny.work(2**-10)

    def track_planted(self):
        return tiny.iterations()

    track_planted.unit = "iterations"


class Sometimes(Suite):
    params = (["here", "elsewhere"],)
    param_names = ("where",)

    def setup(self, where):
        if where == "elsewhere":
            raise NotImplementedError

    def track_other(self, where):
        return 10
"""


def tiny_repository(folder, suite, commits):
    """A repository of a tiny package, its benchmarks beside ours for profiles, and a way to run."""
    if shutil.which("git") is None:
        pytest.skip("needs git, as asv does")
    (folder / "checkout_environment.py").write_text(CHECKOUT)
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "benchmarks" / "suite.py").write_text(suite)
    shutil.copy(profiles.__file__, folder / "benchmarks")
    config = {
        "version": 1,
        "project": "tiny",
        "repo": str(folder),
        "branches": ["main"],
        "dvcs": "git",
        "environment_type": "checkout",
        "plugins": [".checkout_environment"],
        "launch_method": "forkserver",
        "results_dir": "results",
        "html_dir": "html",
    }
    (folder / "asv.conf.json").write_text(json.dumps(config))
    desk = dict.fromkeys(("os", "arch", "cpu", "num_cpu", "ram"), "") | {"machine": "desk"}
    (folder / ".asv-machine.json").write_text(json.dumps({"desk": desk, "version": 1}))
    left_out = ("PYTHONPATH", profiles.VARIABLE)
    variables = {name: value for name, value in os.environ.items() if name not in left_out}
    variables |= {"HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    for who in ("GIT_AUTHOR", "GIT_COMMITTER"):
        variables |= {f"{who}_NAME": "tiny", f"{who}_EMAIL": "tiny"}

    def run(*command, status=0):
        done = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    run("git", "init", "--quiet", "--initial-branch=main")
    for facts in commits:
        (folder / "tiny.py").write_text(TINY.format(**facts))
        run("git", "add", "tiny.py")
        run("git", "commit", "--quiet", "--message", "tiny")
    return run


# Powers of two: their sums are exact, and so are differences of times.
FORMER, LATTER = {"seconds": 2**-10, "iterations": 10}, {"seconds": 2**-4, "iterations": 40}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A repository whose second commit is slower, and what ``asv continuous`` says about it."""
    folder = tmp_path_factory.mktemp("planted")
    run = tiny_repository(folder, SUITE, [FORMER, LATTER])
    asv = (sys.executable, "-m", "asv")
    said = run(*asv, "continuous", "--factor", "3", "HEAD~1", "HEAD", status=1)
    return folder, said, lambda *arguments: run(*asv, *arguments)


@pytest.mark.skipif(os.name != "posix", reason="asv's forkserver is for POSIX")
class TestPlantedSlowDown:
    def test_continuous_reports_it_and_nothing_else(self, planted):
        _, said, _ = planted
        assert "PERFORMANCE DECREASED" in said
        worse = [line for line in said.splitlines() if line.startswith("| +")]
        assert len(worse) == 2, said
        assert any("Tiny.time_planted" in line for line in worse)
        assert any("Tiny.track_planted" in line for line in worse)

    def test_compare_shows_it_from_what_was_saved(self, planted):
        _, _, asv = planted
        said = asv("compare", "--factor", "3", "HEAD~1", "HEAD")
        marks = {
            line.split()[-2]: line.split()[1] for line in said.splitlines() if "suite." in line
        }
        assert marks["suite.Tiny.track_planted"] == "+"
        assert marks["suite.Tiny.time_planted"] == "+"
        assert marks["suite.Tiny.time_other"] != "+"

    def test_results_as_a_table(self, planted):
        folder, _, _ = planted
        found = elubench.asv_results(folder / "results")
        assert set(found["machine"]) == {"desk"}
        assert len(found) == 2 * 5
        assert set(found["commit"].str.len()) == {40}
        by_name = found.set_index("name")
        assert sorted(by_name.loc["track_planted", "value"]) == [10, 40]
        assert set(by_name.loc["track_planted", "unit"]) == {"iterations"}
        planted_times = by_name.loc["time_planted"]
        assert max(planted_times["value"]) > 10 * min(planted_times["value"])
        assert (planted_times["low"] <= planted_times["value"]).all()
        assert (planted_times["repeat"] >= 3).all()
        sometimes = by_name.loc["track_other"].set_index("where")
        assert set(sometimes.loc["here", "status"]) == {"ok"}
        assert set(sometimes.loc["elsewhere", "status"]) == {"skipped"}

    def test_pages_for_the_site(self, planted, monkeypatch):
        folder, *_ = planted
        site = script("site")
        monkeypatch.setattr(site, "ROOT", folder)
        measured, pages = site.asv_pages()
        assert len(measured) == 2 * 5
        assert (pages / "index.html").exists()
        assert "suite.Tiny.time_planted" in (pages / "index.json").read_text()


# And slower at the second commit, once: a neighbour came and went.
PASSING = """

class Passing(Suite):
    params = (["now", "never"],)
    param_names = ("when",)

    def track_disturbed(self, when):
        disturbed = pathlib.Path({file!r})
        left = int(disturbed.read_text())
        if when == "now" and tiny.iterations() == 40 and left:
            disturbed.write_text(str(left - 1))
            return 20
        return 10
"""


@pytest.mark.skipif(os.name != "posix", reason="asv's forkserver is for POSIX")
class TestCompare:
    """What `make bench-compare` says."""

    def test_slower_both_times_and_slower_once(self, tmp_path):
        disturbed = tmp_path / "disturbed"
        disturbed.write_text("3")  # rounds of the first comparison
        suite = "import pathlib\n" + SUITE + PASSING.format(file=str(disturbed))
        shell = tiny_repository(tmp_path, suite, [FORMER, LATTER])
        command = (sys.executable, str(ROOT / ".ci" / "compare.py"), "HEAD~1", "HEAD")
        said = shell(*command, "--factor", "1.5", status=1)
        assert "PERFORMANCE" not in said
        assert "what was marked: slower 3, faster 0" in said
        confirmed = said.split("Slower both times:")[1].split("\n\n")[0].split()
        assert confirmed == ["suite.Tiny.time_planted", "suite.Tiny.track_planted"]
        assert "Nothing is faster both times" in said

    @pytest.fixture
    def module(self):
        path = ROOT / ".ci" / "compare.py"
        spec = importlib.util.spec_from_file_location("ci_compare", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @pytest.mark.parametrize(
        ("first", "again", "status", "said"),
        [
            ((0, "", ""), None, 0, "Nothing has changed"),
            ((0, "", "a b c d e f g"), (0, "", ""), 0, "Nothing is faster both times"),
            ((0, "", "a b"), (0, "", "b c"), 0, "Faster both times:\n  b\n"),
            ((1, "a", "b"), (0, "", "b"), 0, "Nothing is slower both times"),
            ((1, "a", "b"), (1, "a", ""), 1, "Slower both times:\n  a\n"),
            ((0, "", "a"), (1, "a", ""), 0, "Nothing is slower both times"),
            ((0, "", "a"), (2, "", ""), 2, "Once more"),
        ],
    )
    def test_what_counts(self, module, monkeypatch, capsys, first, again, status, said):
        answers = [
            (one[0], {"+": set(one[1].split()), "-": set(one[2].split())})
            for one in (first, again)
            if one is not None
        ]
        monkeypatch.setattr(module, "compare", lambda *_: answers.pop(0))
        assert module.main("HEAD~1", "HEAD") == status
        assert answers == []
        assert said in capsys.readouterr().out

    def test_a_second_comparison_that_fails(self, module, monkeypatch):
        """asv's status is 1, too, where it could not compare at all."""
        told = []
        answers = [
            (1, {"+": {"suite.time_it(1, 'a|b')"}, "-": set()}),
            (1, {"+": set(), "-": set()}),
        ]
        monkeypatch.setattr(module, "compare", lambda *given: told.append(given) or answers.pop(0))
        assert module.main("HEAD~1", "HEAD", "--bench", "suite", "--factor", "2") == 1
        assert told[0][1:] == ("--factor", "2", "--bench=suite", "HEAD~1", "HEAD")
        ((option,),) = [[one for one in told[1] if "--bench" in one]]
        assert re.search(option.removeprefix("--bench="), "suite.time_it(1, 'a|b')")
        assert not re.search(option.removeprefix("--bench="), "suite.time_it(1, 'a')")
        row = "| +        | 1.0 | 2.0 |    2 | suite.time_it(1, 'a|b') [desk/virtualenv-py3.11] |"
        table = f"|----|\n{row}\n| -  | 2 | 1 | 0.5 | other |"
        assert module.marked(table, "+") == {"suite.time_it(1, 'a|b')"}
        assert module.marked(table, "-") == {"other"}


@pytest.mark.skipif(os.name != "posix", reason="asv's forkserver is for POSIX")
def test_a_commit_compared_with_itself(tmp_path):
    """What `make bench-aa` counts; a second call has nothing left to measure."""
    shell = tiny_repository(tmp_path, SUITE, [FORMER])
    config = json.loads((tmp_path / "asv.conf.json").read_text())
    (tmp_path / "asv.conf.json").write_text(
        json.dumps({**config, "repo": ".", "results_dir": ".asv/results"})
    )
    (tmp_path / ".ci").mkdir()
    for name in ("aa.py", "compare.py"):
        shutil.copy(ROOT / ".ci" / name, tmp_path / ".ci")
    (tmp_path / ".gitignore").write_text("build\n__pycache__\n")
    shell("git", "add", ".")
    shell("git", "commit", "--quiet", "--message", "all")
    path = f"PYTHONPATH={tmp_path}{os.pathsep}{ROOT}"
    said = shell("env", path, sys.executable, ".ci/aa.py")
    counts = json.loads((tmp_path / "build" / "bench-aa" / "counts.json").read_text())
    (found,) = counts["suites"].values()
    assert found["times"] == 2  # time_planted and time_other
    assert found["both"] == found["first"] == 0  # by a clock that nothing disturbs
    assert said.splitlines()[-2].startswith("suite          2 times, ")
    again = shell("env", path, sys.executable, ".ci/aa.py", "suite")
    assert again.splitlines() == said.splitlines()[-3:]


@pytest.mark.skipif(os.name != "posix", reason="asv's forkserver is for POSIX")
class TestEveryBenchmarkOnce:
    """What `make bench-check` finds."""

    @pytest.fixture
    def check(self, monkeypatch):
        path = ROOT / ".ci" / "bench.py"
        spec = importlib.util.spec_from_file_location("ci_bench", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)

        def run(folder, suite):
            tiny_repository(folder, suite, [FORMER])
            monkeypatch.setattr(module, "ROOT", folder)
            monkeypatch.setenv("ASV_PYTHONPATH", str(folder))
            monkeypatch.delenv("PYTHONPATH", raising=False)
            return module.main()

        return run

    def test_one_that_skips_itself_is_not_enough(self, check, tmp_path, capfd):
        assert check(tmp_path, SUITE) == 1
        said = capfd.readouterr()
        assert "suite.Sometimes.track_other: skipped at its smallest parameters" in said.err
        assert "4 of 5 benchmarks gave a number" in said.out

    def test_one_that_raises_fails(self, check, tmp_path, capfd):
        assert check(tmp_path, SUITE.replace("tiny.work()", "tiny.play()")) == 2
        assert "has no attribute 'play'" in capfd.readouterr().out
