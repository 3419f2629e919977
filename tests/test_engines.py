"""Engines: the same rows from Dask as from this process, also when workers die."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
from conftest import PATIENCE, ROOT, needs_jit
from study_tools import assert_same_rows, replace_run, small

import elubench as eb
from elubench import studies
from elubench.samples import cluster as cluster_module
from elubench.studies import engines, performing, plan, reading

distributed = pytest.importorskip("distributed")

#: How many times a worker is killed; 15 in a thorough check.
WORKER_KILLS = int(os.environ.get("ELUBENCH_TEST_WORKER_KILLS", "1"))

STUDY = small(
    models=["isotropic", "diagonal"],
    d=[1, 2],
    algorithms=[{"name": name} for name in ("EM", "ELU", "LBFGS", "Newton", "NewtonAnderson")],
    validation=0.1,
    stop="end",
)


@pytest.fixture(autouse=True)
def _many_tasks(monkeypatch):
    monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)


@pytest.fixture(scope="module")
def cluster():
    one = {"NUMBA_NUM_THREADS": "1"}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", env=one,
        silence_logs="CRITICAL",
    ) as cluster:  # fmt: skip
        yield cluster


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "out"
    eb.run_study(STUDY, out)
    return eb.load_results(out)


def worker_pids(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


@needs_jit
class TestDask:
    def test_same_rows_to_the_last_bit(self, cluster, expected, tmp_path):
        ended = eb.run_study(STUDY, tmp_path / "out", "dask", scheduler=cluster.scheduler_address)
        assert ended.finished
        rows = eb.load_results(tmp_path / "out")
        assert_same_rows(rows, expected)
        assert set(rows["engine"]) == {"dask"}
        assert set(rows["threads"]) == {1}
        assert not rows["comparable"].any()

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
    @pytest.mark.parametrize("number", range(WORKER_KILLS))
    def test_killed_worker_in_the_middle(self, cluster, expected, tmp_path, number):
        killed = []
        moment = 5 if number == 0 else random.Random(number).randrange(1, 20)

        def kill(progress):
            if progress.tasks_done < moment or killed:
                return
            pids = []  # the worker killed by the test before may not be back, or is just leaving
            with suppress(OSError):
                pids = worker_pids(cluster)
            if pids:
                killed.append(pids[number % len(pids)])
                os.kill(killed[0], signal.SIGKILL)

        ended = eb.run_study(
            STUDY, tmp_path / "out", "dask", scheduler=cluster.scheduler_address, progress=kill
        )
        assert killed
        assert ended.finished
        assert_same_rows(eb.load_results(tmp_path / "out"), expected)

    def test_each_engine_goes_on_with_what_the_other_began(self, cluster, expected, tmp_path):
        address = cluster.scheduler_address

        class EnoughError(Exception):
            pass

        def stop(count):
            def check(progress):
                if progress.tasks_done == count:
                    raise EnoughError

            return check

        with pytest.raises(EnoughError):
            eb.run_study(STUDY, tmp_path / "out", progress=stop(10))
        with pytest.raises(EnoughError):
            eb.run_study(STUDY, tmp_path / "out", "dask", scheduler=address, progress=stop(30))
        assert studies.study_progress(tmp_path / "out").tasks_done == 30
        assert eb.run_study(STUDY, tmp_path / "out").finished
        rows = eb.load_results(tmp_path / "out")
        assert_same_rows(rows, expected)
        assert set(rows["engine"]) == {"local", "dask"}
        assert (rows["comparable"] == (rows["engine"] == "local")).all()

    def test_own_cluster(self, tmp_path):
        study = small(replicates=2)
        assert eb.run_study(study, tmp_path / "out", "dask", workers=1).finished
        eb.run_study(study, tmp_path / "local")
        assert_same_rows(eb.load_results(tmp_path / "out"), eb.load_results(tmp_path / "local"))

    def test_task_that_kills_every_worker_is_left_and_named(self, tmp_path, monkeypatch):
        class Doomed:
            key = "doomed"

            def result(self):
                raise distributed.KilledWorker("doomed", None, 3)

        spec = reading.load(small(replicates=1))
        (first, second) = plan.plan(spec).tasks
        said = f"1 task is left, the first being {first.name} .*workers died repeatedly"
        with pytest.raises(engines.TasksLeftError, match=said):
            list(_with_client(monkeypatch, spec, (first, second), Doomed()))


class Family:
    """A scheduler and workers without nannies, in processes of their own, to be killed."""

    def __init__(self, folder):
        self._started, place = [], folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(place))
        self.scheduler = self._start("distributed.cli.dask_scheduler", *options)
        self.address = None
        while self.address is None and self.scheduler.poll() is None:
            time.sleep(0.05)
            with suppress(FileNotFoundError, ValueError):  # not there yet, or half of it
                self.address = json.loads(place.read_text())["address"]

    def _start(self, *arguments):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "1"}
        command = [sys.executable, "-m", *arguments, "--no-dashboard"]
        one = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, cwd=ROOT)
        self._started.append(one)
        return one

    def worker(self):
        """A new worker, once the scheduler knows it."""
        options = (self.address, "--nthreads", "1", "--no-nanny")
        one = self._start("distributed.cli.dask_worker", *options)
        with distributed.Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
        return one

    def end(self):
        for one in self._started:
            one.kill()
            one.wait()


@pytest.fixture
def family(tmp_path):
    family = Family(tmp_path)
    yield family
    family.end()


@needs_jit
class TestAccidents:
    """What goes for good is said in one sentence, soon, and what was done is kept."""

    def test_killed_in_the_middle(self, family, tmp_path, monkeypatch):
        """The only worker; then nobody works; then, with a new one, the scheduler."""

        @contextmanager
        def impatient(*where):  # once connected: that may take longer
            monkeypatch.setattr(cluster_module, "PATIENCE", PATIENCE)
            with cluster_module.client_at(*where) as client:
                monkeypatch.setattr(cluster_module, "PATIENCE", 2.0)
                yield client

        monkeypatch.setattr(engines, "client_at", impatient)
        monkeypatch.setattr(engines, "_QUEUED_PER_WORKER", 2)

        def study(name, victim=None):
            def kill(progress):
                if progress.tasks_done == 3:
                    victim.kill()

            with pytest.raises(engines.EngineError) as caught:
                eb.run_study(
                    STUDY, tmp_path / name, "dask", scheduler=family.address, progress=kill
                )
            return str(caught.value), studies.study_progress(tmp_path / name).tasks_done

        gone = f"there has been no Dask worker at {family.address} for 2 s; finished tasks are kept"
        lost = f"the connection to the Dask scheduler at {family.address} was lost; finished tasks"
        said, done = study("worker", family.worker())
        assert said.startswith(gone)
        assert 3 <= done < 48
        said, done = study("nobody")
        assert said.startswith(gone)
        assert done == 0
        family.worker()
        said, done = study("scheduler", family.scheduler)
        assert said.startswith(lost)
        assert 3 <= done < 48

    def test_killed_before_its_answer_is_fetched(self, family, tmp_path, monkeypatch):
        """A task that is done is not yet here."""
        completed, worker = engines._completed, family.worker()

        def killed(running, watch):
            for future in completed(running, watch):
                worker.kill()
                worker.wait()
                monkeypatch.setattr(cluster_module, "PATIENCE", 2.0)
                yield future

        monkeypatch.setattr(engines, "_completed", killed)
        with pytest.raises(engines.EngineError, match="there has been no Dask worker"):
            eb.run_study(small(), tmp_path / "out", "dask", scheduler=family.address)

    def test_a_worker_that_does_not_start(self, tmp_path, monkeypatch):
        """As Dask says it when one is killed before it has said hello."""

        class Cluster:
            def __init__(self, **_):
                raise RuntimeError("Cluster failed to start") from RuntimeError("Nanny failed")

        monkeypatch.setattr(distributed, "LocalCluster", Cluster)
        with pytest.raises(engines.EngineError, match=r"workers did not start \(Nanny failed\)"):
            eb.run_study(small(), tmp_path / "out", "dask", workers=1)


class TestFaultsOfTheMachine:
    """A row is kept for ever: only what a run does by its own fault may be in one."""

    @pytest.mark.parametrize("fault", [MemoryError("no room"), OSError(24, "too many files")])
    def test_its_task_is_left_and_the_others_are_made(self, fault, tmp_path, monkeypatch):
        work, calls = performing.run, []

        def faulty(*args, **options):
            calls.append(args)
            if len(calls) == 5:
                raise fault
            return work(*args, **options)

        replace_run(monkeypatch, faulty)
        with pytest.raises(
            engines.TasksLeftError, match=r"^1 task is left, .*; run the study again"
        ):
            eb.run_study(small(), tmp_path / "out")
        found = studies.study_progress(tmp_path / "out")
        assert (found.tasks_done, found.failed) == (11, 0)
        assert eb.run_study(small(), tmp_path / "out").finished

    def test_what_does_not_fail_again_was_not_the_runs_fault(self, tmp_path, monkeypatch):
        work, calls = performing.run, []

        def faulty(*args, **options):
            calls.append(args)
            if len(calls) in (5, 11):
                raise TypeError("can't unbox")
            return work(*args, **options)

        replace_run(monkeypatch, faulty)
        assert eb.run_study(small(), tmp_path / "out").failed == 0
        monkeypatch.undo()
        eb.run_study(small(), tmp_path / "undisturbed")
        assert_same_rows(
            eb.load_results(tmp_path / "out"), eb.load_results(tmp_path / "undisturbed")
        )

    @pytest.mark.skipif(os.name != "posix", reason="about POSIX signals")
    def test_a_lost_interrupt_stops_the_study_before_anything_is_stored(
        self, tmp_path, monkeypatch
    ):
        work, calls = performing.run, []

        def deaf(*args, **options):
            calls.append(args)
            if len(calls) == 20:
                with suppress(KeyboardInterrupt):
                    os.kill(os.getpid(), signal.SIGINT)
            return work(*args, **options)

        replace_run(monkeypatch, deaf)
        with pytest.raises(KeyboardInterrupt):
            eb.run_study(small(), tmp_path / "out")
        assert studies.study_progress(tmp_path / "out").tasks_done == 4


def _with_client(monkeypatch, spec, given, doomed):
    """The Dask engine with a client that has one future that fails and computes the others."""

    class Now:
        def __init__(self, key, value):
            self.key, self._value = key, value

        def result(self):
            return self._value

    class Client:
        loop = None
        status = "running"

        def nthreads(self):
            return {"one": 1}

        def submit(self, work, spec, task, version, key, **_):
            if task is given[0]:
                doomed.key = key
                return doomed
            return Now(key, work(spec, task, version))

    class Completed:
        def __init__(self, **_):
            self._waiting = []

        def add(self, future):
            self._waiting.append(future)

        def is_empty(self):
            return not self._waiting

        def has_ready(self):
            return True

        def __next__(self):
            return self._waiting.pop()

    @contextmanager
    def client(*_):
        yield Client()

    def gathered(client, futures, watch):
        return [future.result() for future in futures]

    monkeypatch.setattr(engines, "client_at", client)
    monkeypatch.setattr(cluster_module, "gathered", gathered)
    monkeypatch.setattr(distributed, "as_completed", Completed)
    yield from engines.Engine("dask").results(spec, given, lambda task: False)


class TestRefusals:
    def test_without_dask(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(engines.EngineError, match=r"pip install 'elubench\[dask\]'"):
            eb.run_study(small(), tmp_path / "out", "dask")

    def test_nobody_at_the_address(self, tmp_path, monkeypatch):
        monkeypatch.setattr(cluster_module, "PATIENCE", 0.5)
        with pytest.raises(engines.EngineError, match=r"no Dask scheduler answers at tcp://127"):
            eb.run_study(small(), tmp_path / "out", "dask", scheduler="tcp://127.0.0.1:9")

    def test_worker_of_another_version(self):
        spec = reading.load(small(replicates=1))
        with pytest.raises(engines.EngineError, match="the worker has elubench"):
            engines._make_on_worker(spec, plan.plan(spec).tasks[0], "0.0.0")
