"""Running studies and loading what they found.

    run_study("quick", "results")        runs what is left to run
    load_results("results")              one row per run
    load_traces("results")               iterates, where the study asks for traces

A study folder belongs to one study. Tasks run in random order: the results of a study that is stopped
early are a fair sample of it, and two processes on one folder share the work. Shards divide it.
"""

from __future__ import annotations

import random
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elubench import __version__
from elubench.kernels import interrupts
from elubench.studies import reading
from elubench.studies.costs import cell_seconds
from elubench.studies.engines import Engine
from elubench.studies.plan import Group, Plan, Task, plan, shard_of
from elubench.studies.progress import Progress, Tally
from elubench.studies.rows import SCHEMA, TRACE_SCHEMA
from elubench.studies.spec import Spec, difference
from elubench.studies.store import Store, StoreError, StoreWarning


def run_study(
    spec: Spec | Mapping[str, Any] | str | Path,
    out: str | Path,
    engine: str = "local",
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    shard: str = "1/1",
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Run a study, or what is left of it.

    Parameters
    ----------
    spec : the name of a preset, the path of a TOML file, or a mapping with the same content.
        Algorithms and models may be "module:Class", where the module is beside the TOML file or on
        Python's path.
    out : the study's folder, made if there is none. You can interrupt a study; running it again with
        the same folder resumes it.
    engine : "local", or "dask".
    workers : processes of the engine "dask"; one per core by default.
    scheduler : address of a running Dask scheduler.
    retry_failed : compute tasks with failed runs again.
    shard : "i/N" for every N-th task from the i-th on. Shards may run at the same time, in one folder
        or in several that :func:`merge_studies` puts together.
    progress : called at the beginning and after every task.
    """
    folder = Path(out)
    study = reading.load(spec)
    chosen = Engine(engine, workers, scheduler)
    report = progress or (lambda _: None)
    with interrupts.noticed() as presses:
        shard_of((), shard)
        cut = _opened(folder, study, spec)
        store = _store(folder, study, cut)
        rows, done = store.check(cut.expected, repair=True)
        if retry_failed:
            ours = {task.name for task in shard_of(cut.tasks, shard)}
            store.remove(ours.intersection(_failed(study, cut, rows)))
            rows, done = store.check(cut.expected, repair=True)
        left = [task for task in shard_of(cut.tasks, shard) if task.name not in done]
        tally = Tally(study, cut, rows, done, cell_seconds(study), left)
        report(tally.progress())
        random.SystemRandom().shuffle(left)

        def made_elsewhere(task: Task) -> bool:
            if not store.has(task.name):
                return False
            tally.skip(task)
            return True

        if left:
            results = chosen.results(study, left, made_elsewhere)
            with closing(results):
                for made in results:
                    if (
                        presses.heard
                    ):  # and its exception lost: what it did to this task nobody knows
                        raise KeyboardInterrupt
                    store.put(made.task.name, made.rows, made.traces)
                    tally.add(made.task, made.rows)
                    report(tally.progress())
        rows, done = store.check(cut.expected, repair=True)
        ended = Tally(study, cut, rows, done).progress(tally.progress().seconds)
    if presses.heard:  # and its exception lost
        raise KeyboardInterrupt
    return ended


def study_rows(spec: Spec | Mapping[str, Any] | str | Path) -> pd.DataFrame:
    """Run a small study and return its rows, as :func:`load_results` does; nothing is kept.

    ``spec`` is that of :func:`run_study`.
    """
    with tempfile.TemporaryDirectory() as folder:
        run_study(spec, folder)
        return load_results(folder)


def load_results(out: str | Path) -> pd.DataFrame:
    """One row per run so far, sorted by block, model, d, n, replicate and algorithm.

    Empty numbers are NaN: ``iterations_to_radius`` of a censored run, everything of a failed one.
    """
    study, cut, store = existing(Path(out))
    frame: pd.DataFrame = store.rows(cut.expected).to_pandas()
    order = {block.name: place for place, block in enumerate(study.blocks)}
    place = frame["block"].map(order).astype("int64")
    keys = ["model", "d", "n", "replicate", "start", "algorithm", "options"]
    return (
        frame.assign(_place=place)
        .sort_values(["_place", *keys], kind="stable", ignore_index=True)
        .drop(columns="_place")
    )


def load_traces(out: str | Path) -> pd.DataFrame:
    """Recorded iterates of the runs in blocks with ``traces``, thinned: one row per iterate."""
    _, _, store = existing(Path(out))
    frame: pd.DataFrame = store.traces().to_pandas()
    return frame


def study_progress(out: str | Path) -> Progress:
    """Where the study in a folder stands."""
    study, cut, store = existing(Path(out))
    rows, done = store.check(cut.expected, repair=False)
    return Tally(study, cut, rows, done).progress()


def _opened(folder: Path, study: Spec, given: Any) -> Plan:
    """The plan of the study in this folder, which is made if there is none."""
    found = Store.description(folder)
    if found is None:
        text = reading.source(given)[0] if isinstance(given, str | Path) else None
        description = {
            "name": study.name,
            "elubench": __version__,
            "hash": study.hash,
            "spec": study.canonical(),
            "modules": study.modules(),
            "bounds": list(plan(study).bounds),
        }
        Store.create(folder, description, text)
        found = Store.description(folder)
    if found is None or found["hash"] != study.hash:
        differs = "" if found is None else difference(found["spec"], study.canonical())
        raise StoreError(f"{folder} holds another study: {differs}. Choose another folder")
    _refuse_other_code(folder, found.get("modules", {}), study.modules())
    if found["elubench"] != __version__:
        warnings.warn(
            f"{folder} was begun with elubench {found['elubench']}, this is {__version__}; the "
            "column 'elubench' says which version made a row",
            StoreWarning,
            stacklevel=3,
        )
    return _recorded(folder, found)[1]


def _refuse_other_code(folder: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    changed = [name for name in sorted({*there, *here}) if there.get(name) != here.get(name)]
    if changed:
        raise StoreError(
            f"{folder} holds results of other code: {', '.join(changed)} changed since. Results of "
            "different code must not mix; choose another folder, or restore what was there"
        )


def existing(folder: Path) -> tuple[Spec, Plan, Store]:
    """The study in a folder, its plan and its store; StoreError if there is none."""
    found = Store.description(folder)
    if found is None:
        raise StoreError(f"{folder} is not the folder of a study: there is no study.json in it")
    study, cut = _recorded(folder, found)
    return study, cut, _store(folder, study, cut)


def _recorded(folder: Path, found: dict[str, Any]) -> tuple[Spec, Plan]:
    """The study that a folder's description tells of, and its plan; StoreError if it was changed."""
    try:
        study = reading.from_canonical(found["spec"], found["name"])
        if study.hash == found["hash"]:
            return study, plan(study, tuple(found["bounds"]))
    except (KeyError, TypeError, ValueError):
        pass
    raise StoreError(
        f"{folder / 'study.json'} was changed, or is of another version of elubench "
        f"({found['elubench']})"
    )


def _store(folder: Path, study: Spec, cut: Plan) -> Store:
    traced = [
        task.name
        for task in cut.tasks
        if any(study.blocks[group.cell.block].traces for group in task.groups)
    ]
    return Store(folder, study.hash, SCHEMA, TRACE_SCHEMA, traced)


def _failed(study: Spec, cut: Plan, rows: pa.Table) -> list[str]:
    """Tasks that have failed runs."""
    failed = rows.filter(pc.equal(rows["status"], "failed"))
    keys = ["block", "model", "n", "d", "replicate"]
    places = {tuple(row.values()) for row in failed.select(keys).to_pylist()}

    def place(group: Group) -> tuple[Any, ...]:
        cell = group.cell
        return study.blocks[cell.block].name, cell.model, cell.n, cell.d, group.replicate

    return [task.name for task in cut.tasks if any(place(one) in places for one in task.groups)]
