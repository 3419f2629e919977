"""The command line and ``elubench info``."""

import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from conftest import PATIENCE, needs_jit

import elubench
from elubench import cli, info
from elubench.algorithms.known import commands
from elubench.cli.machinery import CommandError

ELUBENCH = [sys.executable, "-m", "elubench"]


def run(*arguments, unbuffered="", **options):
    return subprocess.run(
        [*ELUBENCH, *arguments],
        text=True,
        timeout=PATIENCE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        **options,
    )


@pytest.fixture
def command(monkeypatch):
    """Call ``elubench try`` with a function as what it does."""

    def call(action):
        attempt = SimpleNamespace(SUMMARY="do it", add_options=lambda parser: None, run=action)
        monkeypatch.setitem(cli.COMMANDS, "try", attempt)
        return cli.main(["try"])

    return call


def raiser(error):
    def action(options):
        raise error

    return action


class TestUsage:
    def test_version(self, capsys):
        assert cli.main(["--version"]) == 0
        assert capsys.readouterr().out == f"elubench {elubench.__version__}\n"

    def test_help_lists_every_command(self, capsys):
        assert cli.main(["--help"]) == 0
        listed = capsys.readouterr().out
        assert len(cli.COMMANDS) == 12
        for name, one in cli.COMMANDS.items():
            assert name in listed
            assert " ".join(one.SUMMARY.split()) in " ".join(listed.split())

    @pytest.mark.parametrize("name", cli.COMMANDS)
    def test_every_command_has_help(self, name, capsys):
        assert cli.main([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: elubench {name} ")

    def test_fit_names_every_algorithm_and_model(self, capsys):
        assert cli.main(["fit", "--help"]) == 0
        shown = re.sub(r"-\n +", "-", capsys.readouterr().out)  # a name is broken at its hyphen
        for name in (*commands(), "isotropic", "diagonal", "general"):
            assert name in shown

    def test_without_a_command_the_help_goes_to_stderr(self, capsys):
        assert cli.main([]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("usage: elubench ")

    @pytest.mark.parametrize(
        ("arguments", "named"),
        [
            (["nonsense"], "nonsense"),
            (["info", "--nonsense"], "--nonsense"),
            (["info", "--js"], "--js"),  # no abbreviations
            (["info", "extra"], "extra"),
        ],
    )
    def test_wrong_arguments_are_one_line(self, arguments, named, capsys):
        assert cli.main(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("elubench: error: ")
        assert captured.err.count("\n") == 1
        assert named in captured.err

    def test_as_a_module(self):
        done = run("--version", stdout=subprocess.PIPE)
        assert (done.returncode, done.stdout) == (0, f"elubench {elubench.__version__}\n")

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys; from elubench.cli import main; main(['--help']); "
            "print(*sorted({'numba', 'numpy', 'pandas', 'scipy', 'dask'} & set(sys.modules)))"
        )
        shown = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        assert shown.stdout.splitlines()[-1] == ""


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "line"),
        [
            (CommandError("no results\nin it"), "no results in it"),
            (ValueError("n must be >= 2, got 1"), "n must be >= 2, got 1"),
            (ValueError(), "ValueError"),
            (FileNotFoundError(2, "No such file or directory", "x y"), "x y: No such file or"),
            (PermissionError(13, "Permission denied"), "Permission denied"),
            (ModuleNotFoundError("No module named 'sklearn'"), "No module named 'sklearn'"),
        ],
    )
    def test_users_errors_are_one_line(self, command, error, line, capsys):
        assert command(raiser(error)) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"elubench: error: {line}")
        assert captured.err.count("\n") == 1

    def test_debug_adds_the_traceback(self, command, capsys, monkeypatch):
        monkeypatch.setenv("ELUBENCH_DEBUG", "1")
        assert command(raiser(ValueError("wrong"))) == 2
        shown = capsys.readouterr().err
        assert shown.startswith("Traceback")
        assert shown.endswith("\nelubench: error: wrong\n")

    def test_faults_of_elubench_keep_their_traceback(self, command, capsys):
        assert command(raiser(ZeroDivisionError("oh"))) == 2
        shown = capsys.readouterr().err
        assert "ZeroDivisionError: oh" in shown
        assert "a bug in elubench" in shown.splitlines()[-1]

    def test_interrupt(self, command, capsys):
        assert command(raiser(KeyboardInterrupt())) == 130
        assert capsys.readouterr().err == "elubench: interrupted\n"

    def test_status_is_the_commands(self, command):
        assert command(lambda options: 1) == 1

    def test_broken_pipe_in_a_command(self, command, capsys):
        assert command(raiser(BrokenPipeError())) == 141
        assert capsys.readouterr().err == ""


class TestVerify:
    @pytest.fixture
    def asked(self, monkeypatch):
        """What ``verify`` is called with, in place of a verification."""
        seen = {}

        def verify(paper, **others):
            seen.update(paper=paper, **others)

        monkeypatch.setattr("elubench.papers.verifying.verify", verify)
        monkeypatch.setattr(cli.verify, "show", lambda done: 0)
        return seen

    def test_defaults(self, asked):
        assert cli.main(["verify"]) == 0
        given = {key: asked[key] for key in ("paper", "level", "out", "seed", "engine")}
        assert given == {
            "paper": "beyond-em",
            "level": "quick",
            "out": "verification",
            "seed": 0,
            "engine": "local",
        }

    def test_a_paper_and_a_level_of_the_users_own(self, asked):
        arguments = ["verify", "mine/paper.py", "--level", "tiny", "--engine=dask", "--workers=2"]
        assert cli.main(arguments) == 0
        assert (asked["paper"], asked["level"]) == ("mine/paper.py", "tiny")
        assert asked["out"] == "verification-paper"
        assert (asked["engine"], asked["workers"], asked["scheduler"]) == ("dask", 2, None)


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
@pytest.mark.parametrize("unbuffered", ["", "1"])
class TestOutput:
    @pytest.mark.parametrize("arguments", [["--help"], ["info"]])
    def test_reader_went_away(self, arguments, unbuffered):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = run(*arguments, stdout=writer, unbuffered=unbuffered)
        finally:
            os.close(writer)
        assert done.returncode == 141
        assert done.stderr == ""

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
    def test_full_disk(self, unbuffered):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = run("--help", stdout=full, unbuffered=unbuffered)
        assert done.returncode == 2
        assert done.stderr.startswith("elubench: error: ")
        assert done.stderr.count("\n") == 1

    def test_closed_stdout(self, unbuffered):
        done = subprocess.run(
            ["sh", "-c", 'exec "$0" "$@" >&-', *ELUBENCH, "info"],
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
        assert (done.returncode, done.stderr) == (0, "")


FACTS = {
    "versions": {"elubench": "0.1.0", "python": "3.11.7", "numba": "0.61.0", "scipy": None},
    "system": {
        "os": "Linux-6.1.0-very-long-kernel-name-x86_64-with-a-very-long-name-of-its-c-library",
        "machine": "x86_64",
        "processor": "Some Processor @ 2.00GHz",
        "cores": 8,
        "usable_cores": 2,
    },
    "threads": {"active": 2, "maximum": 2, "layer": None, "layers_to_try": ["tbb", "omp"]},
    "vector": {"cpu": "somelake", "features": ["avx2", "fma"], "jit": True},
    "cache": {
        "folder": "/a/folder",
        "writable": True,
        "why": "",
        "kernels": 12,
        "cached": 3,
        "compiled": 0,
    },
}


def changed(section, **values):
    return {**FACTS, section: {**FACTS[section], **values}}


class TestInfo:
    def test_json_has_what_the_text_has(self, capsys, monkeypatch):
        found = info.collect()  # once: the kernel cache is shared, and others fill it meanwhile
        monkeypatch.setattr(info, "collect", lambda: found)
        assert cli.main(["info", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts == found
        assert facts.keys() == FACTS.keys()
        for section in facts.keys() - {"versions"}:
            assert facts[section].keys() == FACTS[section].keys()
        assert cli.main(["info"]) == 0
        assert capsys.readouterr().out == info.as_text(facts) + "\n"

    def test_facts(self):
        facts = info.collect()
        assert facts["versions"]["elubench"] == elubench.__version__
        assert facts["versions"]["numba"] == numba.__version__
        assert 1 <= facts["system"]["usable_cores"] <= facts["system"]["cores"]
        assert 1 <= facts["threads"]["active"] <= facts["threads"]["maximum"]
        assert facts["cache"]["kernels"] > 0 or not facts["vector"]["jit"]

    def test_text(self):
        assert info.as_text(FACTS).splitlines() == [
            "elubench         0.1.0",
            "python           3.11.7",
            "numba            0.61.0",
            "scipy            not installed",
            "system           "
            "Linux-6.1.0-very-long-kernel-name-x86_64-with-a-very-long-name-of-its-c-library",
            "processor        Some Processor @ 2.00GHz",
            "usable cores     2 of 8",
            "threads          2 of at most 2",
            "threading layer  not started (would try: tbb, omp)",
            "compiles for     somelake",
            "vector features  avx2 fma",
            "kernel cache     /a/folder (writable)",
            "kernels          12 (3 cached, 0 compiled in this process)",
        ]

    @pytest.mark.parametrize(
        ("facts", "line"),
        [
            (changed("threads", layer="omp"), "threading layer  omp"),
            (changed("vector", features=[]), "vector features  none"),
            (changed("vector", jit=False), "compiles for     somelake (JIT disabled)"),
            (
                changed("cache", folder=None, writable=False, why="no room"),
                "kernel cache     none, every process compiles its kernels: no room",
            ),
            (changed("cache", writable=False), "kernel cache     /a/folder (not writable)"),
        ],
    )
    def test_text_of_other_states(self, facts, line):
        assert line in info.as_text(facts).splitlines()

    def test_text_fits_a_terminal(self):
        facts = changed("system", processor="Processor " * 20)
        lines = info.as_text(changed("system", os="Linux", processor="Processor " * 20)).split("\n")
        assert max(map(len, lines)) <= 80
        assert len(info.as_text(facts).split("\n")) > len(info.as_text(FACTS).split("\n"))

    def test_starts_and_compiles_nothing(self):
        code = (
            "import threading, numba; from elubench import info; facts = info.collect(); "
            "assert facts['threads']['layer'] is None; "
            "assert not numba.np.ufunc.parallel._is_initialized; "
            "assert threading.active_count() == 1; "
            "assert facts['cache']['compiled'] == 0"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)

    def test_threads_that_run(self, monkeypatch):
        monkeypatch.setattr(numba, "threading_layer", lambda: "omp")
        monkeypatch.setattr(numba, "get_num_threads", lambda: 1)
        threads = info.collect()["threads"]
        assert (threads["layer"], threads["active"]) == ("omp", 1)

    def test_a_threading_layer_asked_for(self, monkeypatch):
        monkeypatch.setattr(numba.config, "THREADING_LAYER", "workqueue")
        assert info.collect()["threads"]["layers_to_try"] == ["workqueue"]

    def test_a_processor_asked_for(self, monkeypatch):
        monkeypatch.setattr(numba.config, "CPU_NAME", "generic")
        monkeypatch.setattr(numba.config, "CPU_FEATURES", "+avx,-avx2,+fma,+popcnt")
        vector = info.collect()["vector"]
        assert (vector["cpu"], vector["features"]) == ("generic", ["avx", "fma"])

    def test_avx_switched_off(self, monkeypatch):
        monkeypatch.setattr(numba.config, "ENABLE_AVX", 0)
        assert not [name for name in info.collect()["vector"]["features"] if "avx" in name]

    @pytest.mark.parametrize("system", ["Linux", "Darwin", "Windows"])
    def test_processor_has_a_name_where_the_system_has_none(self, system, monkeypatch):
        def missing(*arguments, **options):
            raise FileNotFoundError

        monkeypatch.setattr("platform.system", lambda: system)
        monkeypatch.setattr(info.subprocess, "run", missing)
        monkeypatch.setattr(info.Path, "read_text", missing)
        assert info._processor()

    def test_writable(self, tmp_path):
        (tmp_path / "file").touch()
        assert info._writable(tmp_path)
        assert info._writable(tmp_path / "not" / "there" / "yet")
        assert not info._writable(tmp_path / "file")
        assert not info._writable(tmp_path / "file" / "below")


@needs_jit
class TestCompiling:
    @pytest.fixture
    def two_kernels(self, tmp_path, monkeypatch):
        """A new kernel cache, and two kernels that are all there are."""
        from elubench.kernels import _cache, _jit

        monkeypatch.setenv("ELUBENCH_CACHE_DIR", str(tmp_path))
        monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
        monkeypatch.setattr(_jit, "_registry", [])
        kind = numba.types.float64(numba.types.float64)

        def made():
            def one(x):
                return x + 1.0

            def two(x):
                return x + 2.0

            found = [_jit.kernel("exact", kind)(each) for each in (one, two)]
            monkeypatch.setattr(_jit, "known_kernels", lambda: found)

        made()
        return made

    def test_warmup(self, two_kernels, capsys):
        assert cli.main(["warmup"]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("2 kernels in ")
        assert "2 compiled now" in out
        assert err == "elubench: compiling kernels, once per machine\n"
        two_kernels()
        assert cli.main(["warmup"]) == 0
        out, err = capsys.readouterr()
        assert out.endswith(": all cached\n")
        assert err == ""

    def test_warmup_without_a_cache(self, monkeypatch, capsys):
        monkeypatch.setattr("elubench.kernels._cache.cache_folder", lambda: None)
        monkeypatch.setattr("elubench.kernels._cache.why_uncached", lambda: "no room")
        assert cli.main(["warmup"]) != 0
        assert "kernels cannot be kept: no room" in capsys.readouterr().err

    @pytest.mark.parametrize("terminal", [False, True])
    def test_the_line(self, terminal, monkeypatch):
        from elubench.cli import compiling
        from elubench.cli.compiling import MESSAGE, Line

        monkeypatch.setattr(compiling, "_PATIENCE", 0.5)
        stream = io.StringIO()
        stream.isatty = lambda: terminal
        line = Line(stream)
        line.compiled(0.3)
        assert stream.getvalue() == ""  # too short to speak of
        line.compiled(0.3)
        line.compiled(4.0)
        line.close()
        if terminal:
            assert stream.getvalue() == f"\r{MESSAGE}: 2 done\r{MESSAGE}: 3 done, 5 s\n"
        else:
            assert stream.getvalue() == f"{MESSAGE}\n"

    @pytest.mark.parametrize("terminal", [False, True])
    def test_the_bar_and_what_is_said_are_on_lines_of_their_own(
        self, terminal, monkeypatch, capsys
    ):
        from elubench.cli import compiling
        from elubench.cli.progress import Bar
        from elubench.kernels import _jit

        monkeypatch.setattr(compiling, "_PATIENCE", 0.001)
        stream = io.StringIO()
        stream.isatty = lambda: terminal
        monkeypatch.setattr("sys.stderr", stream)
        bar = Bar()
        with compiling.compiling_said(bar):
            bar.show(0.5, "half", finished=True)
            for _ in range(2):
                _jit._listeners[-1].begins()
                deadline = time.monotonic() + 60.0
                while compiling.MESSAGE not in stream.getvalue() and time.monotonic() < deadline:
                    time.sleep(0.001)
                _jit._listeners[-1].compiled(1.5)
        lines = stream.getvalue().strip("\r\n").split("\n")
        assert len(lines) == 2
        assert lines[0].endswith("half")
        assert lines[1] == compiling.MESSAGE

    def test_it_is_said_while_the_first_kernel_is_compiled(self, monkeypatch):
        from elubench.cli import compiling

        monkeypatch.setattr(compiling, "_PATIENCE", 0.001)
        stream = io.StringIO()
        line = compiling.Line(stream)
        line.begins()
        deadline = time.monotonic() + 60.0
        while not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
        assert stream.getvalue() == f"{compiling.MESSAGE}\n"
        line.compiled(2.0)
        line.begins()
        line.close()
        assert stream.getvalue() == f"{compiling.MESSAGE}\n"

    def test_nothing_is_said_of_a_kernel_that_is_soon_done(self, monkeypatch):
        from elubench.cli import compiling

        monkeypatch.setattr(compiling, "_PATIENCE", 30.0)
        stream = io.StringIO()
        line = compiling.Line(stream)
        line.begins()
        line.compiled(0.1)
        line.close()
        assert stream.getvalue() == ""

    @needs_jit
    def test_a_first_fit_says_so(self, tmp_path):
        """In a process of its own, with an empty cache."""
        from elubench.cli.compiling import MESSAGE

        (tmp_path / "rows.csv").write_text("a\n1\n2\n4\n7\n8\n")
        environment = {**os.environ, "ELUBENCH_CACHE_DIR": str(tmp_path / "cache")}
        program = (
            "import sys; from elubench import cli; from elubench.cli import compiling; "
            f"compiling._PATIENCE = 0.0; sys.exit(cli.main(['fit', {str(tmp_path / 'rows.csv')!r}]))"
        )
        for expected in (f"{MESSAGE}\n", ""):
            found = subprocess.run(
                [sys.executable, "-c", program],
                env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE,
            )  # fmt: skip
            assert found.stderr == expected
            assert "theta_1" in found.stdout

    def test_nothing_is_said_where_nothing_is_compiled(self, two_kernels, capsys):
        from elubench.cli.compiling import compiling_shown

        with compiling_shown():
            pass
        assert capsys.readouterr() == ("", "")


def test_names_that_are_not_text(capsys):
    """A file may be called by bytes that no encoding has; the message shows them."""
    assert cli.main(["fit", "no\udcff.csv"]) == 2
    assert capsys.readouterr().err.startswith(r"elubench: error: no\udcff.csv: ")
