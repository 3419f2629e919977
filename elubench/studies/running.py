"""Studies: grids of runs, described in TOML, kept as tidy rows, resumed after any accident.

    run_study("quick", "results")        runs what is left to run
    load_results("results")              one row a run
    load_traces("results")               iterates, where the study asks for traces

A study folder belongs to one study. Tasks are run in random order: what is there when a study is
stopped early is a fair sample of it, and two processes on one folder share the work.
"""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from elubench import __version__
from elubench.studies import engines, specs, tasks
from elubench.studies.specs import Spec
from elubench.studies.store import Store, StoreError, StoreWarning
from elubench.studies.tasks import SCHEMA, TRACE_SCHEMA, Plan

__all__ = [
    "Progress",
    "StoreWarning",
    "load_results",
    "load_traces",
    "run_study",
    "study_progress",
]


@dataclass(frozen=True)
class Progress:
    """Where a study stands. ``seconds_left`` is NaN while nothing is known about the speed.

    ``censored`` counts runs that ended without reaching the radius, ``failed`` those that raised.
    """

    name: str
    tasks: int
    tasks_done: int
    runs: int
    runs_done: int
    reached: int
    censored: int
    failed: int
    seconds: float = 0.0
    seconds_left: float = float("nan")

    @property
    def finished(self) -> bool:
        """Whether every run has its row."""
        return self.tasks_done == self.tasks


def run_study(
    spec: Spec | Mapping[str, Any] | str | Path,
    out: str | Path,
    engine: str = "local",
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Run a study, or what is left of it.

    Parameters
    ----------
    spec : the name of a preset, the path of a TOML file, or a mapping with the same content.
    out : the study's folder; made if there is none. A folder of another study is refused.
    engine : "local", or "dask".
    workers : processes of the engine "dask", by default as many as there are cores.
    scheduler : address of a Dask scheduler that is running already.
    retry_failed : compute tasks again that have failed runs in them.
    progress : called at the beginning and after every task.
    """
    folder = Path(out)
    study = specs.load(spec)
    if engine not in engines.ENGINES:
        raise ValueError(f"engine must be one of {', '.join(engines.ENGINES)}, got {engine!r}")
    if engine == "local" and (workers is not None or scheduler is not None):
        raise ValueError("workers and scheduler are for the engine 'dask'")
    if workers is not None and (scheduler is not None or workers < 1):
        raise ValueError(f"workers must be at least 1, and not with a scheduler, got {workers}")
    plan = _opened(folder, study, spec)
    store = Store(folder, study.hash, SCHEMA, TRACE_SCHEMA)
    expected = {task.name: task.rows for task in plan.tasks}
    rows, done = store.check(expected, repair=True)
    if retry_failed:
        rows, done = _without_failures(study, plan, store, rows, done)
    tally = _Tally(study, plan, rows, done)
    report = progress or (lambda _: None)
    report(tally.progress())
    left = [task for task in plan.tasks if task.name not in done]
    random.SystemRandom().shuffle(left)

    def made_elsewhere(task: tasks.Task) -> bool:
        if not store.has(task.name):
            return False
        tally.skip(task)
        return True

    if engine == "local":
        results = engines.local(study, left, made_elsewhere)
    else:
        results = engines.dask(study, left, made_elsewhere, workers, scheduler)
    if left:
        try:
            for made in results:
                store.put(made.task.name, made.rows, made.traces)
                tally.add(made.task, made.rows)
                report(tally.progress())
        finally:
            results.close()  # type: ignore[attr-defined]
    rows, done = store.check(expected, repair=True)
    seconds = tally.progress().seconds
    tally = _Tally(study, plan, rows, done)
    return tally.progress(seconds)


def load_results(out: str | Path) -> pd.DataFrame:
    """One row a run, as far as the study has got, by block, model, d, n, replicate and algorithm.

    Empty numbers are NaN: ``iterations_to_radius`` of a censored run, everything of a failed one.
    """
    study, plan, store = _existing(Path(out))
    rows, _ = store.check({task.name: task.rows for task in plan.tasks}, repair=False)
    frame: pd.DataFrame = rows.to_pandas()
    order = {block.name: place for place, block in enumerate(study.blocks)}
    place = frame["block"].map(order).astype("int64")
    keys = ["model", "d", "n", "replicate", "start", "algorithm", "options"]
    return (
        frame.assign(_place=place)
        .sort_values(["_place", *keys], kind="stable", ignore_index=True)
        .drop(columns="_place")
    )


def load_traces(out: str | Path) -> pd.DataFrame:
    """Recorded iterates of the runs in blocks with ``traces``, thinned: one row an iterate."""
    _, plan, store = _existing(Path(out))
    done = [task.name for task in plan.tasks if store.has(task.name)]
    frame: pd.DataFrame = store.traces(done).to_pandas()
    return frame


def study_progress(out: str | Path) -> Progress:
    """Where the study in a folder stands."""
    study, plan, store = _existing(Path(out))
    rows, done = store.check({task.name: task.rows for task in plan.tasks}, repair=False)
    return _Tally(study, plan, rows, done).progress()


def _opened(folder: Path, study: Spec, given: Any) -> Plan:
    """The plan of the study in this folder, which is made if there is none."""
    found = Store.description(folder)
    if found is None:
        plan = tasks.plan(study)
        text = None
        if isinstance(given, str | Path):
            text, _ = specs.source(given)
        description = {
            "name": study.name,
            "elubench": __version__,
            "hash": study.hash,
            "spec": study.canonical(),
            "bounds": list(plan.bounds),
        }
        Store.create(folder, description, text)
        found = Store.description(folder)
    if found is None or found["hash"] != study.hash:
        differs = "" if found is None else specs.difference(found["spec"], study.canonical())
        raise StoreError(f"{folder} holds another study: {differs}. Choose another folder")
    if found["elubench"] != __version__:
        warnings.warn(
            f"{folder} was begun with elubench {found['elubench']}, this is {__version__}; the "
            "column 'elubench' says which rows are whose",
            StoreWarning,
            stacklevel=3,
        )
    return tasks.plan(study, tuple(found["bounds"]))


def _existing(folder: Path) -> tuple[Spec, Plan, Store]:
    found = Store.description(folder)
    if found is None:
        raise StoreError(f"{folder} is not the folder of a study: there is no study.json in it")
    try:
        study = specs.from_canonical(found["spec"], found["name"])
    except (KeyError, TypeError, ValueError):
        study = None
    if study is None or study.hash != found["hash"]:
        raise StoreError(
            f"{folder / 'study.json'} was changed, or is of another version of elubench "
            f"({found['elubench']})"
        )
    plan = tasks.plan(study, tuple(found["bounds"]))
    return study, plan, Store(folder, found["hash"], SCHEMA, TRACE_SCHEMA)


def _without_failures(
    study: Spec, plan: Plan, store: Store, rows: pa.Table, done: set[str]
) -> tuple[pa.Table, set[str]]:
    failed = rows.filter(pc.equal(rows["status"], "failed"))
    places = {
        (row["block"], row["model"], row["n"], row["d"], row["replicate"])
        for row in failed.select(["block", "model", "n", "d", "replicate"]).to_pylist()
    }

    def place(group: tasks.Group) -> tuple[Any, ...]:
        cell = group.cell
        return study.blocks[cell.block].name, cell.model, cell.n, cell.d, group.replicate

    store.remove(
        task.name
        for task in plan.tasks
        if task.name in done and any(place(group) in places for group in task.groups)
    )
    return store.check({task.name: task.rows for task in plan.tasks}, repair=True)


class _Tally:
    """Counts what is done, and from its pace what time the rest will take."""

    def __init__(self, study: Spec, plan: Plan, rows: pa.Table, done: set[str]):
        self._study = study
        self._plan = plan
        self._done = set(done)
        self._rows = self._reached = self._failed = 0
        self._count(rows)
        self._begun = time.perf_counter()
        self._left = sum(task.cost for task in plan.tasks if task.name not in done)
        self._made = 0.0

    def _count(self, rows: pa.Table) -> None:
        self._rows += len(rows)
        self._reached += pc.sum(rows["reached"]).as_py() or 0
        self._failed += pc.sum(pc.equal(rows["status"], "failed")).as_py() or 0

    def add(self, task: tasks.Task, content: bytes) -> None:
        """Count a task that was made here."""
        self._made += task.cost
        self._count(pq.read_table(pa.BufferReader(content), columns=["reached", "status"]))
        self.skip(task)

    def skip(self, task: tasks.Task) -> None:
        """A task that is off the list."""
        self._left -= task.cost
        self._done.add(task.name)

    def progress(self, seconds: float | None = None) -> Progress:
        """Where it stands now."""
        spent = time.perf_counter() - self._begun if seconds is None else seconds
        return Progress(
            name=self._study.name,
            tasks=len(self._plan.tasks),
            tasks_done=len(self._done),
            runs=self._study.runs,
            runs_done=self._rows,
            reached=self._reached,
            censored=self._rows - self._reached - self._failed,
            failed=self._failed,
            seconds=spent,
            seconds_left=max(0.0, self._left) * spent / self._made if self._made else float("nan"),
        )
