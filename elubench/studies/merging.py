"""One study from several folders, each with some of its tasks: runs on other machines, or shards."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from elubench.studies.progress import Progress, Tally
from elubench.studies.rows import IDENTITY, OUTCOME, TIME, TRACE_SCHEMA
from elubench.studies.running import existing
from elubench.studies.spec import difference
from elubench.studies.store import Store, StoreError, parquet

# what does not depend on the machine or the clock
_LASTING = [*IDENTITY, *OUTCOME]
_LASTING_OF_TRACES = [name for name in TRACE_SCHEMA.names if name not in TIME]


def merge_studies(folders: Sequence[str | Path], out: str | Path) -> Progress:
    """Put the tasks of several folders of one study into one, which is made if there is none.

    A task that several folders have must have the same rows in each, to the last bit, except for what
    depends on the clock and the machine. The folders stay as they are.
    """
    places, target = [Path(folder) for folder in folders], Path(out)
    if not places:
        raise ValueError("folders must name at least one study, got none")
    _check_same([*places, target] if Store.description(target) is not None else places)
    first = Store.description(places[0])
    assert first is not None
    if Store.description(target) is None:
        text = places[0] / "study.toml"
        Store.create(target, first, text.read_text("utf-8") if text.exists() else None)
    study, cut, merged = existing(target)
    for place in places:
        store = existing(place)[2]
        for task in sorted(store.check(cut.expected, repair=False)[1]):
            content = store.contents(task)
            if not merged.has(task):
                merged.put(task, *content)
            elif _lasting(content) != _lasting(merged.contents(task)):
                raise StoreError(
                    f"{place} and another folder have different rows for task {task}: they were not "
                    "made by the same code, or not on equal processors"
                )
    rows, done = merged.check(cut.expected, repair=True)
    return Tally(study, cut, rows, done).progress()


def _check_same(places: Sequence[Path]) -> None:
    """Raise StoreError unless all folders hold the same study, code and cut into tasks."""
    first = None
    for place in places:
        found = Store.description(place)
        if found is None:
            raise StoreError(f"{place} is not the folder of a study: there is no study.json in it")
        first = first or found
        if found["hash"] != first["hash"]:
            differs = difference(first["spec"], found["spec"])
            raise StoreError(f"{place} holds another study than {places[0]}: {differs}")
        if found["bounds"] != first["bounds"] or found.get("modules") != first.get("modules"):
            raise StoreError(f"{place} was made by other code than {places[0]}")


def _lasting(content: tuple[bytes, bytes | None]) -> list[bytes]:
    """The columns that every machine must agree on, in a form in which equal means every bit."""
    rows, traces = content
    kept = [parquet(pq.read_table(io.BytesIO(rows), columns=_LASTING))]
    if traces is not None:
        kept.append(parquet(pq.read_table(io.BytesIO(traces), columns=_LASTING_OF_TRACES)))
    return kept
