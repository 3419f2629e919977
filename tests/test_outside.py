"""Studies with classes from outside the package: a user's algorithm and model, named in TOML."""

import json
import pickle
import re
import shutil
import sys

import pytest
from conftest import ROOT, needs_jit, python
from study_tools import assert_same_rows

import elubench as eb
from elubench import cli, studies
from elubench.studies import engines, plan, reading
from elubench.studies.reading import SpecError
from elubench.studies.store import StoreError

DOCUMENT = (ROOT / "EXTENDING.md").read_text()
FILES = dict(re.findall(r"^`(\w+\.py)`\n\n```python\n(.*?)^```$", DOCUMENT, re.S | re.M))
ALGORITHM, MODEL = "overrelaxed:OverrelaxedEM", "unit_scale:UnitScale"
STUDY = f"""
seed = 5
[[block]]
models = ["{MODEL}", "isotropic"]
d = 2
n = [1e3, 1e4]
samples = "lattice"
replicates = 3
starts = ["equal", "generic"]
algorithms = [{{ name = "EM" }}, {{ name = "{ALGORITHM}", omega = 1.5 }}]
max_iter = 30
"""
# An algorithm without kernels of its own.
OWN = """
from dataclasses import dataclass
from elubench import EM

@dataclass(frozen=True)
class Mine(EM):
    factor: float = {factor}
    command = ""

    def options(self, rows=1.0):
        return super().options(rows)[:0]
"""


@pytest.fixture(autouse=True)
def _many_tasks_and_clean_names(monkeypatch):
    monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("elubench", "numba", "distributed", "dask")):
            origin = getattr(sys.modules[name], "__file__", None) or ""
            if "pytest-of" in origin:
                del sys.modules[name]


@pytest.fixture
def toml(tmp_path):
    """A study beside the files of the document."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "mine.toml").write_text(STUDY)
    return tmp_path / "mine.toml"


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Its rows, and the folder where they are."""
    folder = tmp_path_factory.mktemp("outside")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "mine.toml").write_text(STUDY)
    assert eb.run_study(folder / "mine.toml", folder / "out").failed == 0
    return eb.load_results(folder / "out"), folder / "out"


def small(*algorithms, models="isotropic"):
    block = {"models": models, "d": 1, "n": 1000, "samples": "lattice", "max_iter": 5}
    return {"block": [{**block, "algorithms": list(algorithms)}]}


class TestLocal:
    def test_rows_say_where_classes_came_from(self, expected):
        rows, out = expected
        assert len(rows) == 2 * 2 * 3 * 2 * 2
        assert set(rows["model"]) == {MODEL, "isotropic"}
        assert set(rows["algorithm"]) == {ALGORITHM, "EM"}
        assert set(rows[rows["algorithm"] == ALGORITHM]["options"]) == {'{"omega":1.5}'}
        assert rows["mle_converged"].all()
        recorded = json.loads((out / "study.json").read_text())["modules"]
        assert {name: one["file"] for name, one in recorded.items()} == {
            "unit_scale": "unit_scale.py",
            "overrelaxed": "overrelaxed.py",
        }
        assert all(len(one["sha256"]) == 64 for one in recorded.values())

    def test_radius_is_the_models_own(self, expected, toml, tmp_path):
        text = FILES["unit_scale.py"].replace(
            "    def n_scales", "    def flatness(self, d, generic=False):\n"
            "        from elubench.models.flatness import Flatness\n"
            "        return Flatness(2.0, 1.0, 1.0)\n\n    def n_scales", 1,
        )  # fmt: skip
        (tmp_path / "unit_scale.py").write_text(text)
        toml.write_text(STUDY.replace("d = 2", "d = 1"))
        eb.run_study(toml, tmp_path / "out")
        rows = eb.load_results(tmp_path / "out")
        own = rows[rows["model"] == MODEL]
        assert (own["radius"] == own["n"].astype(float) ** -0.25).all()

    def test_resuming(self, expected, toml, tmp_path):
        rows, out = expected
        shutil.copytree(out, tmp_path / "out")
        for path in sorted((tmp_path / "out" / "shards").iterdir())[::2]:
            path.unlink()
        assert eb.run_study(toml, tmp_path / "out").finished
        assert_same_rows(eb.load_results(tmp_path / "out"), rows)

    def test_changed_code_is_refused(self, expected, toml, tmp_path):
        shutil.copytree(expected[1], tmp_path / "out")
        with open(tmp_path / "overrelaxed.py", "a", encoding="utf-8") as file:
            file.write("# better\n")
        with pytest.raises(StoreError, match="results of other code: overrelaxed changed since"):
            eb.run_study(toml, tmp_path / "out")

    def test_results_load_without_the_modules(self, expected, tmp_path):
        shutil.copytree(expected[1], tmp_path / "out")
        loaded = python(
            f"""
import json, sys, elubench as eb
from elubench import studies
out = {str(tmp_path / "out")!r}
rows = eb.load_results(out)
rates = eb.fit_rates(rows, resamples=100)
ours = [name for name in ("overrelaxed", "unit_scale") if name in sys.modules]
print(json.dumps([len(rows), studies.study_progress(out).finished, len(rates) > 0, ours]))
"""
        )
        assert loaded == [48, True, True, []]

    def test_helpers_belong_to_the_code(self, tmp_path):
        (tmp_path / "helper.py").write_text("FACTOR = 2.0\n")
        (tmp_path / "mine.py").write_text(
            "from helper import FACTOR\n" + OWN.format(factor="FACTOR")
        )
        study = "[[block]]\nmodels='isotropic'\nd=1\nn=1000\nsamples='lattice'\nmax_iter=3\n"
        (tmp_path / "mine.toml").write_text(study + "algorithms=[{name='mine:Mine'}]\n")
        eb.run_study(tmp_path / "mine.toml", tmp_path / "out")
        recorded = json.loads((tmp_path / "out" / "study.json").read_text())["modules"]
        assert sorted(recorded) == ["helper", "mine"]
        (tmp_path / "helper.py").write_text("FACTOR = 2.25\n")
        with pytest.raises(
            StoreError, match=r"holds another study: .*factor 2\.0 there, 2\.25 here"
        ):
            eb.run_study(tmp_path / "mine.toml", tmp_path / "out")
        (tmp_path / "helper.py").write_text("FACTOR = 2.0  # two\n")
        with pytest.raises(StoreError, match="other code: helper changed since"):
            eb.run_study(tmp_path / "mine.toml", tmp_path / "out")

    def test_command_line(self, toml, tmp_path, capsys):
        assert cli.main(["study", "show", str(toml)]) == 0
        assert "# block1    48       12 " in capsys.readouterr().out
        assert cli.main(["study", "run", str(toml), "--out", str(tmp_path / "out")]) == 0
        for path in FILES:
            (tmp_path / path).unlink()
        assert cli.main(["study", "status", str(tmp_path / "out")]) == 0
        assert "48 of 48 runs done" in capsys.readouterr().out
        assert cli.main(["study", "run", str(toml), "--out", str(tmp_path / "out")]) == 2
        said = capsys.readouterr().err
        assert f"{toml}: block[1].models[1] must be importable, got '{MODEL}': there is no" in said


class TestNames:
    def test_classes_of_one_name_do_not_collide(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        for name, factor in (("one", 1.5), ("two", 2.5)):
            (tmp_path / f"{name}.py").write_text(OWN.format(factor=factor))
        eb.run_study(small({"name": "one:Mine"}, {"name": "two:Mine"}, "EM"), tmp_path / "out")
        rows = eb.load_results(tmp_path / "out").set_index("algorithm")
        assert dict(rows["options"].map(json.loads)) == {
            "one:Mine": {"factor": 1.5},
            "two:Mine": {"factor": 2.5},
            "EM": {},
        }
        assert rows["location_error"].nunique() == 1

    def test_modules_of_one_name_in_two_folders(self, tmp_path):
        read = {}
        for folder, factor in (("one", 1.5), ("two", 2.5)):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "mine.py").write_text(OWN.format(factor=factor))
            text = "[[block]]\nmodels='isotropic'\nd=1\nn=1000\nalgorithms=[{name='mine:Mine'}]\n"
            (tmp_path / folder / "mine.toml").write_text(text)
            read[factor] = reading.load(tmp_path / folder / "mine.toml")
        for factor, spec in read.items():
            (one,) = spec.blocks[0].contestants
            assert (one.name, one.algorithm.factor) == ("mine:Mine", factor)

    def test_what_the_user_has_imported_stays(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "mine.py").write_text(OWN.format(factor=1.5))
        import mine

        (tmp_path / "mine.py").write_text(OWN.format(factor=2.125))
        text = "[[block]]\nmodels='isotropic'\nd=1\nn=1000\nalgorithms=[{name='mine:Mine'}]\n"
        (tmp_path / "mine.toml").write_text(text)
        (one,) = reading.load(tmp_path / "mine.toml").blocks[0].contestants
        assert one.options == {"name": "mine:Mine", "factor": 2.125}
        assert sys.modules["mine"] is mine
        assert mine.Mine().factor == 1.5

    def test_nested(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "mine.py").write_text(
            OWN.format(factor=1.5)
            + "\n@dataclass(frozen=True)\nclass Both(EM):\n    inner: object = Mine(3.5)\n"
        )
        spec = reading.load(small({"name": "mine:Both"}))
        (one,) = spec.blocks[0].contestants
        assert one.options["inner"] == {"name": "mine:Mine", "factor": 3.5}
        assert one.algorithm.inner.factor == 3.5
        plain = json.loads(json.dumps(spec.canonical()))
        assert reading.from_canonical(plain, spec.name) == spec


@pytest.mark.parametrize(
    ("key", "reference", "said"),
    [
        ("algorithm", "nowhere:X", r"there is no module 'nowhere' in .* or on Python's path"),
        ("algorithm", "mine.deep:X", r"there is no module 'mine.deep' in "),
        ("algorithm", "mine:Other", r"must be a subclass of Algorithm, got .* which is nothing"),
        ("algorithm", "mine:number", r"must be a subclass of Algorithm, got .* which is 3"),
        ("algorithm", "json:JSONDecoder", r"must be a subclass of Algorithm, .* which is <class"),
        ("algorithm", "faulty:X", r"importing 'faulty' raises ZeroDivisionError: division by zero"),
        ("algorithm", "broken:X", r"importing 'broken' raises SyntaxError: "),
        ("algorithm", "leaves:X", r"importing 'leaves' raises SystemExit: 3"),
        ("algorithm", "needy:X", r"importing 'needy' raises ModuleNotFoundError: .*'nothing_such'"),
        ("algorithm", "a b:X", r"must be 'module:Class', got 'a b:X'"),
        ("model", "nowhere:X", r"there is no module 'nowhere' in .* or on Python's path"),
        ("model", "mine:Mine", r"must be a subclass of Model, got 'mine:Mine', which is <class"),
        ("model", "mine:Unfinished", r"made with no options, got Unfinished \(Can't inst"),
        ("model", "iso", r"must be one of .*known-scale, module:Class, got 'iso'"),
    ],
)
def test_errors_are_one_line_with_the_key(tmp_path, key, reference, said, capsys):
    files = {
        "mine": OWN.format(factor=1.5) + "\nnumber = 3\nfrom elubench import Model\n"
        "class Unfinished(Model):\n    name = 'unfinished'\n",
        "faulty": "1 / 0",
        "broken": "def (",
        "leaves": "raise SystemExit(3)",
        "needy": "import nothing_such",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    names = {"algorithm": "EM", "model": "isotropic", key: reference}
    text = f"[[block]]\nmodels = '{names['model']}'\nd = 1\nn = 1000\n"
    (tmp_path / "mine.toml").write_text(
        text + f"algorithms = [{{name = '{names['algorithm']}'}}]\n"
    )
    place = {"algorithm": r"algorithms\[1\]\.name", "model": "models"}[key]
    with pytest.raises(SpecError, match=rf"mine\.toml: block\[1\]\.{place} .*{said}"):
        eb.run_study(tmp_path / "mine.toml", tmp_path / "out")
    assert cli.main(["study", "show", str(tmp_path / "mine.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_options_are_checked_like_ours(toml):
    for old, new, said in [
        ("omega = 1.5", "omega = 2.5", r"algorithms\[2\]\.omega must be in \(0, 2\), got 2.5"),
        (
            "omega = 1.5",
            "eta = 1",
            r"algorithms\[2\]\.eta is not a key; overrelaxed:.* has name, om",
        ),
        (
            '"EM"',
            '"NewtonAnderson"',
            r"algorithms\[1\]: NewtonAnderson needs .*; UnitScale has none",
        ),
    ]:
        toml.write_text(STUDY.replace(old, new))
        with pytest.raises(SpecError, match=rf"mine\.toml: block\[1\]\.{said}"):
            reading.load(toml)


class TestDask:
    @needs_jit
    def test_same_rows(self, expected, toml, tmp_path):
        """A worker that joins in the middle gets the modules too, and nothing stays on the scheduler."""
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            env={"NUMBA_NUM_THREADS": "1"}, silence_logs="CRITICAL",
        ) as cluster:  # fmt: skip

            def grow(progress):
                if progress.tasks_done == 2:
                    cluster.scale(2)

            address = cluster.scheduler_address
            done = eb.run_study(toml, tmp_path / "out", "dask", scheduler=address, progress=grow)
            assert done.failed == 0
            assert set(cluster.scheduler.worker_plugins) <= {"shuffle"}
        rows = eb.load_results(tmp_path / "out")
        assert_same_rows(rows, expected[0])
        assert set(rows["engine"]) == {"dask"}

    def test_code_travels_with_the_study(self, toml):
        """A study that was sent needs none of the files, and makes nothing twice."""
        spec = reading.load(toml)
        sent = pickle.dumps(spec)
        for name in FILES:
            (toml.parent / name).unlink()
            sys.modules.pop(name.removesuffix(".py"), None)
        one, two = pickle.loads(sent), pickle.loads(sent)
        assert one == spec
        assert one.blocks[0].outside is two.blocks[0].outside
        assert one.blocks[0].contestants[1].algorithm.omega == 1.5
        assert type(one.blocks[0].model(MODEL)).__name__ == "UnitScale"
        assert one.modules() == spec.modules()

    def test_worker_without_a_module_on_pythons_path(self, tmp_path, monkeypatch):
        (tmp_path / "mine.py").write_text(OWN.format(factor=1.5))
        with monkeypatch.context() as patch:
            patch.syspath_prepend(tmp_path)
            spec = reading.load(small({"name": "mine:Mine"}))
            sent = pickle.dumps(spec)
        task = plan.plan(spec).tasks[0]
        del sys.modules["mine"]
        with pytest.raises(engines.EngineError, match=r"worker cannot import .* no module 'mine'"):
            engines._make_on_worker(pickle.loads(sent), task, eb.__version__)
        (tmp_path / "mine.py").write_text(OWN.format(factor=1.25))
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(engines.EngineError, match=r"mine\.py is another version"):
            engines._make_on_worker(pickle.loads(sent), task, eb.__version__)


def test_figures_and_rates_take_such_rows(expected):
    rows, _ = expected
    found = eb.fit_rates(rows, resamples=100)
    assert set(found["algorithm"]) == {ALGORITHM, "EM"}
    from elubench.plot.style import in_order, look_of

    assert in_order(rows["algorithm"]) == ["EM", ALGORITHM]
    assert look_of(ALGORITHM).colour
    assert studies.study_progress(expected[1]).finished
