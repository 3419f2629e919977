"""``elubench study``: show, run, status; what it says while it runs and when it is stopped."""

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from conftest import PATIENCE, ROOT

import elubench as eb
from elubench import cli
from elubench.cli import progress
from elubench.studies import Progress, performing, plan, reading
from elubench.text import duration

SPEC = """
seed = 5
[[block]]
models = "isotropic"
d = 1
n = [1e3, 1e4]
samples = "lattice"
replicates = 3
algorithms = [{ name = "EM" }, { name = "ELU" }]
radius_constant = 2.0
max_iter = 40
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SPEC)
    return str(path)


class TestShow:
    def test_preset(self, capsys):
        assert cli.main(["study", "show", "smoke"]) == 0
        shown = capsys.readouterr().out
        assert reading.parse(shown).hash == reading.load("smoke").hash
        assert "# all" in shown
        assert "passes" in shown

    def test_file(self, spec, capsys):
        assert cli.main(["study", "show", spec]) == 0
        assert "# block1    12        6 " in capsys.readouterr().out

    def test_errors_are_one_line(self, tmp_path, capsys):
        path = tmp_path / "bad.toml"
        path.write_text(SPEC.replace("d = 1", "d = 9"))
        for arguments in (["show", str(path)], ["run", str(path), "--out", str(tmp_path / "x")]):
            assert cli.main(["study", *arguments]) == 2
            said = capsys.readouterr().err
            assert said.startswith(f"elubench: error: {path}: block[1].d must be between 1 and 4")
            assert said.count("\n") == 1
        assert not (tmp_path / "x").exists()

    def test_unknown_name(self, capsys):
        assert cli.main(["study", "show", "nonsense"]) == 2
        assert "presets are asymptotic, crossover" in capsys.readouterr().err


class TestRun:
    def test_run_status_and_again(self, spec, tmp_path, capsys):
        out = str(tmp_path / "out")
        assert cli.main(["study", "run", spec, "--out", out]) == 0
        first = capsys.readouterr()
        assert "12 of 12 runs done\n  reached the radius   " in first.out
        assert cli.main(["study", "status", out]) == 0
        assert capsys.readouterr().out == first.out
        assert cli.main(["study", "run", spec, "--out", out]) == 0
        assert capsys.readouterr().out == first.out

    def test_status_of_half_a_study(self, spec, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
        out = tmp_path / "out"
        eb.run_study(spec, out)
        for path in sorted((out / "shards").iterdir())[:4]:
            path.unlink()
        assert cli.main(["study", "status", str(out)]) == 0
        assert "4 of 12 runs done, 8 left in 4 tasks\n" in capsys.readouterr().out

    def test_failed_runs_show_in_the_exit_status(self, spec, tmp_path, capsys, monkeypatch):
        def fail(*_):
            raise RuntimeError("no luck")

        out = str(tmp_path / "out")
        monkeypatch.setattr(performing, "_one", fail)
        assert cli.main(["study", "run", spec, "--out", out]) == 1
        assert "  failed               12\n" in capsys.readouterr().out
        monkeypatch.undo()
        assert cli.main(["study", "run", spec, "--out", out]) == 1
        assert cli.main(["study", "run", spec, "--out", out, "--retry-failed"]) == 0

    def test_damage_is_a_line_on_stderr(self, spec, tmp_path, capsys):
        out = tmp_path / "out"
        eb.run_study(spec, out)
        (shard,) = (out / "shards").iterdir()
        shard.write_bytes(b"PAR1")
        assert cli.main(["study", "run", spec, "--out", str(out)]) == 0
        assert f"elubench: warning: {shard} cannot be read" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["status", "nowhere"], "nowhere is not the folder of a study"),
            (["run", "smoke"], "--out"),
            (["run", "smoke", "--out", "x", "--engine", "slurm"], "slurm"),
            (
                ["run", "smoke", "--out", "x", "--workers", "2"],
                "must be None unless engine is 'dask'",
            ),
            ([], "ACTION"),
        ],
    )
    def test_wrong_arguments(self, arguments, said, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert cli.main(["study", *arguments]) == 2
        captured = capsys.readouterr().err
        assert captured.startswith("elubench: error: ")
        assert captured.count("\n") == 1
        assert said in captured
        assert os.listdir(tmp_path) == []

    def test_another_study_in_the_folder(self, spec, tmp_path, capsys):
        out = str(tmp_path / "out")
        eb.run_study(spec, out)
        capsys.readouterr()
        changed = tmp_path / "changed.toml"
        changed.write_text(SPEC.replace("seed = 5", "seed = 6"))
        assert cli.main(["study", "run", str(changed), "--out", out]) == 2
        assert "holds another study: seed 5 there, 6 here" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX signals")
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_ctrl_c_stops_cleanly(tmp_path, engine):
    if engine == "dask":
        pytest.importorskip("distributed")
        psutil = pytest.importorskip("psutil")
    path, out = tmp_path / "long.toml", tmp_path / "out"
    # far more work than this test waits for; a run alone takes seconds
    long = SPEC.replace("replicates = 3", 'replicates = 500\nstop = "end"')
    path.write_text(long.replace("max_iter = 40", "max_iter = 10_000_000"))
    command = [sys.executable, "-m", "elubench", "study", "run", str(path), "--out", str(out)]
    if engine == "dask":
        command += ["--engine", "dask", "--workers", "1"]
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        waited = time.monotonic()
        while not (out / "study.json").exists() and time.monotonic() - waited < PATIENCE:
            time.sleep(0.05)
        if engine == "dask":  # its workers take their time to start on a busy machine
            family = psutil.Process(child.pid)
            while len(family.children(recursive=True)) < 2 and time.monotonic() - waited < PATIENCE:
                time.sleep(0.05)
        time.sleep(4.0 if engine == "dask" else 1.0)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to everything in the foreground
        said = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    # Python ends itself by SIGINT where one came through exec of a string, such as a named tuple's
    # definition, though it was caught; a shell reports 130 for both
    assert child.returncode in (130, -signal.SIGINT), said
    assert said[0] == ""
    lines = said[1].splitlines()
    assert lines[-1].startswith("elubench: interrupted; finished work is kept")
    assert "Traceback" not in said[1]
    assert not eb.load_results(out)["status"].eq("interrupted").any()


class Terminal(io.StringIO):
    def isatty(self):
        return True


NOW = Progress("x", 10, 0, 100, 0, 0, 0, 0)


class TestProgress:
    def test_on_a_terminal(self, monkeypatch):
        monkeypatch.setattr(progress, "_FRAME_SECONDS", 0.0)
        monkeypatch.setenv("COLUMNS", "100")
        stream = Terminal()
        bar = progress.Bar(stream)
        bar(NOW)
        halfway = replace(
            NOW, tasks_done=5, runs_done=50, reached=40, censored=9, failed=1, seconds_left=125.0
        )
        bar(halfway)
        bar.close()
        first, second = stream.getvalue().rstrip("\n").split("\r")[1:]
        assert "0%" in first
        assert "unknown time left" in first
        assert "##" in second
        assert "50%  50/100 runs  9 censored  1 failed  2 min 05 s left" in second
        assert max(len(first), len(second)) <= 100
        assert stream.getvalue().endswith("\n")

    def test_elsewhere_a_line_now_and_then(self, monkeypatch):
        stream = io.StringIO()
        bar = progress.Bar(stream)
        for done in range(10):
            bar(replace(NOW, tasks_done=done, runs_done=10 * done))
        assert stream.getvalue() == ""
        monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
        bar(replace(NOW, tasks_done=9, runs_done=90, seconds_left=3.0))
        bar.close()
        assert stream.getvalue() == "elubench:  90%  90/100 runs  0 censored  0 failed  3 s left\n"

    def test_resuming_is_said(self):
        stream = io.StringIO()
        progress.Bar(stream)(replace(NOW, tasks_done=3, runs_done=30))
        assert stream.getvalue() == "elubench: resuming: 30 of 100 runs are done\n"

    def test_narrow_terminal_and_none(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "20")
        stream = Terminal()
        progress.Bar(stream)(NOW)
        assert "[" not in stream.getvalue()

    @pytest.mark.parametrize(
        ("seconds", "said"),
        [(0.2, "0 s"), (59.4, "59 s"), (61, "1 min 01 s"), (7384, "2 h 03 min")],
    )
    def test_duration(self, seconds, said):
        assert duration(seconds) == said
