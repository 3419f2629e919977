"""The lock file, what is built from the source tree, and the Makefile's environment."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from conftest import PATIENCE, python
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import elubench

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SUPPORTED = ["3.11", "3.12", "3.13"]


def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pairs = [line.split("==") for line in lines]
    return {canonicalize_name(name): version for name, version in pairs}


class TestLock:
    def test_plain_lines_each_name_once(self):
        lines = (ROOT / "requirements.lock").read_text().splitlines()
        for line in lines:
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", line)
        assert len(locked()) == len(lines)

    def test_has_every_dependency(self):
        """Those of the package and of the extras in `dev`, which leaves out what is too large."""
        extras = PROJECT["optional-dependencies"]
        own = [one for one in map(Requirement, extras["dev"]) if one.name == "elubench"]
        names = {"dev", *(name for one in own for name in one.extras)}
        assert set(extras) - names == {"peers-all"}
        lines = [line for name in names for line in extras[name]]
        declared = [*PROJECT["dependencies"], *lines]
        pins = locked()
        for requirement in map(Requirement, declared):
            name = canonicalize_name(requirement.name)
            if name != "elubench":
                assert requirement.specifier.contains(pins[name]), requirement

    def test_runs_on_every_supported_python(self):
        for name, version in locked().items():
            try:
                found = metadata.metadata(name)
            except metadata.PackageNotFoundError:
                continue
            if found["Version"] == version:
                admitted = SpecifierSet(found.get("Requires-Python") or "")
                assert all(admitted.contains(f"{python}.0") for python in SUPPORTED), name

    def test_supported_pythons_are_the_declared_ones(self):
        declared = [
            line.rpartition(" ")[2]
            for line in PROJECT["classifiers"]
            if re.search(r":: 3\.\d+$", line)
        ]
        assert declared == SUPPORTED
        assert PROJECT["requires-python"] == f">={SUPPORTED[0]}"


#: The contract with users; more may be offered.
NAMES = {
    "Algorithm", "Anderson", "ArraySample", "CentredELU", "CubicNewton", "DAAREM", "Diagonal", "ELU",
    "EM", "Fit", "GDPolyak", "General", "GradientDescent", "Isotropic", "LBFGS", "LatticeSample",
    "Model", "Moments", "Nesterov", "Newton", "NewtonAnderson", "NormGD", "NormalizedGD", "ParabolicEM",
    "Polyak", "QuasiNewton", "Run", "SQUAREM", "Sample", "Simultaneous",
    "StationaryStartWarning", "Verification", "asv_results", "fit", "fit_rates", "gaussian", "kernel",
    "lemmas", "load_results", "load_traces", "population", "radius", "run", "run_many", "run_study",
    "load_verification", "plot", "rates", "step_size_conditions", "study_rows", "theory", "verify",
    "warmup",
}  # fmt: skip


class TestNames:
    def test_all_are_there(self):
        assert set(dir(elubench)) >= NAMES
        assert set(elubench.__all__) >= NAMES
        offered = {}
        exec("from elubench import *", offered)
        for name in NAMES:
            assert getattr(elubench, name) is offered[name]

    def test_others_are_not(self):
        with pytest.raises(AttributeError, match="module 'elubench' has no attribute 'nonsense'"):
            _ = elubench.nonsense

    def test_import_loads_nothing_heavy(self):
        code = "import sys, elubench; print(json.dumps(sorted(sys.modules)))"
        loaded = set(python(f"import json; {code}"))
        assert not loaded & {"numba", "numpy", "pandas", "scipy"}

    def test_type_checkers_see_them(self, tmp_path):
        pytest.importorskip("mypy")
        (tmp_path / "use.py").write_text(
            "import elubench as eb\n" + "\n".join(f"eb.{n}" for n in NAMES)
        )
        (tmp_path / "wrong.py").write_text("import elubench as eb\neb.nonsense\n")
        command = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(tmp_path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
        error, found = done.stdout.splitlines()
        assert re.search(r'wrong\.py:2: error: Module has no attribute "nonsense"', error)
        assert found == "Found 1 error in 1 file (checked 2 source files)"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source tree without a repository around it, as from an unpacked release."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    left_out = shutil.ignore_patterns(  # the rest stays as it is while other tests run
        ".git", ".venv*", "build", "dist", ".asv", ".*cache", "__pycache__", ".hypothesis", "dask-*"
    )
    return Path(shutil.copytree(ROOT, copy, ignore=left_out))


@pytest.fixture(scope="module")
def built(source, tmp_path_factory):
    pytest.importorskip("hatchling")
    target = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    subprocess.run(build, cwd=source, check=True, capture_output=True, timeout=PATIENCE)
    return target


class TestBuild:
    def test_wheel_is_the_package_and_nothing_else(self, source, built):
        with zipfile.ZipFile(built / f"elubench-{elubench.__version__}-py3-none-any.whl") as wheel:
            names = {name for name in wheel.namelist() if ".dist-info/" not in name}
            info = f"elubench-{elubench.__version__}.dist-info"
            scripts = wheel.read(f"{info}/entry_points.txt").decode()
            wheel.getinfo(f"{info}/licenses/LICENSE")
        assert "elubench = elubench.cli:main" in scripts
        assert names == {
            path.relative_to(source).as_posix()
            for path in (source / "elubench").rglob("*")
            if path.is_file()
        }

    def test_source_distribution_can_be_tested(self, built):
        with tarfile.open(built / f"elubench-{elubench.__version__}.tar.gz") as archive:
            names = {name.partition("/")[2] for name in archive.getnames()}
        assert {
            "LICENSE",
            "Makefile",
            "pyproject.toml",
            "requirements.lock",
            "elubench/cli/__init__.py",
            "tests/test_packaging.py",
        } <= names


# A stand-in for Python that is quick to make environments with, and notes what it was asked to do.
STAND_IN = """#!/bin/sh
echo "$*" >>"$NOTES"
case "$*" in
    '-c import sys; sys.exit'*) exit ${TOO_OLD:-0} ;;
    '-c print("works")') echo works ;;
    --version) echo "Python of $(basename "$0")" ;;
    '-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    '-m pip install '*) exit ${PIP_STATUS:-0} ;;
esac
"""


@pytest.mark.skipif(
    os.name != "posix" or shutil.which("make") is None or shutil.which("bash") is None,
    reason="needs make and bash",
)
class TestMakefile:
    @pytest.fixture
    def clone(self, tmp_path):
        folder = tmp_path / "a clone"
        folder.mkdir()
        shutil.copy(ROOT / "Makefile", folder)
        (folder / "pyproject.toml").touch()
        (folder / "requirements.lock").touch()
        return folder

    @pytest.fixture
    def make(self, clone, tmp_path):
        """Run make with the stand-in as ``python3``; the notes are what Python was asked to do."""
        programs = tmp_path / "programs"
        programs.mkdir()
        notes = tmp_path / "notes"

        def install(name, text=STAND_IN):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)

        def call(*arguments, **environment):
            notes.write_text("")
            mine = {"PATH": f"{programs}:/usr/bin:/bin", "NOTES": str(notes), **environment}
            done = subprocess.run(
                ["make", *arguments],
                cwd=clone,
                env=mine,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
            done.notes = notes.read_text().splitlines()
            done.made = any(note.startswith("-m venv") for note in done.notes)
            done.installed = any("-r requirements.lock" in note for note in done.notes)
            return done

        for name in ("python3", "python3.13", "python3.12", "python3.11"):
            install(name)
        call.install = install
        return call

    def test_help_is_the_default_and_needs_no_environment(self, make, clone):
        done = make()
        assert done.returncode == 0
        for target in ("verify", "test", "lint", "bench", "notebooks", "lock", "clean", "help"):
            assert re.search(rf"^make {target} ", done.stdout, re.M), target
        assert not (clone / ".venv").exists()

    def test_oldest_and_newest_versions(self, make, clone):
        """The oldest are those of pyproject.toml; the fake Python prints none of them."""
        assert make("test-oldest").returncode == 0
        done = make("test-oldest")
        assert done.notes[-3].endswith(".ci/floors.py")
        assert "-c build/oldest/constraints.txt -e .[dev]" in done.notes[-2]
        assert "-m pytest" in done.notes[-1]
        done = make("test-newest", "NEWEST_PYTHON=python3.13")
        assert "--upgrade -e .[dev]" in done.notes[-2]
        assert "-m pytest" in done.notes[-1]

    def test_environment_is_made_once(self, make):
        first = make("verify")
        assert (first.returncode, first.made, first.installed) == (0, True, True)
        assert (
            first.notes[-1] == "-m elubench verify --level quick --out verification --engine dask"
        )
        assert 'elubench is .venv/bin/elubench; "source .venv/bin/activate" puts' in first.stdout
        second = make("verify")
        assert (second.returncode, second.made, second.installed) == (0, False, False)

    @pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
    def test_environment_out_of_date_is_updated(self, make, clone, name):
        make("verify")
        os.utime(clone / ".venv" / "ready", (0, 0))
        done = make("verify")
        assert (done.returncode, done.made, done.installed) == (0, False, True)
        assert not make("verify").installed

    def test_environment_half_made_is_made_again(self, make, clone):
        assert make("verify", PIP_STATUS="1").returncode != 0
        (clone / ".venv" / "left-over").touch()
        done = make("verify")
        assert (done.returncode, done.made, done.installed) == (0, True, True)
        assert not (clone / ".venv" / "left-over").exists()

    def test_update_that_failed_is_made_again(self, make, clone):
        make("verify")
        os.utime(clone / ".venv" / "ready", (0, 0))
        assert make("verify", PIP_STATUS="1").returncode != 0
        assert make("verify").made

    def test_environment_that_lost_its_python_is_made_again(self, make, clone):
        make("verify")
        (clone / ".venv" / "bin" / "python").unlink()
        assert make("verify").made

    def test_newer_python_is_found_when_python3_is_too_old(self, make):
        make.install("python3", "#!/bin/sh\nexit 1\n")
        make.install("python3.13", "#!/bin/sh\nexit 127\n")
        assert "with Python of python3.12 " in make("verify").stdout

    def test_python_asked_for_is_the_one_used(self, make, tmp_path):
        folder = tmp_path / "with space"
        folder.mkdir()
        shutil.copy(tmp_path / "programs" / "python3", folder / "mine")
        assert "with Python of mine " in make("verify", f"PYTHON={folder}/mine").stdout

    def test_python_too_old_is_said(self, make, clone):
        done = make("verify", TOO_OLD="1")
        assert done.returncode == 2
        assert "needs Python 3.11 or newer; tried: python3 python3.13" in done.stderr
        asked = make("verify", "PYTHON=python3.12", TOO_OLD="1")
        assert "tried: python3.12." in asked.stderr
        assert not (clone / ".venv").exists()

    @pytest.mark.parametrize("target", ["bench", "notebooks"])
    def test_nothing_to_run_is_said(self, make, target):
        done = make(target)
        assert done.returncode == 2
        assert f"make {target}: there is no " in done.stderr


def test_floors_are_those_of_pyproject():
    """What `make test-oldest` installs; the lock file has nothing older."""
    path = ROOT / ".ci" / "floors.py"
    spec = importlib.util.spec_from_file_location("ci_floors", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "pyproject.toml").read_text()
    found = module.floors(text)
    assert len(found) == len({line.partition("==")[0] for line in found}) >= 11
    for line in found:
        name, _, version = line.partition("==")
        assert f'"{name}>={version}"' in text or f'"{name}[distributed]>={version}"' in text
        assert Version(locked()[name]) >= Version(version)
    assert "scikit-learn==1.6" in found  # of the two extras that need it, the higher
    with pytest.raises(SystemExit, match="must read name>=version, got 'numpy<3'"):
        module.floors(text.replace('"numpy>=2.1"', '"numpy<3"'))
