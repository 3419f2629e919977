"""What verdicts rest on: studies at one of three levels, the lemmas' tables, and costs.

    evidence = gather("quick", "verification")     runs what is not there yet
    evidence = load("verification")                reads what is there
    evidence = at_hand("verification")             reads what is whole, else gathers the level quick

A folder holds one level and one seed. Studies resume; tables are written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from elubench import studies
from elubench.papers.beyond_em import probes
from elubench.studies import reading
from elubench.studies.store import StoreError, write_whole

#: The studies of each level. Where several have rows on a question, the first one answers.
LEVELS = {
    "quick": ("quick",),
    "paper": ("quick", "paper"),
    "asymptotic": ("asymptotic", "starts", "dimensions", "paper"),
}
_ABOUT = "verification.json"
_SEEDS_APART = (
    1_000  # between one seed's studies and the next one's; presets' own seeds differ by less
)

#: Called with a line that says what begins now.
Say = Callable[[str], None]


@dataclass(frozen=True)
class Evidence:
    """Everything that claims and figures are computed from.

    ``results`` has the rows of all studies and their ``study``, ``traces`` the recorded iterates;
    ``tables`` are those of :mod:`elubench.papers.beyond_em.probes`, by name.
    """

    level: str
    seed: int
    results: pd.DataFrame
    traces: pd.DataFrame
    tables: dict[str, pd.DataFrame]

    def rows(self, **conditions: Any) -> pd.DataFrame:
        """Rows of the first study that has any with these values; a list stands for any of its items.

        An empty frame where no study has them.
        """
        return _first(self.results, LEVELS[self.level], conditions)

    def last_rows(self, **conditions: Any) -> pd.DataFrame:
        """Rows, selected in the same way, from the last study that has any: beside ``paths``."""
        return _first(self.results, LEVELS[self.level][::-1], conditions)

    def paths(self, **conditions: Any) -> pd.DataFrame:
        """Recorded iterates, selected in the same way, from the last study that has any.

        The last: the paper's own settings, where they were run.
        """
        return _first(self.traces, LEVELS[self.level][::-1], conditions)


def _first(frame: pd.DataFrame, order: tuple[str, ...], conditions: dict[str, Any]) -> pd.DataFrame:
    keep = pd.Series(True, index=frame.index)
    for column, value in conditions.items():
        keep &= frame[column].isin(value if isinstance(value, list | tuple) else [value])
    found = frame[keep]
    for study in order:
        part = found[found["study"] == study]
        if len(part):
            return part.reset_index(drop=True)
    return found.reset_index(drop=True)


def check_level(level: str) -> None:
    """Refuse a level that there is not."""
    if level not in LEVELS:
        raise ValueError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")


def gather(
    level: str,
    out: str | Path,
    *,
    engine: str = "local",
    workers: int | None = None,
    scheduler: str | None = None,
    seed: int = 0,
    say: Say | None = None,
    progress: Callable[[studies.Progress], None] | None = None,
) -> Evidence:
    """Run the studies and probes of a level, or what is left of them, and load the lot.

    ``seed`` 0 takes the presets as they are; every other seed draws samples of its own.
    """
    check_level(level)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed must be a whole number, at least 0, got {seed!r}")
    folder = Path(out)
    tell = say or (lambda _: None)
    _claim_folder(folder, {"level": level, "seed": seed})
    for number, name in enumerate(LEVELS[level], 1):
        spec: Any = name
        if seed:
            spec = reading.load(name)
            spec = replace(spec, seed=spec.seed + _SEEDS_APART * seed)
        tell(f"study {name} ({number} of {len(LEVELS[level])})")
        studies.run_study(
            spec,
            folder / name,
            engine,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
        )
    for name, probe in probes.PROBES.items():
        path = folder / f"{name}.parquet"
        if not _readable(path):
            tell(probe.title)
            write_whole(path, _as_parquet(probe.measure(level, seed)))
    return load(folder)


def load(out: str | Path) -> Evidence:
    """The evidence in a folder, complete or not; nothing is run."""
    folder = Path(out)
    about = _about(folder)
    if about is None:
        raise StoreError(
            f"{folder} is not the folder of a verification: there is no {_ABOUT} in it"
        )
    results, traces = [], []
    for name in LEVELS[about["level"]]:
        if not (folder / name).is_dir():
            continue
        results.append(studies.load_results(folder / name).assign(study=name))
        traces.append(studies.load_traces(folder / name).assign(study=name))
    if not results or not sum(map(len, results)):
        raise StoreError(f"{folder} has no results yet: run 'elubench verify --out {folder}'")
    tables = {
        name: pd.read_parquet(folder / f"{name}.parquet")
        for name in probes.PROBES
        if _readable(folder / f"{name}.parquet")
    }
    return Evidence(
        level=about["level"],
        seed=about["seed"],
        results=pd.concat(results, ignore_index=True),
        traces=pd.concat(traces, ignore_index=True),
        tables=tables,
    )


def at_hand(out: str | Path, say: Say | None = None) -> Evidence:
    """The evidence in a folder, of any level, where all of it is there; else the level quick, gathered.

    A folder of a larger level that is not whole is refused: what is left may take hours.
    """
    folder = Path(out)
    about = _about(folder)
    if about is None:
        return gather("quick", folder, say=say)
    left = _left(folder, about["level"])
    if not left:
        return load(folder)
    if about["level"] != "quick":
        raise StoreError(
            f"{folder} is not whole: {', '.join(left)} not finished. Finish it with 'elubench verify "
            f"--level {about['level']} --out {folder}', or choose another folder"
        )
    return gather("quick", folder, seed=about["seed"], say=say)


def _left(folder: Path, level: str) -> list[str]:
    """The studies and tables of a level that a folder does not have, or not whole."""
    unfinished = [
        name
        for name in LEVELS[level]
        if not (folder / name).is_dir() or not studies.study_progress(folder / name).finished
    ]
    return unfinished + [
        name for name in probes.PROBES if not _readable(folder / f"{name}.parquet")
    ]


def _about(folder: Path) -> dict[str, Any] | None:
    path = folder / _ABOUT
    if not path.exists():
        return None
    try:
        about = json.loads(path.read_text("utf-8"))
        check_level(about["level"])
        return {"level": str(about["level"]), "seed": int(about["seed"])}
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is damaged: {error}. Choose another folder") from error


def _claim_folder(folder: Path, wanted: dict[str, Any]) -> None:
    found = _about(folder)
    if found is None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StoreError(f"{folder} is there and is no verification. Choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _ABOUT, (json.dumps(wanted, indent=2) + "\n").encode())
    elif found != wanted:
        differs = ", ".join(
            f"{key} {found[key]!r} there, {value!r} here"
            for key, value in wanted.items()
            if found[key] != value
        )
        raise StoreError(f"{folder} holds another verification: {differs}. Choose another folder")


def _as_parquet(table: pd.DataFrame) -> bytes:
    return table.to_parquet(index=False)


def _readable(path: Path) -> bool:
    """Whether a table is there and whole; one that is not is made again."""
    if not path.exists():
        return False
    try:
        pd.read_parquet(path)
    except (OSError, ValueError):
        return False
    return True
